//! Pipelines that take a pair every K clocks: the simulation of their engines equals the emulator, bit for bit and flag for flag.

use crate::common::{Kernel, Way, Work, check, engine, simulate};
use hdl::circuit::target::{Clock, target};
use hdl::engine::Config;
use sim::cycle::{CycleOptions, Noise};
use sim::stimuli::Style;

/// Random pairs of each style, and two thirds as many of corners. A pair takes K clocks: a usual run has fewer where K is large.
#[derive(Clone, Copy, PartialEq)]
enum Pairs {
    Few,
    Many,
}

impl Pairs {
    fn number(self, ii: u32) -> usize {
        match self {
            Pairs::Few if ii > 16 => 300,
            Pairs::Few => 600,
            Pairs::Many => 3000,
        }
    }
}

fn clock(family: &str) -> Clock {
    let target = target(family).expect("a family of the list");
    Clock { target, mhz: target.usual_mhz, blocks: None }
}

/// Simulates the kernel folded, with `lanes` in `groups`, and compares. Gives the utilisation: the part of its slots that a lane used.
fn agree(
    name: &str,
    text: &str,
    (family, ii, pairs): (&str, u32, Pairs),
    config: impl Fn(Config) -> Config,
) -> Option<f64> {
    agree_at(name, text, (clock(family), ii, pairs), config)
}

/// The same at a clock.
fn agree_at(
    name: &str,
    text: &str,
    (clock, ii, pairs): (Clock, u32, Pairs),
    config: impl Fn(Config) -> Config,
) -> Option<f64> {
    let kernel = Kernel::folded(name, text, clock, ii);
    let config = config(kernel.config(1));
    let noise = Noise { seed: ii as u64, gap: 0.2, stall: 0.3 };
    let options = CycleOptions { noise, flat: config.pipelines == 1, ..CycleOptions::default() };
    let mut simulated = engine(&kernel, &config, &options)?;
    let anchor = 0x1234_5678_9abc_def0;
    let number = pairs.number(ii);
    let mut works = vec![
        Work::random(&kernel.graph, number, 11, Style::Wild { anchor }),
        Work::random(&kernel.graph, number, 12, Style::Ordinary),
        Work::corners(&kernel.graph, number * 2 / 3),
    ];
    // Each corner of a kernel with many pins takes long at a large K.
    works.retain(|w| pairs == Pairs::Many || w.pairs() * (ii as u64) < 100_000);
    let mut used = 0.0;
    for work in &works {
        let outcome = simulate(&mut simulated, work);
        check(work, &outcome, &work.expected(&kernel.graph), &format!("{name} at K = {ii}, {clock:?}, {config:?}"));
        let counters = outcome.counters;
        used = (counters.pairs * ii as u64) as f64 / (counters.cycles * config.pipelines as u64) as f64;
    }
    Some(used)
}

const INTERVALS: [u32; 4] = [2, 3, 5, 8];

/// The k-th of some shipped kernels.
fn shipped_agrees((k, kernel): (usize, &pg2::kernels::Kernel), ii: u32, pairs: Pairs) {
    let family = ["ecp5", "ice40", "generic"][k % 3];
    agree(kernel.name, kernel.text, (family, ii, pairs), |c| Config { stream_bits: 64, ..c });
}

#[test]
fn some_of_the_shipped_kernels_give_the_same_bits_and_flags_folded() {
    let p2p = pg2::kernels::KERNELS.iter().filter(|k| k.name == "p2p");
    for (k, kernel) in p2p.chain(testkit::some(Way::Folded.kernels(), 2)).enumerate() {
        shipped_agrees((k, kernel), INTERVALS[k % 4], Pairs::Few);
    }
}

#[test]
#[ignore = "a proof in depth"]
fn shipped_kernels_give_the_same_bits_and_flags_folded_at_each_interval() {
    for numbered in pg2::kernels::KERNELS.iter().enumerate() {
        INTERVALS.into_iter().for_each(|ii| shipped_agrees(numbered, ii, Pairs::Many));
    }
    for order in [3, 4] {
        let text = pg2::gen_m2l(order).expect("the order is in range");
        agree(&format!("m2l_{order}"), &text, ("ecp5", 8, Pairs::Many), |c| Config { stream_bits: 64, ..c });
    }
}

/// Kernels that are shipped nowhere: conditions around what raises flags, masks, extremes beside sums, squares and constants.
const OTHERS: &[(&str, &str)] = &[
    (
        "conditions",
        "float18.9 x ipin; float18.9 y jpin; uint1 take jpin; float18.9 most param; int64 a fout; fixed40.20 b fout; float18.9 c fout;
         float18.9 d fout; int64 e fout; uint20 f fout;
         r = x * x + y * y;
         s = x * y * 3 + r * 5;
         t = take ? 1 / (r * s) : y * y;
         a += (int64)(t << 20); b += (fixed40.20)(s - r * 7); c max= t - most; d min= x - y * most;
         e += (int64)(pg_sqrt(r) * pg_rsqrt(s + most)); f += (uint20)pg_abs(x - y);",
    ),
    (
        "ints",
        "int30 x[2] ipin; int30 y[2] jpin; int40 a[3] fout; int17 b fout; uint8 c fout; int64 z fout;
         d = x - y;
         p = (int40)d[0] * (int40)d[1]; q = (int40)d[0] * (int40)x[1]; r = (int40)d[1] * (int40)y[0];
         a[0] += p; a[1] += q + 17; a[2] += r - p; b max= (int17)d[0]; c += (uint8)d[1]; z += (int64)(p ^ q);",
    ),
];

/// One of [`OTHERS`] in two groups of two lanes.
fn other_agrees((name, text): (&str, &str), ii: u32, pairs: Pairs) {
    let shape = |c: Config| Config { stream_bits: 128, pipelines: 4, groups: 2, i_banks: 1, ..c };
    agree(name, text, ("ecp5", ii, pairs), shape);
}

#[test]
fn kernels_of_many_kinds_give_the_same_bits_and_flags_at_some_intervals() {
    testkit::some([(OTHERS[0], 5), (OTHERS[1], 2)], 1).for_each(|(other, ii)| other_agrees(other, ii, Pairs::Few));
}

#[test]
#[ignore = "a proof in depth"]
fn kernels_of_many_kinds_give_the_same_bits_and_flags_at_each_interval() {
    for ii in INTERVALS {
        OTHERS.iter().for_each(|other| other_agrees(*other, ii, Pairs::Many));
    }
}

/// Sums in slices: of many widths with and without a sign, some of which wrap, and more of them than one adder has clocks for.
const SUMS: &[(&str, &str)] = &[
    (
        "widths",
        "int30 x[2] ipin; int30 y[2] jpin; int20 c param; int40 a[2] fout; int17 b fout; uint20 d fout; int64 z fout; uint8 e fout;
         int33 f fout;
         d0 = x[0] - y[0]; d1 = x[1] - y[1];
         a[0] += (int40)d0 * (int40)d1; a[1] += (int40)d1 * 77777; b += (int17)d0; d += (uint20)pg_abs(d1);
         z += (int64)(d0 ^ d1) * 1234567890123; e += (uint8)d1; f += (int33)c;",
    ),
    (
        "points",
        "float18.9 x ipin; float18.9 y jpin; fixed40.20 a fout; fixed40.3 b fout; int40 c fout;
         a += (fixed40.20)(x * y); b += (fixed40.3)(x - y); c += (int40)(x + y);",
    ),
    ("natural", "uint30 x ipin; uint30 y jpin; uint40 a fout; uint16 b fout; a += (uint40)x + (uint40)y; b += (uint16)(x & y);"),
];

#[test]
fn sums_in_slices_are_those_of_whole_adders() {
    // For K = 33, the slices of four sums of 64 bits take fewer places than a pair takes clocks.
    let all = [(SUMS[0], SHAPES[2], 33), (SUMS[1], SHAPES[0], 31), (SUMS[2], SHAPES[1], 31)];
    testkit::some(all, 1).for_each(|(sums, shape, ii)| sums_agree(sums, shape, (ii, Pairs::Few)));
}

/// Engines for sums: families, pipelines, groups and stream widths.
const SHAPES: [(&str, u32, u32, u32); 3] = [("ice40", 1, 1, 32), ("ecp5", 1, 1, 128), ("ecp5", 6, 2, 64)];

/// One of [`SUMS`] in one of [`SHAPES`].
fn sums_agree(
    (name, text): (&str, &str),
    (family, pipelines, groups, stream_bits): (&str, u32, u32, u32),
    (ii, pairs): (u32, Pairs),
) {
    let shape = |c: Config| Config { stream_bits, pipelines, groups, i_banks: 1, ..c };
    agree(name, text, (family, ii, pairs), shape);
}

/// A kernel of many values at a low clock, where they wait in memories behind the units.
fn agrees_stored(name: &str, text: &str, (ii, pairs): (u32, Pairs), config: impl Fn(Config) -> Config) {
    let clock = Clock { mhz: 50.0, ..clock("ecp5") };
    let modules = Kernel::folded(name, text, clock, ii).pipeline.modules;
    assert!(modules.iter().any(|m| m.name.contains("_ring_")), "{name} at K = {ii}");
    agree_at(name, text, (clock, ii, pairs), config);
}

#[test]
#[ignore = "a proof in depth"]
fn values_that_wait_in_memories_are_those_of_registers() {
    m2l_agrees_stored(Pairs::Few);
}

fn m2l_agrees_stored(pairs: Pairs) {
    let m2l = pg2::gen_m2l(2).expect("the order is in range");
    agrees_stored("m2l_2", &m2l, (64, pairs), |c| Config { stream_bits: 64, ..c });
    agrees_stored("m2l_2", &m2l, (100, pairs), |c| Config { pipelines: 2, groups: 2, ..c });
}

#[test]
#[ignore = "a proof in depth"]
fn values_of_large_kernels_wait_in_memories_at_each_interval() {
    m2l_agrees_stored(Pairs::Many);
    for (order, ii) in [(3, 32), (3, 100), (4, 64), (5, 96), (6, 64), (6, 256)] {
        let text = pg2::gen_m2l(order).expect("the order is in range");
        agrees_stored(&format!("m2l_{order}"), &text, (ii, Pairs::Many), |c| Config { stream_bits: 64, ..c });
    }
}

#[test]
#[ignore = "a proof in depth"]
fn the_kernels_of_a_device_that_is_small_for_them_give_the_same_bits_and_flags() {
    let p2p = pg2::kernels::find("p2p").expect("it is shipped").text;
    agree("p2p", p2p, ("ice40", 32, Pairs::Many), |c| Config { i_banks: 1, ..c });
    agree("p2p", p2p, ("ice40", 64, Pairs::Many), |c| Config { pipelines: 3, groups: 1, ..c });
    for (order, ii) in [(2, 26), (4, 26), (6, 64)] {
        let text = pg2::gen_m2l(order).expect("the order is in range");
        agree(&format!("m2l_{order}"), &text, ("ecp5", ii, Pairs::Many), |c| Config { stream_bits: 64, ..c });
    }
    SHAPES.into_iter().for_each(|shape| sums_agree(SUMS[0], shape, (31, Pairs::Many)));
    for (name, text) in SUMS {
        for ii in [24, 33, 64] {
            let shape = |c: Config| Config { stream_bits: 64, pipelines: 10, groups: 2, ..c };
            agree(name, text, ("generic", ii, Pairs::Many), shape);
        }
    }
}

#[test]
#[ignore = "a proof in depth"]
fn a_folded_m2l_pipeline_is_busy_on_a_stream_that_starves_it_unfolded() {
    let text = pg2::gen_m2l(2).expect("the order is in range");
    let shape = |c: Config| Config { stream_bits: 64, pipelines: 8, ..c };
    let Some(used) = agree("m2l_2", &text, ("ecp5", 8, Pairs::Few), shape) else { return };
    assert!(used > 0.2, "{used}");
}
