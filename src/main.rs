//! The `pairforge` command line.

fn main() {}
