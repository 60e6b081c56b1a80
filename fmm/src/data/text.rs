//! Tables as text: a header of names and lines of values, with commas, semicolons, tabs or blanks between them.
//!
//! Lines are split here: such files have a few plain numbers a line, and the crate `csv` takes 1.4 to 2.1 times as long for a million of
//! them.

use super::particles::ParticleError;
use crate::shown::shown;
use std::borrow::Cow;
use std::collections::HashMap;

/// Character or white space between two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Separator {
    Of(char),
    /// One blank or more.
    Blanks,
}

/// A text whose header was read.
pub struct Table<'t> {
    /// The names of the columns, as they are written.
    pub names: Vec<String>,
    /// The line of the header, from 1.
    pub line: usize,
    separator: Separator,
    /// The lines of values, and the number of the first one.
    rest: &'t str,
    first: usize,
}

/// A mistake: its line, counted from 1, and what it is.
pub type Wrong = (usize, String);

impl<'t> Table<'t> {
    /// Finds the header: the first line that is neither blank nor a comment behind `#`; if that line has numbers, the comment before it,
    /// where `is_header` knows its names. Without columns that matter (`expected` is empty) the first line is the header, whatever it has.
    pub fn open(text: &'t str, expected: &str, is_header: &dyn Fn(&[String]) -> bool) -> Result<Table<'t>, Wrong> {
        Table::open_separated(text, expected, None, is_header)
    }

    /// The same with this character between values, where one is stated.
    pub fn open_separated(
        text: &'t str,
        expected: &str,
        stated: Option<char>,
        is_header: &dyn Fn(&[String]) -> bool,
    ) -> Result<Table<'t>, Wrong> {
        let separator = |line: &str| stated.map_or_else(|| separator(line), Separator::Of);
        let fitted = |table: Table<'t>| if stated.is_some() { table } else { table.with_separator_of_values() };
        let mut rest = text.trim_start_matches('\u{feff}');
        let mut line = 0;
        let mut commented: Option<(usize, Vec<String>, Separator)> = None;
        while !rest.is_empty() {
            let (one, behind) = split_line(rest);
            line += 1;
            if let Some(comment) = one.trim_start().strip_prefix('#') {
                let comment = comment.trim_matches(|c: char| c == '#' || c.is_whitespace());
                let separator = separator(comment);
                let names = names(comment, separator);
                commented = is_header(&names).then_some((line, names, separator)).or(commented);
            } else if !one.trim().is_empty() {
                let separator = separator(one);
                let names = names(one, separator);
                if expected.is_empty() || !names.iter().all(|name| number(name).is_some()) {
                    return Ok(fitted(Table { names, line, separator, rest: behind, first: line + 1 }));
                }
                let Some((header, names, separator)) = commented else {
                    let what = format!(
                        "numbers stand where the names of the columns should: begin with the line `{expected}`"
                    );
                    return Err((line, what));
                };
                return Ok(fitted(Table { names, line: header, separator, rest, first: line }));
            }
            rest = behind;
        }
        match commented {
            Some((line, names, separator)) => Ok(Table { names, line, separator, rest: "", first: line + 1 }),
            None if expected.is_empty() => {
                let what = "the file is empty; where no column matters its first line is any word, such as `target`, and each \
                            further line that is not blank counts as a record";
                Err((0, what.to_string()))
            }
            None => Err((0, format!("the file is empty; its first line must be a header, such as `{expected}`"))),
        }
    }

    /// Values may be separated in another way than names, as NumPy's `savetxt` writes them.
    fn with_separator_of_values(self) -> Table<'t> {
        let Some((_, line)) = self.rows().next() else { return self };
        let own = separator(line);
        let fits = own != self.separator
            && Table { separator: own, names: Vec::new(), ..self }.count(line) == self.names.len();
        if fits { Table { separator: own, ..self } } else { self }
    }

    /// Lines of values with their numbers.
    pub fn rows(&self) -> impl Iterator<Item = (usize, &'t str)> + use<'t> {
        let (mut rest, mut line) = (self.rest, self.first);
        std::iter::from_fn(move || {
            while !rest.is_empty() {
                let (one, behind) = split_line(rest);
                (rest, line) = (behind, line + 1);
                if !one.trim_start().is_empty() && !one.trim_start().starts_with('#') {
                    return Some((line - 1, one));
                }
            }
            None
        })
    }

    /// The same table in parts of about so many bytes, each with the lines of its own. Their numbers are not those of the whole.
    pub fn pieces(&self, bytes: usize) -> Vec<Table<'t>> {
        let mut rest = self.rest;
        let mut parts = Vec::new();
        while !rest.is_empty() || parts.is_empty() {
            let end = rest.as_bytes().get(bytes..).and_then(|tail| tail.iter().position(|b| *b == b'\n'));
            let (one, behind) = rest.split_at(end.map_or(rest.len(), |end| bytes + end + 1));
            parts.push(Table { names: self.names.clone(), rest: one, ..*self });
            rest = behind;
        }
        parts
    }

    fn count(&self, line: &str) -> usize {
        let done: Result<usize, ()> = self.each(line, |_, _| Ok(()));
        done.unwrap_or(0)
    }

    /// Gives `take` the fields of a line with their places; says how many there are. A separator may end the line.
    pub fn each<E>(&self, line: &str, mut take: impl FnMut(usize, &str) -> Result<(), E>) -> Result<usize, E> {
        let mut count = 0;
        let mut last_is_empty = false;
        let mut one = |field: &str| {
            let field = field.trim();
            last_is_empty = field.is_empty();
            count += 1;
            take(count - 1, field)
        };
        match self.separator {
            _ if line.contains('"') => quoted(line, self.separator).iter().try_for_each(|field| one(field))?,
            Separator::Blanks => line.split_whitespace().try_for_each(&mut one)?,
            Separator::Of(c) => line.split(c).try_for_each(&mut one)?,
        }
        let is_ended = last_is_empty && count == self.names.len() + 1 && self.separator != Separator::Blanks;
        Ok(if is_ended { count - 1 } else { count })
    }

    /// Hint at how a file without a wanted column may be meant, behind the sentence that says so.
    pub fn hint(&self) -> String {
        let odd = |c: &char| !(c.is_alphanumeric() || c.is_whitespace() || "_[].-+()".contains(*c));
        match (&self.names[..], self.names.first().and_then(|name| name.chars().find(odd))) {
            ([_], Some(c)) => format!(
                "; `{c}` separates no columns: take commas, semicolons, tabs or blanks, or state it (--delimiter)"
            ),
            _ => String::new(),
        }
    }
}

/// The first line without its end, and the rest. A carriage return alone ends no line.
fn split_line(text: &str) -> (&str, &str) {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    (line.strip_suffix('\r').unwrap_or(line), rest)
}

/// Separator of the values of a line: the one that stands there most often.
fn separator(line: &str) -> Separator {
    let plain = without_quoted(line);
    let count = |c: char| plain.matches(c).count();
    let most = [',', ';', '\t'].into_iter().rev().max_by_key(|c| count(*c)).filter(|c| count(*c) > 0);
    // Blanks at the ends of values are no separators beside others, and neither is a tab at the end of a line.
    match most {
        Some('\t') if plain.trim().matches('\t').count() == 0 => Separator::Blanks,
        most => most.map_or(Separator::Blanks, Separator::Of),
    }
}

/// A line without what stands in quotes.
fn without_quoted(line: &str) -> Cow<'_, str> {
    if !line.contains('"') {
        return line.into();
    }
    line.split('"').step_by(2).collect::<Vec<_>>().concat().into()
}

/// The fields of a line in which some are quoted. Quotes inside are doubled.
fn quoted(line: &str, separator: Separator) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_inside = false;
    let mut chars = line.trim_matches(' ').chars().peekable();
    while let Some(c) = chars.next() {
        let ends = match separator {
            Separator::Of(s) => c == s,
            Separator::Blanks => c.is_whitespace(),
        };
        match c {
            '"' if is_inside && chars.peek() == Some(&'"') => {
                chars.next();
                fields.iter_mut().next_back().into_iter().for_each(|field| field.push('"'));
            }
            '"' => is_inside = !is_inside,
            _ if ends && !is_inside => {
                let is_between = separator == Separator::Blanks && fields.last().is_some_and(String::is_empty);
                if !is_between {
                    fields.push(String::new());
                }
            }
            _ => fields.iter_mut().next_back().into_iter().for_each(|field| field.push(c)),
        }
    }
    fields
}

fn names(line: &str, separator: Separator) -> Vec<String> {
    let table = Table { names: Vec::new(), line: 0, separator, rest: "", first: 0 };
    let mut names = Vec::new();
    let done: Result<usize, ()> = table.each(line, |_, field| {
        names.push(field.trim_matches('\'').to_string());
        Ok(())
    });
    debug_assert!(done.is_ok());
    // A separator that ends the header names nothing.
    if names.len() > 1 && names.last().is_some_and(String::is_empty) {
        names.pop();
    }
    names
}

/// A number of the text, which Fortran may have written: with `D` before its exponent, or with no letter there.
pub fn number(text: &str) -> Option<f64> {
    text.parse().ok().or_else(|| decimal(text)?.parse().ok())
}

/// A number as others write it, if Fortran has written it.
pub fn decimal(text: &str) -> Option<String> {
    let is_exponent = |c: char| matches!(c, 'd' | 'D');
    if !text.bytes().all(|b| b.is_ascii_digit() || b"+-.dD".contains(&b))
        || !text.contains(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    if text.contains(is_exponent) {
        return Some(text.replacen(is_exponent, "e", 1));
    }
    let sign = text.char_indices().skip(1).find(|(_, c)| matches!(c, '+' | '-'))?.0;
    Some(format!("{}e{}", &text[..sign], &text[sign..]))
}

/// Columns of numbers with the names that they are known by.
pub type Columns = Vec<(String, Vec<f64>)>;

/// Reads the columns that `known` gives a name: it is asked with names in small letters. The others are noted in `ignored`, as they are
/// written. `expected` is a header as it may be.
pub fn read(
    text: &str,
    expected: &str,
    known: &dyn Fn(&str) -> Option<String>,
    ignored: &mut Vec<String>,
) -> Result<Columns, ParticleError> {
    read_separated((text, None), expected, known, ignored)
}

/// The same with the character between values, where it is stated.
pub fn read_separated(
    (text, stated): (&str, Option<char>),
    expected: &str,
    known: &dyn Fn(&str) -> Option<String>,
    ignored: &mut Vec<String>,
) -> Result<Columns, ParticleError> {
    let is_header = |names: &[String]| names.iter().filter(|n| known(&n.to_lowercase()).is_some()).count() >= 2;
    let of_line = |(line, what): Wrong| match line {
        0 => ParticleError::File(what),
        line => ParticleError::Line { line, what },
    };
    let table = Table::open_separated(text, expected, stated, &is_header).map_err(of_line)?;
    let (mut columns, places) = places(&table, known, ignored).map_err(|what| of_line((table.line, what)))?;
    let wanted = table.names.len();
    for (line, text) in table.rows() {
        let wrong = |what: String| ParticleError::Line { line, what };
        let count = table.each(text, |k, field| {
            let Some(place) = places.get(k).copied().flatten() else { return Ok(()) };
            let (name, column) = &mut columns[place];
            column.push(finite(field, name).map_err(wrong)?);
            Ok(())
        })?;
        if count != wanted {
            return Err(wrong(format!("{wanted} values are needed, here are {count}")));
        }
    }
    if columns.is_empty() {
        let what = format!("no column is known; the header must be such as `{expected}`{}", table.hint());
        return Err(ParticleError::Line { line: table.line, what });
    }
    Ok(columns)
}

/// The wanted columns, and for each column of the table its place among them.
fn places(
    table: &Table,
    known: &dyn Fn(&str) -> Option<String>,
    ignored: &mut Vec<String>,
) -> Result<(Columns, Vec<Option<usize>>), String> {
    let mut places: Vec<Option<usize>> = vec![None; table.names.len()];
    let chosen = chosen(&table.names, known, ignored)?;
    let column = |(place, (k, name)): (usize, (usize, String))| {
        places[k] = Some(place);
        (name, Vec::new())
    };
    let columns = chosen.into_iter().enumerate().map(column).collect();
    Ok((columns, places))
}

/// The columns among `names` that `known` gives a name, with that name; it is asked with names in small letters. A column that is called
/// so itself comes before those that may be meant. The others are noted.
pub(super) fn chosen(
    names: &[String],
    known: &dyn Fn(&str) -> Option<String>,
    ignored: &mut Vec<String>,
) -> Result<Vec<(usize, String)>, String> {
    // For each name the place of the column that has it, and whether it is called so itself.
    let mut taken: HashMap<String, (usize, bool)> = HashMap::new();
    let mut doubted: Vec<(String, usize, usize)> = Vec::new();
    for (k, written) in names.iter().enumerate() {
        let small = written.to_lowercase();
        let Some(name) = known(&small) else { continue };
        let is_own = small == name;
        match taken.get(&name) {
            Some((_, true)) if is_own => return Err(format!("column `{name}` stands there twice")),
            Some((_, true)) => {}
            Some((other, false)) if !is_own => doubted.push((name, *other, k)),
            _ => drop(taken.insert(name, (k, is_own))),
        }
    }
    if let Some((name, a, b)) = doubted.iter().find(|(name, ..)| !taken[name].1) {
        let [a, b] = [a, b].map(|k| shown(&names[*k]));
        return Err(format!("both `{a}` and `{b}` may be meant as `{name}`; call one of them so"));
    }
    let mut chosen: Vec<(usize, String)> = taken.into_iter().map(|(name, (k, _))| (k, name)).collect();
    chosen.sort_unstable();
    let mut is_chosen = vec![false; names.len()];
    chosen.iter().for_each(|(k, _)| is_chosen[*k] = true);
    ignored.extend(names.iter().zip(is_chosen).filter(|(_, is)| !is).map(|(name, _)| name.clone()));
    Ok(chosen)
}

/// The columns that `known` gives a name, of a file that has the names and numbers of all, and whose format is not this library's
/// matter; the others are noted.
pub fn named(
    columns: Columns,
    known: &dyn Fn(&str) -> Option<String>,
    ignored: &mut Vec<String>,
) -> Result<Columns, ParticleError> {
    let names: Vec<String> = columns.iter().map(|c| c.0.clone()).collect();
    let chosen = chosen(&names, known, ignored).map_err(ParticleError::File)?;
    let mut columns: Vec<Vec<f64>> = columns.into_iter().map(|c| c.1).collect();
    let mut taken = Columns::new();
    for (k, name) in chosen {
        let column = std::mem::take(&mut columns[k]);
        if let Some((first, other)) = taken.first().filter(|(_, other)| other.len() != column.len()) {
            let (n, m) = (other.len(), column.len());
            return Err(ParticleError::File(format!("`{first}` has {n} numbers, and `{name}` has {m}")));
        }
        if let Some(row) = column.iter().position(|x| !x.is_finite()) {
            return Err(ParticleError::Row { row, what: format!("{name} = {} is not a finite number", column[row]) });
        }
        taken.push((name, column));
    }
    Ok(taken)
}

/// A finite number, or what is wrong with it.
fn finite(text: &str, column: &str) -> Result<f64, String> {
    match number(text) {
        Some(x) if x.is_finite() => Ok(x),
        Some(_) => Err(format!("{column} = `{}` is not a finite number", shown(text))),
        None => {
            let is_decimal = text.contains(',') && number(&text.replacen(',', ".", 1)).is_some();
            let hint = if is_decimal { "; write a point, not a comma, before the fraction" } else { "" };
            Err(format!("{column} = `{}` is not a number{hint}", shown(text)))
        }
    }
}
