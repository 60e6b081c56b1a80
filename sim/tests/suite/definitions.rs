//! The shipped kernels mean what they should.

use hdl::Flags;
use pg2::gen_m2l::{ORDERS, indices};
use pg2::graph::{Graph, PinClass};
use std::collections::HashMap;
use testkit::Random;

fn compile(name: &str, text: &str) -> Graph {
    pg2::compile(name, text).unwrap_or_else(|e| panic!("{name}: {e:#?}")).graph
}

fn shipped(name: &str) -> Graph {
    compile(name, pg2::kernels::find(name).unwrap().text)
}

/// One value for each element of a class, in record order.
fn record<T>(graph: &Graph, class: PinClass, inputs: &dyn Fn(&str, u32) -> T) -> Vec<T> {
    graph.elements_of(class).into_iter().map(|(pin, e)| inputs(&graph.pins[pin].name, e)).collect()
}

/// The real value of every output for input elements given by pin name.
fn real(graph: &Graph, inputs: &dyn Fn(&str, u32) -> f64) -> Vec<f64> {
    let [i, j, params] = [PinClass::Ipin, PinClass::Jpin, PinClass::Param].map(|class| record(graph, class, inputs));
    sim::reference::real::terms(graph, &i, &j, &params)
}

/// The pattern of every output, and all flags.
fn bits(graph: &Graph, inputs: &dyn Fn(&str, u32) -> u64) -> (Vec<u64>, Flags) {
    let cut = |class| -> Vec<u64> {
        let formats = graph.elements_of(class).into_iter().map(|(pin, _)| graph.pins[pin].format);
        record(graph, class, inputs).iter().zip(formats).map(|(bits, f)| bits & f.mask()).collect()
    };
    let (values, flags) =
        sim::reference::pair(graph, &cut(PinClass::Ipin), &cut(PinClass::Jpin), &cut(PinClass::Param));
    (graph.outputs.iter().map(|o| values[o.value.0 as usize]).collect(), flags)
}

/// The pattern of `x` in the format of a pin, through the library's own literals.
fn pattern(x: f64, format: &str) -> u64 {
    let text = format!("{format} o fout; o max= {x:e};");
    let graph = pg2::compile("p", &text).unwrap_or_else(|e| panic!("{x} {format}: {e:#?}")).graph;
    bits(&graph, &|_, _| 0).0[0]
}

/// Derivatives of 1/r up to `order` from the recurrence of their Taylor coefficients (Duan and Krasny 2001).
fn derivatives(r: [f64; 3], order: u32) -> HashMap<[u32; 3], f64> {
    let r2: f64 = r.iter().map(|x| x * x).sum();
    let mut taylor: HashMap<[u32; 3], f64> = HashMap::from([([0; 3], 1.0 / r2.sqrt())]);
    for m in indices(order).into_iter().skip(1) {
        let n = m.iter().sum::<u32>() as f64;
        let mut sum = 0.0;
        for axis in 0..3 {
            for (by, weight) in [(1, (2.0 * n - 1.0) * r[axis]), (2, n - 1.0)] {
                if m[axis] >= by {
                    let mut lower = m;
                    lower[axis] -= by;
                    sum += weight * taylor[&lower];
                }
            }
        }
        taylor.insert(m, -sum / (n * r2));
    }
    let factorial = |k: u32| (1..=k).map(|j| j as f64).product::<f64>();
    taylor.into_iter().map(|(m, a)| (m, a * m.iter().map(|k| factorial(*k)).product::<f64>())).collect()
}

/// L by its definition.
fn m2l(r: [f64; 3], m: &[f64], order: u32) -> Vec<f64> {
    let d = derivatives(r, order);
    let sources = indices(order - 1);
    let term = |k: &[u32; 3], n: &[u32; 3]| d.get(&[k[0] + n[0], k[1] + n[1], k[2] + n[2]]).copied().unwrap_or(0.0);
    indices(order).iter().map(|k| sources.iter().zip(m).map(|(n, m)| m * term(k, n)).sum()).collect()
}

/// Multipoles of a few charges in the unit cell.
fn multipoles(order: u32) -> Vec<f64> {
    let factorial = |k: u32| (1..=k).map(|j| j as f64).product::<f64>();
    let mut m = vec![0.0; indices(order - 1).len()];
    let mut random = Random::new(1);
    for _ in 0..5 {
        let s = [(); 3].map(|()| random.unit() - 0.5);
        let charge = 2.0 * random.unit() - 1.0;
        for (m, n) in m.iter_mut().zip(indices(order - 1)) {
            *m += charge * (0..3).map(|a| s[a].powi(n[a] as i32) / factorial(n[a])).product::<f64>();
        }
    }
    m
}

const OFFSETS: [[i32; 3]; 6] = [[2, 0, 0], [0, -2, 1], [3, 3, 3], [-1, 0, 2], [0, 0, -3], [5, -7, 1]];

#[test]
fn m2l_of_every_order_is_its_definition() {
    let paper = pg2::kernels::find("m2l_paper").unwrap().text.to_string();
    for (order, text) in ORDERS.map(|p| (p, pg2::gen_m2l(p).unwrap())).chain([(2, paper)]) {
        let graph = compile("m2l", &text);
        let m = multipoles(order);
        for offset in OFFSETS {
            let input = |pin: &str, e: u32| match pin {
                "ci" => 100.0 + offset[e as usize] as f64,
                "cj" => 100.0,
                "M" => m[e as usize],
                "lshift" => 0.0,
                _ => 4.0,
            };
            let want = m2l(offset.map(|x| x as f64), &m, order);
            let scale = want.iter().fold(0f64, |a, x| a.max(x.abs()));
            for (k, (got, want)) in real(&graph, &input).iter().zip(&want).enumerate() {
                assert!((got - want).abs() <= 1e-9 * scale, "order {order} {offset:?} L[{k}]: {got} {want}");
            }
        }
    }
}

#[test]
fn m2l_in_its_own_formats_keeps_their_precision() {
    for order in ORDERS {
        let graph = compile("m2l", &pg2::gen_m2l(order).unwrap());
        let (format, mant) = if order <= 6 { ("float25.16", 16) } else { ("float29.20", 20) };
        let m = multipoles(order);
        let patterns: Vec<u64> = m.iter().map(|x| pattern(*x, format)).collect();
        for offset in OFFSETS {
            let input = |pin: &str, e: u32| match pin {
                "ci" => (100 + offset[e as usize]) as u64,
                "cj" => 100,
                "M" => patterns[e as usize],
                "lshift" => 30,
                _ => 4,
            };
            let want = m2l(offset.map(|x| x as f64), &m, order);
            let (got, flags) = bits(&graph, &input);
            assert!(flags.is_empty(), "order {order} {offset:?}: {flags:?}");
            // Coefficients of one order have one scale; the sums of an order have some 30 roundings.
            for total in 0..=order {
                let of = |k: &usize| indices(order)[*k].iter().sum::<u32>() == total;
                let ks: Vec<usize> = (0..want.len()).filter(of).collect();
                let scale = ks.iter().fold(0f64, |a, k| a.max(want[*k].abs()));
                for k in ks {
                    let error = (got[k] as i64 as f64 / (1u64 << 30) as f64 - want[k]).abs();
                    let bound = 60.0 * scale * 2f64.powi(-mant) + 1e-9;
                    assert!(error <= bound, "order {order} {offset:?} L[{k}]: {error} > {bound}");
                }
            }
        }
    }
}

#[test]
fn a_near_or_equal_cell_contributes_nothing_and_raises_no_flag() {
    for order in ORDERS {
        let graph = compile("m2l", &pg2::gen_m2l(order).unwrap());
        let format = if order <= 6 { "float25.16" } else { "float29.20" };
        let patterns: Vec<u64> = multipoles(order).iter().map(|x| pattern(*x, format)).collect();
        for (offset, masked) in [([0, 0, 0], true), ([1, -1, 1], true), ([2, 0, 0], false), ([20, -20, 20], false)] {
            let input = |pin: &str, e: u32| match pin {
                "ci" => (100 + offset[e as usize]) as u64,
                "cj" => 100,
                "M" => patterns[e as usize],
                "lshift" => 40,
                _ => 4,
            };
            let (got, flags) = bits(&graph, &input);
            assert!(flags.is_empty(), "order {order} {offset:?}: {flags:?}");
            assert_eq!(got.iter().all(|x| *x == 0), masked, "order {order} {offset:?}");
        }
    }
}

#[test]
fn the_papers_p2p_is_the_potential() {
    let graph = shipped("p2p_paper");
    let (x, y): ([f64; 3], [f64; 3]) = ([5.0, -70.0, 900.0], [100.0, 20.0, 3.0]);
    let input = |pin: &str, e: u32| match pin {
        "xi" => x[e as usize],
        "xj" => y[e as usize],
        _ => 0.75,
    };
    let r2: f64 = (0..3).map(|k| (y[k] - x[k]) * (y[k] - x[k])).sum();
    let want = 0.75 / r2.sqrt() * 2f64.powi(45);
    assert!((real(&graph, &input)[0] - want).abs() < 1e-9 * want);
}

#[test]
fn p2p_is_potential_and_gradient_softened_or_not() {
    let graph = shipped("p2p");
    let (x, y, q) = ([0.125f64, -0.25, 0.375], [-0.0625f64, 0.3125, 0.25], -0.625f64);
    for eps2 in [0.0, 0.03125] {
        let r2: f64 = (0..3).map(|k| (y[k] - x[k]) * (y[k] - x[k])).sum::<f64>() + eps2;
        let mut want = vec![q / r2.sqrt()];
        want.extend((0..3).map(|k| q * (y[k] - x[k]) / (r2 * r2.sqrt())));
        let input = |pin: &str, e: u32| match pin {
            "xi" => x[e as usize],
            "xj" => y[e as usize],
            "mj" => q,
            _ => eps2,
        };
        for (got, want) in real(&graph, &input).iter().zip(&want) {
            assert!((got - want).abs() < 1e-9, "eps2 {eps2}: {got} {want}");
        }
        let fixed = |v: f64| (v * 2f64.powi(31)) as i64 as u64;
        let exact = |pin: &str, e: u32| match pin {
            "xi" => fixed(x[e as usize]),
            "xj" => fixed(y[e as usize]),
            "mj" => pattern(q, "float25.16"),
            _ => pattern(eps2, "float25.16"),
        };
        let (got, flags) = bits(&graph, &exact);
        assert!(flags.is_empty());
        for (k, (got, want)) in got.iter().zip(&want).enumerate() {
            let got = *got as i64 as f64 * 2f64.powi(if k == 0 { -30 } else { -16 });
            assert!((got - want).abs() < 8.0 * 2f64.powi(-16) * want.abs() + 2f64.powi(-16), "{got} {want}");
        }
    }
}

#[test]
fn a_particle_does_not_act_on_itself_even_when_softened() {
    let graph = shipped("p2p");
    for eps2 in [0.0, 0.03125] {
        let input = |pin: &str, _: u32| match pin {
            "mj" => pattern(1.0, "float25.16"),
            "eps2" => pattern(eps2, "float25.16"),
            _ => 12345,
        };
        assert_eq!(bits(&graph, &input), (vec![0; 4], Flags::NONE), "eps2 {eps2}");
    }
}

#[test]
fn records_have_the_pins_that_the_host_binds() {
    let graph = compile("m2l", &pg2::gen_m2l(4).unwrap());
    let names: Vec<(&str, PinClass)> = graph.pins.iter().map(|p| (p.name.as_str(), p.class)).collect();
    use PinClass::*;
    let want = [("ci", Ipin), ("cj", Jpin), ("M", Jpin), ("L", Fout), ("lshift", Param), ("near2", Param)];
    assert_eq!(names, want);
}
