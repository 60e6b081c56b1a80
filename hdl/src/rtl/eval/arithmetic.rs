//! The steps of each operator, word by word.

use super::{Builder, Rows, What, mask};
use crate::rtl::bits::Bits;
use crate::rtl::expr::{Binary, Leaf, Reduce, Shift, Test};

impl<L: Leaf> Builder<L> {
    pub(super) fn turned(&mut self, a: &Rows) -> Rows {
        let turn = |(k, row): (usize, &u32)| self.step(What::Turn, *row, 0, 0, 0, mask(a.width, k));
        Rows { width: a.width, rows: a.rows.iter().enumerate().map(turn).collect() }
    }

    pub(super) fn binary(&mut self, op: Binary, a: &Rows, b: &Rows) -> Rows {
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

    pub(super) fn reduce(&mut self, how: Reduce, a: &Rows) -> Rows {
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

    pub(super) fn compare(&mut self, test: Test, signed: bool, mut a: Rows, mut b: Rows) -> Rows {
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

    pub(super) fn choose(&mut self, c: &Rows, a: &Rows, b: &Rows) -> Rows {
        let each = |(x, y): (&u32, &u32)| self.step(What::Choose, c.rows[0], *x, *y, 0, 0);
        Rows { width: a.width, rows: a.rows.iter().zip(&b.rows).map(each).collect() }
    }

    pub(super) fn shift(&mut self, how: Shift, a: &Rows, n: &Rows) -> Rows {
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

    pub(super) fn product(&mut self, signed: bool, a: Rows, b: Rows) -> Rows {
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
}
