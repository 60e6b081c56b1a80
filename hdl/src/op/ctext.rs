//! C text of operators' bits: a builder of statements for the exact mode of CUDA.
//!
//! [`CText`] gives names to values and collects the statements, the tables they read and the flags that they raise. The text
//! is CUDA C and C++ alike; what differs between the two stands in [`PRELUDE`]. A pattern is held in a `uint32_t` where its
//! format has at most 32 bits, else in a `uint64_t`; no bit above the format's width is ever set.

pub mod double;
pub mod floats;
pub mod ints;
pub mod logs;
pub mod single;
pub mod smt;

use super::{Inst, Operator};
use crate::{Flags, Format};
use std::fmt::{Display, Formatter};

/// An integer type of C: 32, 64 or 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CType {
    pub bits: u32,
    pub signed: bool,
}

pub const U32: CType = CType { bits: 32, signed: false };
pub const I32: CType = CType { bits: 32, signed: true };
pub const I64: CType = CType { bits: 64, signed: true };
pub const U64: CType = CType { bits: 64, signed: false };

impl CType {
    /// The narrowest unsigned type of so many bits.
    pub fn unsigned(bits: u32) -> CType {
        assert!(bits <= 128, "C has no integer of {bits} bits");
        CType {
            bits: if bits <= 32 {
                32
            } else if bits <= 64 {
                64
            } else {
                128
            },
            signed: false,
        }
    }

    /// The narrowest signed type of so many bits, the sign among them.
    pub fn signed(bits: u32) -> CType {
        CType { signed: true, ..CType::unsigned(bits) }
    }

    /// The type that holds a pattern of a format.
    pub fn of(format: Format) -> CType {
        CType::unsigned(format.width())
    }

    /// A constant of this type.
    pub fn number(self, value: i128) -> String {
        let low = value as u64;
        let text = match self.bits {
            32 => format!("{:#x}u", low as u32),
            64 => format!("{low:#x}ull"),
            _ => format!("(((pf_u128){:#x}ull << 64) | {low:#x}ull)", (value >> 64) as u64),
        };
        if self.signed { format!("(({self}){text})") } else { text }
    }
}

impl Display for CType {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str(match (self.bits, self.signed) {
            (32, false) => "uint32_t",
            (32, true) => "int32_t",
            (64, false) => "uint64_t",
            (64, true) => "int64_t",
            (_, false) => "pf_u128",
            (_, true) => "pf_i128",
        })
    }
}

/// A value: a name or a constant, and its type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CVar {
    pub text: String,
    pub kind: CType,
}

impl CVar {
    pub fn new(text: impl Display, kind: CType) -> CVar {
        CVar { text: text.to_string(), kind }
    }

    /// A constant pattern.
    pub fn constant(format: Format, bits: u64) -> CVar {
        let kind = CType::of(format);
        CVar::new(kind.number(bits as i128), kind)
    }
}

impl Display for CVar {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Constants that the text looks up by an index.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CTable {
    pub name: String,
    /// The type of an element, such as `unsigned short`.
    pub element: &'static str,
    /// Bytes of an element.
    pub bytes: u32,
    /// Elements as two's complement of 64 bits.
    pub values: Vec<i64>,
}

impl CTable {
    fn new(name: String, values: Vec<i64>) -> CTable {
        let (low, high) = values.iter().fold((0, 0), |(l, h), v| (*v.min(&l), *v.max(&h)));
        let types = [("unsigned char", 1, 0, u8::MAX as i64), ("signed char", 1, i8::MIN as i64, i8::MAX as i64)];
        let types = types.into_iter().chain([("unsigned short", 2, 0, u16::MAX as i64)]);
        let types = types.chain([("short", 2, i16::MIN as i64, i16::MAX as i64)]);
        let types =
            types.chain([("uint32_t", 4, 0, u32::MAX as i64), ("int32_t", 4, i32::MIN as i64, i32::MAX as i64)]);
        let mut types = types.chain([("int64_t", 8, i64::MIN, i64::MAX)]);
        let (element, bytes, ..) = types.find(|t| t.2 <= low && high <= t.3).expect("the last one holds all");
        CTable { name, element, bytes, values }
    }

    /// The table's definition.
    pub fn definition(&self) -> String {
        let one = |v: &i64| match *v {
            i64::MIN => "(-0x7fffffffffffffffll - 1)".to_string(),
            v if self.bytes == 8 => format!("{v}ll"),
            v if v > i32::MAX as i64 => format!("{v}u"),
            v => v.to_string(),
        };
        let row = |row: &[i64]| row.iter().map(one).collect::<Vec<_>>().join(", ");
        let rows: Vec<String> = self.values.chunks(16).map(row).collect();
        format!("PF_TABLE {} {}[] = {{\n{}}};\n", self.element, self.name, rows.join(",\n"))
    }
}

/// Statements as they grow.
#[derive(Clone, Debug, Default)]
pub struct CText {
    pub lines: Vec<String>,
    pub tables: Vec<CTable>,
    raised: Vec<(Flags, String)>,
    names: usize,
}

impl CText {
    /// Names the value of an expression, which becomes of that type.
    pub fn set(&mut self, kind: CType, expr: impl Display) -> CVar {
        let name = format!("t{}", self.names);
        self.names += 1;
        self.lines.push(format!("const {kind} {name} = ({kind})({expr});"));
        CVar { text: name, kind }
    }

    /// Names a condition.
    pub fn test(&mut self, expr: impl Display) -> CVar {
        let name = format!("t{}", self.names);
        self.names += 1;
        self.lines.push(format!("const bool {name} = {expr};"));
        CVar { text: name, kind: U32 }
    }

    /// The lowest bits of an expression as a pattern. The expression is an integer of the pattern's type at least.
    pub fn wrap(&mut self, format: Format, expr: impl Display) -> CVar {
        let kind = CType::of(format);
        match format.width() == kind.bits {
            true => self.set(kind, expr),
            false => self.set(kind, format!("({kind})({expr}) & {}", kind.number(format.mask() as i128))),
        }
    }

    /// The integer of an int's or fixed's pattern, of the narrowest type that holds it.
    pub fn int(&mut self, format: Format, x: &CVar) -> CVar {
        let kind = CType::of(format);
        if !format.is_signed() {
            return x.clone();
        }
        let (kind, unused) = (CType { signed: true, ..kind }, kind.bits - format.width());
        match unused {
            0 => self.set(kind, x),
            _ => self.set(kind, format!("({kind})({x} << {unused}) >> {unused}")),
        }
    }

    /// Raises flags where a condition holds.
    pub fn raise(&mut self, flags: Flags, when: impl Display) {
        self.raised.push((flags, when.to_string()));
    }

    /// How many flags have been raised so far.
    pub fn raised(&self) -> usize {
        self.raised.len()
    }

    /// Makes the flags raised behind the first so many ones count only under one more condition.
    pub fn restrict(&mut self, first: usize, when: &CVar) {
        self.raised[first..].iter_mut().for_each(|(_, test)| *test = format!("{when} & ({test})"));
    }

    /// The expression that reads a table at an index.
    pub fn look_up(&mut self, values: Vec<i64>, index: impl Display) -> String {
        let known = self.tables.iter().find(|t| t.values == values).map(|t| t.name.clone());
        let name = known.unwrap_or_else(|| {
            let name = format!("pf_k{}", self.tables.len());
            self.tables.push(CTable::new(name.clone(), values));
            name
        });
        format!("PF_AT({name}, {index})")
    }
}

/// The statements of one use: [`Operator::c_bits`], and the flags that the operator states with their conditions.
pub fn of_use(op: &dyn Operator, inst: &Inst, c: &mut CText, args: &[CVar]) -> (CVar, Vec<(Flags, String)>) {
    let value = op.c_bits(inst, c, args);
    let stated = op.flags(inst);
    // A table's result can be cast by an operator that knows less of it.
    let raised = std::mem::take(&mut c.raised).into_iter().map(|(f, when)| (Flags(f.0 & stated.0), when));
    (value, raised.filter(|(f, _)| !f.is_empty()).collect())
}

/// The types of C, and `PF` for what is before each function, where the text stands alone.
pub const HEAD: &str = include_str!("ctext/head.h");

/// The functions the text needs behind that: shifts by any amount, counts of leading zeros, and the exact sums of outputs. All of
/// them behave the same under CUDA and in C++ on the host.
pub const PRELUDE: &str = include_str!("ctext/prelude.h");
