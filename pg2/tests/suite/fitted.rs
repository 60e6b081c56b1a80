//! Functions of `pg_fn` made up at random: an answer for each of them, and no more work than is counted.

use crate::attack::spent;
use crate::mutate::answer;
use hdl::Format;
use hdl::circuit::target::Clock;
use hdl::number::exact::{Exact, parse_decimal};
use hdl::number::real::expr::CALLS;
use hdl::number::real::{Expr, Node};
use hdl::op::table::func::{Function, MOST_WORK, work};
use pg2::backend::build::build;
use pg2::report::explain::explain;
use std::sync::Arc;
use testkit::Random;

/// Formats in which tables are found soon, and the others.
const NARROW: &[&str] = &[
    "float4.1",
    "float6.3",
    "float9.4",
    "float12.6",
    "fixed1.1",
    "fixed8.8",
    "fixed12.8",
    "ufixed8.5",
    "ufixed12.3",
    "fixed12.0",
];
const WIDE: &[&str] = &[
    "float18.9",
    "float25.16",
    "float32.23",
    "float35.23",
    "fixed16.10",
    "fixed32.24",
    "fixed32.0",
    "ufixed32.32",
    "ufixed16.14",
];
const NUMBERS: &[&str] = &["0", "1", "2", "0.5", "10", "100", "1e6", "1e-6", "3.7", "1e18", "0.3", "1.0009765625"];
const ENDS: &[&str] = &[
    "-100", "-3", "-1", "-0.001", "0", "1e-30", "1e-6", "0.001", "0.1", "0.25", "0.5", "1", "1.001", "2", "16", "100",
    "1e9",
];
const SYMBOLS: &[&str] = &["+", "-", "*", "/"];
const PAIRS: &[&str] = &["min", "max", "pow"];

/// A word of reverse Polish notation.
#[derive(Clone, Copy, Debug)]
enum Word {
    X,
    Number(&'static str),
    Call(usize),
    Symbol(&'static str),
    Pair(&'static str),
}

/// A use of `pg_fn`.
#[derive(Clone, Debug)]
struct Case {
    words: Vec<Word>,
    format: &'static str,
    ends: (&'static str, &'static str),
}

fn one_of<T: Copy>(list: &[T], dice: &mut Random) -> T {
    list[dice.below(list.len())]
}

fn ends(dice: &mut Random) -> (&'static str, &'static str) {
    let (a, b) = (dice.below(ENDS.len()), dice.below(ENDS.len()));
    (ENDS[a.min(b)], ENDS[a.max(b)])
}

impl Case {
    fn random(formats: &[&'static str], dice: &mut Random) -> Case {
        let mut case = Case { words: vec![Word::X], format: one_of(formats, dice), ends: ends(dice) };
        (0..1 + dice.below(8)).for_each(|_| case.grow(dice));
        case
    }

    /// Puts a part around the function.
    fn grow(&mut self, dice: &mut Random) {
        let constant = Word::Number(one_of(NUMBERS, dice));
        match dice.below(8) {
            0..=2 => self.words.push(Word::Call(dice.below(CALLS.len()))),
            3 | 4 => self.words.extend([Word::X, Word::Symbol(one_of(SYMBOLS, dice))]),
            5 => self.words.extend([constant, Word::Symbol(one_of(SYMBOLS, dice))]),
            6 => self.words.extend([constant, Word::Pair(one_of(PAIRS, dice))]),
            _ => {
                self.words.insert(0, constant);
                self.words.push(Word::Symbol(one_of(SYMBOLS, dice)));
            }
        }
    }

    /// The case with one thing changed.
    fn changed(&self, dice: &mut Random) -> Case {
        let mut case = self.clone();
        match dice.below(6) {
            0 => case.ends = ends(dice),
            1 => case.format = one_of(if dice.below(2) == 0 { NARROW } else { WIDE }, dice),
            2 if case.words.len() < 60 => case.grow(dice),
            3 => {
                let end = case.words.len() - dice.below(case.words.len());
                case.words.truncate(end);
            }
            _ => {
                let k = dice.below(case.words.len());
                case.words[k] = match case.words[k] {
                    Word::X | Word::Number(_) => Word::Number(one_of(NUMBERS, dice)),
                    Word::Call(_) => Word::Call(dice.below(CALLS.len())),
                    Word::Symbol(_) => Word::Symbol(one_of(SYMBOLS, dice)),
                    Word::Pair(_) => Word::Pair(one_of(PAIRS, dice)),
                };
            }
        }
        // What is left open is dropped.
        while case.parts().len() > 1 {
            case.words.push(Word::Symbol("+"));
        }
        case
    }

    /// The texts that the words leave on the stack.
    fn parts(&self) -> Vec<String> {
        let mut stack: Vec<String> = Vec::new();
        for word in &self.words {
            let text = match word {
                Word::X => "r".to_string(),
                Word::Number(n) => n.to_string(),
                Word::Call(k) => {
                    let a = stack.pop().expect("an argument");
                    match CALLS[*k].0 {
                        "neg" => format!("(-{a})"),
                        name => format!("{name}({a})"),
                    }
                }
                Word::Symbol(s) => {
                    let b = stack.pop().expect("an argument");
                    format!("({} {s} {b})", stack.pop().expect("an argument"))
                }
                Word::Pair(name) => {
                    let b = stack.pop().expect("an argument");
                    format!("{name}({}, {b})", stack.pop().expect("an argument"))
                }
            };
            stack.push(text);
        }
        stack
    }

    fn kernel(&self) -> String {
        let (lo, hi) = self.ends;
        let f = self.parts().concat();
        let sum = if self.format.starts_with("float") { "fixed64.30" } else { self.format };
        format!("{} r jpin;\n{sum} o fout;\no += ({sum})pg_fn(r, {f}, {lo}, {hi});\n", self.format)
    }

    /// The same for the search itself.
    fn function(&self) -> Arc<Function> {
        let mut e = Expr::default();
        let mut stack: Vec<u32> = Vec::new();
        for word in &self.words {
            let node = match word {
                Word::X => Node::X,
                Word::Number(n) => Node::Number(number(n)),
                Word::Call(k) => Node::Call(CALLS[*k].1, stack.pop().expect("an argument")),
                Word::Symbol(name) | Word::Pair(name) => {
                    let (b, a) = (stack.pop().expect("an argument"), stack.pop().expect("an argument"));
                    match *name {
                        "+" => Node::Add(a, b),
                        "-" => Node::Sub(a, b),
                        "*" => Node::Mul(a, b),
                        "/" => Node::Div(a, b),
                        "min" => Node::Min(a, b),
                        "max" => Node::Max(a, b),
                        _ => Node::Pow(a, b),
                    }
                }
            };
            stack.push(e.share(node));
        }
        e.finish(stack[0]);
        Function::new(e, number(self.ends.0), number(self.ends.1))
    }

    fn work(&self) -> u64 {
        let format: Format = self.format.parse().expect("a format");
        work(format, &self.function())
    }

    /// Compiles, explains and builds it; gives the codes of what is said.
    fn run(&self) -> Vec<&'static str> {
        let text = self.kernel();
        let codes = answer(&text);
        if let Ok(compiled) = pg2::compile("k", &text) {
            let built = build(&compiled.graph, Clock::default_clock(), &text, Vec::new());
            built.netlist.verify().unwrap_or_else(|e| panic!("{e}\n{text}"));
            let explained = format!("{}", explain(&built, text.as_str()));
            assert!(explained.len() > 100, "{text}");
        }
        codes
    }
}

fn number(text: &str) -> Exact {
    let size = parse_decimal(text.trim_start_matches('-')).expect("a number");
    if text.starts_with('-') { -size } else { size }
}

/// Work that an evaluation under way may add to what a search may take.
const ROOM: u64 = 20_000_000;

/// Cases of a proof; more or fewer with `CASES=n`.
fn cases(usual: usize) -> usize {
    std::env::var("CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

fn all_get_an_answer(formats: &[&'static str], count: usize, seed: u64) {
    let mut dice = Random::new(seed);
    let mut compiled = 0;
    for _ in 0..count {
        let case = Case::random(formats, &mut dice);
        let ran = std::panic::catch_unwind(|| case.run());
        let codes = ran.unwrap_or_else(|_| panic!("a panic on\n{}", case.kernel()));
        compiled += codes.iter().all(|c| *c >= "PG0101") as usize;
        let work = case.work();
        assert!(work < MOST_WORK + ROOM, "{work} steps of work for\n{}", case.kernel());
    }
    assert!(compiled > count / 8, "only {compiled} of {count} compile");
}

#[test]
fn functions_made_up_at_random_get_an_answer() {
    all_get_an_answer(NARROW, 200, 0x5EED_0005);
}

#[test]
#[ignore = "a proof in depth"]
fn ten_thousand_functions_get_an_answer() {
    let count = cases(10_000);
    all_get_an_answer(NARROW, count * 4 / 5, 0x5EED_0006);
    all_get_an_answer(WIDE, count / 5, 0x5EED_0007);
}

/// The most nanoseconds of CPU time that a step of work may take: it is meant to be one, of optimised code.
const NANOSECONDS: f64 = 3.0;

/// Looks for functions whose search takes longer than what is counted, by changes that make it worse.
#[test]
#[ignore = "a proof in depth"]
fn no_function_takes_longer_than_its_work_says() {
    for seed in 0..4 {
        let mut dice = Random::new(0x5EED_0008 + seed);
        let mut worst: Option<(f64, Case)> = None;
        for _ in 0..cases(10_000) / 40 {
            let case = match &worst {
                Some((_, case)) if dice.below(8) > 0 => case.changed(&mut dice),
                _ => Case::random(WIDE, &mut dice),
            };
            let start = std::time::Instant::now();
            let before = spent(start);
            case.run();
            let took = spent(start).saturating_sub(before).as_nanos() as f64;
            let work = case.work();
            assert!(work < MOST_WORK + ROOM, "{work} steps of work for\n{}", case.kernel());
            // A third of a second for everything that is no search.
            let score = took - NANOSECONDS * work as f64;
            assert!(score < 0.33e9, "{:.2} s for {work} steps of work\n{}", took / 1e9, case.kernel());
            if worst.as_ref().is_none_or(|w| took > w.0) {
                worst = Some((took, case));
            }
        }
        let (took, case) = worst.expect("a case");
        println!("the slowest took {:.2} s, {} steps\n{}", took / 1e9, case.work(), case.kernel());
    }
}

#[test]
fn a_function_without_an_end_to_its_search_is_refused_with_the_reason() {
    // Each of these once took minutes.
    for f in ["tan(3 * r)", "sin(9 * sin(9 * sin(9 * r)))"] {
        let text = format!("float32.23 r jpin;\nfixed64.30 o fout;\no += (fixed64.30)pg_fn(r, {f}, 0, 16);");
        let codes = answer(&text);
        assert!(codes == ["PG0075"] || codes == ["PG0074"], "{f}: {codes:?}");
    }
}

/// At an end where a function is infinitely steep its distance is what is fitted; beyond the end it is the end's value, with `invalid`.
#[test]
fn functions_that_are_steep_at_an_end_are_made_of_pieces() {
    for (function, ends, f) in [
        ("sqrt(1 - x*x)", [-1.0, 1.0], (|x: f64| ((1.0 - x) * (1.0 + x)).sqrt()) as fn(f64) -> f64),
        ("2 - sqrt(x - 1)", [1.0, 3.0], |x| 2.0 - (x - 1.0).sqrt()),
    ] {
        let [low, high] = ends;
        let text = format!("float32.23 x ipin; float32.23 o fout; o max= pg_fn(x, {function}, {low}, {high});");
        let graph = pg2::compile("steep", &text).map_err(|e| format!("{text}: {e:?}")).unwrap().graph;
        let trial = pg2::error::trial::Trial::new(&graph);
        let output = graph.outputs[0].value.0 as usize;
        let mut random = pg2::error::trial::Bits(1);
        for k in 0..4000 {
            // Near the ends, and in between.
            let part = (random.draw() >> 11) as f64 * 2f64.powi(-53);
            let part = if k % 2 == 0 { part * 2f64.powi(-(k % 23)) } else { part };
            let x = if k % 4 < 2 { low + (high - low) * part } else { high - (high - low) * part };
            let bits = (x as f32).to_bits() as u64;
            let (x, pair) = (x as f32 as f64, trial.pair(&[bits]));
            let got = f32::from_bits(pair.bits[output] as u32) as f64;
            let place = f(x).abs().max(1e-30) * 2f64.powi(-23);
            assert!((got - f(x)).abs() <= 1.0001 * place, "{function} of {x:?}: {got:e} for {:e}", f(x));
            assert!(pair.flags.iter().all(|f| f.is_empty()), "{function} of {x:?}: {:?}", pair.flags);
        }
        for (x, end) in [(low - 0.5, low), (low, low), (high, high), (high + 0.25, high)] {
            let pair = trial.pair(&[(x as f32).to_bits() as u64]);
            let got = f32::from_bits(pair.bits[output] as u32) as f64;
            assert!((got - f(end)).abs() <= 1e-7 * f(end).abs(), "{function} of {x}: {got}");
            let invalid = pair.flags.iter().any(|f| f.contains(hdl::Flags::INVALID));
            assert_eq!(invalid, x != end, "{function} of {x}");
        }
    }
    // A bend inside is none of that.
    let text = "float32.23 x ipin; float32.23 o fout; o max= pg_fn(x, abs(x - 0.3), 0, 1);";
    assert_eq!(pg2::compile("bend", text).err().map(|e| e[0].code), Some("PG0074"));
}
