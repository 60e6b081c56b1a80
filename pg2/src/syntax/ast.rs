//! The syntax tree: what was written, with nothing decided yet.

use crate::diag::Span;
use hdl::Reduce;
use std::collections::HashMap;

/// A parsed file. Expressions lie in one arena in which arguments stand before their users, so that no
/// pass over them needs recursion.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program<'a> {
    /// Those of included files stand behind their `include`.
    pub statements: Vec<Statement<'a>>,
    pub exprs: Vec<Expr<'a>>,
    /// Spans of the comments, in order.
    pub comments: Vec<Span>,
    /// The texts of the files that tables are read from, by the place of the path.
    pub data: HashMap<usize, &'a str>,
}

/// Index of an expression in [`Program::exprs`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExprId(pub u32);

impl Program<'_> {
    pub fn expr(&self, id: ExprId) -> &Expr<'_> {
        &self.exprs[id.0 as usize]
    }
}

/// A word of the source: a name, a format, a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word<'a> {
    pub text: &'a str,
    pub span: Span,
}

/// An expression: all of its parts lie in the arena from `first` up to and including `root`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tree {
    pub first: ExprId,
    pub root: ExprId,
}

/// A statement and its place, semicolon included.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement<'a> {
    pub kind: StatementKind<'a>,
    pub span: Span,
}

/// The kind of a statement.
#[derive(Clone, PartialEq, Debug)]
pub enum StatementKind<'a> {
    /// `float18.9 mj[n] jpin in -1..1;`, with a length for each pair of brackets.
    Declare {
        format: Word<'a>,
        name: Word<'a>,
        lengths: Vec<Tree>,
        class: Word<'a>,
        /// The least and the greatest number.
        range: Option<[Tree; 2]>,
        /// Of a `param`: `= value`.
        default: Option<Tree>,
    },
    /// `name[n];`: a vector or matrix whose elements are assigned one by one.
    Elements {
        name: Word<'a>,
        lengths: Vec<Tree>,
    },
    /// `table format name[n] = file "path";` or `= { 1, 2, 3 };`; a format need not be given.
    Table {
        format: Option<Word<'a>>,
        name: Word<'a>,
        lengths: Vec<Tree>,
        content: TableContent<'a>,
    },
    /// `const name = value;`
    Const {
        name: Word<'a>,
        value: Tree,
    },
    /// `name[index] = value;`
    Assign {
        name: Word<'a>,
        indices: Vec<Tree>,
        value: Tree,
    },
    /// `target[index] += value;`, and `-=`, `max=` and `min=`.
    Reduce {
        target: Word<'a>,
        indices: Vec<Tree>,
        reduce: Reduce,
        /// Of a sum: whether the value is taken away.
        subtracts: bool,
        value: Tree,
    },
    /// `(target[index], ...) min= (key, payload, ...);`, and `max=`.
    Select {
        targets: Vec<Place<'a>>,
        reduce: Reduce,
        values: Vec<Tree>,
    },
    /// `for variable in from..to { ... }`
    For {
        variable: Word<'a>,
        from: Tree,
        to: Tree,
        body: Block<'a>,
    },
    /// `if (condition) { ... }`, each `else if`, and the block of `else`.
    If {
        arms: Vec<Arm<'a>>,
        otherwise: Option<Block<'a>>,
    },
    /// `where (condition);`
    Filter {
        condition: Tree,
    },
    Function(Function<'a>),
    /// `type name = format;`
    Type {
        name: Word<'a>,
        format: Word<'a>,
    },
    /// `return value;`
    Return {
        value: Tree,
    },
    /// `include "path";`; what the file holds follows in the list of statements.
    Include {
        path: Word<'a>,
    },
    /// `round mode;`
    Round {
        mode: Word<'a>,
    },
    /// A statement with a reported mistake that would have defined or reduced this name.
    Broken {
        name: Word<'a>,
    },
}

/// A name with any number of indices.
#[derive(Clone, PartialEq, Debug)]
pub struct Place<'a> {
    pub name: Word<'a>,
    pub indices: Vec<Tree>,
}

/// Source of the entries of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum TableContent<'a> {
    /// The path of a file with numbers.
    File(Word<'a>),
    /// Numbers; those of a matrix by rows.
    List(Vec<Tree>),
}

/// Statements in braces.
#[derive(Clone, PartialEq, Debug)]
pub struct Block<'a> {
    pub statements: Vec<Statement<'a>>,
    /// The braces and all between them.
    pub span: Span,
}

/// One condition of an `if` and what it governs.
#[derive(Clone, PartialEq, Debug)]
pub struct Arm<'a> {
    pub condition: Tree,
    pub body: Block<'a>,
}

/// `fn name(params) { ... return value; }`; the short form `fn name(params) = value;` has a `return` alone.
#[derive(Clone, PartialEq, Debug)]
pub struct Function<'a> {
    pub name: Word<'a>,
    pub params: Vec<Word<'a>>,
    pub body: Block<'a>,
}

/// An expression and its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr<'a> {
    pub kind: ExprKind<'a>,
    pub span: Span,
}

/// The kind of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind<'a> {
    /// A number as written.
    Number(&'a str),
    Name(&'a str),
    Paren(ExprId),
    Unary(UnaryOp, ExprId),
    Binary(BinaryOp, ExprId, ExprId),
    /// `condition ? then : otherwise`
    Select(ExprId, ExprId, ExprId),
    Cast(Word<'a>, ExprId),
    /// `name[index]`, with an expression for each pair of brackets.
    Element(Word<'a>, Vec<ExprId>),
    /// An index on what is no name.
    Index(ExprId, ExprId),
    /// `x[high:low]`: bits of an integer.
    Bits(ExprId, ExprId, ExprId),
    /// A format as an argument.
    Format(Word<'a>),
    /// `(a, b, c)`
    Vector(Vec<ExprId>),
    Call(Word<'a>, Vec<ExprId>),
}

/// A prefix operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    Plus,
    Minus,
    /// `~`
    BitNot,
    /// `!`
    Not,
}

impl UnaryOp {
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Plus => "+",
            UnaryOp::Minus => "-",
            UnaryOp::BitNot => "~",
            UnaryOp::Not => "!",
        }
    }

    /// The operator of that symbol.
    pub fn from_symbol(symbol: &str) -> Option<UnaryOp> {
        [UnaryOp::Plus, UnaryOp::Minus, UnaryOp::BitNot, UnaryOp::Not].into_iter().find(|o| o.symbol() == symbol)
    }
}

/// An infix operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Or,
}

/// Every infix operator with its symbol and C's precedence; higher binds tighter.
pub static BINARY: &[(BinaryOp, &str, u8)] = &[
    (BinaryOp::Mul, "*", 10),
    (BinaryOp::Div, "/", 10),
    (BinaryOp::Rem, "%", 10),
    (BinaryOp::Add, "+", 9),
    (BinaryOp::Sub, "-", 9),
    (BinaryOp::Shl, "<<", 8),
    (BinaryOp::Shr, ">>", 8),
    (BinaryOp::Lt, "<", 7),
    (BinaryOp::Le, "<=", 7),
    (BinaryOp::Gt, ">", 7),
    (BinaryOp::Ge, ">=", 7),
    (BinaryOp::Eq, "==", 6),
    (BinaryOp::Ne, "!=", 6),
    (BinaryOp::BitAnd, "&", 5),
    (BinaryOp::BitXor, "^", 4),
    (BinaryOp::BitOr, "|", 3),
    (BinaryOp::And, "&&", 2),
    (BinaryOp::Or, "||", 1),
];

impl BinaryOp {
    pub fn symbol(self) -> &'static str {
        BINARY.iter().find(|b| b.0 == self).expect("the table has every operator").1
    }
}
