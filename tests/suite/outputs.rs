//! Files that are written: what they replace, links, devices, permissions, full disks.

use crate::common::command::{KERNEL, RUN, check_in, has, place};
use crate::common::{Ended, Place};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

const RESULT: &str = "s,m,n\n4,1.5,-0.25\n10,1.5,-0.25\n";

fn chmod(p: &Place, name: &str, mode: u32) {
    fs::set_permissions(p.path(name), fs::Permissions::from_mode(mode)).expect("it is ours");
}

fn mode(p: &Place, name: &str) -> u32 {
    fs::metadata(p.path(name)).expect("it is there").mode() & 0o7777
}

/// Files can be given away, and other users be, by root alone.
fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: only root can be another user");
    }
    root
}

/// Nothing temporary is left in the folder.
fn clean(p: &Place) {
    assert!(!p.names().iter().any(|n| n.starts_with(".pairforge")), "{:?}", p.names());
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode_and_owner() {
    let p = place();
    p.write("f.pg2", KERNEL.replace("; ", ";   "));
    for kept in [0o600, 0o640, 0o664, 0o755, 0o200] {
        for (name, words) in [
            ("out.csv", format!("{RUN} -o out.csv")),
            ("s.json", format!("{RUN} -o new.csv --json s.json")),
            ("m.pg2", "gen m2l --order 1 -o m.pg2".into()),
            ("p.svg", "explain k.pg2 --svg p.svg".into()),
        ] {
            p.write(name, "old");
            chmod(&p, name, kept);
            p.run(&words).expect(0);
            assert_eq!(mode(&p, name), kept, "{words}");
            chmod(&p, name, 0o600);
            assert_ne!(p.text(name), "old", "{words}");
        }
    }
    chmod(&p, "f.pg2", 0o750);
    let old = p.text("f.pg2");
    check_in(&p, "fmt f.pg2", 0, &[], &[]);
    assert!(mode(&p, "f.pg2") == 0o750 && p.text("f.pg2") != old);
    if is_root() {
        std::os::unix::fs::chown(p.path("out.csv"), Some(54_321), Some(54_322)).expect("root may");
        check_in(&p, &format!("{RUN} -o out.csv"), 0, &[], &[]);
        let found = fs::metadata(p.path("out.csv")).expect("it is there");
        assert_eq!((found.uid(), found.gid(), p.text("out.csv").as_str()), (54_321, 54_322, RESULT));
    }
}

#[test]
fn links_are_followed() {
    let p = place();
    fs::create_dir(p.path("deep")).expect("a folder");
    p.write("deep/real.csv", "old");
    chmod(&p, "deep/real.csv", 0o640);
    for (link, to) in [("a", "deep/real.csv"), ("b", "a"), ("deep/c", "../b"), ("new", "deep/new.csv")] {
        symlink(to, p.path(link)).expect("a link");
        check_in(&p, &format!("{RUN} -o {link}"), 0, &[], &[]);
        assert!(fs::symlink_metadata(p.path(link)).expect("it is there").is_symlink(), "{link} was replaced");
        assert_eq!(p.text(link), RESULT);
        p.write("deep/real.csv", "old");
    }
    assert_eq!((p.text("deep/new.csv").as_str(), mode(&p, "deep/real.csv")), (RESULT, 0o640));
    symlink("loop", p.path("loop")).expect("a link");
    check_in(&p, &format!("{RUN} -o loop"), 1, &[], &["loop: cannot be written: too many links"]);
    symlink("none/x", p.path("lost")).expect("a link");
    check_in(&p, &format!("{RUN} -o lost"), 1, &[], &["lost: the folder none does not exist"]);
}

#[test]
fn a_file_without_write_permission_is_refused_before_the_work() {
    let p = place();
    p.write("f.pg2", "int32 a ipin;   int64 s fout;  s += a;");
    p.write("kept", "old");
    for name in ["kept", "f.pg2"] {
        chmod(&p, name, 0o444);
    }
    fs::create_dir(p.path("d")).expect("a folder");
    p.write("d/manifest.json", "old");
    chmod(&p, "d/manifest.json", 0o400);
    // What is not right with the input would be said later.
    for words in [
        "run k.pg2 --i none.csv --j j.csv -o kept",
        "run k.pg2 --i none.csv --j j.csv --json kept",
        "run k.pg2 --i none.csv --j j.csv --backend cycle --trace kept",
        "fmm --particles none.csv -o kept",
        "fmm --particles none.csv --json kept",
        "fmm --particles none.csv --report kept",
        "fmm --particles none.csv --save-particles kept",
        "fmm --particles none.csv --predict ulx3s --json kept",
        "explain none.pg2 --svg kept",
        "explore none.pg2 --i i.csv --j j.csv --vary f=1..2 -o kept",
        "explore none.pg2 --i i.csv --j j.csv --vary f=1..2 --json kept",
        "gen m2l --order 1 -o kept",
        "board-sim ulx3s none --json kept",
        "board-sim ulx3s none --port-file kept",
    ] {
        check_in(&p, words, 1, &[], &["kept: is write-protected", "chmod u+w"]);
    }
    check_in(&p, "fmt f.pg2", 1, &[], &["f.pg2: is write-protected"]);
    check_in(&p, "build k.pg2 -o d", 1, &[], &["manifest.json: is write-protected"]);
    assert_eq!((p.text("kept").as_str(), p.text("d/manifest.json").as_str()), ("old", "old"));
    assert_eq!(fs::read_dir(p.path("d")).expect("a folder").count(), 1, "all of a build is written or none");
    if is_root() {
        chmod(&p, ".", 0o777);
        chmod(&p, "kept", 0o644);
        let mut command = p.command(&format!("{RUN} -o kept"));
        command.uid(54_321).gid(54_321);
        has(&p.finish(command).expect(1).err, &["kept: cannot be written: Permission denied"]);
        assert_eq!(p.text("kept"), "old");
    }
}

#[test]
fn open_files_and_pipes_are_written_directly() {
    let p = place();
    for name in ["-", "/dev/stdout", "/proc/self/fd/1", "link"] {
        let _ = symlink("/dev/stdout", p.path("link"));
        p.write("shared", "before\n");
        let shared = fs::File::options().append(true).open(p.path("shared")).expect("a file");
        let mut command = p.command(&format!("{RUN} -o {name}"));
        assert!(command.stdout(shared).status().expect("it runs").success());
        assert_eq!(p.text("shared"), format!("before\n{RESULT}"), "{name}");
    }
    check_in(&p, &format!("{RUN} -o /dev/null"), 0, &[], &[]);
    assert!(!fs::metadata("/dev/null").expect("it is there").is_file());
    rustix::fs::mknodat(rustix::fs::CWD, p.path("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    let reader = Command::new("cat").arg(p.path("pipe")).stdout(Stdio::piped()).spawn().expect("cat is there");
    check_in(&p, &format!("{RUN} -o pipe"), 0, &[], &[]);
    assert_eq!(reader.wait_with_output().expect("it ends").stdout, RESULT.as_bytes());
    // Another open file, by its number.
    let mut command = Command::new("sh");
    let words = format!("{} {RUN} -o /dev/fd/5 5>>five", env!("CARGO_BIN_EXE_pairforge"));
    p.write("five", "before\n");
    let folder = p.path("five").parent().expect("a folder").to_path_buf();
    assert!(command.arg("-c").arg(words).current_dir(folder).status().expect("it runs").success());
    assert_eq!(p.text("five"), format!("before\n{RESULT}"));
}

/// A command that can write files of that many bytes at most, as on a disk that is nearly full.
fn limited(p: &Place, words: &str, bytes: u64) -> Ended {
    let mut command = p.command(words);
    // SAFETY: setting a limit is a system call alone, which may be made between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
            Ok(())
        })
    };
    // What it prints goes through pipes, which have no limit.
    let ended = command.output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { code: ended.status.code(), out: text(ended.stdout), err: text(ended.stderr) }
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let p = place();
    p.write("old", "old");
    fs::create_dir(p.path("built")).expect("a folder");
    p.write("built/k_engine.v", "old");
    let before = p.names();
    for (words, bytes) in [
        (format!("{RUN} -o old"), 5),
        (format!("{RUN} -o new"), 5),
        ("gen m2l --order 4 -o old".into(), 4096),
        ("explain k.pg2 --svg old".into(), 100),
        ("fmm --n 200 --backend cpu -o old".into(), 4096),
        ("fmm --n 200 --backend cpu -o new.npy".into(), 4096),
        ("fmm --n 200 --backend cpu --save-particles old".into(), 4096),
        ("fmm --n 200 --backend cpu --report old".into(), 100),
        // The Verilog fits, and what comes behind it does not.
        ("build k.pg2 -o built --testbench".into(), 100_000),
        ("build k.pg2 -o some/design".into(), 4096),
        ("new mine".into(), 500),
    ] {
        let ended = limited(&p, &words, bytes).expect(1);
        has(&ended.err, &["cannot be written: File too large"]);
        assert_eq!((p.names(), p.text("old").as_str()), (before.clone(), "old"), "{words}");
        assert_eq!(p.text("built/k_engine.v"), "old", "{words}");
        assert_eq!(fs::read_dir(p.path("built")).expect("a folder").count(), 1, "{words}");
    }
    clean(&p);
}

#[test]
fn a_full_standard_output_is_said_and_no_panic() {
    let p = place();
    for words in [
        "list kernels",
        "explain k.pg2",
        "explain PG0012",
        "new mine",
        "gen m2l --order 4",
        "fmm --n 20 --backend cpu",
        "fmm --n 20 --predict ulx3s",
        "bench fmm --repeat 1",
        RUN,
    ] {
        let full = fs::File::options().write(true).open("/dev/full").expect("a device");
        let ended = p.command(words).stdout(full).stderr(Stdio::piped()).output().expect("it runs");
        let err = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{words}: {err}");
        has(&err, &["standard output", "cannot be written: No space left"]);
    }
    // Where neither can be written, the status is left.
    let full = || fs::File::options().write(true).open("/dev/full").expect("a device");
    for (words, code) in [("check none.pg2", 1), ("list kernels", 1), ("list nothing", 2)] {
        let status = p.command(words).stdout(full()).stderr(full()).status().expect("it runs");
        assert_eq!(status.code(), Some(code), "{words}");
    }
}
