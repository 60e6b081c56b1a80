//! `pairforge fmt`: files in place, standard input, `--check`, and what cannot be formatted.

use crate::common::{Place, shipped};
use std::io::Write;
use std::process::Stdio;

#[test]
fn files_are_formatted_in_place_and_stay_so() {
    let place = Place::new();
    place.write("a.pg2", shipped("p2p_paper").replace(' ', "   ").replace(";\n", "; ").replace('\n', "\r\n"));
    let checked = place.run("fmt --check a.pg2").expect(1);
    assert!(checked.err.contains("a.pg2: is not formatted"), "{}", checked.err);
    place.run("fmt a.pg2").expect(0);
    let once = place.text("a.pg2");
    assert!(!once.contains('\r') && once.contains("inr = pg_pow(r2, -1, 2);"), "{once}");
    place.run("fmt a.pg2").expect(0);
    assert_eq!(place.text("a.pg2"), once);
    assert_eq!(place.run("fmt --check a.pg2").expect(0).err, "");
    // The graph is the same, and so is the circuit.
    place.write("b.pg2", shipped("p2p_paper"));
    let [a, b] = ["a", "b"].map(|k| place.run(&format!("explain {k}.pg2")).expect(0).out);
    let table = |text: &str| text.lines().skip(1).map(String::from).collect::<Vec<_>>();
    assert_eq!(table(&a), table(&b));
}

#[test]
fn line_ends_are_of_one_kind_also_inside_of_comments() {
    let place = Place::new();
    let lines =
        ["/* one", "   two \t", "", "   three */", "int32 a ipin; // a", "int64 s fout;", "s += /* x", " y */ a;"];
    let wanted = "/* one\n   two";
    for (k, end) in ["\n", "\r\n", "\r\r\n"].iter().enumerate() {
        // One more that ends no line for the compiler, in either kind of comment.
        let text = lines.join(end).replace("three", "th\rree").replace("// a", "// a\rb") + end;
        place.write("k.pg2", &text);
        place.run("fmt k.pg2").expect(0);
        let once = place.text("k.pg2");
        assert!(!once.contains('\r') && once.starts_with(wanted) && once.contains("// a b"), "{k}: {once:?}");
        place.run("fmt k.pg2").expect(0);
        assert_eq!(place.text("k.pg2"), once, "{k}");
        assert_eq!(place.run("fmt --check k.pg2").expect(0).err, "");
        place.run("check k.pg2").expect(0);
    }
}

#[test]
fn what_does_not_parse_is_reported_and_left_alone() {
    let place = Place::new();
    place.write("good.pg2", "x=1 ;");
    place.write("bad.pg2", "x = 1\ny = ;");
    let ended = place.run("fmt bad.pg2 good.pg2 missing.pg2 p2p").expect(1);
    for wanted in ["bad.pg2:1", "PG0005", "missing.pg2: cannot be read", "shipped kernel and no file"] {
        assert!(ended.err.contains(wanted), "{wanted}: {}", ended.err);
    }
    assert_eq!((place.text("bad.pg2").as_str(), place.text("good.pg2").as_str()), ("x = 1\ny = ;", "x = 1;\n"));
}

#[test]
fn standard_input_has_the_limit_of_files() {
    let place = Place::new();
    let large = std::fs::File::create(place.path("large.pg2")).expect("a file");
    large.set_len(1 << 40).expect("a hole");
    let mut command = place.command("fmt -");
    command.stdin(std::fs::File::open(place.path("large.pg2")).expect("a file"));
    let err = place.finish(command).expect(1).err;
    assert!(err.contains("standard input cannot be read: it has 0.1 GB or more"), "{err}");
}

#[test]
fn standard_input_goes_to_standard_output() {
    let place = Place::new();
    let mut command = place.command("fmt -");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the command starts");
    child.stdin.take().expect("a pipe").write_all(b"x=1;// one").expect("the command reads");
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"x = 1;  // one\n".as_slice()));
}
