//! `where`: pairs that do not count, and the two parts of such a kernel.

use crate::cases::{compile, reduced, refuse};
use hdl::circuit::target::{Clock, TARGETS};
use pg2::backend::filtered::build_filtered;
use pg2::graph::NodeKind;
use pg2::middle::filter::{Split, split};
use pg2::report::explain::explain;
use pg2::report::explain::svg;
use pg2::report::filtered::parts;

#[test]
fn a_filter_is_a_branch_around_all_reductions() {
    for (filtered, branch) in [
        ("where (t); o += a;", "if (t) { o += a; }"),
        ("o += a; where (t);", "if (t) { o += a; }"),
        ("where (a < b) && t; o max= a;", "if ((a < b) && t) { o max= a; }"),
        ("where (a); o min= b;", "if (a) { o min= b; }"),
        ("where (t); o += a; o -= b;", "if (t) { o += a; o -= b; }"),
        ("where (t); if (u) { o += a; } else { o += b; }", "if (t) { if (u) { o += a; } else { o += b; } }"),
        ("where (t); vo += (int32)w;", "if (t) { vo += (int32)w; }"),
        ("where (t); vo[b] += a;", "if (t) { vo[b] += a; }"),
        ("where (1); o += a;", "o += a;"),
        ("where (2 > 1); o += a;", "o += a;"),
    ] {
        let output = if branch.contains("vo") { "vo" } else { "o" };
        assert_eq!(reduced(filtered, output), reduced(branch, output), "{filtered}");
    }
}

#[test]
fn a_filter_is_for_all_outputs_and_several_have_all_to_be_passed() {
    assert_eq!(reduced("where (t); o += a; xo += 1;", "o"), "+= mux(t, icast:int32(a), 0:int32)");
    assert_eq!(reduced("where (t); o += a; xo += 1;", "xo"), "+= mux(t, 1:fixed32.8, 0:fixed32.8)");
    // A later one is demanded where those before it hold.
    let all = "mux(t, mux(nz(u), lt(a, b), 0:uint1), 0:uint1)";
    let got = reduced("where (t); where (u); where (a < b); o += a;", "o");
    assert_eq!(got, format!("+= mux({all}, icast:int32(a), 0:int32)"));
}

#[test]
fn a_selection_takes_the_pairs_that_pass() {
    let pins = "int32 key jpin; uint8 id jpin; uint1 t jpin; int32 best[2] fout; uint8 who[2] fout;";
    let graph = |statements: &str| pg2::compile("k", &format!("{pins}\n{statements}")).expect("it compiles").graph;
    let filtered = graph("where (t); (best, who) min= (key, id);");
    assert_eq!(filtered.canonical(), graph("if (t) { (best, who) min= (key, id); }").canonical());
    assert!(filtered.filter.is_some());
}

#[test]
fn where_is_a_word_of_the_language_only_there() {
    assert_eq!(reduced("where = a; o += where;", "o"), "+= icast:int32(a)");
    assert_eq!(reduced("where = a; where (where < b); o += where;", "o"), "+= mux(lt(a, b), icast:int32(a), 0:int32)");
    let outputs = ["where += a;", "where max= a;", "where min = a;"];
    for statement in outputs {
        pg2::compile("k", &format!("int32 a jpin; int32 where fout; {statement}")).expect("`where` may be an output");
    }
    let typed = "type where = int32; where a jpin; where o fout; o += (where)a;";
    pg2::compile("k", typed).expect("`where` may be a format");
}

#[test]
fn what_a_filter_cannot_be_is_refused() {
    refuse(&[
        ("where (0); o += a;", "PG0025"),
        ("where (f); o += a;", "PG0048"),
        ("where (v); o += a;", "PG0044"),
        ("where (nobody); o += a;", "PG0011"),
        ("where (o); o += a;", "PG0015"),
        ("where t == 1; o += a;", "PG0004"),
        ("where (t) { o += a; }", "PG0004"),
        ("if (t) { where (u); } o += a;", "PG0019"),
        ("for k in 0..2 { where (k < a); } o += a;", "PG0019"),
    ]);
}

fn clock() -> Clock {
    Clock { target: &TARGETS[0], mhz: TARGETS[0].usual_mhz, blocks: None }
}

fn in_two(statements: &str) -> Split {
    let split = split(&compile(statements).expect("it compiles")).expect("it has a filter");
    split.test.verify().expect("the test is sound");
    split.rest.verify().expect("the rest is sound");
    split
}

#[test]
fn the_rest_does_not_ask_again() {
    let split = in_two("near = b < 9 && t; where (near); o += near ? a : c;");
    let read: Vec<&str> =
        split.rest.nodes.iter().filter(|n| matches!(n.kind, NodeKind::Pin { .. })).map(|n| n.name.as_str()).collect();
    assert_eq!(read, ["a"], "{}", split.rest);
    assert_eq!(split.test.outputs.len(), 1, "{}", split.test);
}

#[test]
fn a_kernel_behind_filters_explains_the_pipeline_and_has_the_records_of_the_whole() {
    let text = "r2 = fv * fw; where (r2 < fp); fo max= pg_sqrt(fp + fv[0]);";
    let graph = compile(text).expect("it compiles");
    let built = build_filtered(&graph, clock(), "", Vec::new()).expect("it can have filters");
    built.schedule.verify(&built.graph).expect("the schedule is the pipeline's");
    let explained = explain(&built, "");
    assert!(!explained.rows.iter().any(|row| row.operator == "fmul"), "{explained}");
    assert!(explained.rows.iter().any(|row| row.operator == "pow"), "{explained}");
    assert!(svg(&built, "").contains("pow"));
    assert_eq!(built.layout().j, graph.layout().j);
}

#[test]
fn the_parts_are_accounted_for() {
    let graph = compile("r2 = fv * fw; where (r2 < fp); fo max= pg_sqrt(r2);").expect("it compiles");
    let parts = parts(&graph, clock()).expect("it has a filter");
    assert!(parts.test.operators >= 6 && parts.test.multipliers > 0, "{parts}");
    assert_eq!(parts.rest.operators, parts.test.operators, "{parts}");
    assert!(pg2::report::filtered::parts(&compile("o += a;").expect("it compiles"), clock()).is_none());
}
