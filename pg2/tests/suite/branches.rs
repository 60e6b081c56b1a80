//! `if`, `else if` and `else`.

use crate::cases::{compile, reduced, refuse};

fn check(output: &str, cases: &[(&str, &str)]) {
    for (statements, want) in cases {
        assert_eq!(reduced(statements, output), *want, "{statements}");
    }
}

#[test]
fn a_name_that_every_branch_assigns_is_a_choice() {
    check(
        "o",
        &[
            ("if (t) { z = a; } else { z = b; } o += z;", "+= icast:int32(mux(t, a, b))"),
            ("if t { z = a; } else { z = b; } o += z;", "+= icast:int32(mux(t, a, b))"),
            ("if (a) { z = a; } else { z = b; } o += z;", "+= icast:int32(mux(nz(a), a, b))"),
            (
                "if (t) { z = a; } else if (s1) { z = b; } else { z = 3; } o += z;",
                "+= icast:int32(mux(t, a, mux(nz(s1), b, 3:int8)))",
            ),
            ("z = a; if (t) { z = b; } o += z;", "+= icast:int32(mux(t, b, a))"),
            ("z = a; if (t) { z = z + b; } o += z;", "+= icast:int32(mux(t, add(a, b), a))"),
            ("z = a; if (t) { z = b; } else { z = 0; } o += z;", "+= icast:int32(mux(t, b, 0:int8))"),
            ("z = 0; if (t) { z = 1; } o += z;", "+= mux(t, 1:int32, 0:int32)"),
            ("z = a; if (t) { z += b; } if (u) { z += b; } o += z;", {
                "+= icast:int32(mux(nz(u), add(mux(t, add(a, b), a), b), mux(t, add(a, b), a)))"
            }),
            ("z = a; if (t) { if (u) { z = b; } } o += z;", "+= icast:int32(mux(t, mux(nz(u), b, a), a))"),
            (
                "if (t) { if (u) { z = a; } else { z = b; } } else { z = c; } o += z;",
                "+= icast:int32(mux(t, icast:int16(mux(nz(u), a, b)), c))",
            ),
            // Local names of branches need not fit together.
            ("z = 0; if (t) { q = a; z = q; } else { q = f; z = (int8)q; } o += z;", {
                "+= icast:int32(mux(t, a, tofix:int8(f)))"
            }),
            // What no branch changes is no choice.
            ("z = a; if (t) { _y = z; } else { _y = b; } o += z;", "+= icast:int32(a)"),
            ("p = v; if (t) { p[1] = a; } o += p[0];", "+= icast:int32(v[0])"),
            ("p = v; if (t) { p[1] = a; } o += p[1];", "+= icast:int32(mux(t, a, v[1]))"),
            ("if (t) { p = v; } else { p = w; } o += p[1];", "+= icast:int32(mux(t, v[1], w[1]))"),
            (
                "s = a; for k in 0..2 { if (v[k] > 3) { s = s + k; } } o += s;",
                "+= icast:int32(mux(lt(3:int8, v[1]), add(mux(lt(3:int8, v[0]), add(a, 0:int8), a), 1:int8), mux(lt(3:int8, v[0]), add(a, 0:int8), a)))",
            ),
        ],
    );
}

#[test]
fn compile_time_conditions_choose_at_compile_time() {
    check(
        "o",
        &[
            ("const ON = 1; if (ON) { z = a; } else { z = b; } o += z;", "+= icast:int32(a)"),
            ("const ON = 0; if (ON) { z = a; } else { z = f; } o += (int32)z;", "+= tofix:int32(f)"),
            ("z = b; if ((int8)1) { z = a; } o += z;", "+= icast:int32(a)"),
            ("z = a; if (0.5 < 1/3) { z = b; } o += z;", "+= icast:int32(a)"),
            ("z = a; if (2 > 3) { z = b; } o += z;", "+= icast:int32(a)"),
            ("if (t) { z = a; } else if (1) { z = b; } else { z = c; } o += z;", "+= icast:int32(mux(t, a, b))"),
            ("if (0) { z = a; } else if (t) { z = b; } else { z = a; } o += z;", "+= icast:int32(mux(t, b, a))"),
            ("if (1) { o += a; } else { o += b; }", "+= icast:int32(a)"),
            // An index that would be outside in the branch that is not taken.
            ("s = a; for k in 0..2 { if (k > 0) { s = s + v[k - 1]; } } o += s;", "+= icast:int32(add(a, v[0]))"),
        ],
    );
}

#[test]
fn outputs_in_branches_give_what_changes_nothing_otherwise() {
    check(
        "o",
        &[
            ("if (t) { o += a; }", "+= mux(t, icast:int32(a), 0:int32)"),
            ("if (t) { o += a; } else { o += b; }", "+= mux(t, icast:int32(a), icast:int32(b))"),
            ("if (t) { o max= a; }", "max= mux(t, icast:int32(a), -2147483648:int32)"),
            ("if (t) { o min= a; }", "min= mux(t, icast:int32(a), 2147483647:int32)"),
            ("if (t) { _y = a; } else { o += b; }", "+= mux(t, 0:int32, icast:int32(b))"),
            ("if (t) { o += a; } else if (u) { o += b; }", {
                "+= mux(t, icast:int32(a), mux(nz(u), icast:int32(b), 0:int32))"
            }),
            ("if (t) { if (u) { o += a; } }", "+= mux(t, mux(nz(u), icast:int32(a), 0:int32), 0:int32)"),
        ],
    );
    check(
        "vo",
        &[
            (
                "for k in 0..3 { if (v[k] > 0) { vo[k] += k; } }",
                "+= mux(lt(0:int8, v[0]), 0:int32, 0:int32); += mux(lt(0:int8, v[1]), 1:int32, 0:int32); += mux(lt(0:int8, v[2]), 2:int32, 0:int32)",
            ),
            (
                "if (t) { vo[0] += a; vo[1] += a; vo[2] += a; } else { vo += v; }",
                "+= mux(t, icast:int32(a), icast:int32(v[0])); += mux(t, icast:int32(a), icast:int32(v[1])); += mux(t, icast:int32(a), icast:int32(v[2]))",
            ),
        ],
    );
    assert_eq!(reduced("if (t) { fo max= f; }", "fo"), {
        let none = hdl::Format::float(18, 9).unwrap();
        format!("max= mux(t, f, {:?}:float18.9)", none.to_f64(none.min_bits()))
    });
}

#[test]
fn mistakes_in_branches_are_refused() {
    refuse(&[
        ("if (f) { z = a; } else { z = b; } o += z;", "PG0048"),
        ("if (v) { z = a; } else { z = b; } o += z;", "PG0044"),
        ("if (t) { z = a; } o += z;", "PG0055"),
        ("if (t) { z = a; } else { yy = b; } o += z;", "PG0055"),
        ("if (t) { z = a; } else { z = f; } o += (int32)z;", "PG0041"),
        ("if (t) { z = a; } else { z = v; } o += z;", "PG0043"),
        ("z = a; if (t) { z = f; }", "PG0041"),
        ("if (0.5) { z = a; } else { z = b; }", "PG0031"),
        ("if (t) { p[2]; } else { p[3]; } o += p[0];", "PG0043"),
        ("if (t) { p[2]; } else { p = a; } o += p;", "PG0043"),
        ("if (t) { p[2]; } else { p = v2; } o += p[0];", "PG0047"),
        ("o += a; if (t) { o max= b; }", "PG0026"),
        ("if (t) { o min= b; } o += a;", "PG0026"),
        ("if (t) { o += a; o max= b; }", "PG0026"),
        ("if (t) { o += a; } else { o max= b; }", "PG0026"),
        ("if (t) { o += nothing; }", "PG0011"),
        ("o += 0; if (0) { z = nothing; }", "PG0011"),
        ("else { z = a; }", "PG0004"),
        ("if (t) z = a; o += z;", "PG0004 PG0055"),
        ("if (t) { z = a; } else z = b; o += z;", "PG0004"),
        ("if (t) { int8 q jpin; }", "PG0019"),
        ("p[2]; if (t) { p[0] = a; } p[1] = b; o += p * v2;", "PG0047"),
        ("if (nothing) { z = a; } else { z = b; } o += z;", "PG0011"),
    ]);
}

#[test]
fn long_chains_and_deep_nests_need_no_stack() {
    let chain: String = (0..3000).map(|k| format!("if (c == {k}) {{ z = {k}; }} else ")).collect();
    compile(&format!("{chain} {{ z = c; }} o += z;")).unwrap();
    let many: String = (0..5000).map(|k| format!("if (c == {k}) {{ z = z + c; }} ")).collect();
    compile(&format!("z = c; {many} o += z;")).unwrap();
    let nest = |n: usize| format!("z = a; {} z = z + b; {} o += z;", "if (t) {".repeat(n), "}".repeat(n));
    compile(&nest(255)).unwrap();
    refuse(&[(&nest(400), "PG0006")]);
    let loops = |n: usize| {
        let open: String = (0..n).map(|k| format!("for k{k} in 0..1 {{")).collect();
        format!("z = a; {open} z = z + b; {} o += z;", "}".repeat(n))
    };
    compile(&loops(255)).unwrap();
}
