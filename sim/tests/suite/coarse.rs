//! Coarse tests of distance in front of a condition: none loses a pair, nor a flag, and few others pass.

use hdl::Flags;
use hdl::number::exact;
use pg2::graph::{Graph, NodeId, Output, PinClass};
use pg2::middle::coarse::{self, Coarse, completed, reaching};
use sim::reference;
use sim::stimuli::Random;

/// Differences that wrap at the box, in units that a parameter makes lengths.
const BOX: &str =
    "fixed32.32 xi[3] ipin; fixed32.32 xj[3] jpin; float25.16 box param; float25.16 cut2 param; fixed64.24 o fout;
r = (float25.16)(xj - xi) * box; r2 = r * r; where (r2 < cut2 && r2 > 0); o += (fixed64.24)r2;";
/// Softened, in a plane, with the source first, and below or at the bound.
const SOFT: &str =
    "fixed20.10 x[2] ipin; fixed20.10 y[2] jpin; float18.9 eps2 param; float18.9 cut2 param; int32 n fout;
r = (float18.9)(x - y); r2 = r * r + eps2; where (!(r2 > cut2)); n += 1;";
/// Integers whose squares are exact.
const WHOLE: &str = "int20 x[3] ipin; int20 y[3] jpin; int48 cut2 param; int32 n fout;
d = (int48)(y - x); r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]; where (r2 <= cut2); n += 1;";
/// Bounds of each axis, and of both.
const CYLINDER: &str =
    "fixed24.12 x[3] ipin; fixed24.12 y[3] jpin; float24.15 high param; float24.15 wide2 param; int32 n fout;
d = (float24.15)(y - x); where (pg_abs(d[2]) < high); where (d[0] * d[0] + d[1] * d[1] < wide2); n += 1;";
/// Units of differences too narrow for their squares, which raise flags.
const TINY: &str =
    "fixed32.32 xi[3] ipin; fixed32.32 xj[3] jpin; float20.14 box param; float20.14 cut2 param; int32 n fout;
r = (float20.14)(xj - xi) * box; where (r * r < cut2); n += 1;";

/// Kernels, with parameters that reach little and much.
const KERNELS: [(&str, &[[f64; 2]]); 5] = [
    (BOX, &[[10.0, 6.25], [1.0, 0.0001], [3.0, 8.0], [0.5, 1e-9], [-10.0, 6.25], [1.0, 0.0]]),
    (SOFT, &[[0.01, 4.0], [0.5, 0.25], [0.0, 2500.0], [0.0, 0.0]]),
    (WHOLE, &[[1e6, 0.0], [40.0, 0.0], [4e10, 0.0], [-1.0, 0.0]]),
    (CYLINDER, &[[1.0, 4.0], [100.0, 0.01], [0.1, 0.1]]),
    (TINY, &[[4.0, 1.0]]),
];

/// Both tests of a kernel as outputs: the condition, and the coarse test.
fn both(text: &str) -> (Graph, Graph) {
    let graph = reaching(&pg2::compile("k", text).unwrap_or_else(|e| panic!("{text}: {e:?}")).graph);
    assert!(coarse::is_coarse(&graph), "{text}: {:?}", Coarse::new(&graph).err());
    let mut both = graph.clone();
    let few = coarse::test(&mut both).expect("it is coarse");
    let only = |graph: &Graph, value: NodeId| {
        let first = graph.outputs[0].clone();
        Graph { outputs: vec![Output { value, ..first }], ..graph.clone() }
    };
    (only(&graph, graph.filter.expect("a filter")), only(&both, few))
}

fn params(graph: &Graph, numbers: &[f64]) -> Vec<u64> {
    let pins: Vec<_> = graph.pins.iter().filter(|p| p.class == PinClass::Param && p.name != coarse::REACH).collect();
    let pattern = |(pin, number): (&&pg2::graph::Pin, &f64)| {
        let number = exact::Exact::from_float(*number).expect("a number");
        exact::to_bits(pin.format, &number).expect("it is in range").0
    };
    completed(graph, &pins.iter().zip(numbers).map(pattern).collect::<Vec<u64>>())
}

/// Whether a pair passes, and the flags of that.
fn passes(graph: &Graph, i: &[u64], j: &[u64], params: &[u64]) -> (bool, Flags) {
    let (values, flags) = reference::pair(graph, i, j, params);
    (values[graph.outputs[0].value.0 as usize] == 1, flags)
}

/// Pairs whose differences are anywhere on a line through 0, and, found by halves, next to where the condition turns.
fn check(exact: &Graph, few: &Graph, params: &[u64], random: &mut Random) {
    let sources = exact.elements_of(PinClass::Jpin);
    let width = exact.pins[sources[0].0].format.width();
    let mask = (1u64 << width) - 1;
    let axes = sources.len();
    for _ in 0..60 {
        let i: Vec<u64> = (0..axes).map(|_| random.bits() & mask).collect();
        // A direction, of which one element may be the only one, and how far it goes.
        let mut line: Vec<f64> = (0..axes).map(|_| random.bits() as i64 as f64 / 2f64.powi(63)).collect();
        if random.below(4) == 0 {
            let axis = random.below(axes as u64) as usize;
            line.iter_mut().enumerate().for_each(|(k, x)| *x = if k == axis { 1.0 } else { 0.0 });
        }
        let most = line.iter().fold(0.0f64, |a, x| a.max(x.abs()));
        let longest = 2f64.powi(width as i32 - 1) - 1.0;
        let at = |t: f64| -> Vec<u64> {
            let far = |(i, x): (&u64, &f64)| i.wrapping_add((x / most * longest * t) as i64 as u64) & mask;
            i.iter().zip(&line).map(far).collect()
        };
        let (mut inside, mut outside) = (0.0, 1.0);
        for _ in 0..width {
            let middle = (inside + outside) / 2.0;
            match passes(exact, &i, &at(middle), params).0 {
                true => inside = middle,
                false => outside = middle,
            }
        }
        let ulp = 1.0 / longest;
        let near = (-3..=3).map(|k| inside + k as f64 * ulp);
        let far = (0..12).map(|_| random.bits() as f64 / 2f64.powi(64));
        for t in near.chain(far).filter(|t| (0.0..=1.0).contains(t)) {
            let j = at(t);
            let (wanted, flags) = passes(exact, &i, &j, params);
            let found = passes(few, &i, &j, params);
            assert!(found.0 || !wanted, "a pair is lost: {i:x?} {j:x?} with {params:x?}");
            assert!(found.0 || flags == Flags::NONE, "flags are lost: {i:x?} {j:x?} with {params:x?}");
            assert_eq!(found.1, Flags::NONE);
        }
    }
}

#[test]
fn a_coarse_test_loses_neither_pairs_nor_flags() {
    let mut random = Random::new(std::env::var("SEED").ok().and_then(|v| v.parse().ok()).unwrap_or(5));
    for (text, sets) in KERNELS {
        let (exact, few) = both(text);
        for numbers in sets {
            check(&exact, &few, &params(&exact, numbers), &mut random);
        }
    }
}

#[test]
fn a_coarse_test_passes_few_pairs_that_are_out_of_reach() {
    let (exact, few) = both(BOX);
    let mut random = Random::new(3);
    for reach in [0.24, 0.17, 0.03] {
        let params = params(&exact, &[1.0, reach * reach]);
        // Sources of the cells around that of a target.
        let mut count = [0, 0];
        for _ in 0..4000 {
            let i: Vec<u64> = (0..3).map(|_| random.bits() & 0xffff_ffff).collect();
            let far = |x: &u64| {
                x.wrapping_add(
                    ((random.bits() as i64 as f64 / 2f64.powi(63)) * 1.5 * reach * 2f64.powi(32)) as i64 as u64,
                ) & 0xffff_ffff
            };
            let j: Vec<u64> = i.iter().map(far).collect();
            count[0] += passes(&exact, &i, &j, &params).0 as u32;
            count[1] += passes(&few, &i, &j, &params).0 as u32;
        }
        assert!(count[0] > 400 && (count[1] as f64) < 1.15 * count[0] as f64, "{count:?} at {reach}");
    }
}

#[test]
fn what_cannot_be_tested_coarsely_says_why() {
    let pins = "int32 x[2] ipin; int32 y[2] jpin; float25.16 m jpin; float25.16 h ipin; float25.16 u[2] ipin; float25.16 v[2] jpin;
        float25.16 c param; int32 n fout; d = (float25.16)(y - x); r2 = d * d; ";
    for (condition, part) in [
        ("m < c", "it rests on `m`"),
        ("r2 < h", "it rests on `h`"),
        ("r2 * m < c", "it rests on `m`"),
        ("r2 > c", "bounds no distance from above"),
        ("pg_sqrt(r2) < c", "a power or root"),
        ("(v - u) * (v - u) < c", "floats do not"),
        ("d[0] < c", "bounds no distance from above"),
        ("y[0] - x[0] < 100", "bounds no distance from above"),
    ] {
        let text = format!("{pins} where ({condition}); n += 1;");
        let graph = pg2::compile("k", &text).unwrap_or_else(|e| panic!("{text}: {e:?}")).graph;
        let why = Coarse::new(&graph).err().unwrap_or_else(|| panic!("{condition} has a coarse test"));
        assert!(why.contains(part), "{condition}: {why}");
        assert!(!coarse::is_coarse(&reaching(&graph)));
    }
}
