//! A page and its parts, and how it becomes HTML.

use super::data::Cell;
use crate::chart;
use crate::failure::Failure;
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// A page: what stands at its top, and its sections.
#[derive(Template)]
#[template(path = "report/page.html")]
pub struct Page {
    pub title: String,
    /// A sentence below the title.
    pub about: String,
    /// The numbers that a reader looks for first, with their names.
    pub first: Vec<(String, Cell)>,
    pub sections: Vec<Section>,
}

pub struct Section {
    pub heading: String,
    /// Sentences below the heading.
    pub notes: Vec<String>,
    pub blocks: Vec<Block>,
}

pub enum Block {
    Facts(Vec<(String, Cell)>),
    Table(Table),
    Figure(Figure),
    Listing(Listing),
}

/// A table, whose rows are sorted by a column where its head is chosen.
pub struct Table {
    pub caption: String,
    pub heads: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

/// A picture, with a table of its numbers where these can be read off nowhere else.
pub struct Figure {
    pub caption: String,
    /// An SVG whose texts are escaped; the words of a mark are its `title`.
    pub svg: String,
    /// The meaning of the colours, where there are several.
    pub keys: Vec<Key>,
    pub data: Option<Table>,
    /// Whether it takes the whole width of the page.
    pub is_wide: bool,
}

/// The colour of a series and its name.
pub struct Key {
    pub name: String,
    pub colour: usize,
}

/// The text of a program, with notes to its lines.
pub struct Listing {
    pub caption: String,
    pub lines: Vec<ListingLine>,
}

pub struct ListingLine {
    pub number: usize,
    pub text: String,
    pub notes: Vec<Cell>,
}

const STYLE: &str = include_str!("../../templates/report/page.css");
const SCRIPT: &str = include_str!("../../templates/report/page.js");

impl Section {
    pub fn new(heading: impl Into<String>, blocks: Vec<Block>) -> Section {
        Section { heading: heading.into(), notes: Vec::new(), blocks }
    }

    pub fn with_notes(self, notes: Vec<String>) -> Section {
        Section { notes, ..self }
    }

    /// The name by which links lead to it.
    fn id(&self) -> String {
        let letters =
            self.heading.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
        letters.collect()
    }
}

impl Table {
    /// The heads, each with whether numbers stand below it.
    fn columns(&self) -> Vec<(bool, &str)> {
        let is_number = |k: usize| self.rows.first().and_then(|row| row.get(k)).is_some_and(|cell| cell.is_number);
        self.heads.iter().enumerate().map(|(k, head)| (is_number(k), &head[..])).collect()
    }
}

impl Page {
    /// The self-contained page. Sections with nothing in them are left out.
    pub fn html(mut self) -> Result<String, Failure> {
        self.sections.retain(|section| !section.blocks.is_empty() || !section.notes.is_empty());
        self.render().map_err(|e| Failure::Tool(format!("the report cannot be made: {e}")))
    }

    fn style(&self) -> String {
        format!("{STYLE}{}", chart::series_style())
    }

    fn script(&self) -> &'static str {
        SCRIPT
    }

    /// The policy of the page: nothing is loaded, and nothing runs but its own style and script.
    fn policy(&self) -> String {
        let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
        format!(
            "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
            hash(&self.style()),
            hash(SCRIPT)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::{Data, Quantity};
    use super::*;

    const HOSTILE: &str = "</script><script>alert(1)</script>\"'&<b>";

    #[test]
    fn text_is_escaped_wherever_it_stands() {
        let data = Data::new(&serde_json::json!({ HOSTILE: 1 }));
        let cell = || Cell::text(HOSTILE);
        let table = || Table { caption: HOSTILE.into(), heads: vec![HOSTILE.into()], rows: vec![vec![cell()]] };
        let line = ListingLine { number: 1, text: HOSTILE.into(), notes: vec![cell()] };
        let figure = Figure {
            caption: HOSTILE.into(),
            svg: String::new(),
            keys: vec![Key { name: HOSTILE.into(), colour: 0 }],
            data: Some(table()),
            is_wide: false,
        };
        let blocks = vec![
            Block::Facts(vec![(HOSTILE.into(), cell()), ("n".into(), data.cell(HOSTILE, Quantity::Count))]),
            Block::Table(table()),
            Block::Figure(figure),
            Block::Listing(Listing { caption: HOSTILE.into(), lines: vec![line] }),
        ];
        let page = Page {
            title: HOSTILE.into(),
            about: HOSTILE.into(),
            first: vec![(HOSTILE.into(), cell())],
            sections: vec![Section::new(HOSTILE, blocks).with_notes(vec![HOSTILE.into()])],
        };
        let html = page.html().unwrap();
        assert_eq!((html.matches("<script").count(), html.matches("<b>").count()), (1, 0), "{html}");
        assert!(!html.contains("=\"</script") && html.matches("alert(1)").count() > 10, "{html}");
    }

    #[test]
    fn a_section_with_nothing_in_it_is_left_out() {
        let sections =
            vec![Section::new("Empty", Vec::new()), Section::new("Told", Vec::new()).with_notes(vec!["so".into()])];
        let html = Page { title: "t".into(), about: String::new(), first: Vec::new(), sections }.html().unwrap();
        assert!(html.contains("<h2 id=\"told\">Told</h2>") && !html.contains("Empty"), "{html}");
    }
}
