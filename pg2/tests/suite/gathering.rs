//! Bits, whole numbers, vectors written out, names of formats, values of parameters, and several reductions into one output.

use crate::cases::{check, compile, reduced, refuse};

#[test]
fn bits_and_whole_numbers_have_operators_of_their_own() {
    check(&[
        ("a[7]", "field<7,7>(a)"),
        ("u[6:3]", "field<6,3>(u)"),
        ("(a + b)[3:0]", "field<3,0>(add(a, b))"),
        ("v[1][7:4]", "field<7,4>(v[1])"),
        ("v[1][0]", "field(v[1])"),
        ("pg_bits(f)[17]", "field<17,17>(bits(f))"),
        ("pg_from_bits(c, fixed16.8)", "frombits:fixed16.8(c)"),
        ("pg_floor(x)", "xfloor(x)"),
        ("pg_round(f)", "fround(f)"),
        ("pg_popcount(u)", "popcount(u)"),
        ("pg_floor(-2.5) + a", "add(-3:int8, a)"),
        ("pg_ceil(-2.5) + a", "add(-2:int8, a)"),
        ("pg_round(-2.5) + a", "add(-3:int8, a)"),
        ("pg_trunc(2.5) + a", "add(2:int8, a)"),
    ]);
}

#[test]
fn vectors_are_written_out_and_functions_go_element_by_element() {
    check(&[
        ("(-a, -b, 1)", "neg(a); neg(b); 1:int8"),
        ("(a, -c, b)", "icast:int16(a); neg(c); icast:int16(b)"),
        ("pg_max(v, w)", "max(v[0], w[0]); max(v[1], w[1]); max(v[2], w[2])"),
        ("pg_min(v, 3)", "min(v[0], 3:int8); min(v[1], 3:int8); min(v[2], 3:int8)"),
        ("pg_abs(v)", "abs(v[0]); abs(v[1]); abs(v[2])"),
        ("t ? v : 0", "mux(t, v[0], 0:int8); mux(t, v[1], 0:int8); mux(t, v[2], 0:int8)"),
        ("pg_cross(v, w)[2]", "sub(mul(v[0], w[1]), mul(v[1], w[0]))"),
        ("pg_dot(v, w)", "add(add(mul(v[0], w[0]), mul(v[1], w[1])), mul(v[2], w[2]))"),
        ("pg_norm2(v2)", "add(mul(v2[0], v2[0]), mul(v2[1], v2[1]))"),
        ("((a, b), (b, -a))[1][1]", "neg(a)"),
    ]);
}

#[test]
fn vectors_of_numbers_take_the_format_of_what_they_meet() {
    check(&[
        ("pg_cross(v, (0, 0, 1))[0]", "sub(mul(v[1], 1:int8), mul(v[2], 0:int8))"),
        ("pg_dot((1, -2, 3), v)", "add(add(mul(1:int8, v[0]), mul(-2:int8, v[1])), mul(3:int8, v[2]))"),
        ("(1, 2) + v2", "add(1:int8, v2[0]); add(2:int8, v2[1])"),
        ("v2 - 2 * (1, 1.5)", "sub(v2[0], 2:int8); sub(v2[1], 3:int8)"),
        ("pg_max(v2, -(1, 2))", "max(v2[0], -1:int8); max(v2[1], -2:int8)"),
        ("t ? v2 : (1, 2)", "mux(t, v2[0], 1:int8); mux(t, v2[1], 2:int8)"),
        ("(t ? (1, 2) : 0) + v2", "add(mux(t, 1:int8, 0:int8), v2[0]); add(mux(t, 2:int8, 0:int8), v2[1])"),
        ("(float18.9)(1, 1/2)", "1.0:float18.9; 0.5:float18.9"),
        ("pg_cross((1, 0, 0), (0, 1, 0))[2] + a", "add(1:int8, a)"),
        ("(pg_norm2((3, 4)) + (1, 2) * (3, 4)) + a", "add(36:int8, a)"),
        ("((1, 2), (3, 4))[1][0] + a", "add(3:int8, a)"),
        ("((1, 2), v2)[0][1]", "2:int8"),
    ]);
    assert_eq!(reduced("const k = (1, 2); o += k[1] * a;", "o"), "+= icast:int32(mul(2:int8, a))");
    assert_eq!(reduced("k = (3, 4); k2 = t ? k : (5, 6); o += k2[0] + a;", "o"), {
        "+= icast:int32(add(mux(t, 3:int8, 5:int8), a))"
    });
    refuse(&[
        ("z = v + (1, 2);", "PG0043"),
        ("z = pg_cross(v, (1, 2));", "PG0043"),
        ("z = (1, 2) + (1, 2, 3);", "PG0043"),
        ("z = pg_max((1, 2), (3, 4));", "PG0033"),
        ("z = (1, 2) & 3;", "PG0033"),
        ("z = !(1, 2);", "PG0033"),
        ("z = pg_sqrt((1, 2));", "PG0033"),
        ("z = (1, 2) ? a : b;", "PG0033"),
        ("z = (1, 2)[2] + a;", "PG0045"),
        ("z = v2 + (1, 0.5);", "PG0031"),
    ]);
}

#[test]
fn functions_of_numbers_are_numbers() {
    check(&[
        ("sqrt(4) + a", "add(2:int8, a)"),
        ("pg_pow(3, 2, 1) + a", "add(9:int8, a)"),
        ("exp(0) + a", "add(1:int8, a)"),
        ("pg_floor(exp(1)) + a", "add(2:int8, a)"),
        ("dbl * pi", "fmul(dbl, 3.141592653589793:float64.52)"),
        ("dbl * sqrt(2)", "fmul(dbl, 1.4142135623730951:float64.52)"),
        ("dbl * log(10)", "fmul(dbl, 2.302585092994046:float64.52)"),
        ("dbl * (4 * atan(1))", "fmul(dbl, 3.141592653589793:float64.52)"),
        ("dbl * (2 / sqrt(pi))", "fmul(dbl, 1.1283791670955126:float64.52)"),
    ]);
    assert_eq!(reduced("const pi = 3; o += a * pi;", "o"), "+= icast:int32(mul(a, 3:int8))");
}

#[test]
fn several_terms_are_one_sum_with_its_carries() {
    let a = "icast:int32(a)";
    let b = "icast:int32(b)";
    assert_eq!(reduced("o += a; o += b;", "o"), format!("+= total(add({a}, {b}), carry({a}, {b}))"));
    assert_eq!(reduced("o -= a;", "o"), format!("+= total(sub(0:int32, {a}), borrow(0:int32, {a}))"));
    assert_eq!(reduced("fo max= f; fo max= g;", "fo"), "max= max(f, g)");
    // What a branch adds is chosen by itself.
    let taken = format!("mux(t, {b}, 0:int32)");
    let sum = format!("+= total(add({a}, {taken}), carry({a}, {taken}))");
    assert_eq!(reduced("o += a; if (t) { o += b; }", "o"), sum);
    let taken = format!("mux(t, {a}, {b})");
    assert_eq!(reduced("if (t) { o += a; } else { o += b; }", "o"), format!("+= {taken}"));
    assert_eq!(
        reduced("for k in 0..2 { vo[k] max= v[k]; vo[k] max= w[k]; } vo[2] += a;", "vo").matches("max(").count(),
        2
    );
    assert_eq!(reduced("s = a; for k in 0..2 { s -= v[k]; } o += s;", "o"), {
        "+= icast:int32(sub(sub(a, v[0]), v[1]))"
    });
}

#[test]
fn formats_have_names_and_go_into_functions() {
    let two = "type R = fixed16.8; fn both(p, F) = (F)p + (F)(p); R k jpin; ";
    assert_eq!(
        reduced(&format!("{two} z = both(a, R) + k; xo += (fixed32.8)z;"), "xo"),
        "+= xcast:fixed32.8(add(add(xcast:fixed16.8(a), xcast:fixed16.8(a)), k))"
    );
    assert_eq!(reduced("type I = int32; o += (I)-a;", "o"), "+= icast:int32(neg(a))");
}

#[test]
fn parameters_may_have_values() {
    let graph =
        compile("float18.9 e param = 0.25; param int8 k[2] = (-1, 0x7F); int8 q[2] param = 1 + 1; o += k[0];").unwrap();
    let of = |name: &str| {
        let pin = graph.pins.iter().find(|p| p.name == name).unwrap();
        (0..pin.elements()).map(|k| pin.default_number(k)).collect::<Vec<_>>()
    };
    assert_eq!(of("e"), [Some(0.25)]);
    assert_eq!(of("k"), [Some(-1.0), Some(127.0)]);
    assert_eq!(of("q"), [Some(2.0), Some(2.0)]);
    assert_eq!(of("n"), [None]);
}

#[test]
fn mistakes_are_refused() {
    refuse(&[
        ("z = a[8];", "PG0045"),
        ("z = a[3:5];", "PG0045"),
        ("z = a[8:1];", "PG0045"),
        ("z = a[n];", "PG0034"),
        ("z = a[u:0];", "PG0034"),
        ("z = f[3:0];", "PG0042"),
        ("z = v[3:0];", "PG0044"),
        ("z = 5[3:0];", "PG0033"),
        ("uo -= u;", "PG0041"),
        ("fo -= f;", "PG0027"),
        ("o += a; if (t) { o max= b; }", "PG0026"),
        ("z = pg_popcount(f);", "PG0042"),
        ("z = pg_popcount(s1);", "PG0042"),
        ("z = pg_floor(a);", "PG0042"),
        ("z = pg_from_bits(a, float18.9);", "PG0041"),
        ("z = pg_from_bits(a, b);", "PG0051"),
        ("z = pg_abs(float18.9);", "PG0004"),
        ("z = pg_cross(v, v2);", "PG0043"),
        ("z = pg_cross(v2, v2);", "PG0043"),
        ("z = pg_max(v, v2);", "PG0043"),
        ("z = (v, a);", "PG0043"),
        ("type R = float18.9; z = R + 1;", "PG0004"),
        ("type R = float18.9; type R = int8;", "PG0013"),
        ("type R = flot18.9;", "PG0021"),
        ("z = dbl * log(0);", "PG0071"),
        ("float18.9 k param = a;", "PG0034"),
        ("int8 k param = 300;", "PG0032"),
        ("int8 k[2] param = (1, 2, 3);", "PG0043"),
        ("int8 k jpin = 3;", "PG0004"),
    ]);
}
