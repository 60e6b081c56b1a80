//! Tables that are read by indices known at run time: constants, and parameters in memories that the engine loads.

use crate::common::{Kernel, Work, check, engine, simulate};
use hdl::circuit::target::Clock;
use hdl::engine::Config;
use hdl::engine::protocol::Segment;
use hdl::{Flags, Format};
use pg2::graph::{Graph, PinClass};
use sim::cycle::CycleOptions;
use sim::emulator::Emulator;
use sim::stimuli::Style;

/// A matrix by two indices of which one can be outside, a vector of wide entries, a register among the parameters, and the tables between.
const MIXED: &str = "
float25.16 eps[5][6] param;
int32 scale param;
int40 shift[3] param;
uint3 ti ipin;
int8 k ipin;
uint3 tj jpin;
float25.16 m jpin;
fixed64.20 e fout;
int64 s fout;
int40 most fout;
e += (fixed64.20)(eps[ti][tj] * m);
s += (int64)(shift[k] * 3) + scale;
most max= shift[2];
";

/// Rows of a matrix, a constant index, indices of a choice, a table that every pair reads twice.
const ROWS: &str = "
int16 w[4][3] param;
uint7 b[9] param;
uint2 i ipin;
int16 x[3] jpin;
uint4 n jpin;
int64 s fout;
uint7 t fout;
s += w[i] * x + w[1][2];
if (n < 9) { t max= b[n]; } else { t max= b[b[0] > 3 ? 1 : 0]; }
";

/// Tables fixed in the circuit, with and without a format.
const FIXED: &str = "
table float18.9 q[4] = {1.5, -2, 0.25, 1e3};
table fixed16.8 g[2][3] = {{1, 2, 3}, {-1, -2.5, 0.1}};
table steps[5] = {1, 3, 9, 27, 81};
uint2 ti ipin;
int4 c jpin;
uint1 r jpin;
int32 v jpin;
fixed64.20 a fout;
int64 n fout;
fixed16.8 l fout;
a += (fixed64.20)(q[ti] * q[3 - ti]);
n += v * (2 * steps[c] + 1);
l min= g[r][ti];
";

/// Kernels that read tables.
pub const KERNELS: [&str; 3] = [MIXED, ROWS, FIXED];

fn patterns(graph: &Graph, class: PinClass) -> Vec<Format> {
    graph.elements_of(class).iter().map(|(pin, _)| graph.pins[*pin].format).collect()
}

/// The emulator over the work, against the reference.
pub fn emulated(graph: &Graph, work: &Work, expected: &[Vec<(Vec<u64>, Flags)>]) {
    for graph in [graph.clone(), pg2::middle::simplify::simplify(graph)] {
        let mut emulator = Emulator::new(&graph);
        emulator.set_params(&work.params);
        let mut sources = emulator.sources(work.j.len());
        emulator.load(&mut sources, 0, &work.j.concat());
        let mut scratch = emulator.scratch();
        for (run, wanted) in work.runs.iter().zip(expected) {
            for (i, wanted) in work.i[run.i.0..][..run.i.1].iter().zip(wanted) {
                let mut sums = [emulator.start()];
                emulator.accumulate(&mut scratch, &mut sums, i, &sources, &run.segments);
                assert_eq!(sums[0].finish(), *wanted);
            }
        }
    }
}

fn simulated(kernel: &Kernel, work: &Work, expected: &[Vec<(Vec<u64>, Flags)>], config: &Config) {
    let Some(mut engine) = engine(kernel, config, &CycleOptions::default()) else { return };
    for again in 0..2 {
        let outcome = simulate(&mut engine, work);
        let Config { pipelines, groups, stream_bits, ii, .. } = config;
        check(
            work,
            &outcome,
            expected,
            &format!("{pipelines} lanes, {groups} groups, {stream_bits} bits, ii {ii}, {again}"),
        );
    }
}

#[test]
fn tables_have_the_same_bits_everywhere() {
    for (k, text) in KERNELS.into_iter().enumerate() {
        let kernel = Kernel::new("lookup", text);
        for seed in 1..4 {
            let work = Work::random(&kernel.graph, 3000, seed, Style::Ordinary);
            let expected = work.expected(&kernel.graph);
            emulated(&kernel.graph, &work, &expected);
            if seed > 1 {
                continue;
            }
            let shapes = [(1, 1, 32), (3, 1, 64), (8, 2, 128)];
            let (lanes, groups, stream_bits) = shapes[k % shapes.len()];
            let config = Config { groups, stream_bits, ..kernel.config(lanes) };
            simulated(&kernel, &work, &expected, &config);
            let folded = Kernel::folded("lookup", text, Clock::default_clock(), 4);
            simulated(&folded, &work, &expected, &folded.config(2));
        }
    }
}

/// MIXED in plain arithmetic.
#[test]
fn an_entry_is_what_the_parameters_say_and_outside_there_is_none() {
    let graph = Kernel::new("lookup", MIXED).graph;
    let formats = patterns(&graph, PinClass::Param);
    // The register comes first in the record, whatever stands first in the text.
    assert_eq!(formats.len(), 1 + 30 + 3);
    assert_eq!((formats[0].to_string(), formats[1].to_string()), ("int32".into(), "float25.16".into()));
    let number = |x: i64, format: &str| {
        let format: Format = format.parse().unwrap();
        hdl::number::exact::parse(format, &x.to_string()).unwrap()
    };
    let mut params = vec![number(7, "int32")];
    params.extend((0..30).map(|k| number(10 * (k / 6) + k % 6, "float25.16")));
    params.extend([-5i64, 6, 1 << 35].map(|x| number(x, "int40")));
    for (ti, k, tj) in (0..8u64).flat_map(|ti| (-2..4i64).flat_map(move |k| (0..8u64).map(move |tj| (ti, k, tj)))) {
        let i = [ti, number(k, "int8")];
        let j = [tj, number(2, "float25.16")];
        let (outputs, flags) = sim::reference::target(&graph, &i, &[j.to_vec()], &params);
        let is_inside = ti < 5 && tj < 6 && (0..3).contains(&k);
        let eps = if ti < 5 && tj < 6 { 2 * (10 * ti + tj) } else { 0 };
        let shift = [-5i64, 6, 1 << 35].get(usize::try_from(k).unwrap_or(9)).copied().unwrap_or(0);
        let wanted = vec![eps << 20, (3 * shift + 7) as u64, 1 << 35];
        assert_eq!((outputs, flags), (wanted, Flags::INVALID.when(!is_inside)), "{ti} {k} {tj}");
    }
}

/// New parameters hold for what comes behind them, and before them the old ones do.
#[test]
fn parameters_that_change_between_runs_change_the_tables() {
    let kernel = Kernel::new("lookup", MIXED);
    let config = kernel.config(2);
    let Some(mut engine) = engine(&kernel, &config, &CycleOptions::default()) else { return };
    for seed in 5..8 {
        let mut work = Work::random(&kernel.graph, 300, seed, Style::Ordinary);
        work.runs.iter_mut().for_each(|run| run.segments.truncate(2));
        work.runs.push(crate::common::Run { i: (0, 2), segments: vec![Segment { first: 3, count: 4 }] });
        let expected = work.expected(&kernel.graph);
        check(&work, &simulate(&mut engine, &work), &expected, &format!("parameters {seed}"));
    }
}

/// Each mistake has a code, a place and a remedy.
#[test]
fn mistakes_with_tables_are_told_where_they_are() {
    let pins = "uint3 k jpin; float18.9 f jpin; int16 x[3] jpin; int16 a[4] param; int16 m[2][2] param; int64 s fout; int32 h[20] fout;";
    for (text, code, place, help) in [
        ("s += x[k]; h[k] += 1;", "PG0034", "k", "`param`s and `table`s"),
        ("s += a[f]; h[k] += 1;", "PG0042", "f", "`(int32)x`"),
        ("s += m[k][k][k]; h[k] += 1;", "PG0046", "m", "without an index"),
        ("s += m[2][k]; h[k] += 1;", "PG0045", "2", "0 to 1"),
        ("table t[3] = {1, 2}; s += t[k]; h[k] += 1;", "PG0043", "t", "1 that are missing"),
        ("table t[2] = {1, 2, 3}; s += t[k]; h[k] += 1;", "PG0043", "t", "remove 1"),
        ("table uint2 t[2] = {1, 5}; s += (int64)t[k]; h[k] += 1;", "PG0032", "5", "wider format"),
        ("table t[2] = {1, k}; s += t[k]; h[k] += 1;", "PG0034", "k", "`param` vector"),
        ("table t[2] = file \"none.csv\"; s += t[k]; h[k] += 1;", "PG0030", "\"none.csv\"", "path"),
        ("table t = {1, 2}; s += 1; h[k] += 1;", "PG0024", "t", "t[256]"),
        ("table t[2] = 3; s += 1; h[k] += 1;", "PG0004", "3", "{1, 2, 3}"),
        ("table t[2] = {1, 2}; table u[2] = {3, 4}; s += t[k] + u[k]; h[k] += 1;", "PG0033", "t[k] + u[k]", "a format"),
        ("s += 1; h[k] += 1; h[k + 1] += 1;", "PG0026", "h", "another output"),
        ("s += 1; h[k] += 1; h[3] += 1;", "PG0026", "h", "another output"),
        ("s += 1; h[f] += 1;", "PG0042", "f", "`(int32)x`"),
        ("s += 1; h[k] += f;", "PG0041", "f", ""),
        ("s[k] += 1; h[k] += 1;", "PG0046", "s", "without an index"),
    ] {
        let text = format!("{pins} {text}");
        let Err(errors) = pg2::compile("kernel", &text) else { panic!("{text} compiles") };
        let first = &errors[0];
        let (at, told) = (first.span().of(&text), first.help.clone().unwrap_or_default());
        assert!(first.code == code && at == place && told.contains(help), "{text}: {errors:#?}");
    }
}

/// Files of tables are found beside the kernel, and a part of a table that no pair can reach costs nothing to say.
#[test]
fn a_table_is_read_from_its_file() {
    use pg2::syntax::sources::{Loaded, Sources};
    let own = "table w[2][3] = file \"w.csv\"; uint1 r ipin; uint2 c jpin; fixed16.8 s fout; s += w[r][c] + 1;";
    let own = Loaded { key: "k".into(), origin: "k.pg2".into(), text: own.into() };
    let mut asked = Vec::new();
    let sources = Sources::gather(own, &mut |from, path| {
        asked.push(format!("{from} {path}"));
        let text = "# weights\n1, 2 3\n-0.5;1e1\t.25 # end\n".to_string();
        Ok(Loaded { key: path.into(), origin: path.into(), text })
    });
    let graph = pg2::compile_sources("k", &sources).unwrap_or_else(|e| panic!("{e:?}")).graph;
    assert_eq!(asked, ["k w.csv"]);
    let of = |r: u64, c: u64| sim::reference::target(&graph, &[r], &[vec![c]], &[]);
    let entries = [[2.0, 3.0, 4.0], [0.5, 11.0, 1.25]];
    for (r, row) in (0..).zip(entries) {
        for (c, wanted) in (0..).zip(row) {
            assert_eq!(of(r, c), (vec![(wanted * 256.0) as u64], Flags::NONE), "{r} {c}");
        }
        // Outside there is 0, to which 1 is added.
        assert_eq!(of(r, 3), (vec![256], Flags::INVALID));
    }
}
