//! Valid arguments of a use within what is known of them: all of them where they are few, else corners and random ones.

use crate::Random;
use hdl::op::Inst;
use hdl::{Bounds, Format};

/// Arguments of at most so many bits together are tried all.
const EXHAUSTIVE: u32 = 12;

/// Whether [`rows`] are all that there are.
pub fn exhaustive(inst: &Inst) -> bool {
    inst.args.iter().map(|f| f.width()).sum::<u32>() <= EXHAUSTIVE
}

/// All rows of arguments where they are few, else `count` of them.
pub fn rows(inst: &Inst, count: usize, random: &mut Random) -> Vec<Vec<u64>> {
    if exhaustive(inst) {
        return all(inst);
    }
    let lists: Vec<Vec<u64>> = (0..inst.args.len()).map(|k| fitting_corners(inst, k)).collect();
    let mut rows: Vec<Vec<u64>> = Vec::with_capacity(count);
    for n in 0..count {
        // A third of the rows meets corners with corners, in turn.
        let turn = n % 3 == 0;
        let mut row: Vec<u64> = Vec::new();
        for (k, list) in lists.iter().enumerate() {
            let value = match (turn, k) {
                (true, 0) => list[n / 3 % list.len()],
                (true, _) => random.pick(list),
                (false, _) => some(inst, k, &row, random),
            };
            row.push(value);
        }
        if inst.same {
            let first = row[0];
            row.fill(first);
        }
        rows.push(row);
    }
    rows
}

fn all(inst: &Inst) -> Vec<Vec<u64>> {
    let lists: Vec<Vec<u64>> =
        (0..inst.args.len()).map(|k| (0..=inst.args[k].mask()).filter(|b| possible(inst, k, *b)).collect()).collect();
    if inst.same {
        return lists[0].iter().map(|b| vec![*b; lists.len()]).collect();
    }
    let mut rows = vec![Vec::new()];
    for list in &lists {
        rows = rows.iter().flat_map(|r: &Vec<u64>| list.iter().map(|b| [r.as_slice(), &[*b]].concat())).collect();
    }
    rows
}

/// Whether argument `k` can be a pattern.
pub fn possible(inst: &Inst, k: usize, bits: u64) -> bool {
    let f = inst.args[k];
    let negative = f.is_signed() && bits >> (f.width() - 1) == 1;
    valid(f, bits) == bits && !(inst.is_nonneg(k) && negative) && inst.bounds(k).contain(f, bits)
}

/// The pattern of the format nearest to some bits: floats have no exponent field of ones, and zeros are all zeros.
pub fn valid(f: Format, bits: u64) -> u64 {
    let bits = bits & f.mask();
    hdl::number::exact::check_raw(f, bits).unwrap_or(bits ^ 1 << f.mant())
}

/// The possible value of argument `k` that is nearest to a pattern, or near.
fn fitted(inst: &Inst, k: usize, bits: u64) -> u64 {
    let (f, Bounds { low, high, zero }) = (inst.args[k], inst.bounds(k));
    let bits = valid(f, bits);
    if !f.is_sign_magnitude() {
        return f.to_int(bits).clamp(low, high) as u64 & f.mask();
    }
    let magnitude = (bits & f.mask() >> 1) as i128;
    let sign = if inst.is_nonneg(k) { 0 } else { bits & !(f.mask() >> 1) };
    if magnitude == 0 && zero { 0 } else { magnitude.clamp(low, high) as u64 | sign }
}

fn fitting_corners(inst: &Inst, k: usize) -> Vec<u64> {
    let f = inst.args[k];
    let Bounds { low, high, .. } = inst.bounds(k);
    let sign = 1u64 << (f.width() - 1);
    let mut list = corners(f);
    for end in [low, low + 1, high - 1, high] {
        let bits = end as u64 & f.mask();
        list.extend(if f.is_sign_magnitude() { vec![bits, bits | sign] } else { vec![bits] });
    }
    list.iter_mut().for_each(|b| *b = fitted(inst, k, *b));
    list.retain(|b| possible(inst, k, *b));
    list.sort_unstable();
    list.dedup();
    list
}

/// A random possible value of argument `k`: anything, of ordinary size, or close to an argument before it.
fn some(inst: &Inst, k: usize, before: &[u64], random: &mut Random) -> u64 {
    let f = inst.args[k];
    let any = random.bits();
    let bits = match random.below(4) {
        0 => any,
        1 if k > 0 && inst.args[k - 1] == f => near(f, before[k - 1], random),
        _ if f.is_float() => ordinary(f, any, random),
        _ if f.is_log() => {
            let one = 3u64 << (f.width() - 3);
            one ^ any & ((8 << f.log_frac()) - 1) & f.mask() >> 3 ^ random.bits() << (f.width() - 1)
        }
        1 => (any as i64 >> random.below(64)) as u64,
        2 if random.once_in(2) => random.below(2 * f.width() as usize + 1) as u64,
        _ => {
            // Between the bounds, wherever these are.
            let Bounds { low, high, .. } = inst.bounds(k);
            (low + (any as u128 % (high - low + 1) as u128) as i128) as u64
        }
    };
    fitted(inst, k, bits)
}

/// A float whose exponent is near the middle, or near an end now and then; its fraction often has runs of equal bits, which make
/// ties, carries and cancellation likely.
fn ordinary(f: Format, any: u64, random: &mut Random) -> u64 {
    let (mant, top, bias) = (f.mant(), (1u64 << f.exp()) - 2, f.bias() as u64);
    let field = match random.below(6) {
        0 => 1 + random.bits() % top.min(3),
        1 => top - random.bits() % top.min(3),
        2 => bias + random.bits() % (mant as u64 + 3),
        _ => (bias + random.bits() % 9).saturating_sub(4),
    };
    let run = u64::MAX << random.below(mant as usize + 1);
    let fraction = random.pick(&[any, any & run, any | !run, run]);
    random.bits() << (f.width() - 1) | field.clamp(1, top) << mant | fraction & ((1 << mant) - 1)
}

/// A value a few places off, of the same or the other sign.
fn near(f: Format, bits: u64, random: &mut Random) -> u64 {
    let off = bits.wrapping_add(random.bits() % 9).wrapping_sub(4);
    match random.below(4) {
        0 => bits,
        1 => bits ^ 1 << random.below(f.width() as usize),
        2 if f.is_sign_magnitude() => off ^ 1 << (f.width() - 1),
        _ => off,
    }
}

/// The patterns at which operators are most likely to be wrong: ends, zero, one, powers of two, and what lies beside them.
pub fn corners(f: Format) -> Vec<u64> {
    let mut list = vec![0, f.min_bits(), f.max_bits()];
    for k in 0..f.width() {
        let one = 1u64 << k;
        list.extend([one, one - 1, one.wrapping_neg(), one | 1 << (f.width() - 1)]);
    }
    if f.is_float() {
        let (one, place, half) = ((f.bias() as u64) << f.mant(), 1u64 << f.mant(), 1u64 << f.mant() >> 1);
        list.extend([one, one + 1, one - 1, one + half, one + place, one + place - 1, place, place + 1, 2 * place - 1]);
    } else if f.is_log() {
        let one = 3u64 << (f.width() - 3);
        list.extend([
            one,
            one + 1,
            one - 1,
            one + (1 << f.log_frac()),
            one - (1 << f.log_frac()),
            1 << (f.width() - 2),
        ]);
    }
    if f.is_sign_magnitude() {
        let negative: Vec<u64> = list.iter().map(|b| b | 1 << (f.width() - 1)).collect();
        list.extend(negative);
    }
    list.iter_mut().for_each(|b| *b = valid(f, *b));
    list.sort_unstable();
    list.dedup();
    list
}
