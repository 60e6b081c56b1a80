#!/usr/bin/env bash
# Runs a program of tests for cargo, as scripts/test.sh has it: as many beside each other as there are slots, since the last tests of
# a program leave cores idle, and those of the command wait for a third of their time, for boards that fall silent and cables that
# are pulled. The program's process (the first of a group), what it prints and whether it passed are in the folder $BESIDE.
set -euo pipefail
name=$BESIDE/$(basename "$1")
[ "${CARGO_PKG_NAME:-}" != pairforge-cli ] || export RUST_TEST_THREADS=$RUST_TEST_THREADS_BESIDE
taken=
until [ -n "$taken" ]; do
    for slot in $(seq "$SLOTS"); do
        exec 9>"$BESIDE/$slot.slot"
        if flock -n 9; then
            taken=$slot
            break
        fi
    done
    [ -n "$taken" ] || sleep 0.1
done
# The slot is held as long as the shell around the program lives; nothing that a test leaves behind holds it.
setsid bash -c '"$@" >"$0.out" 2>&1 9>&- && touch "$0.passed"' "$name" "$@" &
echo $! >"$name.pid"
echo "in slot $taken; what it prints comes at the end"
