//! The lane with filters: F lanes that test pairs alone, each with a target of its own, and one pipeline behind them that takes the
//! pairs that pass.
//!
//! All filters take a source in each clock. Sources stand in a memory for a while, and what the filters say of them waits in a queue,
//! from which the pipeline takes the pairs that pass, one a clock: a pair names its source and its target, which are read then. The
//! pipeline's sums stand in memory too, one for each filter. While too many sources wait the sequencer withholds others; the
//! pipeline itself never waits. A group of targets has ended when the pairs of its last source have left. The pairs of the next group
//! go to the other half of the sums meanwhile, since no group ends before the record of the one before has been sent.

mod condition;
mod flags;
mod pairs;
mod sums;
mod targets;

use super::enter::{self, enter, entered};
use super::{LONG, i_registers, of_record, ports_of, terms, unused};
use crate::engine::Config;
use crate::engine::shape::bits_for;
use crate::engine::shell::text_module;
use crate::hash::FastSet;
use crate::rtl::delay;
use crate::rtl::filtered::Filtered;
use crate::rtl::memory::Ram;
use crate::rtl::netlist::{Dir, Module, Netlist};
use crate::rtl::{Name, Value, cat};
use flags::Flags;
use sums::Sums;
use targets::Targets;

/// Clocks from a pair at the queue to the pipeline: its target and source are read, leave the memories through their output registers,
/// and have a clock to travel from these to the pipeline, which counts on registers beside it.
const READ: u32 = 3;
/// Clocks before its value leaves the pipeline in which the sum that a pair adds to is read.
const AHEAD: u32 = 2;
/// Clocks from a pair's value until its sums are there: two parts of a sum, what is beyond a format, and one to be sure.
const BEHIND: u32 = 4;

/// A lane with filters while it is built.
struct Plan<'a> {
    config: &'a Config,
    pipeline: &'a Netlist,
    filtered: &'a Filtered,
    /// The ports of the pipeline, and those of what the filters read.
    own: FastSet<&'a str>,
    read: FastSet<&'a str>,
}

impl<'a> Plan<'a> {
    fn new(config: &'a Config, pipeline: &'a Netlist, filtered: &'a Filtered) -> Plan<'a> {
        let ports = |name: &str| ports_of(pipeline.module(name).expect("all parts are in the netlist"));
        let mut read = ports(&filtered.test.module);
        if let Some(narrowed) = &filtered.narrowed {
            read.retain(|port| port.starts_with("p_"));
            read.extend(ports(&narrowed.targets).into_iter().chain(ports(&narrowed.sources)));
        }
        Plan { config, pipeline, filtered, own: ports(&pipeline.top), read }
    }

    fn inner(&self) -> &'a Module {
        self.pipeline.module(&self.pipeline.top).expect("a netlist has its top module")
    }

    fn test(&self) -> &'a Module {
        self.pipeline.module(&self.filtered.test.module).expect("all parts are in the netlist")
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

    /// Bits of the place of a group's targets; none where the pipeline reads nothing of targets.
    fn slot_bits(&self) -> u32 {
        if targets::bits(self) > 0 { targets::SLOT_BITS } else { 0 }
    }

    /// Bits that travel with a source: the half of its sums, and the place of its targets.
    fn tag_bits(&self) -> u32 {
        1 + self.slot_bits()
    }

    /// Cycles from a pair at the queue to its value.
    fn latency(&self) -> u32 {
        READ + self.config.pipeline_latency
    }

    /// Clocks from a group's end at the queue to its result.
    fn drain(&self) -> u32 {
        self.latency() + BEHIND
    }

    /// The ports that elements of records come to.
    fn ports(&self) -> FastSet<&'a str> {
        self.own.union(&self.read).copied().collect()
    }

    /// The lines of delay that what travels beside a pair needs: bits and cycles.
    fn delays(&self) -> [(u32, u32); 2] {
        let source = 3 + self.filters() + self.slot_bits() + pairs::number_bits(self);
        [(source, self.filtered.latency()), (1 + self.place_bits(), self.latency() - AHEAD)]
    }
}

/// The lane of `config` around `pipeline`, which has a test, and modules that it needs besides, the lane last.
pub(super) fn modules(config: &Config, pipeline: &Netlist, filtered: &Filtered) -> Vec<Module> {
    let plan = Plan::new(config, pipeline, filtered);
    let kernel = &config.layout.kernel;
    let mut modules = enter::modules(config, &plan.ports());
    let long = plan.delays().into_iter().filter(|(_, cycles)| *cycles > LONG);
    let stored = long.map(|(bits, cycles)| delay::module(bits, cycles - 1, delay::Read::Registered));
    modules.extend(stored.map(|m| Module { name: format!("{kernel}_{}", m.name), ..m }));
    modules.extend(Sums::modules(&plan));
    modules.extend(targets::module(&plan));
    modules.extend(sources(&plan));
    modules.extend(pairs::modules(&plan));
    modules.push(condition::module(&plan));
    modules.push(module(&plan));
    let mut known = FastSet::default();
    modules.retain(|m| known.insert(m.name.clone()));
    modules
}

fn module(plan: &Plan) -> Module {
    let (config, kernel) = (plan.config, &plan.config.layout.kernel);
    let mut lane = Module { name: format!("{kernel}_lane"), ..Module::default() };
    lane.latency = plan.filtered.latency() + 4 + plan.drain() + config.spread() as u32;
    lane.doc = vec![
        format!("A lane of {kernel}: {} filters, each with its target, and a pipeline.", plan.filters()),
        format!("`r_done` follows `c_last` by {} cycles or more.", lane.latency),
    ];
    ports(&mut lane, plan);
    enter(&mut lane, config, &plan.ports());
    let targets = Targets::new(&mut lane, plan);
    let number = lane.net("source_number", pairs::number_bits(plan));
    let came = condition::filters(&mut lane, plan, &targets, number.clone());
    let source = entered(&lane, "c_valid") | entered(&lane, "c_last");
    let source = lane.wire("comes", source);
    let pair = pairs::instance(&mut lane, plan, &came, (source.clone(), number.clone()));
    let retired = pipeline(&mut lane, plan, &Read { targets: &targets, pair: &pair, source, number });
    let shown_half = lane.hold("shown_half", 1);
    let half = pair.tag.msb();
    lane.load("shown_half", pair.ends.mux(&half, &shown_half));
    let sums = Sums::new(&mut lane, plan, &came, &retired);
    let read = sums.build(&mut lane);
    let flags = Flags { plan, came: &came, retired: &retired, now: sums.now(), beyond: read.beyond };
    let all = flags.build(&mut lane, &shown_half);
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
        let (read, unread) = of_record(lane, (record, elements), |port| known.contains(port));
        idle.extend(unread);
        let here = |(port, own): (String, Value)| {
            let value = if plan.config.spread() { lane.signal(&format!("entered_{port}")) } else { own };
            (port, value)
        };
        all.extend(read.into_iter().map(here));
    }
    for table in &layout.tables {
        match known.contains(table.port.as_str()) {
            true => all.push((table.port.clone(), enter::entered(lane, &table.port))),
            false => idle.push(lane.signal(&table.port)),
        }
    }
    (all, idle)
}

/// Port, first bit and width of the elements of sources that the pipeline reads, side by side; and the bits of all.
fn own_sources(plan: &Plan) -> (Vec<(String, u32, u32)>, u32) {
    let mut at = 0;
    let own = plan.config.layout.j.iter().filter(|(port, _)| plan.own.contains(port.as_str()));
    let places = own.map(|(port, format)| {
        at += format.width();
        (port.clone(), at - format.width(), format.width())
    });
    (places.collect(), at)
}

/// The memory of the sources that wait; none where the pipeline reads nothing of them.
fn sources(plan: &Plan) -> Option<Module> {
    let (bits, depth) = (own_sources(plan).1, pairs::ring(plan));
    let name = format!("{}_filter_ram_{bits}x{depth}", plan.config.layout.kernel);
    let ports = Ram::ports(bits, pairs::number_bits(plan)).into();
    let doc = "A memory with one write port and one read port.";
    (bits > 0).then(|| text_module(name, doc, ports, Ram::new(bits, depth, false)))
}

/// A pair that leaves the pipeline, with what it adds.
struct Retired {
    /// Whether there is one, and the place of its sums, [`AHEAD`] clocks before its values.
    ahead: Value,
    place: Value,
    flags: Value,
}

/// The numbers that pairs are read by.
struct Read<'a> {
    targets: &'a Targets,
    pair: &'a pairs::Pair,
    /// Whether a source comes, and its number.
    source: Value,
    number: Value,
}

impl Read<'_> {
    /// The elements of a pair's target and source at the pipeline.
    fn elements(&self, lane: &mut Module, plan: &Plan, coming: &[(String, Value)]) -> Vec<(String, Value)> {
        let Read { targets, pair, source, number } = self;
        let bits = plan.slot_bits();
        let place = cat([(bits > 0).then(|| pair.tag.low(bits)), Some(pair.lane.clone())].into_iter().flatten());
        let mut read = targets.memory(lane, plan, place);
        let (places, bits) = own_sources(plan);
        if let Some(memory) = sources(plan) {
            lane.comment("The sources that wait.");
            let value = |port: &str| coming.iter().find(|e| e.0 == port).expect("it comes to the lane").1.clone();
            let word = lane.net("source_word", bits);
            let connections = [
                ("clk", lane.signal("clk")),
                ("we", source.clone()),
                ("waddr", number.clone()),
                ("wdata", cat(places.iter().rev().map(|(port, ..)| value(port)))),
                ("re", Value::flag(true)),
                ("raddr", pair.number.clone()),
                ("rdata", word.clone()),
            ];
            lane.instance(memory.name, "sources", connections);
            read.extend(places.into_iter().map(|(port, at, width)| (port, word.bits(at, width))));
        }
        let mut late = |port: String, value: Value| {
            let stored = lane.reg(format!("stored_{port}"), value);
            let here = lane.reg(format!("pair_{port}"), stored);
            (port, here)
        };
        read.into_iter().map(|(port, value)| late(port, value)).collect()
    }
}

/// The pipeline behind the queue.
fn pipeline(lane: &mut Module, plan: &Plan, read: &Read) -> Retired {
    let inner = plan.inner();
    let (coming, mut idle) = elements(lane, plan);
    idle.extend(read.targets.idle(lane, plan));
    let unread = plan.slot_bits() == 0 && !plan.read.iter().any(|port| port.starts_with("i_"));
    idle.extend(unread.then(|| lane.signal("i_bank")));
    lane.wire("unused", unused(idle));
    let of_pair = read.elements(lane, plan, &coming);
    lane.comment("The pipeline, and the pairs that pass.");
    let shared = coming.into_iter().filter(|(port, _)| !port.starts_with("j_") && plan.own.contains(port.as_str()));
    let mut connections: Vec<(Name, Value)> =
        of_pair.into_iter().chain(shared).map(|(port, value)| (port.into(), value)).collect();
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
    let pair = read.pair;
    let place = cat([pair.tag.msb(), pair.lane.clone()]);
    let beside = delayed(lane, plan, "beside", cat([pair.valid.clone(), place]), plan.latency() - AHEAD);
    let bits = plan.place_bits();
    Retired { ahead: beside.bit(bits), place: beside.low(bits), flags }
}

/// The end of a group of targets, and whether nothing is under way.
fn ends(lane: &mut Module, plan: &Plan, pair: &pairs::Pair) {
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
