//! Formatting, of pieces of text and of whole kernels.

use pg2::syntax::fmt::{WIDTH, format};

fn formatted(text: &str) -> String {
    let once = format(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    assert_eq!(format(&once).as_deref(), Ok(once.as_str()), "formatting twice is formatting once");
    once
}

#[test]
fn declarations_equals_signs_and_comments_stand_in_columns() {
    let text = "\u{feff}int64 pout fout; // potential\r\nint32   xi [3] ipin;// ip\nfloat18.9 mj jpin;\n\n\n\ndx=(float18.9)( xj-xi ) ;\n\
                inr =pg_pow( r2,-1 ,2);  // root\npout+=(int64)(dx[0]<<45);t max = -dx[ 1 ]  ;";
    let want = "int64      pout   fout;  // potential\nint32      xi[3]  ipin;  // ip\nfloat18.9  mj     jpin;\n\n\
                dx  = (float18.9)(xj - xi);\ninr = pg_pow(r2, -1, 2);  // root\npout += (int64)(dx[0] << 45);\nt max= -dx[1];\n";
    assert_eq!(formatted(text), want);
}

#[test]
fn prefix_operators_stick_to_their_operands() {
    let text = "a=- -b+ ~c*!d-(int8)- e ? -1: +f[ -1+2 ];";
    assert_eq!(formatted(text), "a = --b + ~c * !d - (int8)-e ? -1 : +f[-1 + 2];\n");
}

#[test]
fn comments_stay_where_they_are() {
    let text = "// head\n\n\n/* block\n   of two */\na = b /* one */ + // two\n c; /* three */ // four\n// five\nd = e; // six\n\n// end";
    let want = "// head\n\n/* block\n   of two */\na = b /* one */ + // two\n    c;  /* three */\n// four\n// five\nd = e;  // six\n\n// end\n";
    assert_eq!(formatted(text), want);
}

#[test]
fn long_statements_are_broken_at_the_outermost_operators() {
    let term = "alpha * (beta + gamma[0] * delta_of_something)";
    let text = format!("value_of_the_sum = {0} + {0} + {0} + {0};", term);
    let out = formatted(&text);
    assert!(out.lines().count() > 1 && out.lines().all(|l| l.len() <= WIDTH), "{out}");
    assert!(out.lines().skip(1).all(|l| l.starts_with("    + alpha")), "{out}");
}

#[test]
fn broken_text_is_not_formatted() {
    assert!(format("a = ;").is_err());
    assert_eq!(formatted(""), "");
    assert_eq!(formatted("\n\n  // only this"), "// only this\n");
}

/// Formatting changes no graph of a shipped kernel, however its blanks and line ends lie.
#[test]
fn shipped_kernels_keep_their_graphs() {
    for kernel in pg2::kernels::KERNELS {
        let graph = |text: &str| pg2::compile(kernel.name, text).map(|c| c.graph.canonical()).map_err(|e| e.len());
        let want = graph(kernel.text).expect("shipped kernels compile");
        let out = formatted(kernel.text);
        assert_eq!(graph(&out).as_ref(), Ok(&want), "{}", kernel.name);
        let wide = kernel.text.replace(' ', "  ").replace('\n', "\r\n");
        assert_eq!(graph(&formatted(&wide)).as_ref(), Ok(&want), "{}", kernel.name);
        let bare: String = kernel
            .text
            .lines()
            .filter(|l| !l.starts_with("/*"))
            .map(|l| l.split("//").next().unwrap_or("").to_string() + "\n")
            .collect();
        assert_eq!(formatted(&bare.replace(' ', "\t ")), formatted(&bare), "{}", kernel.name);
    }
}
