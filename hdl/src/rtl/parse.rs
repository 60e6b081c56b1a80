//! Expressions from Verilog text, for circuits that are still written so.
//!
//! Verilog extends operands by context: an operator's operands take the width of the widest of them and of what is assigned,
//! and its signedness. Here every extension becomes explicit.

use super::expr::{Binary, Expr, Leaf, Reduce, Shift, Test, cat};

/// A parsed expression whose context is not known yet.
enum Ast<L: Leaf> {
    /// What determines its own width, and whether it is signed.
    Own(Expr<L>, bool),
    Not(Box<Ast<L>>),
    Binary(Binary, Box<Ast<L>>, Box<Ast<L>>),
    Shift(Shift, Box<Ast<L>>, Expr<L>),
    Mux(Expr<L>, Box<Ast<L>>, Box<Ast<L>>),
}

impl<L: Leaf> Ast<L> {
    fn width(&self) -> u32 {
        match self {
            Ast::Own(e, _) => e.width(),
            Ast::Not(a) | Ast::Shift(_, a, _) => a.width(),
            Ast::Binary(_, a, b) | Ast::Mux(_, a, b) => a.width().max(b.width()),
        }
    }

    fn signed(&self) -> bool {
        match self {
            Ast::Own(_, signed) => *signed,
            Ast::Not(a) | Ast::Shift(_, a, _) => a.signed(),
            Ast::Binary(_, a, b) | Ast::Mux(_, a, b) => a.signed() && b.signed(),
        }
    }

    /// In a context of that width and signedness.
    fn lower(&self, width: u32, signed: bool) -> Expr<L> {
        match self {
            Ast::Own(e, _) => e.extend(width, signed),
            Ast::Not(a) => !a.lower(width, signed),
            Ast::Binary(op, a, b) => Expr::binary(*op, &a.lower(width, signed), &b.lower(width, signed)),
            Ast::Shift(how, a, n) => {
                let how = if *how == Shift::Arithmetic && !signed { Shift::Right } else { *how };
                a.lower(width, signed).shift(how, n)
            }
            Ast::Mux(c, a, b) => c.mux(&a.lower(width, signed), &b.lower(width, signed)),
        }
    }

    fn own(&self) -> Expr<L> {
        self.lower(self.width(), self.signed())
    }

    /// As a condition.
    fn truth(&self) -> Expr<L> {
        self.own().any()
    }
}

struct Parser<'a, L: Leaf> {
    text: &'a str,
    at: usize,
    args: &'a [Expr<L>],
}

/// The expression of `text`, assigned to `width` bits; `{0}`, `{1}` and so on stand for `args`.
pub fn parse<L: Leaf>(text: &str, width: u32, args: &[Expr<L>]) -> Expr<L> {
    let mut p = Parser { text, at: 0, args };
    let ast = p.mux();
    p.space();
    assert!(p.at == text.len(), "`{text}`: what is at {}?", p.at);
    assert!(ast.width() <= width, "`{text}` has {} bits and is assigned to {width}", ast.width());
    ast.lower(width, ast.signed())
}

impl<L: Leaf> Parser<'_, L> {
    fn space(&mut self) {
        while self.rest().starts_with(' ') {
            self.at += 1;
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn need(&mut self, token: &str) {
        assert!(self.eat(token), "`{}`: no {token} at {}", self.text, self.at);
    }

    fn number(&mut self) -> u64 {
        self.space();
        let digits = self.rest().len() - self.rest().trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let n = self.rest()[..digits].parse().unwrap_or_else(|_| panic!("`{}`: no number at {}", self.text, self.at));
        self.at += digits;
        n
    }

    fn mux(&mut self) -> Ast<L> {
        let c = self.binary(0);
        if !self.eat("?") {
            return c;
        }
        let a = self.mux();
        self.need(":");
        let b = self.mux();
        Ast::Mux(c.truth(), a.into(), b.into())
    }

    fn binary(&mut self, level: usize) -> Ast<L> {
        const LEVELS: [&[&str]; 7] =
            [&["|"], &["^"], &["&"], &["==", "!="], &["<=", ">=", "<", ">"], &["<<", ">>>", ">>"], &["+", "-"]];
        let Some(tokens) = LEVELS.get(level) else { return self.unary() };
        let mut a = self.binary(level + 1);
        loop {
            self.space();
            // `<` is no beginning of `<<`.
            let shift = level == 4 && (self.rest().starts_with("<<") || self.rest().starts_with(">>"));
            let Some(token) = tokens.iter().copied().find(|t| !shift && self.rest().starts_with(t)) else { return a };
            self.at += token.len();
            let b = self.binary(level + 1);
            a = match token {
                "|" => Ast::Binary(Binary::Or, a.into(), b.into()),
                "^" => Ast::Binary(Binary::Xor, a.into(), b.into()),
                "&" => Ast::Binary(Binary::And, a.into(), b.into()),
                "+" => Ast::Binary(Binary::Add, a.into(), b.into()),
                "-" => Ast::Binary(Binary::Sub, a.into(), b.into()),
                "<<" => Ast::Shift(Shift::Left, a.into(), b.own()),
                ">>" => Ast::Shift(Shift::Right, a.into(), b.own()),
                ">>>" => Ast::Shift(Shift::Arithmetic, a.into(), b.own()),
                _ => {
                    let (width, signed) = (a.width().max(b.width()), a.signed() && b.signed());
                    let test = match token {
                        "==" => Test::Eq,
                        "!=" => Test::Ne,
                        "<" => Test::Lt,
                        "<=" => Test::Le,
                        ">" => Test::Gt,
                        _ => Test::Ge,
                    };
                    Ast::Own(a.lower(width, signed).compare(test, signed, &b.lower(width, signed)), false)
                }
            };
        }
    }

    fn unary(&mut self) -> Ast<L> {
        let reduced = |p: &mut Self, how: Reduce| p.unary().own().reduce(how);
        self.space();
        if self.eat("~|") {
            return Ast::Own(!reduced(self, Reduce::Or), false);
        }
        if self.eat("~&") {
            return Ast::Own(!reduced(self, Reduce::And), false);
        }
        if self.eat("~") {
            return Ast::Not(self.unary().into());
        }
        for (token, how) in [("|", Reduce::Or), ("&", Reduce::And), ("^", Reduce::Xor)] {
            if self.eat(token) {
                return Ast::Own(reduced(self, how), false);
            }
        }
        self.primary()
    }

    fn primary(&mut self) -> Ast<L> {
        if self.eat("(") {
            let inner = self.mux();
            self.need(")");
            return inner;
        }
        if self.eat("$signed(") {
            let inner = self.mux().own();
            self.need(")");
            return Ast::Own(inner, true);
        }
        if self.eat("{") {
            return Ast::Own(self.braces(), false);
        }
        let width = self.number() as u32;
        self.need("'");
        let signed = self.eat("s");
        let radix = [("d", 10), ("h", 16), ("b", 2)].into_iter().find(|(c, _)| self.eat(c)).expect("a radix").1;
        let digits = self.rest().len() - self.rest().trim_start_matches(|c: char| c.is_digit(radix)).len();
        let value = u128::from_str_radix(&self.rest()[..digits], radix).expect("digits");
        self.at += digits;
        Ast::Own(Expr::constant(width, value as i128), signed)
    }

    /// Behind an opening brace: an argument, copies, or parts side by side.
    fn braces(&mut self) -> Expr<L> {
        let digits = self.rest().len() - self.rest().trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 && self.rest()[digits..].starts_with('}') {
            let k = self.number() as usize;
            self.need("}");
            let arg = self.args.get(k).unwrap_or_else(|| panic!("`{}` reads argument {k}", self.text)).clone();
            if !self.rest().starts_with('[') {
                return arg;
            }
            self.need("[");
            let high = self.number() as u32;
            let low = if self.eat(":") { self.number() as u32 } else { high };
            self.need("]");
            return arg.slice(high, low);
        }
        if digits > 0 && self.rest()[digits..].starts_with('{') {
            let n = self.number() as u32;
            self.need("{");
            let inner = self.list();
            self.need("}");
            return inner.repeat(n);
        }
        self.list()
    }

    fn list(&mut self) -> Expr<L> {
        let mut parts = vec![self.mux().own()];
        while self.eat(",") {
            parts.push(self.mux().own());
        }
        self.need("}");
        cat(parts)
    }
}
