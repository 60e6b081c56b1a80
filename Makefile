# `make test` sets up and runs every test; `make proofs` the larger cases that it leaves out (docs/testing.md); `make demo`
# sets up and shows the whole way; `make tools` gets yosys and nextpnr.
.PHONY: all setup tools build test proofs demo lint figures

all: build

setup:
	@scripts/setup.sh

tools: setup
	@scripts/tools.sh

build: setup
	cargo build --release --locked

test: setup
	@scripts/test.sh

proofs: tools
	REQUIRE_TOOLS=1 cargo test --workspace --locked -- --ignored

demo: build
	scripts/demo.sh

figures: build tools
	scripts/hardware.sh

lint:
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
