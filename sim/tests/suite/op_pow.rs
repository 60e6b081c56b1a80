//! The Verilog of powers against their bits, many uses in one build.

use crate::common::built;
use hdl::circuit::target::Clock;
use hdl::op::{Attrs, Inst, Operator, hardware, operator};
use hdl::{Bounds, Format};
use sim::bench::MultiBench;
use testkit::Random;

const SEED: u64 = 0x706f77;

/// Arguments of a use in a usual run, which are all fractions of two octaves of a float20.10, and in a proof in depth.
const CYCLES: usize = 2200;
const MANY_CYCLES: usize = 8192;

fn pow() -> &'static dyn Operator {
    operator("pow").expect("it is registered")
}

fn uses() -> Vec<Inst> {
    let common = [(-1, 2), (1, 2), (-1, 1), (-3, 2)];
    let others = [(-5, 2), (2, 1), (3, 1), (-2, 1), (5, 2), (16, 1), (-16, 1), (-15, 2), (7, 1), (0, 1), (1, 1)];
    let mut list = Vec::new();
    let mut add = |name: &str, n: i32, d: i32, nonneg: u32| {
        let format: Format = name.parse().expect("a format");
        let inst = Inst::new(pow(), &[format], Attrs { n, d, ..Attrs::default() }).expect("a power");
        list.push(Inst { nonneg, ..inst });
    };
    for name in ["float18.9", "float25.16", "float29.20", "float32.23"] {
        for (n, d) in common {
            add(name, n, d, 0);
        }
    }
    for (name, n, d) in [("float18.9", -1, 2), ("float25.16", -1, 1), ("float25.16", -3, 2), ("float32.23", 1, 2)] {
        add(name, n, d, 1);
    }
    for (k, (n, d)) in others.into_iter().enumerate() {
        add(["float18.9", "float25.16", "float29.20", "float32.23"][k % 4], n, d, 0);
    }
    for name in ["float4.1", "float5.2", "float6.2", "float13.1", "float20.10", "float35.23"] {
        for (n, d) in [(-1, 2), (-3, 2), (3, 1), (-4, 1)] {
            add(name, n, d, 0);
        }
    }
    // Arguments within bounds, with 0 and without, so that some powers cannot leave the range.
    for name in ["float18.9", "float13.1", "float6.2", "float20.10", "float32.23"] {
        let format: Format = name.parse().expect("a format");
        let (one, mant) = (format.bias() as i128, format.mant());
        let quarter = (one / 4).max(1);
        for (k, (n, d)) in [(-1, 2), (1, 2), (-1, 1), (-3, 2), (3, 1), (2, 1)].into_iter().enumerate() {
            for (low, zero) in [(one, true), (one - quarter, k % 2 == 1)] {
                let inst = Inst::new(pow(), &[format], Attrs { n, d, ..Attrs::default() }).expect("a power");
                let bounds = vec![Bounds { low: low.max(1) << mant, high: (one + quarter) << mant, zero }];
                list.push(Inst { nonneg: d as u32 / 2, bounds, ..inst });
            }
        }
    }
    list
}

/// The k-th argument of a use, within its bounds.
fn argument_within(inst: &Inst, k: usize, random: &mut Random) -> u64 {
    let (x, format) = (argument(inst, k, random), inst.args[0]);
    let magnitude = x & (format.mask() >> 1);
    let (low, high) = inst.magnitudes(0);
    if inst.bounds(0).contain(format, x) { x } else { x & !magnitude | (low + magnitude % (high - low + 1)) }
}

/// The k-th argument of a use: corners, then all fractions of the octaves around 1 if they are few, then random.
fn argument(inst: &Inst, k: usize, random: &mut Random) -> u64 {
    let format = inst.args[0];
    let (mant, max) = (format.mant(), format.max_bits());
    let one = (format.bias() as u64) << mant;
    let least = 1u64 << mant;
    let corners = [least, least + 1, max, max - 1, one, one + 1, (one - 1).max(least), one | 1 << (mant - 1)];
    let sign = if inst.is_nonneg(0) { 0 } else { 1u64 << (format.width() - 1) };
    let (octaves, start) = (2 << mant, 1 + 2 * corners.len());
    if k == 0 {
        0
    } else if k < start {
        corners[(k - 1) / 2] | if k.is_multiple_of(2) { sign } else { 0 }
    } else if mant <= 10 && k - start < octaves {
        (one + (k - start) as u64 - least).clamp(least, max)
    } else {
        let magnitude = least + random.below(max - least + 1);
        // A wide power leaves the range in most cases: half of the arguments are near 1.
        let near = one - (1 << (mant - 1)) + (magnitude & (least - 1));
        let x = if random.chance(0.5) { magnitude } else { near.max(least) };
        if random.once_in(8) { x | sign } else { x }
    }
}

#[test]
fn verilog_of_powers_equals_their_bits() {
    // Every third use: each format has several powers, and each power several formats.
    equal_their_bits(uses().into_iter().step_by(3).collect(), CYCLES);
}

#[test]
#[ignore = "a proof in depth"]
fn verilog_of_all_powers_equals_their_bits() {
    equal_their_bits(uses(), MANY_CYCLES);
}

fn equal_their_bits(uses: Vec<Inst>, cycles: usize) {
    let hardware = |inst: &Inst| hardware(pow(), inst, Clock::default_clock());
    let modules = uses.iter().map(|inst| hardware(inst).module).collect();
    let Some(mut bench) = built(MultiBench::build(modules)) else { return };
    println!("seed {SEED:#x}");
    let mut random = Random::new(SEED);
    let mut arguments = |inst: &Inst| (0..cycles).map(|k| vec![argument_within(inst, k, &mut random)]).collect();
    let inputs: Vec<Vec<Vec<u64>>> = uses.iter().map(&mut arguments).collect();
    let outputs = bench.run_all(&inputs);
    for (k, inst) in uses.iter().enumerate() {
        let declared = pow().flags(inst);
        for (x, y) in inputs[k].iter().zip(&outputs[k]) {
            let (bits, flags) = pow().bits(inst, x);
            let mut expected = vec![bits];
            if !declared.is_empty() {
                expected.push(declared.iter().enumerate().map(|(b, f)| (flags.contains(f) as u64) << b).sum());
            }
            assert_eq!(*y, expected, "{} {:#x}^({}/{})", inst.result, x[0], inst.attrs.n, inst.attrs.d);
        }
        let few = &inputs[k][..16];
        if hardware(inst).latency > 0 && inst.attrs.n != 0 {
            assert_eq!(bench.measured_latency(k, few), Ok(hardware(inst).latency), "{}/{}", inst.attrs.n, inst.attrs.d);
        }
    }
}
