//! Loops, and vectors built element by element.

use crate::attack::spent;
use crate::cases::{compile, reduced, refuse};

/// Each case reduces this into `o`.
fn sums(cases: &[(&str, &str)]) {
    for (statements, want) in cases {
        assert_eq!(reduced(statements, "o"), format!("+= {want}"), "{statements}");
    }
}

#[test]
fn a_loop_is_its_body_written_out() {
    sums(&[
        (
            "s = (int8)0; for k in 0..3 { s = s + v[k]; } o += s;",
            "icast:int32(add(add(add(0:int8, v[0]), v[1]), v[2]))",
        ),
        ("s = a; for k in 0..2 { s += v[k]; } o += s;", "icast:int32(add(add(a, v[0]), v[1]))"),
        ("s = a; for k in 1..3 { s max= v[k]; } o += s;", "icast:int32(max(max(a, v[1]), v[2]))"),
        ("s = a; for k in 0..0 { s = s + v[k]; } o += s;", "icast:int32(a)"),
        ("s = a; for k in 5..2 { s = s + v[k]; } o += s;", "icast:int32(a)"),
        ("nn = 0; for k in 0..5 { nn = nn + k; } o += nn;", "10:int32"),
        ("nn = 1; for k in 0..5 { nn = nn * 2; } o += a + nn;", "icast:int32(add(a, 32:int8))"),
        ("nn = 0; for k in -2..1 { nn = nn + k * k; } o += nn;", "5:int32"),
        ("const N = 2; s = a; for k in N - 1..N + 1 { s = s + v[k]; } o += s;", "icast:int32(add(add(a, v[1]), v[2]))"),
        (
            "s = a; for k in 0..2 { for m in k..2 { s = s + v[k] * w[m]; } } o += s;",
            "icast:int32(add(add(add(a, mul(v[0], w[0])), mul(v[0], w[1])), mul(v[1], w[1])))",
        ),
        (
            "s = a; for k in 0..2 { tt = v[k] * a; s = s + tt; } o += s;",
            "icast:int32(add(add(a, mul(v[0], a)), mul(v[1], a)))",
        ),
        ("for k in 0..2 { _t = a; } for k in 0..2 { _t = b; } o += 0;", "0:int32"),
        // A warning in the first pass ends no loop.
        (
            "s = a; for k in 0..2 { s = s + (v[k] ^ 2); } o += s;",
            "icast:int32(add(add(a, xor(v[0], 2:int8)), xor(v[1], 2:int8)))",
        ),
    ]);
    assert_eq!(
        reduced("for k in 0..3 { vo[k] += v[k] * (k + 1); }", "vo"),
        "+= icast:int32(mul(v[0], 1:int8)); += icast:int32(mul(v[1], 2:int8)); += icast:int32(mul(v[2], 3:int8))"
    );
}

#[test]
fn elements_are_assigned_one_by_one() {
    sums(&[
        ("p[3]; for k in 0..3 { p[k] = v[k] + a; } o += p * w;", {
            "icast:int32(add(add(mul(add(v[0], a), w[0]), mul(add(v[1], a), w[1])), mul(add(v[2], a), w[2])))"
        }),
        ("p[2]; p[1] = a; p[0] = b; o += p * v2;", "icast:int32(add(mul(b, v2[0]), mul(a, v2[1])))"),
        // Exact numbers stay exact until the whole is read, and ints extend.
        ("p[2]; p[0] = 2; p[1] = 3; o += p[0] * p[1];", "6:int32"),
        ("p[2]; p[0] = 2; p[1] = c; q = p + p; o += q[0];", "icast:int32(add(2:int16, 2:int16))"),
        ("p[2]; p[0] = a; p[1] = c; q = p; o += q[0];", "icast:int32(icast:int16(a))"),
        // An element may be read before the others are there.
        ("p[3]; p[0] = a; for k in 1..3 { p[k] = p[k - 1] * b; } o += p[2];", "icast:int32(mul(mul(a, b), b))"),
        // In a block, an element from outside gets a new value.
        ("p = v - w; for k in 0..3 { p[k] = p[k] * 2; } o += p[1];", "icast:int32(mul(sub(v[1], w[1]), 2:int8))"),
        ("p = v - w; for k in 0..3 { p[k] += a; } o += p[1];", "icast:int32(add(sub(v[1], w[1]), a))"),
        (
            "m[2][2]; for i in 0..2 { for j in 0..2 { m[i][j] = v[i] * w[j]; } } o += m[1][0];",
            "icast:int32(mul(v[1], w[0]))",
        ),
        ("m[2][3]; m[0] = v; m[1] = v + v; r = m[1]; o += r[2];", "icast:int32(add(v[2], v[2]))"),
    ]);
}

#[test]
fn mistakes_in_loops_are_reported_once_and_at_their_place() {
    refuse(&[
        ("for k in 0..100 { yy = v[k]; o += yy; }", "PG0045"),
        ("for k in 0..100 { yy = nothing + k; }", "PG0011"),
        ("for k in 0..a { yy = k; }", "PG0034"),
        ("for k in 0..1.5 { yy = k; }", "PG0031"),
        ("for k in 0..3 { k = a; }", "PG0013"),
        ("k = a; for k in 0..3 { yy = k; }", "PG0013"),
        ("for k in 0..3 { tt = a; tt = b; }", "PG0013"),
        ("s = a; s = b; o += s;", "PG0013"),
        ("const S = 1; for k in 0..3 { S = k; }", "PG0013"),
        ("for k in 0..3 { a = k; }", "PG0016"),
        ("for k in 0..3 { tt = a; } o += tt;", "PG0055"),
        ("for k in 0..3 { o += a; o max= a; }", "PG0026"),
        ("for k in 0..3 { int8 q jpin; }", "PG0019"),
        ("for k in 0..3 { return a; }", "PG0019"),
        ("for k in 0..3 { fn f(x) = x; }", "PG0019"),
        ("for k in 0..0 { yy = nothing; }", "PG0011"),
        ("for (k = 0; k < 3; k += 1) { yy = a; }", "PG0004"),
        ("for k in 0..3 yy = a;", "PG0004"),
        ("for k 0..3 { yy = a; } o += yy;", "PG0004"),
        ("for k in 0..3 { yy = ; } o += a;", "PG0004"),
        ("p[0] = a;", "PG0011"),
        ("p[2]; p[0] = a; o += p * v2;", "PG0047"),
        ("p[2]; p[0] = a; o += p[1];", "PG0047"),
        ("p[2]; p[0] = a; p[0] = b; p[1] = a; o += p * v2;", "PG0013"),
        ("p[2]; p[2] = a; o += p * v2;", "PG0045"),
        ("p[2]; p[0] = 1; p[1] = 2; o += p & 3;", "PG0033"),
        ("p[2]; p[0] = a; p[1] = f; o += p * v2;", "PG0041"),
        ("p[2]; p[0] = v; o += p * v2;", "PG0044"),
        ("p[2]; p[0][1] = a; o += p * v2;", "PG0046"),
        ("p[0]; o += a;", "PG0024"),
        ("p[2][2][2]; o += a;", "PG0024"),
        ("p[40][40]; o += a;", "PG0024"),
        ("p = a; p[0] = b; o += p;", "PG0046"),
        ("v[0] = a;", "PG0016"),
        ("vo[0] = a;", "PG0016"),
    ]);
}

#[test]
fn a_mistake_in_a_loop_says_in_which_pass() {
    let errors = compile("for k in 1..9 { yy = v[k]; }").err().unwrap();
    assert_eq!(errors[0].notes, ["in the pass with `k` = 3"]);
    assert_eq!(errors.len(), 1);
}

#[test]
fn unbounded_loops_get_an_answer_at_once() {
    for text in [
        "nn = 0; for k in 0..1000000000 { nn = nn + 1; } o += nn;",
        "for k in 0..9223372036854775807 { }",
        "s = a; for k in 0..1000000000 { s = s + a; } o += s;",
        "for i in 0..100000 { for j in 0..100000 { for k in 0..0 { yy = a; } } }",
    ] {
        let start = std::time::Instant::now();
        let before = spent(start);
        assert_eq!(compile(text).err().unwrap()[0].code, "PG0053", "{text}");
        let took = spent(start) - before;
        if std::env::var_os("TIMES").is_some() {
            println!("{took:?}: {text}");
        }
        assert!(took.as_secs() < 5, "{text}: {took:?}");
    }
}
