//! Names in Verilog: unique, no keyword, and nothing but what every tool takes.

mod words;

use crate::hash::{FastMap, FastSet};
use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};
pub use words::LANGUAGES;
use words::{OF_VERILOG, OF_VHDL};

/// A name in a netlist: of a signal, a port, an instance or a module. It is shared wherever it stands, since a large design has
/// each of its names several times.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(Arc<str>);

impl Name {
    pub fn as_str(&self) -> &str {
        self
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialEq<String> for Name {
    fn eq(&self, other: &String) -> bool {
        **self == **other
    }
}

impl<T: AsRef<str>> From<T> for Name {
    fn from(name: T) -> Name {
        Name(name.as_ref().into())
    }
}

impl From<&Name> for Name {
    fn from(name: &Name) -> Name {
        name.clone()
    }
}

/// All reserved words in small letters, since VHDL and some file systems tell no capitals apart.
static KEYWORDS: LazyLock<FastSet<String>> = LazyLock::new(|| small(LANGUAGES.iter().flat_map(|l| l.1)));

/// The reserved words of Verilog and its tools.
static VERILOG: LazyLock<FastSet<String>> = LazyLock::new(|| small(OF_VERILOG.iter().copied().flatten()));

/// Those that a name of VHDL must not have.
static VHDL: LazyLock<FastSet<String>> = LazyLock::new(|| small(OF_VHDL.iter().copied().flatten()));

fn small<'a>(words: impl Iterator<Item = &'a &'a str>) -> FastSet<String> {
    words.map(|word| word.to_ascii_lowercase()).collect()
}

/// The name in small letters, which it mostly is.
fn lower(word: &str) -> Cow<'_, str> {
    match word.bytes().any(|b| b.is_ascii_uppercase()) {
        true => Cow::Owned(word.to_ascii_lowercase()),
        false => Cow::Borrowed(word),
    }
}

/// Whether a language that may read generated names reserves `word`, in any capitals.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&*lower(word))
}

/// Whether `word` is made of letters, digits and underscores and begins with no digit.
pub fn is_plain(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether `word` is an identifier of Verilog that all tools take. Names that kernels choose are no words of other languages either:
/// see [`Names`].
pub fn is_identifier(word: &str) -> bool {
    is_plain(word) && !VERILOG.contains(&*lower(word))
}

/// A name of Verilog as one of VHDL. VHDL's own begin with a letter, have no underscores at their end or side by side, and are none of
/// its words; others stand between backslashes, where each name is one of its own.
pub fn vhdl(name: &str) -> Cow<'_, str> {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.ends_with('_') && !name.contains("__");
    match plain && !VHDL.contains(&*lower(name)) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(format!("\\{name}\\")),
    }
}

/// The nearest identifier to any text: `dx[0]` becomes `dx_0`.
pub fn sanitise(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => name.push(c),
            // Closing brackets leave nothing, so that `dx[0]` does not end in an underscore.
            ']' | ')' => {}
            _ => name.push('_'),
        }
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, 'x');
    }
    name
}

/// Gives out the names of one scope, none of them a reserved word. No two differ in capitals alone, since some tools do not tell
/// these apart.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// In small letters.
    taken: FastSet<Name>,
    /// The last number tried for a base name, so that many equal wishes stay cheap.
    next: FastMap<String, u32>,
}

impl Names {
    /// Marks a name that others must not get, such as a port's.
    pub fn reserve(&mut self, name: &str) {
        self.taken.insert(lower(name).as_ref().into());
    }

    /// An unused identifier as near to `wish` as possible.
    pub fn unique(&mut self, wish: &str) -> Name {
        self.unique_with(wish, "")
    }

    /// The same where the name followed by `end` is to be free too; both are taken.
    pub fn unique_with(&mut self, wish: &str, end: &str) -> Name {
        self.choose(None, wish, end)
    }

    /// The names of a scope inside this one: they differ from all of these, which stay as they are.
    pub fn inside(&self) -> Inside<'_> {
        Inside { around: self, own: Names::default() }
    }

    /// An unused identifier, also among those `around`.
    fn choose(&mut self, around: Option<&Names>, wish: &str, end: &str) -> Name {
        let base = if is_plain(wish) { Name::from(wish) } else { sanitise(wish).into() };
        if !is_keyword(&base) && self.take(around, &base, end) {
            return base;
        }
        let small = lower(&base);
        let tried = self.next.get(&*small).or_else(|| around?.next.get(&*small));
        let mut k = *tried.unwrap_or(&1);
        loop {
            k += 1;
            let name = Name::from(format!("{base}_{k}"));
            if self.take(around, &name, end) {
                self.next.insert(small.into_owned(), k);
                return name;
            }
        }
    }

    fn take(&mut self, around: Option<&Names>, name: &Name, end: &str) -> bool {
        let small = match lower(name) {
            Cow::Borrowed(_) => name.clone(),
            Cow::Owned(small) => small.into(),
        };
        let known = |name: &str| self.taken.contains(name) || around.is_some_and(|a| a.taken.contains(name));
        let beside = (!end.is_empty()).then(|| format!("{small}{end}"));
        let free = !known(&small) && !beside.as_ref().is_some_and(|name| known(name));
        if free {
            self.taken.insert(small);
            self.taken.extend(beside.map(Name::from));
        }
        free
    }
}

/// Names of a scope inside another one, whose names it does not copy.
#[derive(Debug)]
pub struct Inside<'a> {
    around: &'a Names,
    own: Names,
}

impl Inside<'_> {
    /// An unused identifier as near to `wish` as possible.
    pub fn unique(&mut self, wish: &str) -> Name {
        self.own.choose(Some(self.around), wish, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_every_language_are_reserved_in_any_capitals() {
        for word in ["reg", "accept_on", "bool", "process", "downto", "EOF", "linux", "wreal", "lambda", "crate"] {
            assert!(is_keyword(word) && is_keyword(&word.to_ascii_uppercase()), "{word}");
        }
        assert!(!is_keyword("r2") && !is_keyword("sum"));
    }

    #[test]
    fn names_that_vhdl_refuses_stand_between_backslashes() {
        for name in ["p2p_engine", "A1"] {
            assert_eq!(vhdl(name), name);
        }
        for name in ["_engine", "a__b", "a_", "Process", "downto", "unsigned", "RTL"] {
            assert_eq!(vhdl(name), format!("\\{name}\\"));
        }
    }

    #[test]
    fn lists_of_words_are_sorted_and_plain() {
        for (language, words) in LANGUAGES {
            assert!(words.is_sorted() && words.iter().all(|w| is_plain(w)), "{language}");
        }
    }

    #[test]
    fn names_are_unique_and_never_reserved_words() {
        let mut names = Names::default();
        names.reserve("q");
        let given: Vec<Name> = ["q", "sum", "sum", "sum_2", "wire", "dx[1]", "7"].map(|w| names.unique(w)).to_vec();
        assert_eq!(given, ["q_2", "sum", "sum_2", "sum_2_2", "wire_2", "dx_1", "x7"]);
        assert!(given.iter().all(|n| is_identifier(n)));
    }

    #[test]
    fn names_differ_in_more_than_capitals_and_keep_their_ends_free() {
        let mut names = Names::default();
        names.reserve("Table_rom");
        let given: Vec<Name> = ["R2", "r2", "WIRE"].map(|w| names.unique(w)).to_vec();
        assert_eq!(given, ["R2", "r2_2", "WIRE_2"]);
        assert_eq!(names.unique_with("table", "_rom"), "table_2");
        assert_eq!(names.unique("table_2_rom"), "table_2_rom_2");
    }
}
