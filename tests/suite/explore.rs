//! `explore`: error against cost over formats.

use crate::common::Place;
use serde_json::Value;

const KERNEL: &str = "const K = 3; // float18.9 stays in a comment
float18.9 x ipin; float18.9 y jpin; float18.9 s param; fixed40.24 sum fout; fixed24.12 both[2] fout;
d = y - x;
q = pg_sqrt(d * d * K + s);
sum += (fixed40.24)q;
both[0] += (fixed24.12)d;
both[1] += (fixed24.12)(q * d);
";

fn place() -> Place {
    let p = Place::new();
    p.write("k.pg2", KERNEL);
    let column = |name: &str, n: usize, step: usize| {
        (0..n).fold(format!("{name}\n"), |text, k| text + &format!("{}\n", ((k * step) % 97) as f64 / 16.0))
    };
    p.write("i.csv", column("x", 20, 31));
    p.write("j.csv", column("y", 30, 17));
    p
}

const EXPLORE: &str = "explore k.pg2 --i i.csv --j j.csv --param s=0.5";

fn numbers(text: &str) -> Vec<Vec<f64>> {
    let row = |line: &str| line.split(',').map(|x| x.parse().expect("a number")).collect();
    text.lines().skip(1).map(row).collect()
}

fn points(json: &Value) -> &Vec<Value> {
    json["points"].as_array().expect("a list")
}

#[test]
fn errors_fall_with_width_and_are_those_of_runs() {
    let p = place();
    let ended = p.run(&format!("{EXPLORE} --vary float18.9=5..17:2 -o e.svg --json e.json")).expect(0);
    let json = p.json("e.json");
    assert_eq!(points(&json).len(), 7);
    assert_eq!(json["failed"].as_array().map(Vec::len), Some(0));
    let error = |k: usize| points(&json)[k]["error"].as_f64().expect("a number");
    assert!((1..7).all(|k| error(k) < error(k - 1)) && error(6) < error(0) / 100.0, "{}", ended.out);
    // The point is what runs say.
    p.run("run k.pg2 --i i.csv --j j.csv --param s=0.5 -o bits.csv").expect(0);
    p.run("run k.pg2 --i i.csv --j j.csv --param s=0.5 --backend cpu -o real.csv").expect(0);
    let (bits, real) = (numbers(&p.text("bits.csv")), numbers(&p.text("real.csv")));
    let l2 = |columns: &[usize]| {
        let sum = |f: &dyn Fn(usize, usize) -> f64| -> f64 {
            (0..bits.len()).flat_map(|r| columns.iter().map(move |c| (r, *c))).map(|(r, c)| f(r, c).powi(2)).sum()
        };
        (sum(&|r, c| bits[r][c] - real[r][c]) / sum(&|r, c| real[r][c])).sqrt()
    };
    let point = points(&json).iter().find(|x| x["as_written"] == true).expect("9 is among the numbers");
    assert_eq!(point["written"], serde_json::json!(["float18.9"]));
    for (k, (output, columns)) in [("sum", &[0][..]), ("both", &[1, 2][..])].into_iter().enumerate() {
        assert_eq!(point["errors"][k]["output"], output);
        let (got, wanted) = (point["errors"][k]["rel_l2"].as_f64().expect("a number"), l2(columns));
        assert!((got - wanted).abs() <= 1e-6 * wanted, "{output}: {got} {wanted}");
    }
    // The table has a line for each, and the figure three panels.
    assert!(ended.out.lines().any(|l| l.starts_with("*=") && l.contains("float18.9")), "{}", ended.out);
    let svg = p.text("e.svg");
    for part in ["register bits", "multiplier bits", "table bits", "float18.9", "Pareto"] {
        assert!(svg.contains(part), "no {part}");
    }
    assert_eq!(svg.matches("<title>").count(), 3 * 7);
}

/// An attribute of an element of an SVG file.
fn attribute(element: &str, name: &str) -> f64 {
    let value = element.split(&format!(" {name}=\"")).nth(1).and_then(|t| t.split('"').next());
    value.and_then(|v| v.parse().ok()).unwrap_or_else(|| panic!("{element} has no {name}"))
}

#[test]
fn no_label_of_the_picture_covers_a_point() {
    let p = Place::new();
    p.write("i.csv", "xi[0],xi[1],xi[2]\n0,0,0\n0.25,0,0\n");
    p.write("j.csv", "xj[0],xj[1],xj[2],mj\n0,0,0,1\n0.25,0,0,2\n0,0.125,0,-1\n");
    // As in docs/guides/kernel.md.
    p.run("explore p2p --i i.csv --j j.csv --param eps2=0 --vary float25.16=6..20 -o e.svg").expect(0);
    let svg = p.text("e.svg");
    let circles: Vec<&str> = svg.lines().filter(|l| l.starts_with("<circle")).collect();
    let labels: Vec<&str> = svg.lines().filter(|l| l.contains("font-size=\"11\"")).collect();
    assert!(labels.len() >= 20, "{} labels", labels.len());
    for label in labels {
        let (left, base) = (attribute(label, "x"), attribute(label, "y"));
        // A digit is 7 pixels wide and 8 high.
        let digits = label.split(['>', '<']).nth(2).expect("its text").len();
        let (right, top) = (left + 7.0 * digits as f64, base - 8.0);
        for circle in &circles {
            let (cx, cy, r) = (attribute(circle, "cx"), attribute(circle, "cy"), attribute(circle, "r"));
            let (x, y) = (cx.clamp(left, right) - cx, cy.clamp(top, base) - cy);
            assert!(x * x + y * y >= r * r, "{label} covers {circle}");
        }
    }
}

#[test]
fn errors_of_wide_ints_are_exact_and_the_references_flags_are_told() {
    let p = Place::new();
    let text = "const N = 1; int64 a ipin; int64 b jpin; int64 s fout; int32 t fout;
        s += a + b * N; t += (int32)(b >> 24);";
    p.write("k.pg2", text);
    p.write("i.csv", "a\n9007199254740993\n-9223372036854775807\n");
    p.write("j.csv", "b\n9007199254740995\n");
    let explore = "explore k.pg2 --i i.csv --j j.csv --json e.json";
    let ended = p.run(&format!("{explore} --vary N=1..2")).expect(0);
    let json = p.json("e.json");
    assert_eq!(points(&json)[0]["error"].as_f64(), Some(0.0), "the file itself is exact");
    assert!(points(&json)[1]["error"].as_f64() > Some(1e-4));
    assert_eq!(json["reference_flags"], serde_json::json!([]));
    assert!(!ended.out.contains("own kernel raises"), "{}", ended.out);
    p.write("j.csv", "b\n9223372036854775807\n9223372036854775807\n");
    let ended = p.run(&format!("{explore} --vary N=1..1")).expect(0);
    assert_eq!(p.json("e.json")["reference_flags"], serde_json::json!(["wrap"]));
    assert!(ended.out.contains("own kernel raises wrap"), "{}", ended.out);
}

#[test]
fn the_front_is_what_nothing_dominates() {
    let p = place();
    p.run(&format!("{EXPLORE} --vary q=6..12:3 --vary sum=4..24:10 --vary K=1..3:2 --json e.json")).expect(0);
    let json = p.json("e.json");
    let list = points(&json);
    assert_eq!(list.len(), 3 * 3 * 2);
    let of = |x: &Value| -> [f64; 4] {
        ["register_bits", "multiplier_bits", "table_bits", "error"].map(|key| x[key].as_f64().expect("a number"))
    };
    let mut fronts = 0;
    for b in list {
        let worse = |a: &Value| {
            let pairs: Vec<(f64, f64)> = of(a).into_iter().zip(of(b)).collect();
            pairs.iter().all(|(a, b)| a <= b) && pairs.iter().any(|(a, b)| a < b)
        };
        assert_eq!(b["front"], !list.iter().any(worse), "{b}");
        fronts += (b["front"] == true) as usize;
        // Another constant is another kernel, which is far from the one that was written.
        assert_eq!(b["numbers"][2] == 1, b["error"].as_f64() > Some(0.1), "{b}");
    }
    assert!((1..18).contains(&fronts), "{fronts}");
}

#[test]
fn points_that_cannot_be_are_listed() {
    let p = place();
    let ended = p.run(&format!("{EXPLORE} --vary float18.9=51..54 --json e.json")).expect(0);
    let json = p.json("e.json");
    assert_eq!((points(&json).len(), json["failed"].as_array().map(Vec::len)), (2, Some(2)));
    assert!(ended.out.contains("not possible:") && ended.out.contains("float18.9 53: PG00"), "{}", ended.out);
    let ended = p.run(&format!("{EXPLORE} --vary float18.9=53..54")).expect(1);
    assert!(ended.out.is_empty() && ended.err.contains("float18.9 54: PG00"), "{}", ended.err);
}

#[test]
fn wrong_ranges_and_names_are_refused() {
    let p = place();
    for (options, code, part) in [
        ("", 2, "--vary"),
        ("--vary q", 2, "NAME=LO..HI"),
        ("--vary q=9", 2, "NAME=LO..HI"),
        ("--vary q=9..5", 2, "NAME=LO..HI"),
        ("--vary q=1..9:0", 2, "NAME=LO..HI"),
        ("--vary q=1..99999999", 2, "1000 points"),
        ("--vary q=1..40 --vary sum=1..40", 2, "1000 points"),
        ("--vary q=5..9 --vary float18.9=5..9", 2, "the same"),
        ("--vary flot18.9=5..9", 1, "did you mean `float18.9`"),
        ("--vary q=5..9 -o absent/e.svg", 1, "absent"),
        ("--vary q=5..9 --target nothing", 2, "nothing"),
    ] {
        let ended = p.run(&format!("{EXPLORE} {options}")).expect(code);
        assert!(ended.err.contains(part), "{options}: no `{part}` in: {}", ended.err);
    }
}
