//! Stimuli: corner values of every format, and random patterns from seeds.
//!
//! Random patterns are not uniform bits alone: exponents near each other, equal values and corners occur often,
//! since additions that cancel and comparisons that tie are where circuits go wrong.

use hdl::Format;
use hdl::number::format::UINT1;
use pg2::graph::{Graph, PinClass};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;

/// A generator of the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(SplitMix64::seed_from_u64(seed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.random()
    }

    /// 0 to `n` - 1.
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.bits() as u128 * n as u128) >> 64) as u64
    }
}

/// The patterns at which a format's operators are most likely to be wrong, without repetition: the ends of its
/// range, 0 and its neighbours, powers of two and theirs, and for floats patterns one ulp around exponent steps.
pub fn corners(format: Format) -> Vec<u64> {
    let mut list = vec![0, format.min_bits(), format.max_bits()];
    match format {
        Format::Float { .. } => float_corners(format, &mut list),
        Format::Log { .. } => log_corners(format, &mut list),
        _ => {
            for k in 0..format.width() {
                let one = 1u64 << k;
                list.extend([
                    one,
                    one - 1,
                    one.wrapping_add(1),
                    one.wrapping_neg(),
                    one.wrapping_neg().wrapping_sub(1),
                ]);
            }
            list.extend([0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa]);
            list.iter_mut().for_each(|v| *v &= format.mask());
        }
    }
    list.sort_unstable();
    list.dedup();
    list
}

fn float_corners(format: Format, list: &mut Vec<u64>) {
    let (mant, top) = (format.mant(), (1u64 << format.exp()) - 2);
    let ones = (1u64 << mant) - 1;
    let bias = format.bias() as u64;
    // Around 1, the ends, and where products and squares leave the range.
    let fields = [1, 2, bias / 2, bias - 1, bias, bias + 1, bias + mant as u64, bias + bias / 2 + 1, top - 1, top];
    for field in fields.into_iter().filter(|f| (1..=top).contains(f)) {
        for fraction in [0, 1, ones >> 1, (ones >> 1) + 1, ones - 1, ones] {
            let magnitude = field << mant | fraction & ones;
            list.extend([magnitude, magnitude | 1 << (format.width() - 1)]);
        }
    }
}

/// Around 1, the ends, and where products and squares leave the range.
fn log_corners(format: Format, list: &mut Vec<u64>) {
    let (bias, sign) = (format.bias() as u64, 1u64 << (format.width() - 1));
    let mark = sign >> 1;
    for place in [0, 1, bias / 2 - 1, bias / 2, bias - 1, bias, bias + 1, bias + bias / 2, 2 * bias - 2, 2 * bias - 1] {
        list.extend([mark | place, sign | mark | place]);
    }
    for k in 0..format.width() - 3 {
        list.extend([mark | (bias + (1 << k)), sign | mark | (bias - (1 << k))]);
    }
}

/// A valid random pattern: of random size, a corner, or close to `near`.
pub fn random(format: Format, near: u64, random: &mut Random) -> u64 {
    match random.below(8) {
        0 => {
            let list = corners(format);
            list[random.below(list.len() as u64) as usize]
        }
        1 => near,
        2 => valid(format, near ^ 1u64.wrapping_shl(random.below(format.width() as u64) as u32)),
        3 => valid(format, near.wrapping_add(random.below(9)).wrapping_sub(4) & format.mask()),
        4 if format.is_integral() => {
            // A small magnitude of random length, of either sign.
            let value = random.bits() >> random.below(64);
            (if random.bits() & 1 == 1 { value.wrapping_neg() } else { value }) & format.mask()
        }
        4 => ordinary(format, random),
        _ => valid(format, random.bits() & format.mask()),
    }
}

/// The pattern itself if it is valid in the format; a float with exponent field 0 or all ones becomes 0 or the largest.
pub fn valid(format: Format, bits: u64) -> u64 {
    if format.is_log() {
        return hdl::number::lns::canonical(format, bits);
    }
    if !format.is_float() {
        return bits;
    }
    let all = (1 << format.exp()) - 1;
    match bits >> format.mant() & all {
        0 => 0,
        field if field == all => format.max_bits() | bits & 1 << (format.width() - 1),
        _ => bits,
    }
}

/// A random pattern of ordinary size, with which sums and products stay in range: ints and fixeds of any value, floats
/// within a factor of 16 of 1, logs of 256.
pub fn ordinary(format: Format, random: &mut Random) -> u64 {
    let bits = random.bits() & format.mask();
    if let Format::Log { width, frac } = format {
        let near = (bits & ((16 << frac) - 1)) as i64 - (8 << frac);
        let log = near.clamp(1 - format.bias() as i64, format.bias() as i64 - 1) + format.bias() as i64;
        return bits & 1 << (width - 1) | 1 << (width - 2) | log as u64;
    }
    if !format.is_float() {
        return bits;
    }
    let top = (1 << format.exp()) - 2;
    let field = (format.bias() as u64 + random.below(8)).saturating_sub(4).clamp(1, top);
    let fields = ((1 << format.exp()) - 1) << format.mant();
    bits & !fields | field << format.mant()
}

/// The style of random records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Each element is a walk of [`random`] steps: often at corners, and often close to the record before and to
    /// records made from the same anchor.
    Wild { anchor: u64 },
    /// [`ordinary`] patterns.
    Ordinary,
}

/// `n` random records of a class of pins of `graph`.
pub fn records(graph: &Graph, class: PinClass, n: usize, style: Style, source: &mut Random) -> Vec<Vec<u64>> {
    let formats: Vec<Format> = graph.elements_of(class).iter().map(|(pin, _)| graph.pins[*pin].format).collect();
    let anchor = if let Style::Wild { anchor } = style { anchor } else { 0 };
    let mut record: Vec<u64> = formats.iter().map(|f| valid(*f, anchor & f.mask())).collect();
    let mut next = || -> Vec<u64> {
        for (value, format) in record.iter_mut().zip(&formats) {
            *value = match style {
                Style::Wild { .. } => random(*format, *value, source),
                Style::Ordinary => ordinary(*format, source),
            };
        }
        record.clone()
    };
    (0..n).map(|_| next()).collect()
}

/// Records in which one element after the other walks through the corners of its format while the others hold a
/// corner that moves along: every corner of every element occurs, next to many others.
pub fn corner_records(graph: &Graph, class: PinClass) -> Vec<Vec<u64>> {
    let formats: Vec<Format> = graph.elements_of(class).iter().map(|(pin, _)| graph.pins[*pin].format).collect();
    let lists: Vec<Vec<u64>> = formats.iter().map(|f| corners(*f)).collect();
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let step =
        |element: usize, round: usize| lists[element][(round * (2 * element + 1) + element) % lists[element].len()];
    let mut all = Vec::new();
    for (walking, list) in lists.iter().enumerate() {
        for (k, corner) in list.iter().enumerate() {
            let value = |e: usize| if e == walking { *corner } else { step(e, k + walking * longest) };
            all.push((0..lists.len()).map(value).collect());
        }
    }
    all
}

/// Whether a pattern is one that pins and operators may carry.
pub fn is_valid(format: Format, bits: u64) -> bool {
    bits & !format.mask() == 0 && valid(format, bits) == bits && (format != UINT1 || bits <= 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: [&str; 14] = [
        "int1",
        "uint1",
        "int8",
        "int32",
        "int64",
        "uint64",
        "fixed32.31",
        "ufixed8.8",
        "float4.1",
        "float18.9",
        "float32.23",
        "float64.52",
        "log5.1",
        "log17.8",
    ];

    #[test]
    fn every_pattern_is_valid_in_its_format() {
        let mut source = Random::new(1);
        for format in FORMATS.map(|f| f.parse::<Format>().unwrap()) {
            let list = corners(format);
            assert!(list.iter().all(|v| is_valid(format, *v)), "{format}: {list:x?}");
            for wanted in [0, format.min_bits(), format.max_bits()] {
                assert!(list.contains(&wanted));
            }
            let mut value = 0;
            let mut seen = std::collections::BTreeSet::new();
            for _ in 0..2000 {
                value = random(format, value, &mut source);
                assert!(is_valid(format, value), "{format}: {value:x}");
                seen.insert(value);
                let tame = ordinary(format, &mut source);
                assert!(is_valid(format, tame), "{format}: {tame:x}");
            }
            assert!(seen.len() as u128 >= 900.min(1 << (format.width() - 1)), "{format}: {}", seen.len());
        }
    }

    #[test]
    fn corner_records_hold_every_corner_of_every_element() {
        let kernel = pg2::kernels::find("p2p_paper").expect("it is shipped");
        let Ok(compiled) = pg2::compile(kernel.name, kernel.text) else { panic!("it compiles") };
        let graph = compiled.graph;
        for class in [PinClass::Ipin, PinClass::Jpin] {
            let records = corner_records(&graph, class);
            for (k, (pin, _)) in graph.elements_of(class).iter().enumerate() {
                for corner in corners(graph.pins[*pin].format) {
                    assert!(records.iter().any(|r| r[k] == corner), "element {k}: {corner:x}");
                }
            }
        }
    }
}
