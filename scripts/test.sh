#!/usr/bin/env bash
# Sets up and runs every test. What is missing is installed while cargo compiles, since one waits for the network and for single
# threads where the other computes. To compile takes a linker and Python alone.
set -euo pipefail
cd "$(dirname "$0")/.."

BESIDE=$(mktemp -d)
export BESIDE
end() {
    for pid in "$BESIDE"/*.pid; do
        [ ! -e "$pid" ] || kill -- "-$(cat "$pid")" 2>/dev/null || true
    done
    rm -rf "$BESIDE"
}
trap end EXIT
trap 'exit 1' INT TERM

ONLY_CHECK=1 scripts/setup.sh
command -v cc >/dev/null && command -v python3 >/dev/null || scripts/setup.sh
(scripts/setup.sh && scripts/tools.sh >"$BESIDE/found") &
cargo test --workspace --locked --no-run || { wait; exit 1; }
wait $! || exit 1
# Some of the command's tests wait most of their time.
cores=$(nproc)
export SLOTS=2
export RUST_TEST_THREADS_BESIDE=${RUST_TEST_THREADS:-$((cores + 2))}
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$cores}
export PATH="$PATH:$(cat "$BESIDE/found")"
passed=true
# Examples in documents are compiled one after the other.
setsid bash -c 'cargo test --workspace --locked --doc >"$0.out" 2>&1 && touch "$0.passed"' "$BESIDE/documents" &
echo $! >"$BESIDE/documents.pid"
cargo test --workspace --locked --tests --config "target.'cfg(all())'.runner = ['$PWD/scripts/runner.sh']" || passed=false
for pid in "$BESIDE"/*.pid; do
    [ -e "$pid" ] || continue
    # Not in the foreground, where a signal to this script would wait for it.
    tail --pid="$(cat "$pid")" -f /dev/null &
    wait $!
    rm "$pid"
    cat "${pid%.pid}.out"
    [ -e "${pid%.pid}.passed" ] || passed=false
done
$passed
