//! The regions of a program, found by a walk over its statements.

use super::{Knob, Read, Region, Source, Word, float};
use crate::check::Found;
use crate::diag::Span;
use crate::graph::{Graph, PinClass};
use crate::syntax::ast::{self, BinaryOp, Expr, ExprId, ExprKind, Program, Statement, StatementKind, Tree};
use hdl::Format;
use std::collections::HashMap;

/// Functions of the library between whose argument and result a pattern passes, not a number.
const OF_PATTERNS: [&str; 2] = ["pg_bits", "pg_from_bits"];

/// The comparisons, whose arguments have one format and whose result has none of theirs.
const COMPARISONS: [BinaryOp; 6] = [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne];

/// The findings on the way.
pub struct Walk<'a> {
    program: &'a Program<'a>,
    found: &'a [Found],
    graph: &'a Graph,
    /// The kernel's own text.
    text: &'a str,
    pub knobs: Vec<Knob>,
    pub regions: Vec<Region>,
    pub reads: Vec<Read>,
    pub words: Vec<Word>,
    pub places: HashMap<(Span, Format), usize>,
    /// The choices of names, by the format that the file gives them.
    names: HashMap<(&'a str, Format), usize>,
    /// The regions of parameters.
    pub params: HashMap<&'a str, usize>,
}

impl<'a> Walk<'a> {
    pub fn new(program: &'a Program<'a>, found: &'a [Found], graph: &'a Graph, text: &'a str) -> Walk<'a> {
        Walk {
            program,
            found,
            graph,
            text,
            knobs: Vec::new(),
            regions: Vec::new(),
            reads: Vec::new(),
            words: Vec::new(),
            places: HashMap::new(),
            names: HashMap::new(),
            params: HashMap::new(),
        }
    }

    fn expr(&self, id: ExprId) -> &'a Expr<'a> {
        &self.program.exprs[id.0 as usize]
    }

    fn format(&self, id: ExprId) -> Option<Format> {
        float(self.found[id.0 as usize])
    }

    fn knob(&mut self, name: String, at: usize, format: Format, is_input: bool) -> usize {
        let line = super::line(self.text, at);
        self.knobs.push(Knob { name, line, format, is_input, is_kept: false });
        self.knobs.len() - 1
    }

    /// The choice of a name, which is made where there is none.
    fn name(&mut self, name: ast::Word<'a>, format: Format) -> usize {
        if let Some(knob) = self.names.get(&(name.text, format)) {
            return *knob;
        }
        let knob = self.knob(name.text.to_string(), name.span.start, format, false);
        self.names.insert((name.text, format), knob);
        knob
    }

    fn source(&self, name: &'a str, format: Format) -> Source {
        if let Some(region) = self.params.get(name) {
            return Source::Region(*region);
        }
        self.names.get(&(name, format)).map_or(Source::Fixed(format), |k| Source::Knob(*k))
    }

    fn region(&mut self, source: Option<Source>, format: Format) -> usize {
        self.regions.push(Region { source, format, reads: Vec::new(), readers: Vec::new() });
        self.regions.len() - 1
    }

    pub fn statements(&mut self, statements: &'a [Statement<'a>]) {
        for statement in statements.iter().filter(|s| s.span.start < self.text.len()) {
            match &statement.kind {
                StatementKind::Declare { format, name, .. } => {
                    let Some(pin) = self.graph.pins.iter().find(|p| p.name == name.text) else { continue };
                    if pin.format.is_float() && pin.class == PinClass::Param {
                        // It is in the format in which it is read.
                        let region = self.region(None, pin.format);
                        self.params.insert(name.text, region);
                        let follows = Source::Region(region);
                        self.words.push(Word { span: format.span, follows, format: pin.format });
                    } else if pin.format.is_float() {
                        let is_input = pin.class != PinClass::Fout;
                        let knob = self.knob(name.text.to_string(), name.span.start, pin.format, is_input);
                        self.names.insert((name.text, pin.format), knob);
                        self.words.push(Word { span: format.span, follows: Source::Knob(knob), format: pin.format });
                    }
                }
                StatementKind::Assign { name, indices, value } => {
                    self.trees(indices);
                    self.value(*name, *value);
                }
                StatementKind::Reduce { target, indices, value, .. } => {
                    self.trees(indices);
                    self.value(*target, *value);
                }
                StatementKind::Select { targets, values, .. } => {
                    for (target, value) in targets.iter().zip(values) {
                        self.trees(&target.indices);
                        self.value(target.name, *value);
                    }
                }
                StatementKind::Filter { condition } => self.visit(condition.root, None),
                StatementKind::For { body, .. } => self.statements(&body.statements),
                StatementKind::If { arms, otherwise } => {
                    for arm in arms {
                        self.visit(arm.condition.root, None);
                        self.statements(&arm.body.statements);
                    }
                    otherwise.iter().for_each(|block| self.statements(&block.statements));
                }
                _ => {}
            }
        }
    }

    fn trees(&mut self, trees: &[Tree]) {
        trees.iter().for_each(|tree| self.visit(tree.root, None));
    }

    /// The value that a name is given: it is in the name's format.
    fn value(&mut self, name: ast::Word<'a>, value: Tree) {
        let region = self.format(value.root).map(|format| {
            let knob = self.name(name, format);
            self.region(Some(Source::Knob(knob)), format)
        });
        self.visit(value.root, region);
    }

    fn read(&mut self, at: usize, source: Option<Source>, region: Option<usize>) {
        if let (Some(source), Some(region)) = (source, region) {
            match source {
                Source::Region(param) => self.regions[param].readers.push(region),
                _ => self.regions[region].reads.push(source),
            }
            self.reads.push(Read { at, source, region });
        }
    }

    /// Whether an expression is a name or an element of one.
    fn is_name(&self, id: ExprId) -> bool {
        match &self.expr(id).kind {
            ExprKind::Name(_) | ExprKind::Element(..) => true,
            ExprKind::Paren(inner) => self.is_name(*inner),
            _ => false,
        }
    }

    /// Visits an expression; a float belongs to `region`, or to a new one.
    fn visit(&mut self, id: ExprId, region: Option<usize>) {
        let (expr, format) = (self.expr(id), self.format(id));
        let region = format.map(|format| region.unwrap_or_else(|| self.region(None, format)));
        if let (Some(region), Some(format)) = (region, format) {
            self.places.insert((expr.span, format), region);
        }
        match &expr.kind {
            ExprKind::Number(_) | ExprKind::Format(_) => {}
            ExprKind::Name(name) => {
                let source = format.map(|f| self.source(name, f));
                self.read(expr.span.start, source, region);
            }
            ExprKind::Element(word, indices) => {
                let source = format.map(|f| self.source(word.text, f));
                self.read(expr.span.start, source, region);
                indices.iter().for_each(|i| self.visit(*i, None));
            }
            ExprKind::Paren(inner) | ExprKind::Unary(_, inner) => self.visit(*inner, region),
            ExprKind::Binary(op, a, b) => {
                let of = self.format(*a).or(self.format(*b)).filter(|_| COMPARISONS.contains(op));
                let region = of.map(|format| self.region(None, format)).or(region);
                [a, b].into_iter().for_each(|id| self.visit(*id, region));
            }
            ExprKind::Select(condition, a, b) => {
                self.visit(*condition, None);
                [a, b].into_iter().for_each(|id| self.visit(*id, region));
            }
            ExprKind::Cast(word, arg) => {
                if let (Some(region), Some(format)) = (region, format) {
                    self.words.push(Word { span: word.span, follows: Source::Region(region), format });
                    // A cast's node has the place of its argument.
                    self.places.insert((self.expr(*arg).span, format), region);
                }
                let inner = self.format(*arg).map(|format| {
                    let knob = (!self.is_name(*arg)).then(|| {
                        let name = format!("what becomes {}", word.text);
                        Source::Knob(self.knob(name, expr.span.start, format, false))
                    });
                    self.region(knob, format)
                });
                self.visit(*arg, inner);
            }
            ExprKind::Index(base, index) => {
                self.visit(*base, region);
                self.visit(*index, None);
            }
            ExprKind::Bits(base, high, low) => [base, high, low].into_iter().for_each(|id| self.visit(*id, None)),
            ExprKind::Vector(elements) => elements.iter().for_each(|id| self.visit(*id, region)),
            ExprKind::Call(function, args) => {
                let keeps = function.text.starts_with("pg_") && !OF_PATTERNS.contains(&function.text);
                if !keeps {
                    self.read(expr.span.start, format.map(Source::Fixed), region);
                }
                for arg in args {
                    let region = match self.format(*arg) {
                        Some(f) if keeps && format == Some(f) => region,
                        Some(f) => Some(self.region(Some(Source::Fixed(f)), f)),
                        None => None,
                    };
                    self.visit(*arg, region);
                }
            }
        }
    }
}
