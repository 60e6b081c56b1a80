//! C text of operators' bits as terms of SMT-LIB 2, for solvers: each statement becomes a definition.
//!
//! The text has a small part of C: integers of three widths, conditions, conversions and the functions of [`super::PRELUDE`]. Its types
//! decide what an operator does, as in C: operands are promoted to 32 bits at least, and of two of one width the unsigned one wins.

use super::{CText, CType, CVar, I32, I64, U32, U64};
use crate::Flags;

mod lex;

use lex::{Token, tokens};

/// The functions that the definitions need: those of the C prelude.
pub const PRELUDE: &str = include_str!("prelude.smt2");

/// A term and its type in C; without a type it is a condition.
#[derive(Clone, Debug)]
struct Term {
    text: String,
    kind: Option<CType>,
}

/// The specification of one use: its definitions, the result's term, and that of each flag.
#[derive(Clone, Debug)]
pub struct Spec {
    pub definitions: String,
    pub value: String,
    /// Bits of the value.
    pub bits: u32,
    /// Flags, each with the condition that raises it.
    pub raised: Vec<(Flags, String)>,
}

/// The statements of [`super::of_use`] as definitions; `args` are names that are defined already, of the types of the arguments.
/// The error says what of the text has no term here.
pub fn spec(c: &CText, args: &[CVar], value: &CVar, raised: &[(Flags, String)]) -> Result<Spec, String> {
    let mut names: Vec<(String, Option<CType>)> = args.iter().map(|a| (a.text.clone(), Some(a.kind))).collect();
    let mut definitions = String::new();
    for line in &c.lines {
        let statement = line.strip_prefix("const ").and_then(|line| line.strip_suffix(';'));
        let (declared, expr) = statement.and_then(|s| s.split_once(" = ")).ok_or(line.as_str())?;
        let (kind, name) = declared.split_once(' ').ok_or(line.as_str())?;
        let kind = if kind == "bool" { None } else { Some(type_of(kind).ok_or(line.as_str())?) };
        let term = term(expr, &names)?;
        let text = match kind {
            None => condition(&term),
            Some(kind) => converted(&term, kind),
        };
        let sort = kind.map_or("Bool".to_string(), |kind| format!("(_ BitVec {})", kind.bits));
        definitions += &format!("(define-fun {name} () {sort} {text})\n");
        names.push((name.to_string(), kind));
    }
    let flags = raised.iter().map(|(flags, when)| Ok((*flags, condition(&term(when, &names)?))));
    let raised = flags.collect::<Result<_, String>>()?;
    let result = term(&value.text, &names)?;
    Ok(Spec { definitions, value: converted(&result, value.kind), bits: value.kind.bits, raised })
}

fn type_of(word: &str) -> Option<CType> {
    [U32, I32, U64, I64, CType { bits: 128, signed: false }, CType { bits: 128, signed: true }]
        .into_iter()
        .find(|kind| kind.to_string() == word)
}

fn term(text: &str, names: &[(String, Option<CType>)]) -> Result<Term, String> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, names };
    let term = parser.choice()?;
    match parser.peek() {
        None => Ok(term),
        Some(_) => Err(format!("`{text}` does not end as an expression does")),
    }
}

/// A constant of so many bits.
fn constant(bits: u32, value: u128) -> String {
    let value = if bits < 128 { value & ((1 << bits) - 1) } else { value };
    format!("(_ bv{value} {bits})")
}

/// The term as a condition.
fn condition(term: &Term) -> String {
    match term.kind {
        None => term.text.clone(),
        Some(kind) => format!("(not (= {} {}))", term.text, constant(kind.bits, 0)),
    }
}

/// The term in that type.
fn converted(term: &Term, to: CType) -> String {
    let text = &term.text;
    match term.kind {
        None => format!("(ite {text} {} {})", constant(to.bits, 1), constant(to.bits, 0)),
        Some(from) if from.bits == to.bits => text.clone(),
        Some(from) if from.bits > to.bits => format!("((_ extract {} 0) {text})", to.bits - 1),
        Some(from) => {
            let way = if from.signed { "sign_extend" } else { "zero_extend" };
            format!("((_ {way} {}) {text})", to.bits - from.bits)
        }
    }
}

/// The type in which two operands meet.
fn common(a: Option<CType>, b: Option<CType>) -> CType {
    let (a, b) = (a.unwrap_or(I32), b.unwrap_or(I32));
    match a.bits.cmp(&b.bits) {
        std::cmp::Ordering::Greater => a,
        std::cmp::Ordering::Less => b,
        std::cmp::Ordering::Equal => CType { signed: a.signed && b.signed, ..a },
    }
}

/// Operators with two operands by their precedence, the loosest first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", "<=", ">", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    names: &'a [(String, Option<CType>)],
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Result<Token, String> {
        let token = self.peek().cloned().ok_or("an expression ends too soon")?;
        self.at += 1;
        Ok(token)
    }

    /// Takes a sign if it is there.
    fn takes(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek(), Some(Token::Sign(s)) if *s == sign);
        self.at += is as usize;
        is
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.takes(sign) { Ok(()) } else { Err(format!("`{sign}` is missing in front of {:?}", self.peek())) }
    }

    fn choice(&mut self) -> Result<Term, String> {
        let test = self.two(0)?;
        if !self.takes("?") {
            return Ok(test);
        }
        let yes = self.choice()?;
        self.expect(":")?;
        let no = self.choice()?;
        let test = condition(&test);
        if yes.kind.is_none() && no.kind.is_none() {
            return Ok(Term { text: format!("(ite {test} {} {})", yes.text, no.text), kind: None });
        }
        let kind = common(yes.kind, no.kind);
        let text = format!("(ite {test} {} {})", converted(&yes, kind), converted(&no, kind));
        Ok(Term { text, kind: Some(kind) })
    }

    fn two(&mut self, level: usize) -> Result<Term, String> {
        let Some(signs) = LEVELS.get(level) else { return self.one() };
        let mut left = self.two(level + 1)?;
        while let Some(sign) = signs.iter().find(|sign| matches!(self.peek(), Some(Token::Sign(s)) if s == *sign)) {
            self.at += 1;
            let right = self.two(level + 1)?;
            left = joined(sign, &left, &right);
        }
        Ok(left)
    }

    fn one(&mut self) -> Result<Term, String> {
        for (sign, name) in [("-", "bvneg"), ("~", "bvnot")] {
            if self.takes(sign) {
                let of = self.one()?;
                let kind = common(of.kind, None);
                return Ok(Term { text: format!("({name} {})", converted(&of, kind)), kind: Some(kind) });
            }
        }
        if self.takes("!") {
            let of = self.one()?;
            return Ok(Term { text: format!("(not {})", condition(&of)), kind: None });
        }
        self.first()
    }

    fn first(&mut self) -> Result<Term, String> {
        match self.next()? {
            Token::Number(value, kind) => Ok(Term { text: constant(kind.bits, value), kind: Some(kind) }),
            Token::Word(word) if self.takes("(") => self.call(&word),
            Token::Word(word) => {
                let known = self.names.iter().rev().find(|(name, _)| *name == word);
                let (_, kind) = known.ok_or_else(|| format!("`{word}` has no value"))?;
                Ok(Term { text: word, kind: *kind })
            }
            Token::Sign("(") => {
                let kind = match self.peek() {
                    Some(Token::Word(word)) => type_of(word),
                    _ => None,
                };
                if let Some(kind) = kind {
                    self.at += 1;
                    self.expect(")")?;
                    let of = self.one()?;
                    return Ok(Term { text: converted(&of, kind), kind: Some(kind) });
                }
                let inner = self.choice()?;
                self.expect(")")?;
                Ok(inner)
            }
            other => Err(format!("{other:?} begins no value")),
        }
    }

    /// A call of a function of the prelude, behind its parenthesis.
    fn call(&mut self, name: &str) -> Result<Term, String> {
        let function = FUNCTIONS.iter().find(|f| f.0 == name).ok_or_else(|| format!("`{name}` has no term"))?;
        let (_, takes, gives) = function;
        let mut args = Vec::new();
        for (k, kind) in takes.iter().enumerate() {
            if k > 0 {
                self.expect(",")?;
            }
            args.push(converted(&self.choice()?, *kind));
        }
        self.expect(")")?;
        Ok(Term { text: format!("({name} {})", args.join(" ")), kind: Some(*gives) })
    }
}

const U128: CType = CType { bits: 128, signed: false };

/// The prelude's functions: name, arguments, result.
const FUNCTIONS: &[(&str, &[CType], CType)] = &[
    ("pf_shr32", &[U32, U32], U32),
    ("pf_shl32", &[U32, U32], U32),
    ("pf_clz32", &[U32], U32),
    ("pf_shr64", &[U64, U32], U64),
    ("pf_shl64", &[U64, U32], U64),
    ("pf_clz64", &[U64], U32),
    ("pf_shr128", &[U128, U32], U128),
    ("pf_shl128", &[U128, U32], U128),
    ("pf_clz128", &[U128], U32),
    ("pf_mulf", &[U32, U32], U32),
    ("pf_addf", &[U32, U32], U32),
    ("pf_muld", &[U32, U32], U32),
    ("pf_addd", &[U32, U32], U32),
    ("pf_roundd32", &[U32], I32),
    ("pf_roundd64", &[U32], I64),
    ("pf_cutd32", &[U32], I32),
    ("pf_cutd64", &[U32], I64),
    ("pf_roundf", &[U32], I64),
    ("pf_roundf32", &[U32], I32),
];

/// Two operands under an operator.
fn joined(sign: &str, a: &Term, b: &Term) -> Term {
    let logic = |name: &str| Term { text: format!("({name} {} {})", condition(a), condition(b)), kind: None };
    match sign {
        "||" => return logic("or"),
        "&&" => return logic("and"),
        _ => {}
    }
    if a.kind.is_none() && b.kind.is_none() {
        match sign {
            "|" => return logic("or"),
            "&" => return logic("and"),
            "^" | "!=" => return logic("xor"),
            "==" => return logic("="),
            _ => {}
        }
    }
    if let "<<" | ">>" = sign {
        // The type is that of the left operand alone.
        let kind = common(a.kind, None);
        let name = if sign == "<<" {
            "bvshl"
        } else if kind.signed {
            "bvashr"
        } else {
            "bvlshr"
        };
        let by = converted(b, CType { signed: b.kind.is_some_and(|k| k.signed), ..kind });
        return Term { text: format!("({name} {} {by})", converted(a, kind)), kind: Some(kind) };
    }
    let kind = common(a.kind, b.kind);
    let (x, y) = (converted(a, kind), converted(b, kind));
    let signed = |yes: &'static str, no: &'static str| if kind.signed { yes } else { no };
    let name = match sign {
        "==" => return Term { text: format!("(= {x} {y})"), kind: None },
        "!=" => return Term { text: format!("(not (= {x} {y}))"), kind: None },
        "<" => return Term { text: format!("({} {x} {y})", signed("bvslt", "bvult")), kind: None },
        "<=" => return Term { text: format!("({} {x} {y})", signed("bvsle", "bvule")), kind: None },
        ">" => return Term { text: format!("({} {x} {y})", signed("bvsgt", "bvugt")), kind: None },
        ">=" => return Term { text: format!("({} {x} {y})", signed("bvsge", "bvuge")), kind: None },
        "+" => "bvadd",
        "-" => "bvsub",
        "*" => "bvmul",
        "/" => signed("bvsdiv", "bvudiv"),
        "%" => signed("bvsrem", "bvurem"),
        "&" => "bvand",
        "|" => "bvor",
        _ => "bvxor",
    };
    Term { text: format!("({name} {x} {y})"), kind: Some(kind) }
}
