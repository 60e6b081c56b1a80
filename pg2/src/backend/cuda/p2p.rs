//! The P2P stage of an FMM in native mode: a kernel's pair function over numbers alone, and the tiled kernel around it.
//!
//! Coordinates, whatever their format, are floats in a frame of the target's cell, so that f32 keeps its bits where they
//! matter; ints and fixeds between them and the sums are floats too. The function is for pairs at different places: tests for
//! equal coordinates are known to fail, and powers need no test for 0. The kernel leaves closer pairs out and counts them.
//! Sums of products are put in an order that fused multiply-adds take whole.

use super::native::{in_formats, power_of_two};
use crate::graph::{Graph, Node, NodeId, NodeKind, PinClass};
use hdl::op::semantics::DOUBLE;
use hdl::op::{Attrs, Inst, Operator, compare, float, int, table};
use hdl::{Format, Reduce};
use std::collections::HashMap;

const P2P: &str = include_str!("../../../templates/p2p.cu");

/// The code shared by the kernels of P2P, behind the pair function and these macros: THREADS of a block, TILE, UNROLL and SHARED as in a
/// [`Shape`], and UNROLL_GUARDED, the sources whose distances are looked at together.
pub const TILE: &str = include_str!("../../../templates/tile.cuh");

/// The kernel of [`module`].
pub const NAME: &str = "p2p";

/// The division of the work. Measured on an H200; see docs/results/gpu.md.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Threads of a block, and targets of a thread.
    pub threads: u32,
    pub shared: u32,
    /// Sources looked at together, and those of a tile in shared memory.
    pub unroll: u32,
    pub tile: u32,
    /// Blocks that a multiprocessor is to hold, which bounds the registers.
    pub blocks: u32,
}

impl Shape {
    /// For cells of some dozens of targets with as many sources in each of their neighbours.
    pub fn of_cells(real: Real) -> Shape {
        match real {
            Real::F32 => Shape { threads: 128, shared: 1, unroll: 8, tile: 512, blocks: 8 },
            Real::F64 => Shape { threads: 128, shared: 1, unroll: 8, tile: 512, blocks: 5 },
        }
    }

    /// For hundreds of targets that see all sources.
    pub fn of_all_pairs(real: Real) -> Shape {
        match real {
            Real::F32 => Shape { threads: 256, shared: 4, unroll: 16, tile: 1024, blocks: 2 },
            Real::F64 => Shape { threads: 256, shared: 2, unroll: 8, tile: 512, blocks: 2 },
        }
    }

    /// Targets that a block takes at most.
    pub fn targets(&self) -> usize {
        (self.threads * self.shared) as usize
    }
}

/// The arithmetic of the sums.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Real {
    F32,
    F64,
}

impl Real {
    fn format(self) -> Format {
        match self {
            Real::F32 => Format::float(32, 23).expect("single precision"),
            Real::F64 => DOUBLE,
        }
    }

    pub fn c_type(self) -> &'static str {
        if self == Real::F32 { "float" } else { "double" }
    }
}

/// The pins of a P2P kernel by what they are. The gradient may be absent.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    pub target: &'static str,
    pub source: &'static str,
    pub charge: &'static str,
    pub eps2: &'static str,
    pub potential: &'static str,
    pub gradient: &'static str,
}

impl Names {
    /// Those of RULES H8.
    pub const USUAL: Names =
        Names { target: "xi", source: "xj", charge: "mj", eps2: "eps2", potential: "pout", gradient: "gout" };

    /// Those of the shipped kernel `gravity`.
    pub const GRAVITY: Names = Names { potential: "phi", gradient: "acc", ..Names::USUAL };
}

/// Why a kernel has no such function; the general kernel runs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfit(pub String);

/// The translation unit of P2P by a kernel. The pair function is
/// `pair(xi, xj, q, eps2, potential, gradient)`, with arrays of three in registers.
pub fn module(graph: &Graph, names: &Names, real: Real, shape: &Shape) -> Result<String, Unfit> {
    let pair = pair(graph, names, real)?;
    let Shape { threads, shared, unroll, tile, blocks } = shape;
    let shape = format!(
        "#define THREADS {threads}\n#define SHARED {shared}\n#define UNROLL {unroll}\n#define TILE {tile}\n#define BLOCKS {blocks}\n#define UNROLL_GUARDED 1\n"
    );
    Ok(format!("{}\n{shape}{pair}\n{TILE}{P2P}", super::prelude()))
}

/// The pair function alone, with the types `Real` and `Setting` before it: a setting is the square of the softening length.
pub fn pair(graph: &Graph, names: &Names, real: Real) -> Result<String, Unfit> {
    let body = body(graph, names, real, None)?;
    Ok(format!(
        "typedef {} Real;\ntypedef Real Setting;\nPF void pair(const Real *xi, const Real *xj, const Real q, const Setting eps2, \
         Real *potential, Real *gradient) {{\n    (void)eps2; (void)gradient;\n{body}}}\n",
        real.c_type()
    ))
}

/// The same for a kernel of differences of coordinates with any parameters: a setting has their values, in the order of records, and
/// the kernel's `length` of the unit that places are in.
pub fn pair_of_differences(graph: &Graph, names: &Names, real: Real) -> Result<String, Unfit> {
    let own = graph.elements_of(PinClass::Param);
    let body = body(graph, names, real, Some(&own))?;
    Ok(format!(
        "typedef {} Real;\nstruct Setting {{ Real length, own[{}]; }};\n\
         PF void kernel(const Real *xi, const Real *xj, const Real q, const Real *own, Real *potential, Real *gradient) \
         {{\n    (void)own; (void)gradient;\n{body}}}\n\
         PF void pair(const Real *xi, const Real *xj, const Real q, const Setting &setting, Real *potential, Real *gradient) {{\n    \
         const Real origin[3] = {{0, 0, 0}};\n    const Real d[3] = {{(xj[0] - xi[0]) * setting.length, (xj[1] - xi[1]) * \
         setting.length, (xj[2] - xi[2]) * setting.length}};\n    kernel(origin, d, q, setting.own, potential, gradient);\n}}\n",
        real.c_type(),
        own.len().max(1)
    ))
}

/// The statements of a pair function; with places of parameters in records, these are in an array `own`.
fn body(graph: &Graph, names: &Names, real: Real, own: Option<&[(usize, u32)]>) -> Result<String, Unfit> {
    let mut lines = Lines { own, ..Lines::new(graph, names, real) };
    graph.nodes.iter().enumerate().try_for_each(|(k, node)| lines.node(k, node))?;
    let mut body = lines.text.concat();
    for output in &graph.outputs {
        let pin = &graph.pins[output.pin];
        let (sum, elements) = match pin.name.as_str() {
            name if name == names.potential => ("*potential".to_string(), 1),
            name if name == names.gradient => (format!("gradient[{}]", output.element), 3),
            name => return Err(Unfit(format!("`{name}` is neither the potential nor the gradient"))),
        };
        if pin.elements() != elements {
            return Err(Unfit(format!("`{}` has {} elements, not {elements}", pin.name, pin.elements())));
        }
        if output.reduce != Reduce::Sum {
            return Err(Unfit(format!("`{}` is no sum", pin.name)));
        }
        body += &format!("    {sum} += {};\n", lines.number(output.value)?);
    }
    Ok(body)
}

/// The known value of a node.
#[derive(Clone)]
enum Value {
    /// A C expression of a float.
    Number(String),
    /// A C expression of a condition.
    Truth(String),
    /// A condition that is known where the two places differ.
    Known(bool),
}

struct Lines<'a> {
    graph: &'a Graph,
    names: &'a Names,
    real: Real,
    /// The places of parameters in records, where the function is given all of them.
    own: Option<&'a [(usize, u32)]>,
    values: Vec<Value>,
    /// One statement a node, or nothing.
    text: Vec<String>,
    /// Nodes that say whether coordinates are equal, and the axes that they compare: a bit each.
    equal: HashMap<NodeId, u32>,
    /// How often each node is used.
    uses: Vec<u32>,
}

impl<'a> Lines<'a> {
    fn new(graph: &'a Graph, names: &'a Names, real: Real) -> Lines<'a> {
        let mut uses = vec![0; graph.nodes.len()];
        for node in &graph.nodes {
            if let NodeKind::Op { args, .. } = &node.kind {
                args.iter().for_each(|a| uses[a.0 as usize] += 1);
            }
        }
        graph.outputs.iter().for_each(|o| uses[o.value.0 as usize] += 1);
        Lines { graph, names, real, own: None, values: Vec::new(), text: Vec::new(), equal: HashMap::new(), uses }
    }

    fn node(&mut self, k: usize, node: &Node) -> Result<(), Unfit> {
        let id = NodeId(k as u32);
        let value = match &node.kind {
            NodeKind::Pin { pin, element } => Value::Number(self.pin(*pin, *element)?),
            NodeKind::Const { bits } => self.constant(id, node.format, *bits),
            NodeKind::Op { op, inst, args } => {
                self.note_equality(id, *op, args);
                self.op(*op, inst, args)?
            }
        };
        let is_op = matches!(node.kind, NodeKind::Op { .. });
        let (value, line) = match value {
            Value::Number(text) if is_op => {
                (Value::Number(format!("v{k}")), format!("    const Real v{k} = {text};\n"))
            }
            Value::Truth(text) if is_op => (Value::Truth(format!("v{k}")), format!("    const bool v{k} = {text};\n")),
            value => (value, String::new()),
        };
        self.values.push(value);
        self.text.push(line);
        Ok(())
    }

    fn pin(&self, pin: usize, element: u32) -> Result<String, Unfit> {
        let (p, names) = (&self.graph.pins[pin], self.names);
        let named = |name: &str, class| p.name == name && p.class == class;
        if let Some(place) = self.own.and_then(|own| own.iter().position(|of| *of == (pin, element))) {
            return Ok(format!("own[{place}]"));
        }
        Ok(match () {
            _ if named(names.target, PinClass::Ipin) => format!("xi[{element}]"),
            _ if named(names.source, PinClass::Jpin) => format!("xj[{element}]"),
            _ if named(names.charge, PinClass::Jpin) => "q".into(),
            _ if named(names.eps2, PinClass::Param) => "eps2".into(),
            _ => return Err(Unfit(format!("`{}` is no pin of P2P", p.name))),
        })
    }

    fn constant(&self, id: NodeId, format: Format, bits: u64) -> Value {
        if format == hdl::number::format::UINT1 {
            return Value::Known(bits == 1);
        }
        let x = self.graph.numbers.get(&id).copied().unwrap_or_else(|| format.to_f64(bits));
        Value::Number(format!("Real({x:?})"))
    }

    fn op(&self, op: &'static dyn Operator, inst: &Inst, args: &[NodeId]) -> Result<Value, Unfit> {
        if let Some(known) = self.known(op, args) {
            return Ok(known);
        }
        if let Some(same) = self.passes(op, args) {
            return Ok(same);
        }
        let truths = [int::AND, int::OR, int::XOR, int::NOT, compare::ISZ, compare::NZ];
        if truths.iter().any(|t| **t == *op) && args.iter().all(|a| !self.is_number(*a)) {
            return self.truth(op, args);
        }
        if *op == *compare::MUX {
            let [condition, yes, no] = args else { return Err(unfit(op)) };
            let arms = (self.number(*yes)?, self.number(*no)?);
            return Ok(Value::Number(format!("({} ? {} : {})", self.condition(*condition)?, arms.0, arms.1)));
        }
        if *op == *float::FADD {
            return Ok(Value::Number(self.sum(args)?));
        }
        if *op == *float::FSCALE {
            return Ok(Value::Number(format!("({} * Real({}))", self.number(args[0])?, power_of_two(inst.attrs.n))));
        }
        let names: Vec<String> = args.iter().map(|a| self.number(*a)).collect::<Result<_, _>>()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if *op == *table::POW {
            return self.power(inst, names[0]);
        }
        let (op, is_truth) = as_float(op).ok_or_else(|| unfit(op))?;
        let real = self.real.format();
        let inst = Inst {
            args: vec![real; args.len()],
            attrs: Attrs { to: None, ..inst.attrs.clone() },
            result: real,
            ..in_formats(inst, real)
        };
        let text = op.c_expr(&inst, &names);
        Ok(if is_truth { Value::Truth(text) } else { Value::Number(text) })
    }

    fn is_number(&self, id: NodeId) -> bool {
        matches!(self.values[id.0 as usize], Value::Number(_))
    }

    fn number(&self, id: NodeId) -> Result<String, Unfit> {
        match &self.values[id.0 as usize] {
            Value::Number(text) => Ok(text.clone()),
            Value::Truth(text) => Ok(format!("Real({text})")),
            Value::Known(truth) => Ok(format!("Real({})", *truth as u32)),
        }
    }

    fn condition(&self, id: NodeId) -> Result<String, Unfit> {
        match &self.values[id.0 as usize] {
            Value::Truth(text) => Ok(text.clone()),
            Value::Known(truth) => Ok(truth.to_string()),
            Value::Number(_) => Err(Unfit("a condition is no truth".into())),
        }
    }

    /// Logic over conditions.
    fn truth(&self, op: &'static dyn Operator, args: &[NodeId]) -> Result<Value, Unfit> {
        let names: Vec<String> = args.iter().map(|a| self.condition(*a)).collect::<Result<_, _>>()?;
        Ok(Value::Truth(match &names[..] {
            [a] if *op == *compare::NZ => a.clone(),
            [a] => format!("!{a}"),
            [a, b] if *op == *int::AND => format!("({a} & {b})"),
            [a, b] if *op == *int::OR => format!("({a} | {b})"),
            [a, b] => format!("({a} != {b})"),
            _ => return Err(unfit(op)),
        }))
    }

    /// Remembers a node that compares coordinates of target and source.
    fn note_equality(&mut self, id: NodeId, op: &'static dyn Operator, args: &[NodeId]) {
        let axes = match args {
            [a] if *op == *compare::ISZ => self.difference(*a),
            [a] if *op == *compare::NZ => self.equal.get(a).copied(),
            [a, b] if *op == *compare::EQ && self.is_zero(*b) => self.difference(*a),
            [a, b] if *op == *compare::EQ && self.is_zero(*a) => self.difference(*b),
            [a, b] if *op == *compare::EQ => self.axis(*a, *b),
            [a, b] if *op == *int::AND => self.equal.get(a).zip(self.equal.get(b)).map(|(a, b)| a | b),
            _ => None,
        };
        if let Some(axes) = axes {
            self.equal.insert(id, axes);
        }
    }

    fn is_zero(&self, id: NodeId) -> bool {
        matches!(self.graph.node(id).kind, NodeKind::Const { bits: 0 })
    }

    /// The axis of a difference of coordinates, whatever it was converted to.
    fn difference(&self, id: NodeId) -> Option<u32> {
        match &self.graph.node(id).kind {
            NodeKind::Op { op, args, .. } if args.len() == 1 && is_conversion(*op) => self.difference(args[0]),
            NodeKind::Op { op, args, .. } if **op == *int::SUB || **op == *float::FSUB => self.axis(args[0], args[1]),
            _ => None,
        }
    }

    /// The axis along which one of the two is the target's coordinate and the other the source's.
    fn axis(&self, a: NodeId, b: NodeId) -> Option<u32> {
        let place = |id: NodeId| match &self.values[id.0 as usize] {
            Value::Number(text) => Some((text.get(..2)?.to_string(), text.get(2..)?.to_string())),
            _ => None,
        };
        let ((of_a, axis), (of_b, other)) = (place(a)?, place(b)?);
        let is_pair = axis == other && of_a != of_b && [&of_a, &of_b].iter().all(|p| *p == "xi" || *p == "xj");
        let axis: u32 = axis.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
        is_pair.then_some(1 << axis)
    }

    /// A result that follows from what is known where the places differ.
    fn known(&self, op: &'static dyn Operator, args: &[NodeId]) -> Option<Value> {
        let truth = |id: &NodeId| match self.values[id.0 as usize] {
            Value::Known(truth) => Some(truth),
            _ => None,
        };
        let value = |id: &NodeId| Some(self.values[id.0 as usize].clone());
        match args {
            [a, b] if *op == *int::AND => match (truth(a), truth(b), self.equal.get(a), self.equal.get(b)) {
                (_, _, Some(x), Some(y)) if x | y == 7 => Some(Value::Known(false)),
                (Some(false), ..) | (_, Some(false), ..) => Some(Value::Known(false)),
                (Some(true), ..) if !self.is_number(*b) => value(b),
                (_, Some(true), ..) if !self.is_number(*a) => value(a),
                _ => None,
            },
            [a, b] if *op == *int::OR => match (truth(a), truth(b)) {
                (Some(true), _) | (_, Some(true)) => Some(Value::Known(true)),
                (Some(false), _) if !self.is_number(*b) => value(b),
                (_, Some(false)) if !self.is_number(*a) => value(a),
                _ => None,
            },
            [a] if *op == *int::NOT || *op == *compare::ISZ => truth(a).map(|t| Value::Known(!t)),
            [a] if *op == *compare::NZ => truth(a).map(Value::Known),
            [condition, yes, no] if *op == *compare::MUX => value(if truth(condition)? { yes } else { no }),
            _ => None,
        }
    }

    /// The argument itself, where the operator changes only its format.
    fn passes(&self, op: &'static dyn Operator, args: &[NodeId]) -> Option<Value> {
        is_conversion(op).then(|| self.values[args[0].0 as usize].clone())
    }

    /// A sum of any number of terms, products last, as fused multiply-adds take them.
    fn sum(&self, args: &[NodeId]) -> Result<String, Unfit> {
        let mut terms = Vec::new();
        args.iter().for_each(|a| self.terms(*a, &mut terms));
        let is_product = |id: &NodeId| match &self.graph.node(*id).kind {
            NodeKind::Op { op, .. } => **op == *float::FMUL && self.uses[id.0 as usize] == 1,
            _ => false,
        };
        let (products, others): (Vec<NodeId>, Vec<NodeId>) = terms.into_iter().partition(is_product);
        let names: Vec<String> = others.iter().chain(&products).map(|a| self.number(*a)).collect::<Result<_, _>>()?;
        let sum = names.into_iter().reduce(|sum, term| format!("({sum} + {term})"));
        Ok(sum.expect("a sum has terms"))
    }

    fn terms(&self, id: NodeId, terms: &mut Vec<NodeId>) {
        match &self.graph.node(id).kind {
            NodeKind::Op { op, args, .. } if **op == *float::FADD && self.uses[id.0 as usize] == 1 => {
                args.iter().for_each(|a| self.terms(*a, terms));
            }
            _ => terms.push(id),
        }
    }

    /// A power of a number that is not 0, and of which a root is taken only if it is positive.
    fn power(&self, inst: &Inst, x: &str) -> Result<Value, Unfit> {
        let (n, d) = (inst.attrs.n, inst.attrs.d);
        let (n, d) = if d == 2 && n % 2 == 0 { (n / 2, 1) } else { (n, d) };
        let power = |base: &str| vec![base; n.unsigned_abs() as usize].join(" * ");
        Ok(Value::Number(match (n, d) {
            (0, _) => "Real(1)".into(),
            (n, 1) if n > 0 => format!("({})", power(x)),
            (_, 1) => format!("(Real(1) / ({}))", power(x)),
            (n, _) if n > 0 => format!("({})", power(&format!("sqrt({x})"))),
            _ => format!("({})", power(&format!("rsqrt({x})"))),
        }))
    }
}

fn unfit(op: &dyn Operator) -> Unfit {
    Unfit(format!("`{}` has no meaning on numbers alone", op.name()))
}

/// Whether an operator changes nothing but the format.
fn is_conversion(op: &'static dyn Operator) -> bool {
    [int::ICAST, int::XCAST, float::FCAST, float::TOFIX, float::TOFLOAT].iter().any(|c| **c == *op)
}

/// The equivalent operator on floats, and whether its result is a truth value.
fn as_float(op: &'static dyn Operator) -> Option<(&'static dyn Operator, bool)> {
    let same = [float::FSUB, float::FMUL, float::FDIV, float::FNEG, float::FABS, float::SUMSQ];
    let both = [compare::MIN, compare::MAX, table::EXP, table::LOG, table::SIN, table::COS];
    let truths = [compare::LT, compare::LE, compare::EQ, compare::NE];
    let integers = [
        (int::ADD, float::FADD),
        (int::SUB, float::FSUB),
        (int::NEG, float::FNEG),
        (int::ABS, float::FABS),
        (int::XMUL, float::FMUL),
        (int::XDIV, float::FDIV),
    ];
    if same.iter().chain(&both).any(|o| **o == *op) {
        return Some((op, false));
    }
    if truths.iter().any(|o| **o == *op) {
        return Some((op, true));
    }
    integers.iter().find(|(from, _)| **from == *op).map(|(_, to)| (*to, false))
}
