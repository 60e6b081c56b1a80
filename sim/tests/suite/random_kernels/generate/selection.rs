//! Selections at random.

use super::{Generator, UINT1};
use crate::random_kernels::part::Part;
use hdl::Format;

impl Generator<'_> {
    /// Outputs that keep keys with their payloads, of one pair or of several in order.
    pub(super) fn selection(&mut self, f: Format, name: &str) -> Part {
        let (h, with) = (self.format(), self.fresh("with"));
        let reduce = ["max=", "min="][self.below(2)];
        let (key, payload) = (self.scalar(f, 3), self.scalar(h, 2));
        match self.below(4) {
            0 => {
                let text = format!("{f} {name} fout; {h} {with} fout; ({name}, {with}) {reduce} (@, @);");
                Part::statement(&text, vec![key, payload])
            }
            1 => {
                let c = self.scalar(UINT1, 2);
                let text =
                    format!("{h} {with}[3] fout; {f} {name}[3] fout; if (@) {{ ({name}, {with}) {reduce} (@, @); }}");
                Part::statement(&text, vec![c, key, payload])
            }
            2 => {
                let (v, _) = self.any_vector();
                let e = self.inside(&[(format!("{v}[k]"), f)], |g| g.scalar(f, 2));
                let text = format!(
                    "{f} {name}[3][2] fout; {h} {with}[3] fout; for k in 0..3 {{ ({name}[k]) {reduce} (@); }} {with} min= @;"
                );
                let vector = self.vector(h, 1).unwrap_or_else(|| Part::new(h, &v, Vec::new()));
                Part::statement(&text, vec![e, vector])
            }
            _ => {
                let vector = self.vector(h, 1).unwrap_or_else(|| payload.clone());
                let text = format!(
                    "{f} {name}[2] fout; {h} {with}[2][3] fout; {f} more_{name}[2] fout; ({name}, {with}, more_{name}) {reduce} (@, @, @);"
                );
                let more = self.scalar(f, 1);
                Part::statement(&text, vec![key, vector, more])
            }
        }
    }
}
