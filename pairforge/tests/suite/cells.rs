//! Runs over neighbouring cells give the bits of runs over all pairs, for kernels that end at the cut-off.

use hdl::number::exact::{Exact, to_bits};
use pairforge::backends::{self, find};
use pg2::graph::{Graph, PinClass};
use pipelines::cells::{CellLists, CellsError, Reach};
use pipelines::job::{Backend, Job, Outcome, Run, SourceRange, Table};
use sim::stimuli::Random;

/// A count and a sum of what lies within the cut-off, in `axes` coordinates of `format`.
fn kernel(format: &str, axes: u32) -> Graph {
    let text = format!(
        "{format} xi[{axes}] ipin; int16 id jpin; {format} xj[{axes}] jpin; float25.16 cut2 param;
         uint32 count fout; int32 sum fout; int8 any fout;
         d = (float25.16)(xj - xi); r2 = d * d; near = r2 < cut2;
         count += near; sum += near ? id : 0; any max= near ? 1 : -128;"
    );
    pg2::compile("within", &text).unwrap_or_else(|e| panic!("{e:#?}")).graph
}

/// Records of coordinates; sources have their number first.
fn table(graph: &Graph, class: PinClass, points: &[[f64; 3]]) -> Table {
    let elements = graph.elements_of(class);
    let mut bits = Vec::new();
    for (k, point) in points.iter().enumerate() {
        for (pin, element) in &elements {
            let pin = &graph.pins[*pin];
            let x = if pin.name == "id" { k as f64 } else { point[*element as usize] };
            bits.push(to_bits(pin.format, &Exact::from_float(x).expect("finite")).expect("in range").0);
        }
    }
    Table { elements: elements.len(), bits }
}

fn emulator() -> Box<dyn Backend> {
    (find("emulator").expect("a backend").0.open)(&backends::BackendOptions::default())
}

fn plan(graph: &Graph, targets: &Table, sources: &Table, reach: &Reach) -> Result<CellLists, CellsError> {
    pipelines::cells::plan(graph, &*emulator(), targets, sources, reach)
}

fn run(graph: &Graph, targets: &Table, sources: &Table, cut: f64, runs: &[Run], segments: &[SourceRange]) -> Outcome {
    let format = graph.pins_of(PinClass::Param).next().expect("a parameter").1.format;
    let params = [pipelines::encode::encode(format, cut * cut).0];
    let job = Job { graph, targets, sources, params: &params, runs, segments };
    emulator().run(&job, &mut |_| {}).expect("the emulator runs all jobs")
}

fn all_pairs(graph: &Graph, targets: &Table, sources: &Table, cut: f64) -> Outcome {
    let runs = [Run { first: 0, count: targets.len(), segments: 0..1 }];
    run(graph, targets, sources, cut, &runs, &[SourceRange { first: 0, count: sources.len() }])
}

fn by_cells(graph: &Graph, targets: &Table, sources: &Table, reach: &Reach) -> (CellLists, Table, u64) {
    let plan = plan(graph, targets, sources, reach).unwrap_or_else(|e| panic!("{e}"));
    let outcome = run(graph, &plan.targets, &plan.sources, reach.radius, &plan.runs, &plan.segments);
    let listed: usize = plan.runs.iter().map(|r| r.count).sum();
    assert_eq!(listed, targets.len(), "every target is in one run");
    let results = plan.restored(&outcome.results);
    (plan, results, outcome.pairs)
}

fn open(radius: f64) -> Reach {
    Reach { radius, sides: None }
}

fn periodic(radius: f64, sides: &[f64]) -> Reach {
    Reach { radius, sides: Some(sides.to_vec()) }
}

/// Random places in [low, low + side), a third of them on multiples of `step`.
fn places(n: usize, low: f64, side: f64, step: f64, seed: u64) -> Vec<[f64; 3]> {
    let mut random = Random::new(seed);
    let mut one = || {
        let x = (random.bits() >> 11) as f64 / (1u64 << 53) as f64 * side;
        let x = if random.below(3) == 0 { (x / step).floor() * step } else { x };
        low + (x * 2f64.powi(24)).floor() / 2f64.powi(24)
    };
    (0..n).map(|_| [one(), one(), one()]).collect()
}

#[test]
fn an_open_domain_gives_the_bits_of_all_pairs() {
    for (format, low, side) in [
        ("fixed32.31", -0.5, 1.0),
        ("fixed48.24", 1000.0, 3.0),
        ("float25.16", -8.0, 16.0),
        ("int32", -1000.0, 2000.0),
        ("int64", 4.0e18, 1000.0),
    ] {
        for axes in 1..=3 {
            let graph = kernel(format, axes);
            let whole = |p: Vec<[f64; 3]>| match format.starts_with("int") {
                true => p.into_iter().map(|p| p.map(f64::floor)).collect(),
                false => p,
            };
            for (k, share) in [0.01, 0.1, 0.25, 0.5, 3.0].into_iter().enumerate() {
                let radius = side * share;
                let i = table(&graph, PinClass::Ipin, &whole(places(150, low, side, radius, k as u64)));
                let j = table(&graph, PinClass::Jpin, &whole(places(300, low, side, radius, 100 + k as u64)));
                let wanted = all_pairs(&graph, &i, &j, radius);
                let (plan, got, pairs) = by_cells(&graph, &i, &j, &open(radius));
                assert_eq!(got, wanted.results, "{format}[{axes}], radius {radius}: {:?}", plan.report);
                assert_eq!(plan.report.images, 0);
                assert!(pairs <= wanted.pairs && (share < 1.0 || pairs == wanted.pairs), "{pairs}");
            }
        }
    }
}

#[test]
fn a_box_at_which_the_format_wraps_gives_the_bits_of_all_pairs() {
    for (format, low, side, scale) in
        [("fixed32.32", -0.5, 1.0, 1.0), ("fixed24.20", -8.0, 16.0, 1.0), ("int32", -1.0, 2.0, 2147483648.0)]
    {
        for axes in 1..=3 {
            let graph = kernel(format, axes);
            for (k, share) in [0.01, 0.1, 0.2, 0.2499, 0.26, 0.34, 0.5].into_iter().enumerate() {
                let radius = side * share;
                let scaled =
                    |p: Vec<[f64; 3]>| -> Vec<[f64; 3]> { p.into_iter().map(|p| p.map(|x| x * scale)).collect() };
                let i = table(&graph, PinClass::Ipin, &scaled(places(150, low, side, radius, k as u64)));
                let j = table(&graph, PinClass::Jpin, &scaled(places(300, low, side, radius, 100 + k as u64)));
                let wanted = all_pairs(&graph, &i, &j, radius * scale);
                let reach = periodic(radius * scale, &[side * scale]);
                let (plan, got, pairs) = by_cells(&graph, &i, &j, &reach);
                assert_eq!(got, wanted.results, "{format}[{axes}], radius {radius}: {:?}", plan.report);
                assert_eq!(plan.report.images, 0);
                assert!(pairs <= wanted.pairs, "no pair comes twice");
            }
        }
    }
}

/// Records whose coordinates are anywhere in their format, or near its ends.
fn anywhere(graph: &Graph, class: PinClass, count: usize, spread: f64, random: &mut Random) -> Table {
    let elements = graph.elements_of(class);
    let mut bits = Vec::new();
    for k in 0..count {
        for (pin, _) in &elements {
            let (pin, format) = (&graph.pins[*pin], graph.pins[*pin].format);
            let near =
                ((random.bits() >> 11) as f64 * 2f64.powi(-53) * spread * 2f64.powi(format.width() as i32)) as u64;
            let place = match random.below(4) {
                _ if pin.name == "id" => k as u64,
                0 => format.min_bits().wrapping_add(near),
                1 => format.max_bits().wrapping_sub(near),
                // Not beyond the last quarter.
                2 => format.min_bits().wrapping_add(near).wrapping_add(format.mask() / 4 * 3),
                _ => random.bits(),
            };
            bits.push(place & format.mask());
        }
    }
    Table { elements: elements.len(), bits }
}

/// A short difference across the ends of a format acts without --periodic too.
#[test]
fn a_format_that_wraps_gives_the_bits_of_all_pairs_without_a_side() {
    let mut random = Random::new(7);
    for format in [
        "int8",
        "uint8",
        "int16",
        "uint24",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "fixed8.8",
        "fixed12.5",
        "ufixed16.16",
        "fixed24.20",
        "fixed32.32",
        "ufixed40.3",
        "fixed64.64",
        "fixed64.1",
    ] {
        for axes in 1..=3 {
            let graph = kernel(format, axes);
            let of: hdl::Format = format.parse().expect("a format");
            let length = 2f64.powi(of.width() as i32 - of.frac().unwrap_or(0) as i32);
            for share in [0.004, 0.03, 0.2, 0.4] {
                let i = anywhere(&graph, PinClass::Ipin, 60, share, &mut random);
                let j = anywhere(&graph, PinClass::Jpin, 120, share, &mut random);
                let radius = length * share;
                let wanted = all_pairs(&graph, &i, &j, radius);
                let (plan, got, pairs) = by_cells(&graph, &i, &j, &open(radius));
                assert_eq!(got, wanted.results, "{format}[{axes}], radius {radius}: {:?}", plan.report);
                assert!(pairs <= wanted.pairs, "no pair comes twice");
            }
        }
    }
}

#[test]
fn images_give_the_bits_of_a_box_that_wraps() {
    // The same differences, made by a format that wraps at 1 and by images in wider ones.
    for axes in 1..=3 {
        let wraps = kernel("fixed32.32", axes);
        for (format, low) in
            [("fixed40.32", -0.5), ("fixed40.32", 0.0), ("fixed36.32", 0.0), ("fixed64.40", -3.0), ("float52.42", 0.0)]
        {
            let graph = kernel(format, axes);
            for (k, radius) in [0.03, 0.1, 0.2, 0.26, 0.34, 0.49].into_iter().enumerate() {
                let (i, j) = (places(120, low, 1.0, radius, k as u64), places(250, low, 1.0, radius, 50 + k as u64));
                let centred =
                    |p: &[[f64; 3]]| -> Vec<[f64; 3]> { p.iter().map(|p| p.map(|x| x - (x + 0.5).floor())).collect() };
                let of = |graph: &Graph, i: &[[f64; 3]], j: &[[f64; 3]]| {
                    (table(graph, PinClass::Ipin, i), table(graph, PinClass::Jpin, j))
                };
                let (wi, wj) = of(&wraps, &centred(&i), &centred(&j));
                let wanted = all_pairs(&wraps, &wi, &wj, radius);
                let (ti, tj) = of(&graph, &i, &j);
                let (plan, got, _) = by_cells(&graph, &ti, &tj, &periodic(radius, &[1.0]));
                assert_eq!(got, wanted.results, "{format}[{axes}] from {low}, radius {radius}: {:?}", plan.report);
                assert!(plan.report.images > 0);
            }
        }
    }
}

#[test]
fn lennard_jones_and_sph_over_cells_are_those_of_all_pairs() {
    let shipped =
        |name: &str| pg2::compile(name, pg2::kernels::find(name).expect("shipped").text).expect("compiles").graph;
    let mut random = Random::new(3);
    let lj = shipped("lennard_jones");
    let atoms: Vec<u64> = (0..3000).map(|_| random.bits() & 0xffff_ffff).collect();
    let atoms = Table { elements: 3, bits: atoms };
    let encode = |x: f64| pipelines::encode::encode("float25.16".parse().expect("a format"), x).0;
    let params = [encode(20.0), encode(6.25), encode(0.0)];
    let mut backend = (find("emulator").expect("a backend").0.open)(&backends::BackendOptions::default());
    let whole = [SourceRange { first: 0, count: 1000 }];
    let runs = [Run { first: 0, count: 1000, segments: 0..1 }];
    let job = Job { graph: &lj, targets: &atoms, sources: &atoms, params: &params, runs: &runs, segments: &whole };
    let wanted = backend.run(&job, &mut |_| {}).expect("it runs");
    let p = plan(&lj, &atoms, &atoms, &periodic(0.125, &[1.0])).expect("there are cells");
    let job = Job { targets: &p.targets, sources: &p.sources, runs: &p.runs, segments: &p.segments, ..job };
    let got = backend.run(&job, &mut |_| {}).expect("it runs");
    assert_eq!(p.restored(&got.results), wanted.results);
    assert!(got.pairs < wanted.pairs);

    let sph = shipped("sph_density");
    let rows = |class| -> Table {
        let places = places(800, -0.5, 1.0, 0.1, 9);
        let mut t = Table { elements: 4, bits: Vec::new() };
        for p in places {
            t.bits.extend(p.map(|x| pipelines::encode::encode("fixed32.31".parse().expect("a format"), x).0));
            t.bits.push(encode(if class == PinClass::Ipin { 20.0 } else { 0.001 }));
        }
        t
    };
    let (i, j) = (rows(PinClass::Ipin), rows(PinClass::Jpin));
    let whole = [SourceRange { first: 0, count: 800 }];
    let runs = [Run { first: 0, count: 800, segments: 0..1 }];
    let job = Job { graph: &sph, targets: &i, sources: &j, params: &[], runs: &runs, segments: &whole };
    let wanted = backend.run(&job, &mut |_| {}).expect("it runs");
    let p = plan(&sph, &i, &j, &open(0.1)).expect("there are cells");
    let job = Job { targets: &p.targets, sources: &p.sources, runs: &p.runs, segments: &p.segments, ..job };
    let got = backend.run(&job, &mut |_| {}).expect("it runs");
    assert_eq!(p.restored(&got.results), wanted.results);
}

#[test]
fn few_particles_in_few_places_are_all_right() {
    let graph = kernel("fixed32.31", 3);
    let here = [0.25, -0.25, 0.0];
    for (i, j, counts) in [
        (vec![here], vec![here], vec![1]),
        (vec![here; 3], vec![here; 20], vec![20; 3]),
        (vec![], vec![here], vec![]),
        (vec![here; 2], vec![], vec![0, 0]),
        (vec![here, [-0.9, 0.9, 0.9]], vec![here], vec![1, 0]),
    ] {
        let (i, j) = (table(&graph, PinClass::Ipin, &i), table(&graph, PinClass::Jpin, &j));
        let (_, got, _) = by_cells(&graph, &i, &j, &open(1e-7));
        let found: Vec<u64> = (0..got.len()).map(|k| got.record(k)[0]).collect();
        assert_eq!(found, counts);
    }
    // Cells much finer than memory could hold all of.
    let i = table(&graph, PinClass::Ipin, &places(500, -0.5, 1.0, 0.5, 1));
    let j = table(&graph, PinClass::Jpin, &places(500, -0.5, 1.0, 0.5, 1));
    let (plan, got, _) = by_cells(&graph, &i, &j, &open(1e-6));
    assert!(plan.report.grid.iter().product::<u64>() > 1 << 40, "{:?}", plan.report);
    assert_eq!(got, all_pairs(&graph, &i, &j, 1e-6).results);
}

#[test]
fn what_cannot_be_cut_into_cells_is_said() {
    let points = [[0.0; 3]];
    let refused = |text: &str, reach: Reach| {
        let graph = pg2::compile("k", text).unwrap_or_else(|e| panic!("{e:#?}")).graph;
        let (i, j) = (table(&graph, PinClass::Ipin, &points), table(&graph, PinClass::Jpin, &points));
        plan(&graph, &i, &j, &reach).expect_err(text).to_string()
    };
    let of = |xi: &str, xj: &str, rest: &str| format!("{xi} ipin; {xj} jpin; uint32 n fout; {rest}");
    let count = "d = xj - xi; n += d * d == 0;";
    for (text, reach, parts) in [
        (of("int32 a[3]", "int32 b[3]", "n += a[0] == b[0];"), open(1.0), vec!["`xi`", "`xj`", "--segments"]),
        (of("int32 xi[3]", "int32 xj[2]", "n += xi[0] == xj[0];"), open(1.0), vec!["int32[3]", "int32[2]", "alike"]),
        (of("fixed32.32 xi[3]", "fixed32.32 xj[3]", count), periodic(0.6, &[1.0]), vec!["0.6", "half"]),
        (
            of("fixed32.32 xi[3]", "fixed32.32 xj[3]", count),
            periodic(0.1, &[1.0, 1.0]),
            vec!["3 coordinates", "2 sides"],
        ),
        (
            of("fixed32.32 xi[3]", "fixed32.32 xj[3]", "d = (float25.16)xj - (float25.16)xi; n += d * d < 1;"),
            periodic(0.1, &[1.0]),
            vec!["wrap", "`xj - xi`", "wider"],
        ),
        (of("fixed32.31 xi[3]", "fixed32.31 xj[3]", count), periodic(0.1, &[1.9]), vec!["wider", "fixed32.31"]),
        (of("fixed32.8 xi[3]", "fixed32.8 xj[3]", count), periodic(0.0001, &[0.001]), vec!["0.001", "step"]),
    ] {
        let message = refused(&text, reach);
        parts.iter().for_each(|part| assert!(message.contains(part), "no `{part}` in: {message}"));
    }
}
