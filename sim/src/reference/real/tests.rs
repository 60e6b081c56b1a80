//! Vector code against the operators' own semantics.

use super::*;
use testkit::Random;

/// The values of all outputs and the flags, by the operators' own semantics alone.
fn plain(kernel: &RealKernel, pairs: &Pairs, count: usize) -> (Vec<Real>, Flags) {
    let mut scratch = kernel.scratch();
    let outputs = &kernel.graph.outputs;
    let mut sums: Vec<Sum> = outputs.iter().map(|o| Sum::new(o.reduce, kernel.format(o.pin))).collect();
    let mut selected: Vec<Selected> = kernel.selections.iter().map(Selected::new).collect();
    let mut flags = Flags::NONE;
    kernel.stand(&mut scratch, pairs);
    for places in (0..count as u32).collect::<Vec<_>>().chunks(LANES) {
        flags |= kernel.block(&mut scratch, pairs.sources, places);
        for (sum, o) in sums.iter_mut().zip(outputs) {
            sum.add(&lanes_of(&scratch.values, o.value.0 as usize)[..places.len()]);
        }
        kernel.select(&mut selected, &scratch, places.len());
    }
    let ends = sums.iter().zip(outputs).map(|(sum, o)| sum.finish(kernel.format(o.pin)));
    let (mut values, raised): (Vec<Real>, Vec<Flags>) = ends.unzip();
    selected.iter().flat_map(Selected::finish).for_each(|(output, value)| values[output] = value);
    (values, raised.into_iter().fold(flags, |a, f| a | f))
}

/// A record of a class: patterns at random, or values of the order of 1.
fn drawn(graph: &Graph, class: PinClass, random: &mut Random) -> Vec<u64> {
    let one = |(pin, _): (usize, u32)| {
        let format = graph.pins[pin].format;
        let x = 4.0 * random.unit() - 2.0;
        match random.below(8) {
            0 if format.is_integral() => random.bits() & format.mask(),
            0 => Real::number(x * 1e300).0.bits(),
            1 => 0,
            _ => Real::cast(format, Rounding::Nearest, if format.is_int() { 100.0 * x } else { 0.3 * x }).0.bits(),
        }
    };
    graph.elements_of(class).into_iter().map(one).collect()
}

fn check(graph: &Graph, targets: usize, random: &mut Random) {
    let kernel = RealKernel::new(graph);
    let mut scratch = kernel.scratch();
    // What stays the same from one target to the next need not be written again, as far as it reaches.
    let mut params = drawn(graph, PinClass::Param, random);
    for count in [130, 1, 16, 300] {
        let elements = graph.elements_of(PinClass::Jpin).len().max(1);
        let records: Vec<u64> = (0..count).flat_map(|_| drawn(graph, PinClass::Jpin, random)).collect();
        let sources = RealSources::new(elements, &records);
        let middle = count / 3;
        let gathered = kernel.gather(&sources, &[0..middle, middle..count]);
        for _ in 0..targets {
            let i = drawn(graph, PinClass::Ipin, random);
            if random.below(2) == 0 {
                params = drawn(graph, PinClass::Param, random);
            }
            let pairs = Pairs { i: &i, params: &params, sources: &sources };
            let (found, flags) = kernel.target(&mut scratch, &pairs, &gathered);
            let (wanted, wanted_flags) = plain(&kernel, &pairs, count);
            assert_eq!(flags, wanted_flags, "{}", graph.name);
            for ((found, wanted), o) in found.iter().zip(&wanted).zip(&graph.outputs) {
                let format = graph.pins[o.pin].format;
                let (a, b) = (found.value(format), wanted.value(format));
                // Exponentials may differ in their last place, and so a rounded one by one step.
                let step = if format.is_int() { 0.0 } else { 2f64.powi(-(format.frac().unwrap_or(0) as i32)) };
                let bound = 1e-14 * b.abs() + if format.is_integral() { count as f64 * step } else { 0.0 };
                assert!((a - b).abs() <= bound || flags.intersects(Flags::WRAP), "{}: {a:e} {b:e}", graph.name);
            }
            check_sums_of_terms(&kernel, &mut scratch, &pairs, count);
        }
    }
}

fn check_sums_of_terms(kernel: &RealKernel, scratch: &mut Scratch, pairs: &Pairs, count: usize) {
    let outputs = kernel.graph.outputs.len();
    let (mut terms, mut sums) = (vec![0.0; count * outputs], vec![1.0; outputs]);
    kernel.terms(scratch, pairs, &mut terms);
    kernel.add_terms(scratch, pairs, count, &mut sums);
    for (output, sum) in sums.iter().enumerate() {
        let of_output = || terms.iter().skip(output).step_by(outputs);
        let beyond: Vec<&f64> = of_output().filter(|x| x.abs() == f64::MAX).collect();
        if let Some(first) = beyond.first() {
            let is_one_sided = beyond.iter().all(|x| x.signum() == first.signum());
            assert!(if is_one_sided { *sum == **first * 2.0 } else { sum.is_nan() }, "{}: {sum:e}", kernel.graph.name);
            continue;
        }
        let wanted = 1.0 + of_output().sum::<f64>();
        let bound = 1e-13 * (1.0 + of_output().map(|x| x.abs()).sum::<f64>());
        // Of terms whose sum leaves the range of f64, the order matters.
        let is_held = bound.is_finite();
        assert!(!is_held || (sum - wanted).abs() <= bound, "{}: {sum:e} {wanted:e}", kernel.graph.name);
    }
}

#[test]
fn shipped_kernels_give_what_their_operators_mean() {
    let mut random = Random::new(7);
    for kernel in pg2::kernels::KERNELS {
        let compiled = pg2::compile(kernel.name, kernel.text).unwrap_or_else(|e| panic!("{}: {e:#?}", kernel.name));
        check(&compiled.graph, 8, &mut random);
    }
}

/// Expressions of `a` and `b` from sources, `c` from the target, and the format of all three and of the result.
const EXPRESSIONS: &[(&str, &str, &str)] = &[
    ("float25.16", "float25.16", "a + b * c; a - b; a / b; -a; pg_abs(a); pg_min(a, b); pg_max(a, c); a << 3; a >> 7"),
    (
        "float25.16",
        "float25.16",
        "pg_pow(a, -3, 2); pg_pow(a, 5, 1); pg_pow(b, -2, 1); pg_sqrt(a); pg_inv(a); pg_pow(a, 4, 2)",
    ),
    ("float25.16", "float25.16", "pg_exp(a); pg_exp(-(b * b)); pg_exp(400 * c); pg_log(a); pg_rsqrt(pg_exp(a))"),
    ("float25.16", "float25.16", "a < b ? a : c; a <= b ? b : c; a == b ? a : c; a != 0 && b < c ? 1 / a : 0"),
    ("float25.16", "fixed64.30", "(fixed64.30)(a * b); (fixed64.30)(1 / (a * a)); (fixed64.30)pg_pow(a, -15, 2)"),
    ("float25.16", "int8", "(int8)a; (int8)(60 * b); (int8)(a * a * c)"),
    ("float25.16", "uint64", "(uint64)(a * a); (uint64)(pg_exp(45 * a)); (uint64)(1 / a)"),
    ("int16", "int16", "a + b; a - c; a * b; -a; pg_abs(b); a & b; a | c; a ^ b; ~a; a << 5; a >> 3; a / b; a % b"),
    ("uint16", "uint16", "a + b; a - c; a * b; a & b; ~a; a << 5; a >> 3; a / b; pg_min(a, b); a < b ? a : c"),
    ("int64", "int64", "a + b; a - c; a * b; -a; a << 40; a >> 3; pg_max(a, b); a <= b ? a : c; a == b ? 1 : c"),
    ("uint64", "uint64", "a + b; a - c; a * b; a >> 3; a < b ? a : c; a <= b ? a : c; !a ? b : c; a || b ? c : a"),
    ("int16", "float25.16", "(float25.16)a; (float25.16)(a * b) / (float25.16)c"),
    ("uint64", "float25.16", "(float25.16)a"),
    ("fixed32.31", "float25.16", "(float25.16)(a - b); (float25.16)(a * c)"),
    ("fixed32.20", "fixed32.20", "a + b; a * b; a / b; -a; pg_abs(c); a < b ? a : c; a >> 2"),
    ("int32", "uint8", "(uint8)a; (uint8)(int40)(a * b)"),
    ("log18.9", "log18.9", "a + b; a * b; a / b; -a; a << 2; pg_pow(a, -1, 2)"),
];

#[test]
fn every_operator_means_the_same_in_vector_code() {
    let mut random = Random::new(11);
    for (format, result, expressions) in EXPRESSIONS {
        for expression in expressions.split(';') {
            let sums = result.contains("float") || result.contains("log");
            let gather = if sums { "max=" } else { "+=" };
            let text = format!(
                "{format} a jpin; {format} b jpin; {format} c ipin; {result} out fout; out {gather} {expression};"
            );
            let name = format!("{format}: {expression}");
            let graph = pg2::compile(&name, &text).unwrap_or_else(|e| panic!("{text}: {e:#?}")).graph;
            check(&graph, 6, &mut random);
        }
    }
}
