//! The Python package as programs use it: the module that was built beside the package's sources, and the tests of python/tests and the
//! examples with it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The folder of this package.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A Python that has NumPy: the first on `PATH`, or the one that the system's packages are for.
fn python() -> Option<PathBuf> {
    let has_numpy = |python: &PathBuf| {
        let found = Command::new(python).args(["-c", "import numpy"]).output();
        found.is_ok_and(|ended| ended.status.success())
    };
    let found = ["python3", "/usr/bin/python3"].map(PathBuf::from).into_iter().find(has_numpy);
    if found.is_none() {
        testkit::missing("python3 with numpy");
    }
    found
}

/// A package as it is installed: its sources, and the module.
fn installed(into: &Path) {
    let tests = env::current_exe().expect("tests are a program");
    let module = tests.with_file_name(format!("{}_pairforge{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX));
    copy(&folder().join("pairforge"), &into.join("pairforge"));
    let place = into.join("pairforge/_pairforge.abi3.so");
    // The module is large, and need not be copied where it can be linked to.
    if fs::hard_link(&module, &place).is_err() {
        fs::copy(&module, &place).unwrap_or_else(|e| panic!("{}: {e}", module.display()));
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap();
        match entry.is_dir() {
            true if name == "__pycache__" => {}
            true => copy(&entry, &to.join(name)),
            false => drop(fs::copy(&entry, to.join(name)).unwrap()),
        }
    }
}

/// Runs Python with the package, which must end well.
fn runs(arguments: &[&str], folder: &Path, installed: &Path, python: &Path) {
    let mut command = Command::new(python);
    let ended = command
        .args(arguments)
        .current_dir(folder)
        .env("PYTHONPATH", installed)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("it was found");
    let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "{arguments:?}: {}\n{said}", ended.status);
}

#[test]
fn the_package_passes_its_tests() {
    let Some(python) = python() else { return };
    let place = tempfile::tempdir().unwrap();
    installed(place.path());
    runs(&["-m", "unittest", "discover", "-s", "."], &folder().join("tests"), place.path(), &python);
}

/// The blocks marked `python` of a page, one after the other as one program.
fn program(page: &str) -> String {
    let text = fs::read_to_string(folder().join("..").join(page)).unwrap();
    let blocks: Vec<&str> =
        text.split("```python\n").skip(1).map(|block| block.split("```").next().unwrap_or_default()).collect();
    assert!(!blocks.is_empty(), "{page} has no Python");
    blocks.concat()
}

#[test]
fn the_pages_run() {
    let Some(python) = python() else { return };
    let (place, results) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    installed(place.path());
    for page in ["README.md", "docs/guides/numpy.md"] {
        runs(&["-c", &program(page)], results.path(), place.path(), &python);
    }
}

#[test]
fn the_examples_run() {
    let Some(python) = python() else { return };
    let (place, results) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    installed(place.path());
    let mut examples: Vec<PathBuf> =
        fs::read_dir(folder().join("examples")).unwrap().map(|entry| entry.unwrap().path()).collect();
    examples.retain(|file| file.extension().is_some_and(|e| e == "py"));
    assert!(examples.len() >= 3);
    for example in examples {
        runs(&[example.to_str().unwrap()], results.path(), place.path(), &python);
    }
}
