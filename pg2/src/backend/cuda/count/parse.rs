//! Reads the statements of `pair` into values. It takes the part of C that the modes write.

use super::{Made, ValueType, Values};
use std::collections::HashMap;

/// Binary operators by how tightly they bind.
const BINARY: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Symbols, longer ones first.
const SYMBOLS: [&str; 36] = [
    "<<=", ">>=", "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=", "*=", "|=", "&=", "^=", "+", "-", "*",
    "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "?", ":", "(", ")", "[", "]", ";",
];

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Word(String),
    Number(String),
    Symbol(&'static str),
}

/// The values of the function `pair` of a text.
pub(super) fn read(text: &str) -> Result<Values, String> {
    let start = text.find("PF void pair(").ok_or("it has no function `pair`")?;
    let body = &text[start..];
    let open = body.find('{').ok_or("`pair` has no body")?;
    let close = body.find("\n}").ok_or("`pair` has no end")?;
    let tokens = tokens(body.get(open + 1..close).ok_or("`pair` has no body")?)?;
    let real = if text.contains("typedef float Real;") { ValueType::F32 } else { ValueType::F64 };
    let mut reader =
        Reader { tokens, at: 0, values: Values::default(), names: HashMap::new(), members: members(text), real };
    while reader.at < reader.tokens.len() {
        reader.statement()?;
    }
    let Reader { mut values, names, .. } = reader;
    // A place that is written to is one of the sums.
    let mut results: Vec<usize> = names.into_iter().filter(|(name, _)| is_place(name)).map(|(_, id)| id).collect();
    results.sort_unstable();
    values.results = results;
    Ok(values)
}

/// Whether a name is that of a sum, which stays after the pair.
fn is_place(name: &str) -> bool {
    name.starts_with("s.") || name.starts_with('*') || name.contains('[')
}

/// The types of the members of all records.
fn members(text: &str) -> HashMap<String, ValueType> {
    let mut members = HashMap::new();
    for line in text.lines() {
        if let Some(field) = line.strip_prefix("    ").and_then(|l| l.strip_suffix(';'))
            && let Some((kind, name)) = field.rsplit_once(' ')
            && let Some(kind) = kind_of(kind, ValueType::F64)
        {
            members.insert(name.to_string(), kind);
        }
    }
    members
}

fn kind_of(name: &str, real: ValueType) -> Option<ValueType> {
    let int = |bits, signed| Some(ValueType::Int { bits, signed });
    match name {
        "bool" => Some(ValueType::Truth),
        "uint32_t" | "unsigned" => int(32, false),
        "int32_t" | "int" => int(32, true),
        "uint64_t" => int(64, false),
        "int64_t" => int(64, true),
        "pf_u128" | "unsigned __int128" => int(128, false),
        "pf_i128" | "int128_t" | "__int128" => int(128, true),
        "float" => Some(ValueType::F32),
        "double" => Some(ValueType::F64),
        "Real" => Some(real),
        _ => None,
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut list = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first.is_ascii_digit() {
            let end = number_end(rest);
            list.push(Token::Number(rest[..end].to_string()));
            end
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.').unwrap_or(rest.len());
            list.push(Token::Word(rest[..end].to_string()));
            end
        } else if first == ',' {
            list.push(Token::Symbol(","));
            1
        } else {
            let symbol = SYMBOLS.iter().find(|s| rest.starts_with(**s));
            let symbol = symbol.ok_or_else(|| format!("`{first}` is no symbol of it"))?;
            list.push(Token::Symbol(symbol));
            symbol.len()
        };
        rest = rest[length..].trim_start();
    }
    Ok(list)
}

/// Where a number ends: a sign belongs to it behind an exponent's letter.
fn number_end(text: &str) -> usize {
    let is_hex = text.starts_with("0x");
    let mut before = ' ';
    for (k, c) in text.char_indices() {
        let is_exponent = if is_hex { matches!(before, 'p' | 'P') } else { matches!(before, 'e' | 'E') };
        if !(c.is_ascii_alphanumeric() || c == '.' || is_exponent && (c == '-' || c == '+')) {
            return k;
        }
        before = c;
    }
    text.len()
}

/// The type of a number as C has it.
fn number_kind(text: &str) -> ValueType {
    let lower = text.to_ascii_lowercase();
    let is_hex = lower.starts_with("0x");
    if lower.contains('.') || lower.contains('p') || !is_hex && lower.contains('e') {
        return if lower.ends_with('f') && !is_hex { ValueType::F32 } else { ValueType::F64 };
    }
    ValueType::Int { bits: if lower.ends_with("ll") { 64 } else { 32 }, signed: !lower.contains('u') }
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    values: Values,
    /// The values that names have so far, of constants and of sums.
    names: HashMap<String, usize>,
    members: HashMap<String, ValueType>,
    real: ValueType,
}

impl Reader {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Some(Token::Symbol(s)) if *s == symbol)
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += found as usize;
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        match self.take(symbol) {
            true => Ok(()),
            false => Err(format!("`{symbol}` is missing before {:?}", self.peek())),
        }
    }

    fn word(&mut self) -> Result<String, String> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            other => Err(format!("a name is missing before {other:?}")),
        }
    }

    fn statement(&mut self) -> Result<(), String> {
        // `(void)t;` says that an argument may be unused.
        if self.is("(") {
            while !self.take(";") {
                self.at += 1;
                if self.at >= self.tokens.len() {
                    return Err("a statement has no end".into());
                }
            }
            return Ok(());
        }
        let pointer = self.take("*");
        let first = self.word()?;
        match first.as_str() {
            "const" => {
                let kind = self.word()?;
                let kind = kind_of(&kind, self.real).ok_or_else(|| format!("`{kind}` is no type"))?;
                let name = self.word()?;
                self.expect("=")?;
                let value = self.expression()?;
                let value = self.cast(value, kind);
                self.names.insert(name, value);
                self.expect(";")
            }
            "if" => {
                self.expect("(")?;
                let condition = self.expression()?;
                self.expect(")")?;
                self.conditional(condition)?;
                match self.peek() {
                    Some(Token::Word(word)) if word == "else" => {
                        self.at += 1;
                        self.statement()
                    }
                    _ => Ok(()),
                }
            }
            "pf_add96" => self.long_sum(),
            name if name.starts_with("select") && self.is("(") => self.selection(name),
            _ => self.assignment(if pointer { format!("*{first}") } else { first }),
        }
    }

    /// A place in a sum, with its index.
    fn place(&mut self, name: String) -> Result<String, String> {
        if !self.take("[") {
            return Ok(name);
        }
        let Some(Token::Number(index)) = self.peek().cloned() else { return Err(format!("`{name}` has no index")) };
        self.at += 1;
        self.expect("]")?;
        Ok(format!("{name}[{index}]"))
    }

    fn assignment(&mut self, name: String) -> Result<(), String> {
        let name = self.place(name)?;
        let Some(Token::Symbol(symbol)) = self.peek().cloned() else { return Err(format!("`{name}` is not assigned")) };
        self.at += 1;
        let value = self.expression()?;
        let value = match symbol {
            "=" => value,
            "+=" => self.joined("+", &name, value),
            "|=" => self.joined("|", &name, value),
            other => return Err(format!("`{other}` assigns nothing")),
        };
        self.names.insert(name, value);
        self.expect(";")
    }

    /// The sum with a further operand joined by an operator.
    fn joined(&mut self, operator: &'static str, name: &str, value: usize) -> usize {
        let before = self.named(name);
        let kind = self.values.list[before].kind;
        let value = self.cast(value, kind);
        self.values.add(Made::Operator(operator), kind, vec![before, value])
    }

    /// The statement behind an `if`, which raises flags.
    fn conditional(&mut self, condition: usize) -> Result<(), String> {
        let name = self.word()?;
        self.expect("|=")?;
        let flag = self.expression()?;
        self.expect(";")?;
        let kind = self.values.list[flag].kind;
        let none = self.literal("0", kind);
        let raised = self.values.add(Made::Select, kind, vec![condition, flag, none]);
        let value = self.joined("|", &name, raised);
        self.names.insert(name, value);
        Ok(())
    }

    /// `pf_add96(&sum, &above, term, above)`: both places follow from all four.
    fn long_sum(&mut self) -> Result<(), String> {
        self.expect("(")?;
        let mut places = Vec::new();
        for _ in 0..2 {
            self.expect("&")?;
            places.push(self.word()?);
            self.expect(",")?;
        }
        let term = self.expression()?;
        self.expect(",")?;
        let above = self.expression()?;
        self.expect(")")?;
        self.expect(";")?;
        let args = vec![self.named(&places[0]), self.named(&places[1]), term, above];
        let sum = self.values.add(Made::Call("pf_add96".into()), ValueType::Int { bits: 64, signed: false }, args);
        places.into_iter().for_each(|place| _ = self.names.insert(place, sum));
        Ok(())
    }

    /// `select0(s, key, payload)`: of most pairs the key alone is compared, with the worst one that is kept.
    fn selection(&mut self, name: &str) -> Result<(), String> {
        self.expect("(")?;
        self.word()?;
        let mut tuple = Vec::new();
        while self.take(",") {
            tuple.push(self.expression()?);
        }
        self.expect(")")?;
        self.expect(";")?;
        let mut better = None;
        for (member, value) in tuple.into_iter().enumerate() {
            let (place, kind) = (format!("s.{name}_{member}"), self.values.list[value].kind);
            let kept = self.values.add(Made::Given(place.clone()), kind, Vec::new());
            let better = *better
                .get_or_insert_with(|| self.values.add(Made::Operator("<"), ValueType::Truth, vec![value, kept]));
            let chosen = self.values.add(Made::Select, kind, vec![better, value, kept]);
            self.names.insert(place, chosen);
        }
        Ok(())
    }

    /// The value of a name: what it was assigned, or what is given before the pair.
    fn named(&mut self, name: &str) -> usize {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let member = name.split_once('.').map_or(name, |(_, member)| member);
        let kind = match name {
            _ if name.starts_with("FLAG_") => return self.literal(name, ValueType::Int { bits: 32, signed: false }),
            "true" | "false" => return self.literal(name, ValueType::Truth),
            _ if member != name => {
                self.members.get(member).copied().unwrap_or(ValueType::Int { bits: 32, signed: false })
            }
            _ => self.real,
        };
        self.values.add(Made::Given(name.to_string()), kind, Vec::new())
    }

    fn literal(&mut self, text: &str, kind: ValueType) -> usize {
        self.values.add(Made::Literal(text.to_string()), kind, Vec::new())
    }

    /// A value in another type. A truth value stays one: it is 0 or 1 in every integer.
    fn cast(&mut self, id: usize, kind: ValueType) -> usize {
        let from = self.values.list[id].kind;
        match (from, kind) {
            (from, kind) if from == kind => id,
            (ValueType::Truth, ValueType::Int { .. }) => id,
            _ => self.values.add(Made::Cast, kind, vec![id]),
        }
    }

    fn expression(&mut self) -> Result<usize, String> {
        let condition = self.binary(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.expression()?;
        self.expect(":")?;
        let no = self.expression()?;
        let kind = self.values.list[yes].kind.with(self.values.list[no].kind);
        Ok(self.values.add(Made::Select, kind, vec![condition, yes, no]))
    }

    fn binary(&mut self, level: usize) -> Result<usize, String> {
        let Some(operators) = BINARY.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(Token::Symbol(symbol)) = self.peek()
            && let Some(operator) = operators.iter().find(|o| *o == symbol).copied()
        {
            self.at += 1;
            let right = self.binary(level + 1)?;
            let (a, b) = (self.values.list[left].kind, self.values.list[right].kind);
            let is_bitwise = matches!(operator, "&" | "|" | "^");
            let both = a.with(b);
            // Of a truth value and a constant, such as 1, it is a truth value again.
            let bit = |k: ValueType, id: usize| k == ValueType::Truth || self.values.is_literal(id);
            let kind = match operator {
                "||" | "&&" | "==" | "!=" | "<" | ">" | "<=" | ">=" => ValueType::Truth,
                "<<" | ">>" => a.with(ValueType::Int { bits: 32, signed: true }),
                _ if is_bitwise
                    && (a == ValueType::Truth || b == ValueType::Truth)
                    && bit(a, left)
                    && bit(b, right) =>
                {
                    ValueType::Truth
                }
                _ => both.with(ValueType::Int { bits: 32, signed: true }),
            };
            left = self.values.add(Made::Operator(operator), kind, vec![left, right]);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<usize, String> {
        for operator in ["-", "~", "!"] {
            if self.take(operator) {
                let value = self.unary()?;
                let kind = if operator == "!" { ValueType::Truth } else { self.values.list[value].kind };
                let literal = self.values.is_literal(value);
                return Ok(match literal {
                    true => self.literal(&format!("{operator}{value}"), kind),
                    false => self.values.add(Made::Operator(operator), kind, vec![value]),
                });
            }
        }
        if self.take("(") {
            if let Some(kind) = self.type_name() {
                self.expect(")")?;
                let value = self.unary()?;
                return Ok(self.cast(value, kind));
            }
            let value = self.expression()?;
            self.expect(")")?;
            return Ok(value);
        }
        match self.peek().cloned() {
            Some(Token::Number(text)) => {
                self.at += 1;
                Ok(self.literal(&text, number_kind(&text)))
            }
            Some(Token::Word(word)) => {
                self.at += 1;
                self.call_or_name(word)
            }
            other => Err(format!("a value is missing before {other:?}")),
        }
    }

    /// The type between brackets, if there is one.
    fn type_name(&mut self) -> Option<ValueType> {
        let Some(Token::Word(word)) = self.peek() else { return None };
        let mut name = word.clone();
        let mut length = 1;
        if name == "unsigned"
            && let Some(Token::Word(next)) = self.tokens.get(self.at + 1)
        {
            name = format!("{name} {next}");
            length = 2;
        }
        let kind = kind_of(&name, self.real)?;
        let closes = matches!(self.tokens.get(self.at + length), Some(Token::Symbol(")")));
        self.at += if closes { length } else { 0 };
        closes.then_some(kind)
    }

    fn call_or_name(&mut self, word: String) -> Result<usize, String> {
        let is_numbered = matches!(self.tokens.get(self.at + 1), Some(Token::Number(_)));
        if self.is("[") && !is_numbered {
            // An entry of a table that is a parameter.
            self.at += 1;
            let (table, index) = (self.named(&word), self.expression()?);
            self.expect("]")?;
            let kind = ValueType::Int { bits: 64, signed: false };
            return Ok(self.values.add(Made::Call("PF_AT".into()), kind, vec![table, index]));
        }
        if !self.take("(") {
            let name = self.place(word)?;
            return Ok(self.named(&name));
        }
        let mut args = Vec::new();
        while !self.take(")") {
            if !args.is_empty() {
                self.expect(",")?;
            }
            args.push(self.expression()?);
        }
        if let (Some(kind), [value]) = (kind_of(&word, self.real), &args[..]) {
            return Ok(self.cast(*value, kind));
        }
        let kinds = args.iter().map(|a| self.values.list[*a].kind);
        let kind = super::cost::result(&word, &kinds.collect::<Vec<_>>());
        let kind = kind.ok_or_else(|| format!("the function `{word}` is not known"))?;
        Ok(self.values.add(Made::Call(word), kind, args))
    }
}
