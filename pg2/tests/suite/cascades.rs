//! One mistake is reported once: what follows from it is not.

use pg2::diag::Diagnostic;

const PINS: &str = "float32.23 x jpin;\nfloat32.23 v[3] jpin;\nfixed64.30 o fout;\n";

fn errors(text: &str) -> Vec<Diagnostic> {
    pg2::compile("cascade", text).err().unwrap_or_default()
}

/// Statements, and the codes that they lead to.
const CASES: &[(&str, &[&str])] = &[
    ("if x > 0:\n    o += (fixed64.30)x;\n", &["PG0004"]),
    ("if x > 0:\n    y = x;\n    o += (fixed64.30)y;\n", &["PG0004"]),
    ("if x > 0: o += (fixed64.30)x;\n", &["PG0004"]),
    ("if x > 0:\n    y = x;\nelse:\n    y = -x;\no += (fixed64.30)y;\n", &["PG0004", "PG0004"]),
    ("if x > 0:\n  y = x;\nelif x > -1:\n  y = -x;\nelse:\n  y = 0;\no += (fixed64.30)y;\n", &["PG0004"; 4]),
    ("for k in range(1):\n    o += (fixed64.30)v[k];\n", &["PG0004", "PG0004"]),
    (
        "s = (float32.23)0;\nfor k in range(1, 3):\n    if v[k] > 0:\n        s += v[k];\no += (fixed64.30)s;\n",
        &["PG0004"; 3],
    ),
    ("def sq(y):\n    return y * y;\n\no += (fixed64.30)sq(x);\n", &["PG0004", "PG0004"]),
    ("def sq(y):\n    z = y * y;\n    return z;\no += (fixed64.30)sq(x);\n", &["PG0004", "PG0004"]),
    ("if (x > 0) then\n  y = x;\nelse\n  y = -x;\nend if\no += (fixed64.30)y;\n", &["PG0004", "PG0004"]),
    (
        "if (x > 0) then\n  y = x;\nelse if (x > -1) then\n  y = 1;\nelse\n  y = -x;\nendif\no += (fixed64.30)y;\n",
        &["PG0004"; 3],
    ),
    ("if (x > 0) y = x; else y = -x;\no += (fixed64.30)y;\n", &["PG0004", "PG0004"]),
    ("if (x > 0) { y = x; } elif (x > -1) { y = 1; } else { y = 0; }\no += (fixed64.30)y;\n", &["PG0004"]),
    ("if (x = 0) {\n  y = x;\n} else {\n  y = -x;\n}\no += (fixed64.30)y;\n", &["PG0004"]),
    ("for (int k = 0; k < 1; k++) {\n  o += (fixed64.30)v[k];\n}\n", &["PG0004"]),
    ("for (int k = 2; k <= 2; k++)\n  o += (fixed64.30)v[k];\n", &["PG0004", "PG0004"]),
    ("for (int k = 3; k > 0; k--)\n  o += (fixed64.30)v[k];\n", &["PG0004"]),
    ("s = (float32.23)0;\nfor (k = 0; k < 3; ++k) s += v[k];\no += (fixed64.30)s;\n", &["PG0004", "PG0004"]),
    ("for k in 0...3 {\n  o += (fixed64.30)v[k];\n}\n", &["PG0004"]),
    ("while (x > 0) {\n  o += (fixed64.30)x;\n}\n", &["PG0004"]),
    ("while x > 0:\n    o += (fixed64.30)x;\n", &["PG0004"]),
    ("switch (x) {\n  case 1: y = x;\n}\no += (fixed64.30)x;\n", &["PG0004"]),
    ("float sq(float y) {\n  return y * y;\n}\no += (fixed64.30)sq(x);\n", &["PG0004"]),
    ("fn sq(float y) {\n  return y * y;\n}\no += (fixed64.30)sq(x);\n", &["PG0004"]),
    ("fn sq(y):\n    return y * y;\no += (fixed64.30)sq(x);\n", &["PG0004"]),
    ("y = x +;\nz = y * 2;\no += (fixed64.30)z;\n", &["PG0004"]),
    ("y = x ** n;\nz = y * 2;\no += (fixed64.30)z;\n", &["PG0004"]),
    ("y = sqrt(x;\nz = y * 2;\no += (fixed64.30)z;\n", &["PG0004"]),
    ("y == x;\no += (fixed64.30)y;\n", &["PG0004"]),
    ("y := x;\no += (fixed64.30)y;\n", &["PG0009"]),
    ("o =+ (fixed64.30)x;\n", &["PG0016"]),
    ("do k = 1, 1\n  o += (fixed64.30)v[k];\nend do\n", &["PG0004"]),
    (
        "s = (float32.23)0;\ndo k = 0, 2\n  if (v[k] > 0) then\n    s += v[k];\n  end if\nenddo\no += (fixed64.30)s;\n",
        &["PG0004"; 2],
    ),
    ("o[0] += (fixed64.30)x;\n", &["PG0046"]),
    ("if (x > 0) {\n  o += (fixed64.30)q;\n}\n", &["PG0011"]),
    ("p += (fixed64.30)x;\n", &["PG0011"]),
    ("y = z;\nw = y;\no += (fixed64.30)w;\n", &["PG0011"]),
    ("return x;\no += (fixed64.30)x;\n", &["PG0019"]),
    ("{\n  o += (fixed64.30)x;\n}\n", &["PG0004"]),
    ("o += (fixed64.30)x\n", &["PG0005"]),
    ("int y = x;\no += (fixed64.30)y;\n", &["PG0004"]),
    ("y[3] = {x, x, x};\no += (fixed64.30)y[0];\n", &["PG0004"]),
    ("y = [x, x, x];\no += (fixed64.30)y[0];\n", &["PG0004"]),
    ("lambda = x;\nif lambda > 0\n  o += (fixed64.30)lambda;\n", &["PG0004"]),
];

#[test]
fn a_mistake_leads_to_no_findings_besides_its_own() {
    let mut wrong = Vec::new();
    for (statements, codes) in CASES {
        let text = format!("{PINS}{statements}");
        let found = errors(&text);
        let got: Vec<&str> = found.iter().map(|e| e.code).collect();
        if got != *codes {
            let list: Vec<String> = found.iter().map(|e| format!("    {} {}", e.code, e.message)).collect();
            wrong.push(format!("{statements}leads to\n{}", list.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
