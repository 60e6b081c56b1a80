//! Programs of [`super::program`] over lanes, in vector code chosen at run time.

use super::aligned::Aligned;
use super::exp::{LEAST_EXP, MOST_EXP, exp};
use super::program::{Program, Step, What, held, hold, pattern};
use hdl::op::semantics::Real;
use hdl::op::{Inst, MOST_ARGS, Operator};
use hdl::{Flags, Format};
use pg2::graph::PinClass;
use std::ops::Range;

/// Lanes of a block. Others are filled up to a multiple of a chunk.
pub const LANES: usize = 256;
const CHUNK: usize = 16;

/// One value in all lanes of a block.
type Register = Aligned;

/// Sources as registers hold them, element by element.
#[derive(Clone, Default)]
pub struct Gathered {
    columns: Vec<Register>,
    /// The place of each among the sources.
    pub places: Vec<u32>,
}

/// The registers of one thread.
pub struct Frame {
    registers: Vec<Register>,
    /// The value in the register of each pin, and in how many lanes from the first on.
    pins: Vec<(u64, usize)>,
    /// All bits of a lane for which an instruction does not hold.
    marked: Register,
    /// The same, of the instructions that are done once a target.
    once: bool,
}

/// Sums of integers: the low halves, and the high ones.
#[derive(Clone, Copy)]
pub struct Totals {
    low: i128,
    high: i128,
}

impl Totals {
    pub const ZERO: Totals = Totals { low: 0, high: 0 };

    pub fn sum(&self) -> i128 {
        self.low + (self.high << 32)
    }
}

impl Gathered {
    /// The sources of some ranges, from columns of patterns.
    pub fn new(columns: &[Vec<Real>], formats: &[Format], ranges: &[Range<usize>]) -> Gathered {
        let mut places: Vec<u32> = Vec::with_capacity(ranges.iter().map(|r| r.len()).sum());
        ranges.iter().for_each(|r| places.extend(r.start as u32..r.end as u32));
        let column = |(column, format): (&Vec<Real>, &Format)| {
            let mut to = Aligned::new(places.len().next_multiple_of(CHUNK));
            let mut end = 0;
            for range in ranges {
                let here = end..end + range.len();
                end = here.end;
                hold(*format, &column[range.clone()], &mut to[here]);
            }
            let last = end.checked_sub(1).map(|last| to[last]);
            to[end..].fill(last.unwrap_or_default());
            to
        };
        Gathered { columns: columns.iter().zip(formats).map(column).collect(), places }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

impl Frame {
    pub fn new(program: &Program) -> Frame {
        let mut registers: Vec<Register> = (0..program.registers).map(|_| Aligned::new(LANES)).collect();
        program.constants.iter().for_each(|(register, value)| registers[*register].fill(*value));
        Frame { registers, pins: vec![(0, 0); program.pins.len()], marked: Aligned::new(LANES), once: false }
    }

    /// Computes what no source changes, for blocks of so many sources.
    pub fn target(&mut self, program: &Program, sources: usize, value: impl Fn(PinClass, usize) -> u64) {
        let lanes = sources.min(LANES).next_multiple_of(CHUNK);
        for ((register, class, at, format), (holds, filled)) in program.pins.iter().zip(&mut self.pins) {
            let value = held(*format, value(*class, *at));
            if *holds != value || *filled < lanes {
                self.registers[*register][..lanes].fill(value);
                (*holds, *filled) = (value, lanes);
            }
        }
        if program.once.is_empty() {
            return;
        }
        self.marked[..lanes].fill(0);
        execute(&program.once, self, &Gathered::default(), 0..lanes);
        self.once = self.marked[..lanes].iter().any(|m| *m != 0);
    }

    /// Computes a block of up to [`LANES`] sources from `first` on. Gives the lanes, ascending, that have to be computed apart.
    pub fn block(&mut self, program: &Program, sources: &Gathered, first: usize) -> Vec<usize> {
        let count = (sources.len() - first).min(LANES);
        if self.once {
            return (0..count).collect();
        }
        let lanes = count.next_multiple_of(CHUNK);
        self.marked[..lanes].fill(0);
        execute(&program.steps, self, sources, first..first + lanes);
        if self.marked[..lanes].iter().fold(0, |all, m| all | m) == 0 {
            return Vec::new();
        }
        (0..count).filter(|k| self.marked[*k] != 0).collect()
    }

    /// Calls `take` with the lanes of a block of a result and their patterns, but for those in `apart`.
    pub fn each(
        &self,
        (register, format): (usize, Format),
        sources: &Gathered,
        first: usize,
        apart: &[usize],
        mut take: impl FnMut(usize, Real),
    ) {
        let lanes = lanes(&self.registers, sources, register, first..(first + LANES).min(sources.len()));
        if apart.is_empty() {
            return lanes.iter().enumerate().for_each(|(k, x)| take(k, pattern(format, *x)));
        }
        let mut apart = apart.iter().peekable();
        for (k, x) in lanes.iter().enumerate() {
            if apart.next_if(|a| **a == k).is_none() {
                take(k, pattern(format, *x));
            }
        }
    }

    /// The sum of a result of floats in all lanes of a block but those in `apart`.
    pub fn sum_of_floats(
        &self,
        (register, _): (usize, Format),
        sources: &Gathered,
        first: usize,
        apart: &[usize],
    ) -> f64 {
        let lanes = lanes(&self.registers, sources, register, first..(first + LANES).min(sources.len()));
        // Zeros, which change no sum, take the place of all others.
        let mut all = [0; LANES];
        all[..lanes.len()].copy_from_slice(lanes);
        apart.iter().for_each(|k| all[*k] = 0);
        let mut sums = [0.0; SUMS];
        add_floats(&all, &mut sums);
        sums.iter().sum()
    }

    /// Adds a result of ints or fixeds in all lanes of a block but those in `apart`.
    pub fn add_to(
        &self,
        (register, format): (usize, Format),
        sources: &Gathered,
        first: usize,
        apart: &[usize],
        totals: &mut Totals,
    ) {
        let lanes = lanes(&self.registers, sources, register, first..(first + LANES).min(sources.len()));
        if apart.is_empty() {
            let (whole, rest) = lanes.split_at(lanes.len() / CHUNK * CHUNK);
            let mut last = [0; CHUNK];
            last[..rest.len()].copy_from_slice(rest);
            sum(whole, format.is_signed(), totals);
            return sum(&last[..rest.len().next_multiple_of(CHUNK)], format.is_signed(), totals);
        }
        let mut some = [0; LANES];
        some[..lanes.len()].copy_from_slice(lanes);
        apart.iter().for_each(|k| some[*k] = 0);
        sum(&some[..lanes.len().next_multiple_of(CHUNK)], format.is_signed(), totals);
    }
}

/// Sums of floats that are made side by side, so that their order is the same on every machine.
const SUMS: usize = 2 * CHUNK;

/// The values of a register for a range of sources of one block.
#[inline(always)]
fn lanes<'a>(registers: &'a [Register], sources: &'a Gathered, register: usize, range: Range<usize>) -> &'a [u64] {
    match register.checked_sub(registers.len()) {
        None => &registers[register][..range.len()],
        Some(element) => &sources.columns[element][range],
    }
}

/// Whether every machine that the program is compiled for has fused products.
const HAS_FMA: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

/// Defines `$name` as `$body::<FMA>` compiled for AVX-512, for AVX2 and for any machine, chosen when called.
macro_rules! fastest {
    (fn $name:ident($($a:ident: $ty:ty),*) = $body:ident) => {
        fn $name($($a: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,fma")]
                fn wide($($a: $ty),*) {
                    $body::<true>($($a),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn middle($($a: $ty),*) {
                    $body::<true>($($a),*)
                }
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("fma")
                {
                    // SAFETY: the features were detected just above.
                    return unsafe { wide($($a),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: the features were detected just above.
                    return unsafe { middle($($a),*) };
                }
            }
            $body::<HAS_FMA>($($a),*)
        }
    };
}

fastest! {
    fn execute(steps: &[Step], frame: &mut Frame, sources: &Gathered, range: Range<usize>) = execute_body
}

fastest! {
    fn sum(lanes: &[u64], is_signed: bool, totals: &mut Totals) = sum_body
}

fastest! {
    fn add_floats(lanes: &[u64; LANES], sums: &mut [f64; SUMS]) = add_floats_body
}

#[inline(always)]
fn add_floats_body<const FMA: bool>(lanes: &[u64; LANES], sums: &mut [f64; SUMS]) {
    for lanes in lanes.chunks_exact(SUMS) {
        sums.iter_mut().zip(lanes).for_each(|(sum, x)| *sum += number(*x));
    }
}

#[inline(always)]
fn sum_body<const FMA: bool>(lanes: &[u64], is_signed: bool, totals: &mut Totals) {
    totals.low += lanes.iter().map(|x| (x & 0xffff_ffff) as i64).sum::<i64>() as i128;
    totals.high += match is_signed {
        true => lanes.iter().map(|x| *x as i64 >> 32).sum::<i64>(),
        false => lanes.iter().map(|x| (x >> 32) as i64).sum::<i64>(),
    } as i128;
}

// Conditions are joined without branches, which would keep loops from being made of vectors.

/// The lanes of an instruction, all slices of one length.
struct Place<'a> {
    args: [&'a [u64]; MOST_ARGS],
    to: &'a mut [u64],
    marked: &'a mut [u64],
}

#[inline(always)]
fn number(x: u64) -> f64 {
    f64::from_bits(x)
}

/// All bits of a lane that is marked.
#[inline(always)]
fn mark_unless(holds: bool) -> u64 {
    if holds { 0 } else { u64::MAX }
}

impl Place<'_> {
    #[inline(always)]
    fn one(self, f: impl Fn(u64) -> u64) {
        for (to, a) in self.to.iter_mut().zip(self.args[0]) {
            *to = f(*a);
        }
    }

    #[inline(always)]
    fn two(self, f: impl Fn(u64, u64) -> u64) {
        for ((to, a), b) in self.to.iter_mut().zip(self.args[0]).zip(self.args[1]) {
            *to = f(*a, *b);
        }
    }

    #[inline(always)]
    fn numbers(self, f: impl Fn(f64, f64) -> f64) {
        self.two(|a, b| f(number(a), number(b)).to_bits());
    }

    #[inline(always)]
    fn integers(self, f: impl Fn(i64, i64) -> bool) {
        self.two(|a, b| f(a as i64, b as i64) as u64);
    }

    /// The same where `holds` says so; other lanes are marked.
    #[inline(always)]
    fn one_where(self, holds: impl Fn(f64) -> bool, f: impl Fn(f64) -> u64) {
        for ((to, a), marked) in self.to.iter_mut().zip(self.args[0]).zip(self.marked) {
            *marked |= mark_unless(holds(number(*a)));
            *to = f(number(*a));
        }
    }

    #[inline(always)]
    fn two_where(self, holds: impl Fn(f64, f64) -> bool, f: impl Fn(f64, f64) -> u64) {
        for (((to, a), b), marked) in self.to.iter_mut().zip(self.args[0]).zip(self.args[1]).zip(self.marked) {
            let (a, b) = (number(*a), number(*b));
            *marked |= mark_unless(holds(a, b));
            *to = f(a, b);
        }
    }

    /// The second argument where the first is not 0, else the third.
    #[inline(always)]
    fn select(self) {
        let [condition, yes, no, ..] = self.args;
        for (((to, c), yes), no) in self.to.iter_mut().zip(condition).zip(yes).zip(no) {
            *to = if *c != 0 { *yes } else { *no };
        }
    }

    #[inline(always)]
    fn squares(self, count: usize) {
        self.to.iter_mut().zip(self.args[0]).for_each(|(to, x)| *to = (number(*x) * number(*x)).to_bits());
        for arg in &self.args[1..count] {
            for (to, x) in self.to.iter_mut().zip(*arg) {
                *to = (number(*to) + number(*x) * number(*x)).to_bits();
            }
        }
    }

    /// x^n of what `first` makes of x; 0 of 0. The products are those of [`f64::powi`].
    #[inline(always)]
    fn power(self, n: i32, holds: impl Fn(f64) -> bool, first: impl Fn(f64) -> f64) {
        let or_zero = |a: f64, x: f64| if a == 0.0 { 0 } else { x.to_bits() };
        // The most frequent ones in one go.
        match n {
            1 => return self.one_where(holds, |a| or_zero(a, first(a))),
            -1 => return self.one_where(holds, |a| or_zero(a, 1.0 / first(a))),
            -2 => {
                let of = |x: f64| 1.0 / (x * x);
                return self.one_where(holds, |a| or_zero(a, of(first(a))));
            }
            -3 => {
                let of = |x: f64| 1.0 / (x * (x * x));
                return self.one_where(holds, |a| or_zero(a, of(first(a))));
            }
            _ => {}
        }
        let Place { args: [a, ..], to, marked } = self;
        let (mut factors, mut products) = ([0.0; LANES], [1.0; LANES]);
        let (factors, products) = (&mut factors[..a.len()], &mut products[..a.len()]);
        for ((a, factor), marked) in a.iter().zip(&mut *factors).zip(marked) {
            *marked |= mark_unless(holds(number(*a)));
            *factor = first(number(*a));
        }
        let mut rest = n.unsigned_abs();
        loop {
            if rest & 1 == 1 {
                products.iter_mut().zip(&*factors).for_each(|(p, f)| *p *= f);
            }
            rest >>= 1;
            if rest == 0 {
                break;
            }
            factors.iter_mut().for_each(|f| *f *= *f);
        }
        if n < 0 {
            products.iter_mut().for_each(|p| *p = 1.0 / *p);
        }
        for ((to, a), p) in to.iter_mut().zip(a).zip(&*products) {
            *to = if number(*a) == 0.0 { 0 } else { p.to_bits() };
        }
    }

    /// Products with a power of two, rounded to integers between two ends.
    #[inline(always)]
    fn rounded(self, by: f64, ends: [f64; 2]) {
        let whole = |x: f64| (x * by).round_ties_even();
        if ends[0] > -SMALL || ends[1] < SMALL {
            return self.whole(ends, whole);
        }
        let Place { args, to, marked } = self;
        let mut differ = 0;
        for (to, a) in to.iter_mut().zip(args[0]) {
            // Exponents differ unless the product is small.
            let bits = (number(*a) * by + ROUND).to_bits();
            differ |= bits ^ ROUND.to_bits();
            *to = bits.wrapping_sub(ROUND.to_bits());
        }
        if differ >> 52 != 0 {
            Place { args, to, marked }.whole(ends, whole);
        }
    }

    /// Whole numbers that `whole` makes of floats, between two ends.
    #[inline(always)]
    fn whole(self, [least, most]: [f64; 2], whole: impl Fn(f64) -> f64) {
        let Place { args: [a, ..], to, marked } = self;
        let (low, high) = (least.max(-SMALL), most.min(SMALL));
        let mut outside = 0;
        for (to, a) in to.iter_mut().zip(a) {
            let x = whole(number(*a));
            outside += u64::from(!((x >= low) & (x <= high)));
            // Added, this leaves a small whole number in the low bits.
            *to = (x + ROUND).to_bits().wrapping_sub(ROUND.to_bits());
        }
        if outside == 0 {
            return;
        }
        for ((to, a), marked) in to.iter_mut().zip(a).zip(marked) {
            let x = whole(number(*a));
            let holds = (x >= least) & (x <= most) & (x < END);
            *marked |= mark_unless(holds);
            let inside = if holds { x } else { 0.0 };
            // SAFETY: it is a whole number, and at least -2^63 as all ends of formats, and below 2^63.
            *to = unsafe { inside.to_int_unchecked::<i64>() } as u64;
        }
    }
}

/// Added to a float of at most [`SMALL`], this rounds it to an integer that stands in the low bits.
pub const ROUND: f64 = 6_755_399_441_055_744.0;
const SMALL: f64 = 1_125_899_906_842_624.0;

/// The bound that no integer of a register reaches.
const END: f64 = 9_223_372_036_854_775_808.0;

#[inline(always)]
fn execute_body<const FMA: bool>(steps: &[Step], frame: &mut Frame, sources: &Gathered, range: Range<usize>) {
    let Frame { registers, marked, .. } = frame;
    let count = range.len();
    for step in steps {
        // No argument is in the result's register.
        let mut to = std::mem::take(&mut registers[step.to]);
        let mut args: [&[u64]; MOST_ARGS] = [&[]; MOST_ARGS];
        for (arg, register) in args.iter_mut().zip(step.args()) {
            *arg = lanes(registers, sources, *register, range.clone());
        }
        compute::<FMA>(&step.what, Place { args, to: &mut to[..count], marked: &mut marked[..count] });
        registers[step.to] = to;
    }
}

#[inline(always)]
fn compute<const FMA: bool>(what: &What, p: Place) {
    let is_finite = |x: f64| x.abs() < f64::INFINITY;
    let alike = |a: f64, b: f64| (a - b).abs() < f64::INFINITY;
    match *what {
        What::Add => p.numbers(|a, b| a + b),
        What::Sub => p.numbers(|a, b| a - b),
        What::Mul => p.numbers(|a, b| a * b),
        What::Div => p.two_where(|_, b| (b != 0.0) & is_finite(b), |a, b| (a / b).to_bits()),
        What::Neg => p.one(|a| (-number(a)).to_bits()),
        What::Abs => p.one(|a| number(a).abs().to_bits()),
        What::Min => p.two_where(alike, |a, b| if b < a { b } else { a }.to_bits()),
        What::Max => p.two_where(alike, |a, b| if b > a { b } else { a }.to_bits()),
        What::Squares(count) => p.squares(count),
        What::Scale(by) => p.one(|a| (number(a) * by).to_bits()),
        What::Power(n) => p.power(n, is_finite, |x| x),
        What::PowerOfRoot(n) => p.power(n, |x| (x >= 0.0) & is_finite(x), f64::sqrt),
        // Without a branch, for vectors.
        #[allow(clippy::manual_range_contains, reason = "the range's test has a branch")]
        What::Exp => p.one_where(|x| (x >= LEAST_EXP) & (x <= MOST_EXP), |x| exp::<FMA>(x).to_bits()),
        What::ToFloat(by) => p.one(|a| (a as i64 as f64 * by).to_bits()),
        What::ToFloatUnsigned(by) => p.one(|a| (a as f64 * by).to_bits()),
        What::Round(by, ends) => p.rounded(by, ends),
        What::Truncate(by, ends) => p.whole(ends, |x| (x * by).trunc()),
        What::Finite => p.one_where(is_finite, |x| (x + 0.0).to_bits()),
        What::Less => p.two_where(alike, |a, b| (a < b) as u64),
        What::LessOrEqual => p.two_where(alike, |a, b| (a <= b) as u64),
        What::Equal => p.two_where(alike, |a, b| (a == b) as u64),
        What::Unequal => p.two_where(alike, |a, b| (a != b) as u64),
        What::Select => p.select(),
        What::IntAdd(wrap) => p.two(|a, b| wrap.of(a.wrapping_add(b))),
        What::IntSub(wrap) => p.two(|a, b| wrap.of(a.wrapping_sub(b))),
        What::IntMul(wrap) => p.two(|a, b| wrap.of(a.wrapping_mul(b))),
        What::IntNeg(wrap) => p.one(|a| wrap.of(a.wrapping_neg())),
        What::IntAbs(wrap) => p.one(|a| wrap.of((a as i64).wrapping_abs() as u64)),
        What::Shl(n, wrap) => p.one(|a| wrap.of(a << n)),
        What::Shr(n) => p.one(|a| (a as i64 >> n) as u64),
        What::ShrUnsigned(n) => p.one(|a| a >> n),
        What::Cut(wrap) => p.one(|a| wrap.of(a)),
        What::IntLess => p.integers(|a, b| a < b),
        What::IntLessUnsigned => p.two(|a, b| (a < b) as u64),
        What::IntLessOrEqual => p.integers(|a, b| a <= b),
        What::IntLessOrEqualUnsigned => p.two(|a, b| (a <= b) as u64),
        What::IntEqual => p.two(|a, b| (a == b) as u64),
        What::IntUnequal => p.two(|a, b| (a != b) as u64),
        What::And => p.two(|a, b| a & b),
        What::Or => p.two(|a, b| a | b),
        What::Xor => p.two(|a, b| a ^ b),
        What::Not(wrap) => p.one(|a| wrap.of(!a)),
        What::Nonzero => p.one(|a| (a != 0) as u64),
        What::Zero => p.one(|a| (a == 0) as u64),
        What::Other(op, ref inst) => other(op, inst, p),
    }
}

/// An operator by its own semantics, lane by lane.
fn other(op: &dyn Operator, inst: &Inst, p: Place) {
    let Place { args: from, to, marked } = p;
    let mut args = [[Real::default(); LANES]; MOST_ARGS];
    for ((arg, from), format) in args.iter_mut().zip(from).zip(&inst.args) {
        for ((arg, x), marked) in arg.iter_mut().zip(from).zip(&mut *marked) {
            let holds = format.is_integral() || number(*x).is_finite();
            *marked |= mark_unless(holds);
            *arg = if holds { pattern(*format, *x) } else { Real::default() };
        }
    }
    let count = to.len();
    let (mut out, mut flags) = ([Real::default(); LANES], [Flags::NONE; LANES]);
    let args = args.each_ref().map(|a| &a[..count]);
    op.real_lanes(inst, &args[..inst.args.len()], &mut out[..count], &mut flags[..count]);
    for (((to, out), flags), marked) in to.iter_mut().zip(out).zip(flags).zip(marked) {
        *marked |= mark_unless(flags.is_empty());
        *to = held(inst.result, out.bits());
    }
}
