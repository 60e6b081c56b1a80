//! The blocks of the shell from the results to the output.

use super::blocks::text_module;
use crate::engine::protocol;
use crate::engine::shape::{Shape, bits_for};
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::{Dir, Module};
use askama::Template;

#[derive(Template)]
#[template(path = "collect.v", escape = "none")]
struct Collect<'a> {
    prefix: &'a str,
    spread: bool,
    /// The declaration of the packet: in a spread engine it has its registers lane by lane.
    packet_kind: &'static str,
    /// The module of the queue, without its size.
    queue_kind: &'static str,
    result: String,
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
    stream_bits: u32,
}

#[derive(Template)]
#[template(path = "collect_words.v", escape = "none")]
struct CollectWords {
    spread: bool,
    result: String,
    lanes: u32,
    lanes_down: Vec<u32>,
    n_bits: u32,
    head_words: u32,
    head_bits: u32,
    flag_fill: u32,
    stream_bits: u32,
    beat_words: u32,
    at_bits: u32,
    word_bits: u32,
    /// Lanes that give their words through one port, ports, and bits that say which of the lanes is asked.
    filters: u32,
    units: u32,
    member_bits: u32,
    /// Words of each adder's results in a lane, and of the last one.
    words_of: Vec<u32>,
    last_words: u32,
    /// Clocks until a word that is asked for is there, and bits that count them.
    wait: u32,
    wait_bits: u32,
}

#[derive(Template)]
#[template(path = "reply.v", escape = "none")]
struct Reply<'a> {
    prefix: &'a str,
    spread: bool,
    status_reply: String,
    end_reply: String,
    groups: u32,
    all_lanes: u32,
    /// Bits of a number of groups.
    group_bits: u32,
    /// Pipelines behind filters, 0 without any, and bits of a number of them.
    pipelines: u32,
    pipeline_bits: u32,
    /// The signal that says that nothing is under way that counts.
    still: &'static str,
    n_bits: u32,
    /// Bits of a number of lanes of all groups.
    all_bits: u32,
    stream_bits: u32,
    /// Words of STATUS with its beat padding, and how it is filled up.
    answer_words: u32,
    fill: &'static str,
    status_beats: u32,
    at_bits: u32,
    /// The beats of the answer to IDENT as literals; none where the engine has none.
    ident: Vec<String>,
    /// The padding above the one word of END in its beat.
    end_fill: String,
}

/// Words of the answer to STATUS, with its three counters.
const STATUS_WORDS: u32 = 7;

/// Groups of targets between the lanes' last pair and its result; more than any sensible engine has under way.
pub(super) const GROUPS_UNDER_WAY: u32 = 16;

pub(super) fn meta_bits(s: &Shape) -> u32 {
    32 + s.n_bits + s.beats_bits
}

pub(super) fn collect(s: &Shape) -> Module {
    let mut ports = collect_ports(s);
    let name = format!("{}_collect", s.prefix);
    let Some(at_bits) = s.at_bits else { return text_module(name, "Collects results.", ports, collect_whole(s)) };
    ports.push((Out, "l_r_at", at_bits));
    text_module(name, "Collects results word by word.", ports, collect_words(s, at_bits))
}

fn collect_words(s: &Shape, at_bits: u32) -> CollectWords {
    let words_of = s.words_of_adders.clone();
    let most = words_of.iter().copied().max().unwrap_or(1);
    // The memory's register; with registers on the way that of the lane and that of the collector too.
    let wait = if s.spread { 3 } else { 1 };
    CollectWords {
        spread: s.spread,
        result: format!("{:02x}", protocol::RESULT),
        lanes: s.lanes,
        lanes_down: (0..s.lanes).rev().collect(),
        n_bits: s.n_bits,
        head_words: s.head_words,
        head_bits: bits_for(s.head_words - 1),
        flag_fill: 32 * (s.head_words - 2) - 8 * s.lanes,
        stream_bits: s.stream_bits,
        beat_words: s.beat_words,
        at_bits: at_bits - s.member_bits,
        filters: s.filters.max(1),
        units: s.units(),
        member_bits: s.member_bits,
        word_bits: bits_for(most.next_power_of_two().max(2) - 1),
        last_words: words_of.last().copied().unwrap_or(1),
        words_of,
        wait,
        wait_bits: bits_for(wait),
    }
}

fn collect_whole(s: &Shape) -> Collect<'_> {
    Collect {
        prefix: &s.prefix,
        spread: s.spread,
        packet_kind: if s.spread { "wire" } else { "reg" },
        queue_kind: if s.spread { "queue" } else { "fifo" },
        result: format!("{:02x}", protocol::RESULT),
        lanes: s.lanes,
        lanes_down: (0..s.lanes).rev().collect(),
        n_bits: s.n_bits,
        beats_bits: s.beats_bits,
        meta_bits: meta_bits(s),
        packet_bits: s.packet_bits,
        packet_fill: s.packet_bits - 32 * (s.head_words + s.lanes * s.result_words),
        head_words: s.head_words,
        flag_fill: 32 * (s.head_words - 2) - 8 * s.lanes,
        record_bits: 32 * s.result_words,
        room_bits: s.room_bits,
        queue_depth: s.queue_depth,
        stream_bits: s.stream_bits,
    }
}

fn collect_ports(s: &Shape) -> Vec<(Dir, &'static str, u32)> {
    vec![
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "finish", 1),
        (In, "finish_tag", 32),
        (In, "finish_n", s.n_bits),
        (In, "finish_beats", s.beats_bits),
        (Out, "finish_ready", 1),
        (In, "r_data", s.units() * s.result_bits()),
        (In, "r_flags", 5 * s.lanes),
        (In, "r_done", 1),
        (Out, "quiet", 1),
        (Out, "q_data", s.stream_bits),
        (Out, "q_valid", 1),
        (Out, "q_last", 1),
        (In, "q_ready", 1),
    ]
}

pub(super) fn reply(s: &Shape) -> Module {
    let answer_words = STATUS_WORDS.next_multiple_of(s.beat_words);
    let status_beats = answer_words / s.beat_words;
    let ident = ident_beats(s);
    let longest = status_beats.max(ident.len() as u32);
    let template = Reply {
        prefix: &s.prefix,
        spread: s.spread,
        status_reply: format!("{:02x}", protocol::STATUS_REPLY),
        end_reply: format!("{:02x}", protocol::END_REPLY),
        groups: s.groups,
        all_lanes: s.all_lanes(),
        group_bits: bits_for(s.groups),
        pipelines: if s.filters > 0 { s.groups * s.units() } else { 0 },
        pipeline_bits: bits_for(s.groups * s.units()),
        still: if s.filters > 0 { "still" } else { "quiet" },
        n_bits: s.n_bits,
        all_bits: bits_for(s.all_lanes()),
        stream_bits: s.stream_bits,
        answer_words,
        fill: if answer_words > STATUS_WORDS { "32'd0, " } else { "" },
        status_beats,
        at_bits: bits_for(longest - 1),
        ident,
        end_fill: if s.stream_bits > 32 { format!("{}'d0, ", s.stream_bits - 32) } else { String::new() },
    };
    let mut ports = vec![
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "q_data", s.groups * s.stream_bits),
        (In, "q_valid", s.groups),
        (In, "q_last", s.groups),
        (Out, "q_ready", s.groups),
        (In, "count_valid", s.groups),
        (In, "count_lanes", s.groups * s.n_bits),
        (In, "quiet", 1),
        (In, "first_target", 1),
        (In, "reply", 1),
        (In, "reply_end", 1),
        (Out, "replied", 1),
        (In, "clear", 1),
        (In, "protocol_error", 1),
        (Out, "m_tdata", s.stream_bits),
        (Out, "m_tvalid", 1),
        (Out, "m_tlast", 1),
        (In, "m_tready", 1),
    ];
    ports.extend(s.ident.map(|_| (In, "reply_ident", 1)));
    if s.filters > 0 {
        ports.extend([(In, "drained", 1), (In, "l_passed", s.groups * s.units())]);
    }
    text_module(format!("{}_reply", s.prefix), "Sends results and answers.", ports, template)
}

/// The beats of the answer to IDENT as literals, filled up with zeros.
fn ident_beats(s: &Shape) -> Vec<String> {
    let Some(words) = &s.ident else { return Vec::new() };
    let literal = |beat: &[u32]| {
        let high = s.beat_words as usize - beat.len();
        let digits: String = beat.iter().rev().map(|word| format!("{word:08x}")).collect();
        format!("{}'h{}{digits}", s.stream_bits, "00000000".repeat(high))
    };
    words.chunks(s.beat_words as usize).map(literal).collect()
}
