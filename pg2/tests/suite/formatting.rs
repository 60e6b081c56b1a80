//! Formatting of whole kernels.

use pg2::syntax::fmt::format;

fn formatted(text: &str) -> String {
    let once = format(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    assert_eq!(format(&once).as_deref(), Ok(once.as_str()), "formatting twice is formatting once");
    once
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
