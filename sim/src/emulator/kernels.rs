//! Block kernels: one operator on [`LANES`](super::frame::LANES) pairs, compiled for each instruction set.
//!
//! Every kernel is written once as plain loops that the compiler turns into vector code; [`variants!`] compiles
//! it for what every machine of the architecture has, which with AArch64 is NEON, and on x86-64 for AVX2 and AVX-512, and
//! [`Isa::detect`] chooses at run time. Bits are the operators' own; tests compare each kernel with `bits`.

mod float;
mod int;
pub mod power;

use super::frame::{Class, Instr, Kernel};
use hdl::op::facts::Fast;
use hdl::op::{Inst, Operator};

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Isa {
    /// What every machine of the architecture has.
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// Every set that this machine has, the plainest first.
    pub fn available() -> Vec<Isa> {
        let known = [
            Isa::Baseline,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512,
        ];
        known.into_iter().filter(|isa| *isa <= Isa::of_machine()).collect()
    }

    /// The best that this machine has; `PAIRFORGE_ISA` (portable, avx2, avx512) can ask for less.
    pub fn detect() -> Isa {
        let best = Isa::of_machine();
        match std::env::var("PAIRFORGE_ISA").as_deref() {
            Ok("portable" | "baseline") => Isa::Baseline,
            #[cfg(target_arch = "x86_64")]
            Ok("avx2") if best != Isa::Baseline => Isa::Avx2,
            _ => best,
        }
    }

    fn of_machine() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512cd");
            let avx2 =
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2");
            if avx512 && avx2 {
                return Isa::Avx512;
            } else if avx2 {
                return Isa::Avx2;
            }
        }
        Isa::Baseline
    }
}

impl std::fmt::Display for Isa {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.pad(match self {
            Isa::Baseline if cfg!(target_arch = "aarch64") => "NEON",
            Isa::Baseline => "baseline",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => "AVX-512",
        })
    }
}

/// One kernel, compiled for each instruction set.
#[derive(Clone, Copy)]
pub struct Variants {
    baseline: Kernel,
    #[cfg(target_arch = "x86_64")]
    avx2: Kernel,
    #[cfg(target_arch = "x86_64")]
    avx512: Kernel,
}

impl Variants {
    /// The kernel for an instruction set.
    pub fn kernel(self, isa: Isa) -> Kernel {
        match isa {
            Isa::Baseline => self.baseline,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => self.avx2,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => self.avx512,
        }
    }
}

/// Compiles an `#[inline(always)] unsafe fn(&Instr, &mut Frame)` for every instruction set.
macro_rules! variants {
    ($f:expr) => {{
        use crate::emulator::frame::{Frame, Instr};
        unsafe fn baseline(i: &Instr, f: &mut Frame) {
            unsafe { $f(i, f) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn avx2(i: &Instr, f: &mut Frame) {
            unsafe { $f(i, f) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn avx512(i: &Instr, f: &mut Frame) {
            unsafe { $f(i, f) }
        }
        crate::emulator::kernels::Variants {
            baseline,
            #[cfg(target_arch = "x86_64")]
            avx2,
            #[cfg(target_arch = "x86_64")]
            avx512,
        }
    }};
}
use variants;

/// Gives the instruction the block kernel of its operator's loop, if there is one for its formats.
pub fn prepare(op: &'static dyn Operator, inst: &Inst, instr: &mut Instr, isa: Isa) -> bool {
    // The loops round to nearest.
    let Some(fast) = op.fast(inst).filter(|_| !inst.truncates()) else { return false };
    if let Fast::Power(n, d) = fast {
        return power::prepare(op, inst, (n, d), instr, isa);
    }
    instr.n = match fast {
        Fast::Shl(n) | Fast::Shr(n) => n as i32,
        Fast::Scale(n) | Fast::ScaleBy(n) => n,
        _ => 0,
    };
    let class = Class::of(inst.result);
    let first = inst.args.first().map_or(class, |f| Class::of(*f));
    let Some(variants) = float::find(fast, inst, first, class).or_else(|| int::find(fast, inst, first, class)) else {
        return false;
    };
    instr.kernel = variants.kernel(isa);
    true
}
