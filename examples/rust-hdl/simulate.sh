#!/usr/bin/env bash
# Builds an engine with its component and its testbench, makes the Verilog of the example around it, and simulates that against
# the emulator's bits. The last line is PASS or FAIL. More arguments go to cargo, such as --offline.
set -euo pipefail
cd "$(dirname "$0")"
pairforge=$(realpath "${PAIRFORGE:-../../target/release/pairforge}")
out=$(realpath -m "${OUT:-target/design}")
"$pairforge" build p2p_paper --pipelines 2 --wrapper rust-hdl --testbench -o "$out"
ENGINE=$out cargo run --quiet --locked "$@" >"$out/whole.v"
cd "$out"
# The testbench drives the example's top, which has the engine's ports.
sed 's/^    p2p_paper_engine engine (/    top engine (/' p2p_paper_engine_tb.v >whole_tb.v
iverilog -g2005 -o whole whole.v whole_tb.v
vvp -n whole
