//! Kernels as machine code for a GPU, compiled once and kept in the cache of simulations.

use super::CudaError;
use super::nvrtc::Nvrtc;
use sim::SimError;
use sim::cache::{self, Cache};

pub use super::nvrtc::{Form, VARIABLE};

/// How a text is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arithmetic {
    /// As IEEE has it, but for fused multiply-adds.
    Careful,
    /// As IEEE has it: each result is that of the CPU.
    Exact,
    /// f32 without subnormal numbers, and quotients and roots by the GPU's own approximations.
    Fast,
}

impl Arithmetic {
    fn options(self) -> &'static [&'static str] {
        match self {
            Arithmetic::Careful => &[],
            Arithmetic::Exact => &["--fmad=false"],
            Arithmetic::Fast => &["--ftz=true", "--prec-div=false", "--prec-sqrt=false"],
        }
    }
}

/// Whether the compiler is there.
pub fn check() -> Result<(), CudaError> {
    Nvrtc::get().map(|_| ())
}

/// A text compiled for an architecture such as `sm_90`.
pub fn compile(text: &str, arch: &str, arithmetic: Arithmetic, form: Form) -> Result<Vec<u8>, CudaError> {
    let failed = |log| {
        CudaError::Failed(format!("NVRTC cannot compile the kernel for {arch}, which is no fault of yours:\n{log}"))
    };
    Nvrtc::get()?.compile(text, &options(arch, arithmetic), form).map_err(failed)
}

fn options(arch: &str, arithmetic: Arithmetic) -> Vec<String> {
    let fixed = ["--std=c++17", "--device-int128", "--disable-warnings"];
    let given = fixed.iter().chain(arithmetic.options()).map(|o| o.to_string());
    std::iter::once(format!("--gpu-architecture={arch}")).chain(given).collect()
}

/// The machine code of a text, from the cache where it has been compiled before.
pub fn cubin(text: &str, arch: &str, arithmetic: Arithmetic) -> Result<Vec<u8>, CudaError> {
    let key = format!("cuda cubin\n{}\n{text}", options(arch, arithmetic).join(" "));
    let mut made = None;
    let kept = Cache::standard().entry(&key, |dir| {
        let cubin = compile(text, arch, arithmetic, Form::Cubin).map_err(|e| SimError::Unsupported(e.to_string()))?;
        let path = dir.join(FILE);
        std::fs::write(&path, &cubin).map_err(|source| SimError::Io { path, source })?;
        made = Some(cubin);
        Ok(())
    });
    let dir = kept.map_err(|e| CudaError::Failed(e.to_string()))?;
    match made {
        Some(cubin) => Ok(cubin),
        // Where it is damaged as it is read, compiling it costs time alone.
        None => cache::file(&dir, FILE).map_or_else(|| compile(text, arch, arithmetic, Form::Cubin), Ok),
    }
}

const FILE: &str = "kernel.cubin";
