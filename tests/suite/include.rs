//! Kernels that include files, from the command line.

use crate::common::Place;
use crate::common::command::{check_in, has};

const OWN: &str = "include \"lib/units.pg2\";\nint8 a jpin;\nint64 o fout;\no += scaled((int64)a);\n";

fn place() -> Place {
    let p = Place::new();
    std::fs::create_dir(p.path("lib")).expect("the folder is new");
    p.write("k.pg2", OWN);
    p.write("lib/units.pg2", "include \"factor.pg2\";\nfn scaled(x) = x * FACTOR;\n");
    p.write("lib/factor.pg2", "const FACTOR = 5;\n");
    p
}

#[test]
fn paths_are_relative_to_the_file_that_includes() {
    let p = place();
    check_in(&p, "check k.pg2", 0, &[], &[]);
    check_in(&p, "build k.pg2 -o d", 0, &[], &[]);
    let verilog = std::fs::read_to_string(p.path("d/k_engine.v")).unwrap_or_else(|_| {
        let files = std::fs::read_dir(p.path("d")).expect("build made it").map(|f| f.expect("it is listed").path());
        let file = files.into_iter().find(|f| f.extension().is_some_and(|e| e == "v")).expect("build wrote Verilog");
        std::fs::read_to_string(file).expect("it is text")
    });
    has(&verilog, &["lib/units.pg2 line 2: fn scaled(x) = x * FACTOR;"]);
    let ended = p.run("explain k.pg2 --lines").expect(0);
    has(&ended.out, &["lib/units.pg2:2"]);
    // The formatter knows one file alone.
    check_in(&p, "fmt --check k.pg2", 1, &[], &["is not formatted"]);
    check_in(&p, "fmt k.pg2", 0, &[], &[]);
    check_in(&p, "fmt --check k.pg2", 0, &[], &[]);
    check_in(&p, "check k.pg2", 0, &[], &[]);
}

#[test]
fn mistakes_name_the_file_that_they_are_in() {
    let p = place();
    p.write("lib/factor.pg2", "// Wrong.\nconst FACTOR = missing;\n");
    check_in(&p, "check k.pg2", 1, &[], &["lib/factor.pg2:2:16", "missing", "Help"]);
    p.write("lib/factor.pg2", "const FACTOR = 1.5;\n");
    // A mistake of a call has a place in both.
    check_in(&p, "check k.pg2", 1, &[], &["lib/units.pg2:2", "k.pg2:4", "in this call of `scaled`"]);
}

#[test]
fn files_that_are_no_kernels_are_said_so() {
    let p = place();
    let cases: [(&str, &[u8], &str); 2] =
        [("latin.pg2", b"const A = 1;\n// f\xfcr\n", "2:5"), ("self.pg2", b"include \"self.pg2\";", "includes itself")];
    for (name, bytes, message) in cases {
        p.write(name, bytes);
        p.write("k.pg2", format!("include \"{name}\";\nint8 a jpin;\nint64 o fout;\no += a;\n"));
        check_in(&p, "check k.pg2", 1, &[], &[message, "PG0030"]);
    }
    for (path, message) in [("none.pg2", "No such file"), ("lib", "is no file"), ("/dev/zero", "is no file")] {
        p.write("k.pg2", format!("include \"{path}\";\nint8 a jpin;\nint64 o fout;\no += a;\n"));
        check_in(&p, "check k.pg2", 1, &[], &[message, "PG0030", "k.pg2:1:9"]);
    }
}
