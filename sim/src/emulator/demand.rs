//! Flags that count only in the lanes whose value is demanded (RULES L6).
//!
//! Block kernels say which flags any lane raised. Where that matters, the kernel runs once more for its flags alone, with the
//! arguments of a demanded lane in all lanes that are not demanded.

use super::frame::{Class, Frame, Instr, LANES};
use hdl::Flags;

/// One step of a program.
pub enum Step {
    /// An operator whose flags count always.
    Plain(Instr),
    /// An operator whose flags are held in that place.
    Held(Instr, usize),
    Count(Count),
}

impl Step {
    /// The operator, if it is one.
    pub fn instr(&self) -> Option<&Instr> {
        match self {
            Step::Plain(instr) | Step::Held(instr, _) => Some(instr),
            Step::Count(_) => None,
        }
    }

    /// Takes the step on a block.
    ///
    /// # Safety
    /// As for the kernels: slots and instructions must be there.
    pub unsafe fn run(&self, frame: &mut Frame) {
        match self {
            Step::Plain(instr) => unsafe { (instr.kernel)(instr, frame) },
            Step::Held(instr, place) => frame.held[*place] = unsafe { flags_of(instr, frame) },
            Step::Count(count) => unsafe { count.run(frame) },
        }
    }
}

/// Flags that are held, once it is known in which lanes they count.
pub struct Count {
    /// Where they are held.
    pub held: usize,
    /// The slot of the condition: 1 in the lanes that are demanded.
    pub condition: usize,
    /// The operator, with slots of nobody's for its result and its arguments.
    pub instr: Instr,
    /// Slots and classes of its arguments.
    pub args: Vec<(usize, Class)>,
}

impl Count {
    unsafe fn run(&self, frame: &mut Frame) {
        let new = Flags(frame.held[self.held].0 & !frame.flags.0);
        if new.is_empty() {
            return;
        }
        let demanded: &[u32; LANES] = unsafe { frame.lanes(self.condition) };
        let Some(some) = demanded.iter().position(|d| *d == 1) else { return };
        if demanded.iter().all(|d| *d == 1) {
            frame.flags |= new;
            return;
        }
        for ((slot, class), own) in self.args.iter().zip(self.instr.args) {
            // SAFETY: the own slots are no values', so each differs from the one that is read.
            unsafe {
                if class.is_narrow() {
                    select::<u32>(frame, demanded, some, *slot, own);
                } else {
                    select::<u64>(frame, demanded, some, *slot, own);
                }
            }
        }
        let raised = unsafe { flags_of(&self.instr, frame) };
        frame.flags |= raised;
    }
}

/// Runs an operator and gives the flags that its lanes raise, apart from the frame's.
unsafe fn flags_of(instr: &Instr, frame: &mut Frame) -> Flags {
    let before = std::mem::replace(&mut frame.flags, Flags::NONE);
    unsafe { (instr.kernel)(instr, frame) };
    std::mem::replace(&mut frame.flags, before)
}

/// Copies a slot with the value of lane `some` in the lanes that are not demanded.
unsafe fn select<T: Copy + 'static>(frame: &mut Frame, demanded: &[u32; LANES], some: usize, from: usize, to: usize) {
    let (from, to) = unsafe { (frame.lanes::<T>(from), frame.lanes_mut::<T>(to)) };
    for lane in 0..LANES {
        to[lane] = if demanded[lane] == 1 { from[lane] } else { from[some] };
    }
}
