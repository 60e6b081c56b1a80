//! The blocks of the wrapper: their ports, and the numbers that their templates are filled with.

use super::registers::{Written, written};
use super::{QUEUE, Wrapper, command_ports, control_ports, result_ports};
use crate::engine::bytes::MOST_WORDS;
use crate::engine::protocol::{END, END_REPLY, IDENT, IDENT_REPLY, RESULT, STATUS, STATUS_REPLY, reply_words};
use crate::engine::{bits_for, text_module};
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::{Dir, Module};
use askama::Template;

/// Beats of a burst: at 128 bits a kilobyte, so that bursts at multiples of their size cross no 4 kB.
const BURST: u32 = 64;

/// The wrapper's numbers.
pub(super) struct Sizes {
    pub top: String,
    pub stream_bits: u32,
    pub data_bits: u32,
    /// 32-bit words in a beat of a stream and of the memory, and bits of a word's place in the latter.
    pub stream_words: u32,
    pub beat_words: u32,
    word_bits: u32,
    /// Bits of a byte's place in a beat of the memory.
    align_bits: u32,
    room_bits: u32,
    /// Words in front of the records of a RESULT, and of a record.
    result_head: u32,
    result_record: u32,
    /// Words of the other answers.
    status_length: usize,
    end_length: usize,
    ident_length: usize,
}

impl Sizes {
    pub fn new(wrapper: &Wrapper) -> Sizes {
        let config = wrapper.config;
        let beat_words = wrapper.data_bits / 32;
        let length = |opcode: u32| reply_words(opcode << 24, config).expect("an opcode of answers");
        Sizes {
            top: wrapper.top(),
            stream_bits: config.stream_bits,
            data_bits: wrapper.data_bits,
            stream_words: config.beat_words(),
            beat_words,
            word_bits: beat_words.ilog2(),
            align_bits: 2 + beat_words.ilog2(),
            room_bits: bits_for(QUEUE),
            result_head: config.result_head_words(),
            result_record: config.layout.result_words(),
            status_length: length(STATUS_REPLY),
            end_length: length(END_REPLY),
            ident_length: length(IDENT_REPLY),
        }
    }
}

#[derive(Template)]
#[template(path = "axi/control.v", escape = "none")]
struct Control {
    registers: Vec<Written>,
    align_bits: u32,
}

#[derive(Template)]
#[template(path = "axi/fetch.v", escape = "none")]
struct Fetch {
    beat_bits: u32,
    burst: u32,
    queue: u32,
    room_bits: u32,
    align_bits: u32,
    beat_words: u32,
    word_bits: u32,
}

#[derive(Template)]
#[template(path = "axi/feed.v", escape = "none")]
struct Feed {
    status: String,
    end: String,
    ident: String,
    most_words: u32,
    beat_words: u32,
    word_bits: u32,
    stream_bits: u32,
    stream_words: u32,
    stream_word_bits: u32,
    /// (place, the words from there on).
    windows: Vec<(u32, String)>,
}

#[derive(Template)]
#[template(path = "axi/gather.v", escape = "none")]
struct Gather {
    result: String,
    status_reply: String,
    end_reply: String,
    result_head: u32,
    result_record: u32,
    status_length: usize,
    end_length: usize,
    ident_length: usize,
    beat_words: u32,
    word_bits: u32,
    stream_bits: u32,
    stream_words: u32,
    stream_word_bits: u32,
    /// (place, the beat and new words from there on).
    joins: Vec<(u32, String)>,
    /// (place, a bit for each word before it).
    masks: Vec<(u32, String)>,
}

#[derive(Template)]
#[template(path = "axi/store.v", escape = "none")]
struct Store {
    beat_bits: u32,
    burst: u32,
    room_bits: u32,
    align_bits: u32,
    beat_words: u32,
}

type Ports = Vec<(Dir, String, u32)>;

fn named(ports: impl IntoIterator<Item = (Dir, &'static str, u32)>) -> Ports {
    ports.into_iter().map(|(dir, name, width)| (dir, name.to_string(), width)).collect()
}

fn block(s: &Sizes, name: &str, doc: &str, ports: Ports, template: impl Template) -> Module {
    let ports = ports.iter().map(|(dir, name, width)| (*dir, name.as_str(), *width)).collect();
    text_module(format!("{}_{name}", s.top), doc, ports, template)
}

/// All of them, in the order of the way through them.
pub(super) fn blocks(s: &Sizes) -> Vec<Module> {
    vec![control(s), fetch(s), feed(s), gather(s), store(s)]
}

fn control(s: &Sizes) -> Module {
    let mut ports = named([(In, "clk", 1), (In, "rst_n", 1), (Out, "interrupt", 1)]);
    ports.extend(control_ports());
    ports.extend(named([
        (Out, "rst", 1),
        (Out, "halt", 1),
        (Out, "clear", 1),
        (Out, "go", 1),
        (Out, "commands_at", 64),
        (Out, "command_words", 30),
        (Out, "results_at", 64),
        (Out, "result_words", 30),
        (In, "fetch_idle", 1),
        (In, "store_idle", 1),
        (In, "fed", 1),
        (In, "stored", 1),
        (In, "malformed", 1),
        (In, "full", 1),
        (In, "read_error", 1),
        (In, "write_error", 1),
        (In, "protocol_error", 1),
        (In, "written_words", 30),
        (In, "taken_words", 30),
    ]));
    let template = Control { registers: written(), align_bits: s.align_bits };
    block(s, "control", "Registers, and the course of a job.", ports, template)
}

fn fetch(s: &Sizes) -> Module {
    let mut ports = named([
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "halt", 1),
        (In, "clear", 1),
        (In, "go", 1),
        (In, "stop", 1),
        (In, "commands_at", 64),
        (In, "command_words", 30),
    ]);
    ports.extend(command_ports(s.data_bits));
    ports.extend(named([
        (Out, "fetch_beat", s.data_bits + 1),
        (Out, "fetch_push", 1),
        (In, "feed_pop", 1),
        (Out, "fetch_idle", 1),
    ]));
    let template = Fetch {
        beat_bits: BURST.ilog2(),
        burst: BURST,
        queue: QUEUE,
        room_bits: s.room_bits,
        align_bits: s.align_bits,
        beat_words: s.beat_words,
        word_bits: s.word_bits,
    };
    block(s, "fetch", "Reads commands ahead.", ports, template)
}

fn feed(s: &Sizes) -> Module {
    let ports = named([
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "clear", 1),
        (In, "go", 1),
        (Out, "stop", 1),
        (In, "command_words", 30),
        (In, "feed_beat", s.data_bits + 1),
        (In, "feed_valid", 1),
        (Out, "feed_pop", 1),
        (Out, "to_beat", s.stream_bits + 1),
        (Out, "to_push", 1),
        (In, "to_ready", 1),
        (Out, "asked", 1),
        (Out, "asked_own", 1),
        (Out, "fed", 1),
        (Out, "malformed", 1),
        (Out, "read_error", 1),
        (Out, "taken_words", 30),
    ]);
    let window = |k: u32| {
        let end = k + s.stream_words;
        match end.checked_sub(s.beat_words) {
            None | Some(0) => format!("view[{}:{}]", 32 * end - 1, 32 * k),
            Some(over) => format!("{{feed_beat[{}:0], view[{}:{}]}}", 32 * over - 1, s.data_bits - 1, 32 * k),
        }
    };
    let hex = |opcode: u32| format!("{opcode:02x}");
    let template = Feed {
        status: hex(STATUS),
        end: hex(END),
        ident: hex(IDENT),
        most_words: MOST_WORDS,
        beat_words: s.beat_words,
        word_bits: s.word_bits,
        stream_bits: s.stream_bits,
        stream_words: s.stream_words,
        stream_word_bits: s.stream_words.ilog2(),
        windows: (1..s.beat_words).map(|k| (k, window(k))).collect(),
    };
    block(s, "feed", "Commands to packets.", ports, template)
}

fn gather(s: &Sizes) -> Module {
    let ports = named([
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "clear", 1),
        (In, "result_words", 30),
        (In, "asked", 1),
        (In, "asked_own", 1),
        (In, "from_beat", s.stream_bits + 1),
        (In, "from_valid", 1),
        (Out, "from_pop", 1),
        (Out, "gather_beat", s.data_bits + s.beat_words),
        (Out, "gather_push", 1),
        (In, "gather_ready", 1),
        (Out, "gathered", 1),
        (Out, "full", 1),
        (Out, "protocol_error", 1),
        (Out, "written_words", 30),
    ]);
    let join = |k: u32| format!("{{{}'d0, new_words, beat[{}:0]}}", s.data_bits - 32 * k, 32 * k - 1);
    let mask = |k: u32| format!("{}'d{}", s.beat_words, (1 << k) - 1);
    let places = || 1..s.beat_words;
    let hex = |opcode: u32| format!("{opcode:02x}");
    let template = Gather {
        result: hex(RESULT),
        status_reply: hex(STATUS_REPLY),
        end_reply: hex(END_REPLY),
        result_head: s.result_head,
        result_record: s.result_record,
        status_length: s.status_length,
        end_length: s.end_length,
        ident_length: s.ident_length,
        beat_words: s.beat_words,
        word_bits: s.word_bits,
        stream_bits: s.stream_bits,
        stream_words: s.stream_words,
        stream_word_bits: s.stream_words.ilog2(),
        joins: places().map(|k| (k, join(k))).collect(),
        masks: places().map(|k| (k, mask(k))).collect(),
    };
    block(s, "gather", "Answers to words.", ports, template)
}

fn store(s: &Sizes) -> Module {
    let mut ports = named([
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "halt", 1),
        (In, "clear", 1),
        (In, "go", 1),
        (In, "results_at", 64),
        (In, "store_beat", s.data_bits + s.beat_words),
        (In, "store_valid", 1),
        (Out, "store_pop", 1),
        (In, "gather_push", 1),
        (In, "gathered", 1),
    ]);
    ports.extend(result_ports(s.data_bits));
    ports.extend(named([(Out, "store_idle", 1), (Out, "stored", 1), (Out, "write_error", 1)]));
    let template = Store {
        beat_bits: BURST.ilog2(),
        burst: BURST,
        room_bits: s.room_bits,
        align_bits: s.align_bits,
        beat_words: s.beat_words,
    };
    block(s, "store", "Writes results.", ports, template)
}
