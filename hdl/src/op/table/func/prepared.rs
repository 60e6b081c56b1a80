//! The table of one function in one format, and the evaluation that is the specification of its bits.

use super::Function;
use super::domain::{Domain, Lines};
use super::kept::{self, Found, Store};
use crate::number::real::work::Patience;
use crate::number::real::{Dd, Interval, Meter, Metered, Smooth, exp2, log2};
use crate::op::ctext::{CText, CType, CVar, I32, U32, floats};
use crate::op::int::xcast::Xcast;
use crate::op::table::poly::result::{Known, to_float};
use crate::op::table::poly::search::{Failure as SearchFailure, Problem, found_before, search_metered};
use crate::op::table::poly::{Goal, Limits, Misfit, Table};
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};
use std::sync::OnceLock;

/// The limits of a table that is exact to every result's own last place, and of one of which small results are less exact.
const FULL: Limits = Limits { blocks: 16, pieces: 12_000 };
const WIDE: Limits = Limits { blocks: 32, pieces: 24_000 };

/// The mark of a record for [`Domain::octaves_of_ends`].
pub const ENDS: i32 = 0;

/// Why a function has no table.
#[derive(Clone, PartialEq, Debug)]
pub enum Failure {
    /// The ends do not fit the format, or are one number there.
    Interval,
    /// It has no value at an argument.
    Undefined(f64),
    /// Too much of its value is lost on the way, at an argument.
    Inaccurate(f64),
    /// It needs too many pieces, the shortest of them at an argument; each of 2^-depth of an octave or of the interval.
    Large { at: f64, depth: u32 },
    /// The search for its table takes more than [`MOST_WORK`].
    Costly,
    /// The search was given up, since it took longer than somebody waits ([`Patience`]).
    Slow,
}

/// The most work that the search for one function's table may take, about a second ([`Meter`]).
pub const MOST_WORK: u64 = 1_000_000_000;

/// A function ready for evaluation. The numbers depend on the function and the format alone.
///
/// The evaluation: the argument is brought into the interval; a float's exponent field less `lines.field` (plus one, but
/// at least 0, with a line for the tiny) and its sign are the line, its fraction is the fraction; a fixed less the
/// lower end is the fraction, or, where a function is steep at an end, [`Lines::ends`] says what both are. [`Table::eval`] gives h and its quantum, which are rounded to nearest even.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub format: Format,
    pub domain: Domain,
    pub lines: Lines,
    pub table: Table,
    /// Results of at least 2^k are faithful; smaller ones are off by less than a place of that one. `None`: all are.
    pub floor: Option<i32>,
    pub known: Option<Known>,
    /// Of the result alone, without `invalid`.
    pub flags: Flags,
    pub bounds: Bounds,
    /// The conversion of h to a fixed.
    pub cast: Option<Inst>,
}

impl Prepared {
    /// Searches the table, with at most so much work, or takes the one that was found before. Gives the work of the search,
    /// too.
    pub fn new(format: Format, function: &Function, store: Option<&dyn Store>, most: u64) -> Made {
        let key = kept::key(format, function);
        let before = store.and_then(|s| Found::read(&s.load(&key)?, &key));
        if let Some(found) = before
            && let Some(made) = Prepared::again(format, function, &found)
        {
            return (Ok(made), found.work);
        }
        let meter = Meter::new(most);
        let made = Prepared::search(format, function, &meter);
        let made = match () {
            _ if meter.is_late() => Err(Failure::Slow),
            _ if meter.is_over() => Err(Failure::Costly),
            _ => made,
        };
        let work = meter.spent();
        if let (Ok(p), Some(store)) = (&made, store) {
            let floor = p.lines.ends.map_or(p.floor, |_| Some(ENDS));
            let found = Found { floor, degree: p.table.degree, top: p.table.top, work };
            store.save(&key, &found.record(&key));
        }
        (made, work)
    }

    /// The table that a search has found before; `None` where the record does not lead to one.
    fn again(format: Format, function: &Function, found: &Found) -> Option<Prepared> {
        let domain = Domain::new(format, &function.lo, &function.hi)?;
        let goal = match format.frac() {
            None => float_goal(format, found.floor),
            Some(frac) => fixed_goal(format, frac),
        };
        let limits = if format.is_float() && found.floor.is_none() { FULL } else { WIDE };
        let f = &function.evaluator;
        let lines = match (format.is_float(), found.floor) {
            (true, _) | (false, None) => domain.lines(f, goal)?,
            (false, Some(ENDS)) => domain.octaves_of_ends()?,
            (false, Some(_)) => return None,
        };
        let problem = Problem { f, goal, lines: &lines.lines, bits: lines.bits, argument: 0.0 };
        let table = found_before(&problem, limits, found.degree, found.top)?;
        Some(match format.is_float() {
            true => Prepared::floats(format, domain, lines, table, found.floor),
            false => Prepared::fixeds(format, domain, lines, table),
        })
    }

    fn search(format: Format, function: &Function, meter: &Meter) -> Result<Prepared, Failure> {
        let domain = Domain::new(format, &function.lo, &function.hi).ok_or(Failure::Interval)?;
        let (f, mant) = (&Metered::new(&function.evaluator, meter), format.mant());
        meter.add(function.evaluator.expanding());
        let Some(frac) = format.frac() else {
            let smallest = 1 - format.bias();
            let top = top(f, &domain);
            let below = [2 * mant as i32, mant as i32 + 4, mant as i32 / 2, 2].map(|below| top - below);
            let floors = below.into_iter().filter(|lowest| *lowest > smallest).map(Some);
            let floors: Vec<Option<i32>> = std::iter::once(None).chain(floors).collect();
            let mut failures = Vec::new();
            for (k, floor) in floors.iter().enumerate() {
                // What one attempt cannot find in a part of the work another one may.
                let limits = if floor.is_none() { FULL } else { WIDE };
                let is_last = k + 1 == floors.len();
                let found = meter.part(is_last, || {
                    let goal = float_goal(format, *floor);
                    let lines = domain.lines(f, goal).ok_or(Failure::Undefined(0.0))?;
                    attempt(f, &domain, lines, goal, limits, meter)
                });
                match found.unwrap_or(Err(Failure::Costly)) {
                    Ok((lines, table)) => {
                        return Ok(Prepared::floats(format, domain, lines, table, *floor));
                    }
                    Err(failure @ Failure::Undefined(_)) => return Err(failure),
                    Err(failure) => failures.push(failure),
                }
            }
            let is_costly = failures.contains(&Failure::Costly);
            return Err(if is_costly { Failure::Costly } else { failures.pop().expect("there is an attempt") });
        };
        let goal = fixed_goal(format, frac);
        let line = domain.lines(f, goal).expect("a fixed has a line");
        let (lines, table) = match attempt(f, &domain, line, goal, WIDE, meter) {
            Err(failure @ Failure::Large { at, .. }) if domain.is_near_end(at) => {
                let octaves = domain.octaves_of_ends().ok_or(failure.clone())?;
                let found = meter.part(false, || attempt(f, &domain, octaves, goal, WIDE, meter));
                found.and_then(Result::ok).ok_or(failure)?
            }
            found => found?,
        };
        Ok(Prepared::fixeds(format, domain, lines, table))
    }

    fn floats(format: Format, domain: Domain, lines: Lines, table: Table, floor: Option<i32>) -> Prepared {
        let known = Known::of(&table, format);
        let (flags, bounds) = (known.flags(format), known.bounds(format));
        Prepared { format, domain, lines, table, floor, known: Some(known), flags, bounds, cast: None }
    }

    fn fixeds(format: Format, domain: Domain, lines: Lines, table: Table) -> Prepared {
        let span = table.span();
        let frac = -table.quanta().0 as u32;
        // As wide as its span, and as its fraction, which a format holds whole.
        let width = span.bits().max(frac);
        let from = Format::Fixed { width: width as u8, frac: frac as u8, signed: span.is_signed() };
        let cast =
            Inst::new(&Xcast, &[from], Attrs { to: Some(format), ..Attrs::default() }).expect("a cast of fixeds");
        let ends = [span.low, span.high].map(|h| Xcast.bits(&cast, &[h as u64 & from.mask()]));
        let flags = ends[0].1 | ends[1].1;
        let bounds = Bounds::ints(format.to_int(ends[0].0), format.to_int(ends[1].0));
        Prepared { format, domain, lines, table, floor: None, known: None, flags, bounds, cast: Some(cast) }
    }

    /// The line and the fraction of an argument inside.
    #[inline]
    pub fn place(&self, x: u64) -> (usize, u64) {
        let (format, lines) = (self.format, &self.lines);
        if !format.is_float() {
            let from = (format.to_int(x) - format.to_int(self.domain.lo)) as u64;
            return lines.ends.map_or((0, from), |ends| ends.place(from));
        }
        let field = (x >> format.mant()) as u32 & ((1 << format.exp()) - 1);
        let line = (field + lines.tiny as u32).saturating_sub(lines.field);
        let sign = lines.sign.map_or(0, |bit| ((x >> (format.width() - 1)) as u32 & 1) << bit);
        ((line | sign) as usize, x & ((1 << format.mant()) - 1))
    }

    /// C: the line, and behind it the fraction, of an argument inside.
    pub fn c_place(&self, c: &mut CText, x: &CVar) -> CVar {
        let (format, lines) = (self.format, &self.lines);
        if !format.is_float() {
            let kind = CType::of(format);
            let from = c.wrap(format, format!("{x} - {}", kind.number(self.domain.lo as i128)));
            return lines.ends.map_or(from.clone(), |ends| ends.c_place(c, &from));
        }
        let field = floats::field(c, format, false, x);
        let line = c.set(I32, format!("{field} + {} - {}", lines.tiny as u32, lines.field));
        let mut line = c.set(U32, format!("{line} < 0 ? 0 : {line}"));
        if let Some(bit) = lines.sign {
            line = c.set(U32, format!("{line} | (uint32_t)({x} >> {}) << {bit}", format.width() - 1));
        }
        let kind = CType::unsigned(lines.bits + u32::BITS - (lines.lines.len() as u32).leading_zeros());
        let mask = x.kind.number((1 << lines.bits) - 1);
        c.set(kind, format!("({kind}){line} << {} | ({kind})({x} & {mask})", lines.bits))
    }

    /// The result's pattern and flags: the specification.
    #[inline]
    pub fn eval(&self, x: u64) -> (u64, Flags) {
        let (x, outside) = self.domain.clamp(x);
        let (line, fraction) = self.place(x);
        let (h, quantum) = self.table.eval(line, fraction);
        let (bits, flags) = match &self.cast {
            None => to_float(self.format, h, quantum),
            Some(cast) => Xcast.bits(cast, &[h as u64 & cast.args[0].mask()]),
        };
        (bits, flags | Flags::INVALID.when(outside))
    }
}

/// Results of which those below 2^floor, or else the least number, have the places of that one.
fn float_goal(format: Format, floor: Option<i32>) -> Goal {
    Goal::Float { mant: format.mant(), lowest: floor.unwrap_or(1 - format.bias()), underflows: floor.is_none() }
}

fn fixed_goal(format: Format, frac: u32) -> Goal {
    let unit = exp2(-(frac as i32));
    let [low, high] = [format.min_bits(), format.max_bits()].map(|end| format.to_int(end) as f64 * unit);
    Goal::Fixed { unit: -(frac as i32), reach: Interval::new(low, high) }
}

/// The table of a goal, with its lines.
fn attempt(
    f: &dyn Smooth,
    domain: &Domain,
    lines: Lines,
    goal: Goal,
    limits: Limits,
    meter: &Meter,
) -> Result<(Lines, Table), Failure> {
    let problem = Problem { f, goal, lines: &lines.lines, bits: lines.bits, argument: 0.0 };
    match search_metered(&problem, limits, meter) {
        Ok(table) => Ok((lines, table)),
        Err(SearchFailure::At(Misfit::Undefined(x))) => Err(Failure::Undefined(x)),
        Err(SearchFailure::At(Misfit::Inaccurate(x))) => Err(Failure::Inaccurate(x)),
        Err(SearchFailure::At(Misfit::Long)) => Err(Failure::Large { at: domain.ends.0, depth: 0 }),
        Err(SearchFailure::Large { at, depth }) => Err(Failure::Large { at, depth }),
        Err(SearchFailure::Costly) => Err(Failure::Costly),
    }
}

/// About the exponent of the function's greatest magnitude: that of 257 arguments.
fn top(f: &dyn Smooth, domain: &Domain) -> i32 {
    let (lo, hi) = domain.ends;
    let at = |k: u32| lo + (hi - lo) * (k as f64 / 256.0);
    let values = (0..=256).filter_map(|k| f.value(Dd::from(at(k)))).map(|v| v.value.hi.abs());
    let most = values.fold(0.0, f64::max);
    if most > 0.0 { log2(most) } else { 0 }
}

/// The tables of a function in a float or fixed format.
pub fn prepared(format: Format, function: &Function) -> Result<&Prepared, &Failure> {
    function.tables.get(format, function).0.as_ref()
}

/// The work that the search for that table takes, whether it was done in this process or not.
pub fn work(format: Format, function: &Function) -> u64 {
    function.tables.get(format, function).1
}

/// The tables, or why there are none, and the work of finding them.
type Made = (Result<Prepared, Failure>, u64);

static NOT_FOUND: Made = (Err(Failure::Slow), 0);

/// The tables of a function, made on first use: a list of the formats, which are few.
#[derive(Default)]
pub(super) struct Tables(OnceLock<Box<Entry>>);

struct Entry {
    format: Format,
    made: Made,
    next: Tables,
}

impl Tables {
    fn get(&self, format: Format, function: &Function) -> &Made {
        let mut slot = &self.0;
        while let Some(entry) = slot.get() {
            if entry.format == format {
                return &entry.made;
            }
            slot = &entry.next.0;
        }
        let is_shortened = Patience::given().is_some_and(|p| p.is_shortened());
        let mut made = Some(Prepared::new(format, function, kept::store(), MOST_WORK));
        if is_shortened && made.as_ref().is_some_and(|made| made.0.as_ref().err() == Some(&Failure::Slow)) {
            // Those before it are there the next time, and leave it more.
            return &NOT_FOUND;
        }
        loop {
            // Another thread may have been faster.
            let mut new = || made.take().expect("an entry is made once");
            let entry = slot.get_or_init(|| Box::new(Entry { format, made: new(), next: Tables::default() }));
            if entry.format == format {
                return &entry.made;
            }
            slot = &entry.next.0;
        }
    }
}
