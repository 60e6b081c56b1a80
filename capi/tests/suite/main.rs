//! The library as C, C++ and Fortran use it: installed into a folder, found by pkg-config, its examples compiled and run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use testkit::place::Place;

mod misuse;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the libraries that were built for these tests: that of the tests.
fn built() -> PathBuf {
    let program = std::env::current_exe().expect("a test has a file");
    program.parent().expect("it lies in a folder").to_path_buf()
}

/// Where the library is installed for these tests, beside what was built.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = built().join("../capi-installed");
        let mut command = Command::new(root().join("install.sh"));
        let (is_good, said) = testkit::run(command.arg(built()).arg(&prefix)).expect("the script is there");
        assert!(is_good, "{said}");
        prefix
    })
}

/// A program, compiled as a user does; none where its compiler is not found.
fn compiled(source: &str) -> Option<Place> {
    let (program, prefix) = (Place::of("./program"), prefix());
    let (compiler, flags): (&str, &[&str]) = match source.rsplit('.').next() {
        Some("c") => ("gcc", &["-std=c99", "-D_POSIX_C_SOURCE=200809L", "-pedantic"]),
        Some("cpp") => ("g++", &["-std=c++17", "-pedantic"]),
        _ => ("gfortran", &[]),
    };
    let mut command = Command::new(compiler);
    command.args(flags).args(["-Wall", "-Wextra", "-O1", "-o", "program"]).current_dir(program.path("."));
    if compiler == "gfortran" {
        command.arg(prefix.join("share/pairforge/pairforge.f90"));
    }
    command.arg(root().join(source)).args(flags_of(prefix)?).args(["-lm", "-lpthread"]);
    command.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()));
    let (is_good, said) = testkit::run(&mut command)?;
    assert!(is_good && !said.contains("warning:") && !said.contains("Warning:"), "{said}");
    Some(program)
}

/// The answer of pkg-config.
fn flags_of(prefix: &Path) -> Option<Vec<String>> {
    let mut command = Command::new("pkg-config");
    command.args(["--cflags", "--libs", "pairforge"]).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let (is_good, said) = testkit::run(&mut command)?;
    assert!(is_good, "{said}");
    Some(said.split_whitespace().map(str::to_string).collect())
}

fn check(source: &str) {
    let Some(program) = compiled(source) else { return };
    let command = Command::new(program.path("program"));
    program.finish(command).expect(0);
}

/// A call of a text that begins with its name: the name, and how many arguments it has.
fn call(text: &str) -> (String, usize) {
    let (name, rest) = text.split_once('(').expect("a call has arguments");
    let arguments = rest.split_once(')').expect("they end").0;
    let is_argument = |a: &&str| !["", "void"].contains(&a.trim());
    (name.trim().to_string(), arguments.split(',').filter(is_argument).count())
}

#[test]
fn the_header_has_every_call_of_the_sources() {
    let read = |file: PathBuf| std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let sources = std::fs::read_dir(root().join("src")).expect("a folder").map(|e| e.expect("an entry").path());
    let sources: String = sources.map(read).collect();
    let mut wanted: Vec<_> = sources.split("extern \"C\" fn ").skip(1).map(call).collect();
    let header = read(root().join("include/pairforge.h"));
    let lines: Vec<&str> = header.lines().filter(|line| !line.starts_with("//")).collect();
    // A declaration has its type before its name.
    let declared = |text: &&str| text.contains("pairforge_") && text.contains('(');
    let name =
        |text: &str| text.split_once('(').map_or(0, |(head, _)| head.rfind([' ', '*', '\n']).map_or(0, |k| k + 1));
    let text = lines.join("\n");
    let behind = text.split_once("extern \"C\" {").expect("the calls").1;
    let mut found: Vec<_> = behind.split(';').filter(declared).map(|text| call(&text[name(text)..])).collect();
    wanted.sort();
    found.sort();
    let remedy = "`cargo run --manifest-path capi/header/Cargo.toml > capi/include/pairforge.h` writes the header anew";
    assert!(wanted.len() > 20);
    assert_eq!(found, wanted, "{remedy}");
}

#[test]
#[ignore = "a proof in depth"]
fn the_header_is_made_from_the_sources() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--locked", "--manifest-path"]).arg(root().join("header/Cargo.toml"));
    command.arg("--target-dir").arg(built().join("../../header"));
    let made = command.output().expect("cargo runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    testkit::golden::check(&root().join("include/pairforge.h"), &String::from_utf8_lossy(&made.stdout));
}

#[test]
fn the_example_in_c_runs() {
    check("examples/fields.c");
}

#[test]
fn the_example_in_cpp_runs() {
    check("examples/fields.cpp");
}

#[test]
fn the_example_in_fortran_runs() {
    check("examples/fields.f90");
}

#[test]
#[ignore = "a proof in depth"]
fn valgrind_finds_no_leak_in_the_example_in_c() {
    // It is large, and only this needs it.
    if Command::new("valgrind").arg("--version").output().is_err() {
        return;
    }
    let Some(program) = compiled("examples/fields.c") else { return };
    let mut command = Command::new("valgrind");
    command.args([
        "--quiet",
        "--leak-check=full",
        "--show-leak-kinds=definite",
        "--errors-for-leak-kinds=definite",
        "--error-exitcode=99",
    ]);
    command.arg(program.path("program")).env("RAYON_NUM_THREADS", "1");
    program.finish_within(command, 600).expect(0);
}

#[test]
fn a_package_is_made_in_a_folder_of_its_own_and_names_its_prefix() {
    let place = Place::of("none");
    let mut command = Command::new(root().join("install.sh"));
    command.arg(built()).arg("/opt/pairforge").env("DESTDIR", place.path("made"));
    let (is_good, said) = testkit::run(&mut command).expect("the script is there");
    assert!(is_good, "{said}");
    let made = |name: &str| place.path("made").join("opt/pairforge").join(name);
    let text = std::fs::read_to_string(made("lib/pkgconfig/pairforge.pc")).expect("a file for pkg-config");
    assert!(text.contains("prefix=/opt/pairforge\n") && text.contains(env!("CARGO_PKG_VERSION")), "{text}");
    for name in [
        "lib/libpairforge.so",
        "lib/libpairforge.so.0",
        "lib/libpairforge_grape.so",
        "include/pairforge.h",
        "include/pairforge.hpp",
    ] {
        assert!(made(name).is_file(), "{name}");
    }
    for name in [
        "lib/cmake/pairforge/pairforgeConfig.cmake",
        "share/pairforge/pairforge.f90",
        "include/pairforge-grape/gp5util.h",
    ] {
        assert!(made(name).is_file(), "{name}");
    }
}
