# `make test` sets up and runs every test; `make proofs` the larger cases that it leaves out (docs/testing.md); `make demo`
# sets up and shows the whole way; `make tools` gets yosys and nextpnr; `make pages` writes what pages say of the source anew
# (CHECK=1 only compares); `make gpu` proves the results of an NVIDIA GPU beside the CPU's; `make book` makes a book of docs/;
# `make platforms` proves other platforms, and `make wheels` builds those of the Python package for Linux (docs/guides/platforms.md);
# `make web` builds the playground, web/dist and the one file web/dist/pairforge.html, and `make web-test` drives it in Chromium;
# `make install PREFIX=/usr/local` builds and installs the command, and the libraries for C, C++, Fortran and GRAPE.
.PHONY: all setup tools build test proofs gpu demo lint figures pages book platforms wheels web web-test install

PREFIX ?= /usr/local

all: build

setup:
	@scripts/setup.sh

tools: setup
	@scripts/tools.sh

build: setup
	cargo build --release --locked

test:
	@scripts/test.sh

proofs: tools web
	@scripts/setup.sh nvim:neovim
	PROOFS=1 REQUIRE_TOOLS=1 cargo test --workspace --locked -- --include-ignored
	scripts/platforms.sh

gpu: build
	"$${CARGO_TARGET_DIR:-target}/release/pairforge" bench conformance
	cargo test --locked -p pairforge-cli --test suite -- card::

demo: build
	scripts/demo.sh

figures: build tools
	scripts/hardware.sh

lint:
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

pages:
	BLESS=$(if $(CHECK),0,1) cargo test --locked -p pairforge-cli --lib reference
	BLESS=$(if $(CHECK),0,1) cargo test --locked -p pairforge-cli --test suite -- book:: tutorial::
	BLESS=$(if $(CHECK),0,1) cargo test --locked -p pairforge-pg2 --test suite -- the_language_reference the_fuzzer_knows each_page_is_in

book:
	@command -v mdbook >/dev/null || { echo "mdBook makes the book: cargo install mdbook"; exit 1; }
	@[ -e web/dist/pairforge.html ] || scripts/web.sh
	mdbook build
	cp -R web/dist target/book/playground

platforms:
	@scripts/platforms.sh

wheels:
	@scripts/wheels.sh

web:
	@scripts/web.sh

web-test: setup web
	PROOFS=1 REQUIRE_TOOLS=1 cargo test --locked -p pairforge-cli --test suite -- --include-ignored --nocapture playground::

install:
	cargo build --release --locked -p pairforge-cli -p pairforge-grape
	cargo rustc --release --locked -p pairforge-capi --crate-type cdylib,staticlib
	DESTDIR='$(DESTDIR)' capi/install.sh "$${CARGO_TARGET_DIR:-target}/release" '$(PREFIX)'
