//! Kernels of several files.

use hdl::circuit::target::Clock;
use pg2::diag::Diagnostic;
use pg2::syntax::sources::{Loaded, Sources};

/// Files by name; the first is the kernel's own.
fn sources(files: &[(&str, &str)]) -> Sources {
    let loaded = |(name, text): &(&str, &str)| Loaded {
        key: name.to_string(),
        origin: format!("dir/{name}"),
        text: text.to_string(),
    };
    Sources::gather(loaded(&files[0]), &mut |_, path| {
        let file = files.iter().find(|f| f.0 == path.trim_start_matches("./"));
        file.map(loaded).ok_or_else(|| "no such file".to_string())
    })
}

fn errors(sources: &Sources) -> Vec<Diagnostic> {
    pg2::compile_sources("k", sources).err().unwrap_or_default()
}

const OWN: &str = "include \"lib.pg2\";\nint8 a jpin;\nint64 o fout;\no += FACTOR * square((int64)a);\n";
const LIB: &str = "// A library.\nconst FACTOR = 3;\nconst UNUSED = 4;\nfn square(x) =\n    x * x;";

#[test]
fn an_included_file_stands_where_it_is_included() {
    let sources = sources(&[("k.pg2", OWN), ("lib.pg2", LIB)]);
    let compiled = pg2::compile_sources("k", &sources).unwrap();
    // What a library offers need not be used.
    assert_eq!(compiled.warnings, []);
    let alone = OWN.replace("include \"lib.pg2\";", &LIB.replace("const UNUSED = 4;", ""));
    let alone = pg2::compile("k", &alone).unwrap();
    assert_eq!(compiled.graph.canonical(), alone.graph.canonical());
    // Comments name the file that they quote.
    let built = pg2::backend::build::build(&compiled.graph, Clock::default_clock(), &sources, Vec::new());
    let verilog = built.netlist.verilog().unwrap();
    assert!(verilog.contains("dir/lib.pg2 line 5: x * x"), "{verilog}");
    assert!(verilog.contains("// line 4: o += FACTOR"), "{verilog}");
    let rows = pg2::report::explain::explain(&built, &sources).rows;
    assert!(rows.iter().any(|r| (r.file.as_str(), r.line) == ("dir/lib.pg2", 5)));
}

#[test]
fn a_file_is_included_once() {
    let own =
        "include \"a.pg2\"; include \"b.pg2\"; include \"./a.pg2\"; int32 x jpin; int64 o fout; o += A * B * (int64)x;";
    let files = [("k.pg2", own), ("a.pg2", "const A = 2;"), ("b.pg2", "include \"a.pg2\"; const B = A + 1;")];
    assert!(errors(&sources(&files)).is_empty());
    assert_eq!(sources(&files).files().len(), 3);
}

#[test]
fn mistakes_are_placed_in_their_file() {
    let lib = "const FACTOR = 3;\nfn square(x) = x * y;\nbroken = = 3;";
    let sources = sources(&[("k.pg2", OWN), ("lib.pg2", lib)]);
    let found = errors(&sources);
    let places: Vec<(&str, &str, usize)> = found
        .iter()
        .map(|e| {
            let (file, span) = sources.place(e.span());
            (e.code, file.origin.as_str(), span.start)
        })
        .collect();
    assert_eq!(places, [("PG0011", "dir/lib.pg2", 37), ("PG0004", "dir/lib.pg2", 49)]);
    let (file, _) = sources.place(found[0].labels[1].0);
    assert_eq!((file.origin.as_str(), found[0].labels[1].1.as_str()), ("dir/k.pg2", "in this call of `square`"));
}

#[test]
fn files_that_cannot_be_included_are_reported_at_the_include() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (
            &[("k.pg2", "include \"no.pg2\"; int8 a jpin; int64 o fout; o += a;")],
            "`no.pg2` cannot be included: no such file",
        ),
        (&[("k.pg2", "include \"k.pg2\"; int8 a jpin; int64 o fout; o += a;")], "`k.pg2` includes itself"),
        (
            &[
                ("k.pg2", "include \"a.pg2\"; int8 a jpin; int64 o fout; o += a;"),
                ("a.pg2", "include \"b.pg2\";"),
                ("b.pg2", "include \"a.pg2\";"),
            ],
            "`a.pg2` includes itself through `dir/b.pg2`",
        ),
    ];
    for (files, message) in cases {
        let found = errors(&sources(files));
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!((found[0].code, found[0].message.as_str()), ("PG0030", *message));
        assert!(found[0].help.is_some());
    }
    for (text, code) in [
        ("include lib.pg2; int8 a jpin; int64 o fout; o += a;", "PG0004"),
        ("include; int8 a jpin; int64 o fout; o += a;", "PG0004"),
        ("include \"lib.pg2\" int8 a jpin; int64 o fout; o += a;", "PG0004"),
        ("for k in 0..2 { include \"lib.pg2\"; } int8 a jpin; int64 o fout; o += a;", "PG0019"),
    ] {
        let found = errors(&sources(&[("k.pg2", text), ("lib.pg2", LIB)]));
        assert!(found.iter().any(|e| e.code == code), "{text}: {found:#?}");
    }
}

#[test]
fn chains_and_crowds_of_files_get_an_answer() {
    let chain = |from: &str, _: &str| {
        let n: usize = from.parse().unwrap_or(0);
        Ok(Loaded { key: format!("{}", n + 1), origin: format!("f{n}"), text: "include \"next\";".into() })
    };
    let own = || Loaded { key: "0".into(), origin: "own".into(), text: "include \"next\";".into() };
    let found = errors(&Sources::gather(own(), &mut { chain }));
    assert!(found.iter().any(|e| e.code == "PG0030"), "{found:#?}");
    let crowd: String = (0..5000).map(|k| format!("include \"{k}\";")).collect();
    let own = Loaded { key: "own".into(), origin: "own".into(), text: crowd };
    let sources =
        Sources::gather(own, &mut |_, path| Ok(Loaded { key: path.into(), origin: path.into(), text: String::new() }));
    assert!(errors(&sources).iter().any(|e| e.code == "PG0030"));
}
