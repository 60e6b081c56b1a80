//! The memory of a block evaluation: slots of [`LANES`] values, and the instructions that work on them.

use hdl::Flags;

/// Pairs evaluated together. A slot of 32-bit values then takes 1 KiB, so that a kernel's live values fit the
/// first-level cache.
pub const LANES: usize = 256;

/// Room for [`LANES`] values of 32 or 64 bits.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Slot(pub [u64; LANES]);

/// How values are held in a slot. Floats are held as native floats of the same value where native arithmetic
/// followed by one more rounding is exact to the bit (see [`Class::of`]); ints and fixeds as their sign- or
/// zero-extended integers; other floats and logs as bit patterns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    F32,
    F64,
    I32,
    I64,
    Raw,
}

impl Class {
    /// The class of a format. Rounding twice, first to q and then to p significant bits, gives the same as once if
    /// q >= 2p + 2 for `+ - * /` and square root (Figueroa, 1995), so f32 serves p <= 11 and f64 p <= 25. The
    /// exponent ranges keep products clear of the native type's own underflow, except that f32 with eight exponent
    /// bits can meet subnormal numbers; these hold every product of two 11-bit significands near the smallest
    /// normal exactly.
    pub fn of(format: hdl::Format) -> Class {
        if format.is_float() {
            match (format.mant(), format.exp()) {
                (m, e) if m <= 10 && e <= 8 => Class::F32,
                (m, e) if m <= 24 && e <= 10 => Class::F64,
                _ => Class::Raw,
            }
        } else if format.is_log() {
            Class::Raw
        } else if format.width() <= 32 {
            Class::I32
        } else {
            Class::I64
        }
    }

    /// Whether a lane takes 32 bits.
    pub fn is_narrow(self) -> bool {
        matches!(self, Class::F32 | Class::I32)
    }

    /// The native value of a pattern, as the bits that a slot holds.
    pub fn native(self, format: hdl::Format, bits: u64) -> u64 {
        match self {
            Class::F32 => (format.to_f64(bits) as f32).to_bits() as u64,
            Class::F64 => format.to_f64(bits).to_bits(),
            Class::I32 => format.to_int(bits) as u32 as u64,
            Class::I64 => format.to_int(bits) as u64,
            Class::Raw => bits,
        }
    }

    /// The pattern of a native value.
    pub fn pattern(self, format: hdl::Format, native: u64) -> u64 {
        match self {
            Class::F32 => float_pattern(format, f32::from_bits(native as u32) as f64),
            Class::F64 => float_pattern(format, f64::from_bits(native)),
            Class::I32 | Class::I64 => native & format.mask(),
            Class::Raw => native,
        }
    }
}

/// The pattern of a value that the format holds exactly.
fn float_pattern(format: hdl::Format, value: f64) -> u64 {
    if value == 0.0 {
        return 0;
    }
    let bits = value.to_bits();
    let field = (bits >> 52 & 0x7ff) as i64 - 1023 + format.bias() as i64;
    let fraction = (bits & ((1 << 52) - 1)) >> (52 - format.mant());
    (bits >> 63) << (format.width() - 1) | (field as u64) << format.mant() | fraction
}

/// The constants of a float format in the native type's bits.
#[derive(Clone, Copy, Default)]
pub struct Rounding {
    /// Fraction bits of the native type that the format lacks.
    pub drop: u32,
    /// Magnitude bits of the least native value that rounds up to the smallest normal, and of the largest finite value.
    pub min: u64,
    pub max: u64,
}

impl Rounding {
    /// For a float format of class F32 or F64; anything else gives zeros.
    pub fn of(format: hdl::Format) -> Rounding {
        let class = Class::of(format);
        let native_mant = match class {
            Class::F32 => 23,
            Class::F64 => 52,
            _ => return Rounding::default(),
        };
        let drop = native_mant - format.mant();
        let normal = class.native(format, 1 << format.mant());
        // Half a unit in the last place below the smallest normal, where units are half as large. The native type's
        // own subnormal numbers, though, keep their spacing, so that half a unit is half as many of them.
        let subnormal = class == Class::F32 && format.exp() == 8;
        Rounding {
            drop,
            min: normal - (1 << (drop - 1 - subnormal as u32)),
            max: class.native(format, format.max_bits()),
        }
    }
}

/// One operator on one block.
#[derive(Clone)]
pub struct Instr {
    pub kernel: Kernel,
    /// Slots: the result and up to three arguments.
    pub dst: usize,
    pub args: [usize; 4],
    /// Of the result, and of the (first) argument.
    pub to: Rounding,
    pub format: hdl::Format,
    pub from: hdl::Format,
    /// A shift amount, or a multiplier's exponent.
    pub n: i32,
    /// For operators without a block kernel: evaluate lane by lane.
    pub slow: Option<std::sync::Arc<super::slow::Slow>>,
    /// For table-driven functions.
    pub table: Option<std::sync::Arc<super::kernels::power::Table>>,
}

/// A block kernel. It is unsafe because it may use instructions that the machine must have, and because it
/// trusts the slots named in the instruction.
pub type Kernel = unsafe fn(&Instr, &mut Frame);

/// The memory that one thread evaluates in.
pub struct Frame {
    slots: Vec<Slot>,
    /// Sticky flags of the block at hand.
    pub flags: Flags,
    /// Flags of the block that count only in some lanes, until it is known in which.
    pub held: Vec<Flags>,
}

impl Frame {
    /// A frame of `count` zeroed slots, with space for that many flags that are held.
    pub fn new(count: usize, held: usize) -> Frame {
        Frame { slots: vec![Slot([0; LANES]); count], flags: Flags::NONE, held: vec![Flags::NONE; held] }
    }

    /// The lanes of a slot as values of type `T`.
    ///
    /// # Safety
    /// `slot` must exist, `T` must be a 4- or 8-byte number type, and no other reference to the slot may live.
    #[inline(always)]
    pub unsafe fn lanes<'a, T>(&self, slot: usize) -> &'a [T; LANES] {
        debug_assert!(slot < self.slots.len() && size_of::<T>() <= 8);
        unsafe { &*(self.slots.as_ptr().add(slot) as *const [T; LANES]) }
    }

    /// The lanes of a slot, to be written.
    ///
    /// # Safety
    /// As [`Frame::lanes`]; `slot` must also differ from every slot that is read meanwhile.
    #[inline(always)]
    pub unsafe fn lanes_mut<'a, T>(&mut self, slot: usize) -> &'a mut [T; LANES] {
        debug_assert!(slot < self.slots.len() && size_of::<T>() <= 8);
        unsafe { &mut *(self.slots.as_mut_ptr().add(slot) as *mut [T; LANES]) }
    }

    /// One lane as the bits that a slot of this class holds.
    pub fn get(&self, class: Class, slot: usize, lane: usize) -> u64 {
        assert!(slot < self.slots.len() && lane < LANES);
        // SAFETY: the bounds are checked, and any bits are a number.
        unsafe { if class.is_narrow() { self.lanes::<u32>(slot)[lane] as u64 } else { self.lanes::<u64>(slot)[lane] } }
    }

    /// Sets one lane.
    pub fn set(&mut self, class: Class, slot: usize, lane: usize, native: u64) {
        assert!(slot < self.slots.len() && lane < LANES);
        // SAFETY: as in `get`, and `self` is borrowed mutably.
        unsafe {
            if class.is_narrow() {
                self.lanes_mut::<u32>(slot)[lane] = native as u32;
            } else {
                self.lanes_mut::<u64>(slot)[lane] = native;
            }
        }
    }

    /// Sets all lanes.
    pub fn fill(&mut self, class: Class, slot: usize, native: u64) {
        assert!(slot < self.slots.len());
        // SAFETY: as in `set`.
        unsafe {
            if class.is_narrow() {
                self.lanes_mut::<u32>(slot).fill(native as u32);
            } else {
                self.lanes_mut::<u64>(slot).fill(native);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdl::op::Inst;
    use testkit::Random;
    use testkit::uses::{plain_uses, rows};

    #[test]
    fn native_values_read_back() {
        for f in plain_uses(hdl::op::compare::EQ).into_iter().map(|inst| inst.args[0]) {
            let one = Inst {
                args: vec![f],
                result: f,
                attrs: Default::default(),
                nonneg: 0,
                bounds: Vec::new(),
                same: false,
            };
            let class = Class::of(f);
            for row in rows(&one, 1000, &mut Random::new(7)) {
                assert_eq!(class.pattern(f, class.native(f, row[0])), row[0], "{f}");
            }
        }
    }
}
