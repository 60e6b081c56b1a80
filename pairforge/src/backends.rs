//! All backends that a kernel can run on.

use fmm::shown::shown;
#[cfg(feature = "cuda")]
use gpu::backend as cuda;
use pipelines::job::BackendError;

pub use pipelines::backends::*;

/// The backend that runs an FMM where nobody chooses one.
pub static FMM_DEFAULT: &Entry = &cpu::ENTRY;

/// Every backend; the first is the default for a kernel.
pub static BACKENDS: &[Entry] = &[
    emulator::ENTRY,
    #[cfg(feature = "simulate")]
    cycle::ENTRY,
    cpu::ENTRY,
    #[cfg(feature = "cuda")]
    cuda::NATIVE,
    #[cfg(feature = "cuda")]
    cuda::EXACT,
    #[cfg(not(target_family = "wasm"))]
    board::ENTRY,
];

/// Backends that come with features of this crate.
const BY_FEATURE: [(&str, &str); 3] = [("cycle", "simulate"), ("cuda", "cuda"), ("cuda-exact", "cuda")];

#[cfg(feature = "cuda")]
/// Of a backend on a GPU whether one is there: its name, or why it cannot be used.
pub fn gpu_of(entry: &Entry) -> Option<Result<String, BackendError>> {
    (entry.needs == Needs::Gpu).then(|| gpu::cuda::device::ready().map_err(BackendError::from))
}

/// The backend of a name on the command line, and what stands behind its colon.
pub fn find(text: &str) -> Result<(&'static Entry, &str), BackendError> {
    let (name, place) = text.split_once(':').map_or((text, None), |(name, place)| (name, Some(place)));
    let wrong = |what: String| Err(BackendError::Unsupported(what));
    let Some(entry) = BACKENDS.iter().find(|b| b.name == name) else {
        if let Some((_, feature)) = BY_FEATURE.iter().find(|b| b.0 == name) {
            return wrong(format!(
                "the backend `{name}` is left out of this build; it comes with the feature `{feature}`"
            ));
        }
        let names: Vec<String> = BACKENDS.iter().map(Entry::usage).collect();
        return wrong(format!("there is no backend `{}`; the backends are {}", shown(name), names.join(", ")));
    };
    match (entry.place, place) {
        (Some(_), Some(place)) if !place.is_empty() => Ok((entry, place)),
        (None, None) => Ok((entry, "")),
        (Some(_), _) => wrong(format!("the backend `{name}` needs to know where: {}", entry.usage())),
        (None, Some(_)) => wrong(format!("the backend `{name}` takes nothing behind its name")),
    }
}
