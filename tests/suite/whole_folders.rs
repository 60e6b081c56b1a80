//! Folders of outputs: whole or not at all, whenever the program is ended, without what an earlier run has left there.

use crate::common::Place;
use crate::common::command::{check_in, interruptible, place};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

/// The files of a folder, folders left out.
fn state(p: &Place, dir: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(p.path(dir)).into_iter().flatten().map(|e| e.expect("an entry"));
    let files = entries.filter(|e| e.path().is_file());
    files.map(|e| (e.file_name().to_string_lossy().into_owned(), fs::read(e.path()).expect("ours"))).collect()
}

/// The state with a user's own file.
fn with_notes(mut state: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    state.insert("notes.txt".into(), b"mine".into());
    state
}

/// Names of passing files and folders, in the place or in a folder of it.
fn passing(p: &Place, dir: &str) -> Vec<String> {
    let inside =
        fs::read_dir(p.path(dir)).into_iter().flatten().flatten().map(|e| e.file_name().to_string_lossy().into_owned());
    p.names().into_iter().chain(inside).filter(|n| n.starts_with(".pairforge-")).collect()
}

const OLD: &str = "build k.pg2 --split --prefix old -o";
const NEW: &str = "build k.pg2 --split --project vivado --target xc7 -o";

/// Begins the new build over `dir`, and ends it by a signal after a while from its start, or from its first file.
fn killed(p: &Place, dir: &str, signal: i32, from_file: bool, wait: Duration) {
    let mut command = p.command(&format!("{NEW} {dir}"));
    interruptible(&mut command);
    let mut child = command.spawn().expect("it starts");
    while from_file && passing(p, dir).is_empty() && child.try_wait().expect("it can be asked").is_none() {
        std::thread::sleep(Duration::from_micros(50));
    }
    std::thread::sleep(wait);
    // SAFETY: the child was not waited for since it ended, so its id is still its own.
    unsafe { libc::kill(child.id() as libc::pid_t, signal) };
    let status = child.wait().expect("it ends");
    assert!(status.success() || status.signal() == Some(signal), "{status:?}");
}

#[test]
fn a_folder_is_the_old_or_the_new_one_whenever_a_build_is_killed() {
    let p = place();
    let [old, new] = [OLD, NEW].map(|words| {
        p.run(&format!("{words} wanted")).expect(0);
        let found = state(&p, "wanted");
        fs::remove_dir_all(p.path("wanted")).expect("ours");
        found
    });
    assert!(old.len() > 20 && new.len() > 20 && new.keys().filter(|k| old.contains_key(*k)).count() < 4);
    // Of two folders one has a folder in it, which cannot be exchanged in a step: there a kill that nobody can put off may leave a
    // folder without an index.
    for (dir, signals) in [("d", [libc::SIGTERM, libc::SIGKILL]), ("deep", [libc::SIGTERM, libc::SIGINT])] {
        for k in 0..6 {
            if k == 5 {
                // A folder that is not there yet.
                fs::remove_dir_all(p.path(dir)).expect("ours");
                killed(&p, dir, signals[0], true, Duration::ZERO);
                let found = state(&p, dir);
                assert!(found == new || (found.is_empty() && !p.path(dir).exists()), "{:?}", found.keys());
                continue;
            }
            if state(&p, dir) != with_notes(old.clone()) {
                let _ = fs::remove_dir_all(p.path(dir));
                p.run(&format!("{OLD} {dir}")).expect(0);
                p.write(&format!("{dir}/notes.txt"), "mine");
                if dir == "deep" {
                    fs::create_dir_all(p.path("deep/obj_dir")).expect("a folder");
                }
            }
            let signal = signals[k % 2];
            killed(&p, dir, signal, k > 0, Duration::from_micros([20_000, 0, 300, 700, 1500][k]));
            let found = state(&p, dir);
            let is_whole = [&old, &new].map(|s| with_notes(s.clone())).contains(&found);
            assert!(is_whole, "{dir} after {signal}: {:?}", found.keys());
            if signal == libc::SIGKILL {
                // Nobody is left to remove them.
                passing(&p, dir).iter().for_each(|n| fs::remove_dir_all(p.path(n)).expect("ours"));
            }
            assert_eq!(passing(&p, dir), [""; 0], "{dir} after {signal}");
        }
    }
}

#[test]
fn what_an_earlier_build_has_left_goes_and_what_is_the_users_stays() {
    let p = place();
    for (dir, inside) in [("plain", false), ("worked", true)] {
        p.run(&format!("{OLD} {dir} --testbench")).expect(0);
        for own in ["notes.txt", "old_wrapper.v", ".hidden"] {
            p.write(&format!("{dir}/{own}"), own);
        }
        symlink("notes.txt", p.path(&format!("{dir}/link"))).expect("a link");
        if inside {
            fs::create_dir(p.path("worked/sim")).expect("a folder");
            p.write("worked/sim/run.log", "log");
        }
        fs::set_permissions(p.path(dir), fs::Permissions::from_mode(0o750)).expect("ours");
        fs::set_permissions(p.path(&format!("{dir}/notes.txt")), fs::Permissions::from_mode(0o640)).expect("ours");
        let number = fs::metadata(p.path(&format!("{dir}/notes.txt"))).expect("ours").ino();
        p.run(&format!("build k.pg2 -o {dir}")).expect(0);
        let mut names: Vec<String> = state(&p, dir).into_keys().collect();
        names.sort();
        assert_eq!(names, [".hidden", "k_engine.v", "link", "manifest.json", "notes.txt", "old_wrapper.v"], "{dir}");
        let found = fs::metadata(p.path(&format!("{dir}/notes.txt"))).expect("it is there");
        assert_eq!(
            (found.mode() & 0o777, found.ino(), p.text(&format!("{dir}/notes.txt")).as_str()),
            (0o640, number, "notes.txt")
        );
        assert!(fs::symlink_metadata(p.path(&format!("{dir}/link"))).expect("it is there").is_symlink());
        assert_eq!(fs::metadata(p.path(dir)).expect("it is there").mode() & 0o777, 0o750);
    }
    assert_eq!(p.text("worked/sim/run.log"), "log");
    // A manifest leads to nothing outside of its folder, to no input, and to nothing that is write-protected.
    p.write("outside.v", "outside");
    p.write("plain/kept.v", "kept");
    p.write("plain/mine.pg2", p.text("k.pg2"));
    fs::set_permissions(p.path("plain/kept.v"), fs::Permissions::from_mode(0o444)).expect("ours");
    let list = format!(
        r#"{{"files": ["../outside.v", "{}", "kept.v", "mine.pg2", ".", "", "sim"]}}"#,
        p.path("outside.v").display()
    );
    p.write("plain/manifest.json", list);
    check_in(&p, "build plain/mine.pg2 -o plain", 0, &[], &[]);
    assert_eq!((p.text("outside.v").as_str(), p.text("plain/kept.v").as_str()), ("outside", "kept"));
    assert!(p.path("plain/mine.pg2").exists());
}

#[test]
fn a_folder_may_be_a_link_the_present_one_or_have_a_slash_behind_its_name() {
    let p = place();
    fs::create_dir(p.path("real")).expect("a folder");
    symlink("real", p.path("link")).expect("a link");
    symlink("new", p.path("dangling")).expect("a link");
    for (dir, real) in [("link", "real"), ("dangling", "new"), ("slash/", "slash"), ("a/b/.", "a/b"), ("./c/../c", "c")]
    {
        if dir == "./c/../c" {
            fs::create_dir(p.path("c")).expect("a folder");
        }
        for words in ["build k.pg2 --split -o", "build k.pg2 -o"] {
            p.run(&format!("{words} {dir}")).expect(0);
        }
        assert_eq!(state(&p, real).into_keys().collect::<Vec<_>>(), ["k_engine.v", "manifest.json"], "{dir}");
    }
    assert!(fs::symlink_metadata(p.path("link")).expect("it is there").is_symlink());
    // Where this command works.
    let number = fs::metadata(p.path(".")).expect("it is there").ino();
    p.run("build k.pg2 --split -o .").expect(0);
    p.run("build k.pg2 -o .").expect(0);
    assert_eq!(fs::metadata(p.path(".")).expect("it is there").ino(), number);
    assert!(p.path("i.csv").exists() && p.path("k_engine.v").exists() && !p.path("k_shell.v").exists());
    assert_eq!(passing(&p, "."), [""; 0]);
}
