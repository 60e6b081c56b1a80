#!/usr/bin/env bash
# For scripts that compile for other targets than this machine's: `cargo_for TARGET COMMAND...` runs a command, cargo or one that calls
# it, with a Rust compiler that has the target's library. That is rustup's, or Debian's, which compiles the library itself from its
# sources: its packages conflict with rustup's, so that they are unpacked into a folder and not installed. The folder is
# $PAIRFORGE_RUST, else $XDG_CACHE_HOME/pairforge/rust, else ~/.cache/pairforge/rust.
unpacked=${PAIRFORGE_RUST:-${XDG_CACHE_HOME:-$HOME/.cache}/pairforge/rust}

# Whether rustc has the library of a target.
has_target() {
    [ -n "$(find "$(rustc --print target-libdir --target "$1" 2>/dev/null)" -name 'libstd-*.rlib' 2>/dev/null)" ]
}

# Unpacks Debian's rustc for other targets.
unpack_debian() {
    [ ! -e "$unpacked/rustc" ] || return 0
    command -v apt-get >/dev/null 2>&1 || return 1
    local std llvm
    std=$(apt-cache depends libstd-rust-web-dev 2>/dev/null | sed -n 's/.*Depends: \(libstd-rust-web-[0-9.]*\)$/\1/p')
    llvm=$(apt-cache depends "$std" 2>/dev/null | sed -n 's/.*Depends: libllvm\([0-9]*\)$/\1/p')
    local names=(rustc-web libstd-rust-web-dev rust-web-src "$std" "libllvm$llvm" "lld-$llvm")
    echo "unpacking Debian's rustc for other targets in $unpacked" >&2
    rm -rf "$unpacked" "$unpacked.debs"
    mkdir -p "$unpacked" "$unpacked.debs"
    (cd "$unpacked.debs" && apt-get download "${names[@]}" >/dev/null 2>&1) || return 1
    for package in "$unpacked.debs"/*.deb; do dpkg -x "$package" "$unpacked"; done
    rm -rf "$unpacked.debs"
    # Written last, so that an interrupted unpacking is done again.
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "'$unpacked/usr/lib/$(uname -m)-linux-gnu'" "'$unpacked/usr/bin/rustc'" \
        >"$unpacked/rustc.new"
    chmod +x "$unpacked/rustc.new"
    mv "$unpacked/rustc.new" "$unpacked/rustc"
}

cargo_for() {
    local target=$1
    shift
    if has_target "$target" || { command -v rustup >/dev/null 2>&1 && rustup target add "$target" >&2 && has_target "$target"; }; then
        "$@"
    elif unpack_debian; then
        local std=std,panic_unwind flags=${RUSTFLAGS:-}
        if [ "$target" = wasm32-unknown-unknown ]; then
            std=std,panic_abort
            flags="$flags -C linker=$(find "$unpacked/usr/bin" -name 'wasm-ld-*' | head -n 1)"
        fi
        RUSTC=$unpacked/rustc RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_BUILD_STD=$std RUSTFLAGS=$flags "$@"
    else
        echo "Please add Rust's target $target (rustup target add $target)" >&2
        return 1
    fi
}
