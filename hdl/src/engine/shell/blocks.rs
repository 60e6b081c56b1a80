//! The blocks of the shell from the input to the pairs: their ports, and the numbers that their templates are filled with.

use crate::engine::design::add_port;
use crate::engine::protocol;
use crate::engine::shape::{Shape, bits_for};
use crate::rtl::memory::{Ram, attributes};
use crate::rtl::net;
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::{Dir, Item, Module};
use askama::Template;

#[derive(Template)]
#[template(path = "queue.v", escape = "none")]
struct Queue {
    attributes: String,
    width: u32,
    depth: u32,
    addr_bits: u32,
    count_bits: u32,
    /// The module of the short queue behind the memory's register, if there is one.
    near: Option<String>,
}

#[derive(Template)]
#[template(path = "relay.v", escape = "none")]
struct Relay {
    width: u32,
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

/// Where the words of a table are among those of all tables.
struct TableWords {
    port: String,
    /// Whether a word is one of it, as an expression.
    here: String,
    /// Bits of the place of a word in the table, and the first word's literal of so many.
    place_bits: u32,
    first: String,
    /// Whether an entry is complete; the bits of its number among those of the word's; and the entry.
    whole: String,
    at: String,
    entry: String,
    port_bits: u32,
}

impl TableWords {
    /// Of all tables.
    fn of(s: &Shape, table_bits: u32) -> Vec<TableWords> {
        let mut first = 0;
        let mut all = Vec::new();
        for (k, table) in s.tables.iter().enumerate() {
            let (port, width, end) = (&table.port, table.format.width(), first + table.words());
            let mut here = vec!["table_taken".to_string()];
            here.extend((first > 0).then(|| format!("(table_at >= {table_bits}'d{first})")));
            here.extend((k + 1 < s.tables.len()).then(|| format!("(table_at < {table_bits}'d{end})")));
            let place_bits = bits_for(table.words().max(2) - 1);
            let two = table.format.words() == 2;
            all.push(TableWords {
                here: here.join(" & "),
                place_bits,
                first: format!("{place_bits}'d{}", first & ((1 << place_bits) - 1)),
                whole: if two { format!("{port}_here & {port}_place[0]") } else { format!("{port}_here") },
                at: match (two, table.count) {
                    (true, 1) => "1'b0".to_string(),
                    (true, _) => format!("{port}_place[{}:1]", place_bits - 1),
                    (false, _) => format!("{port}_place"),
                },
                entry: match (two, width) {
                    (true, 33) => "record[0], table_low".to_string(),
                    (true, _) => format!("record[{}:0], table_low", width - 33),
                    (false, 1) => "record[0]".to_string(),
                    (false, _) => format!("record[{}:0]", width - 1),
                },
                port_bits: table.port_bits(),
                port: port.clone(),
            });
            first = end;
        }
        all
    }
}

#[derive(Template)]
#[template(path = "decode.v", escape = "none")]
struct Decode {
    groups: u32,
    spread: bool,
    load_j: String,
    param: String,
    run: String,
    i: String,
    status: String,
    end: String,
    /// Where the engine knows what it is.
    ident: Option<String>,
    lanes: u32,
    n_bits: u32,
    jmem_records: u32,
    addr_bits: u32,
    segments: u32,
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
    has_params: bool,
    has_registers: bool,
    param_state: &'static str,
    /// The tables among the parameters; the records that PARAM brings with them, and bits that count their words.
    tables: Vec<TableWords>,
    param_items: u32,
    table_bits: u32,
    /// Whether an entry takes two words.
    table_low: bool,
    /// The bits of the record that nothing reads.
    padding: Option<String>,
    /// Bits that count the records of a packet; what I and RUN say of them.
    items_bits: u32,
    argument_items: String,
    run_items: String,
}

#[derive(Template)]
#[template(path = "list.v", escape = "none")]
struct List {
    two_banks: bool,
    addr_bits: u32,
    ring: u32,
    ring_bits: u32,
}

#[derive(Template)]
#[template(path = "sequence.v", escape = "none")]
struct Sequence {
    spread: bool,
    near: bool,
    /// Whether results are read word by word.
    by_word: bool,
    /// Whether filters stand in front of the pipelines.
    filters: bool,
    /// The register that a pair leaves into.
    first_stage: &'static str,
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
    /// Clocks from pair to pair, less 1, and bits that count them.
    ii: u32,
    wait: u32,
    wait_bits: u32,
}

/// Beats of the input queue.
pub(super) const INPUT_QUEUE: u32 = 16;

pub(crate) fn text_module(name: String, doc: &str, ports: Vec<(Dir, &str, u32)>, template: impl Template) -> Module {
    let mut module = Module { name, doc: vec![doc.to_string()], ..Module::default() };
    for port in ports {
        add_port(&mut module, port);
    }
    let text = template.render().expect("a template of numbers and names renders");
    module.items.push(Item::Text(text.trim_end().to_string()));
    module
}

pub(super) fn ram(s: &Shape, width: u32, depth: u32, addr_bits: u32) -> Module {
    let (name, ports) = (format!("{}_ram_{width}x{depth}", s.prefix), Ram::ports(width, addr_bits).into());
    text_module(name, "A memory with one write port and one read port.", ports, Ram::new(width, depth, false))
}

/// The ports of a queue, from one side to the other.
fn queue_ports(width: u32) -> Vec<(Dir, &'static str, u32)> {
    vec![
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "wdata", width),
        (In, "push", 1),
        (Out, "ready", 1),
        (Out, "rdata", width),
        (Out, "valid", 1),
        (In, "pop", 1),
    ]
}

pub(super) fn fifo(s: &Shape, width: u32, depth: u32) -> Module {
    plain_queue(&s.prefix, width, depth)
}

/// A queue for what is no shell's.
pub(crate) fn plain_queue(prefix: &str, width: u32, depth: u32) -> Module {
    let doc = "A queue; `depth` is a power of two.";
    queue_module(format!("{prefix}_fifo_{width}x{depth}"), doc, (width, depth), None)
}

/// A queue with registers behind its memory, and the queue of [`INPUT_QUEUE`] words behind them.
pub(super) fn queue(s: &Shape, width: u32, depth: u32) -> Module {
    let near = format!("{}_fifo_{width}x{INPUT_QUEUE}", s.prefix);
    let doc = "A queue with registers behind its memory; `depth` is a power of two.";
    queue_module(format!("{}_queue_{width}x{depth}", s.prefix), doc, (width, depth), Some(near))
}

fn queue_module(name: String, doc: &str, (width, depth): (u32, u32), near: Option<String>) -> Module {
    let attributes = attributes(width, depth, false);
    let (addr_bits, count_bits) = (bits_for(depth - 1), bits_for(depth));
    text_module(name, doc, queue_ports(width), Queue { attributes, width, depth, addr_bits, count_bits, near })
}

/// A queue of two words in registers.
pub(super) fn relay(s: &Shape, width: u32) -> Module {
    plain_relay(&s.prefix, width)
}

/// The same for what is around engines.
pub(crate) fn plain_relay(prefix: &str, width: u32) -> Module {
    let name = format!("{prefix}_relay_{width}");
    text_module(name, "Two words between blocks that stand apart.", queue_ports(width), Relay { width })
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
    let table_words: u32 = s.tables.iter().map(|t| t.words()).sum();
    let (param_items, table_bits) = (s.has_registers as u32 + table_words, bits_for(table_words));
    let items_bits = (s.addr_bits + 1).max(s.ring_bits + 1).max(s.n_bits).max(bits_for(param_items));
    // Numbers of records have 24 bits on the stream.
    let items = |name: &str, bits: u32| net(name, bits).low(items_bits.min(24)).zext(items_bits).to_string();
    let template = Decode {
        groups: s.groups,
        spread: s.spread,
        load_j: format!("{:02x}", protocol::LOAD_J),
        param: format!("{:02x}", protocol::PARAM),
        run: format!("{:02x}", protocol::RUN),
        i: format!("{:02x}", protocol::I),
        status: format!("{:02x}", protocol::STATUS),
        end: format!("{:02x}", protocol::END),
        ident: s.ident.map(|_| format!("{:02x}", protocol::IDENT)),
        lanes: s.lanes,
        n_bits: s.n_bits,
        jmem_records: s.jmem_records,
        addr_bits: s.addr_bits,
        segments: s.segments,
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
        pack_i: s.i.pack(&s.record()).to_string(),
        pack_j: s.j.pack(&s.record()).to_string(),
        pack_param: s.params.pack(&s.record()).to_string(),
        param_bits: s.params.bits,
        has_params: s.has_params,
        has_registers: s.has_registers,
        tables: TableWords::of(s, table_bits),
        param_items,
        table_bits,
        table_low: s.tables.iter().any(|t| t.format.words() == 2),
        param_state: if s.has_params { "IDLE_LANES" } else { "CLOSE" },
        padding: (s.padding.width() > 0).then(|| s.padding.to_string()),
        items_bits,
        argument_items: items("argument", 24),
        run_items: items("third", 32),
    };
    text_module(format!("{}_decode", s.prefix), "Reads the packets.", decode_ports(s), template)
}

fn decode_ports(s: &Shape) -> Vec<(Dir, &str, u32)> {
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
        (Out, "load_check", 1),
        (Out, "load_scan", 1),
        (Out, "load_first", s.addr_bits + 1),
        (Out, "load_end", s.addr_bits + 1),
        (In, "load_apart", 1),
        (In, "load_scanned", 1),
        (In, "load_clear", 1),
        (Out, "run_begin", 1),
        (Out, "run_items", s.ring_bits + 1),
        (In, "run_fits", 1),
        (Out, "segment_we", 1),
        (Out, "segment_first", s.addr_bits),
        (Out, "segment_count", s.addr_bits + 1),
        (Out, "segment_one", 1),
        (Out, "segment_end", s.addr_bits + 1),
        (Out, "run_taken", 1),
        (Out, "run_waits", 1),
        (Out, "i_we", s.lanes),
        (Out, "i_word", s.i.bits),
    ];
    if s.groups > 1 {
        ports.push((Out, "chosen", s.groups));
    }
    if s.has_params {
        ports.extend([(Out, "param_we", 1), (In, "drained", 1)]);
    }
    ports.extend(s.has_registers.then_some((Out, "param", s.params.bits)));
    ports.extend(s.tables.iter().map(|table| (Out, table.port.as_str(), table.port_bits())));
    ports.extend(group_ports(s, Out));
    ports.extend([
        (In, "bank_free", 1),
        (In, "lanes_free", 1),
        (Out, "first_target", 1),
        (Out, "reply", 1),
        (Out, "reply_end", 1),
        (In, "replied", 1),
        (Out, "clear", 1),
        (Out, "protocol_error", 1),
    ]);
    ports.extend(s.ident.map(|_| (Out, "reply_ident", 1)));
    ports
}

fn step(s: &Shape, k: u32, step_bits: u32) -> Step {
    let low = k * s.beat_words;
    let words = s.beat_words.min(s.record_words - low);
    Step { index: format!("{step_bits}'d{k}"), high: 32 * (low + words) - 1, low: 32 * low, width: 32 * words }
}

/// The ports that describe a loaded group; `dir` is the direction at the block that decodes.
fn group_ports(s: &Shape, dir: Dir) -> Vec<(Dir, &'static str, u32)> {
    vec![
        (dir, "group_push", 1),
        (dir, "group_tag", 32),
        (dir, "group_n", s.n_bits),
        (dir, "group_beats", s.beats_bits),
        (dir, "group_keep", 1),
        (dir, "group_hold", 1),
        (dir, "group_final", 1),
    ]
}

pub(super) fn list(s: &Shape) -> Module {
    let template = List { two_banks: s.two_banks, addr_bits: s.addr_bits, ring: s.ring, ring_bits: s.ring_bits };
    let ports = vec![
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "run_begin", 1),
        (In, "run_items", s.ring_bits + 1),
        (Out, "run_fits", 1),
        (In, "segment_we", 1),
        (In, "segment_first", s.addr_bits),
        (In, "segment_end", s.addr_bits + 1),
        (Out, "segment_at", s.ring_bits),
        (In, "run_taken", 1),
        (In, "run_waits", 1),
        (In, "group_push", 1),
        (Out, "group_bank", 1),
        (Out, "group_start", s.ring_bits + 1),
        (Out, "group_end", s.ring_bits + 1),
        (In, "bank_full", 2),
        (Out, "bank_free", 1),
        (Out, "lanes_free", 1),
        (In, "list_tail", s.ring_bits + 1),
        (Out, "list_free", 1),
        (Out, "list_write_at", s.ring_bits + 1),
        (In, "load_check", 1),
        (In, "load_scan", 1),
        (In, "load_first", s.addr_bits + 1),
        (In, "load_end", s.addr_bits + 1),
        (Out, "scan_addr", s.ring_bits),
        (In, "scan_word", 2 * s.addr_bits + 1),
        (Out, "load_apart", 1),
        (Out, "load_scanned", 1),
        (Out, "load_clear", 1),
    ];
    text_module(format!("{}_list", s.prefix), "Keeps segment lists.", ports, template)
}

pub(super) fn sequence(s: &Shape, lane_latency: u32) -> Module {
    // The shell's own registers on the way to the lanes, and one for good measure.
    let drain = lane_latency + s.to_lanes() + 2;
    let template = Sequence {
        spread: s.spread,
        near: s.near(),
        by_word: s.at_bits.is_some(),
        filters: s.filters > 0,
        first_stage: if s.spread { "sent" } else { "fetch" },
        lanes: s.lanes,
        n_bits: s.n_bits,
        addr_bits: s.addr_bits,
        ring_bits: s.ring_bits,
        beats_bits: s.beats_bits,
        two_banks: s.two_banks,
        j_bits: s.j.bits,
        slot_bits: 1 + 2 * (s.ring_bits + 1) + 32 + s.n_bits + s.beats_bits + 3,
        item_bits: 1 + s.ring_bits + 1 + 3 + 2 * s.addr_bits + 1,
        has_params: s.has_params,
        settle: lane_latency,
        settle_bits: bits_for(lane_latency),
        drain,
        drain_bits: bits_for(drain),
        ii: s.ii,
        wait: s.ii - 1,
        wait_bits: bits_for(s.ii - 1),
    };
    let mut ports = vec![(In, "clk", 1), (In, "rst", 1)];
    ports.extend(group_ports(s, In));
    ports.extend([
        (In, "group_bank", 1),
        (In, "group_start", s.ring_bits + 1),
        (In, "group_end", s.ring_bits + 1),
        (Out, "bank_full", 2),
        (Out, "walk_addr", s.ring_bits),
        (In, "walk_word", 2 * s.addr_bits + 2),
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
        (Out, "count_valid", 1),
        (Out, "count_lanes", s.n_bits),
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
    if s.filters > 0 {
        ports.extend([(In, "l_room", 1), (In, "l_idle", 1)]);
    }
    if s.ii > 1 {
        ports.push((Out, "l_start", 1));
    }
    text_module(format!("{}_sequence", s.prefix), "Streams pairs.", ports, template)
}
