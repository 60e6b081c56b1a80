//! Kernels of the int, fixed and logic operators on sign- or zero-extended integers, and of comparisons,
//! selections and extremes of every native class.

use super::{Variants, variants};
use crate::emulator::frame::{Class, Frame, Instr, LANES};
use hdl::op::Inst;
use hdl::op::facts::Fast;

/// The kernel of an operator whose arguments have class `from` and whose result has class `to`.
pub fn find(fast: Fast, inst: &Inst, from: Class, to: Class) -> Option<Variants> {
    let second = inst.args.get(1).map_or(to, |f| Class::of(*f));
    match from {
        _ if fast == Fast::Select => select(second),
        // A cast from or to a float or log is none of these.
        Class::I32 | Class::I64 if fast == Fast::Cast => match (from, to) {
            (Class::I32, Class::I64) if inst.args[0].is_signed() => Some(variants!(cast::<i32, i64>)),
            (Class::I32, Class::I64) => Some(variants!(cast::<u32, i64>)),
            (Class::I32, Class::I32) => Some(variants!(cast::<i32, i32>)),
            (Class::I64, Class::I32) => Some(variants!(cast::<i64, i32>)),
            (Class::I64, Class::I64) => Some(variants!(cast::<i64, i64>)),
            _ => None,
        },
        // A comparison is made on the class's own order; unsigned integers that fill their slot need it unsigned.
        Class::I32 if inst.args[0].is_signed() => arithmetic32(fast).or_else(|| ordered_i32(fast)),
        Class::I32 => arithmetic32(fast).or_else(|| ordered_u32(fast)),
        Class::I64 if inst.args[0].is_signed() => arithmetic64(fast).or_else(|| ordered_i64(fast)),
        Class::I64 => arithmetic64(fast).or_else(|| ordered_u64(fast)),
        Class::F32 => ordered_f32(fast),
        Class::F64 => ordered_f64(fast),
        Class::Raw => None,
    }
}

fn select(class: Class) -> Option<Variants> {
    Some(if class.is_narrow() { variants!(mux::<u32>) } else { variants!(mux::<u64>) })
}

/// An integer slot type.
trait Word: Copy + 'static {
    fn wide(self) -> i64;
    fn cut(x: i64) -> Self;
}

macro_rules! word {
    ($t:ty) => {
        impl Word for $t {
            #[inline(always)]
            fn wide(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn cut(x: i64) -> $t {
                x as $t
            }
        }
    };
}
word!(i32);
word!(u32);
word!(i64);

/// Wraps the low bits of `x` to a format of `width` bits, extended to the slot.
macro_rules! arithmetic {
    ($find:ident, $module:ident, $t:ty, $u:ty) => {
        fn $find(fast: Fast) -> Option<Variants> {
            Some(match fast {
                Fast::Add => variants!($module::add),
                Fast::Sub => variants!($module::sub),
                Fast::Mul => variants!($module::mul),
                Fast::Neg => variants!($module::neg),
                Fast::Abs => variants!($module::abs),
                Fast::And => variants!($module::and),
                Fast::Or => variants!($module::or),
                Fast::Xor => variants!($module::xor),
                Fast::Not => variants!($module::not),
                Fast::Shl(_) => variants!($module::shl),
                Fast::Shr(_) => variants!($module::shr),
                _ => return None,
            })
        }

        mod $module {
            use super::*;

            #[inline(always)]
            unsafe fn each(i: &Instr, f: &mut Frame, op: impl Fn($t, $t) -> $t) {
                let (a, b, q) =
                    unsafe { (f.lanes::<$t>(i.args[0]), f.lanes::<$t>(i.args[1]), f.lanes_mut::<$t>(i.dst)) };
                let spare = <$t>::BITS - i.format.width();
                if i.format.is_signed() {
                    for l in 0..LANES {
                        q[l] = (op(a[l], b[l]) << spare) >> spare;
                    }
                } else {
                    for l in 0..LANES {
                        q[l] = (((op(a[l], b[l]) << spare) as $u) >> spare) as $t;
                    }
                }
            }

            macro_rules! operation {
                ($name:ident, $op:expr) => {
                    #[inline(always)]
                    pub unsafe fn $name(i: &Instr, f: &mut Frame) {
                        unsafe { each(i, f, $op) }
                    }
                };
            }
            operation!(add, |a, b| a.wrapping_add(b));
            operation!(sub, |a, b| a.wrapping_sub(b));
            operation!(mul, |a, b| a.wrapping_mul(b));
            operation!(neg, |a, _| a.wrapping_neg());
            operation!(and, |a, b| a & b);
            operation!(or, |a, b| a | b);
            operation!(xor, |a, b| a ^ b);
            operation!(not, |a, _| !a);

            #[inline(always)]
            pub unsafe fn abs(i: &Instr, f: &mut Frame) {
                let signed = i.format.is_signed();
                unsafe { each(i, f, |a, _| if signed && a < 0 { a.wrapping_neg() } else { a }) }
            }

            #[inline(always)]
            pub unsafe fn shl(i: &Instr, f: &mut Frame) {
                let n = i.n as u32;
                unsafe { each(i, f, |a, _| a << n) }
            }

            #[inline(always)]
            pub unsafe fn shr(i: &Instr, f: &mut Frame) {
                let n = i.n as u32;
                if i.format.is_signed() {
                    unsafe { each(i, f, |a, _| a >> n) }
                } else {
                    unsafe { each(i, f, |a, _| ((a as $u) >> n) as $t) }
                }
            }
        }
    };
}
arithmetic!(arithmetic32, words32, i32, u32);
arithmetic!(arithmetic64, words64, i64, u64);

#[inline(always)]
unsafe fn cast<A: Word, T: Word>(i: &Instr, f: &mut Frame) {
    let (a, q) = unsafe { (f.lanes::<A>(i.args[0]), f.lanes_mut::<T>(i.dst)) };
    let spare = 64 - i.format.width();
    if i.format.is_signed() {
        for l in 0..LANES {
            q[l] = T::cut((a[l].wide() << spare) >> spare);
        }
    } else {
        for l in 0..LANES {
            q[l] = T::cut((((a[l].wide() << spare) as u64) >> spare) as i64);
        }
    }
}

/// A condition is 0 or 1 in a 32-bit slot.
#[inline(always)]
unsafe fn mux<T: Copy + 'static>(i: &Instr, f: &mut Frame) {
    let (c, a) = unsafe { (f.lanes::<u32>(i.args[0]), f.lanes::<T>(i.args[1])) };
    let (b, q) = unsafe { (f.lanes::<T>(i.args[2]), f.lanes_mut::<T>(i.dst)) };
    for l in 0..LANES {
        q[l] = if c[l] != 0 { a[l] } else { b[l] };
    }
}

/// Comparisons and extremes on the order of a slot type.
macro_rules! ordered {
    ($find:ident, $t:ty) => {
        fn $find(fast: Fast) -> Option<Variants> {
            Some(match fast {
                Fast::Lt => variants!(|i, f| compare::<$t>(i, f, |a, b| a < b)),
                Fast::Le => variants!(|i, f| compare::<$t>(i, f, |a, b| a <= b)),
                Fast::Eq => variants!(|i, f| compare::<$t>(i, f, |a, b| a == b)),
                Fast::Ne => variants!(|i, f| compare::<$t>(i, f, |a, b| a != b)),
                Fast::Nonzero => variants!(|i, f| compare::<$t>(i, f, |a, _| a != <$t>::default())),
                Fast::Zero => variants!(|i, f| compare::<$t>(i, f, |a, _| a == <$t>::default())),
                Fast::Min => variants!(|i, f| choose::<$t>(i, f, |a, b| b < a)),
                Fast::Max => variants!(|i, f| choose::<$t>(i, f, |a, b| a < b)),
                _ => return None,
            })
        }
    };
}
ordered!(ordered_i32, i32);
ordered!(ordered_u32, u32);
ordered!(ordered_i64, i64);
ordered!(ordered_u64, u64);
ordered!(ordered_f32, f32);
ordered!(ordered_f64, f64);

#[inline(always)]
unsafe fn compare<T: Copy + 'static>(i: &Instr, f: &mut Frame, op: impl Fn(T, T) -> bool) {
    let (a, b, q) = unsafe { (f.lanes::<T>(i.args[0]), f.lanes::<T>(i.args[1]), f.lanes_mut::<u32>(i.dst)) };
    for l in 0..LANES {
        q[l] = op(a[l], b[l]) as u32;
    }
}

#[inline(always)]
unsafe fn choose<T: Copy + 'static>(i: &Instr, f: &mut Frame, second: impl Fn(T, T) -> bool) {
    let (a, b, q) = unsafe { (f.lanes::<T>(i.args[0]), f.lanes::<T>(i.args[1]), f.lanes_mut::<T>(i.dst)) };
    for l in 0..LANES {
        q[l] = if second(a[l], b[l]) { b[l] } else { a[l] };
    }
}
