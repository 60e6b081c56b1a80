//! The cycle simulation with a Verilator that is absent, fails, is too old or is interrupted; waves.

use crate::common::command::{RUN, check_in, has, interruptible, place};
use crate::common::{Place, has_verilator};
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn the_cycle_simulation_without_verilator_is_status_3() {
    let p = place();
    for words in [format!("{RUN} --backend cycle"), "fmm --n 10 --backend cycle".into()] {
        let mut command = p.command(&words);
        command.env("PATH", "").env("PAIRFORGE_CACHE", p.path("cache"));
        let ended = p.finish(command).expect(3);
        has(&ended.err, &["verilator", "apt-get install verilator"]);
        assert_eq!((ended.out.as_str(), ended.err.lines().count()), ("", 1));
    }
    // What needs no tool runs without one.
    let mut command = p.command(RUN);
    p.finish({
        command.env("PATH", "");
        command
    })
    .expect(0);
}

/// A folder on `PATH` whose `verilator` is this shell script; the real one is `$REAL`.
fn with_verilator(p: &Place, script: &str, words: &str) -> std::process::Command {
    p.program("bin/verilator", script);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let real = std::env::split_paths(&path).map(|d| d.join("verilator")).find(|f| f.is_file()).unwrap_or_default();
    let folders = std::iter::once(p.path("bin")).chain(std::env::split_paths(&path));
    let mut command = p.command(words);
    command.env("PATH", std::env::join_paths(folders).expect("a path")).env("REAL", real);
    command.env("PAIRFORGE_CACHE", p.path("cache"));
    command
}

#[test]
fn a_verilator_that_does_not_say_what_it_is_is_status_3() {
    let p = place();
    let words = format!("{RUN} --backend cycle -o out.csv");
    for (script, part) in [("exit 0", "has said nothing"), ("exit 7", "has failed with exit status: 7")] {
        let ended = p.finish(with_verilator(&p, script, &words)).expect(3);
        has(&ended.err, &["bin/verilator --version` ", part, "is it the program of that name"]);
        assert!(!p.path("out.csv").exists());
    }
}

#[test]
fn tools_that_fail_are_too_old_or_are_interrupted_are_status_3_and_leave_nothing() {
    if !has_verilator() {
        return;
    }
    let words = format!("{RUN} --backend cycle -o out.csv");
    let p = place();
    p.write("out.csv", "old");
    let old = p.finish(with_verilator(&p, "echo 'Verilator 4.038 2020-07-11 rev v4.036'", &words)).expect(3);
    has(&old.err, &["verilator 5 or newer", "4.038", "apt-get install verilator"]);
    let script =
        "case $1 in --version|--getenv) exec \"$REAL\" \"$@\";; esac; echo %Error: the disk is on fire >&2; exit 9";
    let failed = p.finish(with_verilator(&p, script, &words)).expect(3);
    has(&failed.err, &["verilator failed", "the disk is on fire", "log"]);
    let log = failed.err.split("log: ").nth(1).and_then(|t| t.split(')').next()).expect("a log is named");
    assert!(std::fs::read_to_string(log).is_ok_and(|t| t.contains("the disk is on fire")), "{log}");
    assert_eq!(p.text("out.csv"), "old");
    // Neither that failure nor a build that is interrupted leaves anything in the cache that a later run takes for a simulation.
    interrupt_and_run_again(&p);
}

fn interrupt_and_run_again(p: &Place) {
    use std::os::unix::process::ExitStatusExt;
    let words = format!("{RUN} --backend cycle");
    // Stopped in the middle of a build: the tool waits until it is killed with the command.
    let script = "case $1 in --version|--getenv) exec \"$REAL\" \"$@\";; esac; touch started; sleep 60";
    let mut command = with_verilator(p, script, &words);
    {
        use std::os::unix::process::CommandExt;
        command.process_group(0);
    }
    interruptible(&mut command);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let start = Instant::now();
    while !p.path("started").exists() {
        assert!(start.elapsed() < Duration::from_secs(60) && child.try_wait().expect("asked").is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    // As Ctrl-C on a terminal does: to the whole group.
    // SAFETY: the child was not waited for since, so its group is still its own.
    unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGINT) };
    assert_eq!(child.wait().expect("it ends").signal(), Some(libc::SIGINT));
    let mut err = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("UTF-8");
    assert_eq!(err, "");
    let again = p.finish(with_verilator(p, "exec \"$REAL\" \"$@\"", &words)).expect(0);
    assert_eq!((again.err.as_str(), again.out.as_str()), ("", "s,m,n\n4,1.5,-0.25\n10,1.5,-0.25\n"));
    let left = std::fs::read_dir(p.path("cache")).expect("a cache").flatten().map(|e| e.file_name());
    let left: Vec<String> =
        left.map(|n| n.to_string_lossy().into_owned()).filter(|n| n.starts_with("building")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    if !has_verilator() {
        return;
    }
    let p = place();
    p.write("file", "no folder");
    let mut command = p.command(&format!("{RUN} --backend cycle"));
    command.env("PAIRFORGE_CACHE", p.path("file"));
    let ended = p.finish(command);
    assert!(matches!(ended.code, Some(1 | 3)), "{ended:?}");
    has(&ended.err, &["file"]);
}

#[test]
fn waves_are_traced() {
    if !has_verilator() {
        return;
    }
    let p = place();
    let words = format!("{RUN} --backend cycle --pipelines 2 --trace w.fst --json s.json");
    assert_eq!(check_in(&p, &words, 0, &[], &[]).out, "s,m,n\n4,1.5,-0.25\n10,1.5,-0.25\n");
    assert!(p.bytes("w.fst").len() > 1000);
    let s = p.json("s.json");
    let (cycles, used) = (s["cycles"].as_f64().expect("a clock"), s["utilisation"].as_f64().expect("a clock"));
    assert!((used - 4.0 / (cycles * 2.0)).abs() < 1e-12, "{s}");
}

/// Damages one file of the cache, or a folder of it, by a number.
fn damage(cache: &std::path::Path, number: u64) {
    let list = |dir: &std::path::Path| -> Vec<std::path::PathBuf> {
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect()
    };
    let all: Vec<_> = list(cache).into_iter().flat_map(|p| [vec![p.clone()], list(&p)].concat()).collect();
    let Some(path) = all.get((number >> 8) as usize % all.len().max(1)) else { return };
    // What is gone meanwhile is left alone.
    let bytes = std::fs::read(path).unwrap_or_default();
    let _ = match number % 6 {
        0 => std::fs::write(path, ""),
        1 => std::fs::write(path, &bytes[..bytes.len() / 2]),
        2 => std::fs::write(path, vec![0; bytes.len()]),
        3 => std::fs::write(path, bytes.iter().map(|b| b ^ 1).collect::<Vec<u8>>()),
        4 => std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path)),
        _ => std::fs::remove_file(path).and_then(|()| std::fs::create_dir(path)),
    };
}

#[test]
#[ignore = "a proof in depth"]
fn twenty_commands_in_a_cache_that_is_damaged_give_the_result_or_a_sentence_and_the_next_one_is_right() {
    if !has_verilator() {
        return;
    }
    const WANTED: &str = "s,m,n\n4,1.5,-0.25\n10,1.5,-0.25\n";
    let p = place();
    let over = std::sync::atomic::AtomicBool::new(false);
    let command = |pipelines: usize| {
        let mut command = p.command(&format!("{RUN} --backend cycle --pipelines {pipelines}"));
        command.env("PAIRFORGE_CACHE", p.path("cache"));
        command
    };
    std::thread::scope(|scope| {
        let damager = scope.spawn(|| {
            let mut number = 1u64;
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                damage(&p.path("cache"), number >> 20);
                std::thread::sleep(Duration::from_millis(1500));
            }
        });
        let (p, command) = (&p, &command);
        let run = |k: usize| scope.spawn(move || [0; 3].map(|_| p.finish_within(command(1 + k % 4), 600)));
        let runs: Vec<_> = (0..20).map(run).collect();
        for ended in runs.into_iter().flat_map(|run| run.join().expect("no run is lost")) {
            println!("{:?} {}", ended.code, ended.err.lines().next().unwrap_or_default());
            match ended.code {
                Some(0) => assert_eq!((ended.out.as_str(), ended.err.as_str()), (WANTED, "")),
                _ => assert!(ended.expect(3).err.starts_with("error: ")),
            }
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        damager.join().expect("the damager does not panic");
    });
    for pipelines in 1..=4 {
        assert_eq!(p.finish_within(command(pipelines), 600).expect(0).out, WANTED);
    }
}
