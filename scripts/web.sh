#!/usr/bin/env bash
# Builds the pages of web/: web/dist, and web/dist/pairforge.html, which opens from a disk by itself. It compiles the compiler for
# WebAssembly, makes it small, and bundles it with the pages by what web/package-lock.json says.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
kept=${PAIRFORGE_WEB:-${XDG_CACHE_HOME:-$HOME/.cache}/pairforge/web}
target=wasm32-unknown-unknown
# Text of a kernel nests up to 256 levels.
export RUSTFLAGS="-C link-arg=-zstack-size=4194304 -C target-feature=+simd128"
# One module for each page: that of kernels does not grow by the FMM.
modules=(compiler fmm)

if ! command -v npm >/dev/null 2>&1; then
    echo "Please install Node.js with npm: it bundles the pages" >&2
    exit 1
fi

# Whether rustc has the library of the target.
has_target() {
    [ -n "$(find "$(rustc --print target-libdir --target "$target" 2>/dev/null)" -name 'libstd-*.rlib' 2>/dev/null)" ]
}

# Debian has a rustc with the linker and the sources of the library for other targets, in packages that conflict with rustup's: they are
# unpacked into a folder and not installed.
debian() {
    local std llvm
    std=$(apt-cache depends libstd-rust-web-dev 2>/dev/null | sed -n 's/.*Depends: \(libstd-rust-web-[0-9.]*\)$/\1/p')
    llvm=$(apt-cache depends "$std" 2>/dev/null | sed -n 's/.*Depends: libllvm\([0-9]*\)$/\1/p')
    local names=(rustc-web libstd-rust-web-dev rust-web-src "$std" "libllvm$llvm" "lld-$llvm")
    if [ ! -e "$kept/rust/whole" ]; then
        echo "unpacking Debian's rustc for WebAssembly in $kept" >&2
        rm -rf "$kept/rust" "$kept/debs"
        mkdir -p "$kept/rust" "$kept/debs"
        (cd "$kept/debs" && apt-get download "${names[@]}" >/dev/null 2>&1) || return 1
        for package in "$kept"/debs/*.deb; do dpkg -x "$package" "$kept/rust"; done
        rm -rf "$kept/debs"
        touch "$kept/rust/whole"
    fi
}

# Builds the module of each page, with the flags that are given.
build() {
    local flags module
    for module in "${modules[@]}"; do
        flags=()
        if [ "$module" = fmm ]; then
            # Its loops are generic ones, which these crates compile. It is loaded by who asks for it, so that bytes matter less.
            flags=(--config profile.web.package.pairforge.opt-level=3 --config profile.web.package.pairforge-web.opt-level=3)
        fi
        cargo rustc --locked --profile web --target "$target" -p pairforge-web --no-default-features --features "$module" \
            --crate-type cdylib "${flags[@]}" "$@"
        cp "$CARGO_TARGET_DIR/$target/web/pairforge_web.wasm" "$CARGO_TARGET_DIR/$target/web/$module.wasm"
    done
}

if has_target || { command -v rustup >/dev/null 2>&1 && rustup target add "$target" >&2 && has_target; }; then
    build
elif command -v apt-get >/dev/null 2>&1 && debian; then
    linker=$(find "$kept/rust/usr/bin" -name 'wasm-ld-*' | head -n 1)
    export RUSTC=$kept/rust/usr/bin/rustc LD_LIBRARY_PATH=$kept/rust/usr/lib/$(uname -m)-linux-gnu RUSTC_BOOTSTRAP=1
    RUSTFLAGS="$RUSTFLAGS -C linker=$linker" build -Zbuild-std=std,panic_abort \
        -Zbuild-std-features=optimize_for_size
    unset LD_LIBRARY_PATH
else
    echo "Please add Rust's target $target (rustup target add $target)" >&2
    exit 1
fi

cd web
# The list is copied last, so that an interrupted installation is done again.
if ! cmp -s package-lock.json node_modules/package-lock.json; then
    npm ci --no-audit --no-fund >&2
    cp package-lock.json node_modules/package-lock.json
fi
npx tsc --noEmit
node build.mjs "$CARGO_TARGET_DIR/$target/web"
