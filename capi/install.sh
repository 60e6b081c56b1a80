#!/usr/bin/env bash
# Installs what was built: the command with its completions and manual pages, libraries, headers, the Fortran module's source, files for
# pkg-config and CMake. BUILT is the folder of the libraries, and of the command where that is to be installed; PREFIX is where they are
# used, and DESTDIR, if set, what stands before that while a package is made.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: install.sh BUILT PREFIX" >&2; exit 2; }
built=$1 prefix=$2
here=$(cd "$(dirname "$0")" && pwd)
case $prefix in /*) ;; *) echo "install.sh: give a PREFIX that begins with /, not $prefix" >&2; exit 1 ;; esac
to=${DESTDIR:-}$prefix
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../Cargo.toml" | head -1)

mkdir -p "$to/lib/pkgconfig" "$to/lib/cmake/pairforge" "$to/include/pairforge-grape" "$to/share/pairforge"
# A library that runs stays what it is, under a name that is gone.
put() { rm -f "$2" && install -m "${3:-644}" "$1" "$2"; }
put "$built/libpairforge_c.so" "$to/lib/libpairforge.so.$version" 755
ln -sf "libpairforge.so.$version" "$to/lib/libpairforge.so.0"
ln -sf libpairforge.so.0 "$to/lib/libpairforge.so"
put "$built/libpairforge_grape.so" "$to/lib/libpairforge_grape.so" 755
[ ! -e "$built/libpairforge_c.a" ] || put "$built/libpairforge_c.a" "$to/lib/libpairforge.a"
put "$here/include/pairforge.h" "$to/include/pairforge.h"
put "$here/include/pairforge.hpp" "$to/include/pairforge.hpp"
put "$here/fortran/pairforge.f90" "$to/share/pairforge/pairforge.f90"
for header in gp5util.h gp6util.h; do put "$here/../grape/include/$header" "$to/include/pairforge-grape/$header"; done
fill() { sed -e "s|@PREFIX@|$prefix|g" -e "s|@VERSION@|$version|g" "$here/install/$1" >"$2"; }
fill pairforge.pc.in "$to/lib/pkgconfig/pairforge.pc"
fill pairforge-grape.pc.in "$to/lib/pkgconfig/pairforge-grape.pc"
fill pairforgeConfig.cmake.in "$to/lib/cmake/pairforge/pairforgeConfig.cmake"
fill pairforgeConfigVersion.cmake.in "$to/lib/cmake/pairforge/pairforgeConfigVersion.cmake"

[ -x "$built/pairforge" ] || exit 0
share=$to/share
completions=("bash bash-completion/completions/pairforge" "zsh zsh/site-functions/_pairforge" "fish fish/vendor_completions.d/pairforge.fish")
mkdir -p "$to/bin" "$share/man/man1"
put "$built/pairforge" "$to/bin/pairforge" 755
for each in "${completions[@]}"; do
    file=$share/${each#* }
    mkdir -p "$(dirname "$file")"
    "$built/pairforge" completions "${each%% *}" >"$file"
done
"$built/pairforge" man -o "$share/man/man1"
