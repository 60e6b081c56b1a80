//! Words over the link: how often the driver sends a source.

use crate::engine::Case;
use pairforge::backends::BackendOptions;
use terminal::failure::Failure;
use terminal::say;

/// j records of P2P and M2L for each particle, by size of the j memory.
pub fn run() -> Result<(), Failure> {
    for kwords in [64, 256, 1024] {
        let engine = BackendOptions { jmem_words: kwords * 1024, ..BackendOptions::default() };
        let case = Case { backend: "emulator", leaf: 256, engine, ..Case::default() };
        let stats = case.run()?;
        // A record of the kernel `p2p` has four words; those of M2L are counted at that size too.
        let records = stats.words.j as f64 / 4.0 / case.n as f64;
        say!("  {kwords:>4} Ki words: {records:.2} j records a particle")?;
    }
    say!("  input: 1e5 uniform particles, seed 1, leaf 256, order 4, kernel p2p")?;
    Ok(())
}
