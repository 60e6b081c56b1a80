//! The kernel of a call: its text, compiled as a file of that name, which includes shipped kernels at most.

use hdl::circuit::target::{Clock, TARGETS, target};
use pg2::graph::Graph;
use pg2::kernels::included;
use pg2::syntax::sources::{Loaded, Sources};
use serde::Deserialize;

/// Bytes of the longest text that is compiled.
pub const LONGEST: usize = 1 << 20;

/// A text with its name, without an ending.
#[derive(Deserialize)]
pub struct Kernel {
    name: String,
    text: String,
}

/// A kernel that compiles.
pub struct Compiled {
    pub graph: Graph,
    pub sources: Sources,
    /// The name of its file.
    pub origin: String,
}

impl Kernel {
    pub fn compiled(self) -> Result<Compiled, String> {
        if self.text.len() > LONGEST {
            return Err(format!("a kernel has at most {LONGEST} bytes here, not {}", self.text.len()));
        }
        let name = pg2::identifier(&self.name);
        let origin = format!("{name}.pg2");
        let own = Loaded { key: format!("/{origin}"), origin: origin.clone(), text: self.text };
        let find = |path: &str| included(path).ok_or("here a kernel includes shipped kernels alone".into());
        let sources = Sources::gather(own, &mut |_, path| find(path));
        match pg2::compile_sources(&name, &sources) {
            Ok(compiled) => Ok(Compiled { graph: compiled.graph, sources, origin }),
            Err(all) => Err(match all.len() {
                1 => "the kernel has a mistake, which the problems show".into(),
                n => format!("the kernel has {n} mistakes, which the problems show"),
            }),
        }
    }
}

/// The target and clock that pipelines are made for.
#[derive(Deserialize)]
#[serde(default)]
pub struct For {
    target: String,
    mhz: Option<f64>,
    /// Multiplier blocks that a pipeline may use.
    dsp: Option<u32>,
}

impl Default for For {
    fn default() -> For {
        For { target: Clock::default_clock().target.name.into(), mhz: None, dsp: None }
    }
}

impl For {
    pub fn clock(&self) -> Result<Clock, String> {
        let known = || TARGETS.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
        let target = target(&self.target).ok_or_else(|| {
            format!("there is no target `{}`; the targets are {}", fmm::shown::shown(&self.target), known())
        })?;
        let mhz = self.mhz.unwrap_or(target.usual_mhz);
        if !(1.0..=1000.0).contains(&mhz) {
            return Err(format!("a clock has 1 to 1000 MHz, not {mhz:?}"));
        }
        let clock = Clock { target, mhz, blocks: self.dsp };
        clock.verify()?;
        Ok(clock)
    }
}
