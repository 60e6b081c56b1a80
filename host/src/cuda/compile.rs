//! Kernels as machine code for a card, compiled once and kept in the cache of simulations.

use super::CudaError;
use super::nvrtc::Nvrtc;
use sim::SimError;
use sim::cache::Cache;

pub use super::nvrtc::VARIABLE;

/// How a text is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arithmetic {
    /// As IEEE has it, but for fused multiply-adds.
    Careful,
    /// f32 without subnormal numbers, and quotients and roots by the card's own approximations.
    Fast,
}

impl Arithmetic {
    fn options(self) -> &'static [&'static str] {
        match self {
            Arithmetic::Careful => &[],
            Arithmetic::Fast => &["--ftz=true", "--prec-div=false", "--prec-sqrt=false"],
        }
    }
}

/// Whether the compiler is there.
pub fn check() -> Result<(), CudaError> {
    Nvrtc::get().map(|_| ())
}

/// The machine code of a text for an architecture such as `sm_90`.
pub fn cubin(text: &str, arch: &str, arithmetic: Arithmetic) -> Result<Vec<u8>, CudaError> {
    let fixed = ["--std=c++17", "--device-int128", "--disable-warnings"];
    let mut options = vec![format!("--gpu-architecture={arch}")];
    options.extend(fixed.iter().chain(arithmetic.options()).map(|o| o.to_string()));
    let compile = || {
        Nvrtc::get()?.cubin(text, &options).map_err(|log| {
            CudaError::Failed(format!("NVRTC cannot compile the kernel for {arch}, which is no fault of yours:\n{log}"))
        })
    };
    let key = format!("cuda cubin\n{}\n{text}", options.join(" "));
    let mut made = None;
    let kept = Cache::standard().entry(&key, |dir| {
        let cubin = compile().map_err(|e| SimError::Unsupported(e.to_string()))?;
        let path = dir.join(FILE);
        std::fs::write(&path, &cubin).map_err(|source| SimError::Io { path, source })?;
        made = Some(cubin);
        Ok(())
    });
    let failed = |e: SimError| CudaError::Failed(e.to_string());
    let dir = kept.map_err(failed)?;
    match made {
        Some(cubin) => Ok(cubin),
        None => std::fs::read(dir.join(FILE)).map_err(|e| CudaError::Failed(format!("{}: {e}", dir.display()))),
    }
}

const FILE: &str = "kernel.cubin";
