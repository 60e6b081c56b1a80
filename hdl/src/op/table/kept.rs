//! Tables of the functions that every process needs anew, kept from one process to the next as they are.
//!
//! Unlike those of `pg_fn` ([`super::func`]), whose records say only where to look, these are few: one for each format that a function
//! is used with, and to make the rows of the large ones takes as long as the whole search. A record is used where its key has all that
//! the table depends on, this program's own text among it, and its digest is right.

use super::func::{digest, store};
use super::poly::{Cell, RowRange, Span, Table};
use crate::hash::{fnv, fnv_after};
use std::sync::OnceLock;

/// The table of that name, which tells it from all others: from the store, or made and put there.
pub fn kept(name: &str, make: impl FnOnce() -> Table) -> Table {
    let Some(store) = store() else { return make() };
    let key = format!("rows of {name} by {:016x}", sources());
    if let Some(table) = store.load(&key).and_then(|record| read(&record, &key)) {
        return table;
    }
    let table = make();
    store.save(&key, &record(&table, &key));
    table
}

/// A digest of the sources that make tables, so that no record outlives a change of them.
fn sources() -> u64 {
    static DIGEST: OnceLock<u64> = OnceLock::new();
    const TEXTS: &[&str] = &[
        include_str!("kept.rs"),
        include_str!("../table.rs"),
        include_str!("angle.rs"),
        include_str!("exp.rs"),
        include_str!("ln.rs"),
        include_str!("octaves.rs"),
        include_str!("octaves/lines.rs"),
        include_str!("sin_cos.rs"),
        include_str!("sin_cos/reduce.rs"),
        include_str!("pow/fit.rs"),
        include_str!("pow/search.rs"),
        include_str!("pow/wide.rs"),
        include_str!("poly/probe.rs"),
    ];
    *DIGEST.get_or_init(|| TEXTS.iter().fold(digest(), |before, text| fnv_after(before, text)))
}

/// The table's numbers in their order, and a digest of them and the key.
fn record(table: &Table, key: &str) -> String {
    let numbers: Vec<String> = numbers(table).iter().map(i64::to_string).collect();
    let text = numbers.join(" ");
    format!("{text} {:016x}", fnv_after(fnv(key), &text))
}

/// `None` for what [`record`] has not written for this key.
fn read(record: &str, key: &str) -> Option<Table> {
    let (text, sum) = record.rsplit_once(' ')?;
    if sum != format!("{:016x}", fnv_after(fnv(key), text)) {
        return None;
    }
    let numbers: Vec<i64> = text.split(' ').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    let mut numbers = Numbers(numbers.into_iter());
    let table = numbers.table()?;
    numbers.0.next().is_none().then_some(table)
}

fn numbers(t: &Table) -> Vec<i64> {
    let mut all = vec![
        t.bits as i64,
        t.lines as i64,
        t.top as i64,
        t.flat.map_or(-1, i64::from),
        t.drop as i64,
        t.degree as i64,
        t.flip as i64,
        t.leading,
        t.bound.to_bits() as i64,
        t.cells.len() as i64,
        t.rows.len() as i64,
    ];
    all.extend(t.cells.iter().flat_map(|c| [c.base as i64, c.split as i64]));
    all.extend(t.columns.iter().flatten());
    all.extend(t.shift.iter().map(|s| *s as i64));
    all.extend(t.subtract.iter().map(|s| *s as i64));
    all.extend(t.quantum.iter().map(|q| *q as i64));
    all.extend(t.steps.iter().flat_map(|s| [s.low as i64, s.high as i64]));
    for row in &t.rows {
        let h = row.h.unwrap_or(Span::of(0));
        all.extend([row.h.is_some() as i64, h.low as i64, h.high as i64, row.least]);
    }
    all
}

/// The numbers of a record that are left.
struct Numbers(std::vec::IntoIter<i64>);

impl Numbers {
    fn next<N: TryFrom<i64>>(&mut self) -> Option<N> {
        self.0.next()?.try_into().ok()
    }

    fn many<T>(&mut self, count: usize, mut one: impl FnMut(&mut Numbers) -> Option<T>) -> Option<Vec<T>> {
        (0..count).map(|_| one(self)).collect()
    }

    fn span(&mut self) -> Option<Span> {
        Some(Span { low: self.next()?, high: self.next()? })
    }

    fn row(&mut self) -> Option<RowRange> {
        let is_used = self.0.next()? != 0;
        let h = self.span()?;
        Some(RowRange { h: is_used.then_some(h), least: self.next()? })
    }

    fn table(&mut self) -> Option<Table> {
        let (bits, lines, top) = (self.next()?, self.next()?, self.next()?);
        let flat = self.next::<i64>()?.try_into().ok();
        let (drop, degree) = (self.next()?, self.next::<usize>()?);
        let (flip, leading) = (self.0.next()? != 0, self.next()?);
        let bound = f64::from_bits(self.0.next()? as u64);
        let (cells, rows) = (self.next()?, self.next()?);
        Some(Table {
            bits,
            lines,
            top,
            flat,
            drop,
            degree,
            flip,
            leading,
            bound,
            cells: self.many(cells, |n| Some(Cell { base: n.next()?, split: n.next()? }))?,
            columns: self.many(degree + 1, |n| n.many(rows, Numbers::next))?,
            shift: self.many(degree, Numbers::next)?,
            subtract: self.many(degree, |n| Some(n.0.next()? != 0))?,
            quantum: self.many(rows, Numbers::next)?,
            steps: self.many(degree + 1, Numbers::span)?,
            rows: self.many(rows, Numbers::row)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::table::{angle, exp, ln, octaves, pow, sin_cos};

    #[test]
    fn records_read_back_and_others_are_refused() {
        let format = "float18.9".parse().unwrap();
        let tables = [
            &angle::prepared(format).table,
            &exp::prepared(format, true).table,
            &ln::prepared("fixed16.8".parse().unwrap(), false).table,
            &octaves::prepared(format, crate::number::real::Call::Acos).table,
            &sin_cos::prepared(format, true).table,
            &pow::prepared(format, -1, 2).table,
        ];
        for table in tables {
            let record = record(table, "key");
            assert_eq!(read(&record, "key").as_ref(), Some(table));
            assert_eq!(read(&record, "other"), None);
            let step = record.len() / 50 + 1;
            for k in (0..record.len()).step_by(step).chain(record.len() - 20..record.len()) {
                let mut bytes = record.clone().into_bytes();
                bytes[k] ^= 1;
                assert_eq!(read(&String::from_utf8(bytes).unwrap(), "key"), None, "{k}");
                assert_eq!(read(&record[..k], "key"), None, "{k}");
            }
        }
    }
}
