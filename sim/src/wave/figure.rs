//! The figure of a start: signals below one another, clocks side by side, lines of so many clocks.

use super::{Beat, Clock};
use crate::testbench::Engine;
use askama::Template;
use hdl::engine::Config;
use hdl::engine::protocol::{I, LOAD_J, PARAM, RESULT, RUN};
use std::fmt::Write as _;

/// Width of a word's digits, and what a clock is wider than them.
const WORD: usize = 52;
const MARGIN: usize = 8;
/// Width that the clocks of a line share.
const LINE: usize = 960;
/// Where clocks begin, behind the names.
const LEFT: usize = 76;
/// Height of a signal with its distance to the next one, and alone.
const ROW: usize = 24;
const HIGH: usize = 14;
/// Beats at the beginning of a packet that are drawn.
const SHOWN: usize = 4;

#[derive(Template)]
#[template(path = "wave.svg", escape = "html")]
struct Figure {
    width: usize,
    height: usize,
    left: usize,
    title: String,
    lines: Vec<Line>,
}

/// The content of the figure.
struct Start<'a> {
    clocks: &'a [Clock],
    /// Whether a beat in front of each packet names its engine.
    several: bool,
}

/// A line of clocks.
struct Line {
    /// Its upper end.
    y: usize,
    traces: Vec<Trace>,
    texts: Vec<Label>,
    /// Places and widths of what is left out.
    gaps: Vec<(usize, usize)>,
    height: usize,
}

struct Trace {
    name: &'static str,
    y: usize,
    path: String,
}

struct Label {
    class: &'static str,
    x: usize,
    y: usize,
    text: String,
}

/// A clock that is drawn, or so many that are not.
#[derive(Clone, Copy)]
enum Column {
    Clock(usize),
    Gap(usize),
}

/// A signal of one bit, or the data of a stream.
enum Signal {
    Clock,
    Bit(fn(&Clock) -> bool),
    Data(fn(&Clock) -> &Beat),
}

const SIGNALS: [(&str, Signal); 10] = [
    ("clk", Signal::Clock),
    ("rst", Signal::Bit(|c| c.rst)),
    ("s_tvalid", Signal::Bit(|c| c.s.valid)),
    ("s_tready", Signal::Bit(|c| c.s.ready)),
    ("s_tdata", Signal::Data(|c| &c.s)),
    ("s_tlast", Signal::Bit(|c| c.s.last)),
    ("m_tvalid", Signal::Bit(|c| c.m.valid)),
    ("m_tready", Signal::Bit(|c| c.m.ready)),
    ("m_tdata", Signal::Data(|c| &c.m)),
    ("m_tlast", Signal::Bit(|c| c.m.last)),
];

/// Draws the clocks of an engine, or of several behind a switch.
pub fn draw(top: &str, engines: &[Engine], clocks: &[Clock]) -> String {
    let config = engines[0].config;
    let column = WORD * config.beat_words() as usize + MARGIN;
    let columns = columns(clocks);
    let height = ROW * SIGNALS.len() + 34;
    let rows = columns.chunks((LINE / column).max(4));
    let several = engines.len() > 1;
    let start = Start { clocks, several };
    let lines: Vec<Line> = rows.enumerate().map(|(k, row)| line(&start, row, column, 34 + k * height)).collect();
    let all =
        |of: fn(&Config) -> u32| engines.iter().map(|e| of(e.config).to_string()).collect::<Vec<_>>().join(" and ");
    let title = format!(
        "{top} (lanes: {}, lane groups: {}, streams: {} bits): reset, first packets, first result{}",
        all(|c| c.pipelines),
        all(|c| c.groups),
        config.stream_bits,
        if several { "s" } else { "" }
    );
    let widest = columns.len().min((LINE / column).max(4));
    let figure =
        Figure { width: LEFT + widest * column + 12, height: 40 + lines.len() * height, left: LEFT, title, lines };
    figure.render().expect("rendering into a string cannot fail") + "\n"
}

/// The clocks that are drawn: where a signal changes, and the ends of packets.
fn columns(clocks: &[Clock]) -> Vec<Column> {
    let mut drawn = vec![false; clocks.len()];
    let (mut from_host, mut from_engine) = (0, 0);
    for (t, clock) in clocks.iter().enumerate() {
        let before = &clocks[t.saturating_sub(1)];
        let control = |c: &Clock| [c.rst, c.s.valid, c.s.ready, c.m.valid, c.m.ready];
        let changes = t == 0 || control(before) != control(clock);
        let of_packet = [(&clock.s, &mut from_host), (&clock.m, &mut from_engine)].map(|(beat, at)| {
            let shown = beat.valid && beat.ready && (*at < SHOWN || beat.last);
            *at = if beat.last && beat.ready { 0 } else { *at + (beat.valid && beat.ready) as usize };
            shown
        });
        drawn[t] |= changes || of_packet[0] || of_packet[1] || t + 1 == clocks.len();
        if changes && t > 0 {
            drawn[t - 1] = true;
        }
    }
    let mut columns = Vec::new();
    for run in (0..clocks.len()).collect::<Vec<_>>().chunk_by(|a, b| drawn[*a] == drawn[*b]) {
        match run {
            [first, _, ..] if !drawn[*first] => columns.push(Column::Gap(run.len())),
            all => columns.extend(all.iter().map(|t| Column::Clock(*t))),
        }
    }
    columns
}

/// One line of the figure; its first signal lies at `y`.
fn line(start: &Start, columns: &[Column], width: usize, y: usize) -> Line {
    let clocks = start.clocks;
    let mut texts = Vec::new();
    let mut traces = Vec::new();
    for (k, (name, signal)) in SIGNALS.iter().enumerate() {
        let y = y + 14 + k * ROW;
        let mut path = String::new();
        let mut level = None;
        for (c, column) in columns.iter().enumerate() {
            let x = LEFT + c * width;
            match (column, signal) {
                (Column::Gap(_), _) => level = None,
                (Column::Clock(_), Signal::Clock) => square(&mut path, x, y, width),
                (Column::Clock(t), Signal::Bit(of)) => step(&mut path, &mut level, of(&clocks[*t]), (x, y), width),
                (Column::Clock(t), Signal::Data(of)) => {
                    texts.extend(data(&mut path, of(&clocks[*t]), (x, y), width));
                }
            }
        }
        traces.push(Trace { name, y: y + HIGH - 2, path });
    }
    let mut gaps = Vec::new();
    for (c, column) in columns.iter().enumerate() {
        let x = LEFT + c * width;
        let (class, text) = match column {
            Column::Clock(t) => ("time", t.to_string()),
            Column::Gap(clocks) => ("gap", format!("{clocks} clocks")),
        };
        if let Column::Gap(_) = column {
            gaps.push((x, width));
        }
        texts.push(Label { class, x: x + width / 2, y: y + 6, text });
    }
    texts.extend(packets(start, columns, width, y));
    Line { y: y + 12, traces, texts, gaps, height: ROW * SIGNALS.len() }
}

/// A clock's rising edge is where its column begins.
fn square(path: &mut String, x: usize, y: usize, width: usize) {
    let (middle, end, low) = (x + width / 2, x + width, y + HIGH);
    let _ = write!(path, "M{x} {low}V{y}H{middle}V{low}H{end}");
}

/// A bit in one clock, joined to the clock before, if that is drawn.
fn step(path: &mut String, level: &mut Option<bool>, bit: bool, (x, y): (usize, usize), width: usize) {
    let (at, end) = (if bit { y } else { y + HIGH }, x + width);
    match level {
        None => drop(write!(path, "M{x} {at}H{end}")),
        Some(before) if *before == bit => drop(write!(path, "H{end}")),
        Some(_) => drop(write!(path, "V{at}H{end}")),
    }
    *level = Some(bit);
}

/// The data of a beat in hexadecimal, highest word first; nothing where it is not valid.
fn data(path: &mut String, beat: &Beat, (x, y): (usize, usize), width: usize) -> Option<Label> {
    let (end, low, middle) = (x + width, y + HIGH, y + HIGH / 2);
    if !beat.valid {
        let _ = write!(path, "M{x} {middle}H{end}");
        return None;
    }
    let (left, right) = (x + 3, end - 3);
    let _ = write!(path, "M{x} {middle}L{left} {y}H{right}L{end} {middle}L{right} {low}H{left}Z");
    let text = beat.words.iter().rev().map(|w| format!("{w:08x}")).collect::<Vec<_>>().join(" ");
    Some(Label { class: "data", x: x + width / 2, y: y + HIGH - 3, text })
}

/// The names of packets where they begin, above the data of their stream; those of several engines behind the beat that names
/// the engine.
fn packets(start: &Start, columns: &[Column], width: usize, y: usize) -> Vec<Label> {
    let Start { clocks, several } = *start;
    let mut labels = Vec::new();
    for (k, (_, signal)) in SIGNALS.iter().enumerate() {
        let Signal::Data(of) = signal else { continue };
        let places = places(clocks, *of);
        for (c, column) in columns.iter().enumerate() {
            let Column::Clock(t) = column else { continue };
            let word = of(&clocks[*t]).words[0];
            let text = match places[*t] {
                Some(0) if several => format!("engine {}", word & 0xff),
                Some(place) if place == several as usize => name(word >> 24).into(),
                _ => continue,
            };
            let (x, y) = (LEFT + c * width + width / 2, y + 14 + k * ROW - 2);
            labels.push(Label { class: "packet", x, y, text });
        }
    }
    labels
}

/// The name of a packet.
fn name(opcode: u32) -> &'static str {
    match opcode {
        LOAD_J => "LOAD_J",
        PARAM => "PARAM",
        RUN => "RUN",
        I => "I",
        RESULT => "RESULT",
        _ => "",
    }
}

/// Of each clock in which a beat is transferred its place in its packet.
fn places(clocks: &[Clock], of: fn(&Clock) -> &Beat) -> Vec<Option<usize>> {
    let mut next = 0;
    let place = |clock: &Clock| {
        let beat = of(clock);
        let place = (beat.valid && beat.ready).then_some(next);
        if place.is_some() {
            next = if beat.last { 0 } else { next + 1 };
        }
        place
    };
    clocks.iter().map(place).collect()
}
