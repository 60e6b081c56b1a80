//! The operator library: what a pipeline is made of.
//!
//! An operator is a type that implements [`Operator`], in a file of its own, registered by one line in
//! [`OPERATORS`]. [`Operator::bits`] is the specification; the Verilog that [`Operator::circuit`] leads to, the C
//! expression and every fast path elsewhere are tested against it.

pub mod accuracy;
pub mod addend;
pub mod compare;
pub mod ctext;
pub mod facts;
pub mod float;
pub mod int;
pub mod log;
pub(crate) mod pieces;
pub mod semantics;
pub mod table;

/// The operators of a module, and for each one the constant by which other modules refer to it, such as [`int::ADD`].
macro_rules! operators {
    ($($name:ident: $operator:expr,)*) => {
        $(pub const $name: &dyn crate::op::Operator = &$operator;)*

        /// The operators of this module.
        pub(super) const OPERATORS: &[&dyn crate::op::Operator] = &[$($name),*];
    };
}
use operators;

use crate::circuit::target::Clock;
use crate::circuit::{Circuit, Pipelined, Sig, pipeline};
use crate::number::bounds::Bounds;
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::addend::{Addend, Scaling};
use crate::{Flags, Format, Rounding};
use ctext::{CText, CVar};
use facts::{Fast, Fold, Loss, Outcome, Twice, Unwrapped};
use pieces::monotone::Ends;
pub use pieces::power::MAX_NUMERATOR;
pub use pieces::scale::MOST_PLACES;
pub use pieces::whole::Way;
use semantics::Real;
use std::fmt::{Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::OnceLock;

/// Every operator, module by module.
pub static OPERATORS: Operators = Operators;

/// The list of all operators. A function puts it together at its first use: what the value of a static reaches is compiled into every
/// program of unit tests, and here that is all circuits.
pub struct Operators;

impl Deref for Operators {
    type Target = [&'static dyn Operator];

    fn deref(&self) -> &Self::Target {
        static ALL: OnceLock<Vec<&'static dyn Operator>> = OnceLock::new();
        let rooms = || [int::OPERATORS, compare::OPERATORS, float::OPERATORS, log::OPERATORS, table::OPERATORS];
        ALL.get_or_init(|| rooms().concat())
    }
}

/// The operator of that name.
pub fn operator(name: &str) -> Option<&'static dyn Operator> {
    OPERATORS.iter().copied().find(|o| o.name() == name)
}

/// The source file of an operator, for messages.
pub fn source(op: &dyn Operator) -> String {
    let modules = op.path().rsplit_once("::").map_or("", |(modules, _)| modules);
    format!("{}.rs", modules.replacen("::", "/src/", 1).replace("::", "/"))
}

impl PartialEq for dyn Operator {
    fn eq(&self, other: &dyn Operator) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Operator {}

impl Hash for dyn Operator {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl Debug for dyn Operator {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Compile-time numbers of one use of an operator. Unused ones stay at their default.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Attrs {
    /// The format to cast to.
    pub to: Option<Format>,
    /// A shift amount, or the numerator of an exponent.
    pub n: i32,
    /// The denominator of an exponent.
    pub d: i32,
    /// How the result is rounded; always the default where the operator does not round.
    pub round: Rounding,
    /// A function of the user's.
    pub function: Option<Arc<table::func::Function>>,
    /// A table of entries.
    pub lookup: Option<Arc<table::lookup::Lookup>>,
}

/// One use of an operator: the formats around it, its attributes, and what is known of its arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Inst {
    pub args: Vec<Format>,
    pub attrs: Attrs,
    pub result: Format,
    /// Bit k says that argument k is known never to be negative. It may shrink the circuit and must not
    /// change a bit or a flag of any result that can occur.
    pub nonneg: u32,
    /// How small and how large each argument can be; empty where no more is known than the formats say. The same holds
    /// for it as for `nonneg`.
    pub bounds: Vec<Bounds>,
    /// Whether all arguments are known to be one value; the same holds for it.
    pub same: bool,
}

impl Inst {
    /// Checks the formats through the operator and fills in the result's.
    pub fn new(op: &dyn Operator, args: &[Format], attrs: Attrs) -> Result<Inst, String> {
        let round = if op.rounds() { attrs.round } else { Rounding::Nearest };
        let attrs = Attrs { round, ..attrs };
        let result = op.result(args, &attrs)?;
        Ok(Inst { args: args.to_vec(), attrs, result, nonneg: 0, bounds: Vec::new(), same: false })
    }

    /// Whether the result is rounded toward zero.
    pub fn truncates(&self) -> bool {
        self.attrs.round.truncates()
    }

    /// Whether argument `k` is never negative, by its format or since that is known.
    pub fn never_negative(&self, k: usize) -> bool {
        self.is_nonneg(k) || !self.args[k].is_signed()
    }

    /// Whether no argument is ever negative.
    pub fn none_negative(&self) -> bool {
        (0..self.args.len()).all(|k| self.never_negative(k))
    }

    /// Whether argument `k` is known never to be negative.
    pub fn is_nonneg(&self, k: usize) -> bool {
        self.nonneg >> k & 1 == 1
    }

    /// Whether the result is more than a function of the arguments: an entry of a table that is loaded at run time.
    pub fn is_open(&self) -> bool {
        self.attrs.lookup.as_ref().is_some_and(|table| table.loaded.is_some())
    }

    /// How small and how large argument `k` can be.
    pub fn bounds(&self, k: usize) -> Bounds {
        let known = self.bounds.get(k).copied().unwrap_or_else(|| Bounds::of(self.args[k]));
        let cut = self.is_nonneg(k) && self.args[k].is_integral();
        Bounds { low: if cut { known.low.max(0) } else { known.low }, ..known }
    }

    /// The least pattern of a float's or log's magnitude other than 0, and the greatest one.
    pub fn magnitudes(&self, k: usize) -> (u64, u64) {
        let b = self.bounds(k);
        (b.low as u64, b.high as u64)
    }
}

/// The size of a function's table, for reports.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TableUse {
    /// Polynomials, or words of a direct table.
    pub pieces: u32,
    pub degree: u32,
    /// Bits of memory.
    pub bits: u64,
    /// The proven bound of the result's error in units of its last place, below 1.
    pub error: f64,
    /// Where given, results below this magnitude are off by up to a last place of this one.
    pub floor: Option<f64>,
}

/// The most arguments that an operator has.
pub const MOST_ARGS: usize = 4;

/// An operator: pure, total, feed-forward. Arguments and results are bit patterns (see [`Format`]), and
/// arguments are always valid patterns of their formats.
pub trait Operator: Sync {
    /// A short lower-case name, unique, that is a Verilog identifier.
    fn name(&self) -> &'static str;

    /// One line for `pairforge list operators`.
    fn summary(&self) -> &'static str;

    /// The path of the type, whose modules are its source: see [`source`].
    fn path(&self) -> &'static str {
        std::any::type_name::<Self>()
    }

    /// The result's format, or what is wrong with the arguments.
    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String>;

    /// Whether the result depends on how it is rounded ([`Attrs::round`]).
    fn rounds(&self) -> bool {
        false
    }

    /// The flags that this use can raise. They may be more where bounds are known, and where a table's error bound stands
    /// between its entries and the result; else every one of them can be raised.
    fn flags(&self, inst: &Inst) -> Flags {
        self.ends(inst).map_or(Flags::NONE, |ends| ends.flags(self, inst))
    }

    /// Where the result's magnitude grows or falls with those of the arguments: the arguments of the least and of the greatest one. They
    /// say [`Operator::flags`] and [`Operator::bounds`], since rounding is monotone.
    fn ends(&self, _inst: &Inst) -> Option<Ends> {
        None
    }

    /// How small and how large the result can be, from what is known of the arguments.
    fn bounds(&self, inst: &Inst) -> Bounds {
        match (self.ends(inst), self.unwrapped(inst)) {
            (Some(ends), _) => ends.bounds(self, inst),
            (_, Some(Unwrapped { low, high, .. })) => Bounds::wrapped(inst.result, Some(low), Some(high)),
            _ => Bounds::of(inst.result),
        }
    }

    /// The range of an int or fixed result before it wraps, where it can: a warning says so.
    fn unwrapped(&self, _inst: &Inst) -> Option<Unwrapped> {
        None
    }

    /// Whether the result is never negative, from what is known of the arguments. Of an int or fixed, the bounds say so too.
    fn nonneg(&self, _inst: &Inst) -> bool {
        false
    }

    /// Whether two arguments may change places. Constants then come last.
    fn commutes(&self) -> bool {
        false
    }

    /// The result as far as the attributes alone, constant arguments, or the equality of all arguments
    /// ([`Inst::same`]): an argument or a constant, without a flag. Where all arguments are constants, `bits` says it.
    fn fold(&self, _inst: &Inst, _constants: &[Option<u64>]) -> Option<Fold> {
        None
    }

    /// The effect of applying the operator to its own result, where that has the argument's format.
    fn twice(&self) -> Option<Twice> {
        None
    }

    /// How many low bits of an int or fixed result are always 0 if that many are of each argument.
    fn low_zeros(&self, _inst: &Inst, _zeros: &[u32]) -> u32 {
        0
    }

    /// The bits that a conversion can lose of a value with so many low bits of 0: a warning says so.
    fn loss(&self, _inst: &Inst, _zeros: u32) -> Option<Loss> {
        None
    }

    /// The outcome of a comparison, by what is known of the arguments: if there is only one, a warning says so.
    fn outcome(&self, _inst: &Inst, _constants: &[Option<u64>]) -> Option<Outcome> {
        None
    }

    /// Whether a shift leaves nothing of a value that has so many low bits of 0 and is not always 0: a warning says so.
    fn vanishes(&self, _inst: &Inst, _zeros: u32) -> Option<bool> {
        None
    }

    /// The specification: the result's pattern and the flags it raises.
    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags);

    /// The loop over native values by which the emulator may compute a use that rounds to nearest.
    fn fast(&self, _inst: &Inst) -> Option<Fast> {
        None
    }

    /// `bits` of many lanes at once: a column for each argument, as long as `out`. Gives the flags that any lane raises. The
    /// emulator asks for it where there is no such loop. An operator that looks something up first has its own.
    fn lanes(&self, inst: &Inst, args: &[&[u64]], out: &mut [u64]) -> Flags {
        facts::lanes(self, inst, args, out)
    }

    /// The real-arithmetic semantics of a use with a float or a log around it (RULES N10), where numbers are f64 and nothing rounds to a
    /// float or log format. The semantics of a use with ints and fixeds alone are its `bits`.
    fn real(&self, inst: &Inst, args: &[Real]) -> (Real, Flags) {
        semantics::rounded(self, inst, args)
    }

    /// The exact result that the bits stand for, and their greatest distance from it.
    fn accuracy(&self, _inst: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Bits)
    }

    /// The real-arithmetic semantics of any use, lane by lane: arguments and results are as long as `out` at least.
    fn real_lanes(&self, inst: &Inst, args: &[&[Real]], out: &mut [Real], flags: &mut [Flags]) {
        semantics::lanes(self, inst, args, out, flags);
    }

    /// A C expression of the native mode over the arguments' names. A float is held in a `float` or `double`. An int is
    /// held in an `int64_t`, sign-extended from its width, or in a `uint64_t`, zero-extended, by its signedness; a fixed
    /// likewise by its underlying integer, without scaling. The expression keeps that convention for the result. Arguments
    /// are plain identifiers and may occur several times.
    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String;

    /// Statements of C that compute the result's pattern from those of the arguments, as `bits` has it, and raise its flags:
    /// those that [`Operator::flags`] states and no other. They are specialised to what the use says of its arguments, and
    /// have no branches.
    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar;

    /// The table that this use is computed by, if it is by one.
    fn table(&self, _inst: &Inst) -> Option<TableUse> {
        None
    }

    /// Describes the hardware: reads `args`, returns the result and, when [`Operator::flags`] is not empty, a signal
    /// with one bit for each of those flags, the first flag in bit 0.
    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>);

    /// The same where the result does nothing but enter a sum: as an addend that the accumulator finishes. `None` where that
    /// is no cheaper.
    fn addend(&self, _inst: &Inst, _c: &mut Circuit, _args: &[Sig]) -> Option<Addend> {
        None
    }

    /// Whether [`Operator::scaled_addend`] takes that operator in front of it.
    fn absorbs(&self, _scaling: &'static dyn Operator) -> bool {
        false
    }

    /// The same with the scaling in front of it, which nothing else reads: flags and bits are those of the two.
    fn scaled_addend(&self, _inst: &Inst, _c: &mut Circuit, _scaling: &Scaling) -> Option<Addend> {
        None
    }
}

/// The name of the Verilog module of one use: operator, formats, attributes.
pub fn module_name(op: &dyn Operator, inst: &Inst) -> String {
    let mut name = op.name().to_string();
    for f in inst.args.iter().chain(inst.attrs.to.iter()) {
        name += &format!("_{}", f.to_string().replace('.', "_"));
    }
    if inst.attrs.n != 0 || inst.attrs.d != 0 {
        name += &format!("_n{}_d{}", inst.attrs.n, inst.attrs.d).replace('-', "m");
    }
    if inst.truncates() {
        name += "_t";
    }
    if let Some(function) = &inst.attrs.function {
        name += &format!("_f{:016x}", function.digest());
    }
    if let Some(table) = &inst.attrs.lookup {
        name += &format!("_e{:016x}", table.digest());
    }
    if inst.nonneg != 0 {
        name += &format!("_p{:x}", inst.nonneg);
    }
    name
}

/// The circuit of one use. Ports: the arguments `a`, `b`, `c`, ..., the result `q`, and `f` (one bit for each flag that
/// can be raised).
pub fn circuit(op: &dyn Operator, inst: &Inst, clock: Clock) -> Circuit {
    let mut c = Circuit::new(clock);
    let args: Vec<Sig> =
        inst.args.iter().zip(b'a'..).map(|(f, n)| c.input(&(n as char).to_string(), f.width())).collect();
    let (q, f) = op.circuit(inst, &mut c, &args);
    c.output("q", q);
    if let Some(f) = f {
        c.output("f", f);
    }
    c
}

/// The pipelined hardware of one use: its [`circuit`], with `clk` if the latency is not 0.
pub fn hardware(op: &dyn Operator, inst: &Inst, clock: Clock) -> Pipelined {
    pipeline(&module_name(op, inst), &circuit(op, inst, clock))
}
