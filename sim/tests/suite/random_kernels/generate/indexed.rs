//! Tables and outputs that are indexed by what is known only at run time.

use super::{Generator, Part, UINT1};
use hdl::Format;

impl Generator<'_> {
    /// A vector that is reduced at an index, or a matrix in one of two ways.
    pub(super) fn indexed_output(&mut self, f: Format, name: &str, reduce: &str) -> Part {
        if f.is_integral() && self.once_in(2) {
            return self.sums_in_memory(f, name);
        }
        if self.once_in(3) {
            let (c, index, e) = (self.scalar(UINT1, 2), self.scalar(f, 1), self.scalar(f, 2));
            let (then, otherwise) = (format!("{name}[1][(uint2)(@)]"), format!("{name}[(uint2)(@)][0]"));
            let text =
                format!("{f} {name}[2][3] fout; if (@) {{ {then} {reduce} @; }} else {{ {otherwise} {reduce} @; }}");
            return Part::statement(&text, vec![c, index.clone(), e.clone(), index, e]);
        }
        let (index, e) = (self.scalar(f, 2), self.scalar(f, 3));
        Part::statement(&format!("{f} {name}[5] fout; {name}[(int4)(@)] {reduce} @;"), vec![index, e])
    }

    /// An output of so many elements that a lane has their sums in memory.
    fn sums_in_memory(&mut self, f: Format, name: &str) -> Part {
        let reduce = if f.is_signed() && self.once_in(3) { "-=" } else { "+=" };
        let (index, e) = (self.scalar(f, 2), self.scalar(f, 2));
        if self.once_in(3) {
            let (c, column) = (self.scalar(UINT1, 2), self.scalar(f, 1));
            let text = format!("{f} {name}[4][5] fout; if (@) {{ {name}[(uint2)(@)][(int4)(@)] {reduce} @; }}");
            return Part::statement(&text, vec![c, index, column, e]);
        }
        Part::statement(&format!("{f} {name}[20] fout; {name}[(int6)(@)] {reduce} @;"), vec![index, e])
    }

    /// A table of constants, and a value that is read from it.
    pub(super) fn entry_of_constants(&mut self, f: Format) -> Part {
        let (name, table) = (self.fresh("t"), self.fresh("T"));
        let numbers: Vec<String> = (0..3).map(|_| self.number(f)).collect();
        let e = self.scalar(f, 2);
        self.known.names.push((name.clone(), f));
        let text = format!("table {f} {table}[3] = {{{}}}; {name} = {table}[(int4)(@)];", numbers.join(", "));
        Part::statement(&text, vec![e])
    }

    /// A value that is read from parameters, with or without one that is read at a constant index.
    pub(super) fn entry_of_parameters(&mut self) -> Part {
        let k = self.below(self.known.tables.len());
        let (table, f) = self.known.tables[k].clone();
        let (name, e) = (self.fresh("t"), self.scalar(f, 2));
        self.known.names.push((name.clone(), f));
        let second = if self.once_in(2) { format!(" + {table}[2]") } else { String::new() };
        Part::statement(&format!("{name} = {table}[(int4)(@)]{second};"), vec![e])
    }
}
