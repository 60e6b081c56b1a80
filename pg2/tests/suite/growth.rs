//! Kernels of thousands of statements, of every shape in which a pass could meet all others for each of them: what is written grows
//! as they do, and so does the time.

use crate::attack::spent;
use hdl::circuit::target::Clock;
use pg2::backend::build::build;
use pg2::report::explain::explain;
use std::time::{Duration, Instant};

const INTS: &str = "int32 a ipin; int32 b jpin; uint5 n param; int64 o fout;\n";
const FLOATS: &str = "float18.9 x ipin; float18.9 y jpin; int64 o fout;\n";

/// A kernel of that many statements or terms.
struct Shape {
    name: &'static str,
    head: &'static str,
    /// Text in front of all statements, the k-th statement, and text behind them, as a function of their number.
    first: &'static str,
    each: fn(usize) -> String,
    last: fn(usize) -> String,
}

const SHAPES: &[Shape] = &[
    Shape {
        name: "chained choices",
        head: INTS,
        first: "v0 = a;\n",
        each: |k| format!("v{} = b == {k} ? v{k} + 1 : v{k};\n", k + 1),
        last: |n| format!("o += v{n};\n"),
    },
    Shape {
        name: "choices between values with flags",
        head: FLOATS,
        first: "v0 = x;\n",
        each: |k| format!("v{} = y > {k} ? v{k} + y : v{k} * x;\n", k + 1),
        last: |n| format!("o += (int64)v{n};\n"),
    },
    Shape {
        name: "branches one after the other",
        head: INTS,
        first: "s = a;\n",
        each: |k| format!("if (b == {k}) {{ s = s + {k}; }}\n"),
        last: |_| "o += s;\n".into(),
    },
    Shape {
        name: "one chain of else if",
        head: INTS,
        first: "s = a; if (b < 0) { s = b; }\n",
        each: |k| format!("else if (b == {k}) {{ s = a + {k}; }}\n"),
        last: |_| "o += s;\n".into(),
    },
    Shape {
        name: "a long sum",
        head: INTS,
        first: "o += a",
        each: |k| format!(" + (b ^ {k})\n"),
        last: |_| ";\n".into(),
    },
    Shape {
        name: "a long product",
        head: FLOATS,
        first: "p0 = x;\n",
        each: |k| format!("p{} = p{k} * y;\n", k + 1),
        last: |n| format!("o += (int64)p{n};\n"),
    },
    Shape {
        name: "sums with different numbers",
        head: FLOATS,
        first: "s0 = x;\n",
        each: |k| format!("s{} = s{k} + y * {k};\n", k + 1),
        last: |n| format!("o += (int64)s{n};\n"),
    },
    Shape {
        name: "outputs",
        head: INTS,
        first: "o += a;\n",
        each: |k| format!("int32 o{k} fout; o{k} += a ^ b + {k};\n"),
        last: |_| String::new(),
    },
    Shape {
        name: "outputs of extremes",
        head: INTS,
        first: "o += a;\n",
        each: |k| format!("int32 o{k} fout; o{k} max= a ^ b + {k};\n"),
        last: |_| String::new(),
    },
    Shape {
        name: "statements of one output",
        head: INTS,
        first: "o += a;\n",
        each: |k| format!("o += a ^ b + {k};\n"),
        last: |_| String::new(),
    },
    Shape {
        name: "pins",
        head: INTS,
        first: "s0 = a;\n",
        each: |k| format!("int32 j{k} jpin; s{} = s{k} + j{k};\n", k + 1),
        last: |n| format!("o += s{n};\n"),
    },
    Shape {
        name: "readers of one value",
        head: INTS,
        first: "t = a ^ b; s0 = t;\n",
        each: |k| format!("u{k} = t + {k}; s{} = s{k} ^ u{k};\n", k + 1),
        last: |n| format!("o += s{n};\n"),
    },
    Shape {
        name: "values that two later ones read",
        head: INTS,
        first: "f0 = a; f1 = b;\n",
        each: |k| format!("f{} = f{} + f{k};\n", k + 2, k + 1),
        last: |n| format!("o += f{};\n", n + 1),
    },
    Shape {
        name: "dependent shifts",
        head: INTS,
        first: "s0 = a ^ b;\n",
        each: |k| format!("s{} = (s{k} << n) ^ b;\n", k + 1),
        last: |n| format!("o += s{n};\n"),
    },
    Shape {
        name: "dependent casts",
        head: FLOATS,
        first: "c0 = x;\n",
        each: |k| format!("c{} = (float18.9)(fixed32.16)(c{k} + y);\n", k + 1),
        last: |n| format!("o += (int64)c{n};\n"),
    },
    Shape {
        name: "calls",
        head: INTS,
        first: "fn f(x, k) { if (x > k) { return x - k; } return x + k; } v0 = a ^ b;\n",
        each: |k| format!("v{} = f(v{k}, {k});\n", k + 1),
        last: |n| format!("o += v{n};\n"),
    },
    Shape {
        name: "passes of a loop",
        head: INTS,
        first: "s = a;\n",
        each: |k| {
            if k % 100 == 0 { format!("for i in 0..100 {{ s = s + (b ^ (i + {k})); }}\n") } else { String::new() }
        },
        last: |_| "o += s;\n".into(),
    },
    Shape {
        name: "wide vectors",
        head: "int32 a[100] ipin; int32 b[100] jpin; int64 o fout;\n",
        first: "v0 = a;\n",
        each: |k| if k % 100 == 0 { format!("v{} = v{} + b;\n", k / 100 + 1, k / 100) } else { String::new() },
        last: |n| format!("o += v{} * b;\n", n.div_ceil(100)),
    },
    Shape {
        name: "values that nothing reads",
        head: INTS,
        first: "o += a;\n",
        each: |k| format!("d{k} = b + {k};\n"),
        last: |_| String::new(),
    },
    Shape {
        name: "constants of constants",
        head: INTS,
        first: "const c0 = 1;\n",
        each: |k| format!("const c{} = c{k} + 1;\n", k + 1),
        last: |n| format!("o += b + c{n};\n"),
    },
    Shape {
        name: "mistakes",
        head: INTS,
        first: "o += a;\n",
        each: |k| format!("e{k} = q{k} + a;\n"),
        last: |_| String::new(),
    },
];

impl Shape {
    fn text(&self, n: usize) -> String {
        let body: String = (0..n).map(self.each).collect();
        format!("{}{}{body}{}", self.head, self.first, (self.last)(n))
    }

    /// Everything that commands make of a kernel: what is written of it, and the registers.
    fn made(&self, n: usize) -> (usize, u64) {
        let text = self.text(n);
        let laid_out = pg2::syntax::fmt::format(&text).map_or(0, |t| t.len());
        std::hint::black_box(pg2::syntax::names::names(&text));
        let Ok(compiled) = pg2::compile("k", &text) else { return (laid_out, 0) };
        let hash = compiled.graph.canonical().len();
        let built = build(&compiled.graph, Clock::default_clock(), text.as_str(), compiled.warnings);
        let table = explain(&built, text.as_str()).to_string().len();
        let config = hdl::engine::Config {
            pipelines: 1,
            groups: 1,
            jmem_records: 16,
            ..hdl::engine::Config::usual(built.layout(), built.schedule.depth)
        };
        let design = hdl::engine::design(&config, &built.netlist);
        let verilog = design.netlist.verilog().unwrap_or_else(|e| panic!("{}: {e}", self.name)).len();
        (laid_out + hash + table + verilog, built.register_bits())
    }
}

#[test]
fn what_is_written_grows_as_kernels_do() {
    for shape in SHAPES {
        let [(few, _), (many, _)] = [200, 400].map(|n| shape.made(n));
        // Names and numbers grow by a digit.
        assert!((many as f64) < 2.4 * few as f64, "{}: {few} and {many} bytes", shape.name);
    }
}

#[test]
#[ignore = "a proof in depth"]
fn ten_thousand_statements_take_little_more_than_twice_the_time_of_five_thousand() {
    let begin = Instant::now();
    for shape in SHAPES {
        // The least of some runs, since others run beside this one.
        let [half, whole] = [5_000, 10_000].map(|n| {
            let once = |_| {
                let before = spent(begin);
                shape.made(n);
                spent(begin).saturating_sub(before)
            };
            (0..3).map(once).min().expect("there are runs")
        });
        println!("{}: {half:?}, {whole:?}", shape.name);
        let allowed = half.mul_f64(3.2) + Duration::from_millis(200);
        assert!(whole < allowed, "{}: {half:?} for half of it, {whole:?} for the whole", shape.name);
        // 2 s of optimised code.
        assert!(whole < Duration::from_secs(6), "{}: {whole:?}", shape.name);
    }
}
