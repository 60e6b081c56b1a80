//! Pipelines that take a pair every K clocks: the simulation of their engines equals the emulator, bit for bit and flag for flag.

use crate::common::{Kernel, Work, check, engine, simulate};
use hdl::circuit::target::{Clock, target};
use hdl::engine::Config;
use sim::cycle::{CycleOptions, Noise};
use sim::stimuli::Style;

fn clock(family: &str) -> Clock {
    let target = target(family).expect("a family of the list");
    Clock { target, mhz: target.usual_mhz, blocks: None }
}

/// Simulates the kernel folded, with `lanes` in `groups`, and compares. Gives the utilisation: the part of its slots that a lane used.
fn agree(name: &str, text: &str, (family, ii): (&str, u32), config: impl Fn(Config) -> Config) -> Option<f64> {
    let kernel = Kernel::folded(name, text, clock(family), ii);
    let config = config(kernel.config(1));
    let noise = Noise { seed: ii as u64, gap: 0.2, stall: 0.3 };
    let options = CycleOptions { noise, flat: config.pipelines == 1, ..CycleOptions::default() };
    let mut simulated = engine(&kernel, &config, &options)?;
    let anchor = 0x1234_5678_9abc_def0;
    let works = [
        Work::random(&kernel.graph, 3000, 11, Style::Wild { anchor }),
        Work::random(&kernel.graph, 3000, 12, Style::Ordinary),
        Work::corners(&kernel.graph, 2000),
    ];
    let mut used = 0.0;
    for work in &works {
        let outcome = simulate(&mut simulated, work);
        check(work, &outcome, &work.expected(&kernel.graph), &format!("{name} at K = {ii} for {family}, {config:?}"));
        let counters = outcome.counters;
        used = (counters.pairs * ii as u64) as f64 / (counters.cycles * config.pipelines as u64) as f64;
    }
    Some(used)
}

#[test]
fn shipped_kernels_give_the_same_bits_and_flags_folded() {
    let families = ["ecp5", "ice40", "generic"];
    for (k, kernel) in pg2::kernels::KERNELS.iter().enumerate() {
        let ii = [2, 3, 5, 8][k % 4];
        agree(kernel.name, kernel.text, (families[k % 3], ii), |c| Config { stream_bits: 64, ..c });
    }
}
