//! Matrices (RULES L7).

use pg2::diag::Diagnostic;
use pg2::graph::{Graph, NodeId, PinClass};

const PINS: &str =
    "int32 m[2][3] ipin; int32 n[3][2] jpin; int32 s[2][2] jpin; int32 v[3] jpin; int32 u[2] ipin; int32 a jpin;
    float32.23 f[2][2] jpin; int8 k param;";

fn compile(statements: &str) -> Result<Graph, Vec<Diagnostic>> {
    let outs = if statements.contains("fout") { "" } else { "int32 o fout; o += 0;" };
    pg2::compile("m", &format!("{PINS} {outs} {statements}")).map(|c| c.graph)
}

fn value(expression: &str) -> String {
    let graph = compile(&format!("z = {expression};")).unwrap_or_else(|e| panic!("{expression}: {e:#?}"));
    let named = (0..graph.nodes.len()).filter(|k| graph.nodes[*k].name.split('[').next() == Some("z"));
    named.map(|k| crate::cases::show(&graph, NodeId(k as u32))).collect::<Vec<_>>().join("; ")
}

#[test]
fn matrices_have_the_products_of_algebra() {
    let row = |r: usize| format!("add(add(mul(m[{r}][0], v[0]), mul(m[{r}][1], v[1])), mul(m[{r}][2], v[2]))");
    assert_eq!(value("m * v"), [row(0), row(1)].join("; "));
    let column = |c: usize| format!("add(mul(u[0], m[0][{c}]), mul(u[1], m[1][{c}]))");
    assert_eq!(value("u * m"), [column(0), column(1), column(2)].join("; "));
    let of = |r: usize, c: usize| {
        format!("add(add(mul(m[{r}][0], n[0][{c}]), mul(m[{r}][1], n[1][{c}])), mul(m[{r}][2], n[2][{c}]))")
    };
    assert_eq!(value("m * n"), [of(0, 0), of(0, 1), of(1, 0), of(1, 1)].join("; "));
    assert_eq!(value("(u * m)[1]"), "add(mul(u[0], m[0][1]), mul(u[1], m[1][1]))");
}

#[test]
fn matrices_are_elementwise_where_vectors_are() {
    let each = |f: &dyn Fn(usize, usize) -> String| {
        (0..2).flat_map(|r| (0..2).map(move |c| (r, c))).map(|(r, c)| f(r, c)).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(value("s + s"), each(&|r, c| format!("add(s[{r}][{c}], s[{r}][{c}])")));
    assert_eq!(value("-s"), each(&|r, c| format!("neg(s[{r}][{c}])")));
    assert_eq!(value("s * a"), each(&|r, c| format!("mul(s[{r}][{c}], a)")));
    assert_eq!(value("3 * s"), each(&|r, c| format!("mul(3:int32, s[{r}][{c}])")));
    assert_eq!(value("s / a"), each(&|r, c| format!("div(s[{r}][{c}], a)")));
    assert_eq!(value("s << 2"), each(&|r, c| format!("shl<2,0>(s[{r}][{c}])")));
    assert_eq!(value("s << k"), each(&|r, c| format!("shlv(s[{r}][{c}], k)")));
    assert_eq!(value("(int64)s"), each(&|r, c| format!("icast:int64(s[{r}][{c}])")));
    assert_eq!(value("a > 0 ? s : -s"), each(&|r, c| format!("mux(lt(0:int32, a), s[{r}][{c}], neg(s[{r}][{c}]))")));
    assert_eq!(value("~pg_transpose(s)"), each(&|r, c| format!("not(s[{c}][{r}])")));
    assert_eq!(value("-pg_transpose(m)"), {
        "neg(m[0][0]); neg(m[1][0]); neg(m[0][1]); neg(m[1][1]); neg(m[0][2]); neg(m[1][2])"
    });
    assert_eq!(value("-m[1]"), "neg(m[1][0]); neg(m[1][1]); neg(m[1][2])");
    assert_eq!(value("m[1][2] + m[0][0]"), "add(m[1][2], m[0][0])");
    assert_eq!(value("m[1] * v"), "add(add(mul(m[1][0], v[0]), mul(m[1][1], v[1])), mul(m[1][2], v[2]))");
}

#[test]
fn records_hold_matrices_by_rows() {
    let graph = compile("int32 w[2][3] fout; w += m; z = s * s;").unwrap();
    let (k, pin) = graph.pins_of(PinClass::Ipin).next().unwrap();
    let columns: Vec<String> = (0..pin.elements()).map(|e| pin.column(e)).collect();
    assert_eq!(columns, ["m[0][0]", "m[0][1]", "m[0][2]", "m[1][0]", "m[1][1]", "m[1][2]"]);
    assert_eq!((graph.port(k, 4), pin.len), ("i_m_1_1".to_string(), Some(6)));
    let layout = graph.layout();
    assert_eq!(layout.outputs[5].0, "o_w_1_2");
}

#[test]
fn outputs_take_matrices_rows_and_elements() {
    let reduced = |s: &str| {
        let graph = compile(s).unwrap_or_else(|e| panic!("{s}: {e:#?}"));
        graph.outputs.iter().map(|o| crate::cases::show(&graph, o.value)).collect::<Vec<_>>().join("; ")
    };
    let want = "s[0][0]; s[0][1]; s[1][0]; s[1][1]";
    assert_eq!(reduced("int32 w[2][2] fout; w += s;"), want);
    assert_eq!(reduced("int32 w[2][2] fout; w[0] += s[0]; w[1] += s[1];"), want);
    assert_eq!(reduced("int32 w[2][2] fout; for i in 0..2 { for j in 0..2 { w[i][j] += s[i][j]; } }"), want);
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let cases = [
        ("z = m * m;", "PG0043"),
        ("z = m * u;", "PG0043"),
        ("z = v * m;", "PG0043"),
        ("z = m + n;", "PG0043"),
        ("z = m + v;", "PG0043"),
        ("z = m + 1;", "PG0044"),
        ("z = m / n;", "PG0044"),
        ("z = m < n;", "PG0044"),
        ("z = 1 / m;", "PG0044"),
        ("z = m * f;", "PG0043"),
        ("z = s * f;", "PG0041"),
        ("z = pg_dot(m, m);", "PG0044"),
        ("z = pg_transpose(v);", "PG0044"),
        ("z = pg_sumsq(f);", "PG0044"),
        ("z = m[2];", "PG0045"),
        ("z = m[0][3];", "PG0045"),
        ("z = m[0][0][32];", "PG0045"),
        ("z = a ? m : n;", "PG0043"),
        ("z = m ? a : a;", "PG0044"),
        ("int32 w[2][2] fout; w += m;", "PG0043"),
        ("int32 w[2][2] fout; w += a;", "PG0044"),
        ("int32 w[2][2] fout; w[0] += s; w[1] += u;", "PG0043"),
        ("int32 w[2][2] fout; w[0] += u;", "PG0025"),
        ("int32 w[2][2] fout; w += s; w[1] max= u;", "PG0026"),
        ("int32 w[2][2] fout; w[0][0][0] += a; w += s;", "PG0046"),
        ("int32 q[2][2][2] jpin;", "PG0024"),
        ("int32 q[64][17] jpin;", "PG0024"),
        ("int32 q[0][3] jpin;", "PG0024"),
        ("int32 m_0[3] ipin;", "PG0017"),
    ];
    for (statements, want) in cases {
        let errors = compile(statements).err().unwrap_or_default();
        let codes: Vec<&str> = errors.iter().map(|e| e.code).collect();
        assert_eq!(codes.join(" "), want, "{statements}: {errors:#?}");
        assert!(errors.iter().all(|e| e.help.is_some()), "{statements}");
    }
}
