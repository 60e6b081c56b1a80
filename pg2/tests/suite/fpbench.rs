//! Cores of FPBench: they are read, bounded as closely as FPTaylor bounds them, and no input is farther off.

use pg2::error::analyse;
use pg2::error::trial::Trial;
use pg2::fpcore::{Kernel, kernels};

const CORES: &str = include_str!("../fpbench/cores.fpcore");

/// FPTaylor's bounds in f64, as it publishes them.
const FPTAYLOR: &[(&str, f64)] = &[
    ("doppler1", 1.36e-13),
    ("rigidBody1", 2.95e-13),
    ("rigidBody2", 3.61e-11),
    ("verhulst", 2.50e-16),
    ("carbonGas", 8.27e-9),
    ("sineOrder3", 7.95e-16),
    ("sqroot", 5.02e-16),
    ("kepler0", 7.47e-14),
    ("kepler1", 2.71e-13),
];

/// The bound of a core's result and the worst error found.
fn bounded(kernel: &Kernel) -> (f64, f64) {
    let text = kernel.text.as_ref().unwrap_or_else(|why| panic!("{}: {why}", kernel.name));
    let graph = pg2::compile(&kernel.name, text).map_err(|e| format!("{e:?}\n{text}")).unwrap().graph;
    let bound = analyse(&graph).outputs[0].value.bound.absolute;
    let (trial, k) = (Trial::new(&graph), graph.outputs[0].value.0 as usize);
    (bound, trial.worst(3000, 3, |pair| trial.error(pair, k)).1)
}

#[test]
fn bounds_are_as_close_as_those_of_fptaylor() {
    let cores = kernels(CORES, None).unwrap();
    assert_eq!(cores.len(), FPTAYLOR.len());
    for core in &cores {
        let (bound, _) = bounded(core);
        let theirs = FPTAYLOR.iter().find(|f| f.0 == core.name).unwrap_or_else(|| panic!("{}", core.name)).1;
        assert!(bound <= 1.05 * theirs && bound >= theirs / 3.0, "{}: {bound:e}, FPTaylor {theirs:e}", core.name);
    }
}

/// In a format whose results f64 holds, the real values are known.
#[test]
fn no_input_of_a_core_exceeds_its_bound() {
    for core in kernels(CORES, Some("float35.23".parse().unwrap())).unwrap() {
        let (bound, worst) = bounded(&core);
        assert!(worst <= bound && bound <= 4.0 * worst, "{}: bound {bound:e}, worst {worst:e}", core.name);
    }
}

/// Of FPBench's `azimuth` in a float of 23 fraction bits FPTaylor proves 2.305e-6, with functions that are rounded correctly.
#[test]
fn sines_and_cosines_have_the_slopes_of_the_angles_that_they_are_given() {
    let text = "float35.23 lat1 ipin in 0..0.4;\nfloat35.23 lat2 ipin in 0.5..1;\nfloat35.23 lon1 ipin in 0..3.14159265;\n\
        float35.23 lon2 ipin in -3.14159265..-0.5;\nfloat35.23 result fout;\ndLon = lon2 - lon1;\n\
        y = pg_cos(lat2) * pg_sin(dLon);\n\
        x = pg_cos(lat1) * pg_sin(lat2) - pg_sin(lat1) * pg_cos(lat2) * pg_cos(dLon);\nresult max= pg_atan(y / x);\n";
    let (bound, worst) = bounded(&Kernel { name: "azimuth".into(), text: Ok(text.into()) });
    assert!(worst <= bound && bound <= 2.0 * 2.305e-6, "bound {bound:e}, worst {worst:e}");
}

#[test]
fn cores_are_read_with_their_bindings_and_ranges() {
    let one = |text: &str| kernels(text, None).unwrap().remove(0);
    let body = |text: &str| one(text).text.unwrap().lines().skip(2).collect::<Vec<_>>().join("\n");
    let core = "(FPCore f (x y) ; a comment\n :pre (and (<= -1 x 1/2) (< 0 y) (>= 2.50 y))\n (let* ([x (+ x 1)] [z (* x y)]) (/ (- z) (fmax x 007))))";
    let want = "float64.52 x ipin in (-1)..(1 / 2);\nfloat64.52 y ipin in 0..2.50;\nfloat64.52 result fout;\n\n\
        x_1 = (x + 1);\nz = (x_1 * y);\nresult max= ((-z) / pg_max(x_1, 7));";
    assert_eq!(body(core), want);
    let parallel = "(FPCore (x) :pre (<= 1 x 2) :precision binary32 (let ([x 2] [y x]) (if (< x y) x (sqrt y))))";
    assert!(
        body(parallel).ends_with("x_1 = 2;\ny = x;\nresult max= ((x_1 < y) ? x_1 : pg_sqrt(y));"),
        "{}",
        body(parallel)
    );
    for (core, why) in [
        ("(FPCore (x) x)", "`x` has no range"),
        ("(FPCore (x) :pre (<= 0 x 1) (while (< x 1) () x))", "PG2 has no `while`"),
        ("(FPCore (x) :pre (<= 0 x 1) (+ x y))", "`y` is not known"),
        ("(FPCore (x) :pre (<= 0 x 1) (! :precision binary32 x))", "it mixes precisions"),
    ] {
        assert_eq!(one(core).text, Err(why.into()), "{core}");
    }
    for wrong in ["(FPCore (x) x", "(+ 1 2))", "", "(x)", &"(".repeat(5000)] {
        assert!(kernels(wrong, None).is_err(), "{wrong:.20}");
    }
}
