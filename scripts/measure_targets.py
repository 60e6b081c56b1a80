#!/usr/bin/env python3
"""Measures the delays in hdl/targets/*.toml with yosys and nextpnr.

    scripts/measure_targets.py ice40 ecp5 --seeds 3

Small circuits from register to register, several copies of each in one design so that the placer has to share room,
are placed and routed. Two sizes of each kind give a slope and an offset:

    chains of lookup tables    lut, ff           period = ff + levels * lut
    adders                     carry_start, _bit period = ff + carry_start + bits * carry_bit
    a multiplication           mul               period = ff + mul
    a table in a memory        rom               period = ff + rom

The period of a design is that of its slowest copy; the median over seeds is printed, with its least and greatest value.
Routing is included. That of a large design is longer: compare with the paths of `pairforge synth` before copying
numbers into a target's file. Programs are looked for as `yowasp-NAME` and `NAME` on PATH.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

FAMILIES = {
    "ecp5": {
        "synth": "synth_ecp5 -top top",
        "nextpnr": ["nextpnr-ecp5", "--85k", "--package", "CABGA381", "--speed", "6", "--lpf-allow-unconstrained"],
        "mul": 18,
        "table": "LUT4 #(.INIT(16'h6ac5)) {name} (.A({inputs[0]}), .B({inputs[1]}), .C({inputs[2]}), .D({inputs[3]}), .Z({out}));",
    },
    "ice40": {
        "synth": "synth_ice40 -device u -dsp -top top",
        "nextpnr": ["nextpnr-ice40", "--up5k", "--package", "sg48", "--pcf-allow-unconstrained"],
        "mul": 16,
        "table": "SB_LUT4 #(.LUT_INIT(16'h6ac5)) {name} (.I0({inputs[0]}), .I1({inputs[1]}), .I2({inputs[2]}), .I3({inputs[3]}), "
                 ".O({out}));",
    },
}

COPIES = 6

# Every design takes bits from one pin through a shift register and gives one bit back.
FRAME = """module top (input clk, input d, output reg q);
    // Two registers behind each other, so that the way from the shift register is never the slowest.
    reg [{bits}:0] shift, near, in;
    always @(posedge clk) begin
        shift <= {{shift, d}};
        near <= shift;
        in <= near;
    end
    wire [{last}:0] out;
    always @(posedge clk) q <= ^folded;
    reg [{last}:0] folded;
    always @(posedge clk) folded <= {{folded, d}} ^ out;
{body}
endmodule
"""


def framed(bodies, inputs):
    """The design of some copies, each with `inputs` bits of input and one bit of output."""
    bits = max(inputs * len(bodies), 2)
    return FRAME.format(bits=bits - 1, last=max(len(bodies) - 1, 1), body="\n".join(bodies))


def luts(family, levels):
    """A chain of tables, each with three fresh registers besides the level before. They are instances of the family's own
    cell, since synthesis would turn a chain of expressions into a tree."""
    cell = FAMILIES[family]["table"]

    def one(k):
        n = 3 * levels + 1
        lines = [f"    reg [{n - 1}:0] a{k}; always @(posedge clk) a{k} <= in[{k * n} +: {n}];",
                 f"    wire [{levels}:0] w{k}; assign w{k}[0] = a{k}[{n - 1}];"]
        for i in range(levels):
            inputs = [f"w{k}[{i}]"] + [f"a{k}[{3 * i + j}]" for j in range(3)]
            lines.append("    " + cell.format(name=f"t{k}_{i}", out=f"w{k}[{i + 1}]", inputs=inputs))
        lines.append(f"    reg r{k}; always @(posedge clk) r{k} <= w{k}[{levels}]; assign out[{k}] = r{k};")
        return "\n".join(lines)
    return framed([one(k) for k in range(COPIES)], 3 * levels + 1)


def adders(bits):
    def one(k):
        at = 2 * bits * k
        return (f"    reg [{bits - 1}:0] a{k}, b{k}, s{k}; always @(posedge clk) begin a{k} <= in[{at} +: {bits}]; "
                f"b{k} <= in[{at + bits} +: {bits}]; s{k} <= a{k} + b{k}; end assign out[{k}] = ^s{k}[{bits - 1} -: 2];")
    return framed([one(k) for k in range(COPIES)], 2 * bits)


def multipliers(bits):
    """Operands from a table each, so that they do not become the block's own registers."""
    def one(k):
        at = 4 * bits * k
        return (f"    reg [{bits - 1}:0] a{k}, b{k}, c{k}, e{k}; reg [{2 * bits - 1}:0] p{k}; always @(posedge clk) begin "
                f"a{k} <= in[{at} +: {bits}]; b{k} <= in[{at + bits} +: {bits}]; c{k} <= in[{at + 2 * bits} +: {bits}]; "
                f"e{k} <= in[{at + 3 * bits} +: {bits}]; p{k} <= (a{k} ^ c{k}) * (b{k} ^ e{k}); end "
                f"assign out[{k}] = p{k}[{2 * bits - 1}] ^ p{k}[3];")
    return framed([one(k) for k in range(min(COPIES, 4))], 4 * bits)


def tables():
    """The word of a memory through one table into a register; the table's time is subtracted."""
    def one(k):
        words = "".join(f"t{k}[{i}] = 9'd{(i * i * (k + 3) + 7 * i) % 512};" for i in range(512))
        return (f"    reg [8:0] t{k} [0:511]; initial begin {words} end reg [8:0] m{k}, x{k}, y{k}; "
                f"always @(posedge clk) begin m{k} <= t{k}[in[{18 * k} +: 9]]; x{k} <= in[{18 * k + 9} +: 9]; "
                f"y{k} <= m{k} ^ x{k}; end assign out[{k}] = ^y{k}[1:0];")
    return framed([one(k) for k in range(4)], 18)


def program(name):
    for candidate in ["yowasp-" + name, name]:
        if shutil.which(candidate):
            return candidate
    raise SystemExit(f"{name} was not found; scripts/tools.sh installs it")


def run(words, folder):
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout[-2000:]}")


def periods(family, text, seeds):
    """ns from register to register, the median over seeds and its spread."""
    f = FAMILIES[family]
    with tempfile.TemporaryDirectory(prefix="pairforge-measure-", dir=".") as folder:
        Path(folder, "top.v").write_text(text)
        Path(folder, "run.ys").write_text(f"read_verilog top.v\n{f['synth']}\nwrite_json top.json\n")
        run([program("yosys"), "-q", "-l", "yosys.log", "run.ys"], folder)
        found = []
        for seed in range(1, seeds + 1):
            words = [program(f["nextpnr"][0])] + f["nextpnr"][1:]
            run(words + ["--json", "top.json", "--report", "report.json", "--freq", "400", "--seed", str(seed),
                         "--timing-allow-fail", "-q"], folder)
            clocks = json.loads(Path(folder, "report.json").read_text())["fmax"].values()
            if not clocks:
                raise SystemExit("nextpnr found no path between registers")
            found.append(1000 / min(c["achieved"] for c in clocks))
        return statistics.median(found), min(found), max(found)


def measure(family, seeds):
    def of(what, text):
        middle, least, most = periods(family, text, seeds)
        print(f"  {what:<24}{middle:6.2f} ns  ({least:.2f} to {most:.2f})", flush=True)
        return middle
    print(f"{family}, median of {seeds} seeds")
    # Small ones would be faster than the frame around them.
    four, twelve = of("4 levels of tables", luts(family, 4)), of("12 levels of tables", luts(family, 12))
    lut = (twelve - four) / 8
    ff = four - 4 * lut
    short, long = of("adder of 32 bits", adders(32)), of("adder of 96 bits", adders(96))
    bit = (long - short) / 64
    width = FAMILIES[family]["mul"]
    mul = of(f"table, {width}x{width} product", multipliers(width)) - lut - ff
    rom = of("memory, table", tables()) - lut - ff
    numbers = {"lut": lut, "carry_start": short - 32 * bit - ff, "carry_bit": bit, "ff": ff, "mul": mul, "rom": rom}
    for name, value in numbers.items():
        print(f"{name} = {value:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="+", choices=FAMILIES, metavar="FAMILY")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    for family in args.families:
        measure(family, args.seeds)


if __name__ == "__main__":
    main()
