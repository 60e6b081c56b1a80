//! Programs as text with parts that can be replaced, and smaller programs made of them.

use hdl::Format;

/// A piece of program text: `words` around and between its parts, each of which is replaced by any other of its format.
#[derive(Clone)]
pub struct Part {
    /// `None`: a statement.
    pub format: Option<Format>,
    words: Vec<String>,
    parts: Vec<Part>,
}

impl Part {
    pub fn new(format: Format, text: &str, parts: Vec<Part>) -> Part {
        // `@` stands for a part.
        let words: Vec<String> = text.split('@').map(String::from).collect();
        assert_eq!(words.len(), parts.len() + 1, "{text}");
        Part { format: Some(format), words, parts }
    }

    pub fn statement(text: &str, parts: Vec<Part>) -> Part {
        Part { format: None, words: text.split('@').map(String::from).collect(), parts }
    }

    fn text(&self) -> String {
        let mut text = self.words[0].clone();
        for (part, word) in self.parts.iter().zip(&self.words[1..]) {
            text += &part.text();
            text += word;
        }
        text
    }
}

/// A program by its statements.
#[derive(Clone, Default)]
pub struct Kernel {
    pub statements: Vec<Part>,
}

impl Kernel {
    pub fn text(&self) -> String {
        self.statements.iter().map(|s| s.text() + "\n").collect()
    }

    /// Programs with a statement less, or with a part of one replaced by something smaller.
    pub fn smaller(&self) -> Vec<Kernel> {
        let mut list = Vec::new();
        for k in 0..self.statements.len() {
            let mut less = self.clone();
            less.statements.remove(k);
            list.push(less);
        }
        for (k, statement) in self.statements.iter().enumerate() {
            for part in replaced(statement) {
                let mut less = self.clone();
                less.statements[k] = part;
                list.push(less);
            }
        }
        list
    }

    /// The same with one format in place of another.
    pub fn in_format(&self, from: &str, to: &str) -> Kernel {
        fn change(part: &mut Part, from: &str, to: &str) {
            part.words.iter_mut().for_each(|w| *w = w.replace(from, to));
            part.parts.iter_mut().for_each(|p| change(p, from, to));
        }
        let mut new = self.clone();
        new.statements.iter_mut().for_each(|s| change(s, from, to));
        new
    }
}

/// A part with one part within it replaced by a part of that, or by zero.
fn replaced(part: &Part) -> Vec<Part> {
    let mut list = Vec::new();
    for (k, inner) in part.parts.iter().enumerate() {
        let f = inner.format.expect("only statements have none");
        let mut found = Vec::new();
        within(inner, f, &mut found);
        found.sort_by_key(|p| p.text().len());
        if !inner.parts.is_empty() {
            found.push(Part::new(f, &format!("({f})0"), Vec::new()));
        }
        found.extend(replaced(inner));
        list.extend(found.into_iter().map(|new| {
            let mut part = part.clone();
            part.parts[k] = new;
            part
        }));
    }
    list
}

fn within(part: &Part, f: Format, found: &mut Vec<Part>) {
    for inner in &part.parts {
        if inner.format == Some(f) {
            found.push(inner.clone());
        }
        within(inner, f, found);
    }
}
