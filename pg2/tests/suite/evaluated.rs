//! The bits that a kernel's joined circuit computes, against those of its operators one by one.

use super::graphs::{evaluate, pattern, random};
use hdl::Flags;
use hdl::circuit::target::{Clock, TARGETS};
use pg2::graph::{Graph, PinClass};
use pg2::middle::merge::evaluator;
use pg2::middle::simplify::simplify;
use testkit::Random;

/// Samples of each graph, some more than the evaluator takes at a time.
const SAMPLES: usize = 100;

/// Evaluates the circuit of the simplified graph on random pairs, and the graph itself.
fn check(graph: &Graph, clock: Clock, seed: u64) {
    let mut r = Random::new(seed);
    // Nothing loads the memories of a circuit.
    let params: Vec<u64> =
        (graph.elements_of(PinClass::Param).iter()).map(|(pin, _)| pattern(&mut r, graph.pins[*pin].format)).collect();
    let bound = graph.bound(&params, false);
    let graph = bound.as_ref().unwrap_or(graph);
    let mut e = evaluator(&simplify(graph), clock);
    // What the pins of each sample carry, by port.
    let mut columns = vec![Vec::new(); e.inputs().len()];
    let mut wanted = Vec::new();
    for _ in 0..SAMPLES {
        let mut row = std::collections::BTreeMap::new();
        for class in [PinClass::Ipin, PinClass::Jpin, PinClass::Param] {
            for (pin, element) in graph.elements_of(class) {
                row.insert(graph.port(pin, element), pattern(&mut r, graph.pins[pin].format));
            }
        }
        let (values, flags) = evaluate(graph, &|pin, element| row[&graph.port(pin, element)]);
        let mut outputs: Vec<u128> = graph.outputs.iter().map(|o| values[o.value.0 as usize] as u128).collect();
        let raised = (0..Flags::COUNT).filter(|k| flags.intersects(Flags(1 << k)));
        outputs.push(raised.map(|k| 1u128 << k).sum());
        wanted.push(outputs);
        columns.iter_mut().zip(e.inputs()).for_each(|(c, port)| c.push(row[&port.name]));
    }
    let got = e.run(&columns);
    for (k, outputs) in wanted.iter().enumerate() {
        let values: Vec<u128> = got.iter().map(|column| column[k]).collect();
        assert_eq!(&values, outputs, "sample {k} of {} on {}", graph.name, clock.target.name);
    }
}

#[test]
fn joined_circuits_of_random_graphs_compute_their_bits() {
    for seed in 0..60 {
        let target = &TARGETS[seed as usize % TARGETS.len()];
        let blocks = (seed % 3 == 0).then_some(0);
        check(&random(seed, 12), Clock { target, mhz: target.usual_mhz, blocks }, seed);
    }
}

/// Kernels whose pairs add several terms to an output, and what they are made of.
const SUMS: [&str; 4] = [
    "int64 a ipin; int64 b jpin; int64 o fout; o -= b; o += a; o -= a; o += b; o -= b;",
    "int64 a ipin; int64 b jpin; int64 o fout; int64 p fout; o -= b; p += a; p += b;",
    "int8 a ipin; int8 b jpin; int8 o fout; o -= b; o += a; o -= a; o += b; o -= b;",
    "uint8 a ipin; uint8 b jpin; uint8 o fout; o += a; o += b; if (a > b) { o += 3; }",
];

#[test]
fn sums_of_several_terms_compute_their_bits() {
    for (k, text) in SUMS.iter().enumerate() {
        let graph = pg2::compile("sums", text).unwrap().graph;
        for mhz in [60.0, 150.0, 250.0] {
            check(&graph, Clock { mhz, ..Clock::default_clock() }, k as u64);
        }
    }
}

/// Products with constants of few digits and of many, in formats with a sign and without, in whole numbers and in parts.
#[test]
fn products_with_constants_compute_their_bits() {
    let constants = ["0x0101", "-257", "255", "3", "-1", "0x5555", "12345", "65535", "-96", "1"];
    for (format, pins) in
        [("int8", 8), ("int40", 40), ("uint64", 64), ("int64", 64), ("fixed24.7", 24), ("ufixed64.12", 64)]
    {
        let fits = |c: &&&str| {
            let number = c.strip_prefix("0x").map_or(c.parse(), |hex| i64::from_str_radix(hex, 16)).unwrap();
            let signed = !format.starts_with('u');
            (signed || number > 0) && number.unsigned_abs() < 1 << (pins.min(24) - 8).max(6)
        };
        for (k, constant) in constants.iter().filter(fits).enumerate() {
            let text = format!("{format} a ipin; {format} o fout; p = a * ({constant}); o max= p;");
            let graph = pg2::compile("products", &text).unwrap().graph;
            for target in &TARGETS[..4] {
                for blocks in [None, Some(0)] {
                    check(&graph, Clock { target, mhz: target.usual_mhz, blocks }, k as u64);
                }
            }
        }
    }
}

/// A product with a constant of few digits is no product: of 64 bits with any other it takes ten blocks or more.
#[test]
fn constants_of_few_digits_take_no_multipliers() {
    for (format, constant, blocks) in [
        ("uint64", "0x0101", 0),
        ("int64", "-257", 0),
        ("int64", "0x0fff0", 0),
        ("ufixed64.12", "4097", 0),
        // Two digits are an addition, and more than the blocks would take are not.
        ("int16", "0x5555", 1),
        ("int16", "5", 0),
    ] {
        let text = format!("{format} a ipin; {format} o fout; p = a * ({constant}); o max= p;");
        let built = pg2::compile_to_netlist("products", &text, Clock::default_clock()).unwrap();
        let multipliers: u32 = built.library.modules.iter().map(|m| m.multipliers).sum();
        assert_eq!(multipliers, blocks, "{format} times {constant}");
    }
}

#[test]
fn shipped_kernels_compute_their_bits_in_their_terms() {
    for kernel in pg2::kernels::KERNELS.iter().filter(|k| !k.name.starts_with("m2l")) {
        let graph = pg2::compile(kernel.name, kernel.text).unwrap().graph;
        check(&graph, Clock::default_clock(), 1);
    }
}
