//! Small programs in C and Fortran that make the calls of codes for GRAPE, linked against the library and run on backends; each
//! compares what it gets with sums of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::place::{Ended, Place};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the libraries that were built for these tests: that of the tests.
fn built() -> PathBuf {
    let program = std::env::current_exe().expect("a test has a file");
    program.parent().expect("it lies in a folder").to_path_buf()
}

/// A program of this repository, compiled and linked; none where its compiler is not found.
fn compiled(source: &str) -> Option<Place> {
    let source = root().join(source);
    let compiler = if source.extension().is_some_and(|e| e == "f90") { "gfortran" } else { "gcc" };
    let program = Place::of("./program");
    let library = built();
    let mut command = Command::new(compiler);
    command.args(["-O1", "-Wall", "-o"]).arg(program.path("program")).arg(source).arg("-I");
    command.arg(root().join("include")).arg("-L").arg(&library).args(["-lpairforge_grape", "-lm", "-lpthread"]);
    command.arg(format!("-Wl,-rpath,{}", library.display())).current_dir(program.path("."));
    let (is_good, said) = testkit::run(&mut command)?;
    assert!(is_good && !said.contains("warning"), "{said}");
    Some(program)
}

fn run(program: &Place, backend: &str) -> Ended {
    let mut command = Command::new(program.path("program"));
    // Of an example with steps on the emulator, a few.
    command.args((backend != "cpu").then_some("4"));
    command.env("PAIRFORGE_GRAPE_BACKEND", backend).current_dir(program.path("."));
    program.finish_within(command, 600)
}

fn check(source: &str, backends: &[&str]) {
    let Some(program) = compiled(source) else { return };
    backends.iter().for_each(|backend| drop(run(&program, backend).expect(0)));
}

const FAST: &[&str] = &["cpu", "emulator"];

#[test]
fn a_leapfrog_over_grape_5_keeps_its_energy() {
    check("examples/leapfrog.c", FAST);
}

#[test]
fn a_hermite_scheme_over_grape_6_keeps_its_energy() {
    check("examples/hermite.f90", FAST);
}

#[test]
fn sources_are_predicted_and_neighbours_found_where_a_program_has_names_of_the_library() {
    check("tests/programs/calls6.c", FAST);
}

#[test]
fn devices_of_several_threads_do_not_mix() {
    check("tests/programs/threads5.c", FAST);
}

#[test]
fn fortran_names_of_grape_5_are_those_that_compilers_make() {
    check("tests/programs/calls5.f90", FAST);
}

#[test]
#[ignore = "a proof in depth"]
fn the_simulated_verilog_runs_the_same_programs() {
    check("tests/programs/calls6.c", &["cycle"]);
    check("tests/programs/calls5.f90", &["cycle"]);
}

#[test]
fn an_unknown_backend_ends_the_program_with_a_sentence() {
    let Some(program) = compiled("tests/programs/calls5.f90") else { return };
    let ended = run(&program, "grape").expect(1);
    assert!(ended.err.contains("PAIRFORGE_GRAPE_BACKEND") && ended.err.contains("emulator"), "{}", ended.err);
}

/// A process that ends with the test.
struct Beside(std::process::Child);

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program has several devices, which take turns on the one port.
#[test]
#[ignore = "a proof in depth"]
fn the_devices_of_a_program_share_a_simulated_board() {
    let command = built().with_file_name(format!("pairforge{}", std::env::consts::EXE_SUFFIX));
    if !command.exists() {
        return testkit::missing("the command that `cargo build` makes");
    }
    if !testkit::require("verilator") {
        return;
    }
    let place = Place::of(command.to_str().expect("its path is text"));
    for (kernel, source) in [("grape5", "tests/programs/calls5.f90"), ("grape6", "tests/programs/calls6.c")] {
        let Some(program) = compiled(source) else { continue };
        place.run(&format!("build {kernel} -o {kernel} --pipelines 1 --freq 50")).expect(0);
        let mut simulation = place.command(&format!("board-sim ulx3s {kernel} --port-file {kernel}.port"));
        let mut simulation = Beside(simulation.stdout(std::process::Stdio::null()).spawn().expect("it starts"));
        let port = loop {
            match std::fs::read_to_string(place.path(&format!("{kernel}.port"))) {
                Ok(port) => break port,
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(50)),
            }
            assert!(simulation.0.try_wait().expect("it is a child").is_none(), "the simulation has ended");
        };
        run(&program, &format!("board:{}", port.trim())).expect(0);
    }
}
