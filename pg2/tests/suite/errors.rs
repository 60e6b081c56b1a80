//! Proven error bounds: no pair exceeds one, they come near what is found by searching for the worst pair, and Gappa proves
//! them again where it is found.

use hdl::Flags;
use hdl::hash::fnv;
use pg2::error::trial::{Bits, Trial};
use pg2::error::{Report, analyse, gappa};
use pg2::graph::Graph;
use std::process::Command;

fn compiled(name: &str, text: &str) -> Graph {
    let compiled = pg2::compile(name, text).map_err(|errors| format!("{name}: {errors:?}\n{text}"));
    compiled.unwrap().graph
}

/// Tries of the search for the worst pair of an output.
const TRIES: usize = 4000;

/// Holds every value and output of a kernel to its bounds, on the worst pairs that are found. Gives for each output the bound and the
/// worst distance.
fn held(graph: &Graph, report: &Report, tries: usize) -> Vec<(String, f64, f64)> {
    let trial = Trial::new(graph);
    let seed = fnv(&graph.name);
    let node = |name: &str| graph.nodes.iter().position(|n| n.name == name);
    let outputs = report.outputs.iter().zip(&graph.outputs).map(|(o, output)| (&o.value, output.value.0 as usize));
    let mut found = Vec::new();
    for (bound, k) in outputs {
        let (inputs, worst) = trial.worst(tries, seed, |pair| trial.error(pair, k));
        let pair = trial.pair(&inputs);
        assert!(
            worst <= bound.bound.absolute,
            "{} of {}: {worst:e} exceeds {bound:?} for {inputs:?}",
            bound.name,
            graph.name
        );
        for value in &report.values {
            let Some(at) = node(&value.name) else { continue };
            let error = trial.error(&pair, at);
            assert!(
                error <= value.bound.absolute,
                "{} of {}: {error:e}, {value:?}, {inputs:?}",
                value.name,
                graph.name
            );
            let size = pair.real[at].value(graph.nodes[at].format).abs();
            let part = value.bound.relative * size * (1.0 + 1e-12);
            assert!(error <= part || part.is_nan(), "{} of {}: {error:e} > {part:e}", value.name, graph.name);
        }
        found.push((bound.name.clone(), bound.bound.absolute, worst));
    }
    found
}

/// No pair raises a flag that is proved never to be raised, and a witness raises its own.
fn flags_hold(graph: &Graph, report: &Report) {
    let trial = Trial::new(graph);
    for proof in &report.flags {
        let raises = |pair: &pg2::error::trial::Pair| pair.flags.iter().any(|f| f.contains(proof.flag));
        if proof.places.is_empty() {
            let (inputs, _) = trial.worst(300, 9, |pair| if raises(pair) { 1.0 } else { 0.0 });
            assert!(!raises(&trial.pair(&inputs)), "{}: {:?} by {inputs:?}", graph.name, proof.flag);
        }
        if let Some(witness) = &proof.witness {
            let inputs = trial.pins.iter().map(|k| {
                let name = &graph.nodes[*k].name;
                witness.iter().find(|w| w.0 == *name).map_or(0, |w| w.1)
            });
            assert!(raises(&trial.pair(&inputs.collect::<Vec<_>>())), "{}: {proof:?}", graph.name);
        }
    }
}

#[test]
fn no_pair_of_a_shipped_kernel_exceeds_its_bound() {
    shipped_kernels_hold(TRIES / 40);
}

#[test]
#[ignore = "a proof in depth"]
fn no_pair_of_a_shipped_kernel_exceeds_its_bound_however_long_it_is_searched() {
    shipped_kernels_hold(10 * TRIES);
}

fn shipped_kernels_hold(tries: usize) {
    for kernel in testkit::some(pg2::kernels::KERNELS, 6) {
        let graph = compiled(kernel.name, kernel.text);
        let report = analyse(&graph);
        held(&graph, &report, tries);
        flags_hold(&graph, &report);
    }
}

/// Bounds are of use where they are near what happens.
#[test]
fn bounds_are_near_the_worst_pairs() {
    let ranges = "fixed32.31 xi[3] ipin in -0.5..0.5; fixed32.31 xj[3] jpin in -0.5..0.5; float25.16 m jpin in -1..1;";
    let kernels = [
        format!("{ranges} fixed64.30 o fout; r = (float25.16)(xj - xi); o += (fixed64.30)(m * pg_rsqrt(r * r));"),
        format!("{ranges} fixed64.16 o fout; r = (float25.16)(xj - xi); s = pg_inv(r * r); o += (fixed64.16)(m * s * r[0]);"),
        "float32.23 x ipin in 1..2; float32.23 y jpin in 1..2; float32.23 o fout; t = x * y; o max= (t - 1) / (t * t - 0.5);".into(),
        "float25.16 x ipin in -3..3; float25.16 o fout; o max= pg_exp(x) * pg_sin(x);".into(),
    ];
    for (k, text) in kernels.iter().enumerate() {
        let graph = compiled(&format!("near{k}"), text);
        for (name, bound, worst) in held(&graph, &analyse(&graph), 20_000) {
            assert!(bound <= 20.0 * worst, "{name} of {text}: bound {bound:e}, worst {worst:e}");
        }
    }
}

/// Expressions over floats and fixeds of small formats, made at random.
fn random_kernel(seed: u64) -> String {
    let mut random = Bits(seed);
    let format = ["float13.6", "float18.9", "fixed20.10", "log17.8", "float32.23"][random.draw() as usize % 5];
    let mut text =
        format!("{format} a ipin in -2..3; {format} b jpin in 0.25..4; {format} c param; {format} o fout;\n");
    if !format.starts_with("log") {
        text += &format!("table {format} t[5] = {{ 0.5, 0.7, -0.3, 2, 2.1 }};\n");
    }
    let mut names = vec!["a".to_string(), "b".into(), "b".into(), "c".into()];
    for k in 0..3 + random.draw() % 6 {
        let mut pick = || names[random.draw() as usize % names.len()].clone();
        let (x, y, z) = (pick(), pick(), pick());
        let (table, is_float) = (!format.starts_with("log"), format.starts_with("float"));
        let value = match random.draw() % if table { 18 } else { 14 } {
            0 | 1 => format!("{x} + {y}"),
            2 | 3 => format!("{x} - {y}"),
            4 | 5 => format!("{x} * {y}"),
            6 => format!("{x} / {y}"),
            7 => format!("{x} < {y} ? {z} : {x}"),
            8 => format!("pg_max({x}, pg_abs({y}))"),
            9 if is_float => format!("pg_sqrt(pg_abs({x}))"),
            10 if is_float => format!("pg_pow({x}, -3, 2)"),
            11 if table => format!("pg_exp(pg_min({x}, 2))"),
            12 if table => format!("pg_sin({x})"),
            13 if table => format!("pg_{}({x} * 1.7)", ["floor", "ceil", "trunc", "round"][k as usize % 4]),
            14 if table => format!("t[(uint3)pg_abs({x})] + {y}"),
            15 if table => format!("({format})pg_clz((int9)({x} * 20)) - {y}"),
            16 if table => format!("({format})(pg_bits({x})[4:1]) * {y}"),
            _ => format!("{x} * 0.3 - {y}"),
        };
        text += &format!("v{k} = {value};\n");
        names.push(format!("v{k}"));
    }
    text + &format!("o max= {};\n", names[names.len() - 1])
}

/// Functions with steps, each with the most that its bound may be.
#[test]
fn steps_have_bounds_that_hold() {
    let pins = "float25.16 x ipin in 1..10; float25.16 y jpin in 1..4; float25.16 o fout; int64 n fout;";
    let squares = "table float25.16 t[8] = { 0, 1, 4, 9, 16, 25, 36, 49 };";
    for (text, most) in [
        ("o max= pg_floor(x * 1.7); n += 0;", 1.0),
        ("o max= pg_ceil(x * y) - pg_trunc(x / 3); n += 0;", 2.001),
        // It is 0, whatever is rounded before.
        ("o max= pg_round(x * 0.01); n += 0;", 0.0),
        ("o max= (float25.16)pg_floor((fixed24.12)(x * y)); n += 0;", 1.001),
        ("o max= t[(uint3)pg_floor(y * 1.7)]; n += 0;", 24.0),
        ("o max= x; n += (int64)pg_clz((uint16)(x * 100));", 4.0),
        ("o max= x; n += (int64)pg_popcount((uint16)(x * 100));", 16.0),
        ("o max= x; n += (int64)(((uint16)(x * 100))[15:4]);", 1.0),
        ("o max= x; n += (int64)pg_bits(pg_sqrt(y));", 3.0),
        ("o max= x; n += (int64)pg_bits((fixed24.12)(x * y));", 3.0),
        ("o max= pg_from_bits(pg_bits(pg_sqrt(y)) + 8, float25.16); n += 0;", 2e-4),
        ("o max= x; k = (int64)(x * 100); n += k; n += 2 * k; n += -k;", 8.0),
    ] {
        let graph = compiled("steps", &format!("{pins} {squares}\n{text}"));
        let report = analyse(&graph);
        held(&graph, &report, 2000);
        flags_hold(&graph, &report);
        for output in &report.outputs {
            let found = output.value.bound.absolute;
            assert!(
                output.value.is_proved && found <= most + 1e-12,
                "{text}: {} {found} {:?}",
                output.value.name,
                output.value.why
            );
        }
    }
}

#[test]
fn no_pair_of_a_random_kernel_exceeds_its_bound() {
    let mut bounded = 0;
    for seed in 0..150 {
        let graph = compiled(&format!("random{seed}"), &random_kernel(seed));
        let report = analyse(&graph);
        held(&graph, &report, 600);
        flags_hold(&graph, &report);
        bounded += report.outputs[0].value.is_proved as usize;
    }
    assert!(bounded > 30, "only {bounded} kernels have a bound");
}

#[test]
fn what_has_no_bound_says_where_and_which_range_would_help() {
    let text =
        "float32.23 x ipin; float32.23 y jpin in 1..2;\nfloat32.23 o fout;\nd = y - 1.0;\np = x * y;\no max= p;\n";
    let report = analyse(&compiled("k", text));
    let why = report.outputs[0].value.why.clone().expect("x can be anything");
    assert_eq!(why, "`p` can overflow float32.23; state a range (`in least..greatest`) of `x`");
    let overflow = report.flags.iter().find(|f| f.flag == Flags::OVERFLOW).unwrap();
    assert!(overflow.witness.is_some(), "the greatest x overflows");
    let invalid = report.flags.iter().find(|f| f.flag == Flags::INVALID).unwrap();
    assert!(invalid.places.is_empty());
}

/// A literal is the number that was written, not the one that its format has.
#[test]
fn the_rounding_of_a_literal_counts() {
    let text = "float13.6 x ipin in 1..1; float13.6 o fout; o max= x * 0.1;";
    let bound = analyse(&compiled("k", text)).outputs[0].value.bound.clone();
    let format: hdl::Format = "float13.6".parse().unwrap();
    let nearest = format.to_f64(hdl::number::exact::parse(format, "0.1").unwrap());
    assert!(bound.absolute >= (nearest - 0.1).abs(), "{bound:?}");
    assert!(bound.absolute <= 0.1 / 64.0, "{bound:?}");
}

/// Whether Gappa is there; without it a test says so, and fails where all tools are required.
fn gappa_found() -> bool {
    let found = Command::new("gappa").arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        assert!(std::env::var_os("REQUIRE_TOOLS").is_none(), "gappa not found");
        eprintln!("skipped: gappa not found");
    }
    found
}

#[test]
fn gappa_proves_the_bounds_again() {
    if !gappa_found() {
        return;
    }
    let text = "float25.16 x ipin in 1..2; float25.16 y jpin in 3..4; fixed64.30 o fout;
        d = y - x; r = pg_rsqrt(x * x + y * y); o += (fixed64.30)(d * r * r);";
    // What may be off by as much as itself, and the root of what may be computed as negative, are assumed.
    let far = "float32.23 x ipin in -1..1; float32.23 y jpin in -1..1; fixed64.30 o fout;
        e = (float20.11)(x - y); o += (fixed64.30)pg_rsqrt(e * e + 0.01);";
    let root = "float32.23 x jpin in -1..1; fixed64.30 o fout; o += (fixed64.30)(2 * pg_sqrt(pg_abs(x - pg_sin(x))));";
    // The claims of the others are too many for a test, or there is nothing to claim.
    let shipped = [
        "p2p",
        "p2p_paper",
        "p2p_small",
        "gravity",
        "gravity_log",
        "grape5",
        "coulomb",
        "harmonic2d",
        "log2d",
        "stokeslet",
    ];
    let shipped = shipped.map(|name| (name, pg2::kernels::find(name).expect("it is shipped").text));
    for (name, text) in [("small", text), ("far", far), ("root", root)].into_iter().chain(shipped) {
        let graph = compiled(name, text);
        let script = gappa::script(&graph).unwrap_or_else(|why| panic!("{name}: {why}"));
        let path = std::env::temp_dir().join(format!("pairforge-{}-{name}.g", std::process::id()));
        std::fs::write(&path, &script).unwrap();
        let ended = Command::new("gappa").arg(&path).output().unwrap();
        std::fs::remove_file(&path).unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{name}: {said}\n{script}");
    }
}

/// Flags that come from bits alone are not proved away: an index outside of a table or of an output, a divisor of 0, a pattern that is no float.
#[test]
fn flags_of_bits_are_not_excluded() {
    for (text, can) in [
        ("uint8 k jpin; int32 t[4] param; int32 s fout; s += t[k];", true),
        ("uint2 k jpin; int32 t[4] param; int32 s fout; s += t[k];", false),
        ("uint8 k jpin; uint1 t[4] param; uint32 s fout; s += (uint32)t[k];", true),
        ("int8 k jpin; int32 s[4] fout; s[k] += 1;", true),
        ("uint2 k jpin; int32 s[4] fout; s[k] += 1;", false),
        ("int8 k jpin; int32 s fout; s += (int32)(7 / k);", true),
        ("uint8 k jpin; fixed32.8 s fout; s += (fixed32.8)pg_from_bits(k, float8.3);", true),
    ] {
        let graph = pg2::compile("k", text).unwrap_or_else(|e| panic!("{text}: {e:?}")).graph;
        let report = analyse(&graph);
        let invalid = report.flags.iter().find(|f| f.flag == Flags::INVALID).expect("a row");
        assert_eq!(!invalid.places.is_empty(), can, "{text}");
        assert!(!can || invalid.witness.is_some(), "{text}: no input found");
    }
}

/// The sum of several terms of a pair may leave the format for that pair alone.
#[test]
fn sums_of_several_terms_promise_no_number_of_pairs() {
    let graph = pg2::compile("k", "int8 a jpin; int8 s fout; s += a; s += a;").expect("it compiles").graph;
    assert_eq!(analyse(&graph).outputs[0].pairs, Some(0));
    let pairs = |text: &str| analyse(&pg2::compile("k", text).expect("it compiles").graph).outputs[0].pairs;
    assert_eq!(pairs("int8 a jpin in -4..3; int8 s fout; s += a;"), Some(32));
    assert_eq!(pairs("int8 a jpin; int8 s fout; s += a;"), Some(1));
    assert_eq!(pairs("uint1 a jpin; uint8 s fout; s += a;"), Some(255));
    assert!(pairs("float18.9 a jpin; uint32 s fout; s += a < 0.1 ? 1 : 0;").is_some_and(|n| n > 1 << 30));
}
