//! The top of a board: clock, reset, serial link, engine and LEDs in one clock domain.
//!
//! ```text
//! KERNEL_BOARD                top; ports as the board's constraints name them
//! ├── KERNEL_clock            the PLL: the only module with a vendor's primitive
//! ├── KERNEL_reset            power-on reset
//! ├── the link                UART and frames
//! ├── KERNEL_engine
//! └── KERNEL_lights           what the LEDs show
//! ```
//!
//! Where the oscillator's clock is differential, the top has the port `clk_in_n` too, and the clock a buffer for both.
//!
//! A simulation puts [`simulated_clock`] in the place of the clock and leaves everything else as it is.

use super::{Board, pll};
use crate::engine::protocol::END_REPLY;
use crate::engine::{self, Config, Design};
use crate::rtl::Value;
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::{Item, Module, Netlist, range};
use crate::serial::{self, Identity};

/// Clocks for which the reset holds after the PLL has locked. The block memories of iCE40 UP5K give nonsense for
/// some microseconds after configuration.
const RESET_CLOCKS_LOG2: u32 = 10;

/// A design for a board.
#[derive(Clone, Debug)]
pub struct BoardDesign {
    /// All of it, the clock included.
    pub netlist: Netlist,
    pub engine: Design,
    /// The board's identity record: also its clock and its baud rate.
    pub identity: Identity,
    /// The clock in MHz.
    pub mhz: f64,
}

/// Puts the engine of `config` around `pipeline` onto a board, with the fastest clock that is not above `mhz`. `hash`
/// is the kernel's (see [`crate::serial::kernel_hash`]). The error says what cannot be built.
pub fn design(
    board: &'static Board,
    config: &Config,
    pipeline: &Netlist,
    hash: u64,
    mhz: f64,
) -> Result<BoardDesign, String> {
    config.verify()?;
    let (clock, mhz) = board.pll.source(board.oscillator_mhz, mhz)?;
    let identity = Identity::new(&[(config, hash)], (mhz * 1e6).round() as u32, board.baud);
    identity.verify()?;
    let engine = engine::design(config, pipeline);
    let (kernel, link) = (&config.layout.kernel, serial::netlist(&identity));
    let engine_top = &engine.top;
    let parts = Parts {
        board,
        kernel,
        engine: engine_top,
        engines: 1,
        stream_bits: config.stream_bits,
        link: &link,
        clock,
        mhz,
    };
    Ok(BoardDesign { netlist: top(&parts, &engine.netlist), engine, identity, mhz })
}

/// The parts of a top.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    pub board: &'static Board,
    /// Name of the kernel, of several the first; the top's modules begin with it.
    pub kernel: &'a str,
    /// Name of the engine's module, which has the ports of [`crate::engine::design`].
    /// Of several engines it is the module around them ([`crate::engine::switch`]).
    pub engine: &'a str,
    /// How many engines are in it.
    pub engines: u32,
    /// Width of its streams in bits.
    pub stream_bits: u32,
    /// The link (see [`crate::serial::netlist`]).
    pub link: &'a Netlist,
    pub clock: pll::Source,
    /// Frequency of that clock.
    pub mhz: f64,
}

/// Name of a board's top for a kernel.
pub fn name(kernel: &str, board: &Board) -> String {
    format!("{kernel}_{}", board.name.replace('-', "_"))
}

/// Name of the module that makes the clock.
pub fn clock_name(kernel: &str) -> String {
    format!("{kernel}_clock")
}

/// The whole design, the clock included.
pub fn top(parts: &Parts, engine: &Netlist) -> Netlist {
    let mut all = around(parts);
    all.extend([clock(parts)]);
    engine.modules.iter().for_each(|m| all.add(m.clone()));
    all
}

/// All but the engine and the clock: what a simulation needs, with [`simulated_clock`], around the text of an engine.
pub fn around(parts: &Parts) -> Netlist {
    let mut all = Netlist { top: name(parts.kernel, parts.board), modules: parts.link.modules.clone() };
    all.extend([reset(parts.kernel), lights(parts), module(parts)]);
    all
}

/// The clock's inputs, each with the port of the top that it is.
fn clock_inputs(board: &Board) -> &'static [(&'static str, &'static str)] {
    match board.differential {
        true => &[("clk_in_p", "clk_in"), ("clk_in_n", "clk_in_n")],
        false => &[("clk_in", "clk_in")],
    }
}

fn clock_ports(kernel: &str, board: &Board) -> Module {
    let mut m = Module { name: clock_name(kernel), ..Module::default() };
    for (port, _) in clock_inputs(board) {
        m.port(In, *port, 1);
    }
    m.port(Out, "clk", 1);
    m.port(Out, "locked", 1);
    m
}

fn clock(parts: &Parts) -> Module {
    let board = parts.board;
    let mut m = clock_ports(parts.kernel, board);
    m.doc = vec![format!("{} MHz from the oscillator's {} MHz.", parts.mhz, board.oscillator_mhz)];
    let buffer = match board.differential {
        true => "    wire clk_in;\n    IBUFDS pins (.I(clk_in_p), .IB(clk_in_n), .O(clk_in));\n",
        false => "",
    };
    m.items.push(Item::Text(buffer.to_string() + &board.pll.verilog(&parts.clock)));
    m
}

/// The clock of a simulation: `clk_in` is the design's clock already, and the PLL locks after some clocks.
pub fn simulated_clock(kernel: &str, board: &Board) -> Module {
    let mut m = clock_ports(kernel, board);
    m.doc = vec!["In a simulation the clock that comes in is the design's own.".into()];
    let input = match board.differential {
        true => "    wire clk_in = clk_in_p;\n    wire unused = &{1'b0, clk_in_n};\n",
        false => "",
    };
    m.items.push(Item::Text(
        input.to_string()
            + "    reg [5:0] count = 6'd0;\n    always @(posedge clk_in) count <= count + {5'd0, !locked};\n    \
         assign clk = clk_in;\n    assign locked = &count;",
    ));
    m
}

pub(super) fn reset(kernel: &str) -> Module {
    let mut m = Module { name: format!("{kernel}_reset"), ..Module::default() };
    m.doc = vec![
        "Holds the reset from power-on until some time after the PLL has locked, and again if it loses lock.".into(),
        "All other modules rely on this reset; only here do initial values matter.".into(),
    ];
    m.port(In, "clk", 1);
    m.port(In, "locked", 1);
    m.port(Out, "rst", 1);
    let top = RESET_CLOCKS_LOG2 - 1;
    m.items.push(Item::Text(format!(
        "    // `locked` is asynchronous.
    reg [1:0] lock = 2'd0;
    reg [{top}:0] count = {RESET_CLOCKS_LOG2}'d0;
    reg hold = 1'b1;
    always @(posedge clk) begin
        lock <= {{lock[0], locked}};
        if (!lock[1]) count <= {RESET_CLOCKS_LOG2}'d0;
        else if (hold) count <= count + {RESET_CLOCKS_LOG2}'d1;
        if (!lock[1]) hold <= 1'b1;
        else if (&count) hold <= 1'b0;
    end
    assign rst = hold;"
    )));
    m
}

/// The signals of the streams that the lights observe, as (port of the lights, its width).
pub(super) fn taps(parts: &Parts) -> Vec<(&'static str, u32)> {
    let mut taps = vec![("to_engine", 1), ("from_engine", 1), ("last", 1), ("opcode", 8)];
    if parts.engines > 1 {
        taps.extend([("to_last", 1), ("to_number", 8), ("from_number", 8)]);
    }
    taps
}

/// The value of each of the [`taps`]: `to` and `from` give a signal of the stream to the engines and from them.
pub(super) fn tapped(parts: &Parts, to: &dyn Fn(&str) -> Value, from: &dyn Fn(&str) -> Value) -> Vec<(String, Value)> {
    let value = |name: &str| match name {
        "to_engine" => to("valid") & to("ready"),
        "from_engine" => from("valid") & from("ready"),
        "last" => from("last"),
        "opcode" => from("data").bits(24, 8),
        "to_last" => to("last"),
        "to_number" => to("data").low(8),
        _ => from("data").low(8),
    };
    taps(parts).into_iter().map(|(name, _)| (name.to_string(), value(name))).collect()
}

pub(super) fn lights(parts: &Parts) -> Module {
    let leds = parts.board.leds;
    let mut m = Module { name: format!("{}_lights", parts.kernel), ..Module::default() };
    m.doc = vec!["What the LEDs show: busy from the first beat to an engine until it has answered END.".into()];
    let clocked = [("clk", 1), ("rst", 1), ("engine_rst", 1), ("lost", 1)];
    for (name, width) in clocked.into_iter().chain(taps(parts)) {
        m.port(In, name, width);
    }
    m.port(Out, "busy", 1);
    let mut text = if parts.engines > 1 { works_of_several(parts.engines) } else { works() };
    if leds.alive {
        m.port(Out, "alive", 1);
        // The highest bit turns about once a second.
        let top = (parts.mhz * 1e6).log2().round() as u32;
        let (width, range) = (top + 1, range(top + 1));
        text += &format!(
            "\n    reg {range}count;\n    always @(posedge clk) count <= rst ? {width}'d0 : count + {width}'d1;\n    \
             assign alive = count[{top}];"
        );
    }
    if leds.error {
        m.port(Out, "error", 1);
        text += "\n    reg seen;\n    always @(posedge clk) seen <= (seen | lost) & ~rst;\n    assign error = seen;";
    }
    let unused = [(!leds.alive && !leds.error, "rst"), (!leds.error, "lost")];
    let unused: Vec<&str> = unused.iter().filter(|u| u.0).map(|u| u.1).collect();
    if !unused.is_empty() {
        text += &format!("\n    wire unused = &{{1'b0, {}}};", unused.join(", "));
    }
    m.items.push(Item::Text(text));
    m
}

/// Whether the engine is at work.
fn works() -> String {
    format!(
        "    reg working, head;
    assign busy = working;
    always @(posedge clk) begin
        if (engine_rst) head <= 1'b1;
        else if (from_engine) head <= last;
        if (engine_rst) working <= 1'b0;
        else if (to_engine) working <= 1'b1;
        else if (from_engine & head & (opcode == 8'h{END_REPLY:02x})) working <= 1'b0;
    end"
    )
}

/// The same of several engines: the first beat of each packet names one, and has the opcode of an answer.
fn works_of_several(engines: u32) -> String {
    let one = |k: u32| {
        format!(
            "
        if (engine_rst) working[{k}] <= 1'b0;
        else if (to_engine & first & (to_number == 8'd{k})) working[{k}] <= 1'b1;
        else if (from_engine & head & (opcode == 8'h{END_REPLY:02x}) & (from_number == 8'd{k})) working[{k}] <= 1'b0;"
        )
    };
    let all: String = (0..engines).map(one).collect();
    format!(
        "    reg {range}working;
    reg first, head;
    assign busy = |working;
    always @(posedge clk) begin
        if (engine_rst) first <= 1'b1;
        else if (to_engine) first <= to_last;
        if (engine_rst) head <= 1'b1;
        else if (from_engine) head <= last;{all}
    end",
        range = range(engines)
    )
}

/// The top module itself.
fn module(parts: &Parts) -> Module {
    let Parts { board, kernel, stream_bits, .. } = *parts;
    let leds = board.leds;
    let mut m = Module { name: name(kernel, board), ..Module::default() };
    m.doc = vec![format!("{kernel} on {}, {} MHz.", board.name, parts.mhz)];
    for (_, port) in clock_inputs(board) {
        m.port(In, *port, 1);
    }
    m.port(In, "uart_rx", 1);
    m.port(Out, "uart_tx", 1);
    // (whether the board has it, the signal that it shows)
    let lights = [(true, "busy"), (leds.alive, "alive"), (leds.error, "error")];
    let shown = || lights.into_iter().filter(|l| l.0).map(|l| l.1);
    for signal in shown() {
        m.port(Out, format!("led_{signal}"), 1);
    }
    for (pin, _) in board.fixed_pins {
        m.port(Out, *pin, 1);
    }
    for name in ["clk", "locked", "rst", "engine_rst", "lost"].into_iter().chain(shown()) {
        m.net(name, 1);
    }
    for way in ["to", "from"] {
        for (signal, width) in [("data", stream_bits), ("valid", 1), ("ready", 1), ("last", 1)] {
            m.net(format!("{way}_{signal}"), width);
        }
    }
    let same =
        |names: &[&str]| -> Vec<(String, String)> { names.iter().map(|n| (n.to_string(), n.to_string())).collect() };
    let stream = |prefix: &str, way: &str| {
        ["data", "valid", "ready", "last"].map(|s| (format!("{prefix}_t{s}"), format!("{way}_{s}")))
    };
    let mut add = |module: String, name: &str, connections: Vec<(String, String)>| {
        let connections: Vec<(String, Value)> =
            connections.into_iter().map(|(port, name)| (port, m.signal(&name))).collect();
        m.instance(module, name, connections);
    };
    let mut clock = same(&["clk", "locked"]);
    clock.extend(clock_inputs(board).iter().map(|(port, pin)| (port.to_string(), pin.to_string())));
    add(clock_name(kernel), "clock", clock);
    add(format!("{kernel}_reset"), "reset", same(&["clk", "locked", "rst"]));
    let mut link = same(&["clk", "rst", "uart_rx", "uart_tx", "engine_rst", "lost"]);
    link.extend(stream("s", "to").into_iter().chain(stream("m", "from")));
    add(parts.link.top.clone(), "link", link);
    let mut engine = same(&["clk"]);
    engine.push(("rst".into(), "engine_rst".into()));
    engine.extend(stream("s", "to").into_iter().chain(stream("m", "from")));
    add(parts.engine.to_string(), "engine", engine);
    let (to, from) =
        (|signal: &str| m.signal(&format!("to_{signal}")), |signal: &str| m.signal(&format!("from_{signal}")));
    let same = ["clk", "rst", "engine_rst", "lost"].into_iter().chain(shown());
    let mut watched: Vec<(String, Value)> = same.map(|name| (name.to_string(), m.signal(name))).collect();
    watched.extend(tapped(parts, &to, &from));
    m.instance(format!("{kernel}_lights"), "lights", watched);
    for signal in shown() {
        let lit = m.signal(signal);
        m.assign(format!("led_{signal}"), if leds.active_low { !lit } else { lit });
    }
    for (pin, high) in board.fixed_pins {
        m.assign(*pin, Value::flag(*high));
    }
    m
}
