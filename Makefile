# `make test` sets up and runs every test; `make demo` sets up and shows the whole way.
.PHONY: all setup build test demo lint

all: build

setup:
	@scripts/setup.sh

build: setup
	cargo build --release --locked

test: setup
	cargo test --workspace --locked

demo: build
	scripts/demo.sh

lint:
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
