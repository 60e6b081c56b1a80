"""@{common.made}@: the Verilog module @{common.top}@ as a module of LiteX."""

import os

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import ClockSignal, Instance, ResetSignal

#: The engine's Verilog.
FILES = [
{%- for file in common.files %}
    "@{file}@",
{%- endfor %}
]


class Engine(LiteXModule):
    """The engine in a clock domain, whose reset must be held for at least two cycles."""

    def __init__(self, platform=None, domain="sys"):
        self.sink = stream.Endpoint([("data", @{common.bits}@)])
        self.source = stream.Endpoint([("data", @{common.bits}@)])
        self.specials += Instance(
            "@{common.top}@",
            i_clk=ClockSignal(domain),
            i_rst=ResetSignal(domain),
{%- for pin in common.beats() %}
            @{pin.keyword()}@=self.{% if pin.of_input() %}sink{% else %}source{% endif %}.@{pin.signal()}@,
{%- endfor %}
        )
        if platform is not None:
            for name in FILES:
                platform.add_source(os.path.join(os.path.dirname(os.path.abspath(__file__)), name))
