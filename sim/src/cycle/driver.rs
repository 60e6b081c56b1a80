//! The C++ side of a simulated engine: what it is built from and how it is called.

use super::CycleOptions;
use crate::SimError;
use crate::verilator::{self, Model, Source, Tools};
use askama::Template;
use hdl::engine::Config;
use hdl::rtl::Name;
use hdl::rtl::netlist::{Item, Netlist};
use libloading::Library;
use std::collections::BTreeSet;
use std::ffi::{CString, c_char, c_void};

/// Clocks for which the engine is held in reset.
const RESET: u32 = 8;

#[derive(Template)]
#[template(path = "split.cpp", escape = "none")]
struct Split<'a> {
    c: &'a Config,
    shell: &'a str,
    lane: &'a str,
    latency: u32,
    ring: u32,
    reset: u32,
}

#[derive(Template)]
#[template(path = "flat.cpp", escape = "none")]
struct Flat<'a> {
    c: &'a Config,
    top: &'a str,
    trace: bool,
    /// Picoseconds of a clock in the waves.
    period: u64,
    reset: u32,
}

/// The functions of both clock loops.
const EXPORTS: &[&str] = &["engine_new", "engine_run", "engine_cycles", "engine_pause", "engine_delete"];

impl verilator::ClockLoop for Flat<'_> {
    const EXPORTS: &'static [&'static str] = EXPORTS;
}

/// The fields of `struct Exchange` in `templates/stream.h`.
#[repr(C)]
pub struct Exchange {
    pub input: *const u32,
    pub in_last: *const u8,
    pub in_beats: u64,
    pub in_taken: u64,
    pub out: *mut u32,
    pub out_last: *mut u8,
    pub out_cycle: *mut u64,
    pub out_room: u64,
    pub out_taken: u64,
    pub cycle_limit: u64,
    pub timeout: u64,
    pub stop_at_packet: u32,
    pub gap: u32,
    pub stall: u32,
}

/// Why a call of the driver came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// The input was taken, the output is full, a packet ended or the clock limit was reached.
    Return,
    Hang,
    Dropped,
    Changed,
    Latency,
}

/// A loaded simulation of one engine.
pub struct Driver {
    engine: *mut c_void,
    run: unsafe extern "C" fn(*mut c_void, *mut Exchange) -> u32,
    cycles: unsafe extern "C" fn(*mut c_void) -> u64,
    pause: unsafe extern "C" fn(*mut c_void),
    delete: unsafe extern "C" fn(*mut c_void),
    /// Keeps the functions above loaded.
    _library: Library,
}

// SAFETY: the simulation has no ties to the thread that made it; `&mut self` keeps its users apart.
unsafe impl Send for Driver {}

impl Drop for Driver {
    fn drop(&mut self) {
        // SAFETY: `engine` came from `engine_new` of the same library and is not used again.
        unsafe { (self.delete)(self.engine) }
    }
}

impl Driver {
    /// The whole engine as one model.
    pub fn flat(config: &Config, netlist: &Netlist, top: &str, options: &CycleOptions) -> Result<Driver, SimError> {
        Self::text(config, (&text(netlist, top), top), options)
    }

    /// The same of Verilog as it is, of whose configuration only the width of the streams matters.
    pub fn text(config: &Config, (verilog, top): (&str, &str), options: &CycleOptions) -> Result<Driver, SimError> {
        let trace = options.trace.is_some();
        let (verilog, effort) = (verilog.to_string(), options.effort);
        let source = Source { prefix: "Vengine".into(), top: top.into(), verilog, trace, clean: false, effort };
        let period = (1e6 / options.mhz).round() as u64;
        let driver = Flat { c: config, top: &source.prefix, trace, period, reset: RESET };
        Self::start(verilator::load(&source, &driver, &options.cache)?, options)
    }

    /// Shell and lane (the two names) as two models, which are compiled at the same time.
    pub fn split(
        config: &Config,
        netlist: &Netlist,
        [shell, lane]: [&str; 2],
        latency: u32,
        options: &CycleOptions,
    ) -> Result<Driver, SimError> {
        let tools = Tools::find()?;
        let source = |prefix: &str, top: &str| Source {
            prefix: prefix.into(),
            top: top.into(),
            verilog: text(netlist, top),
            trace: false,
            clean: false,
            effort: options.effort,
        };
        let sources = [source("Vshell", shell), source("Vlane", lane)];
        let build = |s: &Source| verilator::model(&tools, &options.cache, s);
        let (shell, lane) = rayon::join(|| build(&sources[0]), || build(&sources[1]));
        let models: [Model; 2] = [shell?, lane?];
        let driver = Split {
            c: config,
            shell: &sources[0].prefix,
            lane: &sources[1].prefix,
            latency,
            ring: (4 * latency).max(1024).next_power_of_two(),
            reset: RESET,
        };
        let text = driver.render().expect("the template renders into memory");
        Self::start(verilator::library(&tools, &options.cache, &models, &text, EXPORTS)?, options)
    }

    fn start(library: Library, options: &CycleOptions) -> Result<Driver, SimError> {
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        };
        let path = options.trace.clone().unwrap_or_default();
        let name = path.to_str().and_then(|p| CString::new(p).ok());
        let name = name.ok_or_else(|| SimError::Unsupported(format!("{} is no name for a file", path.display())))?;
        // SAFETY: the types are those of the driver's templates, and the library is kept in the result.
        unsafe {
            let new: unsafe extern "C" fn(u32, u64, *const c_char) -> *mut c_void =
                verilator::symbol(&library, "engine_new");
            let engine = new(threads as u32, options.noise.seed, name.as_ptr());
            if engine.is_null() && options.trace.is_none() {
                let what = "there is not enough memory to simulate the engine; try a smaller j memory";
                return Err(SimError::Unsupported(what.into()));
            }
            if engine.is_null() {
                return Err(SimError::Io { path, source: std::io::Error::other("the trace cannot be written") });
            }
            Ok(Driver {
                engine,
                run: verilator::symbol(&library, "engine_run"),
                cycles: verilator::symbol(&library, "engine_cycles"),
                pause: verilator::symbol(&library, "engine_pause"),
                delete: verilator::symbol(&library, "engine_delete"),
                _library: library,
            })
        }
    }

    /// Clocks so far.
    pub fn cycles(&self) -> u64 {
        // SAFETY: `engine` is a live engine of this library.
        unsafe { (self.cycles)(self.engine) }
    }

    /// Lets the engine's threads sleep until the next call.
    pub fn pause(&mut self) {
        // SAFETY: `engine` is a live engine of this library.
        unsafe { (self.pause)(self.engine) }
    }

    /// Clocks the engine until one of the reasons of [`Status`].
    pub fn run(&mut self, exchange: &mut Exchange) -> Status {
        // SAFETY: the pointers and lengths in `exchange` are those of live buffers, as its maker promises.
        match unsafe { (self.run)(self.engine, exchange) } {
            1 => Status::Return,
            2 => Status::Hang,
            3 => Status::Dropped,
            4 => Status::Changed,
            5 => Status::Latency,
            other => unreachable!("the driver returned {other}"),
        }
    }
}

/// The Verilog of `top` and the modules that it needs, so that a change elsewhere in the netlist leaves the
/// cached model alone.
fn text(netlist: &Netlist, top: &str) -> String {
    let mut needed = BTreeSet::from([Name::from(top)]);
    let mut queue = vec![Name::from(top)];
    while let Some(name) = queue.pop() {
        let module = netlist.module(&name).expect("a design holds the modules that it names");
        for item in &module.items {
            match item {
                Item::Instance { module, .. } if needed.insert(module.clone()) => queue.push(module.clone()),
                // Hand-written text may hold instances, which only its words betray.
                Item::Text(text) => {
                    let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
                    for m in netlist.modules.iter().filter(|m| words.contains(m.name.as_str())) {
                        if needed.insert((&m.name).into()) {
                            queue.push((&m.name).into());
                        }
                    }
                }
                _ => {}
            }
        }
    }
    netlist.modules.iter().filter(|m| needed.contains(m.name.as_str())).map(|m| m.verilog() + "\n").collect()
}
