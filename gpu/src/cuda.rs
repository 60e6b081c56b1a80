//! CUDA GPUs: finding the GPU, compiling for it, and running jobs and P2P on it.
//!
//! Both libraries, the driver and NVRTC, are looked for at run time, so that nothing of CUDA is needed to build this. Texts come
//! from [`pg2::backend::cuda`]; what was compiled is [kept](compile::cubin) as simulations are.

pub mod caller;
pub mod ceiling;
pub mod columns;
pub mod compile;
pub mod conserved;
pub mod device;
pub mod driver;
pub mod gpu_device;
mod nvrtc;
pub mod octree;
#[cfg(any(test, feature = "on-host"))]
pub mod on_host;
pub mod p2p;
pub mod pairs;
pub mod plane;
mod staging;
pub mod window;

use pipelines::job::BackendError;

/// Why something cannot be done on a GPU; the text names what is missing or failed, and a remedy.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CudaError {
    /// The driver, the GPU or the compiler is missing or failed.
    #[error("{0}")]
    Failed(String),
    /// The problem does not fit the GPU.
    #[error("{0}")]
    TooLarge(String),
    /// Memory of a caller's cannot be used.
    #[error("{0}")]
    Refused(String),
}

impl From<CudaError> for BackendError {
    fn from(e: CudaError) -> BackendError {
        match e {
            CudaError::Failed(text) => BackendError::Tool(text),
            CudaError::TooLarge(text) | CudaError::Refused(text) => BackendError::Unsupported(text),
        }
    }
}
