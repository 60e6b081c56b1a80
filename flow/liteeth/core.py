"""Prints the core of a board's network as Verilog: MAC, ARP, IP and UDP of LiteEth, between GMII and the words of datagrams.

    python3 core.py NAME UDP_PORT MHZ

The data path has 32 bits and a clock of its own, `sys`. The port for datagrams is in the clock `user`, behind crossings of its
own. The MAC and IP addresses of the board are inputs. hdl/src/ethernet/core.rs lists the ports.
"""

import importlib.metadata
import sys

# With other versions, the figures of docs/hardware.md are not those of the core.
VERSIONS = {"liteeth": "2024.12", "litex": "2024.12", "migen": "0.10.0"}


def missing():
    for package, version in VERSIONS.items():
        try:
            found = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return f"{package} {version} is not installed"
        if found != version:
            return f"{package} is {found}, not {version}"
    return None


if reason := missing():
    sys.exit(f"missing: {reason}")

import liteeth.core.arp
from liteeth.common import eth_udp_user_description
from liteeth.core import LiteEthUDPIPCore
from liteeth.phy.gmii import LiteEthPHYGMIIRX, LiteEthPHYGMIITX
from litex.gen import LiteXModule
from litex.gen.fhdl import verilog
from litex.gen.genlib.misc import WaitTimer
from litex.soc.interconnect import stream
from migen import ClockDomain, ClockDomainsRenamer, If, Record, Signal

# Words in a crossing: more than pass while its pointers go around.
DEPTH = 16


class Gmii(LiteXModule):
    """LiteEth's registers of GMII, in clocks that come from outside."""

    dw = 8
    tx_clk_freq = 125e6
    rx_clk_freq = 125e6

    def __init__(self, pads):
        self.tx = ClockDomainsRenamer("eth_tx")(LiteEthPHYGMIITX(pads))
        self.rx = ClockDomainsRenamer("eth_rx")(LiteEthPHYGMIIRX(pads))
        self.sink, self.source = self.tx.sink, self.rx.source


class OneHost(LiteXModule):
    """The cache of ARP, for one host at a time: as many as a board serves.

    LiteEth's own has two entries at least, and answers for the second one with the MAC address of the first.
    """

    def __init__(self, entries, clk_freq):
        self.update = update = stream.Endpoint([("ip_address", 32), ("mac_address", 48)])
        self.request = request = stream.Endpoint([("ip_address", 32)])
        self.response = response = stream.Endpoint([("mac_address", 48), ("error", 1)])
        known, ip, mac = Signal(), Signal(32), Signal(48)
        # A host is asked again after a second.
        self.timer = timer = WaitTimer(int(clk_freq))
        self.comb += [
            timer.wait.eq(~timer.done & ~update.valid),
            update.ready.eq(1),
            request.ready.eq(1),
            response.valid.eq(request.valid),
            response.error.eq(~known | (ip != request.ip_address)),
            response.mac_address.eq(mac),
        ]
        self.sync += [
            If(timer.done, known.eq(0)),
            If(update.valid, known.eq(1), ip.eq(update.ip_address), mac.eq(update.mac_address)),
        ]


liteeth.core.arp.LiteEthARPCache = OneHost


class Core(LiteXModule):
    def __init__(self, udp_port, mhz):
        self.pins = []
        for name in ["sys", "user", "eth_tx", "eth_rx"]:
            domain = ClockDomain(name)
            setattr(self, f"cd_{name}", domain)
            self.pins += [domain.clk, domain.rst]
        pads = Record([("tx_en", 1), ("tx_data", 8), ("rx_dv", 1), ("rx_data", 8)], name="gmii")
        self.pins += pads.flatten()
        self.phy = Gmii(pads)
        self.core = LiteEthUDPIPCore(
            phy=self.phy,
            mac_address=self.pin("mac_address", 48),
            ip_address=self.pin("ip_address", 32),
            clk_freq=mhz * 1e6,
            dw=32,
            with_icmp=False,
            with_sys_datapath=True,
            tx_cdc_depth=DEPTH,
            tx_cdc_buffered=True,
            rx_cdc_depth=DEPTH,
            rx_cdc_buffered=True,
        )
        port = self.core.udp.crossbar.get_port(udp_port, dw=32)
        self.to_wire, self.from_wire = self.crossing("user", "sys"), self.crossing("sys", "user")
        self.comb += [self.to_wire.source.connect(port.sink), port.source.connect(self.from_wire.sink)]
        sent, came = self.to_wire.sink, self.from_wire.source
        self.comb += [
            sent.valid.eq(self.pin("tx_valid")),
            self.pin("tx_ready").eq(sent.ready),
            sent.last.eq(self.pin("tx_last")),
            # Whole words.
            sent.last_be.eq(sent.last << 3),
            sent.data.eq(self.pin("tx_data", 32)),
            sent.ip_address.eq(self.pin("tx_address", 32)),
            sent.dst_port.eq(self.pin("tx_port", 16)),
            sent.src_port.eq(udp_port),
            sent.length.eq(self.pin("tx_bytes", 16)),
            self.pin("rx_valid").eq(came.valid),
            came.ready.eq(1),
            self.pin("rx_last").eq(came.last),
            self.pin("rx_data", 32).eq(came.data),
            self.pin("rx_address", 32).eq(came.ip_address),
            self.pin("rx_port", 16).eq(came.src_port),
        ]

    def crossing(self, source, sink):
        layout = eth_udp_user_description(32)
        return stream.ClockDomainCrossing(layout, cd_from=source, cd_to=sink, depth=DEPTH, buffered=True)

    def pin(self, name, width=1):
        signal = Signal(width, name=name)
        self.pins.append(signal)
        return signal


def main():
    name, udp_port, mhz = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    core = Core(udp_port, mhz)
    text = str(verilog.convert(core, ios=set(core.pins), name=name))
    # The same core has the same text, whenever it is made; and the modules around it have no time scale.
    dropped = ("// Date ", "//  Auto-Generated by LiteX on ", "`timescale ")
    lines = [line for line in text.splitlines() if not line.startswith(dropped)]
    print("\n".join(lines))


main()
