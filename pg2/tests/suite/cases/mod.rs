//! Code shared by the tests of the language: pins, and the results of expressions and statements.

use hdl::Format;
use pg2::graph::{Graph, NodeId, NodeKind};

/// Pins that the cases use.
pub const PINS: &str = "
    int8 a ipin; int8 b jpin; int16 c jpin; uint8 u jpin; uint1 t jpin; int1 s1 jpin; int64 wide jpin;
    float18.9 f jpin; float18.9 g ipin; float32.23 h ipin; float64.52 dbl jpin;
    fixed16.8 x ipin; fixed16.8 y jpin; fixed16.4 x4 jpin; ufixed16.8 ux jpin;
    int8 v[3] ipin; int8 w[3] jpin; int16 v16[3] jpin; int8 v2[2] jpin; float18.9 fv[3] ipin; float18.9 fw[3] jpin;
    fixed16.8 xv[3] ipin; fixed16.8 xw[3] jpin;
    int8 n param; uint4 un param; float18.9 fp param; int8 nv[2] param;
    int32 o fout; float18.9 fo fout; fixed32.8 xo fout; int32 vo[3] fout; uint8 uo fout;
";

/// Reductions for the outputs that a case leaves alone.
const REST: [&str; 5] = ["o += 0;", "fo max= 0;", "xo += 0;", "vo[0] += 0; vo[1] += 0; vo[2] += 0;", "uo += 0;"];

/// The pins, the statements and whatever outputs are left.
pub fn source(statements: &str) -> String {
    let mut text = format!("{PINS}\n{statements}\n");
    for (name, rest) in ["o", "fo", "xo", "vo", "uo"].iter().zip(REST) {
        let reduced = |s: &str| {
            s.trim().strip_prefix(name).is_some_and(|r| r.trim_start().starts_with(['+', 'm', '[', '-', '=', '*']))
        };
        if !statements.split([';', '{', '}']).any(reduced) {
            text += rest;
        }
    }
    text
}

pub fn compile(statements: &str) -> Result<Graph, Vec<pg2::diag::Diagnostic>> {
    pg2::compile("rules", &source(statements)).map(|c| c.graph)
}

/// A node as nested calls.
pub fn show(graph: &Graph, id: NodeId) -> String {
    let node = graph.node(id);
    match &node.kind {
        NodeKind::Pin { pin, element } => graph.pins[*pin].column(*element),
        NodeKind::Const { bits } => match node.format {
            Format::Float { .. } => format!("{:?}:{}", node.format.to_f64(*bits), node.format),
            Format::Int { .. } => format!("{}:{}", node.format.to_int(*bits), node.format),
            _ => format!("{}:{}", node.format.to_f64(*bits), node.format),
        },
        NodeKind::Op { op, inst, args } => {
            let args: Vec<String> = args.iter().map(|a| show(graph, *a)).collect();
            let (to, n, d) = (inst.attrs.to.map_or(String::new(), |f| format!(":{f}")), inst.attrs.n, inst.attrs.d);
            let attrs = if n != 0 || d != 0 { format!("<{n},{d}>") } else { String::new() };
            format!("{}{to}{attrs}({})", op.name(), args.join(", "))
        }
    }
}

/// The value of `z = expression;`; elements of a vector are joined by `; `.
pub fn value(expression: &str) -> String {
    let graph = compile(&format!("z = {expression};")).unwrap_or_else(|e| panic!("{expression}: {e:#?}"));
    let named = |name: &str| (0..graph.nodes.len()).find(|k| graph.nodes[*k].name == name);
    let scalar = named("z").into_iter();
    let nodes = scalar.chain((0..3).filter_map(|k| named(&format!("z[{k}]"))));
    nodes.map(|k| show(&graph, NodeId(k as u32))).collect::<Vec<_>>().join("; ")
}

/// The terms reduced into the outputs of a name.
pub fn reduced(statements: &str, output: &str) -> String {
    let graph = compile(statements).unwrap_or_else(|e| panic!("{statements}: {e:#?}"));
    let of = graph.outputs.iter().filter(|o| graph.pins[o.pin].name == output);
    of.map(|o| format!("{} {}", o.reduce, show(&graph, o.value))).collect::<Vec<_>>().join("; ")
}

pub fn check(cases: &[(&str, &str)]) {
    for (expression, want) in cases {
        assert_eq!(value(expression), *want, "{expression}");
    }
}

/// The codes that statements lead to, in order.
pub fn codes(statements: &str) -> String {
    match compile(statements) {
        Ok(_) => "none".into(),
        Err(errors) => errors.iter().map(|e| e.code).collect::<Vec<_>>().join(" "),
    }
}

/// Each case has exactly these errors, and each error a place and a remedy.
pub fn refuse(cases: &[(&str, &str)]) {
    for (statements, want) in cases {
        assert_eq!(codes(statements), *want, "{statements}");
        for e in compile(statements).err().unwrap_or_default() {
            assert!(e.help.is_some() && !e.labels.is_empty(), "{statements}: {e:#?}");
            assert!(e.labels.iter().all(|l| l.0.start <= l.0.end), "{statements}: {e:#?}");
        }
    }
}
