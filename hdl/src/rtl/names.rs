//! Names in Verilog: unique, no keyword, and nothing but what every tool takes.

use crate::hash::{FastMap, FastSet};

/// Words that Verilog-2005 and SystemVerilog-2017 reserve, sorted.
#[rustfmt::skip]
static KEYWORDS: &[&str] = &[
    "accept_on", "alias", "always", "always_comb", "always_ff", "always_latch", "and", "assert", "assign", "assume",
    "automatic", "before", "begin", "bind", "bins", "binsof", "bit", "break", "buf", "bufif0", "bufif1", "byte",
    "case", "casex", "casez", "cell", "chandle", "checker", "class", "clocking", "cmos", "config", "const",
    "constraint", "context", "continue", "cover", "covergroup", "coverpoint", "cross", "deassign", "default",
    "defparam", "design", "disable", "dist", "do", "edge", "else", "end", "endcase", "endchecker", "endclass",
    "endclocking", "endconfig", "endfunction", "endgenerate", "endgroup", "endinterface", "endmodule", "endpackage",
    "endprimitive", "endprogram", "endproperty", "endsequence", "endspecify", "endtable", "endtask", "enum", "event",
    "eventually", "expect", "export", "extends", "extern", "final", "first_match", "for", "force", "foreach",
    "forever", "fork", "forkjoin", "function", "generate", "genvar", "global", "highz0", "highz1", "if", "iff",
    "ifnone", "ignore_bins", "illegal_bins", "implements", "implies", "import", "incdir", "include", "initial",
    "inout", "input", "inside", "instance", "int", "integer", "interconnect", "interface", "intersect", "join",
    "join_any", "join_none", "large", "let", "liblist", "library", "local", "localparam", "logic", "longint",
    "macromodule", "matches", "medium", "modport", "module", "nand", "negedge", "nettype", "new", "nexttime", "nmos",
    "nor", "noshowcancelled", "not", "notif0", "notif1", "null", "or", "output", "package", "packed", "parameter",
    "pmos", "posedge", "primitive", "priority", "program", "property", "protected", "pull0", "pull1", "pulldown",
    "pullup", "pulsestyle_ondetect", "pulsestyle_onevent", "pure", "rand", "randc", "randcase", "randsequence",
    "rcmos", "real", "realtime", "ref", "reg", "reject_on", "release", "repeat", "restrict", "return", "rnmos",
    "rpmos", "rtran", "rtranif0", "rtranif1", "s_always", "s_eventually", "s_nexttime", "s_until", "s_until_with",
    "scalared", "sequence", "shortint", "shortreal", "showcancelled", "signed", "small", "soft", "solve", "specify",
    "specparam", "static", "string", "strong", "strong0", "strong1", "struct", "super", "supply0", "supply1",
    "sync_accept_on", "sync_reject_on", "table", "tagged", "task", "this", "throughout", "time", "timeprecision",
    "timeunit", "tran", "tranif0", "tranif1", "tri", "tri0", "tri1", "triand", "trior", "trireg", "type", "typedef",
    "union", "unique", "unique0", "unsigned", "until", "until_with", "untyped", "use", "uwire", "var", "vectored",
    "virtual", "void", "wait", "wait_order", "wand", "weak", "weak0", "weak1", "while", "wildcard", "wire", "with",
    "within", "wor", "xnor", "xor",
];

/// Whether `word` is reserved.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.binary_search(&word).is_ok()
}

/// Whether `word` is a plain identifier that is not reserved.
pub fn is_identifier(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !is_keyword(word)
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

/// Gives out the names of one scope. No two differ in capitals alone, since some tools do not tell these apart.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// In small letters.
    taken: FastSet<String>,
    /// The last number tried for a base name, so that many equal wishes stay cheap.
    next: FastMap<String, u32>,
}

impl Names {
    /// Marks a name that others must not get, such as a port's.
    pub fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_ascii_lowercase());
    }

    /// An unused identifier as near to `wish` as possible.
    pub fn unique(&mut self, wish: &str) -> String {
        self.unique_with(wish, "")
    }

    /// The same where the name followed by `end` is to be free too; both are taken.
    pub fn unique_with(&mut self, wish: &str, end: &str) -> String {
        let base = sanitise(wish);
        let small = base.to_ascii_lowercase();
        if !is_keyword(&small) && self.take(&small, end) {
            return base;
        }
        let mut k = *self.next.get(&small).unwrap_or(&1);
        loop {
            k += 1;
            if self.take(&format!("{small}_{k}"), end) {
                self.next.insert(small, k);
                return format!("{base}_{k}");
            }
        }
    }

    fn take(&mut self, name: &str, end: &str) -> bool {
        let beside = format!("{name}{end}");
        let free = !self.taken.contains(name) && !self.taken.contains(&beside);
        if free {
            self.taken.insert(name.to_string());
            self.taken.insert(beside);
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted_for_the_search() {
        assert!(KEYWORDS.is_sorted());
        assert!(is_keyword("reg") && is_keyword("accept_on") && is_keyword("xor") && !is_keyword("r2"));
    }

    #[test]
    fn names_are_unique_and_never_reserved_words() {
        let mut names = Names::default();
        names.reserve("q");
        let given: Vec<String> = ["q", "sum", "sum", "sum_2", "wire", "dx[1]", "7"].map(|w| names.unique(w)).to_vec();
        assert_eq!(given, ["q_2", "sum", "sum_2", "sum_2_2", "wire_2", "dx_1", "x7"]);
        assert!(given.iter().all(|n| is_identifier(n)));
    }

    #[test]
    fn names_differ_in_more_than_capitals_and_keep_their_ends_free() {
        let mut names = Names::default();
        names.reserve("Table_rom");
        let given: Vec<String> = ["R2", "r2", "WIRE"].map(|w| names.unique(w)).to_vec();
        assert_eq!(given, ["R2", "r2_2", "WIRE_2"]);
        assert_eq!(names.unique_with("table", "_rom"), "table_2");
        assert_eq!(names.unique("table_2_rom"), "table_2_rom_2");
    }
}
