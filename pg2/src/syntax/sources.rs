//! A kernel's file and the files that it includes, as one text.
//!
//! The kernel's own file comes first, so that a kernel without `include` is its text alone; each included file follows
//! once, however often it is named. Spans are places in the whole, and [`Sources::place`] leads back to a file.
//! The compiler reads no files: the caller gives it a [`Loader`].

use crate::diag::codes;
use crate::diag::{Diagnostic, MAX_REPORTED, Span, report};
use crate::syntax::lex::{Token, TokenKind, lex};
use std::collections::{BTreeMap, HashMap};

/// The most files, bytes in all, and levels of includes in includes.
const MAX_FILES: usize = 1024;
const MAX_BYTES: usize = 1 << 26;
const MAX_DEPTH: usize = 64;
/// The most bytes of a file that a table is read from.
const MAX_DATA: usize = 1 << 20;

/// A file that was found.
pub struct Loaded {
    /// The key that distinguishes this file from all others, such as its absolute path.
    pub key: String,
    /// Its name in messages.
    pub origin: String,
    pub text: String,
}

/// Finds the file that is included by `path` in the file of the key `from`. The error says why there is none.
pub type Loader<'a> = &'a mut dyn FnMut(&str, &str) -> Result<Loaded, String>;

/// One of the files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    pub origin: String,
    /// Where it lies in the whole text.
    pub span: Span,
}

/// All files of a kernel.
#[derive(Clone, Default, Debug)]
pub struct Sources {
    text: String,
    files: Vec<File>,
    /// For the place of each path behind an `include` the file whose statements it brings; `None` where they are there
    /// already, or where there is no file.
    includes: BTreeMap<usize, Option<usize>>,
    /// The texts of the files that tables are read from, by the place of the path.
    data: BTreeMap<usize, String>,
    errors: Vec<Diagnostic>,
}

/// A text for messages and comments, with the files in it.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    pub text: &'a str,
    pub files: &'a [File],
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Text<'a> {
        Text { text, files: &[] }
    }
}

impl<'a> From<&'a String> for Text<'a> {
    fn from(text: &'a String) -> Text<'a> {
        Text { text, files: &[] }
    }
}

impl<'a> From<&'a Sources> for Text<'a> {
    fn from(sources: &'a Sources) -> Text<'a> {
        Text { text: &sources.text, files: &sources.files }
    }
}

impl Sources {
    /// A text that includes nothing.
    pub fn alone(origin: &str, text: &str) -> Sources {
        let loaded = Loaded { key: String::new(), origin: origin.into(), text: text.into() };
        Sources::gather(loaded, &mut |_, _| Err("no files are at hand here".into()))
    }

    /// A kernel's file and all that it includes. Files that are not there are reported when the kernel is compiled.
    pub fn gather(own: Loaded, loader: Loader) -> Sources {
        let mut sources = Sources::default();
        let mut known = HashMap::from([(own.key.clone(), 0)]);
        // Files on the way from the kernel's to the one that is read, each with what it still has to include.
        let waiting = sources.add(own.origin, &own.text);
        sources.read_data(0, &own.key, loader);
        let mut chain = vec![(own.key, 0, waiting)];
        while let Some((key, file, waiting)) = chain.last_mut() {
            let Some(path) = waiting.pop() else {
                chain.pop();
                continue;
            };
            let (key, file) = (key.clone(), *file);
            let name = path.of(&sources.text).trim_matches('"').to_string();
            sources.includes.insert(path.start, None);
            // More would not be reported.
            if sources.errors.len() > MAX_REPORTED {
                continue;
            }
            let found = loader(&key, &name);
            let fresh = match found {
                Err(why) => {
                    Err((format!("`{name}` cannot be included: {why}"), "check the path; it is relative to this file"))
                }
                Ok(loaded) if chain.iter().any(|c| c.0 == loaded.key) => {
                    let message = format!("`{name}` includes itself");
                    let through = sources.files[file].origin.clone();
                    let message = if loaded.key == key { message } else { format!("{message} through `{through}`") };
                    Err((message, "remove one of the includes, or move what both files need into a third"))
                }
                Ok(loaded) if known.contains_key(&loaded.key) => continue,
                Ok(_) if chain.len() >= MAX_DEPTH => Err((
                    format!("files are included more than {MAX_DEPTH} levels deep"),
                    "include fewer files in files",
                )),
                Ok(loaded)
                    if sources.files.len() >= MAX_FILES || sources.text.len() + loaded.text.len() > MAX_BYTES =>
                {
                    let message = format!("more than {MAX_FILES} files or {MAX_BYTES} bytes are included");
                    Err((message, "split the kernel"))
                }
                Ok(loaded) => Ok(loaded),
            };
            match fresh {
                Ok(loaded) => {
                    let file = sources.files.len();
                    known.insert(loaded.key.clone(), file);
                    sources.includes.insert(path.start, Some(file));
                    let waiting = sources.add(loaded.origin, &loaded.text);
                    sources.read_data(file, &loaded.key, loader);
                    chain.push((loaded.key, file, waiting));
                }
                Err((message, help)) => {
                    let error = Diagnostic::error(codes::INCLUDE, message, path, "included here");
                    report(&mut sources.errors, error.help(help));
                }
            }
        }
        sources
    }

    /// Reads the files that the tables of a file name.
    fn read_data(&mut self, file: usize, key: &str, loader: Loader) {
        let Span { start, .. } = self.files[file].span;
        let text = self.text_of(&self.files[file]).to_string();
        if !text.contains("file") {
            return;
        }
        let tokens = lex(&text).tokens;
        let is_path = |w: &&[Token]| {
            w[0].kind == TokenKind::Word && w[0].span.of(&text) == "file" && w[1].kind == TokenKind::Text
        };
        for path in tokens.windows(2).filter(is_path).map(|w| w[1].span) {
            let place = Span { start: path.start + start, end: path.end + start };
            let name = path.of(&text).trim_matches('"');
            let why = match loader(key, name) {
                Ok(loaded) if loaded.text.len() <= MAX_DATA => {
                    self.data.insert(place.start, loaded.text);
                    continue;
                }
                Ok(_) => format!("it has more than {MAX_DATA} bytes"),
                Err(why) => why,
            };
            let message = format!("`{name}` cannot be read: {why}");
            let error = Diagnostic::error(codes::INCLUDE, message, place, "a table is read from here");
            report(&mut self.errors, error.help("check the path; it is relative to this file"));
        }
    }

    /// The texts of the files that tables are read from, by the place of the path.
    pub(crate) fn data(&self) -> impl Iterator<Item = (usize, &str)> {
        self.data.iter().map(|(at, text)| (*at, text.as_str()))
    }

    /// Appends a file; gives the places of the paths that it includes, the last first.
    fn add(&mut self, origin: String, text: &str) -> Vec<Span> {
        if !self.files.is_empty() {
            self.text.push('\n');
        }
        let start = self.text.len();
        self.text.push_str(text);
        self.files.push(File { origin, span: Span { start, end: self.text.len() } });
        if !text.contains("include") {
            return Vec::new();
        }
        let tokens = lex(text).tokens;
        let includes = tokens.windows(2).filter(|w| {
            w[0].kind == TokenKind::Word && w[0].span.of(text) == "include" && w[1].kind == TokenKind::Text
        });
        let shifted = |s: Span| Span { start: s.start + start, end: s.end + start };
        includes.map(|w| shifted(w[1].span)).rev().collect()
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The files, the kernel's own first.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The file that the include whose path stands at `at` brings.
    pub(crate) fn included(&self, at: usize) -> Option<usize> {
        self.includes.get(&at).copied().flatten()
    }

    pub(crate) fn errors(&self) -> &[Diagnostic] {
        &self.errors
    }

    /// The file that a place of the whole lies in, and where it lies there.
    pub fn place(&self, span: Span) -> (&File, Span) {
        let k = self.files.partition_point(|f| f.span.start <= span.start).max(1) - 1;
        let (file, start) = (&self.files[k], self.files[k].span.start);
        let end = span.end.min(file.span.end);
        (file, Span { start: span.start - start, end: end.max(span.start) - start })
    }

    /// The text of one file.
    pub fn text_of(&self, file: &File) -> &str {
        file.span.of(&self.text)
    }
}
