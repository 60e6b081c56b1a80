//! The native mode of any kernel: its real-arithmetic semantics (RULES N10) in C++, with floats and logs in double and ints and fixeds to
//! the bit.
//!
//! Records hold what [`hdl::op::semantics::Real`] holds: patterns of ints and fixeds, and doubles. Flags are those of the
//! outputs alone: a term that is no number or leaves its output's format, and a sum that wraps.

use super::selected::{self, Mode, member};
use crate::graph::{Graph, Node, NodeId, NodeKind, Output, PinClass};
use hdl::number::reduce::Selection;
use hdl::op::semantics::{DOUBLE, Real};
use hdl::op::{Inst, Operator, float, int, log, table};
use hdl::{Format, Reduce};

/// The log format that operators hold in a double.
fn wide_log() -> Format {
    Format::log(24, 12).expect("a log of 12 fraction bits and 10 before the point")
}

/// The structs and functions of the mode, as [`super`] says.
pub fn functions(graph: &Graph) -> String {
    let record = |name, class| record(graph, name, class);
    let records =
        [record("Target", PinClass::Ipin), record("Source", PinClass::Jpin), record("Params", PinClass::Param)];
    let record = graph.record();
    records.concat() + &sums(graph, record.selections()) + &pair(graph, record.selections())
}

/// The C type that holds a value of a format.
fn c_type(format: Format) -> &'static str {
    match (format.is_integral(), format.is_signed()) {
        (true, true) => "int64_t",
        (true, false) => "uint64_t",
        (false, _) => "double",
    }
}

/// A record's struct and how it is loaded.
fn record(graph: &Graph, name: &str, class: PinClass) -> String {
    let (mut fields, mut loads) = (String::new(), String::new());
    for (k, (pin, element)) in graph.elements_of(class).into_iter().enumerate() {
        if graph.pins[pin].table {
            continue;
        }
        let (format, port) = (graph.pins[pin].format, graph.port(pin, element));
        fields += &format!("    {} {port};\n", c_type(format));
        let shift = 64 - format.width();
        loads += &match (format.is_integral(), format.is_signed()) {
            (true, true) => format!("    r.{port} = (int64_t)(in[{k}] << {shift}) >> {shift};\n"),
            (true, false) => format!("    r.{port} = in[{k}];\n"),
            (false, _) => format!("    r.{port} = number(in[{k}]);\n"),
        };
    }
    let tables = if class == PinClass::Param { graph.tables_read() } else { Vec::new() };
    for (port, first) in tables {
        fields += &format!("    const uint64_t *{port};\n");
        loads += &format!("    r.{port} = in + {first};\n");
    }
    format!(
        "struct {name} {{\n{fields}}};\nPF void load({name} &r, const uint64_t *in) {{\n    (void)r; (void)in;\n{loads}}}\n\n"
    )
}

/// The accumulator of one output.
struct Gather {
    /// Its member of `Sums`.
    name: String,
    format: Format,
    reduce: Reduce,
}

impl Gather {
    fn of(graph: &Graph, output: &Output) -> Gather {
        let format = graph.pins[output.pin].format;
        Gather { name: member(graph, output), format, reduce: output.reduce }
    }

    fn c_type(&self) -> &'static str {
        if self.reduce == Reduce::Sum { "int128_t" } else { c_type(self.format) }
    }

    /// Before the first pair. The extremes of doubles lie beyond every number.
    fn start(&self) -> String {
        match (self.reduce, self.format.is_integral()) {
            (Reduce::Sum, _) => "0".into(),
            (reduce, true) => integer(self.format, reduce.identity(self.format)),
            (reduce, false) if reduce.identity(self.format) == self.format.min_bits() => {
                "-number(0x7ff0000000000000ULL)".into()
            }
            (_, false) => "number(0x7ff0000000000000ULL)".into(),
        }
    }

    fn add(&self, sum: &str, term: &str) -> String {
        match self.reduce {
            Reduce::Sum => format!("{sum} += {term};"),
            Reduce::Max => format!("{sum} = {sum} < {term} ? {term} : {sum};"),
            Reduce::Min => format!("{sum} = {term} < {sum} ? {term} : {sum};"),
            // A selection takes its members together.
            Reduce::Ranked(_) => String::new(),
        }
    }

    /// The statements that write the pattern of a sum `s` at `out[k]`.
    fn finish(&self, k: usize) -> String {
        let Gather { name, format, reduce } = self;
        if *reduce == Reduce::Sum {
            let (least, greatest) = (format.to_int(format.min_bits()), format.to_int(format.max_bits()));
            let (least, greatest) = (wide_integer(least), wide_integer(greatest));
            let mask = format.mask();
            return format!(
                "    if (s.{name} < {least} || s.{name} > {greatest}) flags |= FLAG_WRAP;\n    out[{k}] = (uint64_t)s.{name} & {mask:#x}ULL;\n"
            );
        }
        if format.is_integral() {
            return format!("    out[{k}] = (uint64_t)s.{name} & {:#x}ULL;\n", format.mask());
        }
        let identity = Real::read(*format, reduce.identity(*format)).bits();
        format!(
            "    out[{k}] = fabs(s.{name}) > {LARGEST} ? {identity:#x}ULL : pattern(s.{name} + 0.0);\n",
            LARGEST = "1.7976931348623157e308"
        )
    }
}

/// An integer that 64 bits need not hold.
fn wide_integer(x: i128) -> String {
    let (high, low) = ((x >> 64) as i64, x as u64);
    format!("(((int128_t){high} << 64) + {low:#x}ULL)").replace("((int128_t)-1 << 64)", "-((int128_t)1 << 64)")
}

/// A constant of an int or fixed.
fn integer(format: Format, bits: u64) -> String {
    match format.is_signed() {
        true => format!("(int64_t){:#x}ULL", format.to_int(bits) as i64),
        false => format!("{bits:#x}ULL"),
    }
}

/// The accumulators and what is done to them but for the pairs.
fn sums(graph: &Graph, selections: &[Selection]) -> String {
    let gathers: Vec<Gather> = graph.outputs.iter().map(|o| Gather::of(graph, o)).collect();
    let is_plain = |g: &&Gather| !matches!(g.reduce, Reduce::Ranked(_));
    let all = |one: &dyn Fn(usize, &Gather) -> String| -> String {
        gathers.iter().filter(is_plain).enumerate().map(|(k, g)| one(k, g)).collect()
    };
    let kind = |output: usize| c_type(gathers[output].format).to_string();
    let empty = |output: usize| gathers[output].start();
    // The value that stands for no pair under an `if`: a number may lie beyond it.
    let none = |output: usize| {
        let Gather { format, reduce, .. } = gathers[output];
        let bits = reduce.identity(format);
        if format.is_integral() { integer(format, bits) } else { format!("{:?}", format.to_f64(bits)) }
    };
    let mode = Mode { kind: &kind, empty: &empty, none: Some(&none) };
    let of_selections = |one: &dyn Fn(usize, &Selection, &Mode) -> String| -> String {
        selections.iter().enumerate().map(|(k, s)| one(k, s, &mode)).collect()
    };
    let fields = all(&|_, g| format!("    {} {};\n", g.c_type(), g.name)) + &of_selections(&selected::fields);
    let starts = all(&|_, g| format!("    s.{} = {};\n", g.name, g.start())) + &of_selections(&selected::start);
    let joins = all(&|_, g| format!("    {}\n", g.add(&format!("s.{}", g.name), &format!("t.{}", g.name))))
        + &of_selections(&|number, selection, _| selected::join(number, selection));
    let ends: String = gathers.iter().enumerate().map(|(k, g)| g.finish(k)).collect();
    let functions = of_selections(&selected::function);
    format!(
        "struct Sums {{\n{fields}    uint32_t flags;\n}};\n{functions}PF void start(Sums &s) {{\n{starts}    s.flags = 0;\n}}\n\
         PF void join(Sums &s, const Sums &t) {{\n{joins}    s.flags |= t.flags;\n}}\n\
         PF uint32_t finish(const Sums &s, uint64_t *out) {{\n    uint32_t flags = s.flags;\n{ends}    return flags;\n}}\n\n"
    )
}

/// One pair: each node once, and then the sums.
fn pair(graph: &Graph, selections: &[Selection]) -> String {
    let mut lines = String::new();
    for (k, node) in graph.nodes.iter().enumerate() {
        let value = match &node.kind {
            // Lookups read it.
            NodeKind::Pin { pin, .. } if graph.pins[*pin].table => continue,
            NodeKind::Pin { pin, element } => {
                let record = match graph.pins[*pin].class {
                    PinClass::Ipin => "t",
                    PinClass::Jpin => "j",
                    _ => "p",
                };
                format!("{record}.{}", graph.port(*pin, *element))
            }
            NodeKind::Const { bits } => constant(graph, NodeId(k as u32), node, *bits),
            NodeKind::Op { op, inst, args } => expression(*op, inst, args),
        };
        lines += &format!("    const {} v{k} = {value};\n", c_type(node.format));
    }
    let is_first = |o: &&Output| !matches!(o.reduce, Reduce::Ranked(place) if place.rank > 0);
    let mut terms = vec![String::new(); graph.outputs.len()];
    for (k, output) in graph.outputs.iter().enumerate().filter(|(_, o)| is_first(o)) {
        let (text, term) = self::term(graph, k, output);
        lines += &text;
        let gather = Gather::of(graph, output);
        if !matches!(output.reduce, Reduce::Ranked(_)) {
            lines += &format!("    {}\n", gather.add(&format!("s.{}", gather.name), &term));
        }
        terms[k] = term;
    }
    for (number, selection) in selections.iter().enumerate() {
        let tuple: Vec<String> = selection.ranks[0].iter().map(|output| terms[*output].clone()).collect();
        lines += &format!("    {}\n", selected::take(number, &tuple));
    }
    let head =
        "PF void pair(const Target &t, const Source &j, const Params &p, Sums &s) {\n    (void)t; (void)j; (void)p;\n";
    format!("{head}{lines}}}\n")
}

fn constant(graph: &Graph, id: NodeId, node: &Node, bits: u64) -> String {
    if node.format.is_integral() {
        return integer(node.format, bits);
    }
    let x = graph.numbers.get(&id).copied().unwrap_or_else(|| node.format.to_f64(bits));
    format!("{x:?}")
}

/// The expression of an operator for the values of its arguments.
fn expression(op: &'static dyn Operator, inst: &Inst, args: &[NodeId]) -> String {
    let names: Vec<String> = args.iter().map(|a| format!("v{}", a.0)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if *op == *float::FSCALE && inst.attrs.n.abs() < 1000 {
        return format!("({} * {})", names[0], power_of_two(inst.attrs.n));
    }
    // A function's text is one of doubles whatever the format, and its table is that of the format.
    // Patterns are those of the format, too.
    if *op == *table::FUNC || *op == *int::BITS || *op == *int::FROMBITS {
        return op.c_expr(inst, &names);
    }
    op.c_expr(&in_formats(inst, DOUBLE), &names)
}

/// 2^n as a literal of C++.
pub(super) fn power_of_two(n: i32) -> String {
    format!("{:?}", 2f64.powi(n))
}

/// The same use with its floats in the format `real`, and logs in one that C holds in a double.
pub(super) fn in_formats(inst: &Inst, real: Format) -> Inst {
    let of = |format: Format| match format {
        Format::Float { .. } => real,
        Format::Log { .. } => wide_log(),
        _ => format,
    };
    let attrs = hdl::op::Attrs { to: inst.attrs.to.map(of), ..inst.attrs.clone() };
    let args = inst.args.iter().copied().map(of).collect();
    Inst { args, attrs, result: of(inst.result), nonneg: 0, bounds: Vec::new(), same: false }
}

/// An output's term, with the statements that make it and raise the flags of its conversion in front.
fn term(graph: &Graph, k: usize, output: &Output) -> (String, String) {
    let gather = Gather::of(graph, output);
    let value = format!("v{}", output.value.0);
    if let NodeKind::Op { op, inst, args } = &graph.node(output.value).kind
        && (**op == *float::TOFIX || **op == *log::FROMLOG && inst.result.is_integral())
    {
        return (converted(gather.format, k, *op, inst, args[0]), format!("o{k}"));
    }
    if gather.format.is_integral() {
        return (String::new(), value);
    }
    let largest = "1.7976931348623157e308";
    let text = format!(
        "    if ({value} != {value}) s.flags |= FLAG_INVALID; else if (fabs({value}) > {largest}) s.flags |= FLAG_OVERFLOW;\n    \
         const double o{k} = {value} != {value} ? 0.0 : fmin(fmax({value}, -{largest}), {largest});\n"
    );
    (text, format!("o{k}"))
}

/// A term that is converted last: what is no number gives 0, and what saturates is flagged.
fn converted(format: Format, k: usize, op: &'static dyn Operator, inst: &Inst, arg: NodeId) -> String {
    let (least, greatest) = (format.to_int(format.min_bits()), format.to_int(format.max_bits()));
    let scale = power_of_two(format.frac().unwrap_or(0) as i32);
    let whole = if inst.truncates() { "trunc" } else { "rint" };
    let clean = format!("c{k}");
    let expression = op.c_expr(&in_formats(inst, DOUBLE), &[&clean]);
    format!(
        "    if (v{a} != v{a}) s.flags |= FLAG_INVALID;\n    const double {clean} = v{a} != v{a} ? 0.0 : v{a};\n    \
         const double w{k} = {whole}({clean} * {scale});\n    \
         if (w{k} < {least}.0 || w{k} >= {above}.0) s.flags |= FLAG_SATURATION;\n    const {kind} o{k} = {expression};\n",
        a = arg.0,
        above = greatest + 1,
        kind = c_type(format),
    )
}
