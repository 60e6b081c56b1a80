//! Command lines with their exit status and messages, in a folder with a kernel and its records.

use super::{Ended, Place};
use serde_json::Value;

/// A kernel with every class of pin: 64-bit sums, extremes of a float and of a fixed.
pub const KERNEL: &str = "int32 a ipin; uint64 b jpin; float18.9 f jpin; int16 k param;
uint64 s fout; float18.9 m fout; fixed16.8 n fout;
s += b + (uint64)a * (uint64)k;
m max= f;
n min= (fixed16.8)f;
";

/// A folder with the kernel, two targets and two sources.
pub fn place() -> Place {
    let p = Place::new();
    p.write("k.pg2", KERNEL);
    p.write("i.csv", "a\n1\n2\n");
    p.write("j.csv", "b,f\n18446744073709551614,1.5\n0,-0.25\n");
    p
}

pub const RUN: &str = "run k.pg2 --i i.csv --j j.csv --param k=3";

/// Every part stands in the text.
pub fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
}

/// A command in [`place`]: its exit status and what its output and its messages contain. A failure leaves stdout empty
/// and its reason on stderr; success leaves stderr empty, unless `err` says what it contains.
pub fn check(words: &str, code: i32, out: &[&str], err: &[&str]) -> Ended {
    check_in(&place(), words, code, out, err)
}

pub fn check_in(p: &Place, words: &str, code: i32, out: &[&str], err: &[&str]) -> Ended {
    let ended = p.run(words).expect(code);
    has(&ended.out, out);
    has(&ended.err, err);
    match code {
        0 => assert_eq!(ended.err.is_empty(), err.is_empty(), "{words}: {ended:?}"),
        _ => assert!(ended.out.is_empty() && !ended.err.is_empty(), "{words}: {ended:?}"),
    }
    assert!(!p.names().iter().any(|n| n.starts_with(".pairforge")), "{words} left {:?}", p.names());
    ended
}

/// Makes a command take interrupts even where what started the tests ignores them, as shells do for jobs in the background.
pub fn interruptible(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: setting a signal's disposition is a system call alone, which may be made between fork and exec.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGTERM] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        })
    };
}

/// Wrong files, as a name, bytes, and the message about them beside the name: each ends a command that names it last, and nothing is
/// written.
pub fn check_wrong_files(p: &Place, command: &str, wrong: &[(&str, &[u8], &str)]) {
    for (name, bytes, part) in wrong {
        p.write(name, bytes);
        check_in(p, &format!("{command} {name} -o none.csv"), 1, &[], &[name, part]);
        assert!(!p.path("none.csv").exists());
    }
}

/// The keys of an object, and no others.
pub fn keys(object: &Value, names: &[&str]) {
    let mut found: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    let mut wanted = names.to_vec();
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}
