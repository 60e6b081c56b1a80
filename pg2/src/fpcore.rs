//! FPCore, the format of FPBench (<https://fpbench.org>), as PG2: straight-line cores with ranges of their inputs.

use hdl::Format;
use hdl::number::exact::{Exact, parse_decimal};
use nom::branch::alt;
use nom::bytes::complete::{is_not, take_while1};
use nom::character::complete::{char, multispace1};
use nom::combinator::{map, value};
use nom::multi::many0;
use nom::sequence::{delimited, pair, preceded, terminated};
use nom::{IResult, Parser};
use num_traits::Zero;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

/// An S-expression; brackets are parentheses.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    Atom(String),
    Text(String),
    List(Vec<Expr>),
}

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 200;

/// A core as a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// The name of the core, made an identifier.
    pub name: String,
    /// The kernel's text, or why the core has none.
    pub text: Result<String, String>,
}

fn space(input: &str) -> IResult<&str, ()> {
    let comment = preceded(char(';'), nom::combinator::opt(is_not("\n\r")));
    value((), many0(alt((value((), multispace1), value((), comment))))).parse(input)
}

fn text(input: &str) -> IResult<&str, Expr> {
    let part = alt((is_not("\\\""), nom::combinator::recognize(pair(char('\\'), nom::character::complete::anychar))));
    let inside = nom::combinator::recognize(many0(part));
    map(delimited(char('"'), inside, char('"')), |s: &str| Expr::Text(s.into())).parse(input)
}

fn atom(input: &str) -> IResult<&str, Expr> {
    let word = take_while1(|c: char| !c.is_whitespace() && !"()[]\";".contains(c));
    map(word, |s: &str| Expr::Atom(s.into())).parse(input)
}

fn expr(depth: usize) -> impl Fn(&str) -> IResult<&str, Expr> {
    move |input| {
        if depth > MAX_DEPTH {
            return Err(nom::Err::Failure(nom::error::Error::new(input, nom::error::ErrorKind::TooLarge)));
        }
        let items = |open, close| {
            let inner = preceded(space, many0(terminated(expr(depth + 1), space)));
            map(delimited(char(open), inner, char(close)), Expr::List)
        };
        alt((items('(', ')'), items('[', ']'), text, atom)).parse(input)
    }
}

/// The cores of a text as kernels in a format of floats. The error says where the text is no FPCore.
pub fn kernels(input: &str, format: Option<Format>) -> Result<Vec<Kernel>, String> {
    let parsed = preceded(space, many0(terminated(expr(0), space))).parse(input);
    let (rest, all) = parsed.map_err(|_| format!("it is nested more than {MAX_DEPTH} levels deep"))?;
    if !rest.is_empty() {
        let line = input[..input.len() - rest.len()].matches('\n').count() + 1;
        return Err(format!("line {line} is no S-expression: a parenthesis is missing or too many"));
    }
    let cores = all.iter().filter_map(|e| match e {
        Expr::List(items) if items.first() == Some(&Expr::Atom("FPCore".into())) => Some(&items[1..]),
        _ => None,
    });
    let kernels: Vec<Kernel> = cores.enumerate().map(|(k, items)| kernel(items, k, format)).collect();
    if kernels.is_empty() { Err("it holds no `(FPCore ...)`".into()) } else { Ok(kernels) }
}

fn kernel(items: &[Expr], k: usize, format: Option<Format>) -> Kernel {
    let properties = properties(items);
    let given = match properties.get("name") {
        Some(Expr::Text(name)) => name.clone(),
        _ => match items.first() {
            Some(Expr::Atom(name)) => name.clone(),
            _ => format!("core{}", k + 1),
        },
    };
    let text = Writer::default().kernel(items, &properties, &given, format);
    Kernel { name: crate::identifier(&given), text }
}

/// The properties between the arguments and the body.
fn properties(items: &[Expr]) -> BTreeMap<&str, &Expr> {
    let pairs = items.windows(2).filter_map(|w| match w {
        [Expr::Atom(key), of] if key.starts_with(':') => Some((&key[1..], of)),
        _ => None,
    });
    pairs.collect()
}

/// A kernel being written.
#[derive(Default)]
struct Writer {
    lines: Vec<String>,
    /// Names of PG2 that are taken.
    taken: HashSet<String>,
    ranges: HashMap<String, [Option<String>; 2]>,
}

/// Names of a core in scope, as PG2 has them.
type Scope = HashMap<String, String>;

impl Writer {
    fn kernel(
        mut self,
        items: &[Expr],
        properties: &BTreeMap<&str, &Expr>,
        name: &str,
        format: Option<Format>,
    ) -> Result<String, String> {
        let arguments = items.iter().take(2).find_map(|e| if let Expr::List(l) = e { Some(l) } else { None });
        let arguments = arguments.ok_or("it has no list of arguments")?;
        let body = items.last().ok_or("it has no body")?;
        if let Some(condition) = properties.get("pre") {
            self.condition(condition)?;
        }
        let format = match (format, properties.get("precision")) {
            (Some(format), _) => format.to_string(),
            (None, Some(Expr::Atom(p))) if p == "binary32" => "float32.23".into(),
            (None, _) => "float64.52".into(),
        };
        self.taken.insert("result".into());
        let (mut scope, mut head) = (Scope::new(), format!("// {name}, from FPBench.\n\n"));
        for argument in arguments {
            let Expr::Atom(given) = argument else { return Err("an argument is no name".into()) };
            let [Some(low), Some(high)] = self.ranges.get(given).cloned().unwrap_or_default() else {
                return Err(format!("`{given}` has no range"));
            };
            let own = self.fresh(given);
            let _ = writeln!(head, "{format} {own} ipin in {low}..{high};");
            scope.insert(given.clone(), own);
        }
        let _ = writeln!(head, "{format} result fout;\n");
        let value = self.value(body, &scope)?;
        let last = format!("result max= {value};");
        Ok(format!("{head}{}{last}\n", self.lines.concat()))
    }

    /// A name of PG2 that stands for this one and for no other.
    fn fresh(&mut self, given: &str) -> String {
        let base = crate::identifier(given);
        let reserved = crate::syntax::parse::RESERVED.contains(&base.as_str()) || base.parse::<Format>().is_ok();
        let own = std::iter::once(base.clone())
            .filter(|_| !reserved && !base.starts_with("pg_"))
            .chain((1..).map(|k| format!("{base}_{k}")))
            .find(|name| !self.taken.contains(name))
            .unwrap_or(base);
        self.taken.insert(own.clone());
        own
    }

    /// Takes the ranges of inputs out of a precondition.
    fn condition(&mut self, e: &Expr) -> Result<(), String> {
        let Expr::List(items) = e else { return Ok(()) };
        let Some(Expr::Atom(head)) = items.first() else { return Ok(()) };
        let (less, rest) = match head.as_str() {
            "and" => return items[1..].iter().try_for_each(|e| self.condition(e)),
            "<=" | "<" => (true, &items[1..]),
            ">=" | ">" => (false, &items[1..]),
            // Any other condition only says that fewer inputs count.
            _ => return Ok(()),
        };
        for pair in rest.windows(2) {
            let (low, high) = if less { (&pair[0], &pair[1]) } else { (&pair[1], &pair[0]) };
            match (low, high) {
                (Expr::Atom(name), end) if number(name).is_none() => self.bound(name, 1, end),
                (end, Expr::Atom(name)) if number(name).is_none() => self.bound(name, 0, end),
                _ => {}
            }
        }
        Ok(())
    }

    fn bound(&mut self, name: &str, side: usize, end: &Expr) {
        let end = match end {
            Expr::Atom(x) => number(x),
            Expr::List(items) => match &items[..] {
                [Expr::Atom(op), Expr::Atom(x)] if op == "-" => number(x).map(|x| format!("-({x})")),
                [Expr::Atom(op), Expr::Atom(a), Expr::Atom(b)] if op == "/" => {
                    number(a).zip(number(b)).map(|(a, b)| format!("({a} / {b})"))
                }
                _ => None,
            },
            Expr::Text(_) => None,
        };
        if let Some(end) = end {
            self.ranges.entry(name.into()).or_default()[side].get_or_insert(end);
        }
    }

    /// An expression in PG2; `let` writes lines before it.
    fn value(&mut self, e: &Expr, scope: &Scope) -> Result<String, String> {
        let items = match e {
            Expr::Atom(name) => {
                return match (scope.get(name), number(name), constant(name)) {
                    (Some(own), _, _) => Ok(own.clone()),
                    (_, Some(x), _) => Ok(x),
                    (_, _, Some(x)) => Ok(x.into()),
                    _ => Err(format!("`{name}` is not known")),
                };
            }
            Expr::Text(_) => return Err("a text is no number".into()),
            Expr::List(items) => items,
        };
        let Some(Expr::Atom(head)) = items.first() else { return Err("an operation has no name".into()) };
        let args = &items[1..];
        match (head.as_str(), args) {
            ("let" | "let*", [Expr::List(bindings), body]) => self.bindings(head == "let*", bindings, body, scope),
            ("!", [.., body]) | ("cast", [body]) => self.annotated(head == "!", args, body, scope),
            ("if", [condition, yes, no]) => {
                let c = self.truth(condition, scope)?;
                let (yes, no) = (self.value(yes, scope)?, self.value(no, scope)?);
                Ok(format!("({c} ? {yes} : {no})"))
            }
            ("-", [x]) => Ok(format!("(-{})", self.value(x, scope)?)),
            ("+" | "-" | "*" | "/", [_, _, ..]) => {
                let all = args.iter().map(|x| self.value(x, scope)).collect::<Result<Vec<_>, _>>()?;
                let joined = all[1..].iter().fold(all[0].clone(), |left, right| format!("({left} {head} {right})"));
                Ok(joined)
            }
            ("pow", [x, Expr::Atom(n)]) if whole(n).is_some() => {
                Ok(format!("pg_pow({}, {}, 1)", self.value(x, scope)?, whole(n).unwrap_or_default()))
            }
            (name, _) => {
                let known = FUNCTIONS.iter().find(|f| f.0 == name && f.2 == args.len());
                let Some((_, own, _)) = known else { return Err(format!("PG2 has no `{name}`")) };
                let all = args.iter().map(|x| self.value(x, scope)).collect::<Result<Vec<_>, _>>()?;
                Ok(format!("{own}({})", all.join(", ")))
            }
        }
    }

    /// `(! :precision P body)`: a precision of its own is another format.
    fn annotated(&mut self, marked: bool, args: &[Expr], body: &Expr, scope: &Scope) -> Result<String, String> {
        let is = |e: &Expr, what: &str| matches!(e, Expr::Atom(a) if a == what);
        if !marked || args.iter().any(|e| is(e, ":precision")) {
            return Err("it mixes precisions".into());
        }
        self.value(body, scope)
    }

    fn bindings(&mut self, in_turn: bool, bindings: &[Expr], body: &Expr, scope: &Scope) -> Result<String, String> {
        let mut inner = scope.clone();
        for binding in bindings {
            let Expr::List(pair) = binding else { return Err("a binding is no pair".into()) };
            let [Expr::Atom(name), value] = &pair[..] else { return Err("a binding is no pair".into()) };
            let value = self.value(value, if in_turn { &inner } else { scope })?;
            let own = self.fresh(name);
            self.lines.push(format!("{own} = {value};\n"));
            inner.insert(name.clone(), own);
        }
        self.value(body, &inner)
    }

    fn truth(&mut self, e: &Expr, scope: &Scope) -> Result<String, String> {
        let Expr::List(items) = e else { return Err("a condition is no comparison".into()) };
        let Some(Expr::Atom(head)) = items.first() else { return Err("a condition is no comparison".into()) };
        let args = &items[1..];
        match head.as_str() {
            "and" | "or" => {
                let all = args.iter().map(|c| self.truth(c, scope)).collect::<Result<Vec<_>, _>>()?;
                Ok(format!("({})", all.join(if head == "and" { " && " } else { " || " })))
            }
            "not" if args.len() == 1 => Ok(format!("!{}", self.truth(&args[0], scope)?)),
            "<" | "<=" | ">" | ">=" | "==" | "!=" if args.len() == 2 => {
                let (a, b) = (self.value(&args[0], scope)?, self.value(&args[1], scope)?);
                Ok(format!("({a} {head} {b})"))
            }
            _ => Err(format!("PG2 has no condition `{head}`")),
        }
    }
}

/// Functions with another name: of FPCore, of PG2, arguments.
const FUNCTIONS: &[(&str, &str, usize)] = &[
    ("sqrt", "pg_sqrt", 1),
    ("exp", "pg_exp", 1),
    ("log", "pg_log", 1),
    ("exp2", "pg_exp2", 1),
    ("log2", "pg_log2", 1),
    ("cbrt", "pg_cbrt", 1),
    ("tanh", "pg_tanh", 1),
    ("erf", "pg_erf", 1),
    ("erfc", "pg_erfc", 1),
    ("asin", "pg_asin", 1),
    ("acos", "pg_acos", 1),
    ("atan", "pg_atan", 1),
    ("atan2", "pg_atan2", 2),
    ("sin", "pg_sin", 1),
    ("cos", "pg_cos", 1),
    ("fabs", "pg_abs", 1),
    ("fmin", "pg_min", 2),
    ("fmax", "pg_max", 2),
];

/// A number of FPCore as PG2 writes it, in parentheses where it is a fraction or negative.
fn number(word: &str) -> Option<String> {
    let (sign, rest) = match word.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    };
    if !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let plain = |x: &str| parse_decimal(x).is_ok().then(|| unpadded(x));
    match rest.split_once('/') {
        Some((a, b)) => {
            let by = parse_decimal(b).ok().filter(|b: &Exact| !b.is_zero());
            by.and(plain(a).zip(plain(b))).map(|(a, b)| format!("({sign}{a} / {b})"))
        }
        None => plain(rest).map(|x| if sign.is_empty() { x } else { format!("({sign}{x})") }),
    }
}

/// Without the leading zeros and the bare point that PG2 does not have.
fn unpadded(x: &str) -> String {
    let x = x.trim_start_matches('0');
    match x.chars().next() {
        Some(c) if c.is_ascii_digit() => x.trim_end_matches('.').into(),
        _ => format!("0{}", x.trim_end_matches('.')),
    }
}

fn constant(name: &str) -> Option<&'static str> {
    Some(match name {
        "PI" => "3.14159265358979323846264338327950288",
        "E" => "2.71828182845904523536028747135266250",
        _ => return None,
    })
}

fn whole(n: &str) -> Option<i32> {
    n.parse().ok().filter(|n: &i32| n.unsigned_abs() <= 16)
}
