//! Every operator's circuit, evaluated, against its bits: exhaustively where all arguments together are short, else on
//! corners and random patterns.

use hdl::circuit::Evaluator;
use hdl::circuit::target::{Clock, TARGETS};
use hdl::op::{Attrs, Inst, OPERATORS, Operator, circuit, module_name, operator};
use hdl::{Bounds, Flags, Format, Rounding};

/// Arguments of at most so many bits together are tried all.
const EXHAUSTIVE: u32 = 12;
/// Random samples of each other use.
const SAMPLES: usize = 4_000;

const FORMATS: [&str; 17] = [
    "int1",
    "uint1",
    "int5",
    "uint8",
    "int17",
    "int64",
    "uint64",
    "fixed8.4",
    "fixed6.6",
    "ufixed12.5",
    "fixed40.20",
    "float5.2",
    "float9.4",
    "float18.9",
    "float40.30",
    "log8.3",
    "log17.8",
];

fn format(name: &str) -> Format {
    name.parse().unwrap()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// The pattern of the format nearest to some bits: floats have no exponent field of ones, and zeros are all zeros.
fn valid(f: Format, bits: u64) -> u64 {
    let bits = bits & f.mask();
    match f {
        Format::Float { .. } => {
            let (mant, top) = (f.mant(), (1u64 << f.exp()) - 1);
            match bits >> mant & top {
                0 => 0,
                field if field == top => bits ^ 1 << mant,
                _ => bits,
            }
        }
        Format::Log { .. } if bits >> (f.width() - 2) & 1 == 0 => 0,
        _ => bits,
    }
}

fn corners(f: Format) -> Vec<u64> {
    let mut list = vec![0, f.min_bits(), f.max_bits()];
    let steps = (0..f.width())
        .flat_map(|k| [1u64 << k, (1 << k) - 1, (1u64 << k).wrapping_neg(), 1 << k | 1 << (f.width() - 1)]);
    list.extend(steps);
    let one = if f.is_float() {
        (f.bias() as u64) << f.mant()
    } else if f.is_log() {
        1 << (f.width() - 2) | f.bias() as u64
    } else {
        1
    };
    list.extend([one, one - 1, one + 1]);
    list.iter_mut().for_each(|b| *b = valid(f, *b));
    list.sort_unstable();
    list.dedup();
    list
}

/// Attributes to try, where no more than an operator's name is known.
fn attributes(name: &str, f: Format) -> Vec<Attrs> {
    let pairs: &[(i32, i32)] = match name {
        "pow" | "lpow" => &[(-1, 1), (2, 1), (-3, 1), (-1, 2), (1, 2), (3, 2), (0, 1)],
        "fscalev" | "lscalev" => &[(0, 1), (0, -1)],
        "fscale" | "lscale" => &[(1, 0), (-2, 0), (9, 0)],
        "shl" | "shr" => &[(0, 0), (1, 0), (f.width() as i32 - 1, 0)],
        _ => &[(0, 0)],
    };
    let attrs = |(n, d): &(i32, i32)| Attrs { n: *n, d: *d, ..Attrs::default() };
    pairs.iter().map(attrs).collect()
}

/// All uses that the formats above give.
fn uses(op: &dyn Operator) -> Vec<Inst> {
    let formats = FORMATS.map(format);
    let mut lists: Vec<Vec<Format>> = Vec::new();
    for f in formats {
        lists.extend([vec![f], vec![f, f], vec![f; 3], vec![f; 4], vec![format("uint1"), f, f]]);
        lists.extend(["uint1", "int5", "uint8"].iter().map(|n| vec![f, format(n)]));
    }
    lists.sort_by_key(|l| format!("{l:?}"));
    lists.dedup();
    let mut found: Vec<Inst> = Vec::new();
    for list in &lists {
        for attrs in attributes(op.name(), list[0]) {
            let plain = Inst::new(op, list, attrs);
            let casts = formats.iter().map(|to| Inst::new(op, list, Attrs { to: Some(*to), ..attrs }));
            let made: Vec<Inst> = match plain {
                Ok(inst) => vec![inst],
                Err(_) => casts.flatten().collect(),
            };
            for inst in made.into_iter().filter(|i| affordable(op.name(), i)) {
                if op.rounds() {
                    let attrs = Attrs { round: Rounding::Truncate, ..inst.attrs };
                    found.push(Inst { attrs, ..inst.clone() });
                }
                found.push(inst);
            }
        }
    }
    found
}

/// Tables of wide formats take long to fit; other tests have them.
fn affordable(name: &str, inst: &Inst) -> bool {
    let table = matches!(name, "pow" | "exp" | "log" | "sin" | "cos" | "func");
    !table || inst.args[0].width() <= 18
}

/// Columns of valid arguments, by the use's bounds and signs.
fn samples(inst: &Inst, random: &mut Random) -> Vec<Vec<u64>> {
    let bits: u32 = inst.args.iter().map(|f| f.width()).sum();
    let mut rows: Vec<Vec<u64>> = Vec::new();
    if bits <= EXHAUSTIVE {
        for all in 0..1u64 << bits {
            let mut rest = all;
            let row = inst.args.iter().map(|f| {
                let part = rest & f.mask();
                rest >>= f.width();
                part
            });
            rows.push(row.collect());
        }
    } else {
        let corners: Vec<Vec<u64>> = inst.args.iter().map(|f| corners(*f)).collect();
        for _ in 0..SAMPLES {
            let row = inst.args.iter().zip(&corners).map(|(f, c)| match random.bits() % 3 {
                0 => c[random.bits() as usize % c.len()],
                // Near the middle of floats' and logs' ranges, where sums and products stay inside.
                1 if f.is_sign_magnitude() => {
                    let one = valid(*f, 1 << (f.width() - 2)) | if f.is_log() { f.bias() as u64 } else { 0 };
                    one ^ random.bits() & ((4 << (f.width() - f.width() / 3)) - 1) ^ random.bits() << (f.width() - 1)
                }
                _ => random.bits(),
            });
            rows.push(row.collect());
        }
    }
    for row in &mut rows {
        row.iter_mut().zip(&inst.args).for_each(|(b, f)| *b = valid(*f, *b));
        if inst.same {
            let first = row[0];
            row.fill(first);
        }
    }
    let fits = |k: usize, b: u64| {
        let f = inst.args[k];
        let negative = f.is_signed() && b >> (f.width() - 1) & 1 == 1;
        !(inst.is_nonneg(k) && negative) && inst.bounds(k).contain(f, b)
    };
    rows.retain(|row| row.iter().enumerate().all(|(k, b)| fits(k, *b)));
    (0..inst.args.len()).map(|k| rows.iter().map(|r| r[k]).collect()).collect()
}

/// What differs first, or nothing.
fn compare(op: &dyn Operator, inst: &Inst, clock: Clock) -> Option<String> {
    let columns = samples(inst, &mut Random(1));
    let mut e = Evaluator::new(&circuit(op, inst, clock));
    let got = e.run(&columns);
    for k in 0..columns[0].len() {
        let args: Vec<u64> = columns.iter().map(|c| c[k]).collect();
        let (bits, flags) = op.bits(inst, &args);
        let raised = op.flags(inst).iter().enumerate().filter(|(j, _)| got.get(1).is_some_and(|f| f[k] >> j & 1 == 1));
        let raised = raised.fold(Flags::NONE, |all, (_, f)| all | f);
        if (bits as u128, flags) != (got[0][k], raised) {
            let text = format!("{} {inst:?} of {args:x?}: bits {bits:x} {flags:?}", module_name(op, inst));
            return Some(format!("{text}, circuit {:x} {raised:?} on {}", got[0][k], clock.target.name));
        }
    }
    None
}

fn clocks() -> Vec<Clock> {
    // Targets differ in their multipliers and clears; one budget has no multipliers at all.
    let all = TARGETS.iter().filter(|t| ["generic", "max10"].contains(&t.name));
    all.flat_map(|t| [None, Some(0)].map(|blocks| Clock { target: t, mhz: t.usual_mhz, blocks })).collect()
}

#[test]
fn circuits_compute_the_bits_of_their_operators() {
    let mut wrong = Vec::new();
    for op in OPERATORS.iter().filter(|op| op.name() != "func") {
        let uses = uses(*op);
        assert!(!uses.is_empty(), "no use of `{}` is known here", op.name());
        for inst in &uses {
            let signs = Inst { nonneg: (1 << inst.args.len()) - 1, ..inst.clone() };
            for (k, clock) in clocks().into_iter().enumerate() {
                wrong.extend(compare(*op, inst, clock));
                if k == 0 {
                    wrong.extend(compare(*op, &signs, clock));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} uses:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

/// A known second argument leads to shorter circuits.
#[test]
fn extremes_with_constants_are_extremes() {
    let mut wrong = Vec::new();
    for name in ["min", "max"] {
        let op = operator(name).unwrap();
        for f in FORMATS.map(format) {
            for constant in corners(f) {
                let plain = Inst::new(op, &[f, f], Attrs::default()).unwrap();
                for nonneg in [0, 3] {
                    if nonneg == 3 && f.is_signed() && constant >> (f.width() - 1) & 1 == 1 {
                        continue;
                    }
                    let known = vec![Bounds::of(f), Bounds::exactly(f, constant)];
                    let inst = Inst { nonneg, bounds: known, ..plain.clone() };
                    let mut columns = samples(&Inst { bounds: Vec::new(), ..inst.clone() }, &mut Random(2));
                    columns[1].fill(constant);
                    let got = Evaluator::new(&circuit(op, &inst, Clock::default_clock())).run(&columns);
                    let differs = |k: &usize| op.bits(&inst, &[columns[0][*k], constant]).0 as u128 != got[0][*k];
                    if let Some(k) = (0..columns[0].len()).find(differs) {
                        wrong.push(format!("{name} of {f} {:x} and {constant:x}: {:x}", columns[0][k], got[0][k]));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} uses:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}
