//! Prints the header of the library for C, made from its sources.

use std::error::Error;
use std::path::Path;

/// Files with calls or types, in the order of the header.
const FILES: [&str; 7] = ["status", "arrays", "options", "plan", "gpu_plan", "kernel", "session"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut builder = cbindgen::Builder::new().with_config(cbindgen::Config::from_file(root.join("cbindgen.toml"))?);
    for file in FILES {
        builder = builder.with_src(root.join(format!("src/{file}.rs")));
    }
    let mut header = Vec::new();
    builder.generate()?.write(&mut header);
    let text = String::from_utf8(header)?;
    let lines: Vec<&str> = text.lines().collect();
    println!("{}", without_safety(&lines).join("\n"));
    Ok(())
}

/// Lines without the paragraphs on safety, which are for Rust, and without more than one empty line together.
fn without_safety<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut kept: Vec<&str> = Vec::new();
    let mut is_safety = false;
    for line in lines {
        is_safety = line.starts_with("// # Safety") || is_safety && line.starts_with("//");
        if line.starts_with("// # Safety") && kept.last() == Some(&"//") {
            kept.pop();
        }
        if !is_safety && !(line.is_empty() && kept.last().is_none_or(|last| last.is_empty())) {
            kept.push(line);
        }
    }
    kept
}
