//! The exact mode of any kernel: bits and flags of the pipeline in C++ (`c_bits` of each operator).
//!
//! Records hold patterns of the pins' formats. Values that depend on one record alone are computed where the record is loaded, once
//! for all its pairs; so are the flags of that. `Sums` holds a sum of up to 32 bits in 64 and a wider one in 96, so that it is
//! exact over 2^31 pairs; of the greatest or least value it holds an integer that orders patterns as their values.

use super::selected::{self, Mode, member};
use crate::graph::{Demand, Graph, NodeId, NodeKind, Output, PinClass};
use crate::middle::simplify::simplify;
use hdl::number::reduce::{Selection, order_key};
use hdl::op::ctext::{self, CText, CType, CVar, ints};
use hdl::{Flags, Format, Reduce};

/// The structs and functions of the mode, as [`super`] says.
pub fn functions(graph: &Graph) -> String {
    let graph = simplify(graph);
    let mut maker = Maker::new(&graph);
    let records = maker.record("Params", PinClass::Param)
        + &maker.record("Target", PinClass::Ipin)
        + &maker.record("Source", PinClass::Jpin);
    let record = graph.record();
    let selections = record.selections();
    let body = sums_struct(&graph, selections) + &maker.pair(selections) + &sums(&graph, selections);
    let tables: String = maker.c.tables.iter().map(|t| t.definition()).collect();
    format!("{}{tables}\n{records}{body}", ctext::PRELUDE)
}

/// Where a node is computed: with a record of that class, or with each pair.
type Place = Option<PinClass>;

/// The text as it grows.
struct Maker<'a> {
    graph: &'a Graph,
    c: CText,
    /// Of each node.
    places: Vec<Place>,
    /// Whether something that is computed elsewhere reads a node.
    exported: Vec<bool>,
    /// The value of each node as the function that is being written has it.
    values: Vec<Option<CVar>>,
    /// Flags that a pair raises: those of its nodes, and those of nodes of records that count under a condition.
    raised: Vec<(Flags, String)>,
    /// The records that have flags of their own.
    flagged: Vec<&'static str>,
}

impl<'a> Maker<'a> {
    fn new(graph: &'a Graph) -> Maker<'a> {
        let places = places(graph);
        let mut exported = vec![false; graph.nodes.len()];
        for (k, node) in graph.nodes.iter().enumerate() {
            if let NodeKind::Op { args, .. } = &node.kind {
                args.iter().filter(|a| places[a.0 as usize] != places[k]).for_each(|a| exported[a.0 as usize] = true);
            }
        }
        graph.outputs.iter().for_each(|o| exported[o.value.0 as usize] = true);
        for demand in &graph.demand {
            if let Demand::When(condition) = demand {
                exported[condition.0 as usize] = true;
            }
        }
        let values = vec![None; graph.nodes.len()];
        Maker { graph, c: CText::default(), places, exported, values, raised: Vec::new(), flagged: Vec::new() }
    }

    /// The struct of a record, and its `load`: the patterns, and what depends on them alone.
    fn record(&mut self, name: &'static str, class: PinClass) -> String {
        let graph = self.graph;
        let letter = letter(class);
        let elements = graph.elements_of(class);
        let (mut fields, mut stores) = (Vec::new(), Vec::new());
        let mut flags = Vec::new();
        for k in self.at(Some(class)) {
            let (value, raised) = match &graph.nodes[k].kind {
                NodeKind::Pin { pin, element } => {
                    let at = elements.iter().position(|e| *e == (*pin, *element)).expect("an element of its class");
                    (self.loaded(graph.nodes[k].format, at), Vec::new())
                }
                _ => self.node(k),
            };
            match graph.demand(NodeId(k as u32)) {
                Demand::Always => flags.extend(raised.iter().map(|(f, when)| format!("({when} ? {}u : 0u)", f.0))),
                Demand::Never => {}
                Demand::When(condition) => {
                    for (n, (f, when)) in raised.into_iter().enumerate() {
                        let field = format!("r{k}_{n}_{}", f.0);
                        stores.push(format!("r.{field} = {when};"));
                        let counts = format!("{letter}.{field} & {}", self.holds(condition));
                        fields.push(("uint32_t".to_string(), field));
                        self.raised.push((f, counts));
                    }
                }
            }
            if self.exported[k] {
                fields.push((value.kind.to_string(), format!("v{k}")));
                stores.push(format!("r.v{k} = {value};"));
            }
            self.values[k] = Some(value);
        }
        if !flags.is_empty() {
            fields.push(("uint32_t".into(), "flags".into()));
            stores.push(format!("r.flags = {};", flags.join(" | ")));
            self.flagged.push(letter);
        }
        // Other functions have it as a member.
        for k in self.at(Some(class)) {
            let value = self.values[k].take().expect("it was computed above");
            self.values[k] = Some(CVar::new(format!("{letter}.v{k}"), value.kind));
        }
        if class == PinClass::Param {
            for (port, first) in graph.tables_read() {
                stores.push(format!("r.{port} = in + {first};"));
                fields.push(("const uint64_t *".into(), port));
            }
        }
        // Wide members first: nothing is lost between them.
        fields.sort_by_key(|(kind, _)| !kind.contains("64"));
        let fields: String = fields.iter().map(|(kind, field)| format!("    {kind} {field};\n")).collect();
        let body: String = self.c.lines.drain(..).chain(stores).map(|line| format!("    {line}\n")).collect();
        format!(
            "struct {name} {{\n{fields}}};\nPF void load({name} &r, const uint64_t *in) {{\n    (void)r; (void)in;\n{body}}}\n\n"
        )
    }

    /// The nodes that are computed there, in order.
    fn at(&self, place: Place) -> Vec<usize> {
        (0..self.places.len()).filter(|k| self.places[*k] == place).collect()
    }

    /// An element of a record: 0 of a float or log has one pattern alone (RULES N1).
    fn loaded(&mut self, format: Format, at: usize) -> CVar {
        let x = self.c.set(CType::of(format), format!("in[{at}]"));
        let (mark, kind) = match format {
            Format::Float { mant, .. } => (format.mask() >> 1 & !((1u64 << mant) - 1), x.kind),
            Format::Log { width, .. } => (1 << (width - 2), x.kind),
            _ => return x,
        };
        self.c.set(kind, format!("({x} & {}) != 0 ? {x} : 0", kind.number(mark as i128)))
    }

    /// The statements of an operator, and the flags that it raises.
    fn node(&mut self, k: usize) -> (CVar, Vec<(Flags, String)>) {
        let node = &self.graph.nodes[k];
        match &node.kind {
            NodeKind::Op { op, inst, args } => {
                let args: Vec<CVar> = args.iter().map(|a| self.value(*a)).collect();
                ctext::of_use(*op, inst, &mut self.c, &args)
            }
            NodeKind::Const { bits } => (CVar::constant(node.format, *bits), Vec::new()),
            NodeKind::Pin { .. } => unreachable!("a pin is in a record"),
        }
    }

    fn value(&self, id: NodeId) -> CVar {
        let node = self.graph.node(id);
        match &node.kind {
            NodeKind::Const { bits } => CVar::constant(node.format, *bits),
            _ => self.values[id.0 as usize].clone().expect("arguments stand before their users"),
        }
    }

    /// A test of a condition, which may be computed later than what it is for: then it is named by its node.
    fn holds(&self, condition: NodeId) -> String {
        match self.places[condition.0 as usize] {
            None if !matches!(self.graph.node(condition).kind, NodeKind::Const { .. }) => format!("n{}", condition.0),
            Some(class) => format!("({}.v{} != 0)", letter(class), condition.0),
            None => format!("({} != 0)", self.value(condition)),
        }
    }

    /// The function `pair`.
    fn pair(&mut self, selections: &[Selection]) -> String {
        let graph = self.graph;
        for k in self.at(None) {
            let (value, raised) = self.node(k);
            self.values[k] = Some(value);
            let counts = match graph.demand(NodeId(k as u32)) {
                Demand::Always => String::new(),
                Demand::Never => continue,
                Demand::When(condition) => format!(" & {}", self.holds(condition)),
            };
            self.raised.extend(raised.into_iter().map(|(f, when)| (f, format!("({when}){counts}"))));
        }
        for demand in &graph.demand {
            let Demand::When(condition) = demand else { continue };
            let line = format!("const bool n{} = {} != 0;", condition.0, self.value(*condition));
            let in_pair = self.places[condition.0 as usize].is_none();
            if in_pair
                && !matches!(graph.node(*condition).kind, NodeKind::Const { .. })
                && !self.c.lines.contains(&line)
            {
                self.c.lines.push(line);
            }
        }
        for output in graph.outputs.iter().filter(|o| !matches!(o.reduce, Reduce::Ranked(_))) {
            let term = self.value(output.value);
            gather(&mut self.c, graph, output, &term);
        }
        for (number, selection) in selections.iter().enumerate() {
            let members = selection.ranks[0].iter().zip(&selection.members);
            let keys: Vec<String> = members
                .map(|(output, format)| {
                    let value = self.value(graph.outputs[*output].value);
                    ints::order_key(&mut self.c, *format, &value).to_string()
                })
                .collect();
            self.c.lines.push(selected::take(number, &keys));
        }
        // One test a flag: comparisons take the outcome of the one before for nothing.
        for flag in Flags(!0).iter() {
            let tests: Vec<&str> =
                self.raised.iter().filter(|(f, _)| f.contains(flag)).map(|(_, test)| test.as_str()).collect();
            if !tests.is_empty() {
                let tests: Vec<String> = tests.iter().map(|t| format!("({t})")).collect();
                self.c.lines.push(format!("s.flags |= {} ? {}u : 0u;", paren(&tests.join(" | ")), flag.0));
            }
        }
        for letter in &self.flagged {
            self.c.lines.push(format!("s.flags |= {letter}.flags;"));
        }
        let body: String = self.c.lines.drain(..).map(|line| format!("    {line}\n")).collect();
        let head = "PF void pair(const Target &t, const Source &j, const Params &p, Sums &s)";
        format!("{head} {{\n    (void)t; (void)j; (void)p;\n{body}}}\n\n")
    }
}

fn paren(text: &str) -> String {
    format!("({text})")
}

/// The argument of `pair` that a record is.
fn letter(class: PinClass) -> &'static str {
    match class {
        PinClass::Ipin => "t",
        PinClass::Jpin => "j",
        _ => "p",
    }
}

/// Where each node is computed.
fn places(graph: &Graph) -> Vec<Place> {
    // Constants go anywhere.
    let mut places: Vec<Place> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        places.push(match &node.kind {
            NodeKind::Pin { pin, .. } => Some(graph.pins[*pin].class),
            NodeKind::Const { .. } => None,
            // The memory of a table is at hand in the pair alone.
            NodeKind::Op { inst, .. } if inst.is_open() => None,
            NodeKind::Op { args, .. } => {
                let read = |a: &&NodeId| !matches!(graph.node(**a).kind, NodeKind::Const { .. });
                let mut of = args.iter().filter(read).map(|a| places[a.0 as usize]);
                let first = of.next().flatten();
                if of.all(|p| p == first) { first } else { None }
            }
        });
    }
    places
}

/// Calls `with` with what the mode knows of selections.
fn with_mode<T>(graph: &Graph, with: impl FnOnce(&Mode) -> T) -> T {
    let format = |output: usize| graph.pins[graph.outputs[output].pin].format;
    let kind = |output: usize| key_type(format(output)).to_string();
    let empty = |output: usize| {
        let (format, reduce) = (format(output), graph.outputs[output].reduce);
        key_type(format).number(order_key(format, reduce.identity(format)))
    };
    with(&Mode { kind: &kind, empty: &empty, none: None })
}

/// Whether a sum has more than 64 bits. What stands above its 64 bits is called `above_` and its name, which is no port.
fn is_long(format: Format) -> bool {
    format.width() > 32
}

/// Adds the term of a pair to its output.
fn gather(c: &mut CText, graph: &Graph, output: &Output, term: &CVar) {
    let (format, name) = (graph.pins[output.pin].format, member(graph, output));
    let sum = format!("s.{name}");
    if output.reduce != Reduce::Sum {
        let (key, test) = (ints::order_key(c, format, term), if output.reduce == Reduce::Max { '<' } else { '>' });
        c.lines.push(format!("{sum} = {sum} {test} {key} ? {key} : {sum};"));
        return;
    }
    let x = c.int(format, term);
    let line = match is_long(format) {
        true => {
            let above = if format.is_signed() { format!("(uint32_t)((int64_t){x} >> 63)") } else { "0".into() };
            format!("pf_add96(&{sum}, &s.above_{name}, (uint64_t){x}, {above});")
        }
        false => format!("{sum} += (int64_t){x};"),
    };
    c.lines.push(line);
}

/// `Sums` and all its functions but `pair`. The struct stands in front of that.
fn sums(graph: &Graph, selections: &[Selection]) -> String {
    let all = |one: &dyn Fn(usize, &Output, Format, String) -> String| -> String {
        let outputs = graph.outputs.iter().enumerate();
        outputs.map(|(k, o)| one(k, o, graph.pins[o.pin].format, member(graph, o))).collect()
    };
    let of_selections = |one: &dyn Fn(usize, &Selection, &Mode) -> String| -> String {
        with_mode(graph, |mode| selections.iter().enumerate().map(|(k, s)| one(k, s, mode)).collect())
    };
    let starts = all(&|_, o, format, name| {
        let start = match o.reduce {
            Reduce::Ranked(_) => return String::new(),
            Reduce::Sum => "0".into(),
            reduce => key_type(format).number(order_key(format, reduce.identity(format))),
        };
        let above =
            if o.reduce == Reduce::Sum && is_long(format) { format!(" s.above_{name} = 0;") } else { String::new() };
        format!("    s.{name} = {start};{above}\n")
    });
    let starts = starts + &of_selections(&selected::start);
    let joins = all(&|_, o, format, name| match o.reduce {
        Reduce::Ranked(_) => String::new(),
        Reduce::Sum if is_long(format) => {
            format!("    pf_add96(&s.{name}, &s.above_{name}, t.{name}, t.above_{name});\n")
        }
        Reduce::Sum => format!("    s.{name} += t.{name};\n"),
        Reduce::Max => format!("    s.{name} = s.{name} < t.{name} ? t.{name} : s.{name};\n"),
        Reduce::Min => format!("    s.{name} = s.{name} > t.{name} ? t.{name} : s.{name};\n"),
    });
    let joins = joins + &of_selections(&|number, selection, _| selected::join(number, selection));
    let ends = all(&|k, o, format, name| finish(k, o.reduce, format, &name));
    format!(
        "PF void start(Sums &s) {{\n{starts}    s.flags = 0;\n}}\n\
         PF void join(Sums &s, const Sums &t) {{\n{joins}    s.flags |= t.flags;\n}}\n\
         PF uint32_t finish(const Sums &s, uint64_t *out) {{\n    uint32_t flags = s.flags;\n{ends}    return flags;\n}}\n\n"
    )
}

/// The struct of the accumulators.
fn sums_struct(graph: &Graph, selections: &[Selection]) -> String {
    let member = |o: &Output| {
        let (format, name) = (graph.pins[o.pin].format, member(graph, o));
        match o.reduce {
            Reduce::Sum if is_long(format) => format!("    uint64_t {name};\n    uint32_t above_{name};\n"),
            Reduce::Sum => format!("    int64_t {name};\n"),
            Reduce::Ranked(_) => String::new(),
            _ => format!("    {} {name};\n", key_type(format)),
        }
    };
    let members: String = graph.outputs.iter().map(member).collect();
    let (fields, functions): (String, String) = with_mode(graph, |mode| {
        let all = selections.iter().enumerate();
        all.map(|(k, s)| (selected::fields(k, s, mode), selected::function(k, s, mode))).unzip()
    });
    format!("struct Sums {{\n{members}{fields}    uint32_t flags;\n}};\n\n{functions}")
}

/// The type of what orders a format's patterns.
fn key_type(format: Format) -> CType {
    CType { signed: format.is_signed(), ..CType::of(format) }
}

/// The statements that write the pattern of a result at `out[k]`.
fn finish(k: usize, reduce: Reduce, format: Format, name: &str) -> String {
    let (mask, width) = (format.mask(), format.width());
    if reduce != Reduce::Sum {
        let sign = format!("{:#x}ull", 1u64 << (width - 1));
        return match format.is_sign_magnitude() {
            true => format!("    out[{k}] = s.{name} < 0 ? (uint64_t)-s.{name} | {sign} : (uint64_t)s.{name};\n"),
            false => format!("    out[{k}] = (uint64_t)s.{name} & {mask:#x}ull;\n"),
        };
    }
    // The sum is that of its lowest bits where it has not left the format.
    let (low, unused) = (format!("(uint64_t)s.{name}"), 64 - width);
    let kept = match (format.is_signed(), unused) {
        (true, _) => format!("(uint64_t)((int64_t)({low} << {unused}) >> {unused})"),
        (false, _) => format!("({low} & {mask:#x}ull)"),
    };
    let above = match (is_long(format), format.is_signed()) {
        (false, _) => String::new(),
        (true, true) => format!(" || s.above_{name} != (uint32_t)((int64_t){low} >> 63)"),
        (true, false) => format!(" || s.above_{name} != 0"),
    };
    format!("    if ({low} != {kept}{above}) flags |= FLAG_WRAP;\n    out[{k}] = {low} & {mask:#x}ull;\n")
}
