//! Several engines behind one pair of streams: a switch that gives each packet to its engine, and takes their answers in turn.
//!
//! Each packet has one beat more, in front of all others. To the engines, bits 7..0 of it are the number of the engine. From the
//! engines they are the same, and bits 31..24 of its first word the opcode of the packet. All else in it is 0. Each engine
//! keeps its own packets ([`super::protocol`]), and they keep their order. [`Switch`] is the switch as a program, and the
//! specification of its Verilog.

use super::Config;
use super::protocol::{Stream, reply_words};
use super::shell;
use crate::rtl::cat;
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::{Item, Module, Netlist};
use askama::Template;

/// Most engines behind one pair of streams: as many as an identity has space for.
pub const MOST_ENGINES: usize = 4;
/// Beats that wait in front of each engine, so that one that is busy does not hold up the others at once: a block memory.
pub const QUEUE: u32 = 512;

/// The packets of `input` with the beats in front of them that name their engines; `to` has the number of each.
pub fn addressed(input: &Stream, to: &[u8], beat_words: u32) -> Stream {
    let mut stream = Stream::default();
    let rest = beat_words as usize - 1;
    for (packet, number) in input.packets().zip(to) {
        let head = std::iter::once(*number as u32).chain(std::iter::repeat_n(0, rest));
        stream.packet(head.chain(packet.iter().copied()));
    }
    stream
}

/// Where a beat to the engines goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// Nowhere: it names an engine, or is of a packet for one that there is not.
    Dropped,
    Engine(usize),
}

/// The switch.
#[derive(Clone, Debug)]
pub struct Switch {
    engines: Vec<Config>,
    /// Where the packet at hand goes; `None` between packets.
    to: Option<To>,
    /// The engine whose packet comes, the beats of it that are left, and the one that waits behind its number.
    from: usize,
    left: usize,
    waits: Option<Vec<u32>>,
}

impl Switch {
    pub fn new(engines: Vec<Config>) -> Switch {
        let last = engines.len().saturating_sub(1);
        Switch { engines, to: None, from: last, left: 0, waits: None }
    }

    /// Where the next beat to the engines goes.
    pub fn way(&self) -> To {
        self.to.unwrap_or(To::Dropped)
    }

    /// A beat to the engines passes.
    pub fn pass(&mut self, beat: &[u32], last: bool) -> To {
        let way = self.way();
        let number = (beat[0] & 0xff) as usize;
        let named = if number < self.engines.len() { To::Engine(number) } else { To::Dropped };
        self.to = if last { None } else { Some(self.to.unwrap_or(named)) };
        way
    }

    /// Whether a beat from the engines can be taken; `offers` says which of them have one.
    pub fn offers(&self, offers: impl Fn(usize) -> bool) -> bool {
        self.waits.is_some() || if self.left > 0 { offers(self.from) } else { (0..self.engines.len()).any(offers) }
    }

    /// The next beat from the engines; `take` takes one from an engine that has one.
    pub fn take(&mut self, mut take: impl FnMut(usize) -> Option<Vec<u32>>) -> Option<Vec<u32>> {
        if self.left > 0 {
            let beat = self.waits.take().or_else(|| take(self.from))?;
            self.left -= 1;
            return Some(beat);
        }
        let count = self.engines.len();
        let (number, beat) =
            (1..=count).map(|k| (self.from + k) % count).find_map(|number| Some((number, take(number)?)))?;
        let config = &self.engines[number];
        let beat_words = config.beat_words() as usize;
        let mut name = vec![0; beat_words];
        name[0] = beat[0] & 0xff00_0000 | number as u32;
        let words = reply_words(beat[0], config).unwrap_or(1);
        (self.from, self.left, self.waits) = (number, words.div_ceil(beat_words), Some(beat));
        Some(name)
    }
}

#[derive(Template)]
#[template(path = "switch.v", escape = "none")]
struct Text {
    count: u32,
    stream_bits: u32,
    numbers: Vec<u32>,
    /// (bit, value): who is served next.
    next: Vec<(u32, String)>,
    beat: String,
    number: String,
    /// The padding of a beat above its first word.
    padding: String,
    last_one: u32,
}

/// The engines whose top modules have these names behind one pair of streams: a module `PREFIX_engines` with the ports of an
/// engine, the switch, a queue in front of each engine, and a relay behind it. The engines themselves are not in it.
pub fn around(prefix: &str, engines: &[&str], stream_bits: u32) -> Netlist {
    let count = engines.len() as u32;
    let mut top = Module { name: format!("{prefix}_engines"), ..Module::default() };
    top.doc = vec![format!("{} behind one pair of streams.", engines.join(", "))];
    shell::stream_ports(&mut top, stream_bits);
    let beat = top.net("to_beat", stream_bits + 1);
    for net in ["to_valid", "to_ready", "from_valid", "from_last", "from_ready"] {
        top.net(net, count);
    }
    top.net("from_data", count * stream_bits);
    let switch = switch(prefix, count, stream_bits);
    let queue = shell::plain_queue(prefix, stream_bits + 1, QUEUE);
    let relay = shell::plain_relay(prefix, stream_bits + 1);
    let ports: Vec<_> = switch.ports.iter().map(|p| (p.name.clone(), top.signal(&p.name))).collect();
    top.instance(switch.name.clone(), "switch", ports);
    let [clk, rst] = ["clk", "rst"].map(|name| top.signal(name));
    // What engine k drives, and its place in the nets of all.
    let part = |net: &str, width: u32, k: u32| crate::rtl::net(net, width * count).bits(width * k, width);
    for (k, engine) in engines.iter().enumerate() {
        let k = k as u32;
        let waiting = top.net(format!("waiting_{k}"), stream_bits + 1);
        let [valid, ready] = ["valid", "ready"].map(|what| top.net(format!("{what}_{k}"), 1));
        let ports = [
            ("clk", clk.clone()),
            ("rst", rst.clone()),
            ("wdata", beat.clone()),
            ("push", part("to_valid", 1, k)),
            ("ready", part("to_ready", 1, k)),
            ("rdata", waiting.clone()),
            ("valid", valid.clone()),
            ("pop", ready.clone() & valid.clone()),
        ];
        top.instance(queue.name.clone(), format!("queue_{k}"), ports);
        let answer = top.net(format!("answer_{k}"), stream_bits + 1);
        let [answers, answer_ready] = ["answers", "answer_ready"].map(|what| top.net(format!("{what}_{k}"), 1));
        let ports = [
            ("clk", clk.clone()),
            ("rst", rst.clone()),
            ("s_tdata", waiting.low(stream_bits)),
            ("s_tvalid", valid),
            ("s_tready", ready),
            ("s_tlast", waiting.msb()),
            ("m_tdata", answer.low(stream_bits)),
            ("m_tvalid", answers.clone()),
            ("m_tready", answer_ready.clone()),
            ("m_tlast", answer.msb()),
        ];
        top.instance(*engine, format!("engine_{k}"), ports);
        // Engines and link stand apart: whether the link has space comes to an engine through a register.
        let ports = [
            ("clk", clk.clone()),
            ("rst", rst.clone()),
            ("wdata", answer),
            ("push", answers),
            ("ready", answer_ready),
            ("rdata", cat([part("from_last", 1, k), part("from_data", stream_bits, k)])),
            ("valid", part("from_valid", 1, k)),
            ("pop", part("from_ready", 1, k)),
        ];
        top.instance(relay.name.clone(), format!("relay_{k}"), ports);
    }
    Netlist::new([switch, queue, relay, top])
}

fn switch(prefix: &str, count: u32, stream_bits: u32) -> Module {
    let mut module = Module { name: format!("{prefix}_switch"), ..Module::default() };
    module.doc = vec!["Packets to the engines that they name, and answers in turn.".into()];
    shell::stream_ports(&mut module, stream_bits);
    for (dir, name, width) in [
        (Out, "to_beat", stream_bits + 1),
        (Out, "to_valid", count),
        (In, "to_ready", count),
        (In, "from_data", count * stream_bits),
        (In, "from_valid", count),
        (Out, "from_ready", count),
        (In, "from_last", count),
    ] {
        module.port(dir, name, width);
    }
    let numbers: Vec<u32> = (0..count).collect();
    let joined = |of: &dyn Fn(u32) -> String| numbers.iter().map(|k| of(*k)).collect::<Vec<_>>().join(" | ");
    // Engine k is next behind engine l if it has an answer and those between them have none.
    let next = |k: u32| {
        joined(&|l: u32| {
            let between = (1..=count).map(|d| (l + d) % count).take_while(|m| *m != k);
            let none: String = between.map(|m| format!(" & ~from_valid[{m}]")).collect();
            format!("(served[{l}] & from_valid[{k}]{none})")
        })
    };
    let s = stream_bits;
    let text = Text {
        count,
        stream_bits,
        next: numbers.iter().map(|k| (*k, next(*k))).collect(),
        beat: joined(&|k| format!("({{{s}{{served[{k}]}}}} & from_data[{}:{}])", (k + 1) * s - 1, k * s)),
        number: joined(&|k| format!("({{8{{served[{k}]}}}} & 8'd{k})")),
        padding: if s > 32 { format!("{}'d0, ", s - 32) } else { String::new() },
        last_one: 1 << (count - 1),
        numbers,
    };
    let text = text.render().expect("a template of numbers renders");
    module.items.push(Item::Text(text.trim_end().to_string()));
    module
}

/// Several engines as one: their modules and what is [`around`] them.
pub fn engines(prefix: &str, engines: &[super::Design], stream_bits: u32) -> Netlist {
    let tops: Vec<&str> = engines.iter().map(|e| e.top.as_str()).collect();
    let around = around(prefix, &tops, stream_bits);
    let mut all = Netlist { top: around.top, modules: Vec::new() };
    let modules = engines.iter().flat_map(|e| &e.netlist.modules).chain(&around.modules);
    modules.for_each(|m| all.add(m.clone()));
    all
}
