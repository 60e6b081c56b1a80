//! Functions.

use crate::cases::{compile, refuse};

const LIBRARY: &str = "
    fn sq(x) = x * x;
    fn both(x, yy) { s = sq(x); return s + sq(yy); }
    fn pick(c, x, yy) { if (c) { return x; } else { return yy; } }
    fn early(x) { if (x < 0) { return -x; } if (x > 9) { return 9; } return x; }
    fn total(p) { s = 0; for k in 0..3 { s = s + p[k]; } return s; }
    fn norm(p) { r[3]; for k in 0..3 { r[k] = p[k] * p[k]; } return r; }
    fn power(x, n) { yy = 1; for k in 0..n { yy = yy * x; } return yy; }
    fn scaled(x) = x * FACTOR;
    fn pins(x) = x + b;
    const FACTOR = 3;
";

#[test]
fn calls_become_their_bodies() {
    let cases = [
        ("sq(a)", "mul(a, a)"),
        ("sq(f)", "fmul(f, f)"),
        ("sq(a + b)", "mul(add(a, b), add(a, b))"),
        ("both(a, b)", "add(mul(a, a), mul(b, b))"),
        ("both(a, c)", "add(icast:int16(mul(a, a)), mul(c, c))"),
        ("a + sq(3)", "add(a, 9:int8)"),
        ("pick(t, a, b)", "mux(t, a, b)"),
        ("pick(1, a, v)", "a"),
        ("early(a)", "mux(lt(a, 0:int8), neg(a), mux(lt(9:int8, a), 9:int8, a))"),
        ("a * total(v)", "mul(a, add(add(add(0:int8, v[0]), v[1]), v[2]))"),
        ("norm(v)", "mul(v[0], v[0]); mul(v[1], v[1]); mul(v[2], v[2])"),
        ("power(a, 3)", "mul(mul(mul(1:int8, a), a), a)"),
        ("power(a, 0) * b", "mul(1:int8, b)"),
        ("v[power(2, 1)]", "v[2]"),
        ("scaled(a)", "mul(a, 3:int8)"),
        ("pins(a)", "add(a, b)"),
        ("sq(sq(sq(a)))", "mul(mul(mul(a, a), mul(a, a)), mul(mul(a, a), mul(a, a)))"),
        ("sq(v)", "add(add(mul(v[0], v[0]), mul(v[1], v[1])), mul(v[2], v[2]))"),
    ];
    for (expression, want) in cases {
        let graph = compile(&format!("{LIBRARY} z = {expression};")).unwrap_or_else(|e| panic!("{expression}: {e:#?}"));
        let nodes = (0..graph.nodes.len()).filter(|k| {
            let name = &graph.nodes[*k].name;
            name == "z" || name.starts_with("z[")
        });
        let got: Vec<String> = nodes.map(|k| crate::cases::show(&graph, pg2::graph::NodeId(k as u32))).collect();
        if !got.is_empty() {
            assert_eq!(got.join("; "), want, "{expression}");
        }
    }
}

#[test]
fn functions_see_parameters_pins_and_constants() {
    let ok = |s: &str| compile(s).unwrap_or_else(|e| panic!("{s}: {e:#?}"));
    // A parameter or a value of a function hides a pin.
    ok("fn g1(a) = a + 1; fn g2(p) { b = p * p; return b; } o += g1(c) + g2(c);");
    // A function may be called above its definition, and use a `const` from above the call.
    ok("const K = 4; o += h(a); fn h(p) = p * K;");
    refuse(&[
        ("z = a + b; fn h(p) = p * z; o += h(a);", "PG0055"),
        ("fn h(p) = p * K; o += h(a); const K = 4;", "PG0012"),
        ("fn h(p) = p * nothing; o += h(a);", "PG0011"),
        // The same without a call.
        ("fn h(p) = p * nothing;", "PG0011"),
        ("fn h(p) = missing(p);", "PG0018"),
        ("fn h(p) = (flot18.9)p;", "PG0021"),
        ("fn h(p) { q = p; return q + r; }", "PG0011"),
        ("fn h(p) { o += p; return p; } yy = h(a);", "PG0019"),
        ("fn h(p) { o += p; return p; }", "PG0019"),
        ("fn h(p) = o + p; yy = h(a);", "PG0015"),
    ]);
}

#[test]
fn mistakes_around_functions_are_refused() {
    refuse(&[
        ("fn h(p) { q = p; } yy = h(a);", "PG0054"),
        ("fn h(p) { if (p) { return p; } } yy = h(a);", "PG0054"),
        ("fn h(p) { } yy = h(a);", "PG0054"),
        ("fn h(p) = h(p); yy = h(a);", "PG0020"),
        ("fn h(p) = g9(p); fn g9(p) = i9(p); fn i9(p) = h(p); yy = h(a);", "PG0020"),
        ("fn h(p) = p; fn h(q) = q; yy = h(a);", "PG0013"),
        ("fn h(p, p) = p; yy = h(a, b);", "PG0013"),
        ("fn h(p) = p; yy = h(a, b);", "PG0051"),
        ("fn h(p, q) = p + q; yy = h(a);", "PG0051"),
        ("fn h(p) { return p; q = p; } yy = h(a);", "PG0019"),
        ("fn h(p) { p = p * 2; return p; } yy = h(a);", "PG0013"),
        ("fn h(p) { tt = p; tt = p; return tt; } yy = h(a);", "PG0013"),
        ("fn h(float18.9 p) = p; yy = a;", "PG0004"),
        ("fn h(p) p * p; yy = a;", "PG0004"),
        ("fn hh(p { return p; } yy = hh(a);", "PG0004"),
        ("fn pg_h(p) = p; yy = a;", "PG0014"),
        ("return a;", "PG0019"),
        ("fn h(p) { int8 q jpin; return p; } yy = h(a);", "PG0019"),
        ("yy = h1(a); fn h2(p) = p;", "PG0018"),
        ("fn h(p) = p + f; yy = h(a);", "PG0041"),
        ("float18.9 r = f * f; o += a;", "PG0004"),
    ]);
}

#[test]
fn a_mistake_in_a_body_names_the_body_and_the_call() {
    let text = crate::cases::source("fn h(p) = p + f; yy = h(a); y2 = h(b);");
    let errors = pg2::compile("k", &text).err().unwrap();
    assert_eq!(errors.len(), 1, "one report for one place: {errors:#?}");
    let labels: Vec<(&str, &str)> = errors[0].labels.iter().map(|(s, l)| (s.of(&text), l.as_str())).collect();
    assert_eq!(labels, [("p", "this is int8"), ("f", "this is float18.9"), ("h(a)", "in this call of `h`")]);
    let errors = compile("fn f1(p) = f2(p); fn f2(p) = f3(p); fn f3(p) = f1(p); o += f1(a);").err().unwrap();
    assert_eq!(errors[0].notes, ["the calls are f1 -> f2 -> f3 -> f1"]);
    assert_eq!(errors[0].labels.len(), 3);
}

#[test]
fn functions_that_multiply_or_nest_get_an_answer() {
    let mut text = String::from("fn f0(x) = x + x;");
    (1..60).for_each(|k| text += &format!("fn f{k}(x) = f{}(x) + f{}(x);", k - 1, k - 1));
    let start = std::time::Instant::now();
    assert_eq!(compile(&format!("{text} o += f59(a);")).err().unwrap()[0].code, "PG0053");
    assert!(start.elapsed().as_secs() < 5);
    let chain = |n: usize| {
        let more: String = (1..n).map(|k| format!("fn f{k}(x) = f{}(x) + 1;\n", k - 1)).collect();
        format!("fn f0(x) = x + 1;\n{more} o += f{}(a);", n - 1)
    };
    compile(&chain(250)).unwrap();
    refuse(&[(&chain(20_000), "PG0006")]);
    // A ring of many functions.
    let ring: String = (0..5000).map(|k| format!("fn f{k}(x) = f{}(x);\n", (k + 1) % 5000)).collect();
    refuse(&[(&ring, "PG0020")]);
    let blocks = format!(
        "fn g1(x) {{ {} x = x + 1; {} return x; }} fn g2(x) {{ {} x = g1(x); {} return x; }} o += g2(a);",
        "if (t) {".repeat(120),
        "}".repeat(120),
        "if (t) {".repeat(120),
        "}".repeat(120)
    );
    compile(&blocks).unwrap();
}
