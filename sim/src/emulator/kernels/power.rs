//! The kernel of powers of floats: a table of the function over the significands of one or two octaves, made through the
//! operator's `bits`, and a scaling by the exponent.
//!
//! The operator's bits depend on the exponent only by an exact power of two, so a table over all significands
//! holds them all. It is made where it is small enough to be worth its time; wider formats go lane by lane.

use super::{Isa, variants};
use crate::emulator::frame::{Class, Frame, Instr, LANES};
use hdl::Flags;
use hdl::op::{Inst, Operator};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

type Op = &'static dyn Operator;

/// The widest fraction that gets a table: 2^17 entries of 4 bytes for a root.
const MAX_MANT: u32 = 16;

/// The function x^(n/d) on the significands of a format.
pub struct Table {
    /// Results for 1.m, and for d = 2 behind them for 2 * 1.m, as f32 (which holds 17 bits).
    values: Vec<f32>,
    n: i64,
    /// 0 for d = 1, 1 for d = 2.
    halves: u32,
    mant: u32,
}

/// Chooses the kernel for the power n/d of a float; false leaves it to the slow path.
pub fn prepare(op: Op, inst: &Inst, power: (i32, i32), instr: &mut Instr, isa: Isa) -> bool {
    let class = Class::of(inst.result);
    if class == Class::Raw || inst.result.mant() > MAX_MANT {
        return false;
    }
    let Some(table) = table(op, inst, power) else { return false };
    instr.table = Some(table);
    instr.kernel = match class {
        Class::F32 => variants!(kernel32).kernel(isa),
        _ => variants!(kernel64).kernel(isa),
    };
    true
}

/// The table of a use, made once a process; `None` where the exponent range is too small to hold the function over an
/// octave without a flag, or where the power is no table's business.
fn table(op: Op, inst: &Inst, power: (i32, i32)) -> Option<Arc<Table>> {
    type Tables = HashMap<(Op, Inst), Option<Arc<Table>>>;
    static TABLES: OnceLock<Mutex<Tables>> = OnceLock::new();
    let tables = TABLES.get_or_init(Mutex::default);
    let mut tables = tables.lock().expect("making a table does not panic");
    tables.entry((op, inst.clone())).or_insert_with(|| make(op, inst, power).map(Arc::new)).clone()
}

fn make(op: Op, inst: &Inst, (n, d): (i32, i32)) -> Option<Table> {
    let (n, d) = if d == 2 && n % 2 == 0 { (n / 2, 1) } else { (n, d) };
    let format = inst.result;
    if n == 0 || !(1..=2).contains(&d) {
        return None;
    }
    let mut values = Vec::with_capacity((d as usize) << format.mant());
    for octave in 0..d as u64 {
        for m in 0..1u64 << format.mant() {
            let x = (format.bias() as u64 + octave) << format.mant() | m;
            let (bits, flags) = op.bits(inst, &[x]);
            if !flags.is_empty() {
                return None;
            }
            values.push(format.to_f64(bits) as f32);
        }
    }
    Some(Table { values, n: n as i64, halves: d as u32 - 1, mant: format.mant() })
}

/// The kernel on one native type: the exponent is handled in its own field.
macro_rules! native {
    ($kernel:ident, $float:ty, $bits:ty, $int:ty, $mant:expr, $bias:expr) => {
        #[inline(always)]
        unsafe fn $kernel(i: &Instr, f: &mut Frame) {
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);
            const FRACTION: $bits = (1 << $mant) - 1;
            let (a, q) = unsafe { (f.lanes::<$float>(i.args[0]), f.lanes_mut::<$float>(i.dst)) };
            let table = i.table.as_deref().expect("a power instruction carries its table");
            let (values, n, halves) = (table.values.as_ptr(), table.n as $int, table.halves);
            let mant = table.mant;
            let least = (i.format.to_f64(1 << mant) as $float).to_bits() as $int >> $mant;
            let most = (i.format.to_f64(i.format.max_bits()) as $float).to_bits();
            let greatest = most as $int >> $mant;
            let odd = halves == 0 && n & 1 == 1;
            let negative_sign = if odd { SIGN } else { 0 };
            let (mut over, mut under, mut invalid): ($bits, $bits, $bits) = (0, 0, 0);
            // The look-up stands in a loop of its own, so that the loops around it become vector code.
            let mut looked_up = [0f32; LANES];
            let mut index = [0u32; LANES];
            for l in 0..LANES {
                let bits = a[l].to_bits();
                let exponent = (((bits & !SIGN) >> $mant) as $int - $bias) as $bits;
                index[l] = ((exponent & halves as $bits) << mant | (bits & FRACTION) >> ($mant - mant)) as u32;
            }
            for l in 0..LANES {
                // SAFETY: the index has mant + halves bits, and the table has as many entries.
                looked_up[l] = unsafe { *values.add(index[l] as usize) };
            }
            for l in 0..LANES {
                let bits = a[l].to_bits();
                let exponent = ((bits & !SIGN) >> $mant) as $int - $bias;
                let y = (looked_up[l] as $float).to_bits();
                let power = (y >> $mant) as $int + (exponent >> halves) * n;
                let zero = bits == 0;
                let wrong = (halves == 1) & (bits & SIGN != 0);
                let dead = zero | wrong;
                let (big, tiny) = ((power > greatest) & !dead, (power < least) & !dead);
                over |= big as $bits;
                under |= tiny as $bits;
                invalid |= wrong as $bits;
                let r = (y & FRACTION) | ((power as $bits) << $mant);
                let r = (if big { most } else { r }) | (bits & negative_sign);
                q[l] = <$float>::from_bits(if dead | tiny { 0 } else { r });
            }
            f.flags |=
                Flags::OVERFLOW.when(over != 0) | Flags::UNDERFLOW.when(under != 0) | Flags::INVALID.when(invalid != 0);
        }
    };
}

native!(kernel32, f32, u32, i32, 23, 127);
native!(kernel64, f64, u64, i64, 52, 1023);
