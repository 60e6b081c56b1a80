//! The kernel of a call: its text, compiled as a file of that name, which includes shipped kernels at most.

use pg2::diag::Diagnostic;
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
    pub text: String,
}

/// A kernel that compiles.
#[cfg_attr(not(feature = "compiler"), expect(dead_code, reason = "an FMM needs the graph alone"))]
pub struct Compiled {
    pub graph: Graph,
    pub sources: Sources,
    /// The name of its file.
    pub origin: String,
}

impl Kernel {
    /// The name of its file, without an ending.
    #[cfg(feature = "fmm")]
    pub fn name(&self) -> String {
        pg2::identifier(&self.name)
    }

    /// The kernel, or how many mistakes it has, which the page shows.
    pub fn compiled(&self) -> Result<Compiled, String> {
        self.tried(&self.text)?.map_err(|all| match all.len() {
            1 => "the kernel has a mistake, which the problems show".into(),
            n => format!("the kernel has {n} mistakes, which the problems show"),
        })
    }

    /// The kernel with another text, or what is wrong with that.
    pub fn tried(&self, text: &str) -> Result<Result<Compiled, Vec<Diagnostic>>, String> {
        if text.len() > LONGEST {
            return Err(format!("a kernel has at most {LONGEST} bytes here, not {}", text.len()));
        }
        let name = pg2::identifier(&self.name);
        let origin = format!("{name}.pg2");
        let own = Loaded { key: format!("/{origin}"), origin: origin.clone(), text: text.to_string() };
        let find = |path: &str| included(path).ok_or("here a kernel includes shipped kernels alone".into());
        let sources = Sources::gather(own, &mut |_, path| find(path));
        let compiled = pg2::compile_sources(&name, &sources);
        Ok(compiled.map(|compiled| Compiled { graph: compiled.graph, sources, origin }))
    }
}
