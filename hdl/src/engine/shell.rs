//! The shell: everything of an engine but its lanes.
//!
//! | block | what it does | text |
//! |---|---|---|
//! | `fifo` | lets the input run ahead, and keeps whole results for a slow reader | `templates/queue.v` |
//! | `decode` | packets to records | `templates/decode.v` |
//! | `group` | what each lane group has for itself: the next four | `shell/group.rs` |
//! | `ram` | j memory; segment list | `templates/ram.v` |
//! | `list` | where segment lists lie, and which loads must wait for them | `templates/list.v` |
//! | `sequence` | segment list to pairs, one a clock | `templates/sequence.v` |
//! | `collect` | results to packets | `templates/collect.v` |
//! | `reply` | results of all groups and answers to one stream; counters | `templates/reply.v` |
//!
//! The queues are our own: those of rust-hdl 0.46 fix their widths in const generics while ours follow the kernel, their
//! Verilog does not pass `-Wall`, and the crate, frozen in 2023, would bring about a hundred others for a hundred lines.

mod blocks;
mod group;
mod results;

pub(crate) use blocks::text_module;

use super::design::add_port;
use super::hand;
use super::shape::{Shape, bits_for};
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::{Dir, Module};
use crate::rtl::{Name, Value, cat, net};
use blocks::{INPUT_QUEUE, decode, fifo, list, queue, ram, relay, sequence};
pub(crate) use blocks::{plain_queue, plain_relay};
use group::{Joined, TO_CHOSEN, group};
use results::{GROUPS_UNDER_WAY, collect, meta_bits, reply};

/// The shell and its blocks, the shell last. Two queues of equal size are one module.
pub(super) fn modules(s: &Shape, lane_latency: u32) -> Vec<Module> {
    let list_width = 2 * s.addr_bits + 1;
    let mut all = vec![
        fifo(s, s.stream_bits + 1, INPUT_QUEUE),
        ram(s, s.j.bits, s.jmem_records, s.addr_bits),
        ram(s, list_width, s.ring, s.ring_bits),
        ram(s, list_width + 1, s.ring, s.ring_bits),
        decode(s),
        list(s),
        sequence(s, lane_latency),
        collect(s),
        group(s),
        reply(s),
    ];
    // What is read word by word waits in the lanes.
    if s.at_bits.is_none() {
        all.push(fifo(s, meta_bits(s), GROUPS_UNDER_WAY));
        let far = s.spread;
        all.push(if far {
            queue(s, s.stream_bits + 1, s.queue_depth)
        } else {
            fifo(s, s.stream_bits + 1, s.queue_depth)
        });
    }
    if s.spread {
        all.extend(s.at_bits.is_none().then(|| relay(s, s.stream_bits + 1)));
        all.extend([relay(s, s.stream_bits + 2), hand::module(&s.prefix, group::handed_bits(s))]);
    }
    all.push(shell(s, lane_latency));
    all
}

/// Clock, reset and the two streams.
pub(super) fn stream_ports(module: &mut Module, stream_bits: u32) {
    for port in [
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "s_tdata", stream_bits),
        (In, "s_tvalid", 1),
        (Out, "s_tready", 1),
        (In, "s_tlast", 1),
        (Out, "m_tdata", stream_bits),
        (Out, "m_tvalid", 1),
        (In, "m_tready", 1),
        (Out, "m_tlast", 1),
    ] {
        add_port(module, port);
    }
}

/// The ports of the shell towards the lanes. Signals that differ between lane groups stand side by side, group 0 lowest.
pub(super) fn lane_bus(s: &Shape) -> Vec<(Dir, String, u32)> {
    let mut bus = vec![
        (Out, "l_i_we", s.all_lanes()),
        (Out, "l_i_bank", s.groups),
        (Out, "l_i_rec", s.groups * 32 * s.i.words),
        (Out, "l_j_rec", s.groups * 32 * s.j.words),
    ];
    if s.has_registers {
        bus.push((Out, "l_param", 32 * s.params.words));
    }
    if s.ii > 1 {
        bus.push((Out, "l_start", s.groups));
    }
    bus.extend(s.at_bits.map(|bits| (Out, "l_r_at", s.groups * bits)));
    bus.extend([
        (Out, "l_valid", s.groups),
        (Out, "l_first", s.groups),
        (Out, "l_last", s.groups),
        (Out, "l_bank", s.groups),
        (Out, "l_active", s.all_lanes()),
        (In, "l_r_data", s.groups * s.units() * s.result_bits()),
        (In, "l_r_flags", 5 * s.all_lanes()),
        (In, "l_r_done", s.groups),
    ]);
    if s.filters > 0 {
        bus.extend([(Out, "l_reset", 1), (In, "l_room", s.groups), (In, "l_idle", s.groups)]);
        bus.push((In, "l_passed", s.groups * s.units()));
    }
    let tables = s.tables.iter().map(|table| (Out, format!("l_{}", table.port), table.port_bits()));
    bus.into_iter().map(|(dir, name, width)| (dir, name.to_string(), width)).chain(tables).collect()
}

/// The shell: its blocks and the wires between them, which have the names of the ports they join.
fn shell(s: &Shape, lane_latency: u32) -> Module {
    let mut shell = Module { name: format!("{}_shell", s.prefix), ..Module::default() };
    shell.doc = vec!["Streams, j memories, sequencers and results.".into()];
    stream_ports(&mut shell, s.stream_bits);
    for port in lane_bus(s) {
        add_port(&mut shell, port);
    }
    let (decode, group, reply) = (decode(s), group(s), reply(s));
    // The lanes' parameters are padded; the i registers of a few lanes are written by the decoder itself.
    let renamed: &[(&str, &str)] = if s.spread { &[] } else { &[("i_we", "l_i_we")] };
    let beat = shell.net("w_beat", s.stream_bits + 1);
    let valid = shell.net("w_valid", 1);
    for port in [&decode, &reply].iter().flat_map(|b| &b.ports).filter(|p| p.dir == Out) {
        let name = renamed.iter().find(|r| port.name == r.0).map_or(port.name.as_str(), |r| r.1);
        if !shell.ports.iter().any(|p| p.name == name) {
            shell.net(name, port.width);
        }
    }
    let (room, answers) = quiet_in_reset(&mut shell);
    let reset = reset(&mut shell, s, lane_latency);
    join_groups(&mut shell, s);
    let [last, data, push, pop] = ["s_tlast", "s_tdata", "s_tvalid", "w_pop"].map(|name| shell.signal(name));
    let beats = [("wdata", cat([last, data])), ("push", push), ("ready", room)];
    let beats = beats.into_iter().chain([("rdata", beat.clone()), ("valid", valid), ("pop", pop)]);
    let input = format!("{}_fifo_{}x{INPUT_QUEUE}", s.prefix, s.stream_bits + 1);
    instance(&mut shell, &input, "input_queue", Some(&reset), beats);
    let mut view = vec![("w_data", beat.low(s.stream_bits)), ("w_last", beat.msb())];
    view.extend(renamed.iter().map(|(port, name)| (*port, shell.signal(name))));
    let connections = names_of(&shell, &decode, &view);
    instance(&mut shell, &decode.name, "decoder", Some(&reset), connections);
    for k in 0..s.groups {
        group_instance(&mut shell, s, &group, &reset, k);
    }
    let connections = names_of(&shell, &reply, &[("m_tvalid", answers)]);
    instance(&mut shell, &reply.name, "replier", Some(&reset), connections);
    if !s.spread {
        shell.assign("l_i_bank", shell.signal("group_bank"));
        shell.assign("l_i_rec", s.i.unpack(&shell.signal("i_word")));
    }
    if s.has_registers {
        shell.assign("l_param", s.params.unpack(&shell.signal("param")));
    }
    for table in &s.tables {
        shell.assign(format!("l_{}", table.port), shell.signal(&table.port));
    }
    if s.filters > 0 {
        shell.assign("l_reset", reset.clone());
    }
    if !s.has_params && s.filters == 0 {
        shell.wire("unused", cat([Value::flag(false), shell.signal("drained")]).all());
    }
    shell
}

/// Both streams rest from the first clock of the reset on, before any register has seen it. Gives what the input queue and the replier
/// say.
fn quiet_in_reset(shell: &mut Module) -> (Value, Value) {
    let rst = shell.signal("rst");
    let mut quiet = |inner: &str, port: &str| {
        let inner = shell.net(inner, 1);
        shell.assign(port, &inner & !&rst);
        inner
    };
    (quiet("w_room", "s_tready"), quiet("m_answers", "m_tvalid"))
}

/// The reset of all blocks. The lanes have none: what they held before must have left them, or a `last` of an earlier
/// life would be taken for the end of the first group.
fn reset(shell: &mut Module, s: &Shape, lane_latency: u32) -> Value {
    // Lane groups get the reset a clock later than this.
    let bits = bits_for(lane_latency + s.to_lanes() + s.spread as u32) + 1;
    shell.comment("Reset lasts until nothing old is left in the lanes.");
    let flushed = net("flushed", bits);
    let rst = shell.signal("rst");
    let more = &flushed + (!flushed.msb()).zext(bits);
    let flushed = shell.reg("flushed", rst.mux(&Value::zeros(bits), &more));
    shell.reg("reset", rst | !flushed.msb())
}

/// The signals that come out of the lane groups, as the other blocks see them: in a spread engine a clock later.
fn join_groups(shell: &mut Module, s: &Shape) {
    for (name, width, joined) in group::outputs(s) {
        if name.starts_with("l_") {
            continue;
        }
        if !s.spread || joined == Joined::Beside {
            shell.net(name, s.groups * width);
            continue;
        }
        let all = shell.net(format!("all_{name}"), s.groups);
        let one = match joined {
            _ if s.groups == 1 => all,
            Joined::Every => all.all(),
            _ => (all & shell.signal("chosen")).any(),
        };
        shell.reg(name, one);
    }
}

/// Lane group `k`, joined to what is its own of the shell's signals.
fn group_instance(shell: &mut Module, s: &Shape, group: &Module, reset: &Value, k: u32) {
    if !s.spread {
        let connections = names_of(shell, group, &[]);
        return instance(shell, &group.name, "group", Some(reset), connections);
    }
    let own = group::own_inputs(s);
    let outputs = group::outputs(s);
    // Part `k` of a bus.
    let part = |bus: &str, width: u32| shell.signal(bus).bits(width * k, width);
    let mut joined = Vec::new();
    for port in &group.ports {
        let name = port.name.as_str();
        if let Some((name, width)) = own.iter().find(|o| o.0 == name) {
            joined.push((*name, part(name, *width)));
        } else if let Some((name, width, how)) = outputs.iter().find(|o| o.0 == name) {
            let bus = if *how == Joined::Beside { name.to_string() } else { format!("all_{name}") };
            joined.push((*name, part(&bus, *width)));
        } else if TO_CHOSEN.contains(&name) && s.groups > 1 {
            joined.push((name, shell.signal(name) & part("chosen", 1).repeat(port.width)));
        }
    }
    let connections = names_of(shell, group, &joined);
    instance(shell, &group.name, &format!("group_{k}"), Some(reset), connections);
}

/// Adds an instance on the engine's clock.
fn instance<P: Into<Name>>(
    to: &mut Module,
    module: &str,
    name: &str,
    reset: Option<&Value>,
    connections: impl IntoIterator<Item = (P, Value)>,
) {
    let mut all: Vec<(Name, Value)> = vec![("clk".into(), to.signal("clk"))];
    all.extend(reset.map(|net| ("rst".into(), net.clone())));
    all.extend(connections.into_iter().map(|(port, value)| (port.into(), value)));
    to.instance(module, name, all);
}

/// Connections of a module's ports to signals of their names in `outer`, but for those that are given.
fn names_of(outer: &Module, module: &Module, given: &[(&str, Value)]) -> Vec<(Name, Value)> {
    let to = |name: &str| given.iter().find(|g| g.0 == name).map_or_else(|| outer.signal(name), |g| g.1.clone());
    let ports = module.ports.iter().filter(|p| p.name != "clk" && p.name != "rst");
    ports.map(|p| (p.name.clone(), to(&p.name))).collect()
}
