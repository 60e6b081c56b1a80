"""@{common.made}@: the Verilog module @{common.top}@ as a component of Amaranth 0.5."""

from pathlib import Path

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

#: The engine's Verilog.
FILES = [
{%- for file in common.files %}
    "@{file}@",
{%- endfor %}
]

#: A beat of a stream; packets end with `last`.
Beat = data.StructLayout({"data": @{common.bits}@, "last": 1})


class Engine(wiring.Component):
    """The engine in the domain `sync`, whose reset must be held for at least two cycles."""

    s: In(stream.Signature(Beat))
    m: Out(stream.Signature(Beat))

    def elaborate(self, platform):
        if platform is not None:
            for name in FILES:
                platform.add_file(name, Path(__file__).with_name(name).read_text())
        m = Module()
        m.submodules.engine = Instance(
            "@{common.top}@",
            i_clk=ClockSignal(),
            i_rst=ResetSignal(),
{%- for pin in common.beats() %}
            @{pin.keyword()}@=self.{% if pin.of_input() %}s{% else %}m{% endif %}.{% if matches!(pin.signal(), "valid" | "ready") %}@{pin.signal()}@{% else %}p.@{pin.signal()}@{% endif %},
{%- endfor %}
        )
        return m
