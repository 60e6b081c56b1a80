//! Expressions and circuits computed in Rust: a flat program over 64-bit words that runs for many samples at a time.
//!
//! A value of more than 64 bits takes several words, the lowest one first, so that widths have no limit. Each step reads and writes
//! rows of [`LANES`] words, one for each sample; rows are used again when nothing reads them any more.

use super::bits::Bits;
use super::expr::{Binary, Expr, Leaf, Node, Reduce, Shift, Test};
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

/// What a step does with the words of its rows `a`, `b` and `c`, and with `mask` and `count`.
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
pub(crate) struct Builder<L: Leaf> {
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

    /// What `leaf` stands for from here on.
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

    fn turned(&mut self, a: &Rows) -> Rows {
        let turn = |(k, row): (usize, &u32)| self.step(What::Turn, *row, 0, 0, 0, mask(a.width, k));
        Rows { width: a.width, rows: a.rows.iter().enumerate().map(turn).collect() }
    }

    fn binary(&mut self, op: Binary, a: &Rows, b: &Rows) -> Rows {
        let width = a.width;
        let what = match op {
            Binary::And => What::And,
            Binary::Or => What::Or,
            Binary::Xor => What::Xor,
            Binary::Add => return self.sum(a, b, 0),
            Binary::Sub => {
                let b = self.turned(b);
                return self.sum(a, &b, 1);
            }
        };
        let rows = a.rows.iter().zip(&b.rows).map(|(a, b)| self.step(what, *a, *b, 0, 0, 0)).collect();
        Rows { width, rows }
    }

    /// `a + b + carry`, as wide as `a`.
    fn sum(&mut self, a: &Rows, b: &Rows, carry: u64) -> Rows {
        let mut carry = self.word(carry);
        let mut rows = Vec::new();
        for (k, (x, y)) in a.rows.iter().zip(&b.rows).enumerate() {
            rows.push(self.step(What::Sum, *x, *y, carry, 0, mask(a.width, k)));
            if k + 1 < a.rows.len() {
                carry = self.step(What::Carry, *x, *y, carry, 0, 0);
            }
        }
        Rows { width: a.width, rows }
    }

    /// One of several bits, by pairs of them.
    fn fold(&mut self, what: What, bits: Vec<u32>) -> u32 {
        bits.into_iter().reduce(|x, y| self.step(what, x, y, 0, 0, 0)).expect("a value has at least one word")
    }

    fn reduce(&mut self, how: Reduce, a: &Rows) -> Rows {
        let row = match how {
            Reduce::And => {
                let each = |(k, r): (usize, &u32)| self.step(What::Is, *r, 0, 0, 0, mask(a.width, k));
                let all = a.rows.iter().enumerate().map(each).collect();
                self.fold(What::And, all)
            }
            Reduce::Or => {
                let any = self.fold(What::Or, a.rows.clone());
                let none = self.step(What::Is, any, 0, 0, 0, 0);
                self.step(What::Turn, none, 0, 0, 0, 1)
            }
            Reduce::Xor => {
                let all = self.fold(What::Xor, a.rows.clone());
                self.step(What::Parity, all, 0, 0, 0, 0)
            }
        };
        Rows { width: 1, rows: vec![row] }
    }

    fn compare(&mut self, test: Test, signed: bool, mut a: Rows, mut b: Rows) -> Rows {
        if signed {
            // With its top bit turned a number in two's complement orders as an unsigned one.
            let (last, top) = (a.rows.len() - 1, 1 << ((a.width - 1) % 64));
            for v in [&mut a, &mut b] {
                v.rows[last] = self.step(What::Turn, v.rows[last], 0, 0, 0, top);
            }
        }
        let (swap, turn) = match test {
            Test::Eq => (None, 0),
            Test::Ne => (None, 1),
            Test::Lt => (Some(false), 0),
            Test::Ge => (Some(false), 1),
            Test::Gt => (Some(true), 0),
            Test::Le => (Some(true), 1),
        };
        let row = match swap {
            None => {
                let equal = a.rows.iter().zip(&b.rows).map(|(x, y)| self.step(What::Equal, *x, *y, 0, 0, 0)).collect();
                self.fold(What::And, equal)
            }
            Some(swap) => {
                let (x, y) = if swap { (&b, &a) } else { (&a, &b) };
                // From the lowest word up: less there, or equal there and less below.
                let mut less = None;
                for (x, y) in x.rows.iter().zip(&y.rows) {
                    let here = self.step(What::Less, *x, *y, 0, 0, 0);
                    less = Some(match less {
                        None => here,
                        Some(below) => {
                            let equal = self.step(What::Equal, *x, *y, 0, 0, 0);
                            self.step(What::Choose, equal, below, here, 0, 0)
                        }
                    });
                }
                less.expect("a value has at least one word")
            }
        };
        let row = if turn == 1 { self.step(What::Turn, row, 0, 0, 0, 1) } else { row };
        Rows { width: 1, rows: vec![row] }
    }

    fn choose(&mut self, c: &Rows, a: &Rows, b: &Rows) -> Rows {
        let each = |(x, y): (&u32, &u32)| self.step(What::Choose, c.rows[0], *x, *y, 0, 0);
        Rows { width: a.width, rows: a.rows.iter().zip(&b.rows).map(each).collect() }
    }

    fn shift(&mut self, how: Shift, a: &Rows, n: &Rows) -> Rows {
        let width = a.width;
        if width <= 64 && n.width <= 64 && how != Shift::Arithmetic {
            let what = if how == Shift::Left { What::UpBy } else { What::DownBy };
            let moved = self.step(what, a.rows[0], n.rows[0], 0, 0, 0);
            let row = self.step(What::Down, moved, 0, 0, 0, mask(width, 0));
            return Rows { width, rows: vec![row] };
        }
        // One step for each bit of the amount, by constants.
        let mut value = a.clone();
        for k in 0..n.width {
            let places = 1u32.checked_shl(k).unwrap_or(width).min(width);
            let fill = match how {
                Shift::Arithmetic => {
                    let top = self.bits(a, width - 1, 1).rows[0];
                    let rows = (0..places.div_ceil(64) as usize)
                        .map(|k| self.step(What::Spread, top, 0, 0, 0, mask(places, k)));
                    let rows = rows.collect();
                    Rows { width: places, rows }
                }
                _ => self.constant(&Bits::new(places, 0)),
            };
            let moved = match (how, places == width) {
                (_, true) => fill,
                (Shift::Left, _) => {
                    let kept = self.bits(&value, 0, width - places);
                    self.cat(&[fill, kept])
                }
                _ => {
                    let kept = self.bits(&value, places, width - places);
                    self.cat(&[kept, fill])
                }
            };
            let digit = self.bits(n, k, 1);
            value = self.choose(&digit, &moved, &value);
        }
        value
    }

    fn product(&mut self, signed: bool, a: Rows, b: Rows) -> Rows {
        let width = a.width + b.width;
        let words = width.div_ceil(64) as usize;
        let zero = self.word(0);
        let mut sum = vec![zero; words];
        for (i, x) in a.rows.iter().enumerate() {
            for (j, y) in b.rows.iter().enumerate() {
                for (what, at) in [(What::Low, i + j), (What::High, i + j + 1)] {
                    if at < words {
                        let part = self.step(what, *x, *y, 0, 0, 0);
                        let mut rows = vec![zero; words];
                        rows[at] = part;
                        let full = 64 * words as u32;
                        sum = self.sum(&Rows { width: full, rows: sum }, &Rows { width: full, rows }, 0).rows;
                    }
                }
            }
        }
        let mut sum = self.bits(&Rows { width: 64 * words as u32, rows: sum }, 0, width);
        if signed {
            // As patterns ua and ub: a b = ua ub - [a < 0] ub 2^wa - [b < 0] ua 2^wb modulo 2^(wa + wb).
            for (x, y) in [(&a, &b), (&b, &a)] {
                let top = self.bits(x, x.width - 1, 1);
                let zeros = self.constant(&Bits::new(x.width, 0));
                let none = self.constant(&Bits::new(y.width, 0));
                let high = self.choose(&top, y, &none);
                let taken = self.cat(&[zeros, high]);
                sum = self.binary(Binary::Sub, &sum, &taken);
            }
        }
        sum
    }

    /// The program that computes `outputs` from the inputs.
    pub fn finish(mut self, outputs: &[Expr<L>]) -> Program {
        let outputs: Vec<Rows> = outputs.iter().map(|e| self.value(e)).collect();
        let inputs = self.inputs as usize;
        // What reaches an output, and the last step that reads each row.
        let mut last: Vec<Option<usize>> = vec![None; inputs + self.made.len()];
        outputs.iter().flat_map(|o| &o.rows).for_each(|r| last[*r as usize] = Some(usize::MAX));
        for (k, made) in self.made.iter().enumerate().rev() {
            if let (Some(_), Made::Step(s)) = (last[inputs + k], made) {
                for r in s.reads() {
                    last[r as usize] = last[r as usize].or(Some(k));
                }
            }
        }
        // Inputs and constants keep their rows; those of steps are used again.
        let mut place: Vec<u32> = (0..last.len() as u32).collect();
        let mut p = Program {
            words: Vec::new(),
            steps: Vec::new(),
            rows: self.inputs,
            inputs,
            outputs: Vec::new(),
            tables: self.tables,
        };
        for (k, made) in self.made.iter().enumerate().filter(|(k, _)| last[inputs + k].is_some()) {
            if let Made::Word(word) = made {
                place[inputs + k] = p.rows;
                p.words.push((p.rows, *word));
                p.rows += 1;
            }
        }
        let mut free: Vec<u32> = Vec::new();
        for (k, made) in self.made.iter().enumerate().filter(|(k, _)| last[inputs + k].is_some()) {
            let Made::Step(s) = made else { continue };
            let reads = s.reads();
            let step = Step { a: place[s.a as usize], b: place[s.b as usize], c: place[s.c as usize], ..*s };
            // A step's own row is none that it reads.
            let row = free.pop().unwrap_or_else(|| {
                p.rows += 1;
                p.rows - 1
            });
            place[inputs + k] = row;
            p.steps.push((row, step));
            let mut done: Vec<u32> = reads
                .into_iter()
                .filter(|r| last[*r as usize] == Some(k) && *r as usize >= inputs)
                .filter(|r| matches!(self.made[*r as usize - inputs], Made::Step(_)))
                .collect();
            done.sort_unstable();
            done.dedup();
            free.extend(done.into_iter().map(|r| place[r as usize]));
        }
        p.outputs = outputs.iter().map(|o| o.rows.iter().map(|r| place[*r as usize]).collect()).collect();
        p
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
pub(crate) struct Program {
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
