//! Selections, `(best, who) min= (key, payload)`: values that were sorted by hand, the emulator, real arithmetic, and simulated engines.

use crate::common::{Kernel, Work, check, engine, simulate};
use crate::exact_c;
use hdl::circuit::target::{Clock, target};
use hdl::engine::Config;
use hdl::engine::protocol::Segment;
use hdl::op::semantics::Real;
use pg2::backend::cuda::native;
use pg2::graph::{Graph, PinClass};
use sim::cycle::{CycleOptions, Noise};
use sim::emulator::{Emulator, Isa};
use sim::reference;
use sim::reference::real::{Pairs, RealKernel, RealSources};
use sim::stimuli::{Random, Style, records};

/// Kernels of many kinds, with narrow keys among them, so that many are equal.
const KERNELS: &[(&str, &str)] = &[
    (
        "nearest",
        "float18.9 x[2] ipin; float18.9 y[2] jpin; uint32 id jpin; float18.9 best fout; uint32 who fout;
         d = y - x; r2 = d * d; if (r2 > 0) { (best, who) min= (r2, id); }",
    ),
    (
        "k_nearest",
        "int6 x ipin; int6 y jpin; uint5 id jpin; int9 m jpin; int6 best[4] fout; uint5 who[4] fout; int9 what[4] fout; uint16 n fout;
         near = pg_abs(y - x) < 12; if (near) { (best, who, what) min= (pg_abs(y - x), id, m); } n += near;",
    ),
    (
        "farthest",
        "fixed20.12 x ipin; fixed20.12 y[3] jpin; float12.6 q jpin; fixed64.30 sum fout; fixed20.12 far[3] fout; float12.6 with[3] fout;
         fixed20.12 at[3][3] fout; int3 low fout;
         k = (y[0] - x) >> 3; (far, with, at) max= (k, q, y); sum += (fixed64.30)(y[1] * x); low min= (int3)(k >> 2);",
    ),
    (
        "by_species",
        "int8 x ipin; int8 y jpin; uint2 kind jpin; uint4 id jpin; int8 best[3] fout; uint4 who[3] fout; log9.4 only[2] fout; log9.4 l jpin;
         for c in 0..3 { if (kind == c) { (best[c], who[c]) max= (x ^ y, id); } else { (best[c], who[c]) max= (x & y, 3); } }
         (only) min= (l);",
    ),
    (
        "constants",
        "uint3 n param; uint3 i ipin; uint3 j jpin; uint3 a fout; uint3 b fout; int8 c[2][5] fout; int8 d[2][5] fout; int8 s jpin;
         float18.9 p param; float18.9 o fout; o max= pg_sqrt(p * p + 1) * p;
         (b, a) max= (n, 5); (d[1], c[0]) min= (s, s); (c[1], d[0]) max= (pg_max(s, 0), (int8)i - (int8)j);",
    ),
];

fn graph(text: &str) -> Graph {
    pg2::compile("kernel", text).unwrap_or_else(|e| panic!("{text}: {e:#?}")).graph
}

#[test]
fn the_nearest_two_of_some_points_are_in_order_and_ties_go_to_the_lesser_payload() {
    let text = "int16 x ipin; int16 y jpin; uint8 id jpin; uint1 counts jpin; int16 best[2] fout; uint8 who[2] fout; int16 most fout; \
                uint8 which fout; d = pg_abs(y - x); if (counts) { (best, who) min= (d, id); } (most, which) max= (d, id);";
    let graph = graph(text);
    let source = |y: i16, id: u64, counts: u64| vec![y as u16 as u64, id, counts];
    let run = |sources: &[Vec<u64>]| reference::target(&graph, &[10], sources, &[]).0;
    let mut sources = vec![
        source(13, 9, 1),
        source(7, 4, 1),
        source(11, 8, 0),
        source(110, 6, 1),
        source(-90, 5, 1),
        source(13, 9, 0),
    ];
    // Without sources, and with one that the condition leaves out.
    assert_eq!(run(&[]), [0x7fff, 0x7fff, 255, 255, 0x8000, 255]);
    assert_eq!(run(&[source(11, 8, 0)]), [0x7fff, 0x7fff, 255, 255, 1, 8]);
    for _ in 0..sources.len() {
        sources.rotate_left(1);
        assert_eq!(run(&sources), [3, 3, 4, 9, 100, 5]);
    }
    // Equal pairs count as often as they come, and a key that is the identity's is one.
    assert_eq!(run(&[source(7, 4, 1), source(7, 4, 1)]), [3, 3, 4, 4, 3, 4]);
    assert_eq!(run(&[source(-32757, 200, 1)])[2..4], [200, 255]);
}

#[test]
fn the_emulator_selects_as_the_reference() {
    for (name, text) in KERNELS {
        let graph = graph(text);
        let random = &mut Random::new(5);
        for style in [Style::Ordinary, Style::Wild { anchor: 3 }] {
            let mut of = |class, n| records(&graph, class, n, style, random);
            let (i, j, params) = (of(PinClass::Ipin, 4), of(PinClass::Jpin, 700), of(PinClass::Param, 1));
            for isa in Isa::available() {
                let mut emulator = Emulator::with_isa(&pg2::middle::simplify::simplify(&graph), isa);
                emulator.set_params(&params[0]);
                let mut sources = emulator.sources(j.len());
                emulator.load(&mut sources, 0, &j.concat());
                let segments = [Segment { first: 300, count: 400 }, Segment { first: 0, count: 300 }];
                let mut sums = vec![emulator.start(); i.len()];
                emulator.accumulate(&mut emulator.scratch(), &mut sums, &i.concat(), &sources, &segments);
                for (i, sum) in i.iter().zip(&sums) {
                    assert_eq!(sum.finish(), reference::target(&graph, i, &j, &params[0]), "{name} on {isa}");
                }
            }
        }
    }
}

#[test]
fn real_arithmetic_compares_numbers_beyond_the_format() {
    // Keys of 1e40 and 1e41 are beyond the format, and yet better than none.
    let text = "float18.9 x jpin; uint8 id jpin; float18.9 best[3] fout; uint8 who[3] fout; if (id != 7) { (best, who) min= (x, id); }";
    let kernel = RealKernel::new(&graph(text));
    let record = |x: f64, id: u64| [x.to_bits(), id];
    let sources = RealSources::new(2, &[record(1e41, 1), record(-3.0, 7), record(1e40, 2)].concat());
    let gathered = kernel.gather(&sources, std::slice::from_ref(&(0..3)));
    let pairs = Pairs { i: &[], params: &[], sources: &sources };
    let values = kernel.target(&mut kernel.scratch(), &pairs, &gathered).0;
    let floats: Vec<f64> = values[..3].iter().map(|x| x.f64()).collect();
    let most = "float18.9".parse::<hdl::Format>().map(|f| f.to_f64(f.max_bits())).unwrap_or_default();
    assert_eq!(floats, [1e40, 1e41, most]);
    assert_eq!(values[3..].iter().map(|x| x.bits()).collect::<Vec<_>>(), [2, 1, 255]);
}

#[test]
fn the_native_text_selects_as_real_arithmetic() {
    let graphs: Vec<Graph> = KERNELS.iter().map(|(_, text)| graph(text)).collect();
    let named = || KERNELS.iter().map(|(name, _)| *name).zip(&graphs);
    let texts: Vec<String> = named().map(|(name, g)| native::functions(g) + &exact_c::caller(name, g)).collect();
    let parts: Vec<(&str, &str)> = named().zip(&texts).map(|((name, _), text)| (name, text.as_str())).collect();
    let Some(library) = exact_c::library(&parts) else { return };
    for (name, graph) in named() {
        // SAFETY: the library's functions have this type.
        let run = unsafe { library.get::<exact_c::Run>(format!("run_{name}").as_bytes()) }.expect("a function");
        let kernel = RealKernel::new(graph);
        let random = &mut Random::new(9);
        let held = |class, records: Vec<Vec<u64>>| -> Vec<Vec<u64>> {
            let formats: Vec<_> = graph.elements_of(class).iter().map(|(pin, _)| graph.pins[*pin].format).collect();
            let one =
                |record: Vec<u64>| formats.iter().zip(record).map(|(f, bits)| Real::read(*f, bits).bits()).collect();
            records.into_iter().map(one).collect()
        };
        for n in [0, 1, 3, 200] {
            let mut of = |class, n| held(class, records(graph, class, n, Style::Ordinary, random));
            let (i, j, params) = (of(PinClass::Ipin, 5), of(PinClass::Jpin, n), of(PinClass::Param, 1));
            let sources = RealSources::new(graph.elements_of(PinClass::Jpin).len(), &j.concat());
            let gathered = kernel.gather(&sources, std::slice::from_ref(&(0..n)));
            for i in &i {
                let pairs = Pairs { i, params: &params[0], sources: &sources };
                let wanted: Vec<u64> =
                    kernel.target(&mut kernel.scratch(), &pairs, &gathered).0.iter().map(|x| x.bits()).collect();
                let mut found = vec![0; graph.outputs.len()];
                let flat = j.concat();
                // SAFETY: the records have the elements that the function reads, and `found` one place for each output.
                unsafe { run(i.as_ptr(), flat.as_ptr(), n as u64, params[0].as_ptr(), found.as_mut_ptr()) };
                assert_eq!(found, wanted, "{name}, i = {i:x?}, {n} sources");
            }
        }
    }
}

/// Simulates a kernel's engine and compares it with the reference.
fn simulated(name: &str, kernel: Kernel, config: impl Fn(Config) -> Config) {
    let config = config(kernel.config(1));
    let noise = Noise { seed: config.ii as u64, gap: 0.2, stall: 0.3 };
    let options = CycleOptions { noise, ..CycleOptions::default() };
    let Some(mut simulated) = engine(&kernel, &config, &options) else { return };
    for style in [Style::Ordinary, Style::Wild { anchor: 0 }] {
        let work = Work::random(&kernel.graph, 900, 3, style);
        let outcome = simulate(&mut simulated, &work);
        check(&work, &outcome, &work.expected(&kernel.graph), &format!("{name}, {config:?}"));
    }
}

#[test]
fn engines_select_as_the_reference() {
    for (k, (name, text)) in KERNELS.iter().enumerate() {
        let groups = 1 + k as u32 % 2;
        let shape = |c: Config| Config { stream_bits: 64, pipelines: 2 * groups, groups, ..c };
        simulated(name, Kernel::new("k", text), shape);
    }
}

#[test]
fn folded_engines_select_as_the_reference() {
    let target = target("ecp5").expect("a family of the list");
    for (k, (name, text)) in KERNELS.iter().enumerate() {
        let (ii, groups) = ([4, 2, 7, 3, 2][k], 2 - k as u32 % 2);
        let shape = |c: Config| Config { stream_bits: 32, pipelines: groups, groups, i_banks: 1 + k as u32 % 2, ..c };
        let clock = Clock { target, mhz: target.usual_mhz, blocks: None };
        simulated(name, Kernel::folded("k", text, clock, ii), shape);
    }
}
