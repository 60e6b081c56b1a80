//! A test bench for feed-forward modules: vectors in, vectors out, the clock loop in C++.
//!
//! [`MultiBench`] builds many modules in one go, since each build costs seconds; [`ModuleBench`] is the
//! same for one. Whatever Verilator warns of is an error, so what is simulated needs no lint of its own. Modules may have
//! a `clk` port or none; every other port has at most 64 bits.

use crate::SimError;
use crate::cache::Cache;
use crate::verilator::{self, Effort, Source};
use askama::Template;
use hdl::rtl::net;
use hdl::rtl::netlist::{Dir, Item, Module, Netlist, Unsound};
use libloading::Library;
use std::ffi::c_void;
use std::sync::Arc;

const PREFIX: &str = "Vbench";

#[derive(Template)]
#[template(path = "bench.cpp", escape = "none")]
struct Driver {
    prefix: &'static str,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

impl verilator::ClockLoop for Driver {
    const EXPORTS: &'static [&'static str] = &["bench_new", "bench_run", "bench_delete"];
}

/// Where one module's ports stand among those of the wrapper.
#[derive(Clone, Debug)]
struct Instance {
    latency: u32,
    inputs: std::ops::Range<usize>,
    outputs: std::ops::Range<usize>,
    masks: Vec<u64>,
}

/// Many modules built as one simulation.
pub struct MultiBench {
    instances: Vec<Instance>,
    inputs: usize,
    outputs: usize,
    bench: *mut c_void,
    run: unsafe extern "C" fn(*mut c_void, u64, *const u64, *mut u64),
    delete: unsafe extern "C" fn(*mut c_void),
    /// Keeps the functions above loaded.
    _library: Library,
}

// SAFETY: the simulation has no ties to the thread that made it; `&mut self` keeps its users apart.
unsafe impl Send for MultiBench {}

impl Drop for MultiBench {
    fn drop(&mut self) {
        // SAFETY: `bench` came from `bench_new` of the same library and is not used again.
        unsafe { (self.delete)(self.bench) }
    }
}

impl MultiBench {
    /// Builds modules without instances inside, such as `hdl::op::hardware(...).module`.
    pub fn build(modules: Vec<Module>) -> Result<MultiBench, SimError> {
        Self::build_netlists(&modules.into_iter().map(|m| Netlist::new([m])).collect::<Vec<_>>())
    }

    /// Builds the top modules of netlists; each one's `latency` says how late its outputs are.
    pub fn build_netlists(netlists: &[Netlist]) -> Result<MultiBench, SimError> {
        let top = wrap(netlists)?;
        let (name, verilog) = (top.top.clone(), top.verilog()?);
        let source =
            Source { prefix: PREFIX.into(), top: name, verilog, trace: false, clean: true, effort: Effort::Least };
        let ports = &top.module(&top.top).expect("the wrapper holds its top").ports;
        let of = |dir| ports.iter().filter(|p| p.dir == dir && p.name != "clk").map(|p| p.name.to_string()).collect();
        let driver = Driver { prefix: PREFIX, inputs: of(Dir::In), outputs: of(Dir::Out) };
        let library = verilator::load(&source, &driver, &Cache::standard())?;
        // SAFETY: the types are those of `templates/bench.cpp`, and the library is kept in the result.
        unsafe {
            let new: unsafe extern "C" fn() -> *mut c_void = verilator::symbol(&library, "bench_new");
            Ok(MultiBench {
                instances: places(netlists),
                inputs: driver.inputs.len(),
                outputs: driver.outputs.len(),
                bench: new(),
                run: verilator::symbol(&library, "bench_run"),
                delete: verilator::symbol(&library, "bench_delete"),
                _library: library,
            })
        }
    }

    /// Number of modules.
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// Whether there are no modules.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    /// Feeds module `k` one row of input port values a clock (port order, without `clk`) and returns the row of output
    /// port values that belongs to each. The inputs of the other modules are 0.
    pub fn run(&mut self, k: usize, rows: &[Vec<u64>]) -> Vec<Vec<u64>> {
        let mut all = vec![Vec::new(); self.len()];
        all[k] = rows.to_vec();
        self.run_all(&all).swap_remove(k)
    }

    /// [`MultiBench::run`] for all modules at once, in the time of one; `rows[k]` is for module `k`, and the
    /// numbers of rows may differ.
    pub fn run_all(&mut self, rows: &[Vec<Vec<u64>>]) -> Vec<Vec<Vec<u64>>> {
        assert_eq!(rows.len(), self.len(), "one list of rows for each module");
        let clocks = self.instances.iter().zip(rows).map(|(u, r)| r.len() + u.latency as usize).max().unwrap_or(0);
        let out = self.clocks(rows, clocks);
        let row = |u: &Instance, t: usize| out[t * self.outputs..][u.outputs.clone()].to_vec();
        let of = |(u, r): (&Instance, &Vec<Vec<u64>>)| (0..r.len()).map(|t| row(u, t + u.latency as usize)).collect();
        self.instances.iter().zip(rows).map(of).collect()
    }

    /// The number of clocks after which a change of module `k`'s inputs shows at its outputs, measured by holding
    /// each row for a while. An error if the outputs never change, change in more than one step, or differ in
    /// when they do.
    pub fn measured_latency(&mut self, k: usize, rows: &[Vec<u64>]) -> Result<u32, String> {
        let hold = self.instances[k].latency as usize * 2 + 8;
        let mut all = vec![Vec::new(); self.len()];
        all[k] = rows.iter().flat_map(|r| std::iter::repeat_n(r.clone(), hold)).collect();
        let out = self.clocks(&all, rows.len() * hold);
        let row = |t: usize| &out[t * self.outputs..][self.instances[k].outputs.clone()];
        let mut found = None;
        for first in (hold..rows.len() * hold).step_by(hold) {
            let changes: Vec<usize> = (0..hold).filter(|t| row(first + t) != row(first + t - 1)).collect();
            match (changes.as_slice(), found) {
                ([], _) => {}
                ([t], None) => found = Some(*t),
                ([t], Some(f)) if *t == f => {}
                _ => return Err(format!("row {}: outputs change after {changes:?} clocks", first / hold)),
            }
        }
        found.map(|t| t as u32).ok_or_else(|| "the outputs never change".into())
    }

    /// Outputs of all modules, clock by clock; modules that are out of rows get zeros.
    fn clocks(&mut self, rows: &[Vec<Vec<u64>>], clocks: usize) -> Vec<u64> {
        let mut input = vec![0u64; clocks * self.inputs];
        for (unit, rows) in self.instances.iter().zip(rows) {
            for (t, row) in rows.iter().enumerate() {
                assert_eq!(row.len(), unit.inputs.len(), "a row has one value for each input port");
                for ((to, from), mask) in
                    input[t * self.inputs..][unit.inputs.clone()].iter_mut().zip(row).zip(&unit.masks)
                {
                    assert_eq!(from & !mask, 0, "an input value has more bits than its port");
                    *to = *from;
                }
            }
        }
        let mut out = vec![0u64; clocks * self.outputs];
        // SAFETY: the buffers have one row for each clock, of the numbers of ports that the driver was made with.
        unsafe { (self.run)(self.bench, clocks as u64, input.as_ptr(), out.as_mut_ptr()) };
        out
    }
}

/// One module as a simulation.
pub struct ModuleBench {
    all: MultiBench,
}

impl ModuleBench {
    /// Builds the netlist's top module.
    pub fn build(netlist: &Netlist) -> Result<ModuleBench, SimError> {
        Ok(ModuleBench { all: MultiBench::build_netlists(std::slice::from_ref(netlist))? })
    }

    /// See [`MultiBench::run`].
    pub fn run(&mut self, rows: &[Vec<u64>]) -> Vec<Vec<u64>> {
        self.all.run(0, rows)
    }

    /// See [`MultiBench::measured_latency`].
    pub fn measured_latency(&mut self, rows: &[Vec<u64>]) -> Result<u32, String> {
        self.all.measured_latency(0, rows)
    }
}

/// A top with `clk` and the ports of all given tops, those of the k-th prefixed `uK_`. Modules of one name and
/// different contents are renamed.
pub fn wrap(netlists: &[Netlist]) -> Result<Netlist, SimError> {
    let mut all = Netlist { top: "bench_top".into(), modules: Vec::new() };
    let mut top = Module { name: all.top.clone(), ..Module::default() };
    top.port(Dir::In, "clk", 1);
    for (k, netlist) in netlists.iter().enumerate() {
        netlist.verify().map_err(Unsound)?;
        let clash = netlist.modules.iter().any(|m| all.module(&m.name).is_some_and(|other| *other != **m));
        let netlist = if clash { renamed(netlist, k) } else { netlist.clone() };
        let inner = netlist.module(&netlist.top).expect("a verified netlist has its top").clone();
        netlist.modules.iter().for_each(|m| all.add(m.clone()));
        let mut connections = Vec::new();
        for port in &inner.ports {
            if port.name == "clk" {
                connections.push((port.name.clone(), top.signal("clk")));
                continue;
            }
            if port.width > 64 {
                return Err(SimError::Unsupported(format!(
                    "port {} of {} is wider than 64 bits",
                    port.name, inner.name
                )));
            }
            let outer = top.port(port.dir, format!("u{k}_{}", port.name), port.width);
            connections.push((port.name.clone(), net(&outer, port.width)));
        }
        top.instance(inner.name, format!("u{k}"), connections);
    }
    if !netlists.iter().any(clocked) {
        top.wire("unused_clk", top.signal("clk"));
    }
    all.extend([top]);
    Ok(all)
}

/// Whether the top module has a clock.
fn clocked(netlist: &Netlist) -> bool {
    netlist.module(&netlist.top).is_some_and(|m| m.ports.iter().any(|p| p.name == "clk"))
}

/// The netlist with a suffix on the names of all its modules.
fn renamed(netlist: &Netlist, k: usize) -> Netlist {
    let mut netlist = netlist.clone();
    let name = |n: &str| format!("{n}_u{k}");
    netlist.top = name(&netlist.top);
    for module in netlist.modules.iter_mut().map(Arc::make_mut) {
        module.name = name(&module.name);
        for item in &mut module.items {
            if let Item::Instance { module, .. } = item {
                *module = name(module).into();
            }
        }
    }
    netlist
}

fn places(netlists: &[Netlist]) -> Vec<Instance> {
    let (mut inputs, mut outputs) = (0, 0);
    let place = |netlist: &Netlist| {
        let module = netlist.module(&netlist.top).expect("a verified netlist has its top");
        let width = |dir| module.ports.iter().filter(move |p| p.dir == dir && p.name != "clk").map(|p| p.width);
        let first = (inputs, outputs);
        inputs += width(Dir::In).count();
        outputs += width(Dir::Out).count();
        Instance {
            latency: module.latency,
            inputs: first.0..inputs,
            outputs: first.1..outputs,
            masks: width(Dir::In).map(|w| u64::MAX >> (64 - w)).collect(),
        }
    };
    netlists.iter().map(place).collect()
}
