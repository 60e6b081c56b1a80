//! The extension for editors: its files are whole, and its grammar knows what the compiler knows.

use fancy_regex::Regex;
use pg2::syntax::lex::{FORMATS, TokenKind, lex};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/vscode")
}

fn json(name: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A rule of the grammar: what it matches, up to where if that is another pattern, and the scopes of it and its groups.
struct Rule {
    start: Regex,
    end: Option<Regex>,
    scope: String,
    groups: Vec<(usize, String)>,
}

/// The grammar with its references resolved, in the order of precedence.
fn rules() -> Vec<Rule> {
    let grammar = json("syntaxes/pg2.tmLanguage.json");
    assert_eq!(grammar["scopeName"], "source.pg2");
    let mut rules = Vec::new();
    collect(&grammar, &grammar["patterns"], &mut rules);
    assert!(rules.len() > 20);
    rules
}

fn collect(grammar: &Value, patterns: &Value, rules: &mut Vec<Rule>) {
    let regex = |v: &Value| Regex::new(v.as_str().expect("a pattern")).unwrap_or_else(|e| panic!("{v}: {e}"));
    for pattern in patterns.as_array().expect("a list of patterns") {
        if let Some(name) = pattern["include"].as_str() {
            let rule = &grammar["repository"][name.trim_start_matches('#')];
            assert!(rule.is_object(), "the grammar has no `{name}`");
            collect(grammar, &Value::Array(vec![rule.clone()]), rules);
        } else if !pattern["patterns"].is_null() {
            collect(grammar, &pattern["patterns"], rules);
        } else {
            let groups = pattern["captures"].as_object().into_iter().flatten();
            let group = |(k, v): (&String, &Value)| (k.parse().expect("a number"), text(&v["name"]));
            let (start, end) = match pattern.get("match") {
                Some(start) => (regex(start), None),
                None => (regex(&pattern["begin"]), Some(regex(&pattern["end"]))),
            };
            rules.push(Rule { start, end, scope: text(&pattern["name"]), groups: groups.map(group).collect() });
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// The scope of each byte, as an editor would give it: at every place the earliest match, of several the first rule's.
fn scopes(rules: &[Rule], text: &str) -> Vec<String> {
    let mut scopes = vec![String::new(); text.len()];
    let mut at = 0;
    while at < text.len() {
        // Matches do not reach over the end of a line, except from `begin` to `end`.
        let line_end = text[at..].find('\n').map_or(text.len(), |k| at + k);
        let line_start = text[..at].rfind('\n').map_or(0, |k| k + 1);
        let line = &text[line_start..line_end];
        let matches = rules.iter().filter_map(|rule| {
            let found = rule.start.captures_from_pos(line, at - line_start).expect("no pattern runs away")?;
            Some((found.get(0)?.start(), rule, found))
        });
        let Some((from, rule, found)) = matches.min_by_key(|m| m.0) else {
            at = line_end + 1;
            continue;
        };
        let whole = found.get(0).expect("a match");
        let mut to = line_start + whole.end();
        if let Some(end) = &rule.end {
            to = end.find_from_pos(text, to).expect("no pattern runs away").map_or(text.len(), |m| m.end());
        }
        scopes[line_start + from..to].fill(rule.scope.clone());
        for (k, scope) in &rule.groups {
            if let Some(group) = found.get(*k) {
                scopes[line_start + group.start()..line_start + group.end()].fill(scope.clone());
            }
        }
        at = to.max(at + 1);
    }
    scopes
}

/// That all of `part` has a scope that begins so.
fn check(rules: &[Rule], text: &str, part: &str, scope: &str) {
    let at = text.find(part).unwrap_or_else(|| panic!("no `{part}` in `{text}`"));
    for (k, got) in scopes(rules, text)[at..at + part.len()].iter().enumerate() {
        assert!(got.starts_with(scope), "byte {k} of `{part}` in `{text}` is `{got}`, not `{scope}`");
    }
}

#[test]
fn the_grammar_knows_the_words_of_the_language() {
    let rules = rules();
    for word in pg2::syntax::parse::RESERVED {
        let scope = if pg2::syntax::names::CLASSES.contains(word) { "storage.modifier" } else { "keyword." };
        check(&rules, &format!("{word} x"), word, scope);
        check(&rules, &format!("a_{word} = {word}b;"), &format!("{word}b"), "variable");
    }
    for class in FORMATS {
        let numbers = if class.ends_with("int") { "32" } else { "18.9" };
        let format = format!("{class}{numbers}");
        for text in [format!("{format} x ipin;"), format!("y = ({format})x;")] {
            assert_eq!(lex(&text).tokens.iter().filter(|t| t.kind == TokenKind::Format).count(), 1, "{text}");
            check(&rules, &text, &format, "storage.type.format");
        }
        check(&rules, &format!("{format} name jpin;"), "name", "variable.other.declaration");
    }
    for function in pg2::syntax::functions::FUNCTIONS {
        check(&rules, &format!("y = {}(x);", function.name), function.name, "support.function");
    }
    for (_, symbol, _) in pg2::syntax::ast::BINARY {
        check(&rules, &format!("y = a {symbol} b;"), symbol, "keyword.operator");
    }
    for (text, part, scope) in [
        ("o max= x;", "max=", "keyword.operator.assignment"),
        ("o -= x;", "-=", "keyword.operator.assignment"),
        ("type real = float25.16;", "type", "keyword.declaration"),
        ("type real = float25.16;", "real", "storage.type.format"),
        ("k = x[7:0];", ":", "keyword.operator"),
        ("round truncate;", "truncate", "constant.language"),
        ("fn f(x) = x;", "f", "keyword"),
        ("fn sq(x) = x;", "sq", "entity.name.function"),
        ("for k in 0..3 { }", "..", "keyword.operator.range"),
        ("for k in 0..3 { }", "0", "constant.numeric"),
        ("x = 1.5e-3;", "1.5e-3", "constant.numeric"),
        ("x = 0xFF_00;", "0xFF_00", "constant.numeric.hex"),
        ("include \"a b.pg2\";", "\"a b.pg2\"", "string"),
        ("x /* int8\n é */ = 1;", "/* int8\n é */", "comment"),
        ("x = 1; // int8 é", "// int8 é", "comment"),
    ] {
        check(&rules, text, part, scope);
    }
}

#[test]
fn the_grammar_agrees_with_the_lexer_on_shipped_kernels() {
    let rules = rules();
    for kernel in pg2::kernels::KERNELS {
        let (tokens, scopes) = (lex(kernel.text), scopes(&rules, kernel.text));
        for token in tokens.tokens {
            let word = token.span.of(kernel.text);
            for got in &scopes[token.span.start..token.span.end] {
                let right = match token.kind {
                    TokenKind::Format => got.starts_with("storage.type.format"),
                    TokenKind::Number => got.starts_with("constant.numeric"),
                    TokenKind::Text => got.starts_with("string"),
                    TokenKind::Word | TokenKind::Symbol(_) => !got.starts_with("comment"),
                    TokenKind::End => true,
                };
                assert!(right, "`{word}` of {} has the scope `{got}`", kernel.name);
            }
        }
        for comment in tokens.comments {
            assert!(scopes[comment.start..comment.end].iter().all(|s| s.starts_with("comment")), "{}", kernel.name);
        }
    }
}

#[test]
fn the_extension_is_whole() {
    let package = json("package.json");
    let contributes = &package["contributes"];
    let files = [
        &contributes["languages"][0]["configuration"],
        &contributes["grammars"][0]["path"],
        &contributes["grammars"][1]["path"],
        &package["main"],
    ];
    for file in files {
        let file = file.as_str().expect("a path");
        assert!(folder().join(file).is_file(), "{file} is named in package.json and does not exist");
    }
    json("language-configuration.json");
    json("syntaxes/markdown.tmLanguage.json");
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
    let script = std::fs::read_to_string(folder().join("extension.js")).expect("it is there");
    let settings = contributes["configuration"]["properties"].as_object().expect("settings");
    for name in settings.keys() {
        let short = name.strip_prefix("pg2.").expect("a setting of this extension");
        assert!(script.contains(&format!("\"{short}\"")), "nothing reads the setting {name}");
    }
    for command in contributes["commands"].as_array().expect("commands") {
        assert!(script.contains(command["command"].as_str().expect("a name")), "nothing runs {command}");
    }
}
