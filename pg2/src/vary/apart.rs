//! Variants of a kernel's text in which each value has a format of its own: the formats of pins and casts change, and where a
//! value is read in another format than its own, a cast is written before it.
//!
//! Expressions fall into regions. In one all floats have one format: an operator's arguments and its result. A region ends at a
//! cast, at a comparison, at a name, and at a call of the file's own functions, whose insides stay as they are.

mod regions;

use crate::check::{self, Found};
use crate::diag::{Edit, Span, edited};
use crate::graph::{Graph, PinClass};
use crate::syntax::lex::{TokenKind, lex};
use crate::syntax::parse::parse_sources;
use crate::syntax::sources::Sources;
use hdl::Format;
use regions::Walk;
use std::collections::{BTreeSet, HashMap};

/// A format that can be chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Knob {
    /// The name of the value, the words of the cast, or the format of a fixed or log as it is written.
    pub name: String,
    /// Its line, from 1.
    pub line: usize,
    /// The format that the file has.
    pub format: Format,
    /// Whether inputs come in it: to narrow it rounds them.
    pub is_input: bool,
    /// Whether it stays as it is.
    pub is_kept: bool,
}

/// The format of something: one that can be chosen, that of a region, or one that stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Knob(usize),
    Region(usize),
    Fixed(Format),
}

/// Floats of one format.
#[derive(Clone, Debug)]
struct Region {
    /// Its format; else the narrowest that holds the numbers of all that is read in it, or for a parameter those that it is read in.
    source: Option<Source>,
    /// As it is written.
    format: Format,
    reads: Vec<Source>,
    /// Of a parameter the regions that it is read in.
    readers: Vec<usize>,
}

/// The value of a name or call in a region.
struct Read {
    at: usize,
    source: Source,
    region: usize,
}

/// The word of a format.
struct Word {
    span: Span,
    follows: Source,
    /// As it is written.
    format: Format,
}

/// A kernel with all its choices.
pub struct Apart {
    text: String,
    pub knobs: Vec<Knob>,
    regions: Vec<Region>,
    reads: Vec<Read>,
    words: Vec<Word>,
    /// The region of the nodes of a place and format.
    places: HashMap<(Span, Format), usize>,
    /// The regions of parameters in float.
    params: HashMap<String, usize>,
}

impl Apart {
    /// The choices of a kernel that compiles to this graph.
    pub fn new(sources: &Sources, graph: &Graph) -> Apart {
        let (program, _) = parse_sources(sources);
        let own = sources.files()[0].span.of(sources.text());
        let found = check::formats(sources.text(), &program);
        let mut walk = Walk::new(&program, &found, graph, own);
        walk.statements(&program.statements);
        let Walk { knobs, regions, reads, words, places, params, .. } = walk;
        let params = params.into_iter().map(|(name, region)| (name.to_string(), region)).collect();
        let mut apart = Apart { text: own.to_string(), knobs, regions, reads, words, places, params };
        apart.add_words(own, graph);
        apart
    }

    /// The fixeds and logs: a choice for each of their formats.
    fn add_words(&mut self, text: &str, graph: &Graph) {
        let is_input = |format| graph.pins.iter().any(|p| p.format == format && p.class != PinClass::Fout);
        let mut known: HashMap<&str, usize> = HashMap::new();
        for token in lex(text).tokens.iter().filter(|t| t.kind == TokenKind::Format) {
            let word = token.span.of(text);
            let Some(format) = word.parse::<Format>().ok().filter(|f| f.is_fixed() || f.is_log()) else { continue };
            let knob = *known.entry(word).or_insert_with(|| {
                let (name, line) = (word.to_string(), line(text, token.span.start));
                self.knobs.push(Knob { name, line, format, is_input: is_input(format), is_kept: false });
                self.knobs.len() - 1
            });
            self.words.push(Word { span: token.span, follows: Source::Knob(knob), format });
        }
    }

    /// Leaves parameters in their formats, which follow those of what reads them else.
    pub fn keep_parameters(&mut self) {
        for region in self.regions.iter_mut().filter(|r| !r.readers.is_empty()) {
            region.source = Some(Source::Fixed(region.format));
        }
    }

    /// Leaves the format of a pin or value as it is, and with a fixed or log all that are written in the same; `false` where there is
    /// none of that name.
    pub fn keep(&mut self, graph: &Graph, name: &str) -> bool {
        let pin = graph.pins.iter().find(|p| p.name == name);
        if let Some(region) = self.params.get(name) {
            let region = &mut self.regions[*region];
            region.source = Some(Source::Fixed(region.format));
        }
        let mut is_known = pin.is_some();
        for knob in &mut self.knobs {
            let of_pin = |format: Format| format == knob.format && (format.is_fixed() || format.is_log());
            if knob.name == name || pin.is_some_and(|pin| of_pin(pin.format)) {
                (knob.is_kept, is_known) = (true, true);
            }
        }
        is_known
    }

    /// The formats as the file has them.
    pub fn written(&self) -> Vec<Format> {
        self.knobs.iter().map(|k| k.format).collect()
    }

    fn of(&self, source: Source, chosen: &[Format]) -> Format {
        match source {
            Source::Knob(k) => chosen[k],
            Source::Region(r) => self.region(r, chosen),
            Source::Fixed(format) => format,
        }
    }

    /// The format of a region.
    fn region(&self, region: usize, chosen: &[Format]) -> Format {
        let region = &self.regions[region];
        match region.source {
            Some(source) => self.of(source, chosen),
            None => {
                // A reader without a format of its own reads no parameter alone, or it has the parameter's.
                let of_reader = |r: &usize| match (self.regions[*r].source, self.regions[*r].reads.is_empty()) {
                    (None, true) => None,
                    _ => Some(self.region(*r, chosen)),
                };
                let reads = region.reads.iter().map(|s| self.of(*s, chosen));
                reads.chain(region.readers.iter().filter_map(of_reader)).reduce(join).unwrap_or(region.format)
            }
        }
    }

    /// The text with chosen formats.
    pub fn text(&self, chosen: &[Format]) -> String {
        let formats: Vec<Format> = (0..self.regions.len()).map(|r| self.region(r, chosen)).collect();
        let mut edits = Vec::new();
        for word in &self.words {
            let new = self.of(word.follows, chosen);
            // A name of a format stays where it can.
            if new != word.format {
                edits.push(Edit { span: word.span, text: new.to_string() });
            }
        }
        for read in &self.reads {
            let format = formats[read.region];
            if self.of(read.source, chosen) != format {
                let span = Span { start: read.at, end: read.at };
                edits.push(Edit { span, text: format!("({format})") });
            }
        }
        edited(&self.text, &edits)
    }

    /// The choice that a node's format follows, if it does.
    pub fn knob_of(&self, span: Span, format: Format) -> Option<usize> {
        let region = &self.regions[*self.places.get(&(span, format))?];
        match region.source {
            Some(Source::Knob(k)) => Some(k),
            _ => None,
        }
    }

    /// Pairs of choices of which values of the first are read in the second: where they are alike, no cast is needed.
    pub fn passes(&self) -> BTreeSet<(usize, usize)> {
        let pass = |read: &Read| match (read.source, self.regions[read.region].source) {
            (Source::Knob(a), Some(Source::Knob(b))) if a != b => Some((a, b)),
            _ => None,
        };
        self.reads.iter().filter_map(pass).collect()
    }
}

/// The line of a place, from 1.
fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The narrowest float that holds the numbers of both.
fn join(a: Format, b: Format) -> Format {
    let exponent = |f: Format| f.width() - 1 - f.mant();
    let (exponent, mant) = (exponent(a).max(exponent(b)), a.mant().max(b.mant()));
    Format::float(1 + exponent + mant, mant).unwrap_or(if a.mant() >= b.mant() { a } else { b })
}

/// The format that an expression always has, if it is a float.
fn float(found: Found) -> Option<Format> {
    match found {
        Found::One(format) if format.is_float() => Some(format),
        _ => None,
    }
}
