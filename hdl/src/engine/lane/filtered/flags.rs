//! The flags of each filter's target: what its pairs raised in the filter and in the pipeline, and whether a sum has wrapped.

use super::condition::Came;
use super::{Plan, Retired, unused};
use crate::engine::lane::results::all_flags;
use crate::rtl::netlist::Module;
use crate::rtl::{Value, cat};

pub(super) struct Flags<'a> {
    pub plan: &'a Plan<'a>,
    pub came: &'a Came,
    pub retired: &'a Retired,
    /// Whether the values of a pair leave the pipeline, and the place of its sums.
    pub now: (Value, Value),
    /// When a pair has changed its sums, whose they are, and whether one of them is beyond its format.
    pub beyond: Option<(Value, Value, Value)>,
}

impl Flags<'_> {
    /// The flags of all filters, side by side, of the half that is shown.
    pub fn build(&self, lane: &mut Module, shown_half: &Value) -> Value {
        let plan = self.plan;
        lane.comment("Flags stick until `first`, those of each half apart.");
        let wraps = plan.inner().wraps || plan.test().wraps;
        let bits = 4 + wraps as u32;
        let mut idle = Vec::new();
        let mut all = Vec::new();
        for k in 0..plan.filters() {
            let own = self.came.flags.bits(5 * k, 5);
            idle.extend((!wraps).then(|| own.bit(4)));
            let took = lane.wire(format!("took_{k}"), own.low(bits) & self.came.take.bit(k).repeat(bits));
            let [low, high] = [0, 1].map(|half| self.of(lane, (half, k), &took));
            let shown = shown_half.mux(&high, &low);
            let shown = lane.wire(format!("shown_flags_{k}"), shown);
            all.push(all_flags(shown.msb(), &shown.low(bits)));
        }
        idle.extend((!wraps).then(|| self.retired.flags.bit(4)));
        lane.wire("unused_flags", unused(idle));
        all.reverse();
        cat(all)
    }

    /// The flags of a target in one half: what pairs raised, and above it whether a sum is beyond its format.
    fn of(&self, lane: &mut Module, (half, k): (u32, u32), took: &Value) -> Value {
        let (plan, bits) = (self.plan, took.width());
        let place = (half << plan.lane_bits() | k) as i128;
        let here = if half == 1 { self.came.half.clone() } else { !&self.came.half };
        let here = lane.wire(format!("here_{half}_{k}"), here);
        let keeps = !(&here & &self.came.first);
        let raised = lane.hold(format!("raised_{half}_{k}"), bits);
        let (hit, at) = &self.now;
        let retires = lane.wire(format!("retires_{half}_{k}"), hit & at.is_number(place));
        let more = self.retired.flags.low(bits) & retires.repeat(bits);
        let next = (&raised & keeps.repeat(bits)) | (took & here.repeat(bits)) | more;
        lane.load(format!("raised_{half}_{k}"), next);
        let beyond = self.beyond.as_ref().map(|(hit, at, beyond)| {
            let name = format!("wrapped_{half}_{k}");
            let own = lane.hold(name.clone(), 1);
            lane.load(name, (hit & at.is_number(place)).mux(beyond, &(own & keeps)));
            lane.signal(&format!("wrapped_{half}_{k}"))
        });
        cat([beyond.unwrap_or_else(|| Value::flag(false)), raised])
    }
}
