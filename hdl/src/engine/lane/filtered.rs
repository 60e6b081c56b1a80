//! The lane with filters: F lanes that compute the condition alone, each with a target of its own, and one pipeline behind them
//! that takes the pairs that pass.
//!
//! All filters take a source in each clock. What passes waits in a queue behind each filter, and the queues take turns at the
//! pipeline. Its sums stand in memory, one for each filter: a pair says whose it adds to. While a queue is nearly full the sequencer
//! withholds pairs; the pipeline itself never waits. A group of targets has ended when its last source has passed the filters and
//! none of its pairs waits any more. The pairs of the next group go to the other half of the sums meanwhile, since no group ends
//! before the record of the one before has been sent.

mod condition;
mod flags;
mod queues;
mod sums;

use super::enter::{self, enter};
use super::{LONG, i_registers, ports_of, terms, unused};
use crate::engine::Config;
use crate::engine::shape::bits_for;
use crate::hash::FastSet;
use crate::rtl::delay;
use crate::rtl::filtered::Filtered;
use crate::rtl::netlist::{Dir, Module, Netlist};
use crate::rtl::{Name, Value, cat};
use flags::Flags;
use sums::Sums;

/// Clocks before its value leaves the pipeline in which the sum that a pair adds to is read.
const AHEAD: u32 = 2;
/// Clocks from a pair at the pipeline until its sums are there: two parts of a sum, what is beyond a format, and one to be sure.
const BEHIND: u32 = 4;

/// A lane with filters while it is built.
struct Plan<'a> {
    config: &'a Config,
    pipeline: &'a Netlist,
    filtered: &'a Filtered,
    /// The ports of the pipeline, and those of the condition's.
    own: FastSet<&'a str>,
    condition: FastSet<&'a str>,
}

impl<'a> Plan<'a> {
    fn new(config: &'a Config, pipeline: &'a Netlist, filtered: &'a Filtered) -> Plan<'a> {
        let module = |name: &str| pipeline.module(name).expect("both parts are in the netlist");
        let (own, condition) = (ports_of(module(&pipeline.top)), ports_of(module(&filtered.condition)));
        Plan { config, pipeline, filtered, own, condition }
    }

    fn inner(&self) -> &'a Module {
        self.pipeline.module(&self.pipeline.top).expect("a netlist has its top module")
    }

    fn conditions(&self) -> &'a Module {
        self.pipeline.module(&self.filtered.condition).expect("both parts are in the netlist")
    }

    fn filters(&self) -> u32 {
        self.config.filters
    }

    /// Bits of a filter's number.
    fn lane_bits(&self) -> u32 {
        bits_for(self.filters() - 1)
    }

    /// Bits of the place of a sum: the half, and whose it is.
    fn place_bits(&self) -> u32 {
        1 + self.lane_bits()
    }

    /// Cycles of the pipeline, and of registers in front of it where it is too short for its sums to be read ahead.
    fn latency(&self) -> u32 {
        self.config.pipeline_latency.max(AHEAD)
    }

    /// Clocks from a group's end at the queues to its result.
    fn drain(&self) -> u32 {
        self.latency() + BEHIND
    }

    /// The ports that pairs come to, of both parts.
    fn ports(&self) -> FastSet<&'a str> {
        self.own.union(&self.condition).copied().collect()
    }

    /// The lines of delay that what travels beside a pair needs: bits and cycles.
    fn delays(&self) -> [(u32, u32); 2] {
        [(3 + self.filters(), self.filtered.latency), (1 + self.place_bits(), self.latency() - AHEAD)]
    }
}

/// The lane of `config` around `pipeline`, which has a condition, and modules that it needs besides, the lane last.
pub(super) fn modules(config: &Config, pipeline: &Netlist, filtered: &Filtered) -> Vec<Module> {
    let plan = Plan::new(config, pipeline, filtered);
    let kernel = &config.layout.kernel;
    let mut modules = enter::modules(config, &plan.ports());
    let long = plan.delays().into_iter().filter(|(_, cycles)| *cycles > LONG);
    let stored = long.map(|(bits, cycles)| delay::module(bits, cycles - 1, delay::Read::Registered));
    modules.extend(stored.map(|m| Module { name: format!("{kernel}_{}", m.name), ..m }));
    modules.extend(Sums::modules(&plan));
    modules.push(queues::module(&plan));
    modules.push(condition::module(&plan));
    modules.push(module(&plan));
    let mut known = FastSet::default();
    modules.retain(|m| known.insert(m.name.clone()));
    modules
}

fn module(plan: &Plan) -> Module {
    let (config, kernel) = (plan.config, &plan.config.layout.kernel);
    let mut lane = Module { name: format!("{kernel}_lane"), ..Module::default() };
    lane.latency = plan.filtered.latency + 2 + plan.drain() + config.spread() as u32;
    lane.doc = vec![
        format!("A lane of {kernel}: {} filters, each with its i registers, and a pipeline.", plan.filters()),
        format!("`r_done` follows `c_last` by {} cycles or more.", lane.latency),
    ];
    ports(&mut lane, plan);
    enter(&mut lane, config, &plan.ports());
    let came = condition::filters(&mut lane, plan);
    let pair = queues::instance(&mut lane, plan, &came);
    let retired = pipeline(&mut lane, plan, &pair);
    let sums = Sums::new(&mut lane, plan, &came, &retired);
    let read = sums.build(&mut lane);
    let flags = Flags { plan, came: &came, retired: &retired, now: sums.now(), beyond: read.beyond };
    let all = flags.build(&mut lane, &pair.shown_half);
    lane.comment("The result, word by word.");
    lane.assign("r_data", read.word);
    lane.assign("r_flags", all);
    ends(&mut lane, plan, &pair);
    lane
}

fn ports(lane: &mut Module, plan: &Plan) {
    let (layout, filters) = (&plan.config.layout, plan.filters());
    for (name, width) in [("clk", 1), ("rst", 1), ("i_we", filters), ("i_bank", 1)] {
        lane.port(Dir::In, name, width);
    }
    lane.port(Dir::In, "i_rec", 32 * layout.i_words());
    lane.port(Dir::In, "j_rec", 32 * layout.j_words());
    if layout.register_words() > 0 {
        lane.port(Dir::In, "param", 32 * layout.register_words());
    }
    for table in &layout.tables {
        lane.port(Dir::In, &table.port, table.port_bits());
    }
    for name in ["c_valid", "c_first", "c_last", "c_bank"] {
        lane.port(Dir::In, name, 1);
    }
    lane.port(Dir::In, "c_active", filters);
    lane.port(Dir::In, "r_at", plan.lane_bits() + bits_for(layout.result_words() - 1));
    lane.port(Dir::Out, "r_data", 32);
    lane.port(Dir::Out, "r_flags", 5 * filters);
    for name in ["r_done", "room", "idle", "passed"] {
        lane.port(Dir::Out, name, 1);
    }
}

/// A value some cycles later: in registers, or in memory and a register behind it.
fn delayed(lane: &mut Module, plan: &Plan, name: &str, value: Value, cycles: u32) -> Value {
    if cycles <= LONG {
        return (1..=cycles).fold(value, |value, k| lane.reg(format!("{name}_{k}"), value));
    }
    let memory = delay::name(value.width(), cycles - 1, delay::Read::Registered);
    let d = lane.wire(format!("{name}_in"), value);
    let q = lane.net(format!("{name}_stored"), d.width());
    let connections = [("clk", lane.signal("clk")), ("d", d), ("q", q.clone())];
    lane.instance(format!("{}_{memory}", plan.config.layout.kernel), name.to_string(), connections);
    lane.reg(format!("{name}_out"), q)
}

/// The sources' elements, parameters and tables that come to a lane: port of the pipeline, its value here, and the bits of the
/// record beside it that are none.
fn elements(lane: &Module, plan: &Plan) -> (Vec<(String, Value)>, Vec<Value>) {
    let (layout, known) = (&plan.config.layout, plan.ports());
    let (mut all, mut idle) = (Vec::new(), Vec::new());
    for (record, elements) in [("j_rec", &layout.j), ("param", &layout.params)] {
        if elements.is_empty() {
            idle.extend((record != "param").then(|| lane.signal(record)));
            continue;
        }
        let bits = lane.signal(record);
        let mut at = 0;
        for (port, format) in elements {
            let (width, words) = (format.width(), format.words());
            let own = bits.bits(at, width);
            match known.contains(port.as_str()) {
                false => idle.push(own),
                true if plan.config.spread() => all.push((port.clone(), lane.signal(&format!("entered_{port}")))),
                true => all.push((port.clone(), own)),
            }
            if width < 32 * words {
                idle.push(bits.bits(at + width, 32 * words - width));
            }
            at += 32 * words;
        }
    }
    for table in &layout.tables {
        match known.contains(table.port.as_str()) {
            true => all.push((table.port.clone(), enter::entered(lane, &table.port))),
            false => idle.push(lane.signal(&table.port)),
        }
    }
    (all, idle)
}

/// A pair that leaves the pipeline, with what it adds.
struct Retired {
    /// Whether there is one, and the place of its sums, [`AHEAD`] clocks before its values.
    ahead: Value,
    place: Value,
    flags: Value,
}

/// The pipeline behind the queues.
fn pipeline(lane: &mut Module, plan: &Plan, pair: &queues::Pair) -> Retired {
    let inner = plan.inner();
    lane.comment("The pipeline, and the pairs that pass.");
    let mut data = pair.data.clone();
    for k in plan.config.pipeline_latency..plan.latency() {
        data = data.map(|data| lane.reg(format!("pair_data_{k}"), data));
    }
    let mut connections: Vec<(Name, Value)> = Vec::new();
    let mut at = 0;
    for carried in &plan.filtered.carried {
        let bits = data.as_ref().expect("something is carried").bits(at, carried.width);
        connections.push(((&carried.to).into(), bits));
        at += carried.width;
    }
    let (elements, _) = elements(lane, plan);
    let own = elements.into_iter().filter(|(port, _)| plan.own.contains(port.as_str()));
    connections.extend(own.map(|(port, value)| (port.into(), value)));
    if plan.own.contains("clk") {
        connections.push(("clk".into(), lane.signal("clk")));
    }
    let terms = terms(inner);
    for (port, format, _) in &plan.config.layout.outputs {
        match terms.get(port.as_str()) {
            None => connections.push((port.into(), lane.net(format!("value_{port}"), format.width()))),
            Some(term) => {
                let ends = super::term_nets(port).into_iter().zip(&term.ports).zip(term.shape.widths());
                connections.extend(ends.map(|((name, port), width)| (port.into(), lane.net(name, width))));
            }
        }
    }
    let flags = lane.net("flags", 5);
    connections.push(("flags".into(), flags.clone()));
    lane.instance(&inner.name, "pipeline", connections);
    let place = cat([pair.half.clone(), pair.lane.clone()]);
    let beside = delayed(lane, plan, "beside", cat([pair.valid.clone(), place]), plan.latency() - AHEAD);
    let bits = plan.place_bits();
    Retired { ahead: beside.bit(bits), place: beside.low(bits), flags }
}

/// The end of a group of targets, and whether nothing is under way.
fn ends(lane: &mut Module, plan: &Plan, pair: &queues::Pair) {
    let bits = bits_for(plan.drain());
    let [zero, one, all] = [0, 1, plan.drain()].map(|n| Value::constant(bits, n as i128));
    lane.comment("Clocks until the result is there, and until the last pair has left the pipeline.");
    let rst = lane.signal("rst");
    let mut until = |name: &str, starts: &Value| {
        let left = lane.hold(name, bits);
        let fewer = left.any().mux(&(&left - &one), &zero);
        lane.load(name, rst.mux(&zero, &starts.mux(&all, &fewer)));
        left
    };
    let (result, emptied) = (until("until_result", &pair.ends), until("until_empty", &pair.valid));
    lane.assign("r_done", result.is(&one));
    lane.assign("idle", &pair.none & result.none() & emptied.none());
    lane.assign("room", pair.room.clone());
    lane.assign("passed", pair.valid.clone());
}
