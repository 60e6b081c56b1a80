//! Engines with filters before their pipelines, in simulation: the bits and flags of the emulator.

use crate::common::{Kernel, Run, Work, check, engine, simulate};
use hdl::circuit::target::Clock;
use hdl::engine::Config;
use hdl::engine::protocol::Segment;
use pg2::backend::filtered::build_filtered;
use pg2::middle::coarse::reaching;
use sim::cycle::CycleOptions;
use sim::stimuli::Style;

/// Sums in one part and in two, of both signs, extremes, flags in the condition and behind it.
const MIXED: &str = "
int64 s fout;
int8 n fout;
uint20 u fout;
int16 most fout;
ufixed12.4 least fout;
int16 x ipin;
int16 y jpin;
uint3 k jpin;
int8 p param;
d = x - y;
where (d / (int16)k < p);
s += (int64)d << 20;
n += 100 / (int8)d;
u += (uint20)(uint16)d;
most max= d;
least min= (ufixed12.4)((fixed16.4)d >> 2);
";

/// A cut-off around sums of floats, which leave their rounding to the accumulator.
const CUT: &str = "
fixed20.10 x[2] ipin;
fixed20.10 y[2] jpin;
float18.9 m jpin;
float18.9 cut2 param;
fixed64.20 f[2] fout;
int32 count fout;
r = (float18.9)(y - x);
r2 = r * r;
where (r2 < cut2 && r2 > 0);
f += (fixed64.20)(m * pg_rsqrt(r2) * r);
count += 1;
";

/// A condition of the source alone, and nothing that is carried.
const ALONE: &str = "int8 x ipin; uint8 y jpin; uint32 n fout; uint4 few fout; where (y > 99); n += 1; few += 3;";

const KERNELS: [&str; 3] = [CUT, MIXED, ALONE];

fn kernel(text: &str, clock: Clock) -> Kernel {
    let graph = pg2::compile("k", text).unwrap_or_else(|e| panic!("{e:?}")).graph;
    let built = build_filtered(&graph, clock, text, Vec::new()).unwrap_or_else(|e| panic!("{e}"));
    let graph = reaching(&graph);
    Kernel { graph, latency: built.schedule.depth, pipeline: built.netlist, ii: 1 }
}

/// Random work, and runs in which all pairs pass or none, so that queues fill or are empty.
fn works(kernel: &Kernel) -> Vec<Work> {
    let mut works: Vec<Work> = (1..4).map(|seed| Work::random(&kernel.graph, 4000, seed, Style::Ordinary)).collect();
    works.push(Work::random(&kernel.graph, 2000, 9, Style::Wild { anchor: 0 }));
    let mut same = works[0].clone();
    for (k, j) in same.j.iter_mut().enumerate() {
        j.clone_from(&works[0].j[if k / 300 % 2 == 0 { 1 } else { k % 5 }]);
    }
    same.runs.push(Run { i: (0, 40), segments: vec![Segment { first: 0, count: 900 }] });
    same.runs.push(Run { i: (4, 6), segments: vec![Segment { first: 0, count: 1 }] });
    works.push(same);
    works
}

fn simulated(kernel: &Kernel, works: &[Work], config: &Config) {
    let Some(mut engine) = engine(kernel, config, &CycleOptions::default()) else { return };
    for (k, work) in works.iter().enumerate() {
        let Config { pipelines, filters, groups, stream_bits, .. } = config;
        let what = format!("{pipelines} lanes of {filters} filters, {groups} groups, {stream_bits} bits, work {k}");
        check(work, &simulate(&mut engine, work), &work.expected(&kernel.graph), &what);
    }
}

#[test]
fn filters_before_pipelines_change_no_bit() {
    for (k, text) in testkit::some(KERNELS.into_iter().enumerate(), 1) {
        let kernel = kernel(text, Clock::default_clock());
        let works = works(&kernel);
        let shapes = [(1, 8, 1, 32), (2, 3, 1, 64), (4, 2, 2, 128), (1, 2, 1, 32), (6, 5, 2, 32)];
        for (pipelines, filters, groups, stream_bits) in testkit::some(shapes.into_iter().cycle().skip(k).take(5), 1) {
            let config = Config { filters, groups, stream_bits, ..kernel.config(pipelines) };
            simulated(&kernel, &works, &config);
        }
    }
}
