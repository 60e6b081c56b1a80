//! Formats and constants of a kernel's text that are varied.

use pg2::diag::Span;
use pg2::vary::{Varied, find, variant};

const TEXT: &str = "const N = 3; // float18.9 in a comment
    int32 a ipin; float18.9 b jpin; fixed20.12 o fout; float25.16 p param;
    c[2]; c[0] = b * (float18.9)p; c[1] = b; o += (fixed20.12)(c[0] << N) + (fixed20.12)(c[1] * (float18.9)a);";

fn found(name: &str) -> Result<Varied, String> {
    let text = "const N = 3; // float18.9 in a comment
        int32 a ipin; float18.9 b jpin; fixed20.12 o fout; float25.16 p param;
        c = b * (float18.9)p; o += (fixed20.12)(c << N) + (fixed20.12)((float18.9)a);";
    find(text, &pg2::compile("k", text).expect("it compiles").graph, name)
}

#[test]
fn names_stand_for_formats_and_constants() {
    for (name, format, number, written) in [
        ("float18.9", "float18.9", 12, "float21.12"),
        ("b", "float18.9", 5, "float14.5"),
        ("c", "float18.9", 5, "float14.5"),
        ("o", "fixed20.12", 8, "fixed16.8"),
        ("a", "int32", 20, "int20"),
    ] {
        let varied = found(name).expect("it is there");
        assert_eq!(varied, Varied::Format(format.to_string()), "{name}");
        assert_eq!(varied.written(number), written);
    }
    let n = found("N").expect("it is there");
    assert!(matches!(n, Varied::Const { .. }));
    assert!(found("float25.61").expect_err("absent").contains("did you mean `float25.16`"));
}

#[test]
fn variants_differ_in_what_is_varied_alone() {
    let format = |f: &str| Varied::Format(f.to_string());
    let (f, g) = (format("float18.9"), format("float25.16"));
    let value = TEXT.find('3').map(|k| Span { start: k, end: k + 1 }).expect("there is a 3");
    let n = Varied::Const { name: "N".into(), value };
    assert_eq!((f.present(TEXT), n.present(TEXT)), (Some(9), Some(3)));
    // One becomes what the other was.
    let text = variant(TEXT, &[(&f, 16), (&g, 9), (&n, -12)]);
    assert!(text.starts_with("const N = -12; // float18.9 in a comment\n"));
    assert_eq!((text.matches("float25.16").count(), text.matches("float18.9").count()), (3, 2));
    assert_eq!(variant(TEXT, &[(&f, 9), (&g, 16), (&n, 3)]), TEXT);
}
