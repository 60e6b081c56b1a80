//! `pairforge deploy`: which command it runs, and what it says when it cannot.
#![cfg(unix)]

use crate::common::{Ended, Place};
use hdl::board::BOARDS;

/// A folder `d` with the bitstream `x.bit` for a board, and a loader that says what it was called with.
struct Bench {
    place: Place,
}

impl Bench {
    fn new(board: &str) -> Bench {
        let place = Place::new();
        std::fs::create_dir(place.path("d")).unwrap();
        place.write("d/synth.json", format!(r#"{{"board": "{board}", "pipelines": 1, "bitstream": "x.bit"}}"#));
        place.write("d/x.bit", [1, 2, 3]);
        Bench { place }
    }

    /// Puts a loader with that last line on the path.
    fn loader(&self, line: &str) {
        self.place.program("bin/openFPGALoader", &format!("echo \"called: $*\"\n{line}"));
    }

    fn run(&self, words: &str) -> Ended {
        let mut command = self.place.command(words);
        command.env("PATH", self.place.path("bin"));
        self.place.finish(command)
    }
}

#[test]
fn a_dry_run_prints_the_command_of_every_board() {
    for board in BOARDS.iter() {
        let bench = Bench::new(board.name);
        let wanted = format!("openFPGALoader {} d/x.bit\n", board.loader.join(" "));
        assert_eq!(bench.run("deploy d --dry-run").expect(0).out, wanted);
        let flash = format!("openFPGALoader {} --write-flash d/x.bit\n", board.loader.join(" "));
        assert_eq!(bench.run("deploy d --dry-run --flash").expect(0).out, flash);
    }
}

#[test]
fn a_dry_run_quotes_what_a_shell_would_take_apart() {
    let bench = Bench::new("ulx3s");
    std::fs::rename(bench.place.path("d"), bench.place.path("it's here")).unwrap();
    let mut command = bench.place.command("deploy --dry-run");
    command.arg("it's here");
    let ended = bench.place.finish(command).expect(0);
    assert_eq!(ended.out, "openFPGALoader --board ulx3s 'it'\\''s here/x.bit'\n");
}

#[test]
fn the_loader_is_run_with_the_bitstream() {
    let bench = Bench::new("ulx3s");
    bench.loader("exit 0");
    let ended = bench.run("deploy d").expect(0);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", "called: --board ulx3s d/x.bit\n"));
}

#[test]
fn an_absent_or_failing_loader_is_status_3() {
    let bench = Bench::new("ulx3s");
    assert!(bench.run("deploy d").expect(3).err.contains("get it with `apt install openfpgaloader`"));
    bench.loader("echo 'unable to open ftdi device: -3 (device not found)' >&2; exit 1");
    let err = bench.run("deploy d").expect(3).err;
    for part in ["unable to open ftdi device", "exit status: 1", "ulx3s is connected", "udev"] {
        assert!(err.contains(part), "{err}");
    }
}

#[test]
fn a_folder_without_a_bitstream_for_a_known_board_is_status_1() {
    let wrong = |bench: &Bench, part: &str| {
        bench.loader("exit 0");
        let err = bench.run("deploy d").expect(1).err;
        assert!(err.contains(part) && !err.contains("called"), "{err}");
    };
    let mut bench = Bench::new("toaster");
    wrong(&bench, "names the board `toaster`; name the folder");
    for (json, part) in [
        ("{}", "names no board"),
        (r#"{"board": null, "bitstream": null}"#, "names no board"),
        (r#"{"board": "ulx3s", "bitstream": null}"#, "has no bitstream"),
        (r#"{"board": "ulx3s", "device": "up5k", "bitstream": "x.bit"}"#, "is for a device that ulx3s has not"),
        (
            r#"{"board": "ulx3s", "bitstream": "x.bit", "clock_mhz": 100, "fmax_mhz": 73.67}"#,
            "only sure to work up to 73.7; synthesise it again with `--freq 73`",
        ),
        (r#"{"board": "ulx3s", "bitstream": "y.bit"}"#, "d/y.bit: cannot be read"),
        (r#"{"board": "ulx3s""#, "no description of a synthesis"),
    ] {
        bench.place.write("d/synth.json", json);
        wrong(&bench, part);
    }
    bench = Bench::new("arty-a7-35");
    bench.place.write("d/synth.json", r#"{"board": "arty-a7-35", "bitstream": null}"#);
    wrong(&bench, "d/engine.bit: is not there yet; make it by `vivado -mode batch -source d/project.tcl`");
    bench = Bench::new("ulx3s");
    bench.place.write("d/x.bit", "");
    wrong(&bench, "d/x.bit: is no bitstream");
    std::fs::remove_file(bench.place.path("d/synth.json")).unwrap();
    wrong(&bench, "d: holds no synth.json");
    assert!(bench.run("deploy nowhere").expect(1).err.contains("nowhere: holds no synth.json"));
}
