//! Imports run one way: the rooms of a crate stand in an order, and none uses a later one.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of each crate, each before those that are made of it.
const ROOMS: &[(&str, &[&str])] = &[
    ("hdl", &["hash", "number", "rtl", "circuit", "op", "engine", "serial", "board"]),
    ("pg2", &["diag", "syntax", "graph", "check", "middle", "backend", "report"]),
];

#[test]
fn no_room_uses_a_later_one() {
    for (name, rooms) in ROOMS {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(name).join("src");
        let mut found = Vec::new();
        for (place, room) in rooms.iter().enumerate() {
            for file in files(&source, room) {
                let text = fs::read_to_string(&file).unwrap();
                for (number, line) in production(&text) {
                    let later = rooms[place + 1..].iter().find(|later| uses(line, later));
                    found.extend(
                        later.map(|later| {
                            format!("{}:{number}: `{room}` uses `{later}`: {}", file.display(), line.trim())
                        }),
                    );
                }
            }
        }
        assert!(found.is_empty(), "in {name}, whose order is {rooms:?}:\n{}", found.join("\n"));
    }
}

#[test]
fn every_folder_of_a_crate_is_a_room() {
    for (name, rooms) in ROOMS {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(name).join("src");
        for entry in fs::read_dir(&source).unwrap().map(|e| e.unwrap()).filter(|e| e.path().is_dir()) {
            let folder = entry.file_name().into_string().unwrap();
            assert!(rooms.contains(&folder.as_str()), "{} stands in no order of rooms", entry.path().display());
        }
    }
}

#[test]
fn a_use_is_seen_wherever_it_stands_in_a_path() {
    assert!(uses("use crate::op::term;", "op"));
    assert!(uses("    let a = crate::op::OPERATORS.len();", "op"));
    assert!(uses("use crate::{Flags, op::Inst};", "op"));
    assert!(!uses("use crate::option::Op;", "op"));
    assert!(!uses("//! See [`crate::op::Operator`].", "op"));
}

/// Whether a line of code names the room in a path from the crate's root.
fn uses(line: &str, room: &str) -> bool {
    if line.trim_start().starts_with("//") {
        return false;
    }
    let word = |text: &str| {
        let rest = text.strip_prefix(room)?;
        (!rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')).then_some(())
    };
    line.match_indices("crate::").any(|(at, root)| {
        let path = &line[at + root.len()..];
        match path.strip_prefix('{') {
            Some(list) => list.split([',', '{', '}']).any(|item| word(item.trim()).is_some()),
            None => word(path).is_some(),
        }
    })
}

/// The lines of a file before its tests, with their numbers.
fn production(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..tests].lines().enumerate().map(|(k, line)| (k + 1, line))
}

/// The files of a room: `ROOM.rs` and what stands in `ROOM/`, files of tests left out.
fn files(source: &Path, room: &str) -> Vec<PathBuf> {
    let mut found = vec![source.join(format!("{room}.rs"))];
    let mut folders = vec![source.join(room)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|e| e.unwrap().path()) {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            match path.is_dir() {
                true => folders.push(path),
                false if name.ends_with("tests") => {}
                false => found.push(path),
            }
        }
    }
    found.retain(|file| file.extension().is_some_and(|e| e == "rs") && file.exists());
    found
}
