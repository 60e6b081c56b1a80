//! `lookup`: the entry of a table at an index, or at a row and a column (RULES L16).
//!
//! An index outside of the table gives 0 and raises `invalid`. What the table holds is part of the use. The entries of a table that is
//! loaded at run time are bound to it where they are known ([`Lookup::bound`]); until then all of them are 0, and the circuit reads a
//! memory that the engine writes.

use crate::circuit::{Circuit, Sig, X};
use crate::hash::fnv;
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CType, CVar};
use crate::op::facts;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator, TableUse};
use crate::rtl::expr::Test;
pub use crate::rtl::loaded::address_bits;
use crate::rtl::or_all;
use crate::{Bounds, Flags, Format};

/// The most entries of a table.
pub const MOST_ENTRIES: u32 = 1024;

/// A table that is read by an index.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lookup {
    pub format: Format,
    /// Entries of a vector, or rows of a matrix.
    pub rows: u32,
    /// Columns of a matrix, whose entries stand by rows.
    pub columns: Option<u32>,
    /// The patterns of the entries; of a loaded table none until they are bound.
    pub words: Vec<u64>,
    /// Entries in real arithmetic, as [`Real`] holds them; none where that is what the patterns say.
    pub reals: Vec<u64>,
    /// Where it is loaded at run time.
    pub loaded: Option<Loaded>,
}

/// The place of a table that is loaded at run time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Loaded {
    /// The number of its pin.
    pub pin: u32,
    /// The port of the pipeline by which it is written.
    pub port: String,
}

impl Lookup {
    /// Entries.
    pub fn count(&self) -> u32 {
        self.rows * self.columns.unwrap_or(1)
    }

    /// The numbers that each index is below.
    pub fn limits(&self) -> Vec<u32> {
        [Some(self.rows), self.columns].into_iter().flatten().collect()
    }

    /// Bits of the number of an entry.
    pub fn address_bits(&self) -> u32 {
        address_bits(self.count())
    }

    /// Whether its entries are known only at run time.
    pub fn is_open(&self) -> bool {
        self.loaded.is_some() && self.words.is_empty()
    }

    /// A loaded table with these entries, which are patterns, or what [`Real`] holds of numbers.
    pub fn bound(&self, entries: &[u64], is_real: bool) -> Lookup {
        let reals = if is_real { entries.to_vec() } else { Vec::new() };
        let word = |x: &u64| if is_real { Real::of_bits(*x).nearest(self.format) } else { *x & self.format.mask() };
        Lookup { words: entries.iter().map(word).collect(), reals, ..self.clone() }
    }

    /// A text by which tables with other contents are told apart.
    pub fn text(&self) -> String {
        let shape = self.limits().iter().map(|n| format!("[{n}]")).collect::<String>();
        match &self.loaded {
            Some(loaded) => format!("{}{shape} loaded {}", self.format, loaded.pin),
            None => {
                let entries: Vec<String> = self.words.iter().map(|w| format!("{w:x}")).collect();
                format!("{}{shape} {}", self.format, entries.join(" "))
            }
        }
    }

    /// A hash of the text, for names that stay the same.
    pub fn digest(&self) -> u64 {
        fnv(&self.text())
    }

    /// The number of the entry at these indices, if there is one.
    fn place(&self, formats: &[Format], args: &[u64]) -> Option<usize> {
        place(&self.limits(), formats, args)
    }

    /// The entries as numbers in real arithmetic; none of an open table.
    pub fn numbers(&self) -> Vec<f64> {
        let number = |(k, word): (usize, &u64)| {
            self.reals.get(k).map_or_else(|| self.format.to_f64(*word), |x| Real::of_bits(*x).value(self.format))
        };
        self.words.iter().enumerate().map(number).collect()
    }

    fn word(&self, place: usize) -> u64 {
        self.words.get(place).copied().unwrap_or(0)
    }
}

/// The number of the element at indices below these limits, if there is one.
pub(super) fn place(limits: &[u32], formats: &[Format], args: &[u64]) -> Option<usize> {
    let mut place = 0;
    for ((limit, format), bits) in limits.iter().zip(formats).zip(args) {
        let index = format.to_int(*bits);
        if !(0..*limit as i128).contains(&index) {
            return None;
        }
        place = place * *limit as usize + index as usize;
    }
    Some(place)
}

pub struct At;

fn of(inst: &Inst) -> &Lookup {
    inst.attrs.lookup.as_ref().expect("a use of `lookup` has a table")
}

/// Whether an index can be below 0, and whether it can be beyond the last.
pub(super) fn outside(inst: &Inst, k: usize, limit: u32) -> (bool, bool) {
    let b = inst.bounds(k);
    (b.low < 0, b.high >= limit as i128)
}

impl Operator for At {
    fn name(&self) -> &'static str {
        "lookup"
    }

    fn summary(&self) -> &'static str {
        "the entry of a table at an index; 0 with `invalid` outside"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        let table = attrs.lookup.as_ref().ok_or("`lookup` needs a table")?;
        if args.len() != table.limits().len() || !args.iter().all(|f| f.is_int()) {
            return Err("`lookup` takes an int or uint for each index of its table".into());
        }
        Ok(table.format)
    }

    fn flags(&self, inst: &Inst) -> Flags {
        let limits = of(inst).limits();
        let out = |(k, limit): (usize, &u32)| {
            let (below, above) = outside(inst, k, *limit);
            below || above
        };
        Flags::INVALID.when(limits.iter().enumerate().any(out))
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let table = of(inst);
        if table.loaded.is_some() {
            return Bounds::of(inst.result);
        }
        let words = table.words.iter().map(|w| Bounds::exactly(inst.result, *w));
        let all = words.reduce(Bounds::or).unwrap_or_else(|| Bounds::of(inst.result));
        if self.flags(inst).is_empty() { all } else { all.or(Bounds::exactly(inst.result, 0)) }
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        let (table, top) = (of(inst), inst.result.width() - 1);
        table.loaded.is_none() && table.words.iter().all(|w| w >> top & 1 == 0)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let table = of(inst);
        table.place(&inst.args, args).map_or((0, Flags::INVALID), |place| (table.word(place), Flags::NONE))
    }

    fn lanes(&self, inst: &Inst, args: &[&[u64]], out: &mut [u64]) -> Flags {
        let table = of(inst);
        facts::each(out, |lane| {
            let mut row = [0; 2];
            row.iter_mut().zip(args).for_each(|(x, column)| *x = column[lane]);
            let place = table.place(&inst.args, &row[..args.len()]);
            place.map_or((0, Flags::INVALID), |place| (table.word(place), Flags::NONE))
        })
    }

    fn real(&self, inst: &Inst, args: &[Real]) -> (Real, Flags) {
        let table = of(inst);
        let patterns: Vec<u64> = args.iter().map(|a| a.bits()).collect();
        let Some(place) = table.place(&inst.args, &patterns) else { return (Real::default(), Flags::INVALID) };
        let own = table.reals.get(place).map(|x| Real::of_bits(*x));
        (own.unwrap_or_else(|| Real::read(inst.result, table.word(place))), Flags::NONE)
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        let table = of(inst);
        let rounded = |(word, real): (&u64, &u64)| Real::read(table.format, *word) != Real::of_bits(*real);
        let ulps = if table.words.iter().zip(&table.reals).any(rounded) { 0.5 } else { 0.0 };
        Accuracy { ulps, ..Accuracy::exact(Meaning::Entry) }
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let table = of(inst);
        let (inside, place) = (c_inside(&table.limits(), inst, args), c_place(table.columns, args));
        let entry = match &table.loaded {
            Some(loaded) => c_loaded(table.format, &format!("p.{}[{place}]", loaded.port)),
            None => {
                let texts: Vec<String> = (0..table.count() as usize).map(|k| c_number(table, k)).collect();
                chosen(&place, &texts)
            }
        };
        format!("({inside} ? {entry} : 0)")
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let table = of(inst);
        let (inside, place) = c_located(&table.limits(), inst, c, args);
        // What is outside reads entry 0, which is always there.
        let place = match &inside {
            Some(inside) => c.set(crate::op::ctext::U32, format!("{inside} ? {place} : 0u")),
            None => c.set(crate::op::ctext::U32, place),
        };
        let kind = CType::of(inst.result);
        let entry = match &table.loaded {
            Some(loaded) => {
                let raw = c.set(kind, format!("p.{}[{place}]", loaded.port));
                match mark(table.format) {
                    Some(mark) => c.set(kind, format!("({raw} & {}) != 0 ? {raw} : 0", kind.number(mark as i128))),
                    None => raw,
                }
            }
            None => {
                let values = (0..table.count() as usize).map(|k| table.word(k) as i64).collect();
                let entry = c.look_up(values, &place);
                c.set(kind, entry)
            }
        };
        let Some(inside) = inside else { return entry };
        c.raise(Flags::INVALID, format!("!{inside}"));
        c.set(kind, format!("{inside} ? {entry} : 0"))
    }

    fn table(&self, inst: &Inst) -> Option<TableUse> {
        let table = of(inst);
        let bits = table.format.width() as u64 * table.count() as u64;
        Some(TableUse { pieces: table.count(), degree: 0, bits, error: 0.0, floor: None })
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let table = of(inst);
        let inside = inside(inst, &table.limits(), c, args);
        let address = address((table.rows, table.columns), c, args);
        let width = inst.result.width();
        let word = match &table.loaded {
            Some(loaded) if table.is_open() => c.ram("entry", &loaded.port, (width, table.count()), address),
            _ => c.rom("entry", width, address, (0..table.count() as usize).map(|k| table.word(k)).collect()),
        };
        let Some(inside) = inside else { return (word, None) };
        let q = c.logic("known", c.x(word) & c.x(inside).repeat(width));
        let invalid = c.logic("invalid", !c.x(inside));
        (q, Some(invalid))
    }
}

/// Whether all indices are inside; `None` where they always are.
pub(super) fn inside(inst: &Inst, limits: &[u32], c: &mut Circuit, args: &[Sig]) -> Option<Sig> {
    let mut wrong = Vec::new();
    for (k, limit) in limits.iter().copied().enumerate() {
        let (below, above) = outside(inst, k, limit);
        let (x, signed) = (c.x(args[k]), inst.args[k].is_signed());
        if below {
            wrong.push(x.msb());
        }
        if above {
            // Of a negative one the sign has been seen.
            let own = x.low(x.width() - signed as u32);
            let end = X::constant(own.width(), limit as i128 - 1);
            let beyond = c.logic("beyond", own.compare(Test::Gt, false, &end));
            wrong.push(c.x(beyond));
        }
    }
    or_all(wrong).map(|any| c.logic("inside", !any))
}

/// The number of the entry. What is outside reads some entry, or none.
pub(super) fn address((rows, columns): (u32, Option<u32>), c: &mut Circuit, args: &[Sig]) -> Sig {
    let bits = address_bits(rows * columns.unwrap_or(1));
    let cut = |x: X, most: u32| if x.width() > most { x.low(most) } else { x };
    let Some(columns) = columns else {
        let x = cut(c.x(args[0]), bits).zext(bits);
        return c.logic("address", x);
    };
    let row = cut(c.x(args[0]), address_bits(rows));
    let column = cut(c.x(args[1]), address_bits(columns)).zext(bits.max(address_bits(columns))).low(bits);
    if rows == 1 {
        return c.logic("address", column);
    }
    let mut sum: Option<Sig> = None;
    for k in (0..32).filter(|k| columns >> k & 1 == 1) {
        let part = row.shl(k);
        let part = cut(part, bits);
        let part = part.zext(bits);
        let next = match sum {
            None => part,
            Some(sum) => c.x(sum) + part,
        };
        sum = Some(c.logic("row", next));
    }
    let row = sum.expect("a table has a column");
    let expr = match columns.is_power_of_two() {
        true => c.x(row) | column,
        false => c.x(row) + column,
    };
    c.logic("address", expr)
}

/// Whether indices are inside, in the native mode of C.
pub(super) fn c_inside(limits: &[u32], inst: &Inst, args: &[&str]) -> String {
    let test = |((limit, a), format): ((&u32, &&str), &Format)| match format.is_signed() {
        true => format!("{a} >= 0 && {a} < {limit}"),
        false => format!("{a} < {limit}"),
    };
    let tests: Vec<String> = limits.iter().zip(args).zip(&inst.args).map(test).collect();
    format!("({})", tests.join(" && "))
}

/// The number of an element that is inside, in the native mode of C.
pub(super) fn c_place(columns: Option<u32>, args: &[&str]) -> String {
    match (columns, args) {
        (Some(columns), [row, column]) => format!("(int){row} * {columns} + (int){column}"),
        _ => format!("(int){}", args[0]),
    }
}

/// A test of whether indices are inside, where they need not be, and the number of the element, in C text of bits.
pub(super) fn c_located(limits: &[u32], inst: &Inst, c: &mut CText, args: &[CVar]) -> (Option<CVar>, String) {
    let (mut tests, mut indices) = (Vec::new(), Vec::new());
    for (k, (limit, arg)) in limits.iter().zip(args).enumerate() {
        let (below, above) = outside(inst, k, *limit);
        let index = c.int(inst.args[k], arg);
        if below {
            tests.push(format!("({index} >= 0)"));
        }
        if above {
            tests.push(format!("({index} < {limit})"));
        }
        indices.push(index);
    }
    let place = match (limits, &indices[..]) {
        ([_, columns], [row, column]) => format!("(uint32_t){row} * {columns}u + (uint32_t){column}"),
        _ => format!("(uint32_t){}", indices[0]),
    };
    let inside = (!tests.is_empty()).then(|| c.test(tests.join(" & ")));
    (inside, place)
}

/// The number of an entry in the native mode of C.
fn c_number(table: &Lookup, k: usize) -> String {
    let format = table.format;
    if format.is_integral() {
        let value = format.to_int(table.word(k));
        return if format.is_signed() { format!("(int64_t){:#x}ull", value as i64) } else { format!("{value:#x}ull") };
    }
    let own = table.reals.get(k).map(|x| f64::from_bits(*x));
    format!("{:?}", own.unwrap_or_else(|| format.to_f64(table.word(k))))
}

/// One of the texts, by a tree of choices.
fn chosen(place: &str, texts: &[String]) -> String {
    fn part(place: &str, first: usize, texts: &[String]) -> String {
        match texts {
            [one] => one.clone(),
            _ if texts.iter().all(|t| *t == texts[0]) => texts[0].clone(),
            _ => {
                let half = texts.len() / 2;
                let (low, high) = (part(place, first, &texts[..half]), part(place, first + half, &texts[half..]));
                format!("({place} < {} ? {low} : {high})", first + half)
            }
        }
    }
    part(place, 0, texts)
}

/// Read of an entry of a loaded table, in the native mode of C.
fn c_loaded(format: Format, entry: &str) -> String {
    let unused = 64 - format.width();
    match (format.is_integral(), format.is_signed()) {
        (true, true) => format!("((int64_t)({entry} << {unused}) >> {unused})"),
        (true, false) => entry.to_string(),
        (false, _) => format!("number({entry})"),
    }
}

/// The bits of a float or log of which one is set unless it is 0 (RULES N1).
fn mark(format: Format) -> Option<u64> {
    match format {
        Format::Float { mant, .. } => Some(format.mask() >> 1 & !((1u64 << mant) - 1)),
        Format::Log { width, .. } => Some(1 << (width - 2)),
        _ => None,
    }
}
