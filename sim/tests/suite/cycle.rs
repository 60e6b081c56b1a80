//! The cycle simulation: split over threads it is the whole engine, clock for clock.

use crate::common::{Kernel, Outcome, Work, check, engine, simulate};
use hdl::Format;
use hdl::circuit::target::{Clock, target};
use sim::cycle::{CycleOptions, Noise};
use sim::stimuli::Style;

/// Three outputs of different kinds, a parameter, and only integer operators.
const INTEGERS: &str = "
int64 s fout;
int16 most fout;
uint8 least fout;
int32 xi[3] ipin;
uint8 k ipin;
int32 xj[3] jpin;
int16 m jpin;
int32 scale param;
d = xj - xi;
s += (d * d) * scale;
most max= m - (int16)d[0];
least min= k ^ (uint8)m;
";

fn noise(seed: u64) -> Noise {
    Noise { seed, gap: 0.3, stall: 0.4 }
}

#[test]
fn shell_and_lanes_on_threads_are_the_whole_engine_clock_for_clock() {
    the_whole_engine_clock_for_clock(&[(3, 64)], 4000);
}

#[test]
#[ignore = "a proof in depth"]
fn shell_and_lanes_on_threads_are_the_whole_engine_for_many_clocks() {
    the_whole_engine_clock_for_clock(&[(1, 32), (3, 64), (8, 128)], 50_000);
}

/// Engines of so many lanes on streams of so many bits.
fn the_whole_engine_clock_for_clock(engines: &[(u32, u32)], pairs: usize) {
    let kernel = Kernel::new("integers", INTEGERS);
    for &(lanes, stream_bits) in engines {
        let mut config = kernel.config(lanes);
        config.stream_bits = stream_bits;
        for noise in [Noise::default(), noise(5)] {
            let work = Work::random(&kernel.graph, pairs, 3, Style::Ordinary);
            let expected = work.expected(&kernel.graph);
            let run = |options: CycleOptions| -> Option<Outcome> {
                let mut engine = engine(&kernel, &config, &options)?;
                // The second time starts from the state that the first left.
                simulate(&mut engine, &work);
                let outcome = simulate(&mut engine, &work);
                check(&work, &outcome, &expected, &format!("{lanes} lanes, {options:?}"));
                Some(outcome)
            };
            let Some(flat) = run(CycleOptions { flat: true, noise, ..CycleOptions::default() }) else { return };
            for threads in testkit::some([1, 5, 2], 2) {
                let split =
                    run(CycleOptions { threads, noise, ..CycleOptions::default() }).expect("Verilator is there");
                assert_eq!(split.counters, flat.counters);
                assert!(split.beats == flat.beats, "beats of {lanes} lanes on {threads} threads");
            }
        }
    }
}

#[test]
#[ignore = "a proof in depth"]
fn a_trace_is_written_and_changes_nothing() {
    let kernel = Kernel::new("integers", INTEGERS);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.fst");
    let work = Work::random(&kernel.graph, 500, 1, Style::Ordinary);
    let options = CycleOptions { trace: Some(file.clone()), ..CycleOptions::default() };
    let Some(mut traced) = engine(&kernel, &kernel.config(2), &options) else { return };
    let outcome = simulate(&mut traced, &work);
    check(&work, &outcome, &work.expected(&kernel.graph), "traced");
    drop(traced);
    let mut plain = engine(&kernel, &kernel.config(2), &CycleOptions::default()).expect("Verilator is there");
    assert!(simulate(&mut plain, &work).beats == outcome.beats);
    let bytes = std::fs::read(&file).unwrap();
    // Block type 0 (header) of length 329.
    assert_eq!(bytes[..9], [0, 0, 0, 0, 0, 0, 0, 1, 73]);
    assert!(bytes.len() > 2000);
}

/// Products that leave their blocks straight into sums, at clocks for which these are cut at different places, or not at all.
#[test]
fn sums_that_are_cut_for_the_clock_are_exact() {
    const PRODUCTS: &str = "
    int32 whole fout;
    int9 few fout;
    uint17 none fout;
    int64 wide fout;
    int16 x ipin;
    int16 y jpin;
    p = (int32)x * (int32)y;
    whole += p;
    few += (int9)x;
    none += (uint17)y;
    wide += (int64)p << 20;
    ";
    let mut lows = Vec::new();
    for (family, mhz, ii) in
        [("ecp5", 75.0, 1), ("ecp5", 150.0, 1), ("ecp5", 190.0, 1), ("max10", 250.0, 1), ("ecp5", 190.0, 3)]
    {
        let clock = Clock { target: target(family).unwrap(), mhz, blocks: None };
        let kernel = Kernel::folded("products", PRODUCTS, clock, ii);
        let chains = kernel.pipeline.module(&kernel.pipeline.top).unwrap().chains;
        lows.push([9, 17, 32, 64].map(|bits| chains.low(Format::int(bits, true).unwrap())));
        let config = kernel.config(2);
        let work = Work::random(&kernel.graph, 400, 7, Style::Ordinary);
        let options = CycleOptions { flat: true, noise: noise(3), ..CycleOptions::default() };
        let Some(mut engine) = engine(&kernel, &config, &options) else { return };
        let outcome = simulate(&mut engine, &work);
        check(&work, &outcome, &work.expected(&kernel.graph), &format!("{family} at {mhz} MHz, {ii} clocks"));
    }
    // At the slowest clock only the widest is cut; at others all kinds of cuts are there.
    assert_eq!(lows[0], [41, 49, 64, 40]);
    assert!(lows.iter().flatten().any(|low| *low < 9) && lows.iter().any(|l| l[2] < 64 && l[1] < 17), "{lows:?}");
}
