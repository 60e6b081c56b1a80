#!/usr/bin/env bash
# The whole way: compile the paper's kernels, simulate their Verilog clock by clock, run an FMM, write the report.
set -euo pipefail
cd "$(dirname "$0")/.."
pairforge=${CARGO_TARGET_DIR:-target}/release/pairforge
out=${OUT:-out/demo}
mkdir -p "$out"

say() { printf '\n== %s\n' "$*"; }

say "The paper's P2P kernel (Fig. 2) and what its pipeline is made of"
"$pairforge" explain p2p_paper
"$pairforge" build p2p_paper -o "$out/p2p_paper" --report "$out/p2p_paper.html"
"$pairforge" build m2l_paper -o "$out/m2l_paper" --report "$out/m2l_paper.html"
ls "$out/p2p_paper" "$out/m2l_paper"

say "Emulator and cycle simulation of the Verilog on the same 256 x 1024 random pairs"
awk 'BEGIN { srand(1); print "xi[0],xi[1],xi[2]"
    for (k = 0; k < 256; k++) printf "%d,%d,%d\n", (rand()-.5)*2^31, (rand()-.5)*2^31, (rand()-.5)*2^31 }' > "$out/i.csv"
awk 'BEGIN { srand(2); print "xj[0],xj[1],xj[2],mj"
    for (k = 0; k < 1024; k++) printf "%d,%d,%d,%.6f\n", (rand()-.5)*2^31, (rand()-.5)*2^31, (rand()-.5)*2^31, rand() }' > "$out/j.csv"
for backend in emulator cycle; do
    "$pairforge" run p2p_paper --backend $backend --i "$out/i.csv" --j "$out/j.csv" -o "$out/$backend.csv" --json "$out/$backend.json" \
        --report "$out/$backend.html"
done
cmp "$out/emulator.csv" "$out/cycle.csv"
echo "the results are equal to the bit"
cat "$out/cycle.json"

say "FMM of 1e4 particles, P2P and M2L in cycle simulation"
"$pairforge" fmm --n 10000 --backend cycle --stream 64 --check 1000 --json "$out/fmm_cycle.json" --report "$out/fmm_cycle.html"

say "FMM of 1e5 particles, P2P and M2L in the bit-exact emulator"
"$pairforge" fmm --n 100000 --backend emulator --check 1000 --json "$out/fmm_emulator.json" --report "$out/fmm_emulator.html"

say "FMM of 1e5 particles, natively on the CPU"
"$pairforge" fmm --n 100000 --check 1000 --json "$out/fmm.json" --report "$out/fmm.html"

say "Designs and statistics are in $out, and reports: its .html files, for a browser"
