//! Outputs with their reductions.

use super::{Generator, Part, UINT1};
use hdl::Format;

impl Generator<'_> {
    pub(super) fn reduction(&mut self, f: Format) -> &'static str {
        if f.is_integral() { ["+=", "max=", "min="][self.below(3)] } else { ["max=", "min="][self.below(2)] }
    }

    /// An output with its reduction, of a scalar, vector or matrix.
    pub(super) fn output(&mut self) -> Part {
        let (f, name) = (self.format(), self.fresh("out"));
        let reduce = self.reduction(f);
        match self.below(17) {
            8..=10 => return self.indexed_output(f, &name, reduce),
            11 | 12 => return self.selection(f, &name),
            13 => {
                // Several reductions of one kind.
                let (c, a, b) = (self.scalar(UINT1, 2), self.scalar(f, 2), self.scalar(f, 2));
                let minus = if f.is_integral() && f.is_signed() { "-=" } else { reduce };
                let reduce = if minus == "-=" { "+=" } else { reduce };
                let text = format!("{f} {name} fout; {name} {minus} @; if (@) {{ {name} {reduce} @; }}");
                return Part::statement(&text, vec![a, c, b]);
            }
            14 => {
                let (v, _) = self.any_vector();
                let (e, c) = self.inside(&[(format!("{v}[k]"), f)], |g| (g.scalar(f, 2), g.scalar(UINT1, 1)));
                let text = format!("{f} {name} fout; for k in 0..3 {{ if (@) {{ {name} {reduce} @; }} }}");
                return Part::statement(&text, vec![c, e]);
            }
            0..=2 => {
                if let Some(v) = self.vector(f, 2) {
                    return Part::statement(&format!("{f} {name}[3] fout; {name} {reduce} @;"), vec![v]);
                }
            }
            3 => {
                if let Some(m) = self.matrix(f, 1) {
                    return Part::statement(&format!("{f} {name}[3][3] fout; {name} {reduce} @;"), vec![m]);
                }
            }
            4 => {
                let (v, _) = self.any_vector();
                let e = self.inside(&[(format!("{v}[k]"), f)], |g| g.scalar(f, 2));
                let text = format!("{f} {name}[3] fout; for k in 0..3 {{ {name}[k] {reduce} @; }}");
                return Part::statement(&text, vec![e]);
            }
            5 => {
                let (c, a, b) = (self.scalar(UINT1, 2), self.scalar(f, 3), self.scalar(f, 2));
                let text = format!("{f} {name} fout; if (@) {{ {name} {reduce} @; }} else {{ {name} {reduce} @; }}");
                return Part::statement(&text, vec![c, a, b]);
            }
            6 | 7 => {
                let (c, e) = (self.scalar(UINT1, 2), self.scalar(f, 3));
                return Part::statement(&format!("{f} {name} fout; if (@) {{ {name} {reduce} @; }}"), vec![c, e]);
            }
            _ => {}
        }
        let e = self.scalar(f, 3);
        Part::statement(&format!("{f} {name} fout; {name} {reduce} @;"), vec![e])
    }
}
