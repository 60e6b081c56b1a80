//! The blocks of the shell: their ports, and the numbers that their templates are filled with.

use crate::engine::design::add_port;
use crate::engine::protocol;
use crate::engine::shape::{Shape, bits_for};
use crate::netlist::Dir::{In, Out};
use crate::netlist::{Dir, Item, Module};
use askama::Template;

#[derive(Template)]
#[template(path = "ram.v", escape = "none")]
struct Ram {
    width: u32,
    depth: u32,
}

#[derive(Template)]
#[template(path = "fifo.v", escape = "none")]
struct Fifo {
    width: u32,
    depth: u32,
    addr_bits: u32,
    count_bits: u32,
}

/// Words of one kind of record, in steps of a beat.
struct Steps {
    /// Sized literal of the index of the last step.
    last_step: String,
    /// Sized literal of the words that the last step takes.
    last_need: String,
}

/// One step into the record register.
struct Step {
    index: String,
    high: u32,
    low: u32,
    width: u32,
}

#[derive(Template)]
#[template(path = "decode.v", escape = "none")]
struct Decode<'a> {
    load_j: String,
    param: String,
    run: String,
    i: String,
    status: String,
    end: String,
    lanes: u32,
    n_bits: u32,
    jmem_records: u32,
    addr_bits: u32,
    segments: u32,
    ring: u32,
    ring_bits: u32,
    stream_bits: u32,
    beat_words: u32,
    beat_bits: u32,
    record_words: u32,
    step_bits: u32,
    steps: Vec<Step>,
    args_run: Steps,
    args_load: Steps,
    record_i: Steps,
    record_j: Steps,
    record_segment: Steps,
    record_param: Steps,
    result_bits: u32,
    result_start: u32,
    result_words: u32,
    pack_i: String,
    pack_j: String,
    pack_param: String,
    param_bits: u32,
    two_banks: bool,
    has_params: bool,
    param_state: &'static str,
    has_padding: bool,
    padding: &'a str,
}

#[derive(Template)]
#[template(path = "sequence.v", escape = "none")]
struct Sequence {
    lanes: u32,
    n_bits: u32,
    addr_bits: u32,
    ring_bits: u32,
    beats_bits: u32,
    two_banks: bool,
    j_bits: u32,
    slot_bits: u32,
    item_bits: u32,
    has_params: bool,
    settle: u32,
    settle_bits: u32,
    drain: u32,
    drain_bits: u32,
}

#[derive(Template)]
#[template(path = "collect.v", escape = "none")]
struct Collect<'a> {
    prefix: &'a str,
    result: String,
    status_reply: String,
    end_reply: String,
    lanes: u32,
    lanes_down: Vec<u32>,
    n_bits: u32,
    beats_bits: u32,
    meta_bits: u32,
    packet_bits: u32,
    packet_fill: u32,
    head_words: u32,
    flag_fill: u32,
    record_bits: u32,
    room_bits: u32,
    queue_depth: u32,
    answer_beats: u32,
    stream_bits: u32,
    /// Bits of an answer with its beat padding.
    answer_bits: u32,
    wide_answer: String,
}

/// Bits of the longest answer that is no result: STATUS with its three counters.
const ANSWER_BITS: u32 = 224;

/// Groups between the lanes' last pair and its result; more than any sensible engine has under way.
pub(super) const GROUPS_UNDER_WAY: u32 = 16;
/// Beats of the input queue.
pub(super) const INPUT_QUEUE: u32 = 16;

pub(super) fn meta_bits(s: &Shape) -> u32 {
    32 + s.n_bits + s.beats_bits
}

fn text_module(name: String, doc: &str, ports: Vec<(Dir, &str, u32)>, template: impl Template) -> Module {
    let mut module = Module { name, doc: vec![doc.to_string()], ..Module::default() };
    for port in ports {
        add_port(&mut module, port);
    }
    let text = template.render().expect("a template of numbers and names renders");
    module.items.push(Item::Text(text.trim_end().to_string()));
    module
}

pub(super) fn ram(s: &Shape, width: u32, depth: u32, addr_bits: u32) -> Module {
    let ports = vec![
        (In, "clk", 1),
        (In, "we", 1),
        (In, "waddr", addr_bits),
        (In, "wdata", width),
        (In, "re", 1),
        (In, "raddr", addr_bits),
        (Out, "rdata", width),
    ];
    let name = format!("{}_ram_{width}x{depth}", s.prefix);
    text_module(name, "A memory with one write port and one read port.", ports, Ram { width, depth })
}

pub(super) fn fifo(s: &Shape, width: u32, depth: u32) -> Module {
    let ports = vec![
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "wdata", width),
        (In, "push", 1),
        (Out, "ready", 1),
        (Out, "rdata", width),
        (Out, "valid", 1),
        (In, "pop", 1),
    ];
    let template = Fifo { width, depth, addr_bits: bits_for(depth - 1), count_bits: bits_for(depth) };
    text_module(format!("{}_fifo_{width}x{depth}", s.prefix), "A queue; `depth` is a power of two.", ports, template)
}

pub(super) fn decode(s: &Shape) -> Module {
    let steps = s.record_words.div_ceil(s.beat_words);
    let step_bits = bits_for(steps - 1);
    let kind = |words: u32| {
        let words = words.max(1);
        let last = words.div_ceil(s.beat_words) - 1;
        Steps {
            last_step: format!("{step_bits}'d{last}"),
            last_need: format!("{}'d{}", s.beat_bits + 1, words - last * s.beat_words),
        }
    };
    let result_start = s.head_words + s.beat_words - 1;
    let template = Decode {
        load_j: format!("{:02x}", protocol::LOAD_J),
        param: format!("{:02x}", protocol::PARAM),
        run: format!("{:02x}", protocol::RUN),
        i: format!("{:02x}", protocol::I),
        status: format!("{:02x}", protocol::STATUS),
        end: format!("{:02x}", protocol::END),
        lanes: s.lanes,
        n_bits: s.n_bits,
        jmem_records: s.jmem_records,
        addr_bits: s.addr_bits,
        segments: s.segments,
        ring: s.ring,
        ring_bits: s.ring_bits,
        stream_bits: s.stream_bits,
        beat_words: s.beat_words,
        beat_bits: s.beat_bits,
        record_words: s.record_words,
        step_bits,
        steps: (0..steps).map(|k| step(s, k, step_bits)).collect(),
        args_run: kind(3),
        args_load: kind(2),
        record_i: kind(s.i.words),
        record_j: kind(s.j.words),
        record_segment: kind(2),
        record_param: kind(s.params.words),
        result_bits: s.beats_bits + s.beat_bits,
        result_start,
        result_words: s.result_words,
        pack_i: s.i.pack("record"),
        pack_j: s.j.pack("record"),
        pack_param: s.params.pack("record"),
        param_bits: s.params.bits,
        two_banks: s.two_banks,
        has_params: s.has_params,
        param_state: if s.has_params { "IDLE_LANES" } else { "CLOSE" },
        has_padding: !s.padding.is_empty(),
        padding: &s.padding,
    };
    text_module(format!("{}_decode", s.prefix), "Reads the packets.", decode_ports(s), template)
}

fn decode_ports(s: &Shape) -> Vec<(Dir, &'static str, u32)> {
    let mut ports = vec![
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "w_data", s.stream_bits),
        (In, "w_last", 1),
        (In, "w_valid", 1),
        (Out, "w_pop", 1),
        (Out, "load_we", 1),
        (Out, "load_addr", s.addr_bits),
        (Out, "load_data", s.j.bits),
        (Out, "segment_we", 1),
        (Out, "segment_at", s.ring_bits),
        (Out, "segment_word", 2 * s.addr_bits + 1),
        (Out, "scan_addr", s.ring_bits),
        (In, "scan_word", 2 * s.addr_bits + 1),
        (In, "list_tail", s.ring_bits + 1),
        (Out, "list_free", 1),
        (Out, "list_write_at", s.ring_bits + 1),
        (Out, "i_we", s.lanes),
        (Out, "i_bank", 1),
        (Out, "i_word", s.i.bits),
    ];
    if s.has_params {
        ports.extend([(Out, "param_we", 1), (Out, "param", s.params.bits), (In, "drained", 1)]);
    }
    ports.extend(group_ports(s, Out));
    ports.extend([
        (In, "bank_full", 2),
        (In, "quiet", 1),
        (Out, "first_target", 1),
        (Out, "reply", 1),
        (Out, "reply_end", 1),
        (Out, "clear", 1),
        (Out, "protocol_error", 1),
    ]);
    ports
}

fn step(s: &Shape, k: u32, step_bits: u32) -> Step {
    let low = k * s.beat_words;
    let words = s.beat_words.min(s.record_words - low);
    Step { index: format!("{step_bits}'d{k}"), high: 32 * (low + words) - 1, low: 32 * low, width: 32 * words }
}

/// What is said of a loaded group; `dir` is the direction at the block that decodes.
fn group_ports(s: &Shape, dir: Dir) -> Vec<(Dir, &'static str, u32)> {
    vec![
        (dir, "group_push", 1),
        (dir, "group_bank", 1),
        (dir, "group_start", s.ring_bits + 1),
        (dir, "group_end", s.ring_bits + 1),
        (dir, "group_tag", 32),
        (dir, "group_n", s.n_bits),
        (dir, "group_beats", s.beats_bits),
        (dir, "group_keep", 1),
        (dir, "group_hold", 1),
        (dir, "group_final", 1),
    ]
}

pub(super) fn sequence(s: &Shape, lane_latency: u32) -> Module {
    // The shell's own registers on the way to the lanes, and one for good measure.
    let drain = lane_latency + 4;
    let template = Sequence {
        lanes: s.lanes,
        n_bits: s.n_bits,
        addr_bits: s.addr_bits,
        ring_bits: s.ring_bits,
        beats_bits: s.beats_bits,
        two_banks: s.two_banks,
        j_bits: s.j.bits,
        slot_bits: 2 * (s.ring_bits + 1) + 32 + s.n_bits + s.beats_bits + 3,
        item_bits: s.ring_bits + 1 + 3 + 2 * s.addr_bits + 1,
        has_params: s.has_params,
        settle: lane_latency,
        settle_bits: bits_for(lane_latency),
        drain,
        drain_bits: bits_for(drain),
    };
    let mut ports = vec![(In, "clk", 1), (In, "rst", 1)];
    ports.extend(group_ports(s, In));
    ports.extend([
        (Out, "bank_full", 2),
        (Out, "walk_addr", s.ring_bits),
        (In, "walk_word", 2 * s.addr_bits + 1),
        (Out, "list_tail", s.ring_bits + 1),
        (In, "list_free", 1),
        (In, "list_write_at", s.ring_bits + 1),
        (Out, "pair_read", 1),
        (Out, "pair_addr", s.addr_bits),
        (In, "pair_word", s.j.bits),
        (Out, "drained", 1),
        (Out, "finish", 1),
        (Out, "finish_tag", 32),
        (Out, "finish_n", s.n_bits),
        (Out, "finish_beats", s.beats_bits),
        (In, "finish_ready", 1),
        (In, "clear", 1),
        (Out, "busy", 64),
        (Out, "pairs", 64),
        (Out, "l_valid", 1),
        (Out, "l_first", 1),
        (Out, "l_last", 1),
        (Out, "l_bank", 1),
        (Out, "l_active", s.lanes),
        (Out, "l_word", s.j.bits),
    ]);
    if s.has_params {
        ports.push((In, "param_we", 1));
    }
    text_module(format!("{}_sequence", s.prefix), "Streams pairs.", ports, template)
}

pub(super) fn collect(s: &Shape) -> Module {
    let fill = s.packet_bits - 32 * (s.head_words + s.lanes * s.result_words);
    let template = Collect {
        prefix: &s.prefix,
        result: format!("{:02x}", protocol::RESULT),
        status_reply: format!("{:02x}", protocol::STATUS_REPLY),
        end_reply: format!("{:02x}", protocol::END_REPLY),
        lanes: s.lanes,
        lanes_down: (0..s.lanes).rev().collect(),
        n_bits: s.n_bits,
        beats_bits: s.beats_bits,
        meta_bits: meta_bits(s),
        packet_bits: s.packet_bits,
        packet_fill: fill,
        head_words: s.head_words,
        flag_fill: 32 * (s.head_words - 2) - 8 * s.lanes,
        record_bits: 32 * s.result_words,
        room_bits: s.room_bits,
        queue_depth: s.queue_depth,
        answer_beats: s.answer_beats,
        stream_bits: s.stream_bits,
        answer_bits: ANSWER_BITS.next_multiple_of(s.stream_bits),
        wide_answer: match ANSWER_BITS.next_multiple_of(s.stream_bits) - ANSWER_BITS {
            0 => "answer".into(),
            more => format!("{{{more}'d0, answer}}"),
        },
    };
    let ports = vec![
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "finish", 1),
        (In, "finish_tag", 32),
        (In, "finish_n", s.n_bits),
        (In, "finish_beats", s.beats_bits),
        (Out, "finish_ready", 1),
        (In, "r_data", s.lanes * 32 * s.result_words),
        (In, "r_flags", 5 * s.lanes),
        (In, "r_done", 1),
        (In, "lanes_quiet", 1),
        (Out, "quiet", 1),
        (In, "first_target", 1),
        (In, "reply", 1),
        (In, "reply_end", 1),
        (In, "clear", 1),
        (In, "protocol_error", 1),
        (In, "busy", 64),
        (In, "pairs", 64),
        (Out, "m_tdata", s.stream_bits),
        (Out, "m_tvalid", 1),
        (Out, "m_tlast", 1),
        (In, "m_tready", 1),
    ];
    text_module(format!("{}_collect", s.prefix), "Sends results and answers.", ports, template)
}
