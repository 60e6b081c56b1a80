//! Engines on a device: their shares of its memories, whether they fit it by an estimate of their area, and the least interval with which
//! they do.

use hdl::board::Device;
use hdl::circuit::target::{Clock, Target};
use hdl::engine::{Config, Layout, MOST_II, usual};
use pg2::backend::build::{Built, build_folded};
use pg2::graph::Graph;
use pg2::report::area::{Area, engine, switch};
use pg2::syntax::sources::Sources;

/// The default sizes of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    pub jmem_words: u32,
    /// Whether the j memory has more than these words where its block memories hold more.
    pub fills: bool,
    pub segments: u32,
    pub i_banks: u32,
}

/// A device with fewer lookup tables has no space for a second bank of i registers.
const SMALL: u32 = 8_000;

impl Share {
    /// Of each of so many engines, on no device in particular.
    const USUAL: Share =
        Share { jmem_words: usual::JMEM_WORDS, fills: true, segments: usual::SEGMENTS, i_banks: usual::I_BANKS };

    /// Of each of so many engines on a device. Half of its memories at most are j memories; tables, queues and lists take the rest. A
    /// list's entries are two addresses and there are two rings of twice its length: a quarter of the memories at most.
    pub fn of(device: Option<&Device>, engines: usize) -> Share {
        let Some(device) = device else { return Share::USUAL };
        let bits = device.memories * device.memory_bits;
        let power = |most: u32| 1 << (most / engines as u32).max(1).ilog2();
        Share {
            jmem_words: usual::JMEM_WORDS.min(power(bits / 2 / 32)),
            fills: true,
            segments: usual::SEGMENTS.min(power(bits / 4 / (2 * 2 * 32))),
            i_banks: if device.luts < SMALL { 1 } else { usual::I_BANKS },
        }
    }

    /// The same with a j memory of so many words and no more, if a number is given.
    pub fn with_words(self, words: Option<u32>) -> Share {
        words.map_or(self, |jmem_words| Share { jmem_words, fills: false, ..self })
    }

    /// The sources that the j memory holds.
    pub fn records(&self, layout: &Layout, target: &Target) -> u32 {
        let records = self.jmem_words / layout.j_words();
        if self.fills { filled(records, layout, target) } else { records }
    }
}

/// The most records that take no more block memories than `records`, up to the next power of two: blocks are as deep as that, and as far
/// as that addresses stay as wide.
fn filled(records: u32, layout: &Layout, target: &Target) -> u32 {
    let bits = layout.j.iter().map(|e| e.1.width() as u64).sum();
    let blocks = |records: u32| target.cut_blocks(records as u64, bits);
    let (mut most, mut over) = (records, records.max(1).next_power_of_two() + 1);
    while records > 0 && over - most > 1 {
        let middle = most + (over - most) / 2;
        if blocks(middle) <= blocks(records) { most = middle } else { over = middle }
    }
    most
}

/// The area of the network core and the link over Ethernet: 5,000 tables for LiteEth's core, as it was placed on an ECP5,
/// an estimate of 1,500 for the link, and its two rings of 32 KiB, each in 15 block memories.
pub const NETWORK: Area = Area { tables: 6_500, registers: 5_000, multipliers: 0, memories: 30 };

/// An engine of several that share a device, with its part of the switch before them.
pub fn beside(built: &Built, config: &Config) -> Area {
    sum(engine(built, config), switch(built.library.clock.target, config))
}

/// Percent of a device's tables from which a folded design is mapped for least area: below there is space, and its clock matters more.
const CROWDED: u64 = 75;

/// Whether engines come near what the device has, or there is no device, so that area is all that matters.
pub fn crowded(built: &[Built], configs: &[Config], device: Option<&Device>, over_network: bool) -> bool {
    let Some(device) = device else { return true };
    let one = |(built, config)| if configs.len() > 1 { beside(built, config) } else { engine(built, config) };
    let link = if over_network { NETWORK } else { Area::default() };
    let all = built.iter().zip(configs).map(one).fold(link, sum);
    all.tables > device.luts as u64 * CROWDED / 100
}

/// Of both together.
pub fn sum(a: Area, b: Area) -> Area {
    Area {
        tables: a.tables + b.tables,
        registers: a.registers + b.registers,
        multipliers: a.multipliers + b.multipliers,
        memories: a.memories + b.memories,
    }
}

/// Of what a device has may be taken, in percent: placing needs space, and 79% of an ECP5-45 were routed. The cells of iCE40 are packed
/// closer: 96% of a UP5K were placed and routed.
const TAKEN: u64 = 85;
const TAKEN_CELLS: u64 = 98;

/// The unit of a device's logic, how much of it an area needs, and how much may be taken.
pub fn logic(area: &Area, device: &Device) -> (&'static str, u64, u64) {
    match device.target {
        "ice40" => ("logic cells", area.cells(), device.luts as u64 * TAKEN_CELLS / 100),
        _ => ("logic elements", area.tables.max(area.registers), device.luts as u64 * TAKEN / 100),
    }
}

/// The resource that a device has too little of, if any.
pub fn over(area: &Area, device: &Device) -> Option<String> {
    let (what, elements, there) = logic(area, device);
    let rows = [
        (what, elements, there),
        ("multipliers", area.multipliers, device.multipliers as u64),
        ("block memories", area.memories, device.memories as u64),
    ];
    let row = rows.into_iter().find(|(_, needed, there)| needed > there)?;
    Some(format!("it needs about {} {} of {}", row.1, row.0, row.2))
}

/// A kernel that is to be built.
pub struct Wanted<'a> {
    pub graph: &'a Graph,
    pub sources: &'a Sources,
    pub clock: Clock,
    /// Pipelines that share the device.
    pub pipelines: u32,
}

impl Wanted<'_> {
    /// The kernel with an interval.
    pub fn built(&self, clock: Clock, ii: u32) -> Built {
        build_folded(self.graph, (clock, ii), self.sources, Vec::new())
    }
}

/// Engines that fit a device.
pub struct Fitted {
    /// The interval that was found.
    pub ii: u32,
    pub built: Vec<Built>,
    /// All that they take.
    pub area: Area,
}

/// The engine around kernel `k` of those that are built together.
pub type Around<'a, E> = dyn Fn(usize, &Built) -> Result<Config, E> + 'a;

/// Kernels that share a device: some with a given interval, the others with the least with which all fit. `config` is the engine around a
/// kernel, and `tries` is given each interval that is tried. Where none fits, the error says what is missing with the longest.
pub fn fit<E>(
    wanted: &[Wanted],
    given: &[Option<u32>],
    device: &Device,
    config: &Around<E>,
    tries: &mut dyn FnMut(u32),
) -> Result<Result<Fitted, String>, E> {
    // Multiplier blocks are shared out by pipeline, unless a number is given.
    let pipelines: u32 = wanted.iter().map(|w| w.pipelines).sum();
    let clock =
        |w: &Wanted| Clock { blocks: Some(w.clock.blocks.unwrap_or(device.multipliers / pipelines)), ..w.clock };
    let mut at = |ii: u32| -> Result<Fitted, E> {
        tries(ii);
        let (mut area, mut all) = (Area::default(), Vec::new());
        for (k, w) in wanted.iter().enumerate() {
            let built = w.built(clock(w), given[k].unwrap_or(ii));
            let around = config(k, &built)?;
            area = sum(area, engine(&built, &around));
            if wanted.len() > 1 {
                area = sum(area, switch(w.clock.target, &around));
            }
            all.push(built);
        }
        Ok(Fitted { ii, built: all, area })
    };
    least(&mut at, device)
}

/// The engines with the least interval with which they fit; else what is missing with the longest. A long interval takes a small area and
/// is scheduled fast, a short one the opposite: so the search goes from the longest down, by halves. Where every operator has one unit,
/// a longer interval takes a little more for its slots: so if the longest does not fit, its half may, or a half of that.
fn least<E>(at: &mut dyn FnMut(u32) -> Result<Fitted, E>, device: &Device) -> Result<Result<Fitted, String>, E> {
    let mut longest = Err(String::new());
    for ii in (0..5).map(|halves| MOST_II >> halves) {
        let found = at(ii)?;
        match over(&found.area, device) {
            None => {
                longest = Ok(found);
                break;
            }
            Some(what) if ii == MOST_II => longest = Err(what),
            Some(_) => {}
        }
    }
    let mut fits = match longest {
        Ok(fits) => fits,
        Err(what) => return Ok(Err(what)),
    };
    let mut below = 0;
    while fits.ii - below > 1 {
        let ii = below + (fits.ii - below) / 2;
        let found = at(ii)?;
        match over(&found.area, device) {
            None => fits = found,
            Some(_) => below = ii,
        }
    }
    Ok(Ok(fits))
}
