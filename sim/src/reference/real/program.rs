//! A graph's real-arithmetic semantics as a program of instructions over lanes: the operator of each, and the value of each register.
//!
//! Registers hold floats and logs as f64, ints and fixeds as their integers in 64 bits, extended by their sign. Values that no
//! source changes and constants have registers of their own; others share them when they are no longer needed.

use hdl::op::semantics::Real;
use hdl::op::{Inst, MOST_ARGS, Operator, compare, float, int, log, table};
use hdl::{Format, Rounding};
use pg2::graph::{Graph, NodeKind, PinClass};
use std::collections::HashMap;

/// A program for some nodes of a graph.
pub struct Program {
    pub registers: usize,
    /// Registers of pins that no source changes: class, element, format.
    pub pins: Vec<(usize, PinClass, usize, Format)>,
    pub constants: Vec<(usize, u64)>,
    /// Instructions for a target, and for each block of its sources.
    pub once: Vec<Step>,
    pub steps: Vec<Step>,
    /// The formats of the sources' elements; they are read where they are, as registers behind the others.
    pub elements: Vec<Format>,
    /// Where the results are, and their formats.
    pub results: Vec<(usize, Format)>,
}

/// One instruction.
pub struct Step {
    pub what: What,
    pub to: usize,
    args: [usize; MOST_ARGS],
    count: usize,
}

impl Step {
    /// The registers of its arguments.
    #[inline(always)]
    pub fn args(&self) -> &[usize] {
        &self.args[..self.count]
    }
}

/// The operation of an instruction. Lanes for which it does not hold, since a flag may be raised, are marked and computed apart.
#[derive(Clone)]
pub enum What {
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Abs,
    Min,
    Max,
    /// The sum of squares of so many arguments.
    Squares(usize),
    /// A product with a power of two.
    Scale(f64),
    /// x^n, and of the square root of x.
    Power(i32),
    PowerOfRoot(i32),
    Exp,
    /// Int or fixed to float: the product with a power of two.
    ToFloat(f64),
    ToFloatUnsigned(f64),
    /// Float to int or fixed: the same, and the outermost values.
    Round(f64, [f64; 2]),
    Truncate(f64, [f64; 2]),
    /// The float itself, if it is a number.
    Finite,
    Less,
    LessOrEqual,
    Equal,
    Unequal,
    Select,
    IntAdd(Wrap),
    IntSub(Wrap),
    IntMul(Wrap),
    IntNeg(Wrap),
    IntAbs(Wrap),
    Shl(u32, Wrap),
    /// By the sign, and without.
    Shr(u32),
    ShrUnsigned(u32),
    /// The low bits of another format.
    Cut(Wrap),
    IntLess,
    IntLessUnsigned,
    IntLessOrEqual,
    IntLessOrEqualUnsigned,
    IntEqual,
    IntUnequal,
    And,
    Or,
    Xor,
    Not(Wrap),
    Nonzero,
    Zero,
    /// Any other operator, by its own semantics lane by lane.
    Other(&'static dyn Operator, Inst),
}

/// How an integer is brought into a format: cut to its width, and extended again.
#[derive(Clone, Copy)]
pub struct Wrap {
    pub shift: u32,
    pub signed: bool,
}

impl Wrap {
    fn to(format: Format) -> Wrap {
        Wrap { shift: 64 - format.width(), signed: format.is_signed() }
    }

    #[inline(always)]
    pub fn of(self, x: u64) -> u64 {
        if self.signed { ((x << self.shift) as i64 >> self.shift) as u64 } else { x << self.shift >> self.shift }
    }
}

/// The content of a register for a pattern of [`hdl::op::semantics::held`].
pub fn held(format: Format, bits: u64) -> u64 {
    if format.is_integral() { Wrap::to(format).of(bits) } else { bits }
}

/// The same for many patterns.
pub fn hold(format: Format, patterns: &[Real], to: &mut [u64]) {
    let all = to.iter_mut().zip(patterns);
    match format.is_integral() {
        true => {
            let wrap = Wrap::to(format);
            all.for_each(|(to, x)| *to = wrap.of(x.bits()));
        }
        false => all.for_each(|(to, x)| *to = x.bits()),
    }
}

/// The pattern for what a register holds.
pub fn pattern(format: Format, held: u64) -> Real {
    Real::of_bits(if format.is_integral() { held & format.mask() } else { held })
}

impl Program {
    /// For the values of some nodes. `still` says which nodes no source changes.
    pub fn new(graph: &Graph, still: &[bool], wanted: &[usize]) -> Program {
        Builder::new(graph, still, wanted).program(wanted)
    }
}

/// A program being made.
struct Builder<'a> {
    graph: &'a Graph,
    still: &'a [bool],
    /// For each node how often it is still to be read; 0 for those that nothing needs.
    reads: Vec<usize>,
    register: Vec<usize>,
    /// The node whose value it is: another one's for a cast that needs no instruction.
    origin: Vec<usize>,
    free: Vec<usize>,
    program: Program,
}

/// The registers of elements of sources, until the others are counted.
const ELEMENT: usize = usize::MAX / 2;

impl<'a> Builder<'a> {
    fn new(graph: &'a Graph, still: &'a [bool], wanted: &[usize]) -> Builder<'a> {
        let mut reads = vec![0; graph.nodes.len()];
        wanted.iter().for_each(|k| reads[*k] += 1);
        for (k, node) in graph.nodes.iter().enumerate().rev() {
            if let NodeKind::Op { args, .. } = &node.kind
                && reads[k] > 0
            {
                args.iter().for_each(|a| reads[a.0 as usize] += 1);
            }
        }
        let elements = graph.elements_of(PinClass::Jpin).iter().map(|(pin, _)| graph.pins[*pin].format).collect();
        let program = Program {
            registers: 0,
            pins: Vec::new(),
            constants: Vec::new(),
            once: Vec::new(),
            steps: Vec::new(),
            elements,
            results: Vec::new(),
        };
        let (register, origin) = (vec![0; graph.nodes.len()], (0..graph.nodes.len()).collect());
        Builder { graph, still, reads, register, origin, free: Vec::new(), program }
    }

    fn program(mut self, wanted: &[usize]) -> Program {
        let mut places = HashMap::new();
        for class in [PinClass::Ipin, PinClass::Jpin, PinClass::Param] {
            places.extend(self.graph.elements_of(class).into_iter().enumerate().map(|(k, e)| (e, (class, k))));
        }
        for k in 0..self.graph.nodes.len() {
            if self.reads[k] == 0 {
                continue;
            }
            let node = &self.graph.nodes[k];
            self.register[k] = match &node.kind {
                NodeKind::Pin { pin, element } => match places[&(*pin, *element)] {
                    (PinClass::Jpin, at) => ELEMENT + at,
                    (class, at) => {
                        let register = self.new_register();
                        self.program.pins.push((register, class, at, node.format));
                        register
                    }
                },
                NodeKind::Const { bits } => {
                    let number = self.graph.numbers.get(&pg2::graph::NodeId(k as u32));
                    let value = number.map_or_else(|| Real::read(node.format, *bits), |x| Real::number(*x).0);
                    let register = self.new_register();
                    self.program.constants.push((register, held(node.format, value.bits())));
                    register
                }
                NodeKind::Op { op, inst, args } => {
                    let args: Vec<usize> = args.iter().map(|a| a.0 as usize).collect();
                    self.operator(k, *op, inst, &args)
                }
            };
        }
        self.program.results = wanted.iter().map(|k| self.result(*k)).collect();
        let registers = self.program.registers;
        let place = |k: &mut usize| *k = if *k >= ELEMENT { registers + *k - ELEMENT } else { *k };
        let steps = self.program.once.iter_mut().chain(&mut self.program.steps);
        steps.for_each(|step| step.args.iter_mut().for_each(place));
        self.program.results.iter_mut().for_each(|(register, _)| place(register));
        self.program
    }

    /// The register that holds an operator's result; casts between floats need no instruction.
    fn operator(&mut self, k: usize, op: &'static dyn Operator, inst: &Inst, args: &[usize]) -> usize {
        let is_free = |f: &Format| !f.is_integral();
        let casts = [float::FCAST, log::LCAST, log::TOLOG, log::FROMLOG];
        if casts.contains(&op) && args.len() == 1 && is_free(&inst.args[0]) && is_free(&inst.result) {
            // Who reads the cast reads the value.
            let origin = self.origin[args[0]];
            self.origin[k] = origin;
            self.reads[origin] += self.reads[k] - 1;
            return self.register[origin];
        }
        let mut registers = [0; MOST_ARGS];
        registers.iter_mut().zip(args).for_each(|(r, a)| *r = self.register[*a]);
        // The result's register is no argument's.
        let free = if self.still[k] { None } else { self.free.pop() };
        let to = free.unwrap_or_else(|| self.new_register());
        args.iter().for_each(|a| self.read(*a));
        let step = Step { what: what(op, inst), to, args: registers, count: args.len() };
        if self.still[k] {
            self.program.once.push(step)
        } else {
            self.program.steps.push(step)
        }
        to
    }

    /// Where the value of a wanted node is, which is a number if it is a float.
    fn result(&mut self, k: usize) -> (usize, Format) {
        let (format, register) = (self.graph.nodes[k].format, self.register[k]);
        if format.is_integral() {
            return (register, format);
        }
        let to = self.new_register();
        let step = Step { what: What::Finite, to, args: [register, 0, 0, 0], count: 1 };
        if self.still[k] {
            self.program.once.push(step)
        } else {
            self.program.steps.push(step)
        }
        (to, format)
    }

    fn new_register(&mut self) -> usize {
        self.program.registers += 1;
        self.program.registers - 1
    }

    /// Notes that one who needs a value has it.
    fn read(&mut self, node: usize) {
        let node = self.origin[node];
        self.reads[node] -= 1;
        let register = self.register[node];
        let is_shared = !self.still[node] && register < ELEMENT;
        if self.reads[node] == 0 && is_shared {
            self.free.push(register);
        }
    }
}

/// The instruction of an operator.
fn what(op: &'static dyn Operator, inst: &Inst) -> What {
    let is_integral = inst.args.iter().all(|f| f.is_integral());
    let found = match (is_integral, inst.result.is_integral()) {
        _ if op == compare::MUX => Some(What::Select),
        (true, true) => of_ints(op, inst),
        (false, false) => of_floats(op, inst),
        _ => between(op, inst),
    };
    found.unwrap_or_else(|| What::Other(op, inst.clone()))
}

fn of_floats(op: &'static dyn Operator, inst: &Inst) -> Option<What> {
    let (n, d) = (inst.attrs.n, inst.attrs.d);
    Some(match op {
        _ if [float::FADD, log::LADD].contains(&op) => What::Add,
        _ if [float::FSUB, log::LSUB].contains(&op) => What::Sub,
        _ if [float::FMUL, log::LMUL].contains(&op) => What::Mul,
        _ if [float::FDIV, log::LDIV].contains(&op) => What::Div,
        _ if [float::FNEG, log::LNEG].contains(&op) => What::Neg,
        _ if [float::FABS, log::LABS].contains(&op) => What::Abs,
        _ if [float::FSCALE, log::LSCALE].contains(&op) && n.abs() < 1000 => What::Scale(2f64.powi(n)),
        _ if op == float::SUMSQ => What::Squares(inst.args.len()),
        // An even power of a root is a power of its argument.
        _ if [table::POW, log::LPOW].contains(&op) && n != 0 => match d {
            2 if n % 2 == 0 => What::Power(n / 2),
            2 => What::PowerOfRoot(n),
            _ => What::Power(n),
        },
        _ if op == table::EXP => What::Exp,
        _ if op == compare::MIN => What::Min,
        _ if op == compare::MAX => What::Max,
        _ => return None,
    })
}

/// Operators that take floats to ints or back.
fn between(op: &'static dyn Operator, inst: &Inst) -> Option<What> {
    let power = |frac: Option<u32>| 2f64.powi(frac.unwrap_or(0) as i32);
    if op == float::TOFLOAT {
        let factor = 1.0 / power(inst.args[0].frac());
        let is_long = !inst.args[0].is_signed() && inst.args[0].width() == 64;
        return Some(if is_long { What::ToFloatUnsigned(factor) } else { What::ToFloat(factor) });
    }
    if op == float::TOFIX {
        let (to, factor) = (inst.result, power(inst.result.frac()));
        // What is not below 2^63 is computed apart.
        let ends = [to.min_bits(), to.max_bits()].map(|bits| to.to_int(bits) as f64);
        return Some(match inst.attrs.round {
            Rounding::Truncate => What::Truncate(factor, ends),
            Rounding::Nearest => What::Round(factor, ends),
        });
    }
    let is_between_floats = inst.args.iter().all(|f| !f.is_integral());
    Some(match op {
        _ if !is_between_floats => return None,
        _ if op == compare::LT => What::Less,
        _ if op == compare::LE => What::LessOrEqual,
        _ if op == compare::EQ => What::Equal,
        _ if op == compare::NE => What::Unequal,
        _ => return None,
    })
}

fn of_ints(op: &'static dyn Operator, inst: &Inst) -> Option<What> {
    let (wrap, is_signed) = (Wrap::to(inst.result), inst.args[0].is_signed());
    let n = inst.attrs.n as u32;
    Some(match op {
        _ if op == int::ADD => What::IntAdd(wrap),
        _ if op == int::SUB => What::IntSub(wrap),
        _ if op == int::MUL => What::IntMul(wrap),
        _ if op == int::NEG => What::IntNeg(wrap),
        _ if op == int::ABS && is_signed => What::IntAbs(wrap),
        _ if op == int::AND => What::And,
        _ if op == int::OR => What::Or,
        _ if op == int::XOR => What::Xor,
        _ if op == int::NOT => What::Not(wrap),
        _ if op == int::SHL => What::Shl(n, wrap),
        _ if op == int::SHR && is_signed => What::Shr(n),
        _ if op == int::SHR => What::ShrUnsigned(n),
        _ if op == int::ICAST => What::Cut(wrap),
        _ if op == compare::LT && is_signed => What::IntLess,
        _ if op == compare::LT => What::IntLessUnsigned,
        _ if op == compare::LE && is_signed => What::IntLessOrEqual,
        _ if op == compare::LE => What::IntLessOrEqualUnsigned,
        _ if op == compare::EQ => What::IntEqual,
        _ if op == compare::NE => What::IntUnequal,
        _ if op == compare::NZ => What::Nonzero,
        _ if op == compare::ISZ => What::Zero,
        _ => return None,
    })
}
