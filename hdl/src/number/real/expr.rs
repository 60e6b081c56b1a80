//! Real expressions of one variable: values with a running bound of their error, ranges, Taylor coefficients, and a
//! canonical text.

use super::elementary as e;
use super::jet::{Jet, MAX_ORDER};
use super::{Dd, Interval, Smooth, Value};
use crate::number::exact::Exact;
use num_traits::{One, Signed, ToPrimitive};
use std::fmt;

/// A function of one argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Call {
    Neg,
    Abs,
    Exp,
    Log,
    Sqrt,
    Sin,
    Cos,
    Tan,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Erf,
    Erfc,
}

impl Call {
    pub fn name(self) -> &'static str {
        CALLS.iter().find(|c| c.1 == self).expect("every function has a name").0
    }
}

/// Every function with its name; `Neg` is the prefix minus.
pub static CALLS: &[(&str, Call)] = &[
    ("neg", Call::Neg),
    ("abs", Call::Abs),
    ("exp", Call::Exp),
    ("log", Call::Log),
    ("sqrt", Call::Sqrt),
    ("sin", Call::Sin),
    ("cos", Call::Cos),
    ("tan", Call::Tan),
    ("atan", Call::Atan),
    ("sinh", Call::Sinh),
    ("cosh", Call::Cosh),
    ("tanh", Call::Tanh),
    ("erf", Call::Erf),
    ("erfc", Call::Erfc),
];

/// A part of an expression; arguments are indices of earlier parts.
#[derive(Clone, PartialEq, Debug)]
pub enum Node {
    X,
    Pi,
    Number(Exact),
    Call(Call, u32),
    Add(u32, u32),
    Sub(u32, u32),
    Mul(u32, u32),
    Div(u32, u32),
    /// The first to the power of the second: an integer power of anything, else a power of a positive number.
    Pow(u32, u32),
    Min(u32, u32),
    Max(u32, u32),
}

/// An expression: the last part is its value.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Expr {
    pub nodes: Vec<Node>,
}

/// Relative errors of arithmetic and of elementary functions, with room to spare.
const ARITHMETIC: f64 = 1.0 / (1u128 << 100) as f64;
const FUNCTIONS: f64 = 1.0 / (1u128 << 86) as f64;

/// The largest integer power that is multiplied out.
const MAX_POWER: i64 = 1024;

impl Expr {
    pub fn push(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// A part, or the equal one that is there already, so that an expression has one form.
    pub fn share(&mut self, node: Node) -> u32 {
        match self.nodes.iter().position(|n| *n == node) {
            Some(k) => k as u32,
            None => self.push(node),
        }
    }

    /// Makes a part the value; what stands behind it is dropped.
    pub fn finish(&mut self, top: u32) {
        self.nodes.truncate(top as usize + 1);
    }

    /// The integer that a part is, if it is a number and a small integer.
    fn integer(&self, k: u32) -> Option<i64> {
        match &self.nodes[k as usize] {
            Node::Number(x) if x.is_integer() => x.to_integer().to_i64().filter(|n| n.abs() <= MAX_POWER),
            Node::Call(Call::Neg, a) => self.integer(*a).map(|n| -n),
            _ => None,
        }
    }

    /// A C expression of double precision over a C expression of the argument.
    pub fn c_text(&self, x: &str) -> String {
        let mut texts: Vec<String> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let of = |k: &u32| texts[*k as usize].as_str();
            let infix = |symbol: &str, a: &u32, b: &u32| format!("({} {symbol} {})", of(a), of(b));
            let two = |name: &str, a: &u32, b: &u32| format!("{name}({}, {})", of(a), of(b));
            let text = match node {
                Node::X => format!("({x})"),
                Node::Pi => format!("{:?}", std::f64::consts::PI),
                Node::Number(n) => format!("{:?}", Dd::from_exact(n).hi),
                Node::Call(Call::Neg, a) => format!("(-{})", of(a)),
                Node::Call(Call::Abs, a) => format!("fabs({})", of(a)),
                Node::Call(call, a) => format!("{}({})", call.name(), of(a)),
                Node::Add(a, b) => infix("+", a, b),
                Node::Sub(a, b) => infix("-", a, b),
                Node::Mul(a, b) => infix("*", a, b),
                Node::Div(a, b) => infix("/", a, b),
                Node::Pow(a, b) => two("pow", a, b),
                Node::Min(a, b) => two("fmin", a, b),
                Node::Max(a, b) => two("fmax", a, b),
            };
            texts.push(text);
        }
        texts.pop().unwrap_or_default()
    }

    fn jet(&self, x: Interval, order: usize) -> Jet {
        let mut jets: Vec<Jet> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let of = |k: &u32| jets[*k as usize];
            let jet = match node {
                Node::X => Jet::argument(x, order),
                Node::Pi => Jet::constant(Interval::point(std::f64::consts::PI).outward(), order),
                Node::Number(n) => {
                    let d = Dd::from_exact(n);
                    let point = Interval::point(d.hi);
                    Jet::constant(if d.lo == 0.0 { point } else { point.outward() }, order)
                }
                Node::Add(a, b) => of(a) + of(b),
                Node::Sub(a, b) => of(a) - of(b),
                Node::Mul(a, b) if a == b => of(a).square(),
                Node::Mul(a, b) => of(a) * of(b),
                Node::Div(a, b) => of(a) / of(b),
                Node::Pow(a, b) => match self.integer(*b) {
                    Some(n) if n >= 0 => of(a).powi(n as u32),
                    Some(n) => Jet::constant(Interval::ONE, order) / of(a).powi(-n as u32),
                    None => (of(b) * of(a).log()).exp(),
                },
                Node::Min(a, b) => least(of(a), of(b)),
                Node::Max(a, b) => -least(-of(a), -of(b)),
                Node::Call(call, a) => apply(*call, of(a)),
            };
            jets.push(jet);
        }
        *jets.last().expect("an expression has a part")
    }
}

/// The lesser of two: one of them where they do not cross.
fn least(a: Jet, b: Jet) -> Jet {
    let (x, y) = (a.c[0], b.c[0]);
    if x.hi <= y.lo {
        a
    } else if y.hi <= x.lo {
        b
    } else {
        Jet::kink(Interval::new(x.lo.min(y.lo), x.hi.min(y.hi)), a.order)
    }
}

fn apply(call: Call, a: Jet) -> Jet {
    match call {
        Call::Neg => -a,
        Call::Abs if a.c[0].lo >= 0.0 => a,
        Call::Abs if a.c[0].hi <= 0.0 => -a,
        Call::Abs => Jet::kink(Interval::new(0.0, a.c[0].most()), a.order),
        Call::Exp => a.exp(),
        Call::Log => a.log(),
        Call::Sqrt => a.sqrt(),
        Call::Sin => a.sin_cos().0,
        Call::Cos => a.sin_cos().1,
        Call::Tan => a.tan(),
        Call::Atan => a.atan(),
        Call::Sinh => a.sinh_cosh().0,
        Call::Cosh => a.sinh_cosh().1,
        Call::Tanh => a.tanh(),
        Call::Erf => a.erf(),
        Call::Erfc => a.erfc(),
    }
}

/// The value of a function and its error: that of the argument through the slope, and its own.
fn call(f: Call, a: Value) -> Option<Value> {
    let x = a.value;
    let near = |slope: f64| 1.25 * slope * a.error;
    let with = |value: Dd, error: f64| {
        let own = FUNCTIONS * value.hi.abs();
        (value.is_finite() && error.is_finite() && a.error < 0.1).then_some(Value { value, error: error + own })
    };
    match f {
        Call::Neg => Some(Value { value: -x, ..a }),
        Call::Abs => Some(Value { value: x.abs(), ..a }),
        Call::Exp => {
            let y = e::exp(x);
            // The reduction of large arguments loses as many bits as these have.
            with(y, near(y.hi) + FUNCTIONS * y.hi * x.hi.abs() / 64.0)
        }
        Call::Log if x.hi > 0.0 && a.error < x.hi / 8.0 => with(e::log(x), near(1.0 / x.hi)),
        Call::Sqrt if x.hi == 0.0 && a.error == 0.0 => Some(a),
        Call::Sqrt if x.hi > 0.0 && a.error < x.hi / 8.0 => {
            let y = x.sqrt();
            with(y, near(0.5 / y.hi))
        }
        Call::Log | Call::Sqrt => None,
        Call::Sin => with(e::sin_cos(x).0, near(1.0) + trigonometric(x)),
        Call::Cos => with(e::sin_cos(x).1, near(1.0) + trigonometric(x)),
        Call::Tan => {
            let (s, c) = e::sin_cos(x);
            let error = a.error + trigonometric(x);
            let y = s / c;
            if error > c.hi.abs() / 16.0 { None } else { with(y, 1.5 * (1.0 + y.hi * y.hi) * error) }
        }
        Call::Atan => with(e::atan(x), near(1.0)),
        Call::Sinh => with(e::sinh(x), near(e::cosh(x).hi)),
        Call::Cosh => with(e::cosh(x), near(e::sinh(x).hi.abs() + a.error)),
        Call::Tanh => with(e::tanh(x), near(1.0)),
        Call::Erf => with(e::erf(x), near(1.2)),
        Call::Erfc => with(e::erfc(x), near(1.2 * e::erf_slope(x).hi)),
    }
}

/// The absolute error of a sine or cosine: that of the reduction, where there is one.
fn trigonometric(x: Dd) -> f64 {
    if x.hi.abs() < 0.75 { 0.0 } else { 4.0 * ARITHMETIC * (1.0 + x.hi.abs()) }
}

fn add(a: Value, b: Value) -> Value {
    let value = a.value + b.value;
    Value { value, error: a.error + b.error + ARITHMETIC * value.hi.abs() }
}

fn mul(a: Value, b: Value) -> Value {
    let value = a.value * b.value;
    let (x, y) = (a.value.hi.abs(), b.value.hi.abs());
    Value { value, error: 1.01 * (x * b.error + y * a.error + a.error * b.error) + ARITHMETIC * x * y }
}

fn div(a: Value, b: Value) -> Option<Value> {
    let y = b.value.hi.abs();
    if b.error > y / 16.0 || y == 0.0 {
        return None;
    }
    let value = a.value / b.value;
    let error = 1.25 * (a.error + value.hi.abs() * b.error) / y + ARITHMETIC * value.hi.abs();
    Some(Value { value, error })
}

/// x^n by squaring.
fn powi(x: Value, n: u32) -> Value {
    match n {
        0 => Value { value: Dd::ONE, error: 0.0 },
        1 => x,
        _ => {
            let half = powi(x, n / 2);
            let square = mul(half, half);
            if n.is_multiple_of(2) { square } else { mul(square, x) }
        }
    }
}

impl Smooth for Expr {
    fn value(&self, x: Dd) -> Option<Value> {
        let mut values: Vec<Value> = Vec::with_capacity(self.nodes.len());
        let exact = |value: Dd| Value { value, error: 0.0 };
        for node in &self.nodes {
            let of = |k: &u32| values[*k as usize];
            let value = match node {
                Node::X => exact(x),
                Node::Pi => Value { value: Dd::PI, error: ARITHMETIC * 4.0 },
                Node::Number(n) => {
                    let value = Dd::from_exact(n);
                    let held = n.denom().is_one() && n.abs().numer().bits() <= 53 || value.lo == 0.0;
                    Value { value, error: if held { 0.0 } else { ARITHMETIC * value.hi.abs() } }
                }
                Node::Add(a, b) => add(of(a), of(b)),
                Node::Sub(a, b) => add(of(a), Value { value: -of(b).value, error: of(b).error }),
                Node::Mul(a, b) => mul(of(a), of(b)),
                Node::Div(a, b) => div(of(a), of(b))?,
                Node::Pow(a, b) => match self.integer(*b) {
                    Some(n) if n >= 0 => powi(of(a), n as u32),
                    Some(n) => div(exact(Dd::ONE), powi(of(a), -n as u32))?,
                    None => call(Call::Exp, mul(of(b), call(Call::Log, of(a))?))?,
                },
                Node::Min(a, b) | Node::Max(a, b) => {
                    let (x, y) = (of(a), of(b));
                    let first = ((x.value - y.value).hi < 0.0) == matches!(node, Node::Min(..));
                    Value { error: x.error.max(y.error), ..if first { x } else { y } }
                }
                Node::Call(f, a) => call(*f, of(a))?,
            };
            if !value.value.is_finite() || !value.error.is_finite() {
                return None;
            }
            values.push(value);
        }
        values.pop()
    }

    fn range(&self, x: Interval) -> Interval {
        let direct = self.jet(x, 1);
        let slope = direct.c[1];
        if !slope.is_finite() {
            return direct.c[0];
        }
        // By the mean value, and by the ends where the function is monotone.
        let at = |p: f64| self.jet(Interval::point(p), 0).c[0];
        if slope.lo >= 0.0 || slope.hi <= 0.0 {
            return direct.c[0].meet(at(x.lo).hull(at(x.hi)));
        }
        let middle = x.lo + (x.hi - x.lo) / 2.0;
        let reach = (x.hi - middle).max(middle - x.lo).next_up();
        direct.c[0].meet(at(middle) + slope * Interval::new(-reach, reach))
    }

    fn coefficients(&self, x: Interval, order: usize) -> [Interval; MAX_ORDER + 1] {
        self.jet(x, order).c
    }
}

/// The canonical text: nested calls.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut texts: Vec<String> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let of = |k: &u32| texts[*k as usize].as_str();
            let two = |name: &str, a: &u32, b: &u32| format!("{name}({},{})", of(a), of(b));
            let text = match node {
                Node::X => "x".into(),
                Node::Pi => "pi".into(),
                Node::Number(n) => n.to_string(),
                Node::Call(call, a) => format!("{}({})", call.name(), of(a)),
                Node::Add(a, b) => two("add", a, b),
                Node::Sub(a, b) => two("sub", a, b),
                Node::Mul(a, b) => two("mul", a, b),
                Node::Div(a, b) => two("div", a, b),
                Node::Pow(a, b) => two("pow", a, b),
                Node::Min(a, b) => two("min", a, b),
                Node::Max(a, b) => two("max", a, b),
            };
            texts.push(text);
        }
        f.write_str(texts.last().map_or("", String::as_str))
    }
}
