//! Real-arithmetic semantics (RULES N10), as backend `cpu` of `run` computes them: ints and fixeds to the bit, floats and logs in f64.

use crate::common::Place;
use hdl::Format;
use pairforge::backends::{self, BackendOptions};
use pg2::graph::{Graph, PinClass};
use pipelines::job::{Job, Outcome, Run, SourceRange, Table};
use sim::stimuli::{self, Random, Style};

/// A kernel with its records, and what comes out: the values of the outputs for one target, and the flags.
struct Row {
    kernel: &'static str,
    /// Columns of the target, of the sources, and parameters.
    i: &'static str,
    j: &'static str,
    params: &'static str,
    wanted: &'static str,
    flags: &'static [&'static str],
}

const fn row(
    kernel: &'static str,
    i: &'static str,
    j: &'static str,
    params: &'static str,
    wanted: &'static str,
    flags: &'static [&'static str],
) -> Row {
    Row { kernel, i, j, params, wanted, flags }
}

/// The bits and flags of ints and fixeds are those of the language.
const EXACT: &[Row] = &[
    // Products and sums wrap.
    row("int32 a ipin; int32 b jpin; int32 s fout; s += a * b;", "a\n65537\n", "b\n65537\n", "", "131073", &[]),
    row("int32 a ipin; int32 b jpin; int64 s fout; s += a * b;", "a\n-65537\n", "b\n65537\n", "", "-131073", &[]),
    row(
        "uint64 a ipin; uint64 b jpin; uint64 s fout; s += a * b;",
        "a\n18446744073709551615\n",
        "b\n18446744073709551613\n",
        "",
        "3",
        &[],
    ),
    row("int8 a ipin; int8 b jpin; int8 s fout; s += pg_abs(a) - -b;", "a\n-128\n", "b\n-128\n", "", "0", &[]),
    // All bits of wide operands count.
    row(
        "uint64 a ipin; uint64 b jpin; uint64 s fout; s += (a & b) & 1;",
        "a\n9223372036854775809\n",
        "b\n9223372036854775809\n",
        "",
        "1",
        &[],
    ),
    row(
        "uint64 a ipin; uint64 b jpin; uint64 s fout; s += (a ^ b) | ~a >> 63;",
        "a\n9223372036854775809\n",
        "b\n9223372036854775810\n",
        "",
        "3",
        &[],
    ),
    row(
        "int64 a ipin; int64 b jpin; uint8 s fout; s += a < b ? 1 : a == b ? 2 : 3;",
        "a\n9007199254740993\n",
        "b\n9007199254740992\n9007199254740993\n9007199254740994\n",
        "",
        "6",
        &[],
    ),
    row(
        "int64 a ipin; int64 b jpin; int64 s fout; s += pg_max(a, b) - pg_min(a, b);",
        "a\n9223372036854775807\n",
        "b\n9223372036854775806\n",
        "",
        "1",
        &[],
    ),
    row(
        "uint64 a ipin; uint5 n param; uint64 s fout; s += a >> n;",
        "a\n9223372036854775809\n",
        "any\n0\n",
        "n=3",
        "1152921504606846976",
        &[],
    ),
    row(
        "uint64 a ipin; uint7 n param; uint64 s fout; s += a << n;",
        "a\n9223372036854775809\n",
        "any\n0\n",
        "n=63",
        "9223372036854775808",
        &[],
    ),
    row(
        "uint64 a ipin; uint7 n param; uint64 s fout; s += a << n;",
        "a\n9223372036854775809\n",
        "any\n0\n",
        "n=64",
        "0",
        &[],
    ),
    row(
        "int64 a ipin; uint7 n param; int64 s fout; s += a >> n;",
        "a\n-9223372036854775807\n",
        "any\n0\n",
        "n=62",
        "-2",
        &[],
    ),
    row(
        "int64 a ipin; uint7 n param; int64 s fout; s += a >> n;",
        "a\n-9223372036854775807\n",
        "any\n0\n",
        "n=99",
        "-1",
        &[],
    ),
    row(
        "int64 a ipin; int64 b jpin; int64 s fout; s += a / b + a % b;",
        "a\n-9223372036854775807\n",
        "b\n10\n",
        "",
        "-922337203685477587",
        &[],
    ),
    row("int64 a ipin; int64 b jpin; int64 s fout; s += a / b;", "a\n7\n", "b\n0\n2\n", "", "3", &["invalid"]),
    // Fixeds keep their bits and round as the language does.
    row(
        "fixed64.62 a ipin; fixed64.62 b jpin; fixed64.62 s fout; s += a - b;",
        "a\n1.0000000000000000002168404344971008868014905601739883422851562\n",
        "b\n1\n",
        "",
        "0.00000000000000000021684043449710088680149056017398834228515625",
        &[],
    ),
    row("fixed8.4 a ipin; fixed8.4 b jpin; fixed8.4 s fout; s += a * b;", "a\n0.1875\n", "b\n0.5\n", "", "0.125", &[]),
    row("fixed8.4 a ipin; fixed8.4 b jpin; fixed8.4 s fout; s += a / b;", "a\n1\n", "b\n3\n", "", "0.3125", &[]),
    row(
        "fixed16.8 a ipin; int8 b jpin; int8 s fout; s += (int8)a + b;",
        "a\n127.5\n",
        "b\n0\n",
        "",
        "127",
        &["saturation"],
    ),
    row("fixed8.7 a ipin; fixed8.7 b jpin; fixed8.7 s fout; s += b - a;", "a\n-0.75\n", "b\n0.75\n", "", "-0.5", &[]),
    row("int16 a ipin; int16 b jpin; uint8 s fout; s += (uint8)(a + b);", "a\n-1\n", "b\n-1\n", "", "254", &[]),
    // Reductions are exact, and say when the sum leaves the format.
    row(
        "int64 a ipin; int64 b jpin; int64 s fout; s += a + b;",
        "a\n0\n",
        "b\n9007199254740993\n1\n1\n",
        "",
        "9007199254740995",
        &[],
    ),
    row(
        "int64 b jpin; int64 s fout; s += b;",
        "any\n0\n",
        "b\n9223372036854775807\n1\n",
        "",
        "-9223372036854775808",
        &["wrap"],
    ),
    row("int8 b jpin; int8 s fout; s += b;", "any\n0\n", "b\n127\n127\n-127\n", "", "127", &[]),
    row(
        "uint64 b jpin; uint64 s fout; uint64 t fout; s min= b; t max= b;",
        "any\n0\n",
        "b\n18446744073709551615\n18446744073709551614\n",
        "",
        "18446744073709551614,18446744073709551615",
        &[],
    ),
    row(
        "fixed64.64 b jpin; fixed64.64 s fout; s max= b;",
        "any\n0\n",
        "b\n-0.5\n-0.4999999999999999999\n",
        "",
        "-0.499999999999999999891579782751449556599254719913005828857421875",
        &[],
    ),
    // Parameters and constants too.
    row(
        "uint64 k param; uint64 b jpin; uint64 s fout; s += k - b;",
        "any\n0\n",
        "b\n1\n",
        "k=18446744073709551615",
        "18446744073709551614",
        &[],
    ),
    row("int64 b jpin; int64 s fout; s += b + 9007199254740993;", "any\n0\n", "b\n0\n", "", "9007199254740993", &[]),
    row(
        "uint64 b jpin; uint64 s fout; s += b & 0x8000000000000001;",
        "any\n0\n",
        "b\n18446744073709551615\n",
        "",
        "9223372036854775809",
        &[],
    ),
    // A decimal of a 64-bit pin, near the end of its range.
    row(
        "int64 b jpin; int64 s fout; s += b;",
        "any\n0\n",
        "b\n-9.223372036854775807e18\n",
        "",
        "-9223372036854775807",
        &[],
    ),
];

/// Floats and logs are f64, and their casts to ints and fixeds are the language's.
const REAL: &[Row] = &[
    row(
        "float32.23 a ipin; float32.23 b jpin; int32 s fout; s += (int32)(a * b);",
        "a\n5\n",
        "b\n0.5\n0.7\n",
        "",
        "6",
        &[],
    ),
    row(
        "round truncate; float32.23 a ipin; float32.23 b jpin; int32 s fout; s += (int32)(a * b);",
        "a\n-5.5\n",
        "b\n0.5\n",
        "",
        "-2",
        &[],
    ),
    row("float18.9 b jpin; int8 s fout; s += (int8)b;", "any\n0\n", "b\n1e10\n", "", "127", &["saturation"]),
    row("float18.9 b jpin; uint8 s fout; s += (uint8)b;", "any\n0\n", "b\n-1\n", "", "0", &["saturation"]),
    // Inputs, parameters and results are not rounded to the pin's format.
    row(
        "float18.9 b jpin; fixed64.60 s fout; s += (fixed64.60)b;",
        "any\n0\n",
        "b\n0.1\n",
        "",
        "0.1000000000000000055511151231257827021181583404541015625",
        &[],
    ),
    row(
        "float18.9 k param; float18.9 b jpin; float18.9 s fout; s max= b + k;",
        "any\n0\n",
        "b\n0.1\n",
        "k=0.2",
        "0.30000000000000004",
        &[],
    ),
    row("log17.8 b jpin; log17.8 s fout; s max= b * b;", "any\n0\n", "b\n3\n", "", "9", &[]),
    row("float18.9 b jpin; uint1 s fout; s max= b == 0.1;", "any\n0\n", "b\n0.1\n", "", "1", &[]),
    row("float18.9 b jpin; float18.9 s fout; s max= b * 0.1;", "any\n0\n", "b\n1\n", "", "0.1", &[]),
    row("int64 b jpin; float18.9 s fout; s max= (float18.9)b;", "any\n0\n", "b\n1000001\n", "", "1000001", &[]),
    row(
        "float18.9 b jpin; float32.23 s fout; s max= (float32.23)(log17.8)b;",
        "any\n0\n",
        "b\n1.2345\n",
        "",
        "1.2345",
        &[],
    ),
    // A flag counts only where its value is demanded.
    row("int64 a ipin; int64 b jpin; int64 s fout; s += b != 0 ? a / b : 9;", "a\n7\n", "b\n0\n2\n", "", "12", &[]),
    // What has no value is 0 and invalid, where it is demanded.
    row("float18.9 b jpin; float18.9 s fout; s max= 1 / b;", "any\n0\n", "b\n0\n", "", "0", &["invalid"]),
    row("float18.9 b jpin; float18.9 s fout; s max= b > 0 ? 1 / b : 7;", "any\n0\n", "b\n0\n", "", "7", &[]),
    row(
        "float18.9 b jpin; float18.9 s fout; s max= pg_sqrt(b) + pg_log(b);",
        "any\n0\n",
        "b\n-4\n",
        "",
        "0",
        &["invalid"],
    ),
    row("float18.9 b jpin; float18.9 s fout; s max= pg_rsqrt(b);", "any\n0\n", "b\n0\n", "", "0", &[]),
    row(
        "float18.9 b jpin; float18.9 s fout; s max= pg_fn(b, x * x, 0, 0.1);",
        "any\n0\n",
        "b\n0.1\n",
        "",
        "0.010000000000000002",
        &[],
    ),
    row(
        "float18.9 b jpin; float18.9 s fout; s max= pg_fn(b, x * x, 0, 0.5);",
        "any\n0\n",
        "b\n2\n",
        "",
        "0.25",
        &["invalid"],
    ),
    // Beyond f64 a number is its outermost one.
    row(
        "float64.52 b jpin; float64.52 s fout; s max= b * b / b;",
        "any\n0\n",
        "b\n1e200\n",
        "",
        "1.797693134862316e108",
        &["overflow"],
    ),
];

fn check(rows: &[Row], backend: &str) {
    let p = Place::new();
    let mut wrong = Vec::new();
    for row in rows {
        p.write("k.pg2", row.kernel);
        p.write("i.csv", row.i);
        p.write("j.csv", row.j);
        let params = if row.params.is_empty() { String::new() } else { format!("--param {}", row.params) };
        let words = format!("run k.pg2 --i i.csv --j j.csv {params} --backend {backend} --json s.json");
        let ended = p.run(&words).expect(0);
        let found = ended.out.lines().nth(1).unwrap_or_default().to_string();
        let flags = &p.json("s.json")["flags"];
        if found != row.wanted || *flags != serde_json::json!(row.flags) {
            wrong.push(format!("{}\n    {found} {flags}, not {} {:?}", row.kernel, row.wanted, row.flags));
        }
    }
    assert!(wrong.is_empty(), "{backend}: {} of {} rows\n  {}", wrong.len(), rows.len(), wrong.join("\n  "));
}

#[test]
fn ints_and_fixeds_are_exact_on_the_cpu() {
    check(EXACT, "cpu");
}

#[test]
fn the_rows_of_ints_and_fixeds_are_those_of_the_emulator() {
    check(EXACT, "emulator");
}

#[test]
fn floats_and_logs_are_f64_on_the_cpu() {
    check(REAL, "cpu");
}

#[test]
fn raw_records_are_patterns_of_the_pins_formats() {
    let p = Place::new();
    let text = "float18.9 f jpin; uint64 b jpin; float18.9 m fout; uint64 s fout; m max= f / 3; s += b;";
    p.write("k.pg2", text);
    p.write("i.csv", "any\n0\n");
    // 65024 is 1, and a third of it is 0x3eaab at 9 bits: sign 0, field 125, fraction 171.
    p.write("j.csv", "f,b\n65024,18446744073709551615\n");
    let ended = p.run("run k.pg2 --i i.csv --j j.csv --backend cpu --raw").expect(0);
    assert_eq!(ended.out, format!("m,s\n{},18446744073709551615\n", 125 << 9 | 171));
    p.write("j.csv", "f,b\n130560,1\n");
    p.run("run k.pg2 --i i.csv --j j.csv --backend cpu --raw").expect(1);
    // The range is that of the pin's format.
    p.write("j.csv", "f,b\n1e39,1\n");
    assert!(
        p.run("run k.pg2 --i i.csv --j j.csv --backend cpu").expect(1).err.contains("out of the range of float18.9")
    );
}

/// Grows a kernel of ints and fixeds at random.
struct Maker {
    random: Random,
    text: String,
    values: Vec<(String, Format)>,
}

impl Maker {
    fn below(&mut self, n: u32) -> u32 {
        self.random.below(n as u64) as u32
    }

    fn format(&mut self) -> Format {
        let widths = [1, 2, 3, 7, 8, 16, 31, 32, 33, 53, 54, 63, 64, 64];
        let width = if self.below(2) == 0 { widths[self.below(14) as usize] } else { 1 + self.below(64) };
        let signed = self.below(2) == 0;
        let fixed = self.below(3) == 0;
        let frac = self.below(width + 1);
        if fixed { Format::fixed(width, frac, signed) } else { Format::int(width, signed) }.expect("a format")
    }

    fn any(&mut self) -> (String, Format) {
        let n = self.values.len() as u32;
        let k = self.below(n) as usize;
        self.values[k].clone()
    }

    /// Some value cast to a format.
    fn of(&mut self, format: Format) -> String {
        let (name, own) = self.any();
        if own == format { name } else { format!("({format}){name}") }
    }

    /// An expression of an int or fixed, and its format.
    fn expression(&mut self) -> (String, Format) {
        let (a, format) = self.any();
        let b = self.of(format);
        let amount = self.below(format.width());
        if self.below(4) == 0 {
            let operator = ["<", "<=", "==", "!=", ">", ">="][self.below(6) as usize];
            return (format!("{a} {operator} {b}"), "uint1".parse().expect("a format"));
        }
        if self.below(6) == 0 {
            let to = self.format();
            return (if to == format { a } else { format!("({to}){a}") }, to);
        }
        let common = ["+", "-", "*", "/"];
        let ints = ["+", "-", "*", "/", "%", "&", "|", "^"];
        let kinds = 9;
        let text = match self.below(kinds) {
            0 => format!("-{a}"),
            1 => format!("pg_abs({a})"),
            2 => format!("pg_min({a}, {b})"),
            3 => format!("pg_max({a}, {b})"),
            4 => format!("{a} {} {amount}", ["<<", ">>"][self.below(2) as usize]),
            5 => format!("{a} {} p5", ["<<", ">>"][self.below(2) as usize]),
            6 => format!("{} ? {a} : {b}", self.of("uint1".parse().expect("a format"))),
            7 if format.is_int() => format!("~{a}"),
            _ if format.is_int() => format!("{a} {} {b}", ints[self.below(8) as usize]),
            _ => format!("{a} {} {b}", common[self.below(4) as usize]),
        };
        (text, format)
    }

    fn kernel(seed: u64) -> String {
        let mut maker = Maker { random: Random::new(seed), text: String::new(), values: Vec::new() };
        for (k, class) in ["ipin", "ipin", "jpin", "jpin", "jpin", "param"].iter().enumerate() {
            // The amounts of shifts are an int's.
            let format = std::iter::repeat_with(|| maker.format()).find(|f| *class != "param" || f.is_int());
            let format = format.expect("formats do not end");
            maker.text += &format!("{format} p{k} {class};\n");
            maker.values.push((format!("p{k}"), format));
        }
        let mut statements = String::new();
        for k in 0..10 {
            let (text, format) = maker.expression();
            statements += &format!("v{k} = {text};\n");
            maker.values.push((format!("v{k}"), format));
        }
        for (k, (name, format)) in maker.values.clone().into_iter().skip(10).enumerate() {
            let reduce = ["+=", "max=", "min="][maker.below(3) as usize];
            maker.text += &format!("{format} o{k} fout;\n");
            statements += &format!("o{k} {reduce} {name};\n");
        }
        maker.text + &statements
    }
}

fn table(records: Vec<Vec<u64>>) -> Table {
    Table { elements: records[0].len(), bits: records.concat() }
}

fn outcome(backend: &str, graph: &Graph, tables: &[Table; 3]) -> Outcome {
    let [targets, sources, params] = tables;
    // Two segments that overlap, of lengths that are no multiple of a block.
    let segments = [SourceRange { first: 0, count: 67 }, SourceRange { first: 30, count: sources.len() - 30 }];
    let runs = [Run { first: 0, count: targets.len(), segments: 0..2 }];
    let job = Job { graph, targets, sources, params: &params.bits, runs: &runs, segments: &segments };
    let mut backend = (backends::find(backend).expect("a backend").0.open)(&BackendOptions::default());
    backend.run(&job, &mut |_| {}).expect("the backend runs every kernel")
}

#[test]
fn random_kernels_of_ints_and_fixeds_are_those_of_the_emulator() {
    let (mut raised, kernels) = (0, 400);
    for seed in 0..kernels {
        let text = Maker::kernel(seed);
        let compiled = pg2::compile("random", &text);
        let graph = compiled.unwrap_or_else(|e| panic!("seed {seed}: {}\n{text}", e[0].message)).graph;
        let mut random = Random::new(seed);
        let tables = [(PinClass::Ipin, 6), (PinClass::Jpin, 150), (PinClass::Param, 1)].map(|(class, n)| {
            table(stimuli::records(&graph, class, n, Style::Wild { anchor: 0x7fff_ffff_ffff_ffff }, &mut random))
        });
        let (found, wanted) = (outcome("cpu", &graph, &tables), outcome("emulator", &graph, &tables));
        for (k, (found, wanted)) in found.results.bits.iter().zip(&wanted.results.bits).enumerate() {
            assert_eq!(
                found,
                wanted,
                "seed {seed}: output {} of target {}\n{text}",
                k % graph.outputs.len(),
                k / graph.outputs.len()
            );
        }
        for (k, (found, wanted)) in found.flags.iter().zip(&wanted.flags).enumerate() {
            assert_eq!(found, wanted, "seed {seed}: flags of target {k}\n{text}");
            raised += !wanted.is_empty() as u32;
        }
    }
    println!("{kernels} kernels, {raised} of their targets with flags");
    assert!(raised > 100, "flags are compared too");
}
