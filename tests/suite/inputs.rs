//! Files that are read: what has no end or does not fit, and what would play with a terminal.

use crate::common::Place;
use crate::common::command::{RUN, check_in, has, place};
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Every way to read a file, with the file in place of `%`.
const READERS: [&str; 6] = [
    "check %",
    "explain %",
    "run % --i i.csv --j j.csv --param k=3",
    "run k.pg2 --i % --j j.csv --param k=3",
    "run k.pg2 --i i.csv --j j.csv --param k=3 --segments %",
    "fmm --particles %",
];

#[test]
fn what_is_no_file_is_said_to_be_none() {
    let p = place();
    fs::create_dir(p.path("folder")).expect("a folder");
    let _socket = std::os::unix::net::UnixListener::bind(p.path("socket")).expect("a socket");
    for reader in READERS {
        for (name, kind) in [("folder", "a folder"), ("socket", "a socket"), ("/dev/zero", "a device")] {
            let words = reader.replace('%', name);
            check_in(&p, &words, 1, &[], &[&format!("{name}: cannot be read: it is {kind}")]);
        }
    }
    rustix::fs::mknodat(rustix::fs::CWD, p.path("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    for name in ["/dev/zero", "/dev/tty", "pipe", "folder", "socket"] {
        p.write("k2.pg2", format!("include \"{name}\";\n"));
        check_in(&p, "check k2.pg2", 1, &[], &["is no file"]);
    }
    // A file by its kind, whose end is waited for.
    p.write("k2.pg2", "include \"/proc/kmsg\";\n");
    check_in(&p, "check k2.pg2", 1, &[], &["kmsg"]);
    for reader in READERS {
        check_in(&p, &reader.replace('%', "/proc/kmsg"), 1, &[], &["kmsg"]);
    }
}

#[test]
fn a_pipe_is_read_to_its_end_and_not_waited_for_in_vain() {
    let p = place();
    rustix::fs::mknodat(rustix::fs::CWD, p.path("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    check_in(&p, &READERS[3].replace('%', "pipe"), 1, &[], &["pipe: cannot be read: it is a pipe, and nothing"]);
    // A writer that takes longer is waited for.
    let script = format!("(sleep 6; cat i.csv) > pipe & {} {RUN} --i pipe", env!("CARGO_BIN_EXE_pairforge"));
    let script = script.replace("--i i.csv --j", "--j");
    let folder = p.path("pipe").parent().expect("a folder").to_path_buf();
    let out = Command::new("sh").arg("-c").arg(script).current_dir(folder).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&out.stdout), "s,m,n\n4,1.5,-0.25\n10,1.5,-0.25\n", "{out:?}");
}

/// A command with that many bytes of memory.
fn within(p: &Place, words: &str, bytes: u64) -> crate::common::Ended {
    let mut command = p.command(words);
    // SAFETY: setting a limit is a system call alone, which may be made between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
            libc::setrlimit(libc::RLIMIT_AS, &limit);
            Ok(())
        })
    };
    p.finish(command)
}

#[test]
fn what_does_not_fit_into_memory_is_refused_with_a_sentence() {
    let p = place();
    // A file with a hole: large, and nothing of it on the disk.
    fs::File::create(p.path("large")).expect("a file").set_len(1 << 43).expect("a hole");
    for reader in READERS {
        has(&p.run(&reader.replace('%', "large")).expect(1).err, &["large: cannot be read: it has 8796.1 GB"]);
    }
    has(&p.run("fmm --n 2000000000000").expect(2).err, &["--n takes up to"]);
    has(&p.run("fmm --n 2147483647").expect(1).err, &["2147483647 particles needs about", "GB are free"]);
    has(&p.run("fmm --n 10 --backend emulator --jmem 4294967295").expect(1).err, &["records of j memory"]);
    // Memory that ends in the middle of the work.
    p.write("out.csv", "old");
    let ended = within(&p, "fmm --n 3000000 --backend cpu --threads 2 -o out.csv", 400 << 20).expect(1);
    has(&ended.err, &["error: there is not enough memory"]);
    assert_eq!((ended.out.as_str(), p.text("out.csv").as_str()), ("", "old"));
}

#[test]
fn what_comes_from_outside_is_escaped_and_cut() {
    let p = place();
    let cell = "\u{1b}[31m\u{7}\u{202e}".repeat(300_000);
    let npy = |header: &str| {
        let length = (header.len() as u32).to_le_bytes();
        [b"\x93NUMPY\x02\x00".as_slice(), &length, header.as_bytes()].concat()
    };
    p.write("cell.csv", format!("a\n{cell}\n"));
    p.write("column.csv", format!("a,{cell}\nx,2\n"));
    p.write("q.csv", format!("x,y,z,q\n1,2,3,{cell}\n"));
    p.write("header.csv", format!("x,y,z,{cell}\n1,2,3,4\n"));
    p.write("descr.npy", npy(&format!("{{'descr': '{cell}', 'fortran_order': False, 'shape': (1, 4), }}\n")));
    let shape = "1,".repeat(300_000);
    p.write("shape.npy", npy(&format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape}), }}\n")));
    fs::create_dir(p.path("out")).expect("a folder");
    p.write("out/synth.json", format!("{{\"board\": {}}}", serde_json::Value::from(cell.as_str())));
    p.write("out/manifest.json", format!("{{\"{}\": 1}}", "x".repeat(300_000)));
    let odd = "odd\u{1b}[31m\nname";
    let mut commands: Vec<Vec<String>> = [
        "run k.pg2 --i cell.csv --j j.csv --param k=3",
        "run k.pg2 --i column.csv --j j.csv --param k=3",
        "fmm --particles q.csv",
        "fmm --particles header.csv",
        "fmm --particles descr.npy",
        "fmm --particles shape.npy",
        "deploy out",
        "board-sim ulx3s out",
        "check %",
        "build k.pg2 -o d --target %",
        "list %",
        "new %",
        "bench %",
        "explain k.pg2 --svg none/%",
        "fmm --particles %",
        "fmm --n 10 --backend %",
        "run k.pg2 --i i.csv --j j.csv --param %",
        "run k.pg2 --i i.csv --j j.csv --param %=1",
        "run k.pg2 --i i.csv --j j.csv --param k=%",
        "explore k.pg2 --i i.csv --j j.csv --vary %",
        "explore k.pg2 --i i.csv --j j.csv --vary %=1..2",
        "synth k.pg2 -o d --board %",
        "fmm --n 10 --predict %",
    ]
    .iter()
    .map(|words| words.split(' ').map(|w| w.replace('%', odd)).collect())
    .collect();
    commands.push(
        ["run", "k.pg2", "--i", "i.csv", "--j", "j.csv", "--param", &"x".repeat(100_000)].map(String::from).into(),
    );
    for words in commands {
        let mut command = p.command("");
        let out = command.args(&words).stdin(Stdio::null()).output().expect("it runs");
        let err = String::from_utf8_lossy(&out.stderr);
        assert!(matches!(out.status.code(), Some(1 | 2)), "{words:?}: {err}");
        let plain = err.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}'));
        assert!(plain && err.len() < 6000, "{words:?}: {}: {}", err.len(), err.escape_debug());
    }
}
