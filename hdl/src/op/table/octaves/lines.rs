//! Where an argument lies: the line of its octave, or a place that needs none.

use crate::Format;
use crate::number::exact::Exact;
use crate::number::real::{Branches, Call, Dd, Evaluator, Expr, Node, elementary, exp2};
use crate::op::pieces::float_parts::max_field;
use crate::op::pieces::float_parts::shift::bits_of;
use crate::op::table::poly::Line;

/// By so many places at most a function differs from what stands for it in octaves without a line of their own.
pub const TAIL: f64 = 1.0 / 16.0;

/// The octaves of the cubic root, which repeat.
pub const PERIOD: u32 = 3;

/// The treatment of what is below the first octave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Below {
    /// The argument itself, to a quarter of a place.
    Own,
    /// The first octave, scaled.
    Similar,
    /// The value at 0.
    Constant,
    /// Octaves repeat, with the exponent divided by [`PERIOD`] once `more` is added to its field; the first exponent is -`less`.
    Periodic { more: u32, less: i32 },
}

/// The lines of a format. A line's number is, from its highest bit: the sign, where either has its own lines; whether the line is
/// of 1 - |x|; and the octave in `bits` bits.
#[derive(Clone, Debug)]
pub struct Layout {
    pub below: Below,
    /// The exponent field of the first octave that has a line of its own.
    pub first: u32,
    /// The greatest magnitude, as a pattern, that has one.
    pub last: u64,
    /// Whether there is a line for what is above, behind the others.
    pub tops: bool,
    pub bits: u32,
    pub signed: bool,
    /// The exponent field from which on the lines are those of 1 - |x|.
    pub fold: Option<u32>,
    /// The pattern of 1.
    pub one: u64,
    /// Whether the function is 0 at 0.
    pub vanishes: bool,
}

/// Where an argument lies.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Place {
    Own,
    Zero,
    Invalid,
    Line {
        line: usize,
        fraction: u64,
        /// The summand of the quantum.
        shift: i32,
        /// Whether the result changes its sign.
        negative: bool,
    },
}

impl Layout {
    pub fn new(format: Format, call: Call) -> Layout {
        let (m, bias) = (format.mant() as i32, format.bias());
        let one = (bias as u64) << m;
        let vanishes = !matches!(call, Call::Erfc | Call::Acos);
        let fold = matches!(call, Call::Asin | Call::Acos).then(|| (bias as u32 - 1).max(1));
        let below = match call {
            Call::Erf => Below::Similar,
            Call::Erfc | Call::Acos => Below::Constant,
            Call::Cbrt => {
                let less = (bias + 2).div_euclid(3);
                Below::Periodic { more: (3 * less - bias) as u32, less }
            }
            _ => Below::Own,
        };
        // x^2 / 3 bounds the relative distance of a function from its first term, and a place is at least 2^-(M + 1) of a result;
        // of a constant of at least 1/2 so is half of it.
        let octave = match below {
            Below::Own => (-m - 2).div_euclid(2),
            Below::Similar => (-m - 4).div_euclid(2) - 1,
            Below::Constant => -m - 6,
            Below::Periodic { .. } => 0,
        };
        let first = (bias + octave).max(1) as u32;
        let greatest = format.max_bits();
        let last = match (call, fold) {
            (_, Some(fold)) => ((fold as u64) << m).saturating_sub(1),
            (Call::Cbrt, _) => greatest,
            _ => last(format, call),
        };
        let tops = fold.is_none() && last < greatest;
        let mut layout = Layout { below, first, last, tops, bits: 0, signed: !vanishes, fold, one, vanishes };
        let count = layout.octaves(format) + layout.tiny() + tops as u32;
        let folded = if fold.is_some() { bits_of(format.mant() + 1) } else { 0 };
        layout.bits = bits_of(count.saturating_sub(1)).max(folded);
        layout
    }

    /// Lines in front of that of the first octave.
    pub fn tiny(&self) -> u32 {
        (self.below == Below::Constant) as u32
    }

    /// Octaves that have a line each.
    pub fn octaves(&self, format: Format) -> u32 {
        match self.below {
            Below::Periodic { .. } => PERIOD,
            _ => ((self.last >> format.mant()) as u32 + 1).saturating_sub(self.first),
        }
    }

    /// The octave's number of what lies above the last octave.
    pub fn top(&self, format: Format) -> u32 {
        self.octaves(format) + self.tiny()
    }

    /// The octave's number of 1 - |x| = 0, which is that of a number of zeros no other has.
    pub fn nothing(&self, format: Format) -> u32 {
        (1 << bits_of(format.mant() + 1)) - 1
    }

    pub fn is_own(&self, format: Format, magnitude: u64) -> bool {
        self.below == Below::Own && magnitude >> format.mant() < self.first as u64
    }

    /// The least and the most that is added to a quantum.
    pub fn shifts(&self, format: Format) -> (i32, i32) {
        match self.below {
            Below::Similar => (1 - self.first as i32, 0),
            Below::Periodic { more, less } => {
                let of = |field: i64| (field as i32 + more as i32) / PERIOD as i32 - less;
                (of(1), of(max_field(format)))
            }
            _ => (0, 0),
        }
    }

    /// Where an argument lies.
    #[inline]
    pub fn place(&self, format: Format, x: u64) -> Place {
        let m = format.mant();
        let magnitude = x & (format.mask() >> 1);
        let negative = x >> (format.width() - 1) & 1 == 1;
        let (field, fraction) = ((magnitude >> m) as u32, magnitude & ((1 << m) - 1));
        let sign = if self.signed { negative as usize } else { 0 };
        let line = |octave: u32, fraction: u64, shift: i32, folded: bool| {
            let above = if self.fold.is_some() { sign << 1 | folded as usize } else { sign };
            Place::Line {
                line: above << self.bits | octave as usize,
                fraction,
                shift,
                negative: negative && !self.signed,
            }
        };
        if let Below::Periodic { more, less } = self.below {
            let third = (field + more) / PERIOD;
            return match field {
                0 => Place::Zero,
                _ => line((field + more) % PERIOD, fraction, third as i32 - less, false),
            };
        }
        if self.fold.is_some() && magnitude > self.one {
            return Place::Invalid;
        }
        if self.fold.is_some_and(|fold| field >= fold && magnitude > 0) {
            if magnitude == self.one {
                return line(self.nothing(format), fraction, 0, true);
            }
            let rest = (1 << m) - fraction;
            let zeros = m - rest.ilog2();
            return line(zeros, (rest << zeros) & ((1 << m) - 1), 0, true);
        }
        match self.below {
            _ if magnitude > self.last => line(self.top(format), fraction, 0, false),
            _ if field >= self.first => line(field - self.first + self.tiny(), fraction, 0, false),
            Below::Own => Place::Own,
            Below::Similar if field == 0 => Place::Zero,
            Below::Similar => line(0, fraction, field as i32 - self.first as i32, false),
            _ => line(0, fraction, 0, false),
        }
    }

    /// The lines, as many as a number of that many bits has values.
    pub fn lines(&self, format: Format, call: Call) -> Vec<Option<Line>> {
        let (m, bias) = (format.mant(), format.bias());
        let all = (1u64 << m) - 1;
        let point = |branch: usize, x: f64| Line { branch, start: Dd::from(x), scale: 0.0, first: 0, last: all };
        let mut lines = Vec::new();
        for sign in if self.signed { &[1.0, -1.0][..] } else { &[1.0] } {
            let mut own = Vec::new();
            if self.below == Below::Constant {
                own.push(Some(point(0, 0.0)));
            }
            let field_of_last = (self.last >> m) as i32;
            for k in 0..self.octaves(format) as i32 {
                let octave = if call == Call::Cbrt { k } else { self.first as i32 + k - bias };
                let is_last = call != Call::Cbrt && octave + bias == field_of_last;
                let last = if is_last { self.last & all } else { all };
                let scale = sign * exp2(octave);
                own.push(Some(Line { branch: 0, start: Dd::from(scale), scale, first: 0, last }));
            }
            if self.tops {
                // An exponential of a larger square is 0 in f64.
                let above = format.to_f64(self.last + 1);
                let above = if call == Call::Erfc { above.min(26.75) } else { above };
                own.push(Some(point(0, sign * above)));
            }
            own.resize(1 << self.bits, None);
            lines.append(&mut own);
            if self.fold.is_some() {
                let branch = if *sign > 0.0 { 1 } else { 2 };
                let of = |zeros: u32| {
                    let scale = exp2(-(zeros as i32) - 1);
                    let last = if zeros == 0 { 0 } else { all };
                    Line { branch, start: Dd::from(scale), scale, first: 0, last }
                };
                let mut own: Vec<Option<Line>> = (0..=m).map(|zeros| Some(of(zeros))).collect();
                own.resize(1 << self.bits, None);
                own[self.nothing(format) as usize] = Some(point(branch, 0.0));
                lines.append(&mut own);
            }
        }
        lines
    }
}

/// The last magnitude that has a line: that of the octave behind which a function is its limit to [`TAIL`], or, of one that falls
/// to 0, the last whose value is not far below the format.
fn last(format: Format, call: Call) -> u64 {
    let (m, bias) = (format.mant(), format.bias());
    let tail = |x: f64| match call {
        Call::Tanh => (Dd::ONE - elementary::tanh(Dd::from(x))).hi,
        Call::Atan => (Dd::PI.scale(-1) - elementary::atan(Dd::from(x))).hi,
        _ => elementary::erfc(Dd::from(x)).hi,
    };
    let near = TAIL * exp2(-(m as i32) - 1);
    let most = max_field(format) as i32;
    let field = (1..most).find(|field| tail(exp2(field + 1 - bias)) <= near).unwrap_or(most);
    let settled = (field as u64 + 1) << m;
    if call != Call::Erfc {
        return settled - 1;
    }
    let vanishing = exp2(-bias - 1);
    let (mut low, mut high) = (0, format.max_bits());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if tail(format.to_f64(middle)) > vanishing { low = middle } else { high = middle }
    }
    low.max(settled - 1)
}

/// The functions of the lines: of x, and of 1 - |x| for positive and for negative x.
pub fn functions(call: Call) -> Branches {
    let mut all = vec![Evaluator::new(&Expr::of(call))];
    if matches!(call, Call::Asin | Call::Acos) {
        all.push(Evaluator::new(&folded(call == Call::Asin)));
        let mut other = folded(false);
        let (pi, own) = (other.push(Node::Pi), other.nodes.len() as u32 - 2);
        other.push(Node::Sub(pi, own));
        all.push(Evaluator::new(&other));
    }
    Branches(all)
}

/// The arc cosine of 1 - w, which is 2 atan(sqrt(w / (2 - w))), or the arc sine.
fn folded(sine: bool) -> Expr {
    let mut e = Expr::default();
    let (w, two) = (e.push(Node::X), e.push(Node::Number(Exact::from_integer(2.into()))));
    let other = e.push(Node::Sub(two, w));
    let ratio = e.push(Node::Div(w, other));
    let root = e.push(Node::Call(Call::Sqrt, ratio));
    let half = e.push(Node::Call(Call::Atan, root));
    let angle = e.push(Node::Mul(two, half));
    if sine {
        let pi = e.push(Node::Pi);
        let right = e.push(Node::Div(pi, two));
        e.push(Node::Sub(right, angle));
    }
    e
}
