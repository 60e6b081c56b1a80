//! An open document, and what the compiler makes of it.

use crate::analysis::{Analysis, Missing};
use crate::text::Text;
use crate::uri::path_of;
use lsp_types::{Location, Position, Range, TextDocumentContentChangeEvent, Uri};
use pg2::diag::Span;
use pg2::syntax::names::Names;
use pg2::syntax::sources::Sources;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// The texts of open files by the keys of their paths, as the editor has them: files that include them see these.
pub type Open = Rc<RefCell<HashMap<String, String>>>;

/// Bytes of a text that is large: more than any kernel has that people write.
const LARGE: usize = 1 << 18;

/// Entries of a list that is sent: symbols, places, findings. Each takes kilobytes until it is sent, and nobody reads more.
pub const MOST: usize = 5000;

/// A document that the editor has open.
pub struct Document {
    pub uri: Uri,
    pub text: Text,
    /// The editor's number for this state; none for a file that is read from the disk.
    pub version: Option<i32>,
    /// The number of what it and the files that it includes hold now; no other state of any document has it.
    pub state: u64,
    names: Option<Names>,
    pub open: Open,
    /// It and the files that it includes, once these were read.
    pub sources: Option<Arc<Sources>>,
    /// The last analysis that was finished.
    pub analysis: Option<Analysis>,
    /// Whether an answer may come from an analysis of an earlier state.
    pub may_be_old: bool,
    /// The missing need of the last answer.
    pub missing: Option<Missing>,
}

impl Document {
    pub fn new(uri: Uri, text: String, version: Option<i32>) -> Document {
        let (text, open) = (Text::new(text), Open::default());
        let (names, sources, analysis, missing) = (None, None, None, None);
        Document { uri, text, version, state: 0, names, open, sources, analysis, may_be_old: false, missing }
    }

    /// Applies changes: each replaces a range, or the whole text.
    pub fn change(&mut self, changes: &[TextDocumentContentChangeEvent], version: i32) {
        self.version = Some(version);
        self.text.change(changes);
        self.names = None;
    }

    /// Gives what it and the files that it includes hold now another number.
    pub fn is_now(&mut self, state: u64) {
        (self.state, self.sources) = (state, None);
    }

    pub fn names(&mut self) -> &Names {
        self.names.get_or_insert_with(|| pg2::syntax::names::names(&self.text))
    }

    /// Tells the files that include this one its text.
    pub fn tell(&self) {
        if let Some(path) = self.path() {
            self.open.borrow_mut().insert(crate::system::key(&path), self.text.to_string());
        }
    }

    /// Whether the text may include files.
    pub fn may_include(&self) -> bool {
        self.text.contains("include")
    }

    /// Whether what is known of it takes more memory than making it anew takes time.
    pub fn is_large(&self) -> bool {
        self.text.len() > LARGE
    }

    /// Forgets what the text tells: hundreds of bytes for a name.
    pub fn forget(&mut self) {
        (self.names, self.sources, self.analysis) = (None, None, None);
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<PathBuf> {
        path_of(self.uri.as_str())
    }

    /// The kernel's name: the file's stem.
    pub fn name(&self) -> String {
        let stem = self.path().and_then(|p| Some(p.file_stem()?.to_string_lossy().into_owned()));
        stem.unwrap_or_else(|| "kernel".into())
    }

    pub fn offset(&self, position: Position) -> usize {
        self.text.offset(position)
    }

    pub fn offsets(&self, range: Range) -> Span {
        self.text.offsets(range)
    }

    pub fn range(&self, span: Span) -> Range {
        self.text.range(span)
    }

    pub fn location(&self, span: Span) -> Location {
        Location::new(self.uri.clone(), self.range(span))
    }
}
