//! The bit-exact emulator: a graph prepared for evaluation in blocks, and the sources it runs over.
//!
//! [`Emulator`] prepares a graph once. [`Sources`] holds j records, element by element. [`Emulator::accumulate`] takes
//! targets through a list of segments, [`frame::LANES`] sources at a time: each operator is done for a whole block by
//! vector code chosen at run time (AVX-512, AVX2 or what every machine has). Bits and flags are those of [`crate::reference`].

mod demand;
pub mod engine;
mod frame;
mod kernels;
mod program;
mod slow;

pub use frame::LANES;
use frame::{Class, Frame};
pub use kernels::Isa;
use program::{Gather, Place, Program, program};

use hdl::engine::protocol::Segment;
use hdl::number::reduce::{Accumulator, Selection, order_key};
use hdl::{Flags, Reduce};
use pg2::graph::Graph;

/// The j records that an emulator runs over: one column of native values for each element.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    columns: Vec<Column>,
}

#[derive(Clone, Debug)]
enum Column {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

/// The sums of one target so far: an accumulator for each output element, and flags.
#[derive(Clone, Debug)]
pub struct Sums {
    pub outputs: Vec<Accumulator>,
    pub flags: Flags,
}

impl Sums {
    /// The results' patterns and all flags, `wrap` included.
    pub fn finish(&self) -> (Vec<u64>, Flags) {
        let mut flags = self.flags;
        let finish = |a: &Accumulator| {
            let (bits, wrap) = a.finish();
            flags |= wrap;
            bits
        };
        (self.outputs.iter().map(finish).collect(), flags)
    }
}

/// A graph prepared for evaluation.
pub struct Emulator {
    program: Program,
    params: Vec<u64>,
    /// The graph and the instruction set of a program that holds tables of the parameters.
    tables: Option<(Graph, Isa)>,
}

/// The memory that one thread evaluates in; made by [`Emulator::scratch`].
pub struct Scratch {
    frame: Frame,
}

impl Emulator {
    /// Prepares `graph` for the best instruction set of this machine; all parameters are 0.
    pub fn new(graph: &Graph) -> Emulator {
        Emulator::with_isa(graph, Isa::detect())
    }

    /// Prepares `graph` for an instruction set, which the machine must have.
    pub fn with_isa(graph: &Graph, isa: Isa) -> Emulator {
        let mut marked;
        let graph = match graph.demand.is_empty() {
            true => {
                marked = graph.clone();
                pg2::middle::demand::mark(&mut marked);
                &marked
            }
            false => graph,
        };
        let program = program(graph, isa);
        let params = vec![0; program.params.len()];
        let tables = graph.tables().next().map(|_| (graph.clone(), isa));
        Emulator { program, params, tables }
    }

    /// The parameters' patterns, in record order.
    pub fn params(&self) -> &[u64] {
        &self.params
    }

    /// Sets the parameters' patterns, in record order. Scratches made before keep the old ones.
    pub fn set_params(&mut self, params: &[u64]) {
        self.params = params.to_vec();
        if let Some((graph, isa)) = &self.tables
            && let Some(bound) = graph.bound(params, false)
        {
            self.program = program(&bound, *isa);
        }
    }

    /// Operators that have no block kernel and go lane by lane.
    pub fn slow_operators(&self) -> Vec<&'static str> {
        let all = self.program.common.iter().chain(&self.program.pair);
        all.filter_map(|step| step.instr()?.slow.as_ref().map(|s| s.op.name())).collect()
    }

    /// Memory to evaluate in, with the present parameters.
    pub fn scratch(&self) -> Scratch {
        let mut frame = Frame::new(self.program.slots, self.program.held);
        for c in &self.program.constants {
            fill(&mut frame, c.place, c.bits);
        }
        for (place, bits) in self.program.params.iter().zip(&self.params) {
            place.iter().for_each(|p| fill(&mut frame, *p, *bits));
        }
        Scratch { frame }
    }

    /// Room for `capacity` j records, all zero.
    pub fn sources(&self, capacity: usize) -> Sources {
        let column = |f: &hdl::Format| match Class::of(*f).is_narrow() {
            true => Column::Narrow(vec![0; capacity]),
            false => Column::Wide(vec![0; capacity]),
        };
        Sources { columns: self.program.j_formats.iter().map(column).collect() }
    }

    /// Writes records from index `first` on; `patterns` holds their elements, record by record.
    pub fn load(&self, sources: &mut Sources, first: usize, patterns: &[u64]) {
        let elements = self.program.j_formats.len();
        for (e, (column, format)) in sources.columns.iter_mut().zip(&self.program.j_formats).enumerate() {
            let class = Class::of(*format);
            let natives = patterns.iter().skip(e).step_by(elements).map(|bits| class.native(*format, *bits));
            match column {
                Column::Narrow(v) => v[first..].iter_mut().zip(natives).for_each(|(to, x)| *to = x as u32),
                Column::Wide(v) => v[first..].iter_mut().zip(natives).for_each(|(to, x)| *to = x),
            }
        }
    }

    /// The state before the first pair.
    pub fn start(&self) -> Sums {
        let new = |o: &Gather| Accumulator::new(o.reduce, o.place.format);
        Sums { outputs: self.program.outputs.iter().map(new).collect(), flags: Flags::NONE }
    }

    /// Adds the pairs of every target with all sources of `segments` to its sums. `targets` holds the records'
    /// patterns, record by record, as many as there are `sums`.
    pub fn accumulate(
        &self,
        scratch: &mut Scratch,
        sums: &mut [Sums],
        targets: &[u64],
        sources: &Sources,
        segments: &[Segment],
    ) {
        let mut filled = 0;
        for s in segments {
            let (mut first, mut count) = (s.first as usize, s.count as usize);
            while count > 0 {
                let take = count.min(LANES - filled);
                self.gather(&mut scratch.frame, filled, sources, first, take);
                (first, count, filled) = (first + take, count - take, filled + take);
                if filled == LANES {
                    self.block(&mut scratch.frame, sums, targets, LANES);
                    filled = 0;
                }
            }
        }
        if filled > 0 {
            self.pad(&mut scratch.frame, filled);
            self.block(&mut scratch.frame, sums, targets, filled);
        }
    }

    /// The pattern of an output element for one pair of the block that was evaluated last: its target with the source of a lane.
    pub fn value(&self, scratch: &Scratch, output: usize, lane: usize) -> u64 {
        let Place { slot, format, class } = self.program.outputs[output].place;
        class.pattern(format, scratch.frame.get(class, slot, lane))
    }

    /// Copies sources into lanes `lane..lane + count`.
    fn gather(&self, frame: &mut Frame, lane: usize, sources: &Sources, first: usize, count: usize) {
        for (place, column) in self.program.j.iter().zip(&sources.columns) {
            let Some(place) = place else { continue };
            // SAFETY: the program's slots exist in its frames, and the lane type is that of the place's class.
            unsafe {
                match column {
                    Column::Narrow(v) => {
                        frame.lanes_mut::<u32>(place.slot)[lane..lane + count].copy_from_slice(&v[first..first + count])
                    }
                    Column::Wide(v) => {
                        frame.lanes_mut::<u64>(place.slot)[lane..lane + count].copy_from_slice(&v[first..first + count])
                    }
                }
            }
        }
    }

    /// Fills the lanes behind the last source with copies of it: they raise no flag that it does not raise itself, and
    /// they are not added up.
    fn pad(&self, frame: &mut Frame, filled: usize) {
        for place in self.program.j.iter().flatten() {
            let last = frame.get(place.class, place.slot, filled - 1);
            (filled..LANES).for_each(|lane| frame.set(place.class, place.slot, lane, last));
        }
    }

    /// Evaluates a block of which the first `count` lanes hold sources.
    fn block(&self, frame: &mut Frame, sums: &mut [Sums], targets: &[u64], count: usize) {
        frame.flags = Flags::NONE;
        // SAFETY: the program only names slots of its frames, and its kernels are of an instruction set that the machine has.
        self.program.common.iter().for_each(|step| unsafe { step.run(frame) });
        let common = frame.flags;
        let elements = self.program.i.len();
        for (k, sum) in sums.iter_mut().enumerate() {
            for (e, place) in self.program.i.iter().enumerate() {
                place.iter().for_each(|p| fill(frame, *p, targets[k * elements + e]));
            }
            // A flag that is raised already need not be looked for again.
            frame.flags = common | sum.flags;
            // SAFETY: as above.
            self.program.pair.iter().for_each(|step| unsafe { step.run(frame) });
            sum.flags = frame.flags;
            for (output, gather) in sum.outputs.iter_mut().zip(&self.program.outputs) {
                add_lanes(output, gather, frame, count);
            }
            for selection in &self.program.selections {
                select_lanes(&mut sum.outputs, selection, &self.program.outputs, frame, count);
            }
        }
    }
}

fn fill(frame: &mut Frame, place: Place, bits: u64) {
    frame.fill(place.class, place.slot, place.class.native(place.format, bits));
}

/// Adds the first `count` lanes of an output to its accumulator.
fn add_lanes(output: &mut Accumulator, gather: &Gather, frame: &Frame, count: usize) {
    let Place { slot, format, class } = gather.place;
    // SAFETY: the program's slots exist in its frames, and the lane type is that of the place's class.
    unsafe {
        match (gather.reduce, class) {
            (Reduce::Sum, Class::I32) if format.is_signed() => {
                output.add_exact(frame.lanes::<i32>(slot)[..count].iter().map(|x| *x as i64).sum::<i64>() as i128);
            }
            (Reduce::Sum, Class::I32) => {
                output.add_exact(frame.lanes::<u32>(slot)[..count].iter().map(|x| *x as i64).sum::<i64>() as i128);
            }
            (Reduce::Sum, _) => {
                // Halves are summed apart, so that 64-bit lanes cannot overflow.
                let lanes = &frame.lanes::<i64>(slot)[..count];
                let low: u64 = lanes.iter().map(|x| *x as u64 & 0xffff_ffff).sum();
                let high: i64 = match format.is_signed() {
                    true => lanes.iter().map(|x| x >> 32).sum(),
                    false => lanes.iter().map(|x| (*x as u64 >> 32) as i64).sum(),
                };
                output.add_exact(((high as i128) << 32) + low as i128);
            }
            // A selection takes its outputs together.
            (Reduce::Ranked(_), _) => {}
            (reduce, _) => {
                let patterns = (0..count).map(|lane| class.pattern(format, frame.get(class, slot, lane)));
                let best = match reduce {
                    Reduce::Max => patterns.max_by_key(|p| order_key(format, *p)),
                    _ => patterns.min_by_key(|p| order_key(format, *p)),
                };
                best.iter().for_each(|p| output.add(*p));
            }
        }
    }
}

/// Takes the first `count` lanes of a selection's values into its outputs. Few keys are good enough to be looked at closely.
fn select_lanes(outputs: &mut [Accumulator], selection: &Selection, gathers: &[Gather], frame: &Frame, count: usize) {
    let members: Vec<Place> = selection.ranks[0].iter().map(|output| gathers[*output].place).collect();
    let pattern = |place: &Place, lane| place.class.pattern(place.format, frame.get(place.class, place.slot, lane));
    let mut tuple = vec![0; members.len()];
    for lane in 0..count {
        if !selection.may_take(outputs, pattern(&members[0], lane)) {
            continue;
        }
        tuple.iter_mut().zip(&members).for_each(|(bits, place)| *bits = pattern(place, lane));
        selection.add(outputs, &tuple);
    }
}
