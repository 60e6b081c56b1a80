//! `(best, who) min= (key, payload)`: what outputs take, in which form it is written, and what is refused.

use crate::cases::show;
use hdl::Reduce;
use pg2::graph::Graph;
use pg2::syntax::fmt::format;

const PINS: &str = "int8 a ipin; int16 b jpin; uint1 t jpin; uint8 u jpin; float18.9 f jpin; float18.9 v[3] jpin;
    int16 key fout; uint8 who fout; int16 keys[2] fout; uint8 list[2] fout; float18.9 way[3] fout; float18.9 ways[2][3] fout; ";

fn compile(statements: &str) -> Result<Graph, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric();
    let used = |name: &str| statements.split(|c| !is_name(c)).any(|word| word == name);
    // Outputs that a case leaves alone are not declared.
    let pins = PINS.split_inclusive(';').filter(|pin| {
        let name = pin.split_whitespace().nth(1).unwrap_or_default();
        !pin.contains("fout") || used(name.split('[').next().unwrap_or_default())
    });
    let text = pins.collect::<String>() + statements;
    let compiled = pg2::compile("k", &text).map_err(|e| e.iter().map(|e| e.code).collect::<Vec<_>>().join(" "))?;
    compiled.graph.verify().map_err(|why| format!("{why}: {text}"))?;
    Ok(compiled.graph)
}

/// Each output with its place and what it takes.
fn selected(statements: &str) -> Vec<String> {
    let graph = compile(statements).unwrap_or_else(|e| panic!("{statements}: {e}"));
    let of = |o: &pg2::graph::Output| {
        let Reduce::Ranked(p) = o.reduce else { panic!("{statements}: {:?}", o.reduce) };
        let column = graph.pins[o.pin].column(o.element);
        format!("{column} {} {}.{}.{} {}", o.reduce, p.selection, p.rank, p.member, show(&graph, o.value))
    };
    graph.outputs.iter().map(of).collect()
}

#[test]
fn keys_and_payloads_take_the_formats_of_their_outputs() {
    let both = ["key min= 0.0.0 icast:int16(a)", "who min= 0.0.1 7:uint8"];
    assert_eq!(selected("(key, who) min= (a, 7);"), both);
    let order = ["key max= 0.0.1 b", "who max= 0.0.0 u"];
    assert_eq!(selected("(who, key) max= (u, b);"), order);
    let choice = ["key min= 0.0.0 b", "who min= 0.0.1 mux(t, 1:uint8, u)"];
    assert_eq!(selected("(key, who) min= (b, t ? 1 : u);"), choice);
}

#[test]
fn vectors_keep_several_pairs_and_payloads_may_be_vectors() {
    let lists = ["keys[0] min= 0.0.0 b", "keys[1] min= 0.1.0 b", "list[0] min= 0.0.1 u", "list[1] min= 0.1.1 u"];
    assert_eq!(selected("(keys, list) min= (b, u);"), lists);
    let way = ["key min= 0.0.0 b", "way[0] min= 0.0.1 v[0]", "way[1] min= 0.0.2 v[1]", "way[2] min= 0.0.3 v[2]"];
    assert_eq!(selected("(key, way) min= (b, v);"), way);
    let ways = selected("(keys, ways) min= (b, v);");
    assert_eq!(ways[4..6], ["ways[0][2] min= 0.0.3 v[2]", "ways[1][0] min= 0.1.1 v[0]"]);
    let apart = ["keys[0] min= 0.0.0 b", "keys[1] max= 1.0.0 b", "list[0] max= 1.0.1 u", "list[1] min= 0.0.1 3:uint8"];
    assert_eq!(selected("(keys[0], list[1]) min= (b, 3); (keys[1], list[0]) max= (b, u);"), apart);
}

#[test]
fn a_branch_without_the_selection_takes_what_changes_nothing() {
    let one = ["key min= 0.0.0 mux(t, b, 32767:int16)", "who min= 0.0.1 mux(t, u, 255:uint8)"];
    assert_eq!(selected("if (t) { (key, who) min= (b, u); }"), one);
    let most = ["key max= 0.0.0 mux(t, b, -32768:int16)", "who max= 0.0.1 mux(t, u, 255:uint8)"];
    assert_eq!(selected("if (t) { (key, who) max= (b, u); } else { }"), most);
    let two = ["key min= 0.0.0 mux(t, b, icast:int16(a))", "who min= 0.0.1 mux(t, u, 3:uint8)"];
    assert_eq!(selected("if (t) { (key, who) min= (b, u); } else { (key, who) min= (a, 3); }"), two);
    // All places take one value.
    let graph = compile("if (t) { if (u) { (keys, list) min= (b, u); } } else { (keys, list) min= (a, 1); }").unwrap();
    assert_eq!(graph.outputs[0].value, graph.outputs[1].value);
}

#[test]
fn what_is_no_selection_is_refused() {
    for (statements, codes) in [
        ("(key, who) min= (b, f);", "PG0041"),
        ("(key, who) min= (b, v);", "PG0044"),
        ("(key, way) min= (b, f);", "PG0044"),
        ("(keys, who) min= (b, u);", "PG0043"),
        ("(key, list) min= (b, u);", "PG0044"),
        ("(ways, list) min= (f, u);", "PG0044"),
        ("(way) min= (v);", "PG0044"),
        ("(key, who) min= (b);", "PG0043"),
        ("(key, who) min= b;", "PG0004"),
        ("(key, who) += (b, u);", "PG0009"),
        ("(key, who) = (b, u);", "PG0009"),
        ("key, who min= (b, u);", "PG0004"),
        ("(key, key) min= (b, b);", "PG0026"),
        ("key min= b; (key) min= (b);", "PG0026"),
        ("if (t) { (key, who) min= (b, u); } else { key min= b; }", "PG0026"),
        ("if (t) { (key, who) min= (b, u); } else { (key, who) max= (b, u); }", "PG0026 PG0026"),
        ("s = b; for k in 0..2 { (s) min= (a); } key min= s;", "PG0029"),
        ("fn g(x) { (key) min= (x); return x; } key min= g(b);", "PG0019"),
        ("(key, nobody) min= (b, u);", "PG0011"),
    ] {
        assert_eq!(compile(statements).err().as_deref(), Some(codes), "{statements}");
    }
}

#[test]
fn a_selection_has_one_layout() {
    let text = "( near ,who[ 1 ] )min =( r2 ,id+ 1 );( a )max=(b);";
    assert_eq!(format(text).as_deref(), Ok("(near, who[1]) min= (r2, id + 1);\n(a) max= (b);\n"));
}

#[test]
fn kernels_that_select_otherwise_are_other_circuits() {
    let text = |s: &str| compile(s).unwrap().canonical();
    let all = [
        "(key, who) min= (b, u);",
        "(who, key) min= (u, b);",
        "(key, who) max= (b, u);",
        "(key) min= (b); (who) min= (u);",
        "key min= b; who min= u;",
    ];
    let texts: std::collections::BTreeSet<String> = all.iter().map(|s| text(s)).collect();
    assert_eq!(texts.len(), all.len());
}
