//! Expressions and circuits computed in Rust: a flat program over 64-bit words that runs for many samples at a time.
//!
//! A value of more than 64 bits takes several words, the lowest one first, so that widths have no limit. Each step reads and writes
//! rows of [`LANES`] words, one for each sample; rows are used again when nothing reads them any more.

mod arithmetic;
mod finish;

use super::bits::Bits;
use super::expr::{Expr, Leaf, Node};
use crate::hash::FastMap;
use std::sync::Arc;

/// Samples that run together.
pub const LANES: usize = 64;

type Lanes = [u64; LANES];

/// The rows of a value, the lowest word first.
#[derive(Clone, PartialEq, Debug)]
struct Rows {
    width: u32,
    rows: Vec<u32>,
}

/// The operation of a step on the words of its rows `a`, `b` and `c`, with `mask` and `count`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    And,
    Or,
    Xor,
    /// `a ^ mask`.
    Turn,
    /// `(a << count) & mask` and `(a >> count) & mask`.
    Up,
    Down,
    /// `(a + b + c) & mask`, and the carry out of 64 bits of `a + b + c`, where `c` is 0 or 1.
    Sum,
    Carry,
    /// 0 or 1.
    Less,
    Equal,
    /// Whether `a` is `mask`.
    Is,
    Parity,
    /// `b` where `a` is 1, else `c`.
    Choose,
    /// `mask` where `a` is 1, else 0.
    Spread,
    /// The low and the high word of a product.
    Low,
    High,
    /// `a << b` and `a >> b`; 0 from 64 places on.
    UpBy,
    DownBy,
    /// The word of table `count` at `a`.
    Look,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Step {
    what: What,
    a: u32,
    b: u32,
    c: u32,
    count: u32,
    mask: u64,
}

/// Builds a program. Rows are numbered in the order of their making: a step's row is its number plus that of the inputs.
pub struct Builder<L: Leaf> {
    inputs: u32,
    /// Constant rows, and steps, by the row that they make.
    made: Vec<Made>,
    words: FastMap<u64, u32>,
    steps: FastMap<Step, u32>,
    values: FastMap<Expr<L>, Rows>,
    leaves: FastMap<L, Rows>,
    tables: Vec<Arc<[u64]>>,
}

#[derive(Clone, Copy, Debug)]
enum Made {
    Word(u64),
    Step(Step),
}

/// All ones in the lowest `width` bits of word `k` of a value.
fn mask(width: u32, k: usize) -> u64 {
    let left = width - 64 * k as u32;
    if left >= 64 { u64::MAX } else { (1 << left) - 1 }
}

impl<L: Leaf> Builder<L> {
    /// Inputs come in the order of `inputs`.
    pub fn new(inputs: &[(L, u32)]) -> Builder<L> {
        let mut b = Builder {
            inputs: 0,
            made: Vec::new(),
            words: FastMap::default(),
            steps: FastMap::default(),
            values: FastMap::default(),
            leaves: FastMap::default(),
            tables: Vec::new(),
        };
        for (leaf, width) in inputs {
            let rows = (b.inputs..b.inputs + width.div_ceil(64)).collect();
            b.inputs += width.div_ceil(64);
            b.leaves.insert(leaf.clone(), Rows { width: *width, rows });
        }
        b
    }

    /// Defines the value of `leaf` from here on.
    pub fn define(&mut self, leaf: L, expr: &Expr<L>) {
        let rows = self.value(expr);
        self.leaves.insert(leaf, rows);
    }

    /// The same as the word of a table, of which missing words are 0.
    pub fn look(&mut self, leaf: L, width: u32, address: &Expr<L>, data: &[u64]) {
        assert!(width <= 64, "tables hold words of at most 64 bits");
        let at = self.value(address);
        let mut data = data.to_vec();
        data.resize(1 << at.width, 0);
        let count = self.tables.len() as u32;
        self.tables.push(data.into());
        let row = self.step(What::Look, at.rows[0], 0, 0, count, 0);
        self.leaves.insert(leaf, Rows { width, rows: vec![row] });
    }

    fn make(&mut self, made: Made) -> u32 {
        self.made.push(made);
        self.inputs + self.made.len() as u32 - 1
    }

    fn word(&mut self, word: u64) -> u32 {
        if let Some(row) = self.words.get(&word) {
            return *row;
        }
        let row = self.make(Made::Word(word));
        self.words.insert(word, row);
        row
    }

    fn step(&mut self, what: What, a: u32, b: u32, c: u32, count: u32, mask: u64) -> u32 {
        let step = Step { what, a, b, c, count, mask };
        if let Some(row) = self.steps.get(&step) {
            return *row;
        }
        let row = self.make(Made::Step(step));
        self.steps.insert(step, row);
        row
    }

    fn constant(&mut self, bits: &Bits) -> Rows {
        let rows = bits.words().iter().map(|w| self.word(*w)).collect();
        Rows { width: bits.width(), rows }
    }

    /// The rows of an expression.
    fn value(&mut self, e: &Expr<L>) -> Rows {
        if let Some(known) = self.values.get(e) {
            return known.clone();
        }
        let width = e.width();
        let made = match e.node() {
            Node::Read { leaf, low, .. } => {
                let of =
                    self.leaves.get(leaf).unwrap_or_else(|| panic!("{leaf:?} is read before it is defined")).clone();
                self.bits(&of, *low, width)
            }
            Node::Const(bits) => self.constant(bits),
            Node::Cat(parts) => {
                let parts: Vec<Rows> = parts.iter().rev().map(|p| self.value(p)).collect();
                self.cat(&parts)
            }
            Node::Repeat(one) if one.width() == 1 => {
                let bit = self.value(one).rows[0];
                let words = width.div_ceil(64) as usize;
                let rows = (0..words).map(|k| self.step(What::Spread, bit, 0, 0, 0, mask(width, k))).collect();
                Rows { width, rows }
            }
            Node::Repeat(one) => {
                let part = self.value(one);
                self.cat(&vec![part; (width / one.width()) as usize])
            }
            Node::Not(a) => {
                let a = self.value(a);
                self.turned(&a)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                self.binary(*op, &a, &b)
            }
            Node::Reduce(how, a) => {
                let a = self.value(a);
                self.reduce(*how, &a)
            }
            Node::Compare { test, signed, a, b } => {
                let (a, b) = (self.value(a), self.value(b));
                self.compare(*test, *signed, a, b)
            }
            Node::Mux(c, a, b) => {
                let (c, a, b) = (self.value(c), self.value(a), self.value(b));
                self.choose(&c, &a, &b)
            }
            Node::Shift(how, a, n) => {
                let (a, n) = (self.value(a), self.value(n));
                self.shift(*how, &a, &n)
            }
            Node::Product { signed, a, b } => {
                let (a, b) = (self.value(a), self.value(b));
                self.product(*signed, a, b)
            }
        };
        debug_assert_eq!(made.width, width);
        self.values.insert(e.clone(), made.clone());
        made
    }

    /// `count` bits from bit `low` on.
    fn bits(&mut self, of: &Rows, low: u32, count: u32) -> Rows {
        if low == 0 && count == of.width {
            return of.clone();
        }
        let rows = (0..count.div_ceil(64) as usize)
            .map(|k| {
                let (at, down, mask) = (low as usize / 64 + k, low % 64, mask(count, k));
                let first = self.step(What::Down, of.rows[at], 0, 0, down, mask);
                match of.rows.get(at + 1) {
                    Some(next) if down > 0 && mask >> (64 - down) != 0 => {
                        let next = self.step(What::Up, *next, 0, 0, 64 - down, mask);
                        self.step(What::Or, first, next, 0, 0, 0)
                    }
                    _ => first,
                }
            })
            .collect();
        Rows { width: count, rows }
    }

    /// Parts side by side, the lowest first.
    fn cat(&mut self, parts: &[Rows]) -> Rows {
        let width = parts.iter().map(|p| p.width).sum::<u32>();
        let mut rows: Vec<Option<u32>> = vec![None; width.div_ceil(64) as usize];
        let mut at = 0;
        for part in parts {
            for (k, word) in part.rows.iter().enumerate() {
                let (place, up) = ((at as usize + 64 * k) / 64, at % 64);
                let bits = (part.width - 64 * k as u32).min(64);
                let mut put = |b: &mut Self, place: usize, row: u32| {
                    rows[place] = Some(match rows[place] {
                        Some(old) => b.step(What::Or, old, row, 0, 0, 0),
                        None => row,
                    });
                };
                let low = if up == 0 { *word } else { self.step(What::Up, *word, 0, 0, up, u64::MAX) };
                put(self, place, low);
                if up + bits > 64 {
                    let high = self.step(What::Down, *word, 0, 0, 64 - up, u64::MAX);
                    put(self, place + 1, high);
                }
            }
            at += part.width;
        }
        Rows { width, rows: rows.into_iter().map(|r| r.expect("every word has a part")).collect() }
    }
}

impl Step {
    /// The rows that it reads.
    fn reads(&self) -> Vec<u32> {
        match self.what {
            What::Turn | What::Up | What::Down | What::Is | What::Parity | What::Spread | What::Look => vec![self.a],
            What::Sum | What::Carry | What::Choose => vec![self.a, self.b, self.c],
            _ => vec![self.a, self.b],
        }
    }
}

/// A compiled program.
pub struct Program {
    words: Vec<(u32, u64)>,
    /// The row that each step writes, and the step with the rows that it reads.
    steps: Vec<(u32, Step)>,
    rows: u32,
    inputs: usize,
    outputs: Vec<Vec<u32>>,
    tables: Vec<Arc<[u64]>>,
}

impl Program {
    /// Room to run in.
    pub fn memory(&self) -> Vec<Lanes> {
        let mut memory = vec![[0; LANES]; self.rows as usize];
        self.words.iter().for_each(|(row, word)| memory[*row as usize] = [*word; LANES]);
        memory
    }

    /// The rows of the inputs, in their order, each input's lowest word first.
    pub fn inputs(&self) -> std::ops::Range<usize> {
        0..self.inputs
    }

    /// The rows of each output, the lowest word first.
    pub fn outputs(&self) -> &[Vec<u32>] {
        &self.outputs
    }

    /// Computes every sample of `memory`, whose input rows are set.
    pub fn run(&self, memory: &mut [Lanes]) {
        for (to, step) in &self.steps {
            let mut out = [0; LANES];
            self.step(step, memory, &mut out);
            memory[*to as usize] = out;
        }
    }

    fn step(&self, s: &Step, memory: &[Lanes], out: &mut Lanes) {
        let (a, b, c) = (&memory[s.a as usize], &memory[s.b as usize], &memory[s.c as usize]);
        let (mask, count) = (s.mask, s.count);
        match s.what {
            What::And => each(out, |k| a[k] & b[k]),
            What::Or => each(out, |k| a[k] | b[k]),
            What::Xor => each(out, |k| a[k] ^ b[k]),
            What::Turn => each(out, |k| a[k] ^ mask),
            What::Up => each(out, |k| (a[k] << count) & mask),
            What::Down => each(out, |k| (a[k] >> count) & mask),
            What::Sum => each(out, |k| a[k].wrapping_add(b[k]).wrapping_add(c[k]) & mask),
            What::Carry => each(out, |k| ((a[k] as u128 + b[k] as u128 + c[k] as u128) >> 64) as u64),
            What::Less => each(out, |k| (a[k] < b[k]) as u64),
            What::Equal => each(out, |k| (a[k] == b[k]) as u64),
            What::Is => each(out, |k| (a[k] == mask) as u64),
            What::Parity => each(out, |k| a[k].count_ones() as u64 & 1),
            What::Choose => each(out, |k| if a[k] != 0 { b[k] } else { c[k] }),
            What::Spread => each(out, |k| a[k].wrapping_neg() & mask),
            What::Low => each(out, |k| a[k].wrapping_mul(b[k])),
            What::High => each(out, |k| ((a[k] as u128 * b[k] as u128) >> 64) as u64),
            What::UpBy => each(out, |k| if b[k] < 64 { a[k] << b[k] } else { 0 }),
            What::DownBy => each(out, |k| if b[k] < 64 { a[k] >> b[k] } else { 0 }),
            What::Look => {
                let table = &self.tables[count as usize];
                each(out, |k| table[a[k] as usize]);
            }
        }
    }
}

/// Each lane by itself.
#[inline]
fn each(out: &mut Lanes, lane: impl Fn(usize) -> u64) {
    out.iter_mut().enumerate().for_each(|(k, word)| *word = lane(k));
}
