//! Warnings about values: what they must say, and the idioms on which they must be silent.

/// Pins of many formats.
const PINS: &str =
    "int8 a ipin; int8 b jpin; uint8 u ipin; uint8 v jpin; int32 p[3] ipin; int32 q[3] jpin; int64 w jpin;
fixed16.8 x ipin; fixed16.8 y jpin; fixed32.31 c[3] ipin; fixed32.31 d[3] jpin; float18.9 f jpin; float18.9 g ipin;
float32.23 h jpin; uint5 n param;\n";

/// The codes of the warnings about `z = expression;`, but for those of unused pins.
fn codes(expression: &str) -> String {
    let text = format!("{PINS}z = {expression};\nfloat32.23 o fout;\no max= z == z ? 1 : 0;");
    // `z == z` is itself a finding, so that `z` may have any format: it is taken out again.
    let compiled = pg2::compile("warned", &text).unwrap_or_else(|e| panic!("{expression}: {e:#?}"));
    let warnings = compiled.warnings.iter().filter(|d| d.code != "PG0102" && d.span().of(&text) != "z == z");
    let found: Vec<&str> = warnings.inspect(|d| assert!(d.help.is_some())).map(|d| d.code).collect();
    found.join(" ")
}

fn check(cases: &[(&str, &str)]) {
    for (expression, want) in cases {
        assert_eq!(codes(expression), *want, "{expression}");
    }
}

#[test]
fn values_that_can_leave_their_format_are_warned_of() {
    check(&[
        ("a * b", "PG0103"),
        ("(int16)a * b", ""),
        ("(int16)a * a + (int16)b * b", ""),
        ("(int16)a * a + (int16)b * b + (int16)a * b", "PG0103"),
        ("(int16)a * b * 2 * 4", "PG0103"),
        ("a + b", "PG0103"),
        ("(int9)a + b", ""),
        ("a + b - a", ""),
        ("a - b", ""),
        ("(p - q)[0]", ""),
        ("a + 1", ""),
        ("a + 100", "PG0103"),
        ("a * 3", "PG0103"),
        ("(a & 15) * 3", ""),
        ("(a & 15) * 9", "PG0103"),
        ("a % 10 + b % 10", ""),
        ("a % 10 * (b % 13)", ""),
        ("a / 16 * b", "PG0103"),
        ("a / 16 * (b / 8)", ""),
        ("-a + 0", ""),
        ("pg_abs(a)", ""),
        ("u + v", "PG0103"),
        ("u - v", ""),
        ("(u & 127) - v", "PG0103"),
        ("a << 1", "PG0103"),
        ("(int16)a << 8", ""),
        ("(int16)a << 9", "PG0103"),
        ("(q - p) * (q - p)", "PG0103"),
        ("w * w", ""),
        ("x * y", "PG0103"),
        ("x + y", "PG0103"),
        ("(fixed32.8)x * (fixed32.8)y", ""),
        ("c[0] * d[0]", ""),
        ("c * d", "PG0103"),
        ("(fixed34.31)c * (fixed34.31)d", ""),
        ("f * g + f", ""),
        ("(int32)f * (int32)g", "PG0103"),
        ("(int32)a << n", ""),
    ]);
}

#[test]
fn casts_that_can_lose_bits_are_warned_of() {
    check(&[
        ("(int8)p[0]", "PG0104"),
        ("(int8)(p[0] & 255)", ""),
        ("(int8)(p[0] & 256)", "PG0104"),
        ("(int8)(p[0] >> 24)", ""),
        ("(int8)pg_min(pg_max(p[0], -100), 100)", ""),
        ("(uint8)a", ""),
        ("(uint64)a", ""),
        ("(uint8)p[0]", "PG0104"),
        ("(fixed16.4)x", "PG0104"),
        ("(fixed16.4)(x >> 4 << 4)", ""),
        ("(fixed32.4)(((fixed32.8)x) >> 4 << 4)", ""),
        ("(fixed12.8)x", "PG0104"),
        ("(fixed12.8)pg_max(pg_min(x, 7), -8)", ""),
        ("(int8)x", ""),
        ("(int7)x", "PG0104"),
        ("(fixed16.8)a", ""),
        ("(fixed16.9)a", "PG0104"),
        ("(fixed32.16)x", ""),
        ("((float18.9)(p - q))[0]", ""),
        ("(float18.9)h", ""),
        ("(float16.10)h", "PG0104"),
        ("(float16.10)(h >> 115)", ""),
        ("(float16.10)p[0]", "PG0104"),
        ("(float16.10)a", ""),
        ("(int32)f", ""),
        ("(fixed32.16)f", ""),
    ]);
}

#[test]
fn what_is_always_the_same_is_warned_of() {
    check(&[
        ("u >= 0", "PG0105"),
        ("u < 0", "PG0105"),
        ("a >= 0", ""),
        ("a < -128", "PG0105"),
        ("a == -128", ""),
        ("a <= 127", "PG0105"),
        ("(int16)a == 200", "PG0105"),
        ("(u | 1) ? a : b", "PG0105"),
        ("!(u & 0)", "PG0105"),
        ("!u", ""),
        ("a == a", "PG0105"),
        ("a < b", ""),
        ("f * f < 0", "PG0105"),
        ("f * f >= 0", "PG0105"),
        ("f * f == 0", ""),
        ("f * f > 0", ""),
        ("pg_abs(f) > -1", "PG0105"),
        ("f > -1", ""),
        ("f != 0", ""),
        ("(int8)3 == 3 ? a : b", ""),
        ("(int16)u >> 8", "PG0106"),
        ("(int16)a >> 8", ""),
        ("u >> 7", ""),
        ("((uint16)u << 8) << 8", "PG0103 PG0106"),
        ("h >> 4000", "PG0106"),
        ("h >> 100", ""),
        ("(a & 0) >> 1", ""),
    ]);
}

#[test]
fn shipped_kernels_are_silent() {
    let shipped = pg2::kernels::KERNELS.iter().map(|k| (k.name.to_string(), k.text.to_string()));
    let made = (1..=8).map(|order| (format!("m2l of order {order}"), pg2::gen_m2l(order).unwrap()));
    for (name, text) in shipped.chain(made) {
        let compiled = pg2::compile("k", &text).unwrap_or_else(|e| panic!("{name}: {e:#?}"));
        assert_eq!(compiled.warnings, [], "{name}");
    }
}

#[test]
fn a_place_is_warned_of_once() {
    let text = "int32 a[3] ipin; int32 b[3] jpin; int32 o[3] fout; o += (a - b) * 3;";
    let compiled = pg2::compile("once", text).unwrap();
    assert_eq!(compiled.warnings.iter().map(|d| d.code).collect::<Vec<_>>(), ["PG0103"]);
    // What follows from it is not warned of again.
    let text = "int32 a ipin; int32 b jpin; int32 o fout; s = a * b; t = s * s + s; o += t << 3;";
    let compiled = pg2::compile("once", text).unwrap();
    assert_eq!(compiled.warnings.iter().map(|d| d.span().of(text)).collect::<Vec<_>>(), ["a * b"]);
}
