//! Literals and constants (RULES L2): exact numbers that take the format of the other side, one row a case.

use crate::cases::{check, codes, reduced, refuse};

#[test]
fn literals_take_the_format_of_the_other_side() {
    check(&[
        ("a + 3", "add(a, 3:int8)"),
        ("0 - a", "sub(0:int8, a)"),
        ("f * -0.5", "fmul(f, -0.5:float18.9)"),
        ("f * (1/3)", "fmul(f, 0.33349609375:float18.9)"),
        ("x + 1/3", "add(x, 0.33203125:fixed16.8)"),
        ("x + 0.001953125", "add(x, 0:fixed16.8)"),
        ("x + 0.005859375", "add(x, 0.0078125:fixed16.8)"),
        ("t ? 0 : f", "mux(t, 0.0:float18.9, f)"),
        ("t ? a : 7", "mux(t, a, 7:int8)"),
        ("a + 0xFF", "add(a, -1:int8)"),
        ("a + 0b1000_0000", "add(a, -128:int8)"),
        ("u & 0xF0", "and(u, 240:uint8)"),
        ("u & ~0xF", "and(u, 240:uint8)"),
        ("u | ~0xFF", "or(u, 0:uint8)"),
        ("a & ~0b1111", "and(a, -16:int8)"),
        ("a ^ (0xF0 | 15)", "xor(a, -1:int8)"),
        ("a ^ (0x1 << 7)", "xor(a, -128:int8)"),
        ("a + ((0b11 ^ 0xFC) & 0xFF)", "add(a, -1:int8)"),
        ("wide & 0xFFFF_FFFF_FFFF_FFFF", "and(wide, -1:int64)"),
        ("wide ^ 0x8000000000000000", "xor(wide, -9223372036854775808:int64)"),
        ("a + -128", "add(a, -128:int8)"),
        ("a + (1 << 4) / 2", "add(a, 8:int8)"),
        ("a + (7 > 3)", "add(a, 1:int8)"),
        ("a + (5 & 6 | ~1)", "add(a, -2:int8)"),
        ("a + -7 % 3", "add(a, -1:int8)"),
        ("f * 1e-3", "fmul(f, 0.00099945068359375:float18.9)"),
        ("a + pg_max(2, pg_abs(-9))", "add(a, 9:int8)"),
        ("a + (1 ? 2 : 3)", "add(a, 2:int8)"),
        ("(float18.9)1.5 * f", "fmul(1.5:float18.9, f)"),
        ("dbl * 1e308", "fmul(dbl, 1e308:float64.52)"),
    ]);
    refuse(&[
        ("z = a + 0.5;", "PG0031"),
        ("z = a + 128;", "PG0032"),
        ("z = a + -129;", "PG0032"),
        ("z = a + 0x100;", "PG0032"),
        ("z = a + ~0x100;", "PG0032"),
        ("z = u + ~15;", "PG0032"),
        ("z = u + -0x1;", "PG0032"),
        ("z = a + (0x7F + 1);", "PG0032"),
        ("z = a + (0x1 << 8);", "PG0032"),
        ("z = u + -1;", "PG0032"),
        ("z = x + 128;", "PG0032"),
        ("z = f * 1e39;", "PG0032"),
        ("z = f * 1e-39;", "PG0032"),
        ("z = (int8)1.5;", "PG0031"),
        ("z = 1 / 0;", "PG0036"),
        ("z = 1 % 0;", "PG0036"),
        ("z = 1.5 & 1;", "PG0031"),
        ("z = pg_bits(2);", "PG0033"),
        ("z = 1 << n;", "PG0033"),
    ]);
}

#[test]
fn conditionals_of_literals_take_a_format_like_a_literal() {
    check(&[
        ("y * (t ? 1 : 0)", "xmul(y, mux(t, 1:fixed16.8, 0:fixed16.8))"),
        ("(t ? 2 : 3) + x", "add(mux(t, 2:fixed16.8, 3:fixed16.8), x)"),
        ("pg_max(t ? 1 : 2, f)", "max(mux(t, 1.0:float18.9, 2.0:float18.9), f)"),
        ("(int32)(t ? 1 : 0)", "mux(t, 1:int32, 0:int32)"),
        ("a + (t ? 1 : s1 ? 2 : 3)", "add(a, mux(t, 1:int8, mux(nz(s1), 2:int8, 3:int8)))"),
        ("a + ((t ? 1 : 0) ? 2 : 3)", "add(a, mux(mux(t, 1:uint1, 0:uint1), 2:int8, 3:int8))"),
        ("a + (t ? 0xFF : -128)", "add(a, mux(t, -1:int8, -128:int8))"),
        ("f * (t ? 1/3 : 0)", "fmul(f, mux(t, 0.33349609375:float18.9, 0.0:float18.9))"),
        ("t ? t ? 1 : 2 : a", "mux(t, mux(t, 1:int8, 2:int8), a)"),
        ("v2 * (t ? 1 : -1)", "mul(v2[0], mux(t, 1:int8, -1:int8)); mul(v2[1], mux(t, 1:int8, -1:int8))"),
        // Exact operators apply to each arm.
        ("x + -(t ? 1 : 2) / 4", "add(x, mux(t, -0.25:fixed16.8, -0.5:fixed16.8))"),
        ("a + (t ? 1 : 2) * 3", "add(a, mux(t, 3:int8, 6:int8))"),
        ("a + ((t ? 1 : 2) << 3)", "add(a, mux(t, 8:int8, 16:int8))"),
        ("a + (7 - pg_abs(t ? -1 : 2))", "add(a, mux(t, 6:int8, 5:int8))"),
        ("a + ~(t ? 1 : 2)", "add(a, mux(t, -2:int8, -3:int8))"),
        ("a + pg_min(t ? 1 : 9, 4)", "add(a, mux(t, 1:int8, 4:int8))"),
        ("u + ((t ? 1 : 2) > 1)", "add(u, mux(t, 0:uint8, 1:uint8))"),
        (
            "a + ((t ? 1 : 0) - (s1 ? 2 : 4))",
            "add(a, mux(t, mux(nz(s1), -1:int8, -3:int8), mux(nz(s1), -2:int8, -4:int8)))",
        ),
        // As conditions and operands of logic they are true where they are not zero.
        ("(t ? 3 : 0) && t", "and(mux(t, 1:uint1, 0:uint1), t)"),
        ("(t ? 3 : 0) ? a : b", "mux(mux(t, 1:uint1, 0:uint1), a, b)"),
    ]);
    assert_eq!(reduced("o += t ? 1 : 0;", "o"), "+= mux(t, 1:int32, 0:int32)");
    assert_eq!(reduced("uo += t ? 255 : 0;", "uo"), "+= mux(t, 255:uint8, 0:uint8)");
    assert_eq!(reduced("xo += t ? 0.5 : 0;", "xo"), "+= mux(t, 0.5:fixed32.8, 0:fixed32.8)");
    assert_eq!(reduced("fo max= t ? 0.5 : 0;", "fo"), "max= mux(t, 0.5:float18.9, 0.0:float18.9)");
    let named = "k = t ? 1 : 0; uo += k; o += a + k; fo min= f * k;";
    assert_eq!(reduced(named, "uo"), "+= mux(t, 1:uint8, 0:uint8)");
    assert_eq!(reduced(named, "fo"), "min= fmul(f, mux(t, 1.0:float18.9, 0.0:float18.9))");
    refuse(&[
        ("z = a + (t ? 0.5 : 200);", "PG0031 PG0032"),
        ("k = t ? 0.5 : 200; z = a + k;", "PG0031"),
        ("uo += t ? 1 : -1;", "PG0032"),
        ("z = a << (t ? 1 : 2);", "PG0049"),
        ("z = 1 << (t ? 1 : 2);", "PG0033"),
        ("z = (t ? 1 : 2) << n;", "PG0033"),
        ("z = v[t ? 1 : 2];", "PG0034"),
        ("z = pg_pow(f, t ? 1 : 2, 2);", "PG0034"),
        ("z = pg_sqrt(t ? 1 : 2);", "PG0033"),
        ("z = (t ? 1 : 2)[0];", "PG0046"),
        ("z = (t ? 0.5 : 1) & 1;", "PG0031"),
        ("z = (t ? 0 : 1) ? a : f;", "PG0041"),
        ("z = 1 / (t ? 0 : 1);", "PG0036"),
        ("const k = t ? 1 : 2; o += k;", "PG0034"),
        ("vo += t ? 1 : 2;", "PG0044"),
        ("z = f ? 1 : 2;", "PG0048"),
        ("z = v ? 1 : 2;", "PG0044"),
    ]);
    // The choice of a product of conditionals doubles each time, which is bounded.
    let product = |n: usize| format!("o += {};", vec!["(t ? 1 : 2)"; n].join("*"));
    assert_eq!((codes(&product(10)), codes(&product(11))), ("none".into(), "PG0035".into()));
}

#[test]
fn names_of_exact_numbers_stay_exact() {
    for definition in ["k = -1/3;", "const k = -1/3;", "const j = 3; k = -(1 / j);"] {
        let statements = format!("{definition} o += a; z = f * k; fo max= z; xo += (fixed32.8)(x * k);");
        assert_eq!(reduced(&statements, "fo"), "max= fmul(f, -0.33349609375:float18.9)", "{definition}");
        assert_eq!(reduced(&statements, "xo"), "+= xcast:fixed32.8(xmul(x, -0.33203125:fixed16.8))", "{definition}");
    }
    assert_eq!(reduced("k = 0xFF; m = k; uo += m; o += a + m;", "o"), "+= icast:int32(add(a, -1:int8))");
    assert_eq!(codes("const k = (int8)3; o += a << k;"), "none");
    refuse(&[("const k = a;", "PG0034"), ("const k = 1; k = 2;", "PG0013")]);
}

#[test]
fn constants_are_exact_and_bounded() {
    assert_eq!(codes("z = a + (1 << 2000 >> 2000);"), "none");
    assert_eq!(codes("z = a + (1e300 * 1e300 / 1e300 / 1e300);"), "none");
    refuse(&[
        ("z = a + (1 << 3000);", "PG0035"),
        ("z = a + 1e100000;", "PG0035"),
        ("z = a + 1e999999999999;", "PG0035"),
        ("z = a + 12abc;", "PG0003"),
        ("z = a + 1.0f;", "PG0003"),
        ("z = a + 0x;", "PG0003"),
        ("z = a + 010;", "PG0003"),
        ("z = a + 1.2.3;", "PG0003"),
        ("z = a + 1e;", "PG0003"),
    ]);
    let squares: String = (1..40).map(|k| format!("k{k} = k{} * k{};", k - 1, k - 1)).collect();
    assert_eq!(codes(&format!("k0 = 3; {squares}")), "PG0035");
}
