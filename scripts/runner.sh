#!/usr/bin/env bash
# Runs a program of tests for cargo, as scripts/test.sh has it. Those of the command wait for a third of their time, for boards that
# fall silent and cables that are pulled, so they run beside those of the crates. Their process (the first of a group), what they print and
# whether they passed are in the folder $BESIDE.
set -euo pipefail
if [ "${CARGO_PKG_NAME:-}" != pairforge-cli ]; then
    exec "$@"
fi
name=$BESIDE/$(basename "$1")
export RUST_TEST_THREADS=$RUST_TEST_THREADS_BESIDE
setsid bash -c '"$@" >"$0.out" 2>&1 && touch "$0.passed"' "$name" "$@" &
echo $! >"$name.pid"
echo "beside the tests of the crates; what it prints comes at the end"
