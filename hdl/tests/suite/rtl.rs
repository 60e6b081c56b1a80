//! Expressions: their widths, their text, and their values against a computation bit by bit.

use hdl::rtl::eval::{Builder, LANES};
use hdl::rtl::expr::{Binary, Reduce, Shift, Test};
use hdl::rtl::*;
use testkit::Random;

type E = Expr<u32>;

/// Widths of the leaves, across the ends of words.
pub const LEAVES: [u32; 6] = [1, 7, 63, 64, 65, 130];

/// A random expression of that width.
pub fn random(r: &mut Random, width: u32, depth: u32) -> E {
    if depth == 0 || width == 0 {
        let k = r.below(LEAVES.len() as u32);
        let leaf = E::leaf(k, LEAVES[k as usize]);
        return match LEAVES[k as usize].checked_sub(width) {
            Some(room) if r.below(4) > 0 => leaf.bits(r.below(room + 1), width),
            _ => E::constant(width, r.bits() as i64 as i128 * r.bits() as i64 as i128),
        };
    }
    let depth = depth - 1;
    let mut some = |width: u32| random(r, width, depth);
    let (a, b, one) = (some(width), some(width), some(1));
    let (wide, other) = (some(90), some(90));
    let places = some(8);
    match r.below(16) {
        0 => a & b,
        1 => a | b,
        2 => a ^ b,
        3 => a + b,
        4 => a - b,
        5 => !a,
        6 | 7 => one.mux(&a, &b),
        8 => {
            let low = r.below(width + 1);
            cat([a.low(0), random(r, width - low, depth), random(r, low, depth)])
        }
        9 => random(r, 3, 0).repeat(width.div_ceil(3)).low(width),
        10 => wide.reduce([Reduce::And, Reduce::Or, Reduce::Xor][r.below(3) as usize]).repeat(width),
        11 => {
            let test = [Test::Eq, Test::Ne, Test::Lt, Test::Le, Test::Gt, Test::Ge][r.below(6) as usize];
            let other = if r.below(3) == 0 { wide.clone() } else { other };
            wide.compare(test, r.below(2) == 0, &other).zext(width)
        }
        12 | 13 => a.shift([Shift::Left, Shift::Right, Shift::Arithmetic][r.below(3) as usize], &places),
        14 if width > 1 => {
            let low = 1 + r.below(width - 1);
            random(r, low, 0).product(&random(r, width - low, 0), r.below(2) == 0)
        }
        _ => one.extend(width, r.below(2) == 0),
    }
}

/// The bits of an expression, the lowest first.
pub fn value(e: &E, leaves: &[Vec<bool>]) -> Vec<bool> {
    let of = |e: &E| value(e, leaves);
    let width = e.width() as usize;
    let number = |bits: &[bool], signed: bool| {
        let weight = |(k, b): (usize, &bool)| num_bigint::BigInt::from(*b as u8) << k;
        let whole: num_bigint::BigInt = bits.iter().enumerate().map(weight).sum();
        if signed && bits[bits.len() - 1] { whole - (num_bigint::BigInt::from(1) << bits.len()) } else { whole }
    };
    let pattern = |n: num_bigint::BigInt| -> Vec<bool> {
        let modulus = num_bigint::BigInt::from(1) << width;
        let n = ((n % &modulus) + &modulus) % &modulus;
        (0..width as u64).map(|k| n.bit(k)).collect()
    };
    match e.node() {
        Node::Read { leaf, low, .. } => leaves[*leaf as usize][*low as usize..*low as usize + width].to_vec(),
        Node::Const(bits) => (0..width as u32).map(|k| bits.bit(k)).collect(),
        Node::Cat(parts) => parts.iter().rev().flat_map(of).collect(),
        Node::Repeat(part) => of(part).repeat(width / part.width() as usize),
        Node::Not(a) => of(a).iter().map(|b| !b).collect(),
        Node::Binary(op, a, b) => {
            let (x, y) = (of(a), of(b));
            let both = |f: &dyn Fn(bool, bool) -> bool| x.iter().zip(&y).map(|(a, b)| f(*a, *b)).collect();
            match op {
                Binary::And => both(&|a, b| a && b),
                Binary::Or => both(&|a, b| a || b),
                Binary::Xor => both(&|a, b| a != b),
                Binary::Add => pattern(number(&x, false) + number(&y, false)),
                Binary::Sub => pattern(number(&x, false) - number(&y, false)),
            }
        }
        Node::Reduce(how, a) => {
            let count = of(a).iter().filter(|b| **b).count() as u32;
            vec![match how {
                Reduce::And => count == a.width(),
                Reduce::Or => count > 0,
                Reduce::Xor => count % 2 == 1,
            }]
        }
        Node::Compare { test, signed, a, b } => {
            let order = number(&of(a), *signed).cmp(&number(&of(b), *signed));
            vec![match test {
                Test::Eq => order.is_eq(),
                Test::Ne => order.is_ne(),
                Test::Lt => order.is_lt(),
                Test::Le => order.is_le(),
                Test::Gt => order.is_gt(),
                Test::Ge => order.is_ge(),
            }]
        }
        Node::Mux(c, a, b) => of(if of(c)[0] { a } else { b }),
        Node::Shift(how, a, n) => {
            let (x, places) = (of(a), of(n));
            let places = places.iter().enumerate().map(|(k, b)| (*b as usize) << k).sum::<usize>();
            let fill = *how == Shift::Arithmetic && x[width - 1];
            let at = |k: usize| match how {
                Shift::Left => k.checked_sub(places).map(|k| x[k]).unwrap_or(false),
                _ => x.get(k + places).copied().unwrap_or(fill),
            };
            (0..width).map(at).collect()
        }
        Node::Product { signed, a, b } => pattern(number(&of(a), *signed) * number(&of(b), *signed)),
    }
}

#[test]
fn programs_compute_what_expressions_mean() {
    let leaves: Vec<(u32, u32)> = LEAVES.iter().enumerate().map(|(k, w)| (k as u32, *w)).collect();
    for seed in 0..600 {
        let mut r = Random::new(seed);
        let width = [1, 2, 5, 31, 64, 65, 100, 128, 200][r.below(9) as usize];
        let outputs: Vec<E> = (0..3).map(|_| random(&mut r, width, 3)).collect();
        let program = Builder::new(&leaves).finish(&outputs);
        let mut memory = program.memory();
        let words: Vec<[u64; LANES]> = program.inputs().map(|_| std::array::from_fn(|_| r.bits())).collect();
        let mut row = 0;
        let mut samples = vec![vec![Vec::new(); LEAVES.len()]; 2];
        for (k, width) in LEAVES.iter().enumerate() {
            for bit in (0..*width).step_by(64) {
                let left = (width - bit).min(64);
                memory[row] = words[row].map(|w| if left == 64 { w } else { w & ((1 << left) - 1) });
                for (lane, sample) in samples.iter_mut().enumerate() {
                    sample[k].extend((0..left).map(|b| memory[row][lane] >> b & 1 == 1));
                }
                row += 1;
            }
        }
        program.run(&mut memory);
        for (e, rows) in outputs.iter().zip(program.outputs()) {
            for (lane, sample) in samples.iter().enumerate() {
                let got: Vec<bool> =
                    (0..width as usize).map(|k| memory[rows[k / 64] as usize][lane] >> (k % 64) & 1 == 1).collect();
                assert_eq!(got, value(e, sample), "seed {seed}, lane {lane}: {e:?}");
            }
        }
    }
}

#[test]
fn slices_are_the_bits_of_what_they_are_cut_from() {
    for seed in 0..400 {
        let mut r = Random::new(seed);
        let leaves: Vec<Vec<bool>> = LEAVES.iter().map(|w| (0..*w).map(|_| r.bits() & 1 == 1).collect()).collect();
        let e = random(&mut r, 40, 2);
        let sliceable = std::panic::catch_unwind(|| e.slice(30, 11));
        if let Ok(part) = sliceable {
            assert_eq!(value(&part, &leaves), value(&e, &leaves)[11..31], "{e:?}");
        }
    }
}

#[test]
fn text_has_the_parentheses_that_it_needs() {
    let [a, b, c] = ["a", "b", "c"].map(|n| net(n, 8));
    let bit = net("s", 1);
    let cases = [
        (&a & &b | &c, "a & b | c"),
        (&a & (&b | &c), "a & (b | c)"),
        (&a ^ (&b & &c), "a ^ (b & c)"),
        (&a - (&b - &c), "a - (b - c)"),
        (&a + &b + &c, "a + b + c"),
        (!(&a & &b), "~(a & b)"),
        (!a.any(), "~|a"),
        ((&a ^ &b).any(), "|(a ^ b)"),
        (a.lt(&b) & &bit, "(a < b) & s"),
        (a.signed_lt(&b), "$signed(a) < $signed(b)"),
        (bit.mux(&bit.mux(&a, &b), &bit.mux(&b, &c)), "s ? (s ? a : b) : s ? b : c"),
        (a.is_number(3), "a == 8'd3"),
        (a.sext(10), "{{2{a[7]}}, a}"),
        (cat([E8::zeros(2), a.slice(3, 2), a.bit(0)]), "{2'd0, a[3:2], a[0]}"),
        (cat([bit.clone(), bit.clone(), a.clone()]), "{{2{s}}, a}"),
        (cat([a.low(2), b.low(1)]).repeat(2), "{2{a[1:0], b[0]}}"),
        (cat([bit.clone(), bit.shift(Shift::Arithmetic, &a)]), "{s, {$signed(s) >>> a}}"),
        (a.low(2).product(&b.low(3), false), "{3'd0, a[1:0]} * {2'd0, b[2:0]}"),
        (E8::ones(8), "{8{1'b1}}"),
        (E8::constant(12, 0x123), "12'h123"),
        (bit.slice(0, 0), "s"),
    ];
    for (e, wanted) in cases {
        assert_eq!(e.to_string(), wanted);
    }
}

type E8 = Value;

#[test]
#[should_panic(expected = "8 and 7 bits meet")]
fn operands_of_two_widths_do_not_meet() {
    let _ = net("a", 8) + net("b", 7);
}

#[test]
#[should_panic(expected = "give it a name first")]
fn upper_bits_of_a_sum_need_a_name() {
    let _ = (net("a", 8) + net("b", 8)).bit(7);
}
