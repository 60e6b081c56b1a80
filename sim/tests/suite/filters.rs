//! The parts of a kernel with a filter give, pair by pair, what the whole gives: `CASES=1000 SEED=7` tries more random kernels.

use crate::random_kernels::random_kernel;
use hdl::Flags;
use pg2::graph::{Graph, PinClass};
use pg2::middle::filter::{Split, split};
use sim::reference;
use sim::stimuli::{Random, Style, corner_records, records};

/// Random kernels of a usual run.
const CASES: u64 = 24;

/// Kernels whose conditions choose, raise flags, read one side alone, or are the same for all pairs.
const KERNELS: [&str; 10] = [
    "float18.9 x ipin; float18.9 y jpin; fixed32.8 o fout; d = x - y; where (d * d < 4); o += (fixed32.8)(1 / d);",
    "int8 x ipin; int8 y jpin; int32 o fout; where (y != 0); where (x / y > 1); o += x / y;",
    "int8 x ipin; int8 y jpin; int32 o fout; q = x / y; where (y ? q > 1 : x > 0); o += q;",
    "int8 x ipin; int8 y jpin; int32 o fout; int8 m fout; where (x > 3); o += y; m max= y;",
    "int8 x ipin; int8 y jpin; int32 o fout; where (y > 3); o += x;",
    "int8 x ipin; int8 y jpin; int8 p param; int32 o fout; where (p > 3); o += x * y;",
    "uint8 x ipin; uint8 y jpin; uint32 n fout; where (x >= 0); where (y < 200); n += 1;",
    "int8 x ipin; int8 y jpin; int32 o fout; c = x < y; d = c || x == 7; where (!d); o += d ? x : c ? 1 : y;",
    "int8 x ipin; int8 y jpin; uint8 id jpin; int8 best fout; uint8 who fout; where (x != y); (best, who) min= (x - y, id);",
    "int8 x ipin; uint5 y jpin; int32 h[20] fout; where (x > 0); h[y] += x;",
];

fn at(graph: &Graph, class: PinClass, name: &str) -> Option<usize> {
    graph.elements_of(class).iter().position(|(pin, e)| graph.pins[*pin].column(*e) == name)
}

/// The record of a part, by the names of its pins.
fn record(part: &Graph, class: PinClass, value: &dyn Fn(&str) -> u64) -> Vec<u64> {
    part.elements_of(class).iter().map(|(pin, e)| value(&part.pins[*pin].column(*e))).collect()
}

/// The values of a part's outputs, by their names, and the flags that count.
fn pair(graph: &Graph, i: &[u64], j: &[u64], params: &[u64]) -> (Vec<(String, u64)>, Flags) {
    let (values, flags) = reference::pair(graph, i, j, params);
    let value = |o: &pg2::graph::Output| (graph.pins[o.pin].column(o.element), values[o.value.0 as usize]);
    (graph.outputs.iter().map(value).collect(), flags)
}

/// Compares both parts with the whole; `false` if the kernel has no filter, or one that every pair passes.
fn check(text: &str, seed: u64) -> bool {
    let whole = pg2::compile("k", text).unwrap_or_else(|e| panic!("{text}: {e:?}")).graph;
    let Some(Split { test, rest, .. }) = split(&whole) else { return false };
    test.verify().unwrap_or_else(|e| panic!("{e}: {text}"));
    rest.verify().unwrap_or_else(|e| panic!("{e}: {text}"));
    // Sums in memory are outputs of the rest in another form.
    let whole_outputs = pg2::middle::bins::gathered(&whole);
    let random = &mut Random::new(seed);
    let mut of = |class| {
        let mut list = records(&whole, class, 20, Style::Ordinary, random);
        list.extend(records(&whole, class, 20, Style::Wild { anchor: 0 }, random));
        list.extend(corner_records(&whole, class).into_iter().take(20));
        list
    };
    let [is, js, params] = [PinClass::Ipin, PinClass::Jpin, PinClass::Param].map(&mut of);
    for k in 0..120 {
        let [i, j, params] = [(&is, k), (&js, k / 3 + k), (&params, k / 40)]
            .map(|(list, k)| list.get(k % list.len().max(1)).cloned().unwrap_or_default());
        let (want, flags) = pair(&whole_outputs, &i, &j, &params);
        let value = |name: &str| {
            let of = |class, record: &[u64]| at(&whole, class, name).map(|k| record[k]);
            of(PinClass::Ipin, &i)
                .or(of(PinClass::Jpin, &j))
                .or(of(PinClass::Param, &params))
                .expect("a pin of the whole")
        };
        let of_part = |part: &Graph| {
            let [i, j, params] = [PinClass::Ipin, PinClass::Jpin, PinClass::Param].map(|c| record(part, c, &value));
            pair(part, &i, &j, &params)
        };
        let (first, raised) = of_part(&test);
        assert_eq!(first.len(), 1);
        if first[0].1 == 0 {
            assert_eq!(flags, raised, "flags of a pair that does not pass: {text}\n{i:x?} {j:x?}");
            for (o, (_, got)) in whole_outputs.outputs.iter().zip(&want) {
                let stands = whole_outputs.gathered.iter().any(|g| g.at == o.pin || g.value == o.pin);
                if !stands {
                    assert_eq!(
                        *got,
                        o.reduce.identity(whole.pins[o.pin].format),
                        "what does not pass: {text}\n{i:x?} {j:x?}"
                    );
                }
            }
            continue;
        }
        let (got, more) = of_part(&rest);
        assert_eq!((got, raised | more), (want, flags), "{text}\n{i:x?} {j:x?}");
    }
    true
}

#[test]
fn both_parts_together_are_the_whole() {
    for (k, text) in KERNELS.iter().enumerate() {
        assert!(check(text, k as u64), "{text}");
    }
}

#[test]
fn both_parts_of_random_kernels_are_the_whole() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse().ok());
    let first: u64 = number("SEED").unwrap_or(1);
    let mut filtered = 0;
    for seed in first..first + number("CASES").unwrap_or(CASES) {
        filtered += check(&random_kernel(seed).text(), seed) as u32;
    }
    assert!(filtered > 0, "some have a filter");
}
