//! The examples of the language reference compile.

#[test]
fn every_example_of_the_reference_compiles_without_a_warning() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/language.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks: Vec<&str> = text.split("```pg2\n").skip(1).map(|b| b.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 2);
    for block in blocks {
        let compiled = pg2::compile("example", block).unwrap_or_else(|e| panic!("{block}\n{e:#?}"));
        assert_eq!(compiled.warnings, vec![], "{block}");
    }
    assert!(
        text.contains(
            pg2::kernels::find("p2p_paper").unwrap().text.split("\n\n").nth(1).unwrap().lines().next().unwrap()
        )
    );
}
