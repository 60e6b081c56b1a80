//! The calls of a page, natively.

use crate::Page;
use serde_json::{Value, json};

fn call(asked: Value) -> Value {
    serde_json::from_str(&Page::default().call(&asked.to_string())).expect("an answer is JSON")
}

fn shipped(name: &str) -> Value {
    json!({ "name": name, "text": pg2::kernels::find(name).expect("a shipped kernel").text })
}

#[test]
fn a_design_has_its_files_its_drawing_and_the_cost_of_its_lines() {
    let answer = call(json!({ "call": "design", "kernel": shipped("p2p_paper"), "options": { "pipelines": 4 } }));
    let file = |k: usize, key: &str| answer["files"][k][key].as_str().expect("a text").to_string();
    let manifest: Value = serde_json::from_str(&file(1, "text")).expect("the manifest is JSON");
    assert_eq!((file(1, "name"), &manifest["pipelines"]), ("manifest.json".into(), &json!(4)));
    assert_eq!(manifest["files"], json!([file(0, "name")]));
    let first = "// Made by pairforge 0.1.0 from p2p_paper.pg2 for generic at 150 MHz. Verilog-2005.\n";
    assert!(file(0, "text").starts_with(first), "{}", &file(0, "text")[..200]);
    assert!(answer["drawing"].as_str().expect("a drawing").contains("data-line=\"8\""), "lines are linked");
    assert_eq!(answer["register_bits"], manifest["register_bits"]);
    assert!(answer["schedule"]["lines"].as_array().is_some_and(|lines| !lines.is_empty()));
}

#[test]
fn a_board_has_the_pairs_of_the_pipelines_that_fill_it() {
    for (kernel, board, fits) in
        [("p2p_small", "icebreaker", true), ("p2p_small", "ulx3s", true), ("p2p", "icebreaker", false)]
    {
        let row = call(json!({ "call": "board", "kernel": shipped(kernel), "board": board }));
        let [pipelines, mhz, pairs] =
            ["pipelines", "mhz", "pairs_per_second"].map(|key| row[key].as_f64().expect("a number"));
        assert!((pairs - pipelines * mhz * 1e6).abs() < 1.0, "{row}");
        assert_eq!((pipelines > 0.0, row["missing"].is_null()), (fits, fits), "{row}");
    }
    assert!(call(json!({ "call": "board", "kernel": shipped("p2p"), "board": "x" }))["error"].is_string());
}

#[test]
fn a_run_has_the_emulators_bits_and_how_far_they_are_off() {
    let kernel = json!({ "name": "k", "text": "float18.9 x ipin; float18.9 y jpin; fixed32.8 s fout;\nd = y - x;\ns += (fixed32.8)(d * d);\n" });
    let asked = json!({
        "call": "run", "kernel": kernel, "i": { "csv": "x\n1\n2\n" }, "j": { "csv": "y\n1e9\n" },
    });
    let answer = call(asked);
    assert_eq!(answer["csv"], "s,flags\n8388607.99609375,saturation\n8388607.99609375,saturation\n");
    assert_eq!((&answer["pairs"], &answer["raised"][0]["lines"][0]["line"]), (&json!(2), &json!(3)));
    // Drawn records are a text that gives the same results.
    let drawn = call(
        json!({ "call": "run", "kernel": kernel, "i": { "count": 3 }, "j": { "count": 5, "ranges": { "y": [2, 4] } } }),
    );
    let error = drawn["errors"][0]["rel_l2"].as_f64().expect("a number");
    assert!(error > 0.0 && error < 0.01, "float18.9 has 9 bits: {error}");
    let again = json!({ "call": "run", "kernel": kernel, "i": { "csv": drawn["i"] }, "j": { "csv": drawn["j"] } });
    assert_eq!((&call(again)["csv"], &drawn["ni"], &drawn["nj"]), (&drawn["csv"], &json!(3), &json!(5)));
}

#[test]
fn a_variant_costs_less_or_is_more_exact_and_its_bound_holds() {
    let text = "const N = 3; float18.9 x ipin in 1..2; float18.9 y jpin in 3..4; fixed40.24 s fout;\nd = y - x;\ns += (fixed40.24)(d * d) << N;\n";
    let kernel = json!({ "name": "k", "text": text });
    let axes = call(json!({ "call": "formats", "kernel": kernel }));
    let of = |k: usize| axes[k].clone();
    assert_eq!(of(1), json!({ "name": "float18.9", "number": 9, "low": 1, "high": 21, "of": ["d", "x", "y"] }));
    assert_eq!((&axes[2]["name"], &axes[2]["number"], &axes[2]["of"]), (&json!("N"), &json!(3), &json!([])));
    let point = |fraction: i64| {
        let (i, j) = (json!({ "count": 20, "seed": 1 }), json!({ "count": 30, "seed": 2 }));
        call(json!({ "call": "point", "kernel": kernel, "numbers": { "float18.9": fraction }, "i": i, "j": j }))
    };
    let [coarse, written, fine] = [6, 9, 14].map(point);
    assert_eq!((&coarse["written"], &written["text"]), (&json!(["float15.6"]), &json!(text)));
    let number = |p: &Value, key: &str| p["of"][key].as_f64().unwrap_or_else(|| panic!("{key} of {p}"));
    for (less, more) in [(&coarse, &written), (&written, &fine)] {
        assert!(number(less, "error") > number(more, "error"), "{less} {more}");
        assert!(number(less, "register_bits") < number(more, "register_bits"), "{less} {more}");
        let bound = |p: &Value| p["bounds"][0]["absolute"].as_f64().expect("a bound");
        assert!(bound(less) > bound(more), "{less} {more}");
        // No sum is off by more; each is about 8 * 4 * 30 in all.
        let measured = number(less, "error") * 960.0;
        assert!(measured < 30.0 * bound(less), "{measured} {less}");
    }
    let wrong = call(
        json!({ "call": "point", "kernel": kernel, "numbers": { "z": 1 }, "i": { "count": 1 }, "j": { "count": 1 } }),
    );
    assert!(wrong["error"].as_str().is_some_and(|e| e.contains("no format or constant `z`")), "{wrong}");
}

#[test]
fn pins_have_a_range_that_their_formats_hold() {
    let kernel = json!({ "name": "k", "text": "int32 a ipin; ufixed8.4 b jpin; float18.9 p param; int64 o fout;\no += (int64)((float18.9)a * (float18.9)b * p);\n" });
    let pins = call(json!({ "call": "pins", "kernel": kernel }));
    let of = |k: usize| pins[k]["range"].clone();
    assert_eq!((of(0), of(1)), (json!([-536870912.0, 536870911.0]), json!([0.0, 1.0])));
    assert_eq!(pins[2]["values"], json!([["p", "1"]]));
}

#[test]
fn the_language_server_answers_before_a_call_returns() {
    let mut page = Page::default();
    let mut send = |message: Value| -> Vec<Value> {
        let answer = page.call(&json!({ "call": "lsp", "message": message }).to_string());
        let answer: Value = serde_json::from_str(&answer).expect("an answer is JSON");
        answer["messages"].as_array().expect("a list").clone()
    };
    send(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "capabilities": {} } }));
    send(json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
    let text = "include \"p2p.pg2\"\nfloat18.9 x ipin;\nfloat18.9 y jpin;\nfixed32.8 s fout;\nd = y - x;\ns += dd;\n";
    let item = json!({ "uri": "file:///k.pg2", "languageId": "pg2", "version": 1, "text": text });
    let said = send(json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": item } }));
    assert_eq!((said.len(), &said[0]["method"]), (1, &json!("textDocument/publishDiagnostics")));
    assert!(said[0]["params"]["diagnostics"].as_array().is_some_and(|d| !d.is_empty()), "{said:?}");
    let place = json!({ "textDocument": { "uri": "file:///k.pg2" }, "position": { "line": 4, "character": 0 } });
    let hover = send(json!({ "jsonrpc": "2.0", "id": 2, "method": "textDocument/hover", "params": place }));
    assert_eq!((hover.len(), &hover[0]["id"]), (1, &json!(2)));
}

/// The answer to a call that is about a file, and the columns beside it.
fn solved(asked: Value, file: &[u8]) -> (Value, Vec<f32>) {
    let mut page = Page { bytes: file.to_vec(), ..Page::default() };
    let answer = serde_json::from_str(&page.call(&asked.to_string())).expect("an answer is JSON");
    let number = |b: &[u8]| f32::from_le_bytes(b.try_into().expect("four bytes"));
    (answer, page.bytes.chunks_exact(4).map(number).collect())
}

#[test]
fn an_fmm_of_a_file_has_its_potentials_in_its_leaves_and_is_near_direct_sums() {
    let particles = pairforge::random::uniform(600, 3);
    let rows: Vec<String> = (0..600)
        .map(|k| format!("{},{},{},{}", particles.x[k], particles.y[k], particles.z[k], particles.q[k]))
        .collect();
    let file = format!("x,y,z,q\n{}\n", rows.join("\n"));
    let asked = json!({ "call": "fmm", "particles": "a b.csv", "tol": 1e-8, "check": 50, "leaf": 20 });
    let (answer, columns) = solved(asked, file.as_bytes());
    let error = answer["stats"]["error"]["gradient_rel_l2"].as_f64().expect("an error");
    assert!(error > 0.0 && error < 1e-8, "{error}");
    let command = "pairforge fmm --particles 'a b.csv' --seed 1 --check 50 --tol 1e-8 --leaf 20";
    assert_eq!(answer["command"].as_str().map(|line| line.starts_with(command)), Some(true), "{answer}");
    let leaves = answer["leaves"].as_u64().expect("a count") as usize;
    assert_eq!(columns.len(), 4 * (600 + leaves));
    // The command of the same options has these potentials.
    let options = pairforge::fmm::Options::default().tolerance(1e-8).leaf(20);
    let plan = pairforge::fmm::Plan::new(particles.columns(), &options).expect("a plan");
    let field = plan.run(&particles.q).expect("a field");
    let is_near = |(a, b): (&f32, &f64)| (*a as f64 - b).abs() <= 1e-6 * b.abs();
    assert!(columns[1800..2400].iter().zip(&field.potential).all(is_near));
    // Each particle is in one leaf.
    let boxes = &columns[2400..];
    let is_in = |k: usize, leaf: usize| {
        (0..3).all(|a| (columns[600 * a + k] - boxes[a * leaves + leaf]).abs() <= 0.500001 * boxes[3 * leaves + leaf])
    };
    assert!((0..600).all(|k| (0..leaves).any(|leaf| is_in(k, leaf))));
}

#[test]
fn an_fmm_takes_kernels_by_what_they_mean() {
    let asked = json!({
        "call": "fmm", "n": 300, "dist": "plummer", "tol": 1e-4, "check": 30, "p2p": shipped("p2p_yukawa"), "params": { "kappa": 2.5 },
    });
    let (answer, columns) = solved(asked, b"");
    let error = answer["stats"]["error"]["gradient_rel_l2"].as_f64().expect("an error");
    assert!(error < 1e-4, "{error}");
    let command = answer["command"].as_str().expect("a text");
    assert!(
        command.contains(" --dist plummer ") && command.contains(" --p2p p2p_yukawa --param kappa=2.5 "),
        "{command}"
    );
    assert!(columns.len() > 1200);
}

#[test]
fn what_is_wrong_with_an_fmm_is_said() {
    let text: &[u8] = b"x,y,z,q\n1,2,3\n";
    for (asked, file, wanted) in [
        (json!({ "n": 0 }), &b""[..], "there are no particles"),
        (json!({ "n": 1e9 as u64 }), b"", "up to 1000000 particles"),
        (json!({ "n": 10, "dist": "<b>" }), b"", "there is no distribution `<b>`"),
        (json!({ "n": 10, "tol": 2 }), b"", "above 0 and below 1"),
        (json!({ "n": 10, "check": 0 }), b"", "targets"),
        (json!({ "n": 10, "p2p": shipped("gravity"), "params": { "x": 1 } }), b"", "`x`"),
        (json!({ "n": 10, "p2p": { "name": "k", "text": "x" } }), b"", "mistake"),
        (json!({ "particles": "p.csv" }), text, "p.csv: line 2"),
        (json!({ "particles": "p.csv" }), b"", "p.csv: "),
        (json!({ "particles": "p.csv" }), b"\xff\xfe", "neither text nor .npy"),
    ] {
        let mut asked = asked;
        asked["call"] = json!("fmm");
        let (answer, _) = solved(asked, file);
        assert!(answer["error"].as_str().is_some_and(|e| e.contains(wanted)), "{wanted}: {answer}");
    }
}

#[test]
fn what_is_wrong_with_a_call_is_said() {
    for (asked, wanted) in [
        (json!({ "call": "design" }), "wrong parameters"),
        (json!({ "call": "fly" }), "there is no call `fly`"),
        (json!([1]), "there is no call"),
        (json!({ "call": "design", "kernel": { "name": "k", "text": "x" } }), "mistake"),
        (json!({ "call": "design", "kernel": { "name": "k", "text": " ".repeat(2 << 20) } }), "bytes"),
        (json!({ "call": "design", "kernel": shipped("p2p"), "options": { "target": "x" } }), "there is no target `x`"),
        (json!({ "call": "design", "kernel": shipped("p2p"), "options": { "pipelines": 0 } }), "pipelines"),
        (json!({ "call": "run", "kernel": shipped("p2p"), "i": { "count": 1 << 20 }, "j": { "count": 1 } }), "up to"),
    ] {
        let answer = call(asked.clone());
        assert!(answer["error"].as_str().is_some_and(|e| e.contains(wanted)), "{wanted}: {answer}");
    }
    assert!(Page::default().call("{").contains("no JSON"));
}
