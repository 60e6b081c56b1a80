//! The crates as packages: whole, and with nothing outside of them.

use std::process::Command;

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(crate::book::root());
    command
}

#[test]
fn every_crate_can_be_packaged_without_a_warning() {
    let target = tempfile::tempdir().expect("a folder for what is packaged");
    let packaged = cargo(&["package", "--workspace", "--offline", "--no-verify", "--allow-dirty", "--target-dir"])
        .arg(target.path())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&packaged.stderr);
    assert!(packaged.status.success() && !said.contains("warning"), "{said}");
    assert!(said.matches("Packaged").count() >= 14, "{said}");
}

/// `include_str!` and `include_bytes!` of a crate stay in its folder.
#[test]
fn no_crate_reads_a_file_outside_of_its_package() {
    for folder in [
        "hdl",
        "pg2",
        "sim",
        "flow",
        "fmm",
        "pipelines",
        "gpu",
        "ranks",
        "pairforge",
        "terminal",
        "lsp",
        "grape",
        "capi",
        "web",
    ] {
        let root = crate::book::root().join(folder);
        let mut folders = vec![root.join("src")];
        while let Some(at) = folders.pop() {
            for path in std::fs::read_dir(&at).expect("a folder").map(|e| e.expect("an entry").path()) {
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                for included in text.split("include_str!(\"").skip(1).chain(text.split("include_bytes!(\"").skip(1)) {
                    let named = included.split('"').next().unwrap_or_default();
                    let file = at.join(named);
                    let file = file.canonicalize().unwrap_or_else(|e| panic!("{}: {e}", file.display()));
                    let inside = file.starts_with(root.canonicalize().expect("it exists"));
                    assert!(inside, "{} includes {named}", path.display());
                }
            }
        }
    }
}

#[test]
#[ignore = "a proof in depth"]
fn the_documentation_of_all_crates_has_no_warning() {
    let target = tempfile::tempdir().expect("a folder for the pages");
    let made = cargo(&["doc", "--workspace", "--no-deps", "--offline", "--target-dir"])
        .arg(target.path())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success() && !said.contains("warning"), "{said}");
}

/// Each feature of the library by itself, as a program that depends on it would ask for it.
#[test]
#[ignore = "a proof in depth"]
fn each_feature_compiles_by_itself_without_a_warning() {
    let target = tempfile::tempdir().expect("a folder for what is compiled");
    for feature in ["", "kernels", "simulate", "cuda", "mpi", "synth"] {
        let checked = cargo(&["check", "-p", "pairforge", "--no-default-features", "--offline", "--features", feature])
            .arg("--target-dir")
            .arg(target.path())
            .output()
            .expect("cargo runs");
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success() && !said.contains("warning"), "{feature}: {said}");
    }
}
