//! Graphs for tests: built by hand, or at random from every operator of the library.

use hdl::Rounding;

use hdl::op::{Attrs, Inst, OPERATORS, Operator, operator};
use hdl::{Flags, Format, Reduce};
use pg2::diag::Span;
use pg2::graph::{Graph, Node, NodeId, NodeKind, Output, Pin, PinClass};
use testkit::Random;

pub fn format(name: &str) -> Format {
    name.parse().unwrap()
}

/// A pattern of a format: mostly uniform or moderate, sometimes a corner.
pub fn pattern(random: &mut Random, f: Format) -> u64 {
    let bits = random.bits() & f.mask();
    let corners = [0, f.min_bits(), f.max_bits(), 1 & f.mask(), f.mask()];
    let bits = match random.below(5) {
        0 => random.pick(&corners),
        1 if f.is_float() => {
            // Near 1 in size, so that sums cancel and products stay in range.
            let exponent = (f.bias() as u64 + random.below(3)).saturating_sub(1).max(1);
            bits & !(((1 << f.exp()) - 1) << f.mant()) | exponent << f.mant()
        }
        1 if f.is_log() => bits & 7 | 3 << (f.width() - 3),
        1 if !f.is_float() => bits & 7,
        _ => bits,
    };
    canonical(f, bits)
}

/// The nearest pattern that a float may have: no exponent field of all ones, and one zero.
pub fn canonical(f: Format, bits: u64) -> u64 {
    if f.is_log() {
        return hdl::number::exact::check_raw(f, bits & f.mask()).expect("it has no more bits");
    }
    if !f.is_float() {
        return bits & f.mask();
    }
    let ones = (1u64 << f.exp()) - 1;
    match bits >> f.mant() & ones {
        0 => 0,
        e if e == ones => bits ^ 1 << f.mant(),
        _ => bits,
    }
}

/// Builds a graph node by node.
pub struct Build(pub Graph);

impl Build {
    pub fn new(name: &str) -> Build {
        Build(Graph {
            name: name.into(),
            pins: Vec::new(),
            nodes: Vec::new(),
            outputs: Vec::new(),
            demand: Vec::new(),
            bins: Vec::new(),
            gathered: Vec::new(),
            filter: None,
            numbers: Default::default(),
        })
    }

    /// Declares a pin; for an input the node of each element comes back.
    pub fn pin(&mut self, name: &str, class: PinClass, f: &str, len: Option<u32>) -> Vec<NodeId> {
        let pin = Pin { len, ..Pin::scalar(name, class, format(f), Span::default()) };
        let (k, f, n) = (self.0.pins.len(), pin.format, pin.elements());
        self.0.pins.push(pin);
        if class == PinClass::Fout {
            return Vec::new();
        }
        (0..n).map(|element| self.node(NodeKind::Pin { pin: k, element }, f)).collect()
    }

    fn node(&mut self, kind: NodeKind, format: Format) -> NodeId {
        self.0.nodes.push(Node { kind, format, name: String::new(), span: Span::default() });
        NodeId(self.0.nodes.len() as u32 - 1)
    }

    pub fn constant(&mut self, f: Format, bits: u64) -> NodeId {
        self.node(NodeKind::Const { bits }, f)
    }

    pub fn op(&mut self, name: &str, args: &[NodeId]) -> NodeId {
        self.op_with(name, args, Attrs::default())
    }

    pub fn op_with(&mut self, name: &str, args: &[NodeId], attrs: Attrs) -> NodeId {
        self.try_op(operator(name).expect("a known operator"), args, attrs).expect("formats that fit")
    }

    pub fn try_op(&mut self, op: &'static dyn Operator, args: &[NodeId], attrs: Attrs) -> Result<NodeId, String> {
        let formats: Vec<Format> = args.iter().map(|a| self.0.node(*a).format).collect();
        let inst = Inst::new(op, &formats, attrs)?;
        let result = inst.result;
        Ok(self.node(NodeKind::Op { op, inst, args: args.to_vec() }, result))
    }

    pub fn name(&mut self, id: NodeId, name: &str) {
        self.0.nodes[id.0 as usize].name = name.into();
    }

    /// Declares a scalar output that takes `value`.
    pub fn output(&mut self, name: &str, reduce: Reduce, value: NodeId) {
        let f = self.0.node(value).format.to_string();
        self.pin(name, PinClass::Fout, &f, None);
        self.0.outputs.push(Output { pin: self.0.pins.len() - 1, element: 0, reduce, value });
    }

    pub fn done(self) -> Graph {
        self.0.verify().expect("a graph that holds together");
        self.0
    }
}

/// The formats that random graphs are made of: few, so that operators find arguments that fit.
const FORMATS: &[&str] =
    &["int8", "uint8", "int1", "uint1", "fixed12.5", "ufixed9.9", "float9.4", "float18.9", "log9.4", "log12.6"];

/// A random graph of about `size` operators, every operator of the library equally likely. Nodes that
/// nothing reads are left dead now and then.
pub fn random(seed: u64, size: usize) -> Graph {
    let mut r = Random::new(seed);
    let mut b = Build::new(&format!("random{seed}"));
    let classes = [PinClass::Ipin, PinClass::Jpin, PinClass::Param];
    for (k, f) in FORMATS.iter().enumerate() {
        b.pin(&format!("a{k}"), classes[r.below(3)], f, (r.below(2) == 0).then_some(2));
        let f = format(f);
        let bits = pattern(&mut r, f);
        b.constant(f, bits);
    }
    let first = b.0.nodes.len();
    let mut tries = 0;
    while b.0.nodes.len() < first + size && tries < size * 1000 {
        tries += 1;
        let op = OPERATORS[r.below(OPERATORS.len())];
        let n = 1 + r.below(3);
        let args: Vec<NodeId> = (0..n).map(|_| NodeId(r.below(b.0.nodes.len()) as u32)).collect();
        let to = Some(format(FORMATS[r.below(FORMATS.len())]));
        let few = r.below(9) - 4;
        let choices = [
            Attrs::default(),
            Attrs { to, ..Attrs::default() },
            Attrs { n: few, ..Attrs::default() },
            Attrs { d: if few > 0 { 1 } else { -1 }, ..Attrs::default() },
            Attrs { n: few, d: 1 + r.below(2), ..Attrs::default() },
        ];
        let round = if r.below(2) == 0 { Rounding::Nearest } else { Rounding::Truncate };
        let _ = b.try_op(op, &args, Attrs { round, ..choices[r.below(choices.len())].clone() });
    }
    let outputs = 1 + r.below(4);
    for k in 0..outputs {
        let last = b.0.nodes.len();
        let value = NodeId((last - 1 - r.below(last.min(4))) as u32);
        b.output(&format!("y{k}"), Reduce::Max, value);
    }
    b.done()
}

/// A random graph of about `size` operators, many of which choose, and many of which can raise a flag.
pub fn random_choices(seed: u64, size: usize) -> Graph {
    let mut r = Random::new(seed);
    let mut b = Build::new(&format!("choices{seed}"));
    let formats = ["uint1", "int8", "fixed12.5", "float9.4", "float18.9"];
    let classes = [PinClass::Ipin, PinClass::Jpin, PinClass::Param];
    for (k, f) in formats.iter().enumerate() {
        for n in 0..2 {
            b.pin(&format!("a{k}_{n}"), classes[r.below(3)], f, Some(2));
        }
    }
    let names = ["fadd", "fmul", "fdiv", "pow", "fscale", "fcast", "tofix", "tofloat", "xcast", "xdiv", "rem", "icast"];
    let logic = ["lt", "eq", "not", "and", "or", "ne", "le", "isz"];
    let first = b.0.nodes.len();
    while b.0.nodes.len() < first + size {
        let name = match r.below(10) {
            0..4 => "mux",
            4 => logic[r.below(logic.len())],
            _ => names[r.below(names.len())],
        };
        // Recent nodes more often, so that choices nest.
        let n = b.0.nodes.len();
        let pick = |r: &mut Random| {
            let recent = n - 1 - r.below(n.min(14));
            NodeId(if r.below(3) == 0 { r.below(n) } else { recent } as u32)
        };
        let args: Vec<NodeId> = (0..[1, 2, 3][r.below(3)]).map(|_| pick(&mut r)).collect();
        let to = Some(format(formats[r.below(formats.len())]));
        let few = r.below(9) - 4;
        let attrs = [
            Attrs::default(),
            Attrs { to, ..Attrs::default() },
            Attrs { n: few, ..Attrs::default() },
            Attrs { n: few, d: 1 + r.below(2), ..Attrs::default() },
        ];
        let _ = b.try_op(operator(name).expect("a known operator"), &args, attrs[r.below(attrs.len())].clone());
    }
    for k in 0..1 + r.below(3) {
        let last = b.0.nodes.len();
        let value = NodeId((last - 1 - r.below(last.min(4))) as u32);
        b.output(&format!("y{k}"), Reduce::Max, value);
    }
    b.done()
}

/// The values of one pair through each operator's bits: every node, and the flags of nodes whose values are demanded.
pub fn evaluate(g: &Graph, inputs: &dyn Fn(usize, u32) -> u64) -> (Vec<u64>, Flags) {
    let mut values: Vec<u64> = Vec::new();
    for node in &g.nodes {
        values.push(match &node.kind {
            NodeKind::Pin { pin, element } => inputs(*pin, *element),
            NodeKind::Const { bits } => *bits,
            NodeKind::Op { op, inst, args } => {
                let args: Vec<u64> = args.iter().map(|a| values[a.0 as usize]).collect();
                op.bits(inst, &args).0
            }
        });
    }
    // What is asked for, as a lazy evaluation would ask.
    let mut flags = Flags::NONE;
    let mut asked = vec![false; g.nodes.len()];
    let mut todo: Vec<NodeId> = g.outputs.iter().map(|o| o.value).collect();
    while let Some(id) = todo.pop() {
        if std::mem::replace(&mut asked[id.0 as usize], true) {
            continue;
        }
        let NodeKind::Op { op, inst, args } = &g.node(id).kind else { continue };
        let patterns: Vec<u64> = args.iter().map(|a| values[a.0 as usize]).collect();
        flags |= op.bits(inst, &patterns).1;
        if op.name() == "mux" {
            todo.extend([args[0], if patterns[0] == 1 { args[1] } else { args[2] }]);
        } else {
            todo.extend(args);
        }
    }
    (values, flags)
}
