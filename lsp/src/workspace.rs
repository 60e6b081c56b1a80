//! Symbols of all kernels of the workspace: of open documents as the editor has them, of others as they were saved.

use crate::answer::symbol_kind;
use crate::document::{Document, MOST};
use crate::uri::{path_of, uri_of};
use lsp_types::{Location, OneOf, WorkspaceSymbol, WorkspaceSymbolResponse};
use pg2::syntax::names::Kind;
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Files that are read at most, folders between them and the workspace, and bytes of one.
const MOST_FILES: usize = 2000;
const MOST_LEVELS: usize = 8;
const MOST_BYTES: u64 = 1 << 20;

/// The folders that a client has opened.
pub fn folders(initialize: &Value) -> Vec<PathBuf> {
    let list = initialize["workspaceFolders"].as_array().cloned().unwrap_or_default();
    let named = list.iter().filter_map(|folder| path_of(folder["uri"].as_str()?));
    let named: Vec<PathBuf> = named.collect();
    if named.is_empty() { initialize["rootUri"].as_str().and_then(path_of).into_iter().collect() } else { named }
}

/// The kernels in a folder and below it; hidden folders and those of builds are left out.
fn kernels(folder: &Path, levels: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let is_left_out = name.as_encoded_bytes().starts_with(b".") || name == "target" || name == "node_modules";
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && levels > 0 && !is_left_out => kernels(&path, levels - 1, found),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|e| e == "pg2") => found.push(path),
            _ => {}
        }
        if found.len() >= MOST_FILES {
            return;
        }
    }
}

/// The names that hold in a whole file and contain the query, in whatever case.
fn symbols_of(document: &mut Document, query: &str, found: &mut Vec<WorkspaceSymbol>) {
    let names = document.names().clone();
    let is_wanted = |d: &&pg2::syntax::names::Definition| {
        let is_whole = !matches!(d.kind, Kind::Parameter | Kind::Counter) && d.scope.end == document.text.len();
        is_whole && d.name.to_ascii_lowercase().contains(query)
    };
    for d in names.definitions.iter().filter(is_wanted).take(MOST.saturating_sub(found.len())) {
        let Location { uri, range } = document.location(d.span);
        found.push(WorkspaceSymbol {
            name: d.name.clone(),
            kind: symbol_kind(d.kind),
            tags: None,
            container_name: Some(document.name()),
            location: OneOf::Left(Location { uri, range }),
            data: None,
        });
    }
}

/// The answer to a request for symbols.
pub fn symbols<'a>(
    folders: &[PathBuf],
    open: impl Iterator<Item = &'a mut Document>,
    params: &Value,
) -> serde_json::Result<Value> {
    #[derive(Deserialize)]
    struct Asked {
        query: String,
    }
    let query = Asked::deserialize(params)?.query.to_ascii_lowercase();
    let mut found = Vec::new();
    let mut seen = Vec::new();
    for document in open {
        seen.extend(document.path());
        symbols_of(document, &query, &mut found);
        if document.is_large() {
            document.forget();
        }
    }
    let mut files = Vec::new();
    folders.iter().for_each(|folder| kernels(folder, MOST_LEVELS, &mut files));
    files.dedup();
    for path in files.into_iter().filter(|path| !seen.contains(path)) {
        let is_small = std::fs::metadata(&path).is_ok_and(|data| data.len() <= MOST_BYTES);
        if let Some(text) = is_small.then(|| std::fs::read_to_string(&path).ok()).flatten()
            && let Ok(uri) = uri_of(&path).parse()
        {
            symbols_of(&mut Document::new(uri, text, None), &query, &mut found);
        }
    }
    serde_json::to_value(WorkspaceSymbolResponse::Nested(found))
}
