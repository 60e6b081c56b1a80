#!/usr/bin/env python3
"""Maps lanes with yosys and records what they take in pg2/tests/areas/mapped.txt, which tests hold the estimate of area to.

    scripts/measure_areas.py                 all lines of the record anew
    scripts/measure_areas.py gowin p2p       those whose target or kernel is named
    scripts/measure_areas.py --new 3 7       also the random kernels of these seeds, on ecp5

A random kernel is drawn from a seed and kept beside the record as random_SEED.pg2. The program is $PAIRFORGE, else
target/release/pairforge.
"""

import argparse
import json
import os
import random
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "pg2/tests/areas"
HEADER = "# target kernel interval | lookup tables, flip-flops, multipliers and block memories of a lane as yosys 0.70 maps it, flattened\n"
FORMATS = ["float18.9", "float22.13", "float25.16", "float28.18"]


def text(seed):
    """A kernel of differences, and of operations drawn from what came before."""
    r = random.Random(seed)
    form, fixed = r.choice(FORMATS), r.choice(["fixed48.16", "fixed64.24"])
    lines = [f"{form} x[3] ipin; {form} y[3] jpin; {form} w jpin; {fixed} total fout; {fixed} other fout;", "d = y - x;",
             "s = d[0] * d[0] + d[1] * d[1];"]
    known = ["d[0]", "d[1]", "d[2]", "s", "w"]
    for k in range(r.randint(3, 7)):
        a, b = r.choice(known), r.choice(known)
        lines.append(f"t{k} = " + r.choice([f"{a} + {b} * w;", f"{a} - {b} * s;", f"{a} * {b};", f"{a} > {b} ? {a} : {b};",
                                            f"pg_rsqrt(s) * {a};", f"{a} * {b} + w;"]))
        known.append(f"t{k}")
    lines += [f"total += ({fixed})({known[-1]});", f"other += ({fixed})({known[-2]} * w);"]
    return "\n".join(lines) + "\n"


def measure(program, target, kernel, interval):
    """The four numbers of a lane."""
    own = RECORD / f"{kernel}.pg2"
    with tempfile.TemporaryDirectory(prefix="pairforge-areas-") as folder:
        words = [program, "synth", str(own) if own.exists() else kernel, "--area-only", "--target", target, "--ii", str(interval)]
        subprocess.run(words + ["-o", folder], check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = json.loads(Path(folder, "synth.json").read_text())
    return [found[key] for key in ("lut", "ff", "dsp", "bram")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--new", nargs="+", type=int, default=[], metavar="SEED")
    args = parser.parse_args()
    program = os.environ.get("PAIRFORGE", str(ROOT / "target/release/pairforge"))
    record = RECORD / "mapped.txt"
    rows = {}
    for line in record.read_text().splitlines()[1:] if record.exists() else []:
        head, _, numbers = line.partition(" | ")
        rows[tuple(head.split())] = [int(n) for n in numbers.split()]
    wanted = [row for row in rows if not args.new and not args.names or any(name in row for name in args.names)]
    for seed in args.new:
        (RECORD / f"random_{seed}.pg2").write_text(text(seed))
        wanted.append(("ecp5", f"random_{seed}", "1"))
    for row in wanted:
        rows[row] = measure(program, *row)
        print(*row, "|", *rows[row], flush=True)
        lines = [f"{' '.join(row)} | {' '.join(str(n) for n in numbers)}\n" for row, numbers in sorted(rows.items())]
        record.write_text(HEADER + "".join(lines))


if __name__ == "__main__":
    main()
