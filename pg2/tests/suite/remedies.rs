//! Remedies, followed: what a diagnostic advises compiles, and means what was meant.
//!
//! A remedy that is definite is an edit, and is made here. For the others the right example on the page of the code is the
//! remedy as followed. A line on the page says what that example computes: ``It gives `o = 4` for `a = 3, b = 7`.``

use hdl::number::exact::{parse, print};
use pg2::diag::codes::{CODES, Code};
use pg2::diag::{Diagnostic, Edit, Severity, edited};
use pg2::graph::{Graph, NodeKind, PinClass};
use std::collections::BTreeMap;

/// Values by the names of CSV columns.
pub(crate) type Values = BTreeMap<String, String>;

/// `a = 3, b = 7`.
pub(crate) fn values(text: &str) -> Values {
    let pair = |p: &str| p.split_once('=').map(|(n, v)| (n.trim().to_string(), v.trim().to_string()));
    text.split(',').filter(|p| !p.trim().is_empty()).map(|p| pair(p).unwrap_or_else(|| panic!("{p}"))).collect()
}

/// The result of one pair, as it is printed.
pub(crate) fn evaluate(graph: &Graph, inputs: &Values) -> Values {
    let mut bits: Vec<u64> = Vec::new();
    for node in &graph.nodes {
        let value = match &node.kind {
            NodeKind::Pin { pin, element } => {
                let column = graph.pins[*pin].column(*element);
                let text = inputs.get(&column).unwrap_or_else(|| panic!("no value for {column}"));
                parse(node.format, text).unwrap_or_else(|_| panic!("{column} = {text}"))
            }
            NodeKind::Const { bits } => *bits,
            NodeKind::Op { op, inst, args } => {
                let args: Vec<u64> = args.iter().map(|a| bits[a.0 as usize]).collect();
                op.bits(inst, &args).0
            }
        };
        bits.push(value);
    }
    let output = |o: &pg2::graph::Output| {
        let pin = &graph.pins[o.pin];
        (pin.column(o.element), print(pin.format, bits[o.value.0 as usize]))
    };
    graph.outputs.iter().map(output).collect()
}

/// Inputs for a kernel whose page says nothing yet.
fn sample(graph: &Graph) -> Values {
    let mut inputs = Values::new();
    for class in [PinClass::Ipin, PinClass::Jpin, PinClass::Param] {
        for (pin, element) in graph.elements_of(class) {
            let value = [3, 7, 2, 5, 4, 1][inputs.len() % 6];
            inputs.insert(graph.pins[pin].column(element), value.to_string());
        }
    }
    inputs
}

fn shown(values: &Values) -> String {
    values.iter().map(|(n, v)| format!("{n} = {v}")).collect::<Vec<_>>().join(", ")
}

/// The text of a code block of a page.
fn block(code: &Code, opening: &str) -> Option<String> {
    let (_, rest) = code.page.split_once(&format!("\n```{opening}\n"))?;
    Some(rest.split_once("\n```\n")?.0.to_string() + "\n")
}

/// Outputs and inputs of the right example, as its page states them.
fn stated(code: &Code) -> Option<(Values, Values)> {
    let (_, rest) = code.page.split_once("\nIt gives `")?;
    let (outputs, rest) = rest.split_once('`')?;
    let rest = rest.trim_start();
    let inputs = rest.strip_prefix("for `").and_then(|r| r.split_once('`')).map_or("", |r| r.0);
    Some((values(outputs), values(inputs)))
}

pub(crate) fn findings(text: &str) -> Vec<Diagnostic> {
    match pg2::compile("remedy", text) {
        Ok(compiled) => compiled.warnings,
        Err(errors) => errors,
    }
}

/// Makes the edits of all findings until there are none to make.
pub(crate) fn followed(text: &str) -> String {
    let mut text = text.to_string();
    for _ in 0..8 {
        let edits: Vec<Edit> = findings(&text).into_iter().flat_map(|d| d.edits).collect();
        if edits.is_empty() {
            break;
        }
        text = edited(&text, &edits);
    }
    text
}

#[test]
fn the_right_example_of_each_page_means_what_the_page_says() {
    let mut wrong = Vec::new();
    for code in CODES {
        let Some(text) = block(code, "pg2").filter(|t| !t.contains("include ")) else { continue };
        let graph = pg2::compile("page", &text).unwrap_or_else(|e| panic!("{}: {e:#?}", code.code)).graph;
        let Some((outputs, inputs)) = stated(code) else {
            let inputs = sample(&graph);
            let given = if inputs.is_empty() { String::new() } else { format!(" for `{}`", shown(&inputs)) };
            wrong.push(format!("{}\n{text}It gives `{}`{given}.", code.code, shown(&evaluate(&graph, &inputs))));
            continue;
        };
        let got = evaluate(&graph, &inputs);
        if got != outputs {
            wrong.push(format!("{}: it gives `{}`", code.code, shown(&got)));
        }
        // The wrong example, mended by the edits of its findings, is the same kernel.
        let kind = if code.code >= "PG0101" { "pg2 warning" } else { "pg2 error" };
        let Some(bad) = block(code, kind) else { continue };
        if findings(&bad).iter().all(|d| d.edits.is_empty()) {
            continue;
        }
        let mended = followed(&bad);
        match pg2::compile("page", &mended) {
            Err(errors) => wrong.push(format!("{}: the remedy, followed, leads to {errors:#?}\n{mended}", code.code)),
            Ok(compiled) => {
                let got = evaluate(&compiled.graph, &inputs);
                if got != outputs {
                    wrong.push(format!("{}: the remedy, followed, gives `{}`\n{mended}", code.code, shown(&got)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn each_edit_removes_what_it_is_the_remedy_of() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let mut wrong = Vec::new();
    let mut tried = 0;
    for file in std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()) {
        if file.extension().is_none_or(|e| e != "pg2") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let all = findings(&text);
        for one in all.iter().filter(|d| !d.edits.is_empty()) {
            tried += 1;
            let mended = edited(&text, &one.edits);
            let count =
                |list: &[Diagnostic]| list.iter().filter(|d| d.code == one.code && d.message == one.message).count();
            let after = findings(&mended);
            if count(&after) >= count(&all) {
                wrong.push(format!("{}: {} {} {:?}", file.display(), one.code, one.message, one.edits));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 40, "{tried} edits");
}

/// Kernels as newcomers write them, with the outputs they intend for given inputs.
const NEWCOMERS: &[(&str, &str, &str)] = &[
    // C.
    ("float32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)pow(x, -1.5);\n", "o = 0.125", "x = 4"),
    ("float32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)(sqrt(x) * fabs(-x));\n", "o = 8", "x = 4"),
    ("float32.23 x jpin;\nfixed64.30 o fout;\nfloat r2 = x * x;\no += (fixed64.30)r2;\n", "o = 16", "x = 4"),
    ("float32.23 x jpin;\nfixed64.30 o fout;\ndouble h = 0.5;\no += (fixed64.30)(x * h);\n", "o = 2", "x = 4"),
    ("float32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)(1.0f / x);\n", "o = 0.25", "x = 4"),
    ("float32.23 x jpin;\nfixed64.30 o fout;\nfloat32.23 h = 0.5 * x + 1;\no += (fixed64.30)h;\n", "o = 3", "x = 4"),
    ("float32.23 x jpin;\nfixed64.30 o fout;\nconst float G = 0.25;\no += (fixed64.30)(x * G);\n", "o = 1", "x = 4"),
    (
        "float32.23 x jpin;\nfixed64.30 o fout;\nconst float25.16 G = 0.25;\no += (fixed64.30)(x * G);\n",
        "o = 1",
        "x = 4",
    ),
    (
        "#define G 0.25 // of gravity\nfloat32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)(x * G);\n",
        "o = 1",
        "x = 4",
    ),
    ("#include <math.h>\nfloat32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)exp(x - 4);\n", "o = 1", "x = 4"),
    (
        "int32 v[3] jpin;\nint64 o fout;\nfor (int k = 0; k < 3; k++) {\n  s += v[k];\n}\no += s;\n",
        "o = 12",
        "v[0] = 3, v[1] = 4, v[2] = 5",
    ),
    (
        "int32 v[3] jpin;\nint64 o fout;\ns = 0;\nfor (k = 1; k <= 2; ++k) {\n  s += v[k];\n}\no += s;\n",
        "o = 9",
        "v[0] = 3, v[1] = 4, v[2] = 5",
    ),
    (
        "float32.23 x jpin;\nfixed64.30 o fout;\nfloat square(float y) { return y * y; }\no += (fixed64.30)square(x);\n",
        "o = 16",
        "x = 4",
    ),
    ("float32.23 x jpin;\nfloat32.23 o fout;\no = pg_min(o, x);\n", "o = 4", "x = 4"),
    ("float32.23 x jpin;\nfloat32.23 o fout;\no = fmax(x * x, o);\n", "o = 16", "x = 4"),
    ("int32 x jpin;\nint64 o fout;\no = o + x;\n", "o = 4", "x = 4"),
    ("int32 x jpin;\nint64 o fout;\no = x;\n", "o = 4", "x = 4"),
    ("float32.23 x jpin;\nint64 o fout;\no += x;\n", "o = 0.25", "x = 0.25"),
    ("float32.23 x jpin;\nfloat32.23 o fout;\no += x;\n", "o = 0.25", "x = 0.25"),
    ("fixed32.16 x jpin;\nint64 o fout;\no += x;\n", "o = 0.25", "x = 0.25"),
    ("int64 x jpin;\nint32 o fout;\no += x;\n", "o = 5000000000", "x = 5000000000"),
    (
        "float32.23 v[3] jpin;\nfixed64.30 o fout;\no += (fixed64.30)sqrt(v.x * v.x + v.y * v.y);\n",
        "o = 5",
        "v[0] = 3, v[1] = 4, v[2] = 5",
    ),
    ("int32 x jpin;\nuint32 o fout;\nif (x = 4) {\n  y = 1;\n} else {\n  y = 0;\n}\no += y;\n", "o = 1", "x = 4"),
    ("float32.23 x jpin;\nuint32 o fout;\no += x ? 1 : 0;\n", "o = 1", "x = 0.25"),
    ("int32 n fout;\nint32 x jpin;\nn++;\nint64 o fout;\no += x;\n", "n = 1, o = 4", "x = 4"),
    ("float32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)(x * M_PI);\n", "o = 3.1415927410125732421875", "x = 1"),
    ("float x jpin;\nfixed64.30 o fout;\no += (fixed64.30)((double)x);\n", "o = 0.25", "x = 0.25"),
    // Python and Fortran.
    ("# a kernel\nfloat32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)(x**2);\n", "o = 16", "x = 4"),
    (
        "float32.23 x jpin;\nfixed64.30 o fout;\nr = x**-1.5\no += (fixed64.30)(2 / -x**0.5 + r)\n",
        "o = -0.875",
        "x = 4",
    ),
    (
        "float32.23 v[3] jpin;\nfixed64.30 o fout;\no += (fixed64.30)dot(v, v);\n",
        "o = 50",
        "v[0] = 3, v[1] = 4, v[2] = 5",
    ),
    ("float32.23 v[3] jpin;\nfixed64.30 o fout;\no += (fixed64.30)norm(v);\n", "o = 5", "v[0] = 3, v[1] = 4, v[2] = 0"),
    (
        "int32 v[3] jpin;\nint64 o fout;\ns = 0;\nfor k in range(3) {\n  s += v[k];\n}\no += s;\n",
        "o = 12",
        "v[0] = 3, v[1] = 4, v[2] = 5",
    ),
    ("float32.23 x jpin;\nuint32 o fout;\no += x > 0 and not (x > 5);\n", "o = 1", "x = 4"),
    (
        "float32.23 x jpin;\nuint32 o fout;\ny = 1;\nif (x > 5) {\n  y = 2;\n} elif (x > 3) {\n  y = 3;\n}\no += y;\n",
        "o = 3",
        "x = 4",
    ),
    ("float32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)(x * 2.5d-1);\n", "o = 1", "x = 4"),
    (
        "float32.23 v[3] jpin;\nfixed64.30 o fout;\ndef square(y):\n    return y * y\n\ns = (float32.23)0\nfor k in range(3):\n    \
         if v[k] > 3:\n        s += square(v[k])\n    elif v[k] > 1: s += v[k]\n    else:\n        s += 100\no += (fixed64.30)s\n",
        "o = 118",
        "v[0] = 4, v[1] = 2, v[2] = 0",
    ),
    (
        "float32.23 v[3] jpin;\nfixed64.30 o fout;\ns = (float32.23)0;\ndo k = 0, 2\n  if (v[k] > 3) then\n    s += v[k];\n  else\n    \
         s += 100;\n  end if\nend do\no += (fixed64.30)s;\n",
        "o = 204",
        "v[0] = 4, v[1] = 2, v[2] = 0",
    ),
    (
        "float32.23 v[3] jpin;\nfixed64.30 o fout;\ns = (float32.23)0;\nfor (int k = 1; k <= 2; k++)\n  if (v[k] > 3) s += v[k];\n  \
         else s += 100;\no += (fixed64.30)s;\n",
        "o = 200",
        "v[0] = 4, v[1] = 2, v[2] = 0",
    ),
    ("float32.23 r jpin;\nfixed64.30 o fout;\no += (fixed64.30)(2r + 1);\n", "o = 9", "r = 4"),
    (
        "float32.23 x jpin;\nparam float32.23 e2;\nfixed64.30 o fout;\no += (fixed64.30)(x + e2);\n",
        "o = 5",
        "x = 4, e2 = 1",
    ),
    (
        "jpin float32.23 v[2];\nparam e2;\nfixed64.30 o fout;\no += (fixed64.30)(v[1] + e2);\n",
        "o = 5",
        "v[0] = 3, v[1] = 4, e2 = 1",
    ),
    ("float32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)x * 2.5 + 1 / x;\n", "o = 10.25", "x = 4"),
    ("float32.23 x jpin;\nfloat32.23 y jpin;\nfixed64.30 o fout;\no += (fixed64.30)x * y;\n", "o = 12", "x = 4, y = 3"),
    (
        "float32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)(np.sqrt(x) + std::fabs(-x) + math.exp(x - 4));\n",
        "o = 7",
        "x = 4",
    ),
    ("float32.23 x jpin;\nuint32 o fout;\no += x .gt. 3;\n", "o = 1", "x = 4"),
    // Powers, chains and print.
    ("float32.23 d jpin;\nfixed64.30 o fout;\no += (fixed64.30)(d^2);\n", "o = 16", "d = 4"),
    ("float32.23 d jpin;\nfixed64.30 o fout;\no += (fixed64.30)(1 / d^3);\n", "o = 0.015625", "d = 4"),
    ("fixed32.16 d jpin;\nfixed32.16 o fout;\no += d^2;\n", "o = 16", "d = 4"),
    ("int32 d jpin;\nint64 o fout;\no += d^2;\n", "o = 16", "d = 4"),
    ("float32.23 d jpin;\nfixed64.30 o fout;\no += (fixed64.30)(d * 10^6);\n", "o = 4000000", "d = 4"),
    ("float32.23 r2 jpin;\nuint32 o fout;\no += 0 < r2 < 1;\n", "o = 0", "r2 = 4"),
    ("float32.23 r2 jpin;\nuint32 o fout;\no += 0 < r2 < 1;\n", "o = 1", "r2 = 0.5"),
    ("float32.23 r jpin;\nfixed64.30 o fout;\no += (fixed64.30)pg_fn(r, 1 + r^2, 0, 4);\n", "o = 5", "r = 2"),
    (
        "float32.23 \u{3c1} jpin;\nfixed64.30 o fout;\no += (fixed64.30)(\u{3c1} \u{d7} 2 \u{2212} 1);\n",
        "o = 7",
        "rho = 4",
    ),
    ("float32.23 x jpin;\nint32 y jpin;\nfixed64.30 o fout;\no += (fixed64.30)(x * y);\n", "o = 12", "x = 4, y = 3"),
    ("int32 x jpin;\nuint32 y jpin;\nint64 o fout;\no += x - y;\n", "o = -1", "x = 4, y = 5"),
    ("float32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)(x * zwei);\nconst zwei = 2;\n", "", ""),
    // Kinds of Fortran and types of Rust.
    (
        "float32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)(x * 1.5_8 + 1_4 + 2.0_dp + 1d0_8);\n",
        "o = 10",
        "x = 4",
    ),
    ("float32.23 x jpin;\nfixed64.30 o fout;\no += (fixed64.30)(x * 1.5_f32);\n", "o = 6", "x = 4"),
    // Divisions of ints that round down.
    ("int32 k jpin;\nint64 o fout;\nm = k // 4;\no += m;\n", "o = -2", "k = -7"),
    ("int32 k jpin;\nint64 o fout;\nm = k // 3;\no += m;\n", "o = 2", "k = 7"),
    ("int32 k jpin;\nint64 o fout;\no += mod(k, 3);\n", "o = -1", "k = -7"),
    // Comparisons that no signed format holds.
    ("uint64 a jpin;\nint64 b jpin;\nuint32 o fout;\no += a < b;\n", "o = 0", "a = 18446744073709551615, b = 1"),
    ("uint64 a jpin;\nint64 b jpin;\nuint32 o fout;\no += b <= a;\n", "o = 1", "a = 18446744073709551615, b = -1"),
    ("uint64 a jpin;\nint64 b jpin;\nuint32 o fout;\no += a != b;\n", "o = 1", "a = 18446744073709551615, b = -1"),
    ("uint64 a jpin;\nint64 b jpin;\nuint32 o fout;\no += b == a;\n", "o = 1", "a = 5, b = 5"),
    // Sums of values with a sign.
    ("int32 k jpin;\nuint32 o fout;\no += k;\n", "o = -7", "k = -7"),
    ("int64 k jpin;\nuint32 o fout;\no += k;\n", "o = -5000000000", "k = -5000000000"),
    ("int32 k jpin;\nint32 m jpin;\nint64 o fout;\no += pg_max(k, m, 3);\n", "o = 9", "k = 9, m = 2"),
    ("int32 k jpin;\nint32 m jpin;\nint64 o fout;\no += min(k, m, 3, -k);\n", "o = -9", "k = 9, m = 2"),
    // Loops that count down, or by more than 1.
    (
        "int32 v[4] jpin;\nint64 o fout;\ns = 0;\nfor (int k = 3; k >= 1; k--) {\n  s = 2 * s + v[k];\n}\no += s;\n",
        "o = 27",
        "v[0] = 1, v[1] = 1, v[2] = 3, v[3] = 5",
    ),
    (
        "int32 v[4] jpin;\nint64 o fout;\ns = 0;\nfor (k = 0; k < 4; k += 2) {\n  s += v[k];\n}\no += s;\n",
        "o = 4",
        "v[0] = 1, v[1] = 1, v[2] = 3, v[3] = 5",
    ),
    (
        "int32 v[4] jpin;\nint64 o fout;\ns = 0;\nfor (int k = 3; k > -1; k -= 3) {\n  s += v[k];\n}\no += s;\n",
        "o = 6",
        "v[0] = 1, v[1] = 1, v[2] = 3, v[3] = 5",
    ),
];

#[test]
fn what_newcomers_write_becomes_what_they_mean() {
    let mut wrong = Vec::new();
    for (text, outputs, inputs) in NEWCOMERS.iter().filter(|n| !n.1.is_empty()) {
        assert!(findings(text).iter().any(|d| !d.edits.is_empty()), "nothing to mend in\n{text}{:#?}", findings(text));
        let mended = followed(text);
        let compiled = match pg2::compile("newcomer", &mended) {
            Ok(compiled) => compiled,
            Err(errors) => {
                let list: Vec<String> = errors.iter().map(|e| format!("{}: {:?}", e.message, e.help)).collect();
                wrong.push(format!("{text}becomes\n{mended}{}", list.join("\n")));
                continue;
            }
        };
        let got = evaluate(&compiled.graph, &values(inputs));
        if got != values(outputs) || compiled.warnings.iter().any(|w| w.severity == Severity::Error) {
            wrong.push(format!("{text}becomes\n{mended}and gives `{}`, not `{outputs}`", shown(&got)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_name_that_a_mistake_leaves_undefined_is_no_second_finding() {
    let pins = "float32.23 x jpin;\nfixed64.30 o fout;\n";
    for line in [
        "const float25.16 G = 0.25;",
        "const double G = 0.25;",
        "static const float G = 0.25;",
        "const G : float25.16 = 0.25;",
        "G += x;",
    ] {
        let found = findings(&format!("{pins}{line}\no += (fixed64.30)(x * G * G);\n"));
        assert_eq!(found.len(), 1, "{line}: {found:#?}");
    }
}

#[test]
fn the_remedy_for_a_function_to_fit_names_the_variable_that_pg_fn_takes() {
    for (argument, call) in [("y", "pg_fn(y, cosh(y), lo, hi)"), ("(y * 2)", "pg_fn((y * 2), cosh(x), lo, hi)")] {
        let text = |value: &str| {
            let pins = "float32.23 x ipin;\nfloat32.23 y jpin;\nfixed64.30 o fout;\n";
            format!("{pins}o += (fixed64.30)({value} + x);\n")
        };
        let found = findings(&text(&format!("cosh({argument})")));
        let help = found[0].help.as_deref().unwrap_or_default();
        assert!(help.contains(call), "{help}");
        // Followed, with an interval, although `x` is a pin here.
        assert_eq!(findings(&text(&call.replace("lo, hi", "0, 5"))), vec![], "{call}");
    }
}
