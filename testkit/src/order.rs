//! Whether a module's text declares each name before it uses it, as Verilog-2005 asks; Verilator and Icarus do not.

/// A word of Verilog with its line, or a sign alone.
struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// The names and signs of a text, without its comments and numbers.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut all = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split("//").next().unwrap_or("");
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '\'');
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let length = if word(first) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
            let (token, behind) = rest.split_at(length);
            if !token.trim().is_empty() {
                all.push(Token { text: token, line: number + 1 });
            }
            rest = behind;
        }
    }
    all
}

/// The first name of one module that is used before it is declared, with the line of its use.
pub fn used_before_declared(module: &str) -> Option<String> {
    let tokens = tokens(module);
    for (k, token) in tokens.iter().enumerate().filter(|(_, t)| matches!(t.text, "wire" | "reg" | "localparam")) {
        let mut at = k + 1;
        // Names up to the value or the end, without ranges.
        let mut depth = 0;
        while let Some(t) = tokens.get(at) {
            match t.text {
                "[" => depth += 1,
                "]" => depth -= 1,
                "=" | ";" | ")" | "input" | "output" if depth == 0 => break,
                name if depth == 0 && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                    let early = tokens[..k]
                        .iter()
                        .enumerate()
                        .find(|(n, u)| u.text == name && !(*n > 0 && tokens[n - 1].text == "."));
                    if let Some((_, used)) = early {
                        let (used, declared) = (used.line, token.line);
                        return Some(format!("{name} is used in line {used} and declared in line {declared}"));
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::used_before_declared;

    #[test]
    fn a_name_that_is_used_too_early_is_found() {
        let module = |body: &str| format!("module m (input wire a, output wire [1:0] q);\n{body}endmodule\n");
        let good =
            "wire [3:0] x = {4{a}}; // y\nreg y, z [0:3];\nu v (.y(x), .w(a));\nwire w = y;\nassign q = {w, z[0]};\n";
        assert_eq!(used_before_declared(&module(good)), None);
        let bad = "wire x = a & y[2];\nreg z, y [0:3];\n";
        assert_eq!(used_before_declared(&module(bad)).unwrap(), "y is used in line 2 and declared in line 3");
    }
}
