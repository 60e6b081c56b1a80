#!/usr/bin/env bash
# Proves the program for other platforms than this machine's (docs/guides/platforms.md): the command is linked for Windows and for Linux on
# AArch64 and checked for macOS, tests run on AArch64 in QEMU's user mode, and the library is checked for WebAssembly. Words are the
# platforms to prove, of `aarch64`, `windows`, `macos` and `wasm`; without one it is all of them.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh

aarch64() {
    local target=aarch64-unknown-linux-gnu
    scripts/setup.sh aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu qemu-aarch64:qemu-user
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
    cargo_for $target cargo build --locked --target $target -p pairforge-cli
    cargo_for $target cargo test --locked --target $target -p pairforge-fmm --lib --tests
    # Operators and the emulator without the tests that start Verilator, which is this machine's.
    cargo_for $target cargo test --locked --target $target -p pairforge-hdl --test suite -- circuits:: float_bits:: log_bits:: num_bits:: func:: pow::
    cargo_for $target cargo test --locked --target $target -p pairforge-sim --test suite -- emulator:: demand:: selections:: \
        random_kernels_have
}

windows() {
    local target=x86_64-pc-windows-gnu
    scripts/setup.sh x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64
    cargo_for $target cargo build --locked --target $target -p pairforge-cli
}

macos() {
    local target=aarch64-apple-darwin
    cargo_for $target cargo check --locked --target $target -p pairforge-cli
}

wasm() {
    local target=wasm32-unknown-unknown
    cargo_for $target cargo check --locked --target $target -p pairforge --no-default-features --features kernels
}

platforms=("$@")
[ $# -gt 0 ] || platforms=(aarch64 windows macos wasm)
for platform in "${platforms[@]}"; do
    case $platform in
    aarch64 | windows | macos | wasm) ;;
    *)
        echo "$platform is no platform; there are aarch64, windows, macos and wasm" >&2
        exit 2
        ;;
    esac
done
for platform in "${platforms[@]}"; do
    echo "== $platform"
    "$platform"
done
