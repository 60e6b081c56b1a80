#!/usr/bin/env bash
# Runs every test. The synthesis tools are installed while cargo compiles, since one waits for the network and for single
# threads where the other computes.
set -euo pipefail
cd "$(dirname "$0")/.."

found=$(mktemp)
trap 'rm -f "$found"' EXIT
scripts/tools.sh >"$found" &
cargo test --workspace --locked --no-run || { wait; exit 1; }
wait $! || exit 1
# Some tests wait most of their time: for boards that fall silent, cables that are pulled, ranks that end.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) + 2))}
PATH="$PATH:$(cat "$found")" cargo test --workspace --locked
