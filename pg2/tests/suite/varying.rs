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

/// Kernels in whose texts casts have to be written.
const APART: &[&str] = &[
    // Comparisons, choices, vectors, a product of vectors, and a parameter that is read in two places.
    "fixed32.31 x[3] ipin; fixed32.31 y[3] jpin; float25.16 m jpin; float25.16 cut param; fixed64.30 p fout; float25.16 far fout;
     d = (float25.16)(y - x); r2 = d * d; near = r2 < cut && m > 0;
     p += near ? (fixed64.30)(m * pg_rsqrt(r2 + cut)) : 0; far max= -r2;",
    // A function of the file, a loop, elements, and values that are assigned in branches.
    "float18.9 a[4] ipin; float18.9 b[4] jpin; fixed40.20 o fout; fn soft(x, e) = pg_sqrt(x * x + e);
     s[4]; for k in 0..4 { s[k] = soft(a[k] - b[k], 0.25) * 2; } if (a[0] < b[0]) { t = s[0] + s[1]; } else { t = s[2]; }
     o += (fixed40.20)(t * s[3]);",
    // Names of formats, tables, patterns, whole numbers, and a cast of a cast.
    "type real = float25.16; real x ipin; real y jpin; table real w[4] = {1, 0.75, 0.5, 0.25}; float32.23 o fout; int64 n fout;
     k = (uint2)pg_floor(pg_abs(x)); z = w[k] * y; o min= (float32.23)(z * (real)(float18.9)x) + 1;
     n += (int64)(pg_bits(z) >> 3) + (int64)pg_from_bits(pg_bits(y), float25.16);",
    // The least of several with what comes with it, powers, functions that are fitted, and logs.
    "float25.16 x ipin; float25.16 y jpin; log17.8 q jpin; float25.16 best fout; float25.16 who fout; log17.8 l fout;
     d = pg_min(pg_abs(x - y), 4); e = pg_fn(d, exp(-d), 0, 4); (best, who) min= (d * e, y / 2); l max= q * q;",
    "float32.23 x ipin; float32.23 y jpin; fixed64.30 s fout; fixed64.30 c[2] fout;
     v = (x, y, x * y); c[0] += (fixed64.30)v[2]; c[0] -= (fixed64.30)(v[0] << 1); c[1] += (fixed64.30)pg_max(v * v, v[1]);
     s += (fixed64.30)(x > y ? x : 0.5);",
];

#[test]
fn every_value_can_have_its_own_format() {
    use pg2::syntax::sources::Sources;
    use pg2::vary::apart::Apart;
    let shorter = |f: hdl::Format, by: u32| -> hdl::Format {
        let made = match f {
            _ if f.is_float() => hdl::Format::float(f.width() - by, f.mant() - by),
            _ if f.is_log() => hdl::Format::log(f.width() - by, f.log_frac() - by),
            _ => hdl::Format::fixed(f.width() - by, f.frac().unwrap_or(0) - by, f.is_signed()),
        };
        made.expect("a shorter one")
    };
    let shipped = pg2::kernels::KERNELS.iter().map(|k| k.text);
    for text in APART.iter().copied().chain(shipped) {
        let graph = pg2::compile("k", text).map_err(|e| format!("{text}: {e:?}")).unwrap().graph;
        let apart = Apart::new(&Sources::alone("k.pg2", text), &graph);
        let written = apart.written();
        assert_eq!(apart.text(&written), text, "as it is written");
        let compiles = |chosen: &[hdl::Format]| {
            let new = apart.text(chosen);
            pg2::compile("k", &new).map_err(|e| format!("{new}\n{:?}", e[0])).unwrap().graph
        };
        let is_short = |k: &usize| written[*k].frac() == Some(0);
        for k in (0..written.len()).filter(|k| !is_short(k)) {
            let mut chosen = written.clone();
            chosen[k] = shorter(written[k], 1);
            let name = &apart.knobs[k].name;
            let found = compiles(&chosen);
            // A pin is in the format that was chosen for it.
            let pin = found.pins.iter().find(|p| p.name == *name);
            assert!(pin.is_none_or(|p| p.format == chosen[k]), "{name} of {text}");
        }
        // All different.
        let one = |k: usize| if is_short(&k) { written[k] } else { shorter(written[k], 1 + (k % 4) as u32) };
        compiles(&(0..written.len()).map(one).collect::<Vec<_>>());
    }
}
