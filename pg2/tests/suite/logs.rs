//! Logs and rounding toward zero in the language: what expressions become, and what is refused.

use hdl::Rounding;
use pg2::graph::NodeKind;

/// The operators of a kernel in order, each with the format of its result.
fn operators(text: &str) -> Vec<String> {
    let graph = pg2::compile("logs", text).unwrap_or_else(|e| panic!("{text}: {e:#?}")).graph;
    let name = |node: &pg2::graph::Node| match &node.kind {
        NodeKind::Op { op, .. } => Some(format!("{} {}", op.name(), node.format)),
        _ => None,
    };
    graph.nodes.iter().filter_map(name).collect()
}

fn log(expression: &str) -> Vec<String> {
    operators(&format!(
        "log17.8 a ipin; log17.8 b jpin; int4 n param; log12.6 c jpin; float18.9 f jpin; float32.23 g jpin;
        fixed32.31 x jpin; int8 k jpin; log17.8 o fout; _z = b; o max= {expression};"
    ))
}

#[test]
fn expressions_become_operators_on_logs() {
    let cases: &[(&str, &[&str])] = &[
        ("a * b", &["lmul log17.8"]),
        ("a / b", &["ldiv log17.8"]),
        ("a + 1.5", &["ladd log17.8"]),
        ("a - b", &["lsub log17.8"]),
        ("-a", &["lneg log17.8"]),
        ("pg_abs(a)", &["labs log17.8"]),
        ("pg_pow(a, -3, 2)", &["lpow log17.8"]),
        ("pg_sqrt(a)", &["lpow log17.8"]),
        ("a << 3", &["lscale log17.8"]),
        ("a >> n", &["lscalev log17.8"]),
        ("a < b ? a : b", &["lt uint1", "mux log17.8"]),
        ("pg_min(a, b)", &["min log17.8"]),
        ("(log17.8)c", &["lcast log17.8"]),
        ("(log17.8)f", &["tolog log17.8"]),
        // Two fraction bits more than the logarithm's, and an exponent that holds every value.
        ("(log17.8)g", &["fcast float20.10", "tolog log17.8"]),
        ("(log17.8)x", &["tofloat float19.10", "tolog log17.8"]),
        ("(log17.8)k", &["tofloat float19.10", "tolog log17.8"]),
        ("(log17.8)(float18.9)a", &["fromlog float18.9", "tolog log17.8"]),
        ("(log17.8)(int8)a", &["fromlog float19.10", "tofix int8", "tofloat float19.10", "tolog log17.8"]),
        ("(log17.8)(float32.23)a", &["fromlog float19.10", "fcast float32.23", "fcast float20.10", "tolog log17.8"]),
    ];
    for (expression, wanted) in cases {
        assert_eq!(log(expression), *wanted, "{expression}");
    }
}

#[test]
fn what_logs_do_not_have_is_refused_with_a_remedy() {
    let cases = [
        ("log17.18 a ipin; int8 o fout; o += 0;", "PG0022"),
        ("log40.8 a ipin; int8 o fout; o += 0;", "PG0022"),
        ("log17 a ipin; int8 o fout; o += 0;", "PG0021"),
        ("log17.8 a ipin; log17.8 o fout; o += a;", "PG0027"),
        ("log17.8 a ipin; log17.8 o fout; o max= a & a;", "PG0042"),
        ("log17.8 a ipin; float18.9 f jpin; log17.8 o fout; o max= a * f;", "PG0041"),
        ("log17.8 a ipin; log17.8 o fout; o max= a * 1e30;", "PG0032"),
        ("log17.8 a ipin; log17.8 o fout; o max= a ? a : a;", "PG0048"),
        ("round up; int8 a ipin; int8 o fout; o += a;", "PG0004"),
        ("round truncate; round nearest; int8 a ipin; int8 o fout; o += a;", "PG0013"),
    ];
    for (text, code) in cases {
        let errors = pg2::compile("logs", text).err().unwrap_or_else(|| panic!("{text} compiles"));
        let error = errors.iter().find(|e| e.code == code).unwrap_or_else(|| panic!("{text}: {errors:#?}"));
        assert!(error.help.is_some() || !error.notes.is_empty(), "{text}: {error:#?}");
    }
}

#[test]
fn rounding_is_of_the_whole_kernel_and_of_operators_that_round() {
    let text = "float18.9 a ipin; float18.9 b jpin; float18.9 o fout; o max= pg_rsqrt(a * b) + -b;";
    let rounding = |text: &str| -> Vec<(&str, Rounding)> {
        let graph = pg2::compile("rounds", text).unwrap_or_else(|e| panic!("{e:#?}")).graph;
        let of = |node: &pg2::graph::Node| match &node.kind {
            NodeKind::Op { op, inst, .. } => Some((op.name(), inst.attrs.round)),
            _ => None,
        };
        graph.nodes.iter().filter_map(of).collect()
    };
    let (near, cut) = (Rounding::Nearest, Rounding::Truncate);
    let wanted = |r| vec![("fmul", r), ("pow", near), ("fneg", near), ("fadd", r)];
    assert_eq!(rounding(text), wanted(near));
    assert_eq!(rounding(&format!("round nearest; {text}")), wanted(near));
    assert_eq!(rounding(&format!("{text} round truncate;")), wanted(cut));
    // Simplifying keeps it: the difference that the sum becomes is cut off too.
    let graph = pg2::compile("rounds", &format!("round truncate; {text}")).unwrap_or_else(|e| panic!("{e:#?}")).graph;
    assert!(pg2::middle::simplify::simplify(&graph).to_string().contains("fsub %3 %1 truncate"));
}
