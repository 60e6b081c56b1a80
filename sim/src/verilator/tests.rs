//! Tools that do not do their work, and caches that are damaged: sentences, and the next run is right.
//!
//! Verilator is a script that writes two lines of C++; the compiler is the real one, whose objects are made once and then
//! copied.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

const DRIVER: &str =
    "#include \"Vtoy.h\"\nextern \"C\" __attribute__((visibility(\"default\"))) int value() { return toy(); }\n";

const VERILATOR: &str = r#"
for a; do [ "$last" = --Mdir ] && dir=$a; last=$a; done
read part kind < TOP/fault 2>/dev/null
[ "$part" = verilator ] && [ "$kind" = nothing ] && exit 0
echo 'int toy();' > "$dir/Vtoy.h"
printf '#include "Vtoy.h"\nint start();\nint toy() { return 6 + start(); }\n' > "$dir/Vtoy.cpp"
[ "$part" = verilator ] && case $kind in
    garbage) head -c 400 /bin/sh > "$dir/Vtoy.cpp";;
    half) echo 'int start();int toy() {' > "$dir/Vtoy.cpp";;
    hollow) : > "$dir/Vtoy.cpp";;
esac
exit 0
"#;

/// Copies what it made before, and spoils what the file `fault` says.
const COMPILER: &str = r#"
for a; do [ "$last" = -o ] && out=$a; last=$a; done
name=${out##*/}
read part kind < TOP/fault 2>/dev/null
if [ "$kind" != hollow ] && [ "$part" != verilator ] && [ -e "TOP/good/$name" ]; then cp "TOP/good/$name" "$out"
else c++ "$@" || exit 1; fi
[ -z "$kind" ] && [ ! -e "TOP/good/$name" ] && { cp "$out" "TOP/part" && mv TOP/part "TOP/good/$name"; }
[ "$part" = "$name" ] && case $kind in
    nothing) rm "$out";;
    empty) : > "$out";;
    garbage) tail -c +100 TOP/good/driver.o > "$out";;
    half) truncate -s $(($(wc -c < "$out") / 2)) "$out";;
    zeros) n=$(wc -c < "$out"); head -c $n /dev/zero > "$out";;
    machine) printf '\007' | dd of="$out" bs=1 seek=18 conv=notrunc 2>/dev/null;;
    class) printf '\001' | dd of="$out" bs=1 seek=4 conv=notrunc 2>/dev/null;;
    other) [ "$name" = model.so ] && cp TOP/good/driver.o "$out" || cp TOP/good/model.so "$out";;
    hollow) echo | c++ $([ "$name" = model.so ] && echo -shared || echo -c) -fPIC -x c++ - -o "$out";;
esac
exit 0
"#;

struct Bench {
    top: tempfile::TempDir,
    tools: Tools,
}

impl Bench {
    fn new() -> Bench {
        let top = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            let path = top.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{}", text.replace("TOP", &top.path().display().to_string()))).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let include = top.path().join("root/include");
        fs::create_dir_all(&include).unwrap();
        fs::create_dir(top.path().join("good")).unwrap();
        fs::write(include.join("verilated.cpp"), "int start() { return 1; }\n").unwrap();
        fs::write(include.join("verilated_threads.cpp"), "").unwrap();
        let tools = Tools::of(script("verilator", VERILATOR), top.path().join("root"), script("compiler", COMPILER));
        let bench = Bench { top, tools };
        bench.value(&bench.cache("first")).expect("the tools work");
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    fn cache(&self, name: &str) -> Cache {
        Cache::at(self.path("caches").join(name))
    }

    /// Builds, loads and calls.
    fn value(&self, cache: &Cache) -> Result<i32, SimError> {
        let source = Source { clean: true, ..Source::of_design("Vtoy", ("toy", "module toy; endmodule")) };
        let model = model(&self.tools, cache, &source)?;
        let library = library(&self.tools, cache, &[model], DRIVER, &["value"])?;
        // SAFETY: that is its type in `DRIVER`.
        let value: extern "C" fn() -> i32 = unsafe { symbol(&library, "value") };
        Ok(value())
    }

    fn fault(&self, words: &str) {
        fs::write(self.path("fault"), words).unwrap();
    }
}

#[test]
fn tools_that_do_not_do_their_work_are_told_and_leave_nothing_that_a_later_run_takes() {
    useless_tools(5);
}

#[test]
#[ignore = "a proof in depth"]
fn tools_that_do_not_do_their_work_in_any_way_at_any_step_are_told() {
    useless_tools(1);
}

/// One of so many ways and steps in which tools fail.
fn useless_tools(of: usize) {
    let bench = Bench::new();
    let compiler = ["nothing", "empty", "garbage", "half", "zeros", "machine", "class", "other"];
    let parts = ["Vtoy_all.o", "verilated.o", "driver.o", "model.so"];
    let spoilt = parts.iter().flat_map(|part| compiler.iter().map(move |kind| format!("{part} {kind}")));
    let hollow = ["Vtoy_all.o", "verilated.o", "driver.o", "model.so"].map(|part| format!("{part} hollow"));
    let verilator = ["nothing", "garbage", "half", "hollow"].map(|kind| format!("verilator {kind}"));
    for (k, fault) in spoilt.chain(hollow).chain(verilator).enumerate().step_by(of) {
        let cache = bench.cache(&k.to_string());
        bench.fault(&fault);
        let said = bench.value(&cache).expect_err(&fault).to_string();
        assert!(["compiler", "verilator", "model.so"].iter().any(|name| said.contains(name)), "{fault}: {said}");
        bench.fault("");
        assert_eq!(bench.value(&cache).unwrap_or_else(|e| panic!("after {fault}: {e}")), 7, "{fault}");
    }
}

/// Files of the cache, folders of entries among them.
fn files(cache: &Path) -> Vec<PathBuf> {
    let list = |dir: &Path| -> Vec<PathBuf> {
        let mut list: Vec<PathBuf> = fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
        list.sort();
        list
    };
    list(cache).into_iter().flat_map(|path| std::iter::once(path.clone()).chain(list(&path))).collect()
}

/// Does something to a file or folder; what is gone already is left alone.
type Damage = fn(&Path);

const DAMAGES: [(&str, Damage); 9] = [
    ("emptied", |path| drop(fs::write(path, ""))),
    ("cut", |path| drop(fs::read(path).and_then(|bytes| fs::write(path, &bytes[..bytes.len() / 2])))),
    ("zeroed", |path| drop(fs::read(path).and_then(|bytes| fs::write(path, vec![0; bytes.len()])))),
    ("flipped", |path| {
        let flip = |mut bytes: Vec<u8>| {
            let at = bytes.len() / 3;
            bytes.get_mut(at).into_iter().for_each(|b| *b ^= 4);
            fs::write(path, bytes)
        };
        drop(fs::read(path).and_then(flip))
    }),
    ("grown", |path| drop(fs::read(path).and_then(|bytes| fs::write(path, [&bytes[..], b"more"].concat())))),
    ("removed", |path| drop(fs::remove_file(path).or_else(|_| fs::remove_dir_all(path)))),
    ("closed", |path| drop(fs::set_permissions(path, fs::Permissions::from_mode(0o000)))),
    ("a folder", |path| {
        let _ = fs::remove_file(path);
        drop(fs::create_dir_all(path.join("in/it")));
    }),
    ("a link", |path| {
        if path.extension().is_some_and(|e| e == "o") {
            drop(fs::remove_file(path).and_then(|()| symlink("/nonexistent/file", path)));
        }
    }),
];

#[test]
fn whatever_is_damaged_in_the_cache_the_next_run_is_right() {
    damaged(4);
}

#[test]
#[ignore = "a proof in depth"]
fn however_any_file_of_the_cache_is_damaged_the_next_run_is_right() {
    damaged(1);
}

/// One of so many pairs of a file and a damage.
fn damaged(of: usize) {
    let bench = Bench::new();
    let cache = bench.path("caches/first");
    // A lock that is gone is made anew when it is needed.
    let kept = || files(&cache).into_iter().filter(|f| !f.display().to_string().contains(".lock")).collect::<Vec<_>>();
    let (all, whole) = (files(&cache), kept());
    assert!(all.len() > 15, "{all:?}");
    let pairs = all.iter().flat_map(|file| DAMAGES.iter().map(move |damage| (file, damage)));
    for (file, (what, damage)) in pairs.step_by(of) {
        damage(file);
        let value = bench.value(&Cache::at(&cache));
        assert_eq!(value.unwrap_or_else(|e| panic!("{} {what}: {e}", file.display())), 7);
        assert_eq!(kept(), whole, "{} {what}", file.display());
    }
    // All of an entry's files, and a file in the place of each entry.
    for entry in fs::read_dir(&cache).unwrap().flatten().map(|e| e.path()).filter(|path| path.is_dir()) {
        fs::remove_dir_all(&entry).unwrap();
        fs::write(&entry, "no folder").unwrap();
    }
    assert_eq!(bench.value(&Cache::at(&cache)).unwrap(), 7);
}

/// A sealed entry may hold what an older version, or another machine with the same home, has put there.
#[test]
fn an_entry_that_was_sealed_and_does_not_serve_is_dropped_and_built_again() {
    let bench = Bench::new();
    let cache = bench.path("caches/first");
    let sealed_again = |dir: &Path, name: &str, bytes: &[u8]| {
        fs::write(dir.join(name), bytes).unwrap();
        fs::remove_file(dir.join("sums")).unwrap();
        crate::cache::reseal(dir);
    };
    for part in ["model.so", "verilated.o", "Vtoy_all.o"] {
        for with in ["driver.o", "model.so", "verilated_threads.o", "fault"] {
            let file = files(&cache).into_iter().find(|f| f.ends_with(part)).unwrap();
            let dir = file.parent().unwrap();
            let bytes = fs::read(bench.path("good").join(with)).unwrap_or_default();
            sealed_again(dir, part, &bytes);
            // A part is used when the library is made.
            let library = files(&cache).into_iter().find(|f| f.ends_with("model.so")).unwrap();
            if part != "model.so" {
                fs::remove_file(&library).unwrap();
            }
            assert_eq!(bench.value(&Cache::at(&cache)).unwrap_or_else(|e| panic!("{part} {with}: {e}")), 7);
        }
    }
}

#[test]
fn many_runs_of_a_cache_that_is_damaged_all_the_time_give_the_value_or_a_sentence() {
    let bench = Bench::new();
    let cache = bench.path("caches/first");
    let over = AtomicBool::new(false);
    let (mut right, mut told) = (0, 0);
    std::thread::scope(|scope| {
        let damager = scope.spawn(|| {
            let mut state = 1u64;
            while !over.load(Ordering::Relaxed) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let all = files(&cache);
                let (file, damage) = (state >> 33, state >> 20);
                if let Some(file) = all.get(file as usize % all.len().max(1)) {
                    DAMAGES[damage as usize % DAMAGES.len()].1(file);
                }
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
        });
        let runs: Vec<_> = (0..20).map(|_| scope.spawn(|| bench.value(&Cache::at(&cache)))).collect();
        for value in runs.into_iter().map(|run| run.join().expect("no run panics")) {
            match value {
                Ok(value) => right += (value == 7) as u32,
                Err(e) => told += !e.to_string().is_empty() as u32,
            }
        }
        over.store(true, Ordering::Relaxed);
        damager.join().expect("the damager does not panic");
    });
    assert_eq!(right + told, 20);
    assert_eq!(bench.value(&Cache::at(&cache)).expect("left alone, the cache heals"), 7);
}
