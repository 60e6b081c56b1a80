//! The language rules (RULES part L), one row a case.

use crate::cases::{check, codes, compile, reduced, refuse, show, source};

#[test]
fn operators_have_c_precedence_and_associate_to_the_left() {
    check(&[
        ("a - b - a", "sub(sub(a, b), a)"),
        ("a - b * a", "sub(a, mul(b, a))"),
        ("a + b << 2", "shl<2,0>(add(a, b))"),
        ("a < b & t", "and(lt(a, b), t)"),
        ("a | b ^ a & b", "or(a, xor(b, and(a, b)))"),
        ("t || t && t", "or(t, and(t, t))"),
        ("a < b == t", "eq(lt(a, b), t)"),
        ("-a * b", "mul(neg(a), b)"),
        ("-~a", "neg(not(a))"),
        ("t ? a : t ? b : a", "mux(t, a, mux(t, b, a))"),
        ("a / b % a", "rem(div(a, b), a)"),
        ("-v[1]", "neg(v[1])"),
        ("(int16)a + c", "add(icast:int16(a), c)"),
        ("a >> 1 << 2", "shl<2,0>(shr<1,0>(a))"),
    ]);
}

#[test]
fn each_class_of_format_has_its_operators() {
    check(&[
        ("a + b", "add(a, b)"),
        ("x + y", "add(x, y)"),
        ("f + g", "fadd(f, g)"),
        ("a - b", "sub(a, b)"),
        ("f - g", "fsub(f, g)"),
        ("a * b", "mul(a, b)"),
        ("x * y", "xmul(x, y)"),
        ("f * g", "fmul(f, g)"),
        ("a / b", "div(a, b)"),
        ("x / y", "xdiv(x, y)"),
        ("f / g", "fdiv(f, g)"),
        ("a % b", "rem(a, b)"),
        ("-x", "neg(x)"),
        ("-f", "fneg(f)"),
        ("-u", "neg(u)"),
        ("a ^ b", "xor(a, b)"),
        ("f < g", "lt(f, g)"),
        ("f > g", "lt(g, f)"),
        ("x <= y", "le(x, y)"),
        ("x >= y", "le(y, x)"),
        ("f == g", "eq(f, g)"),
        ("u != u", "ne(u, u)"),
        ("pg_abs(a)", "abs(a)"),
        ("pg_abs(f)", "fabs(f)"),
        ("pg_min(a, c)", "min(icast:int16(a), c)"),
        ("pg_max(f, 2)", "max(f, 2.0:float18.9)"),
    ]);
    refuse(&[
        ("z = f % g;", "PG0042"),
        ("z = x & y;", "PG0042"),
        ("z = f | 1;", "PG0042"),
        ("z = ~f;", "PG0042"),
        ("z = ~x;", "PG0042"),
        ("z = x ^ y;", "PG0042"),
    ]);
}

#[test]
fn shift_amounts_are_plain_integers() {
    check(&[
        ("a << 3", "shl<3,0>(a)"),
        ("x >> 15", "shr<15,0>(x)"),
        ("f << 45", "fscale<45,0>(f)"),
        ("f >> 3", "fscale<-3,0>(f)"),
        ("f << -3", "fscale<-3,0>(f)"),
        ("a << n", "shlv(a, n)"),
        ("a >> un", "shrv(a, un)"),
        ("f << n", "fscalev<0,1>(f, n)"),
        ("f >> un", "fscalev<0,-1>(f, un)"),
        ("f << nv[1]", "fscalev<0,1>(f, nv[1])"),
        ("a << (int8)2", "shl<2,0>(a)"),
    ]);
    refuse(&[
        ("z = a << 8;", "PG0050"),
        ("z = a << -1;", "PG0050"),
        ("z = x >> 16;", "PG0050"),
        ("z = a << b;", "PG0049"),
        ("z = f << g;", "PG0049"),
        ("z = f << fp;", "PG0049"),
        ("z = a << 1.5;", "PG0031"),
        ("z = f << 100000;", "PG0050"),
    ]);
}

#[test]
fn powers_reduce_their_exponent() {
    check(&[
        ("pg_pow(f, -1, 2)", "pow<-1,2>(f)"),
        ("pg_pow(f, 4, 8)", "pow<1,2>(f)"),
        ("pg_pow(f, 3, -1)", "pow<-3,1>(f)"),
        ("pg_pow(f, 0, 2)", "pow<0,1>(f)"),
        ("pg_pow(f, 32, 2)", "pow<16,1>(f)"),
        ("pg_sqrt(f)", "pow<1,2>(f)"),
        ("pg_rsqrt(f)", "pow<-1,2>(f)"),
        ("pg_inv(h)", "pow<-1,1>(h)"),
    ]);
    refuse(&[
        ("z = pg_pow(f, 1, 3);", "PG0052"),
        ("z = pg_pow(f, 1, 0);", "PG0052"),
        ("z = pg_pow(f, 17, 1);", "PG0052"),
        ("z = pg_pow(f, -9223372036854775808, -1);", "PG0052"),
        ("z = pg_pow(f, n, 2);", "PG0034"),
        ("z = pg_pow(f, 0.5, 1);", "PG0031"),
        ("z = pg_pow(a, 1, 2);", "PG0042"),
        ("z = pg_sqrt(x);", "PG0042"),
        ("z = pg_inv(dbl);", "none"),
        ("z = pg_log(dbl);", "none"),
        ("z = pg_log2(dbl);", "none"),
        ("z = pg_sin(dbl);", "PG0042"),
        ("z = pg_tanh(dbl);", "PG0042"),
        ("z = pg_pow(f, 1);", "PG0051"),
        ("z = pg_sqrt();", "PG0051"),
        ("z = pg_sumsq(f);", "PG0044"),
    ]);
}

#[test]
fn ints_of_one_signedness_extend_and_other_mixes_are_errors() {
    check(&[
        ("a + c", "add(icast:int16(a), c)"),
        ("c < a", "lt(c, icast:int16(a))"),
        ("t ? a : c", "mux(t, icast:int16(a), c)"),
        ("u + t", "add(u, icast:uint8(t))"),
        ("v + v16", "add(icast:int16(v[0]), v16[0]); add(icast:int16(v[1]), v16[1]); add(icast:int16(v[2]), v16[2])"),
    ]);
    assert_eq!(reduced("o += a;", "o"), "+= icast:int32(a)");
    assert_eq!(reduced("uo max= t;", "uo"), "max= icast:uint8(t)");
    refuse(&[
        ("z = a + u;", "PG0041"),
        ("z = f + h;", "PG0041"),
        ("z = f + a;", "PG0041"),
        ("z = x + x4;", "PG0041"),
        ("z = x * ux;", "PG0041"),
        ("z = x + a;", "PG0041"),
        ("z = t ? f : h;", "PG0041"),
        ("z = pg_min(a, u);", "PG0041"),
        ("o += wide;", "PG0041"),
        ("o += u;", "PG0041"),
        ("xo += x;", "PG0041"),
        ("fo max= h;", "PG0041"),
    ]);
    let help = |statements: &str| compile(statements).err().unwrap()[0].help.clone().unwrap();
    assert_eq!(help("z = f * a;"), "write `(float18.9)a`");
    assert_eq!(help("z = a + u;"), "write `(int9)u`");
    assert_eq!(help("z = f * (a + b);"), "write `(float18.9)(a + b)`");
    assert_eq!(
        help("o += f * g;"),
        "declare `o` as `fixed64.30`, or as another int or fixed that holds the sum, and write `(fixed64.30)(f * g)`; `(int32)` \
         would round to whole numbers"
    );
}

#[test]
fn casts_choose_their_operator_by_the_two_sides() {
    check(&[
        ("(int16)u", "icast:int16(u)"),
        ("(int4)a", "icast:int4(a)"),
        ("(fixed16.8)a", "xcast:fixed16.8(a)"),
        ("(int8)x", "xcast:int8(x)"),
        ("(fixed16.4)x", "xcast:fixed16.4(x)"),
        ("(float18.9)a", "tofloat:float18.9(a)"),
        ("(float18.9)x", "tofloat:float18.9(x)"),
        ("(int64)f", "tofix:int64(f)"),
        ("(fixed16.8)f", "tofix:fixed16.8(f)"),
        ("(float32.23)f", "fcast:float32.23(f)"),
        ("-(float18.9)f", "fneg(f)"),
        ("(float18.9)v", "tofloat:float18.9(v[0]); tofloat:float18.9(v[1]); tofloat:float18.9(v[2])"),
        ("(int8)(int16)a", "icast:int8(icast:int16(a))"),
    ]);
    refuse(&[
        ("z = (float18)a;", "PG0021"),
        ("z = (int65)a;", "PG0022"),
        ("z = (fixed8.9)a;", "PG0022"),
        ("z = (float20.9)a;", "none"),
        ("z = (float18.15)a;", "none"),
        ("z = (float18.16)a;", "PG0022"),
        ("z = (double)a;", "PG0021"),
        ("z = (flaot18.9)a;", "PG0021"),
    ]);
}

#[test]
fn conditions_are_ints_and_give_uint1() {
    check(&[
        ("a ? f : g", "mux(nz(a), f, g)"),
        ("!a", "isz(a)"),
        ("a && t", "and(nz(a), t)"),
        ("s1 || 1", "or(nz(s1), 1:uint1)"),
        ("(1 && a) + t", "add(and(1:uint1, nz(a)), t)"),
        ("2 ? a : b", "mux(1:uint1, a, b)"),
    ]);
    refuse(&[
        ("z = f ? a : b;", "PG0048"),
        ("z = !x;", "PG0048"),
        ("z = x && t;", "PG0048"),
        ("z = 0.5 ? a : b;", "PG0031"),
        ("z = 0.5 ? 1 : 2;", "PG0031"),
        ("z = q ? 1 : 2;", "PG0011"),
        ("z = v ? a : b;", "PG0044"),
    ]);
}

#[test]
fn the_arms_of_a_choice_have_one_format_and_length() {
    check(&[("t ? v : w", "mux(t, v[0], w[0]); mux(t, v[1], w[1]); mux(t, v[2], w[2])")]);
    refuse(&[("z = t ? v : v2;", "PG0043"), ("z = t ? v : a;", "PG0043")]);
}

#[test]
fn vectors_are_elementwise_and_their_product_is_the_inner_product() {
    check(&[
        ("v - w", "sub(v[0], w[0]); sub(v[1], w[1]); sub(v[2], w[2])"),
        ("-v", "neg(v[0]); neg(v[1]); neg(v[2])"),
        ("~v", "not(v[0]); not(v[1]); not(v[2])"),
        ("v << 1", "shl<1,0>(v[0]); shl<1,0>(v[1]); shl<1,0>(v[2])"),
        ("v * a", "mul(v[0], a); mul(v[1], a); mul(v[2], a)"),
        ("a * v", "mul(a, v[0]); mul(a, v[1]); mul(a, v[2])"),
        ("2 * fv", "fmul(2.0:float18.9, fv[0]); fmul(2.0:float18.9, fv[1]); fmul(2.0:float18.9, fv[2])"),
        ("v / a", "div(v[0], a); div(v[1], a); div(v[2], a)"),
        ("v * w", "add(add(mul(v[0], w[0]), mul(v[1], w[1])), mul(v[2], w[2]))"),
        ("fv * fw", "fadd(fadd(fmul(fv[0], fw[0]), fmul(fv[1], fw[1])), fmul(fv[2], fw[2]))"),
        ("xv * xw", "add(add(xmul(xv[0], xw[0]), xmul(xv[1], xw[1])), xmul(xv[2], xw[2]))"),
    ]);
    refuse(&[
        ("z = v + v2;", "PG0043"),
        ("z = v * v2;", "PG0043"),
        ("z = v + a;", "PG0044"),
        ("z = v + 1;", "PG0044"),
        ("z = a / v;", "PG0044"),
        ("z = v / w;", "PG0044"),
        ("z = v % a;", "PG0044"),
        ("z = v & w;", "PG0044"),
        ("z = v < w;", "PG0044"),
        ("z = !v;", "PG0044"),
        ("z = v && t;", "PG0044"),
        ("z = pg_dot(a, v);", "PG0044"),
        ("z = v << w;", "PG0049"),
        ("z = v[3];", "PG0045"),
        ("z = v[-1];", "PG0045"),
        ("z = v[a];", "PG0034"),
        ("z = v[0.5];", "PG0031"),
        ("z = f[0];", "PG0046"),
        ("z = 3[0];", "PG0046"),
        ("z = fv[0][0];", "PG0046"),
    ]);
    let text = source("z = (v - w)[2]; o += z;");
    let graph = pg2::compile("t", &text).unwrap().graph;
    assert_eq!(show(&graph, graph.outputs[0].value), "icast:int32(sub(v[2], w[2]))");
}

#[test]
fn names_are_assigned_once_before_use_and_outputs_are_never_read() {
    refuse(&[
        ("z = a; z = b;", "PG0013"),
        ("a = b;", "PG0016"),
        ("o = b;", "PG0016"),
        ("z = y2; y2 = a;", "PG0012"),
        ("z = q;", "PG0011"),
        ("z = o + a;", "PG0015"),
        ("int8 a jpin;", "PG0013"),
        ("int8 ipin jpin;", "PG0014"),
        ("int32 = 3;", "PG0014"),
        ("pg_x = 3;", "PG0014"),
        ("const = 3;", "PG0014"),
        ("z = ipin;", "PG0004"),
        ("int8 v_1 ipin;", "PG0017"),
        ("int8 v_1 jpin;", "none"),
        ("z = sqrt(f);", "PG0018"),
        ("z = pg_sqr(f);", "PG0018"),
    ]);
}

#[test]
fn each_output_element_has_one_reduction() {
    assert_eq!(reduced("vo += (int32)v;", "vo"), "+= icast:int32(v[0]); += icast:int32(v[1]); += icast:int32(v[2])");
    assert_eq!(reduced("vo += v;", "vo"), "+= icast:int32(v[0]); += icast:int32(v[1]); += icast:int32(v[2])");
    assert_eq!(
        reduced("vo[2] += a; vo[0] min= 5; vo[1] max= -1;", "vo"),
        "min= 5:int32; max= -1:int32; += icast:int32(a)"
    );
    assert_eq!(reduced("fo max= f;", "fo"), "max= f");
    assert_eq!(reduced("fo min= 0.5;", "fo"), "min= 0.5:float18.9");
    assert_eq!(reduced("o += a * 2;", "o"), "+= icast:int32(mul(a, 2:int8))");
    refuse(&[
        ("o += a; o max= b;", "PG0026"),
        ("vo += v; vo[1] min= a;", "PG0026"),
        ("vo[0] += a; vo[1] += a;", "PG0025"),
        ("fo += f;", "PG0027"),
        ("vo += a;", "PG0044"),
        ("vo += v2;", "PG0043"),
        ("vo[0] += v; vo[1] += a; vo[2] += a;", "PG0044"),
        ("vo[3] += a; vo[0] += a; vo[1] += a; vo[2] += a;", "PG0045"),
        ("o[0] += a;", "PG0046"),
        ("o += v;", "PG0044"),
        ("z += a;", "PG0011"),
        ("a += b;", "PG0029"),
        ("late += a; int64 late fout;", "PG0012 PG0025"),
        ("o *= a;", "PG0009"),
        ("o *= a;", "PG0009"),
        ("v[0] = a;", "PG0016"),
        ("o += 0.5;", "PG0031"),
    ]);
    assert_eq!(pg2::compile("k", "int8 a ipin;").err().unwrap()[0].code, "PG0028");
    assert_eq!(pg2::compile("k", "").err().unwrap()[0].code, "PG0028");
}

#[test]
fn declarations_name_a_format_a_name_and_a_class() {
    refuse(&[
        ("int8 k;", "PG0023"),
        ("int8 k jipn;", "PG0023"),
        ("int0 k jpin;", "PG0022"),
        ("int32.4 k jpin;", "PG0021"),
        ("flot18.9 k jpin;", "PG0021"),
        ("double k jpin;", "PG0021"),
        ("int8 k[0] jpin;", "PG0024"),
        ("int8 k[1000000] jpin;", "PG0024"),
        ("int8 k[a] jpin;", "PG0034"),
        ("const L = 2; int8 k[L + 1] jpin; z = k[2];", "none"),
        ("int8 k[2 jpin;", "PG0004"),
    ]);
}

#[test]
fn all_errors_of_a_file_are_found_at_once() {
    assert_eq!(codes("z = a +; y1 = q; int8 a2 ipn; z2 = f % g; z3 = z + a2;"), "PG0004 PG0011 PG0023 PG0042");
    assert_eq!(codes("z = (a + b\n y1 = a + b;\n y2 = q;"), "PG0004 PG0011");
    assert_eq!(codes("z = a + b\n y1 = z + q;"), "PG0005 PG0011");
    assert_eq!(codes("o += a +; "), "PG0004");
    assert_eq!(codes("} z = q;"), "PG0004 PG0011");
}

#[test]
fn near_misses_of_the_rules_are_refused() {
    refuse(&[
        ("o += t ? u : 1;", "PG0041"),
        ("o += a + (t ? u : 1);", "PG0041"),
        ("o += a < b;", "PG0041"),
        ("o += a << (n + 1);", "PG0049"),
        ("o += a << (u > 3);", "PG0049"),
        ("o += a << 0x7FFFFFFFFFFFFFFFF;", "PG0050"),
        ("o += (int32)(f << 4097);", "PG0050"),
        ("o += a * 1.0e-1;", "PG0031"),
        ("o += a + 08;", "PG0003"),
        ("o += a + 0b12;", "PG0003"),
        ("o += a + 1_000;", "PG0003"),
        ("o += (v * v)[0];", "PG0041"),
        ("o += (int8)f[0];", "PG0046"),
        ("o += (v < v)[0];", "PG0044"),
        ("o += pg_min(v, v);", "PG0044"),
        ("o += (v + 1)[0];", "PG0044"),
        ("o += (a)(b);", "PG0021"),
        ("o += a; o max= b;", "PG0026"),
        ("o += t ? a;", "PG0004"),
        ("o += (int32)pg_pow(f, 1, 2, 3);", "PG0051"),
        // Odd, but as the grammar and the rules have it.
        ("o += a+++b;", "none"),
        ("o += a---b;", "none"),
        ("o max = a * 2e1;", "none"),
        ("o += a / 0;", "none"),
        ("m = n; o += a << m;", "none"),
        ("o += (int32)pg_pow(f, -6, -4);", "none"),
        ("max = a; o max= max;", "none"),
        ("o += (t ? v : w)[1] + (v)[2];", "none"),
        ("o += (uint1)a ? 1 : 0;", "none"),
    ]);
}

#[test]
fn functions_are_made_of_real_parts() {
    refuse(&[
        ("z = pg_fn(f, f & f, 0, 1); y1 = z;", "PG0071"),
        ("z = pg_exp(a);", "PG0042"),
        ("z = pg_fn(f, f < 1 ? f : 2 - f, 0, 2);", "none"),
        ("z = pg_fn(f, f == 0 ? 1 : sin(f) / f, 0, 2);", "none"),
        ("z = pg_fn(f, !(f < 1) && f <= 1.5 || f != 0 ? 1 : 0, 0, 2);", "none"),
        ("fn p(t) = t * t; z = pg_fn(f, p(p(f)) + 1, 0, 2);", "none"),
        (
            "fn p(t) { s = 2 * t; if (s < 1) { return s; } else if (s < 2) { s = 1; } return s - 1; } z = pg_fn(f, p(f), 0, 2);",
            "none",
        ),
        ("fn p(t) = t; z = pg_fn(f, p(f, f), 0, 2);", "PG0051"),
        ("fn p(t) = t + f; z = pg_fn(g, p(g), 0, 2);", "PG0071"),
        ("fn p(t) { s = 0; for k in 0..3 { s += t; } return s; } z = pg_fn(f, p(f), 0, 2);", "PG0071"),
        ("z = pg_fn(f, f ? 1 : 0, 0, 2);", "PG0071"),
        ("z = pg_fn(f, 1 + (f < 1), 0, 2);", "PG0071"),
    ]);
}

#[test]
fn names_and_nesting_have_limits() {
    let long = "n".repeat(255);
    assert_eq!(codes(&format!("{long} = a; z = {long};")), "none");
    assert_eq!(codes(&format!("{long}x = a;")), "PG0007");
    for (open, close) in
        [("(", ")"), ("- ", ""), ("!", ""), ("(int8)", ""), ("t ? a : ", ""), ("pg_abs(", ")"), ("v[", "]")]
    {
        let nested = |n: usize| format!("z = {}a{};", open.repeat(n), close.repeat(n));
        if open != "v[" && open != "!" {
            assert_eq!(codes(&nested(256)), "none", "{open}");
        }
        assert_eq!(codes(&nested(257)), "PG0006", "{open}");
        assert_eq!(codes(&nested(10_000)), "PG0006", "{open}");
    }
    assert_eq!(codes(&format!("z = a{};", " + a".repeat(10_000))), "none");
    assert_eq!(codes(&format!("z = a{};", " < a".repeat(3))), "PG0056");
    assert_eq!(codes("z = (a < b) < c;"), "PG0041");
    assert_eq!(codes("z = (a < b) == (c < a);"), "none");
    assert_eq!(codes(&format!("z = 1{};", " && a".repeat(10_000))), "none");
}

#[test]
fn unused_names_are_warned_of() {
    let compiled =
        pg2::compile("k", "int8 a ipin; int8 b ipin; int8 _c ipin; int8 o fout; z = a; y = a; o += y;").unwrap();
    let codes: Vec<&str> = compiled.warnings.iter().map(|w| w.code).collect();
    assert_eq!(codes, ["PG0102", "PG0101"]);
}

#[test]
fn names_and_places_lead_back_to_the_source() {
    let text = "int8 v[2] ipin; int8 o fout;\n d = v - v;\r\n\to += d[1]; /* é */";
    let graph = pg2::compile("a-b.c", text).unwrap().graph;
    assert_eq!(graph.name, "a_b_c");
    let node = graph.nodes.iter().find(|n| n.name == "d[1]").unwrap();
    assert_eq!(&text[node.span.start..node.span.end], "v - v");
}
