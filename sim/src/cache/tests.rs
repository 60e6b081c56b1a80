//! Entries of the cache, whole, damaged and planted.

use super::*;

fn put(cache: &Cache, key: &str, text: &str) -> (PathBuf, bool) {
    let mut built = false;
    let dir = cache.entry(key, |dir| {
        built = true;
        fs::write(dir.join("file"), text).map_err(SimError::io(dir))
    });
    (dir.expect("the cache is writable"), built)
}

#[test]
#[cfg(target_os = "linux")]
fn a_failed_system_call_is_told_without_a_false_remedy() {
    // A folder of the user's own in which no file can be made.
    let cache = Cache::at(format!("/proc/{}", std::process::id()));
    let said = cache.entry("a", |_| panic!("built")).expect_err("no lock can be made").to_string();
    assert!(said.contains("/proc/") && !said.contains("remove it"), "{said}");
}

#[test]
fn an_entry_is_built_once_and_again_when_damaged() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::at(home.path());
    let (dir, built) = put(&cache, "a", "text");
    assert!(built && !put(&cache, "a", "text").1);
    for damage in ["file", "key", "sums"] {
        fs::write(dir.join(damage), "tex").unwrap();
        assert!(put(&cache, "a", "text").1, "damaged {damage}");
        assert_eq!(fs::read_to_string(dir.join("file")).unwrap(), "text");
    }
    fs::remove_file(dir.join("file")).unwrap();
    assert!(put(&cache, "a", "text").1);
}

#[test]
fn a_file_or_a_closed_folder_in_the_place_of_an_entry_goes() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::at(home.path());
    let (dir, _) = put(&cache, "a", "text");
    fs::remove_dir_all(&dir).unwrap();
    fs::write(&dir, "no folder").unwrap();
    assert!(put(&cache, "a", "text").1 && dir.is_dir());
    fs::create_dir_all(home.path().join("costs.json/in/it")).unwrap();
    cache.keep_note("costs.json", "kept").unwrap();
    assert_eq!(cache.note("costs.json").as_deref(), Some(&b"kept"[..]));
    fs::remove_file(dir.join("file")).unwrap();
    fs::create_dir_all(dir.join("file/in/it")).unwrap();
    private::set_private(&dir.join("file/in"), 0).unwrap();
    private::set_private(&dir, 0).unwrap();
    assert!(put(&cache, "a", "text").1 && !put(&cache, "a", "text").1);
    let left = fs::read_dir(home.path()).unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
    assert_eq!(left.filter(|name| name.starts_with(BUILDING)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_build_that_is_disturbed_is_tried_again_and_one_that_fails_is_not() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::at(home.path());
    let mut tries = 0;
    let disturbed = |times: u32, tries: &mut u32| {
        *tries = 0;
        cache.entry("a", |dir| {
            *tries += 1;
            if *tries <= times {
                fs::remove_dir_all(home.path()).unwrap();
            }
            fs::write(dir.join("file"), "text").map_err(SimError::io(dir))
        })
    };
    let dir = disturbed(1, &mut tries).expect("the second try is left alone");
    assert_eq!((tries, fs::read_to_string(dir.join("file")).unwrap().as_str()), (2, "text"));
    fs::remove_dir_all(&dir).unwrap();
    assert!(disturbed(9, &mut tries).is_err() && tries == 2);
    let failed = cache.entry("b", |_| {
        tries += 1;
        Err(SimError::Unsupported("no".into()))
    });
    assert!(failed.is_err() && tries == 3);
}

#[test]
fn what_is_read_or_copied_of_an_entry_is_what_was_sealed() {
    let home = tempfile::tempdir().unwrap();
    let (dir, _) = put(&Cache::at(home.path()), "a", "text");
    let to = tempfile::tempdir().unwrap();
    assert!(copy(&dir, to.path()).unwrap());
    assert_eq!(
        (file(&dir, "file").unwrap(), fs::read(to.path().join("file")).unwrap()),
        (b"text".into(), b"text".into())
    );
    fs::write(dir.join("file"), "tent").unwrap();
    assert!(file(&dir, "file").is_none() && !copy(&dir, to.path()).unwrap());
    fs::remove_file(dir.join("file")).unwrap();
    assert!(file(&dir, "file").is_none() && !copy(&dir, to.path()).unwrap());
}

#[test]
fn an_entry_is_dropped_unless_it_was_built_anew_meanwhile() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::at(home.path());
    let (dir, _) = put(&cache, "a", "text");
    let old = seen(&dir);
    cache.drop_entries(std::slice::from_ref(&old));
    assert!(put(&cache, "a", "text").1);
    cache.drop_entries(&[old]);
    assert!(!put(&cache, "a", "text").1);
}

#[test]
fn another_text_of_the_same_hash_gets_its_own_entry() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::at(home.path());
    let foreign = home.path().join(format!("{:032x}", fnv128(b"a")));
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("key"), "not a").unwrap();
    seal(&foreign).unwrap();
    let (dir, built) = put(&cache, "a", "text");
    assert!(built && dir != foreign && !put(&cache, "a", "text").1);
}

#[test]
fn a_failed_build_leaves_no_entry() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::at(home.path());
    assert!(cache.entry("a", |_| Err(SimError::Unsupported("no".into()))).is_err());
    assert!(put(&cache, "a", "text").1);
}

#[test]
fn the_hash_is_fnv_1a() {
    assert_eq!(fnv128(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
}

/// Files that others could leave in a cache, each in a place of the entry for `a`; run as root, also those of another user.
#[cfg(unix)]
mod planted {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    const OTHER: Option<u32> = Some(54_321);

    struct Home {
        top: tempfile::TempDir,
        cache: Cache,
    }

    fn home() -> Home {
        let top = tempfile::tempdir().unwrap();
        let cache = Cache::at(top.path().join("cache"));
        Home { top, cache }
    }

    impl Home {
        fn path(&self, name: &str) -> PathBuf {
            self.top.path().join(name)
        }
        /// Asserts that nothing is loaded or built, for a reason with these words.
        fn refuses(&self, words: &str) {
            let got = self.cache.entry("a", |_| panic!("built where {words}"));
            let text = got.expect_err(words).to_string();
            assert!(text.contains(words), "{text}");
        }
    }

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    /// Files can be given away by root alone.
    fn is_root() -> bool {
        let root = rustix::process::geteuid().is_root();
        if !root {
            println!("skipped: only root can make files of other users");
        }
        root
    }

    fn entry(key: &str) -> String {
        format!("{:032x}", fnv128(key.as_bytes()))
    }

    #[test]
    fn the_cache_is_private_from_the_start() {
        let h = home();
        let (dir, built) = put(&h.cache, "a", "text");
        assert!(built);
        assert_eq!((mode(&h.path("cache")), mode(&dir), mode(&dir.join("file"))), (0o700, 0o700, 0o600));
        let log = h.cache.keep_log("what", "text").unwrap();
        assert_eq!((mode(log.parent().unwrap()), mode(&log)), (0o700, 0o600));
    }

    #[test]
    fn a_cache_that_others_can_write_to_is_closed_or_refused() {
        let h = home();
        let cache = h.path("cache");
        fs::create_dir(&cache).unwrap();
        chmod(&cache, 0o777);
        assert!(put(&h.cache, "a", "text").1);
        assert_eq!(mode(&cache), 0o700);
        chmod(&cache, 0o777);
        assert!(!put(&h.cache, "a", "text").1, "what is in it is the user's own");
        assert_eq!(mode(&cache), 0o700);
        // A folder that is used for something else keeps its mode.
        fs::write(cache.join("letter"), "").unwrap();
        chmod(&cache, 0o777);
        h.refuses("can be written to by other users");
        assert_eq!(mode(&cache), 0o777);
    }

    #[test]
    fn a_way_that_others_can_change_is_refused() {
        let h = home();
        let cache = Cache::at(h.path("loose/deep/cache"));
        fs::create_dir_all(h.path("loose/deep")).unwrap();
        chmod(&h.path("loose"), 0o777);
        let text = cache.entry("a", |_| panic!("built")).unwrap_err().to_string();
        assert!(text.contains("loose can be written to by other users"), "{text}");
        assert!(!h.path("loose/deep/cache").exists());
        // Nobody can exchange what others put into a sticky folder.
        chmod(&h.path("loose"), 0o1777);
        assert!(put(&cache, "a", "text").1);
    }

    #[test]
    fn links_on_the_way_are_followed_and_none_inside() {
        let h = home();
        fs::create_dir(h.path("real")).unwrap();
        symlink("real", h.path("link")).unwrap();
        assert!(put(&Cache::at(h.path("link/cache")), "a", "text").1 && h.path("real/cache").is_dir());
        symlink("real", h.path("cache")).unwrap();
        h.refuses("is a link");
        fs::remove_file(h.path("cache")).unwrap();
        let (dir, _) = put(&h.cache, "a", "text");
        fs::rename(&dir, h.path("elsewhere")).unwrap();
        symlink(h.path("elsewhere"), &dir).unwrap();
        h.refuses("is not a folder");
        fs::remove_file(&dir).unwrap();
        fs::rename(h.path("elsewhere"), &dir).unwrap();
        fs::rename(dir.join("file"), h.path("file")).unwrap();
        symlink(h.path("file"), dir.join("file")).unwrap();
        assert!(put(&h.cache, "a", "text").1, "a link in an entry is damage");
        symlink("loop", h.path("loop")).unwrap();
        let text = Cache::at(h.path("loop/cache")).entry("a", |_| panic!("built")).unwrap_err().to_string();
        assert!(text.contains("a link to itself"), "{text}");
    }

    #[test]
    fn a_lock_is_a_plain_file() {
        let h = home();
        put(&h.cache, "b", "text");
        let lock = h.path("cache").join(entry("a") + ".lock");
        symlink(h.path("target"), &lock).unwrap();
        h.refuses("is no plain file");
        assert!(!h.path("target").exists(), "the link was followed");
        fs::remove_file(&lock).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &lock, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        h.refuses("is no plain file");
        fs::remove_file(&lock).unwrap();
        fs::create_dir_all(lock.join("in/it")).unwrap();
        let (dir, built) = put(&h.cache, "a", "text");
        assert!(built && lock.is_file(), "a folder of the user's own in its place goes");
        let file = dir.join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(put(&h.cache, "a", "text").1, "a pipe in an entry is damage and waited for by nobody");
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        if !is_root() {
            return;
        }
        let h = home();
        let (dir, _) = put(&h.cache, "a", "text");
        chown(&dir, OTHER, None).unwrap();
        h.refuses("belongs to another user");
        chown(&dir, Some(0), None).unwrap();
        chown(dir.join("file"), OTHER, None).unwrap();
        assert!(put(&h.cache, "a", "text").1, "a file of another user in an entry is damage");
        for name in [entry("a") + ".lock", String::new()] {
            let path = h.path("cache").join(name);
            fs::remove_dir_all(&dir).ok();
            chown(&path, OTHER, None).unwrap();
            h.refuses("belongs to another user");
            chown(&path, Some(0), None).unwrap();
            assert!(put(&h.cache, "a", "text").1);
        }
        chown(h.top.path(), OTHER, None).unwrap();
        h.refuses("belongs to another user");
        chown(h.top.path(), Some(0), None).unwrap();
        std::os::unix::fs::lchown(h.path("cache"), Some(0), None).unwrap();
        fs::create_dir(h.path("real")).unwrap();
        symlink("real", h.path("theirs")).unwrap();
        std::os::unix::fs::lchown(h.path("theirs"), OTHER, None).unwrap();
        let text = Cache::at(h.path("theirs/cache")).entry("a", |_| panic!("built")).unwrap_err().to_string();
        assert!(text.contains("theirs belongs to another user"), "{text}");
    }

    #[test]
    fn files_that_others_can_write_to_are_built_again() {
        let h = home();
        let (dir, _) = put(&h.cache, "a", "text");
        chmod(&dir.join("file"), 0o666);
        assert!(put(&h.cache, "a", "text").1);
        chmod(&dir, 0o777);
        assert!(put(&h.cache, "a", "text").1);
        assert_eq!((mode(&dir), mode(&dir.join("file"))), (0o700, 0o600));
    }

    #[test]
    fn what_killed_builds_left_goes_with_the_next_build_of_anything() {
        let h = home();
        put(&h.cache, "a", "text");
        let left = h.path("cache").join(format!("building-{}-Xy12", entry("c")));
        let busy = h.path("cache").join(format!("building-{}-Xy12", entry("d")));
        fs::create_dir(&left).unwrap();
        fs::create_dir(&busy).unwrap();
        let lock = private::lock_file(&h.path("cache").join(entry("d") + ".lock")).unwrap();
        lock.lock().unwrap();
        put(&h.cache, "b", "text");
        assert!(!left.exists() && busy.exists());
    }
}
