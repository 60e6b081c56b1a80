//! Statistics as a page takes them: numbers by their keys, each shown with its unit.

use crate::chart::Unit;
use crate::chart::axis::label;
use serde::Serialize;
use serde_json::Value;

/// The statistics that `--json` writes.
pub struct Data(Value);

/// The kind of a number: how it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// All digits, in groups of three.
    Count,
    Seconds,
    Bytes,
    /// A part of 1, in percent.
    Part,
    /// Two digits and a power of ten.
    Error,
    /// A few digits and nothing else.
    Plain,
    /// The same with a unit.
    Of(&'static str),
}

/// A cell of a table, or the value of a fact.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cell {
    /// As a reader sees it.
    pub shown: String,
    /// Of a number its key, as a JSON pointer, and its value as JSON has it.
    pub key: String,
    pub value: String,
    pub is_number: bool,
}

/// Shown where there is no value.
const ABSENT: &str = "–";

impl Data {
    pub fn new(statistics: &impl Serialize) -> Data {
        Data(serde_json::to_value(statistics).expect("statistics are plain numbers, names and lists"))
    }

    /// The value at a key such as `seconds/p2p` or `points/3/cost`.
    pub fn at(&self, key: &str) -> Option<&Value> {
        self.0.pointer(&format!("/{key}")).filter(|value| !value.is_null())
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        self.at(key)?.as_f64()
    }

    /// A text; empty where there is none.
    pub fn text(&self, key: &str) -> &str {
        self.at(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The length of a list; 0 where there is none.
    pub fn len(&self, key: &str) -> usize {
        self.at(key).and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// A number with its unit, or a dash where there is none.
    pub fn cell(&self, key: &str, quantity: Quantity) -> Cell {
        match self.at(key).and_then(|value| Some((value, value.as_f64()?))) {
            Some((value, x)) => {
                Cell { shown: quantity.shown(x), key: format!("/{key}"), value: value.to_string(), is_number: true }
            }
            None => Cell { shown: ABSENT.into(), is_number: true, ..Cell::default() },
        }
    }

    /// A list of words, or `none`.
    pub fn words(&self, key: &str) -> Cell {
        let words: Vec<&str> =
            self.at(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        Cell::text(if words.is_empty() { "none".to_string() } else { words.join(", ") })
    }
}

impl Cell {
    pub fn text(words: impl Into<String>) -> Cell {
        Cell { shown: words.into(), ..Cell::default() }
    }

    /// Whether it shows a number of the statistics.
    pub fn has_key(&self) -> bool {
        !self.key.is_empty()
    }
}

impl Quantity {
    /// A number as a reader sees it.
    pub fn shown(self, x: f64) -> String {
        match self {
            Quantity::Count => grouped(x),
            Quantity::Seconds => label(x, Unit::Seconds),
            Quantity::Bytes => bytes(x),
            Quantity::Part => label(100.0 * x, Unit::Percent),
            Quantity::Error if x == 0.0 => "0".into(),
            Quantity::Error => format!("{x:.2e}"),
            Quantity::Plain => plain(x),
            Quantity::Of(unit) => format!("{}\u{a0}{unit}", plain(x)),
        }
        .replace(' ', "\u{a0}")
    }
}

/// Digits in groups of three.
fn grouped(x: f64) -> String {
    let digits = format!("{:.0}", x.abs());
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap_or("")).collect();
    format!("{}{}", if x < 0.0 { "-" } else { "" }, parts.join(","))
}

fn bytes(x: f64) -> String {
    let (scale, unit) = match x {
        x if x >= 1e9 => (1e9, "GB"),
        x if x >= 1e6 => (1e6, "MB"),
        x if x >= 1e3 => (1e3, "kB"),
        _ => (1.0, "B"),
    };
    format!("{} {unit}", plain(x / scale))
}

/// Four digits; of very small and very large numbers with a power of ten.
fn plain(x: f64) -> String {
    match x.abs() {
        a if a == 0.0 || (1e-3..1e7).contains(&a) => match format!("{x:.3e}").parse::<f64>() {
            // All digits before the point.
            Ok(rounded) if a < 1e4 => format!("{rounded}"),
            _ => grouped(x),
        },
        _ => format!("{x:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_keys_and_their_digits() {
        let data = Data::new(
            &serde_json::json!({ "seconds": { "p2p": 0.0123456 }, "n": 1234567, "none": null, "a": ["x", "y"] }),
        );
        let p2p = data.cell("seconds/p2p", Quantity::Seconds);
        assert_eq!((&p2p.shown[..], &p2p.key[..], &p2p.value[..]), ("12.35\u{a0}ms", "/seconds/p2p", "0.0123456"));
        assert_eq!(data.cell("n", Quantity::Count).shown, "1,234,567");
        assert_eq!(data.cell("none", Quantity::Count).shown, ABSENT);
        assert!(!data.cell("none", Quantity::Count).has_key());
        assert_eq!((data.words("a").shown, data.words("b").shown), ("x, y".into(), "none".into()));
    }

    #[test]
    fn quantities_have_units() {
        let shown = [
            (Quantity::Bytes, 2.5e6, "2.5\u{a0}MB"),
            (Quantity::Part, 0.034, "3.4\u{a0}%"),
            (Quantity::Error, 3.96e-7, "3.96e-7"),
            (Quantity::Plain, 0.5, "0.5"),
            (Quantity::Of("MHz"), 150.0, "150\u{a0}MHz"),
            (Quantity::Plain, 123456.0, "123,456"),
            (Quantity::Count, -1000.0, "-1,000"),
        ];
        for (quantity, x, text) in shown {
            assert_eq!(quantity.shown(x), text);
        }
    }
}
