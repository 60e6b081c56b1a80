//! Verilog of a folder that somebody else may have written: only what designs of this program have is simulated.
//!
//! A simulation is compiled and runs as a program. Verilog can hold C++ (`$c`, `` `systemc_header``, DPI), start programs, and read
//! and write any file, and Verilator takes orders from comments. Designs of this program have none of all this, so that it is simply
//! refused.

/// System functions that compute and do nothing else.
const FUNCTIONS: [&str; 4] = ["$signed", "$unsigned", "$clog2", "$bits"];
/// Directives that choose text of the file itself, or say how it is to be read.
const DIRECTIVES: [&str; 6] = ["`ifdef", "`ifndef", "`else", "`endif", "`default_nettype", "`timescale"];
/// Words that bring in what is elsewhere.
const WORDS: [&str; 4] = ["import", "export", "bind", "config"];
/// Orders that comments may give Verilator: to be silent.
const ORDERS: [&str; 2] = ["lint_off", "lint_on"];

/// The line of a text, from 1, and the word there that could do more than be simulated.
pub fn foreign_word(text: &str) -> Option<(usize, String)> {
    foreign(text).map(|(at, word)| (1 + text[..at].matches('\n').count(), word))
}

/// The first place with such a thing, and what it is.
fn foreign(text: &str) -> Option<(usize, String)> {
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let token = token(rest, first);
        let is_foreign = match first {
            '/' if rest.starts_with("//") || rest.starts_with("/*") => !is_harmless(token),
            '$' => !FUNCTIONS.contains(&token),
            '`' => !DIRECTIVES.contains(&token),
            // Any word may stand behind it.
            '\\' => true,
            _ => WORDS.contains(&token),
        };
        if is_foreign {
            let shown: String = token.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
            return Some((at, shown));
        }
        at += token.len();
    }
    None
}

/// The comment, string, word or character that a text begins with.
fn token(rest: &str, first: char) -> &str {
    let until = |end: Option<usize>| &rest[..end.unwrap_or(rest.len())];
    let is_in_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    match first {
        '/' if rest.starts_with("//") => until(rest.find('\n')),
        '/' if rest.starts_with("/*") => until(rest[2..].find("*/").map(|end| end + 4)),
        '"' => {
            let mut escaped = false;
            let ends = |c: char| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            };
            until(rest[1..].find(ends).map(|end| end + 2))
        }
        '$' | '`' | '\\' => until(rest[1..].find(|c: char| !is_in_word(c)).map(|end| end + 1)),
        c if is_in_word(c) => until(rest.find(|c: char| !is_in_word(c))),
        c => &rest[..c.len_utf8()],
    }
}

/// Whether a comment gives Verilator no order, or one that changes nothing. Orders stand first in a comment.
fn is_harmless(comment: &str) -> bool {
    let inside = comment.trim_start_matches(['/', '*']).trim_start();
    let Some(order) = inside.strip_prefix("verilator") else { return true };
    let order = order.trim_start_matches(['_', ' ', '\t']);
    ORDERS.iter().any(|known| order.strip_prefix(known).is_some_and(|rest| rest.starts_with(' ')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_reads_or_writes_is_found_wherever_it_stands() {
        let bad = [
            ("module m; initial $c(\"system(\\\"id\\\");\"); endmodule", "$c"),
            ("assign a = $c32(\"f()\");", "$c32"),
            ("initial $system(\"id\");", "$system"),
            ("initial $readmemh(\"/etc/passwd\", m);", "$readmemh"),
            ("initial $writememb (\"out\", m);", "$writememb"),
            ("integer f = $fopen(\"out\");", "$fopen"),
            ("`include \"/etc/passwd\"", "`include"),
            ("`systemc_header\nint x = f();\n`verilog", "`systemc_header"),
            ("`define X $", "`define"),
            ("`verilator_config", "`verilator_config"),
            ("import \"DPI-C\" function int f();", "import"),
            ("export \"DPI-C\" function f;", "export"),
            ("bind m n o();", "bind"),
            ("wire \\$c ;", "\\$c"),
            ("/* a */ /*verilator public*/ wire a;", "/*verilator public*/"),
            ("wire a; // verilator tracing_off", "// verilator tracing_off"),
            ("\"a string\" $c", "$c"),
            ("\"a \\\" string\" $c", "$c"),
            ("/* not closed", ""),
        ];
        for (text, word) in bad.iter().take(18) {
            assert_eq!(foreign(text).map(|f| f.1).as_deref(), Some(*word), "{text}");
        }
        assert_eq!(foreign(bad[18].0), None);
        let good = [
            "/* verilator lint_off DECLFILENAME */ module a$c (input clk); endmodule",
            "// `include and $system are words here\nwire a; /* $c */",
            "(* ram_style = \"block $c `include\" *) reg [1:0] m; assign y = $signed(a) * $unsigned(b);",
            "`ifdef FORMAL\n`endif\nassign important = exported + binding;",
            "é ü",
        ];
        for text in good {
            assert_eq!(foreign(text), None, "{text}");
        }
        assert_eq!(foreign_word("module m;\n\n initial $c(\"\");"), Some((3, "$c".to_string())));
    }
}
