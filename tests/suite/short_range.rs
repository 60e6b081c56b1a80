//! `run` over neighbouring cells and over lists of segments, at the command line.

use crate::common::{Place, plain_backends};
use testkit::Random;

/// Atoms in a periodic box, in random order of space: a shaken lattice.
fn atoms(pin: &str, n: usize) -> String {
    let mut text = format!("{pin}[0],{pin}[1],{pin}[2]\n");
    let mut random = Random::new(12345);
    for k in 0..n {
        let k = k * 389 % n;
        let at = [k % 8, k / 8 % 8, k / 64].map(|c| (c as f64 + 0.1 * random.unit()) / 8.0 - 0.5);
        text += &format!("{},{},{}\n", at[0], at[1], at[2]);
    }
    text
}

/// With this `ecut` the energy is continuous: a pair at the cut-off that rounding moves over it changes nothing.
const LJ: &str = "run lennard_jones --i i.csv --j j.csv --param box=8.8 --param cut2=4 --param ecut=-0.0615234375";

fn box_of_atoms() -> Place {
    let p = Place::new();
    p.write("i.csv", atoms("xi", 512));
    p.write("j.csv", atoms("xj", 512));
    p
}

#[test]
fn cells_give_the_file_of_all_pairs_on_every_backend() {
    let p = box_of_atoms();
    p.run(&format!("{LJ} -o all.csv --json all.json")).expect(0);
    for entry in plain_backends().into_iter().filter(|b| b.exact) {
        let backend = entry.name;
        // The cut-off is 2 of 8.8.
        p.run(&format!("{LJ} --backend {backend} --cells 0.2273 --periodic 1 -o cells.csv --json cells.json"))
            .expect(0);
        assert!(p.text("cells.csv") == p.text("all.csv"), "{backend}");
        let (all, cells) = (p.json("all.json"), p.json("cells.json"));
        assert_eq!(all["pairs"], 512 * 512);
        assert!(all["cells"].is_null());
        assert!(cells["pairs"].as_u64() < Some(512 * 512 / 2), "{cells}");
        assert_eq!(cells["cells"]["grid"], serde_json::json!([4, 4, 4]));
        assert_eq!(cells["cells"]["images"], 0);
        assert_eq!(cells["utilisation"].is_null(), !entry.clocked);
    }
    // The real-arithmetic reference wraps too, and agrees as closely as the formats allow.
    p.run(&format!("{LJ} --backend cpu --cells 0.2273 --periodic 1 -o cpu.csv")).expect(0);
    let column = |name: &str| -> Vec<f64> {
        let text = p.text(name);
        text.lines().skip(1).map(|l| l.split(',').next().expect("a column").parse().expect("a number")).collect()
    };
    for (a, b) in column("all.csv").iter().zip(column("cpu.csv")) {
        assert!((a - b).abs() < 5e-3 * b.abs().max(1.0), "{a} {b}");
    }
}

#[test]
fn a_list_of_segments_says_what_acts_on_what() {
    let p = Place::new();
    p.write("k.pg2", "int32 a ipin; int32 b jpin; int64 s fout; s += (int64)a * (int64)b;");
    p.write("i.csv", "a\n1\n2\n3\n4\n");
    p.write("j.csv", "b\n1\n10\n100\n1000\n");
    let list = "# a comment\ni_first,i_count,j_first,j_count\n2,2,0,1\n\n0,1,3,1\n2,2,2,2\n0,1,0,0\n1,0,0,4\n";
    p.write("list.csv", list);
    let ended = p.run("run k.pg2 --i i.csv --j j.csv --segments list.csv --json s.json").expect(0);
    // Target 1 is in no line: it gets the identity.
    assert_eq!(ended.out, "s\n1000\n0\n3303\n4404\n");
    assert_eq!(p.json("s.json")["pairs"], 1 + 2 * 3);
    for (list, parts) in [
        ("i_first,i_count,j_first,j_count\n0,2,0,1\n\n1,2,0,1\n", vec!["list.csv:4:", "1..3", "0..2", "line 2"]),
        ("i_first,i_count,j_first,j_count\n3,2,0,1\n", vec!["list.csv:2:", "2 targets from 3", "there are 4"]),
        (
            "i_first,i_count,j_first,j_count\n0,1,0,1\n# no\n0,1,18446744073709551615,1\n",
            vec!["list.csv:4:", "sources"],
        ),
        ("i_first,i_count,j_first\n0,1,0\n", vec!["list.csv:1:", "j_count"]),
        ("i_first,i_count,j_first,j_count\n0,1,0,-1\n", vec!["list.csv:2:", "j_count"]),
    ] {
        p.write("list.csv", list);
        let ended = p.run("run k.pg2 --i i.csv --j j.csv --segments list.csv").expect(1);
        parts.iter().for_each(|part| assert!(ended.err.contains(part), "no `{part}` in: {}", ended.err));
    }
}

#[test]
fn wrong_cells_are_refused() {
    let p = box_of_atoms();
    for (options, code, part) in [
        ("--cells 0", 2, "length above 0"),
        ("--cells nan", 2, "length above 0"),
        ("--cells -1", 2, "length above 0"),
        ("--periodic 1", 2, "--cells"),
        ("--cells 0.1 --segments l.csv", 2, "--segments"),
        ("--cells 0.1 --periodic 1,1", 1, "3 coordinates"),
        ("--cells 0.6 --periodic 1", 1, "half"),
        ("--segments absent.csv", 1, "absent.csv"),
    ] {
        let ended = p.run(&format!("{LJ} {options}")).expect(code);
        assert!(ended.err.contains(part), "{options}: no `{part}` in: {}", ended.err);
    }
}

#[test]
fn large_and_odd_files_read_alike() {
    let p = Place::new();
    p.write("k.pg2", "fixed40.20 a ipin; float32.23 b jpin; fixed40.20 s fout; float32.23 m fout; s += a; m max= b;");
    let rows: Vec<String> = (0..300_000).map(|k| format!("{}.{}", k % 1000, k)).collect();
    p.write("j.csv", "b\n1\n");
    p.write("i.csv", format!("a\n{}\n", rows.join("\n")));
    p.run("run k.pg2 --i i.csv --j j.csv -o plain.csv").expect(0);
    // Quotes are left to the careful reader.
    p.write("i.csv", format!("\"a\"\r\n{}\r\n", rows.join("\r\n")));
    p.run("run k.pg2 --i i.csv --j j.csv -o quoted.csv").expect(0);
    assert!(p.text("plain.csv") == p.text("quoted.csv"));
    assert_eq!(p.text("plain.csv").lines().count(), 300_001);
    // A mistake far behind is named with its line.
    p.write("i.csv", format!("a\n{}\nnonsense\n", rows.join("\n")));
    let ended = p.run("run k.pg2 --i i.csv --j j.csv").expect(1);
    assert!(ended.err.contains("i.csv:300002:") && ended.err.contains("nonsense"), "{}", ended.err);
}
