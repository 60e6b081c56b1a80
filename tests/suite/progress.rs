//! Progress: on a terminal alone, and not where nobody wants it; colours likewise.
#![cfg(unix)]

use crate::common::Place;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::Read;
use std::process::Command;

/// The text that a command shows on a terminal, to which its standard error goes.
fn on_terminal(mut command: Command) -> String {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let terminal = openpt(flags).expect("a pseudo-terminal");
    grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("a pseudo-terminal of our own");
    let path = ptsname(&terminal, Vec::new()).expect("its name").into_string().expect("a name in ASCII");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let end = rustix::fs::open(path.as_str(), flags, Mode::empty()).expect("its other end");
    let mut child = command.stderr(File::from(end)).env("TERM", "xterm").spawn().expect("the command starts");
    // It holds the other end.
    drop(command);
    let (mut bytes, mut buffer, mut terminal) = (Vec::new(), [0; 4096], File::from(terminal));
    // An error: nobody has the terminal any more.
    while let Ok(n @ 1..) = terminal.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..n]);
    }
    child.wait().expect("it ends");
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn progress_is_shown_on_a_terminal_unless_the_command_is_to_be_quiet() {
    let place = Place::new();
    place.program("bin/yosys", "/bin/sleep 1; exit 1");
    let synth = |quiet: &str| {
        let mut command = place.command(&format!("synth p2p_small --area-only --target ecp5 -o out {quiet}"));
        command.env("PATH", place.path("bin")).env("PAIRFORGE_TOOLS", place.path("none"));
        command.env("PAIRFORGE_CACHE", place.path("cache"));
        command
    };
    let shown = on_terminal(synth(""));
    assert!(shown.contains("yosys failed") && shown.contains(" s") && shown.contains("\u{1b}["), "{shown:?}");
    for quiet in ["--quiet", "-q"] {
        let shown = on_terminal(synth(quiet));
        let lines = shown.replace("\r\n", "\n");
        assert!(lines.contains("yosys failed") && !lines.contains(['\r', '\u{1b}']), "{shown:?}");
    }
    let piped = place.finish(synth("")).expect(3);
    assert!(!piped.err.contains(['\r', '\u{1b}']), "{}", piped.err);
}

#[test]
fn colours_are_for_terminals_and_not_for_those_who_want_none() {
    let place = Place::new();
    place.write("wrong.pg2", "int32 x ipin; int64 s fout; s += y;");
    for words in ["check wrong.pg2", "check --no-such-option wrong.pg2"] {
        let coloured = |no_color: Option<&str>| {
            let mut command = place.command(words);
            command.env_remove("NO_COLOR");
            if let Some(value) = no_color {
                command.env("NO_COLOR", value);
            }
            on_terminal(command).contains("\u{1b}[")
        };
        assert!(coloured(None) && coloured(Some("")) && !coloured(Some("1")), "{words}");
        assert!(!place.run(words).err.contains('\u{1b}'), "{words}");
    }
}
