//! The operations of a pair, counted in the text that the GPU gets: the input of a prediction of its time.
//!
//! The text of a mode's function `pair` is [read](parse) into a graph of values in which equal expressions are one. Values
//! that nothing reads, and those that are the same for all sources, are not counted: the compiler takes both out of the loop.
//! The rest are costed as a GPU of compute capability 9 issues them, and fused as the GPU's instructions do in
//! one: a product with a sum, two sums or two logical operations of integers. `tests/suite/cuda.rs` of the host compares
//! the counts with compiled text.

mod cost;
mod parse;

use super::p2p::{Names, Real, Unfit};
use super::{exact, native, p2p};
use crate::graph::Graph;
use std::collections::HashMap;

/// Instructions of one pair, by what carries them out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Operations {
    /// Fused multiply-adds of f32.
    pub fused: u32,
    /// Other sums and products of f32.
    pub plain: u32,
    /// Fused multiply-adds of f64, and other sums and products and comparisons.
    pub fused_f64: u32,
    pub plain_f64: u32,
    /// Reciprocals, roots, exponentials and logarithms.
    pub functions: u32,
    /// Conversions between integers and floats, and counts of leading zeros, which the same units do.
    pub conversions: u32,
    /// Operations on 32-bit integers, comparisons and selections.
    pub integer: u32,
    /// Tables looked up.
    pub loads: u32,
}

impl Operations {
    /// Instructions that are issued.
    pub fn issued(&self) -> u32 {
        self.f32() + self.f64() + self.special() + self.integer + self.loads
    }

    /// Instructions of the units for f32, for f64, and for functions and conversions.
    pub fn f32(&self) -> u32 {
        self.fused + self.plain
    }

    pub fn f64(&self) -> u32 {
        self.fused_f64 + self.plain_f64
    }

    pub fn special(&self) -> u32 {
        self.functions + self.conversions
    }

    /// Operations on floats, of which a fused multiply-add is two.
    pub fn flops(&self) -> u32 {
        2 * (self.fused + self.fused_f64) + self.plain + self.plain_f64 + self.functions
    }

    fn add(&mut self, other: &Operations) {
        let Operations { fused, plain, fused_f64, plain_f64, functions, conversions, integer, loads } = other;
        self.fused += fused;
        self.plain += plain;
        self.fused_f64 += fused_f64;
        self.plain_f64 += plain_f64;
        self.functions += functions;
        self.conversions += conversions;
        self.integer += integer;
        self.loads += loads;
    }
}

/// The operations of the exact mode.
pub fn exact(graph: &Graph) -> Result<Operations, Unfit> {
    of_text(&exact::functions(graph))
}

/// The operations of the native mode of any kernel, in f64.
pub fn native(graph: &Graph) -> Result<Operations, Unfit> {
    of_text(&native::functions(graph))
}

/// The operations of P2P in native mode, for a kernel that has such a form.
pub fn p2p(graph: &Graph, names: &Names, real: Real) -> Result<Operations, Unfit> {
    of_text(&p2p::pair(graph, names, real)?)
}

/// The operations of the function `pair` in a text.
pub fn of_text(text: &str) -> Result<Operations, Unfit> {
    let values = parse::read(text).map_err(|why| Unfit(format!("the text of a pair cannot be counted: {why}")))?;
    Ok(cost::count(&values))
}

/// The type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ValueType {
    Truth,
    Int { bits: u32, signed: bool },
    F32,
    F64,
}

impl ValueType {
    fn is_float(self) -> bool {
        matches!(self, ValueType::F32 | ValueType::F64)
    }

    /// 32-bit words of it.
    fn words(self) -> u32 {
        match self {
            ValueType::Int { bits, .. } => bits.div_ceil(32),
            ValueType::F64 => 2,
            _ => 1,
        }
    }

    /// The type of a sum of both, as in C.
    fn with(self, other: ValueType) -> ValueType {
        match (self, other) {
            (ValueType::F64, _) | (_, ValueType::F64) => ValueType::F64,
            (ValueType::F32, _) | (_, ValueType::F32) => ValueType::F32,
            (ValueType::Int { bits: a, signed: s }, ValueType::Int { bits: b, signed: t }) => match a.cmp(&b) {
                std::cmp::Ordering::Equal => ValueType::Int { bits: a, signed: s && t },
                std::cmp::Ordering::Less => other,
                std::cmp::Ordering::Greater => self,
            },
            (ValueType::Truth, other) => other,
            (kind, ValueType::Truth) => kind,
        }
    }
}

/// The origin of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Made {
    /// Read before the pair, or a constant.
    Given(String),
    Literal(String),
    /// An operator of C, with one or two arguments.
    Operator(&'static str),
    Select,
    Cast,
    Call(String),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Value {
    made: Made,
    kind: ValueType,
    args: Vec<usize>,
}

/// The values of a pair: arguments before their users, equal ones once.
#[derive(Default, Debug)]
struct Values {
    list: Vec<Value>,
    known: HashMap<Value, usize>,
    /// Whether a value depends on the source or on the sums so far.
    varies: Vec<bool>,
    /// The values left at the end.
    results: Vec<usize>,
}

impl Values {
    fn add(&mut self, made: Made, kind: ValueType, args: Vec<usize>) -> usize {
        let varies = match &made {
            // The names of records are those of the modes: t a target, p the parameters, j a source, s the sums.
            Made::Given(name) => !["t.", "p.", "xi[", "eps2"].iter().any(|fixed| name.starts_with(fixed)),
            Made::Call(name) if name == "PF_AT" => self.varies[args[1]],
            _ => args.iter().any(|a| self.varies[*a]),
        };
        let value = Value { made, kind, args };
        *self.known.entry(value.clone()).or_insert_with(|| {
            self.list.push(value);
            self.varies.push(varies);
            self.list.len() - 1
        })
    }

    fn is_literal(&self, id: usize) -> bool {
        let value = &self.list[id];
        match value.made {
            Made::Literal(_) => true,
            Made::Cast => self.is_literal(value.args[0]),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(body: &str) -> Operations {
        let text = format!(
            "struct Target {{\n    uint32_t v0;\n    uint64_t v9;\n}};\nstruct Source {{\n    uint32_t v1;\n    uint64_t v2;\n}};\n\
             struct Sums {{\n    int64_t sum;\n    uint32_t flags;\n}};\n\
             PF void pair(const Target &t, const Source &j, const Params &p, Sums &s) {{\n    (void)t; (void)j;\n{body}\n}}\n"
        );
        of_text(&text).expect("it is such a text")
    }

    #[test]
    fn what_is_equal_unused_or_the_same_for_all_sources_is_not_counted_again() {
        let one = pair("const uint32_t a = j.v1 - t.v0; s.flags |= a;");
        assert_eq!(one, Operations { integer: 2, ..Operations::default() });
        assert_eq!(
            pair("const uint32_t a = j.v1 - t.v0; const uint32_t b = j.v1 - t.v0; s.flags |= a & b;").integer,
            3 - 1
        );
        assert_eq!(pair("const uint32_t a = j.v1 - t.v0; const uint32_t b = j.v1 * 3u; s.flags |= a;"), one);
        assert_eq!(pair("const uint32_t a = t.v0 * t.v0; s.flags |= j.v1 & a;").integer, 1);
    }

    #[test]
    fn wide_integers_take_several_instructions_and_fused_ones_one() {
        assert_eq!(pair("s.sum += (int64_t)j.v2;").integer, 2);
        assert_eq!(pair("s.flags |= j.v1 * t.v0 + 7u;").integer, 2);
        assert_eq!(pair("s.flags |= (uint32_t)(j.v2 + t.v9);").integer, 3);
        assert_eq!(
            pair("s.flags |= pf_clz32(j.v1);"),
            Operations { conversions: 1, integer: 2, ..Operations::default() }
        );
    }

    #[test]
    fn a_selection_compares_its_key() {
        let one = pair("select0(s, (int32_t)(j.v1 - t.v0), (int32_t)j.v1);");
        assert_eq!(one, Operations { integer: 4, ..Operations::default() });
    }

    #[test]
    fn what_is_no_pair_is_refused_with_its_place() {
        let why = of_text("PF void pair(Sums &s) {\n s.x += @;\n}\n").expect_err("no C").0;
        assert!(why.contains('@'), "{why}");
        assert!(of_text("void other() {}").is_err());
    }
}
