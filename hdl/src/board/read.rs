//! Boards from their text: `board.toml` and the constraints beside it.

use super::gigabit::Ethernet;
use super::{Board, Device, Leds, VENDORS_TOOLS, Vendor, device, pll};
use crate::rtl::names::is_plain;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// The mark of a place in a board's files that is still to be filled in.
pub const OPEN: &str = "FILL-IN";

/// The keys of `board.toml`; the places of those that can be wrong on their own are kept.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    name: Spanned<String>,
    summary: String,
    /// The name of a device that is known, or a table with [`OwnDevice`].
    device: Spanned<toml::Value>,
    /// The file beside it that has the pins.
    constraints: Spanned<String>,
    oscillator_mhz: Spanned<f64>,
    #[serde(default)]
    differential: bool,
    usual_mhz: Spanned<f64>,
    full_mhz: Spanned<f64>,
    pll: Spanned<String>,
    leds: LedKeys,
    fixed_pins: Option<Spanned<BTreeMap<String, bool>>>,
    loader: Vec<String>,
    baud: Spanned<u32>,
    ethernet: Option<Spanned<EthernetKeys>>,
    vendor: Option<Spanned<VendorKeys>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnDevice {
    name: String,
    summary: String,
    target: String,
    route: Vec<String>,
    luts: u32,
    flip_flops: u32,
    multipliers: u32,
    memories: u32,
    memory_bits: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LedKeys {
    alive: bool,
    error: bool,
    active_low: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EthernetKeys {
    constraints: Spanned<String>,
    rx_delay: u32,
    tx_delay: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VendorKeys {
    tool: String,
    #[serde(default)]
    family: String,
    part: String,
}

/// A mistake, with its place in the text.
struct Wrong {
    place: Option<Range<usize>>,
    why: String,
}

impl Wrong {
    fn at<T>(key: &Spanned<T>, why: String) -> Wrong {
        Wrong { place: Some(key.span()), why }
    }

    /// One sentence with the line.
    fn sentence(self, text: &str) -> String {
        let before = self.place.and_then(|place| text.get(..place.start));
        match before {
            Some(before) => format!("line {}: {}", before.matches('\n').count() + 1, self.why),
            None => self.why,
        }
    }
}

/// A text that is kept for as long as the program runs, as boards are.
fn kept(text: String) -> &'static str {
    text.leak()
}

fn kept_list(list: Vec<String>) -> &'static [&'static str] {
    list.into_iter().map(kept).collect::<Vec<_>>().leak()
}

impl OwnDevice {
    fn device(self) -> Result<&'static Device, String> {
        if device(&self.name).is_some() {
            return Err(format!("device.name: `{}` is known already; take another name", self.name));
        }
        let target = crate::circuit::target::target(&self.target).ok_or_else(|| {
            format!("device.target: there is no target `{}`; see `pairforge list targets`", self.target)
        })?;
        if target.memory_bits != self.memory_bits {
            let (bits, name) = (target.memory_bits, target.name);
            return Err(format!("device.memory_bits: the block memories of {name} are counted as {bits} bits each"));
        }
        Ok(Box::leak(Box::new(Device {
            name: kept(self.name),
            summary: kept(self.summary),
            target: target.name,
            route: kept_list(self.route),
            luts: self.luts,
            flip_flops: self.flip_flops,
            multipliers: self.multipliers,
            memories: self.memories,
            memory_bits: self.memory_bits,
        })))
    }
}

/// The longest name; with its ending it fits every file system.
const LONGEST: usize = 64;

/// Whether a board can have that name: it becomes a part of the names of files and modules.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(plain) && name.len() <= LONGEST {
        return Ok(());
    }
    let why = "begins with a letter and has at most 64 small letters, digits and -";
    Err(format!("`{}` cannot name a board: a name {why}", name.escape_debug()))
}

/// The text of a file beside `board.toml`, in which nothing is left to be filled in.
fn beside(files: &dyn Fn(&str) -> Result<String, String>, key: &Spanned<String>) -> Result<&'static str, Wrong> {
    let name = key.get_ref();
    let text = files(name).map_err(|why| Wrong::at(key, format!("constraints: {why}")))?;
    match text.lines().position(|line| line.contains(OPEN)) {
        Some(line) => Err(Wrong::at(key, format!("{name}, line {}: {OPEN} is to be filled in", line + 1))),
        None => Ok(kept(text)),
    }
}

fn device_of(key: &Spanned<toml::Value>) -> Result<&'static Device, Wrong> {
    let found = match key.get_ref() {
        toml::Value::String(name) => device(name).ok_or_else(|| {
            let remedy = "see `pairforge list devices`, or describe it in a table [device]";
            format!("device: there is no device `{name}`; {remedy}")
        }),
        table => match OwnDevice::deserialize(table.clone()) {
            Ok(own) => own.device(),
            Err(e) => Err(format!("device: {}", e.message())),
        },
    };
    found.map_err(|why| Wrong::at(key, why))
}

fn pll_of(key: &Spanned<String>, device: &Device) -> Result<&'static pll::Pll, Wrong> {
    let kind = pll::KINDS.iter().find(|kind| kind.0 == key.get_ref() && kind.1.target == device.target);
    kind.map(|kind| kind.1).ok_or_else(|| {
        let known = pll::KINDS.iter().filter(|kind| kind.1.target == device.target);
        let known: Vec<&str> = known.map(|kind| kind.0).collect();
        let (name, target) = (key.get_ref(), device.target);
        Wrong::at(key, format!("pll: {target} has no `{name}`; it has {}", known.join(", ")))
    })
}

/// The vendor's tool, which there has to be where no open one routes the device.
fn vendor_of(keys: &Keys, device: &Device) -> Result<Option<&'static Vendor>, Wrong> {
    let Some(key) = &keys.vendor else {
        return match device.route.is_empty() {
            true => Err(Wrong::at(
                &keys.device,
                format!("device: {} has no `route`, and there is no table [vendor]", device.name),
            )),
            false => Ok(None),
        };
    };
    let VendorKeys { tool, family, part } = key.get_ref();
    let known = VENDORS_TOOLS.into_iter().find(|known| known == tool);
    let tool = known.ok_or_else(|| {
        Wrong::at(key, format!("vendor.tool: there is no `{tool}`; there are {}", VENDORS_TOOLS.join(", ")))
    })?;
    if tool == "quartus" && family.is_empty() {
        return Err(Wrong::at(
            key,
            "vendor.family: Quartus asks for the device's family, such as \"Cyclone V\"".into(),
        ));
    }
    let plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "- _.".contains(c));
    if let Some(word) = [family, part].into_iter().find(|word| !plain(word)) {
        return Err(Wrong::at(key, format!("vendor: `{}` names no device", word.escape_debug())));
    }
    Ok(Some(&*Box::leak(Box::new(Vendor { tool, family: kept(family.clone()), part: kept(part.clone()) }))))
}

/// The port for Ethernet, whose pins are made of ECP5's primitives.
fn ethernet_of(
    keys: &Keys,
    device: &Device,
    files: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Option<&'static Ethernet>, Wrong> {
    let Some(key) = &keys.ethernet else { return Ok(None) };
    if device.target != "ecp5" || keys.differential {
        return Err(Wrong::at(key, "ethernet: only an ECP5 with a clock at one pin has it".into()));
    }
    let EthernetKeys { constraints, rx_delay, tx_delay } = key.get_ref();
    let constraints = beside(files, constraints)?;
    Ok(Some(&*Box::leak(Box::new(Ethernet { constraints, rx_delay: *rx_delay, tx_delay: *tx_delay }))))
}

impl Keys {
    fn parse(text: &str) -> Result<Keys, Wrong> {
        toml::from_str(text).map_err(|e| Wrong { place: e.span(), why: e.message().to_string() })
    }

    fn board(self, files: &dyn Fn(&str) -> Result<String, String>) -> Result<Board, Wrong> {
        let device = device_of(&self.device)?;
        let pll = pll_of(&self.pll, device)?;
        check_name(self.name.get_ref()).map_err(|why| Wrong::at(&self.name, why))?;
        self.check_clocks(pll)?;
        let (vendor, ethernet) = (vendor_of(&self, device)?, ethernet_of(&self, device, files)?);
        if self.differential && device.target != "xc7" {
            let why = "differential: only AMD's devices need two ports; elsewhere the constraints say that one pin is half of a pair";
            return Err(Wrong::at(&self.oscillator_mhz, why.into()));
        }
        let fixed = self.fixed_pins.as_ref().map(|pins| pins.get_ref().iter()).into_iter().flatten();
        let fixed_pins: Vec<(&'static str, bool)> = fixed.map(|(name, high)| (kept(name.clone()), *high)).collect();
        if let (Some((pin, _)), Some(key)) = (fixed_pins.iter().find(|pin| !is_plain(pin.0)), &self.fixed_pins) {
            return Err(Wrong::at(key, format!("fixed_pins: `{}` is no name of a port", pin.escape_debug())));
        }
        let board = Board {
            name: kept(self.name.into_inner()),
            summary: kept(self.summary),
            device,
            vendor,
            constraints: beside(files, &self.constraints)?,
            oscillator_mhz: self.oscillator_mhz.into_inner(),
            differential: self.differential,
            usual_mhz: self.usual_mhz.into_inner(),
            full_mhz: self.full_mhz.into_inner(),
            pll,
            leds: Leds { alive: self.leds.alive, error: self.leds.error, active_low: self.leds.active_low },
            fixed_pins: fixed_pins.leak(),
            loader: kept_list(self.loader),
            baud: self.baud.into_inner(),
            ethernet,
        };
        match board.port_without_pin() {
            Some(port) => Err(Wrong::at(&self.constraints, format!("constraints: there is no pin for `{port}`"))),
            None => Ok(board),
        }
    }

    /// Whether the loop makes clocks from the oscillator that the serial link can sample its bits with.
    fn check_clocks(&self, pll: &pll::Pll) -> Result<(), Wrong> {
        // The UART samples each bit several times.
        const SAMPLES: f64 = 6.0;
        let oscillator = *self.oscillator_mhz.get_ref();
        let clocks =
            [("oscillator_mhz", &self.oscillator_mhz), ("usual_mhz", &self.usual_mhz), ("full_mhz", &self.full_mhz)];
        for (name, key) in clocks {
            if !(1.0..=1000.0).contains(key.get_ref()) {
                return Err(Wrong::at(key, format!("{name}: a clock has 1 to 1000 MHz, not {}", key.get_ref())));
            }
        }
        for (name, key) in &clocks[1..] {
            let source = pll.source(oscillator, *key.get_ref());
            let (_, made) = source.map_err(|why| Wrong::at(key, format!("{name}: {why}")))?;
            let baud = *self.baud.get_ref();
            if baud == 0 || made * 1e6 < SAMPLES * baud as f64 {
                let most = (made * 1e6 / SAMPLES).floor();
                let why = format!(
                    "baud: a bit takes {SAMPLES} clocks, so that {made} MHz allow 1 to {most} baud, not {baud}"
                );
                return Err(Wrong::at(&self.baud, why));
            }
        }
        Ok(())
    }
}

impl Board {
    /// A board from the text of its `board.toml`; `files` gives the text of a file in the same folder. The error says on which line
    /// something is wrong, and how.
    pub fn read(text: &str, files: &dyn Fn(&str) -> Result<String, String>) -> Result<Board, String> {
        Keys::parse(text).and_then(|keys| keys.board(files)).map_err(|wrong| wrong.sentence(text))
    }

    /// A port of its tops that the constraints do not name.
    fn port_without_pin(&self) -> Option<&'static str> {
        let leds = [Some("led_busy"), self.leds.alive.then_some("led_alive"), self.leds.error.then_some("led_error")];
        let fixed = self.fixed_pins.iter().map(|pin| pin.0);
        let always = ["clk_in", "uart_rx", "uart_tx"].into_iter().chain(self.differential.then_some("clk_in_n"));
        let mut ports = always.chain(leds.into_iter().flatten()).chain(fixed);
        let separates = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        ports.find(|port| !self.constraints.split(separates).any(|word| word == *port))
    }
}
