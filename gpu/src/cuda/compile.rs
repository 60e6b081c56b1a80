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

/// The version of the compiler.
pub fn version() -> Result<(u32, u32), CudaError> {
    Nvrtc::get()?.version().map_err(CudaError::Failed)
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

/// The parts that a text is compiled in, beside each other.
const PARTS: usize = 4;

const KERNEL: &str = "extern \"C\" __global__";

/// A text in parts: each has all of it, but some of the kernels as templates, of which nothing is made. Texts of few kernels are one part.
fn parts(text: &str) -> Vec<String> {
    let pieces: Vec<&str> = text.split(KERNEL).collect();
    if pieces.len() <= 2 * PARTS {
        return vec![text.to_string()];
    }
    let part = |part: usize| {
        let head = |k: usize| if k % PARTS == part { KERNEL } else { "template <int> __global__" };
        let kernels = pieces[1..].iter().enumerate();
        kernels.fold(pieces[0].to_string(), |text, (k, piece)| text + head(k) + piece)
    };
    (0..PARTS).map(part).collect()
}

/// The machine code of a text in parts, each with some of the kernels, by `of_part`.
pub fn in_parts(
    text: &str,
    of_part: impl Fn(&str) -> Result<Vec<u8>, CudaError> + Sync,
) -> Result<Vec<Vec<u8>>, CudaError> {
    let (parts, of_part) = (parts(text), &of_part);
    std::thread::scope(|scope| {
        let threads: Vec<_> = parts.iter().map(|part| scope.spawn(move || of_part(part))).collect();
        let ended = threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.collect()
    })
}

/// The machine code of a text, from the cache where it has been compiled before.
pub fn cubin(text: &str, arch: &str, arithmetic: Arithmetic) -> Result<Vec<u8>, CudaError> {
    kept(&Cache::standard(), &key(text, arch, arithmetic)?, || compile(text, arch, arithmetic, Form::Cubin))
}

/// The same, compiled again: the GPU refuses what the cache has.
pub fn cubin_anew(text: &str, arch: &str, arithmetic: Arithmetic) -> Result<Vec<u8>, CudaError> {
    let (cache, key) = (Cache::standard(), key(text, arch, arithmetic)?);
    if let Some(dir) = cache.known(&key) {
        cache.drop_entries(&[cache::seen(&dir)]);
    }
    kept(&cache, &key, || compile(text, arch, arithmetic, Form::Cubin))
}

/// Another version of the compiler makes other code, and a driver may not take that of a newer one.
fn key(text: &str, arch: &str, arithmetic: Arithmetic) -> Result<String, CudaError> {
    let (major, minor) = version()?;
    Ok(format!("cuda cubin\nNVRTC {major}.{minor}\n{}\n{text}", options(arch, arithmetic).join(" ")))
}

/// The code of a key from the cache, where `compile` puts it if it is not there or damaged.
fn kept(cache: &Cache, key: &str, compile: impl Fn() -> Result<Vec<u8>, CudaError>) -> Result<Vec<u8>, CudaError> {
    let (mut made, mut failed) = (None, None);
    let entry = cache.entry(key, |dir| {
        let cubin = match &made {
            // The folder was disturbed.
            Some(cubin) => cubin,
            None => made.insert(compile().map_err(|e| {
                failed = Some(e);
                SimError::Unsupported(String::new())
            })?),
        };
        let path = dir.join(FILE);
        std::fs::write(&path, cubin).map_err(|source| SimError::Io { path, source })
    });
    match (entry, made, failed) {
        (_, _, Some(e)) => Err(e),
        // Where it cannot be kept, compiling it again costs time alone.
        (Ok(_) | Err(SimError::Io { .. }), Some(cubin), _) => Ok(cubin),
        // The same where it is damaged as it is read.
        (Ok(dir), None, _) => cache::file(&dir, FILE).map_or_else(compile, Ok),
        (Err(SimError::Io { .. }), None, _) => compile(),
        (Err(e), ..) => Err(CudaError::Failed(e.to_string())),
    }
}

const FILE: &str = "kernel.cubin";

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs;
    use std::path::{Path, PathBuf};

    /// Does something to the kept code of a key, and asks for it again: whether it was compiled again.
    fn compiles_again(damage: impl Fn(&Path)) -> bool {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("pairforge-cubins-{}-{number}", std::process::id()));
        let (cache, count) = (Cache::at(&home), Cell::new(0));
        let compile = || {
            count.set(count.get() + 1);
            Ok(b"code of a kernel".to_vec())
        };
        let take = |compile: &dyn Fn() -> Result<Vec<u8>, CudaError>| kept(&cache, "a text", compile).expect("code");
        assert_eq!((take(&compile), count.get()), (b"code of a kernel".to_vec(), 1));
        assert_eq!((take(&compile), count.get()), (b"code of a kernel".to_vec(), 1), "it is kept");
        damage(&cache.known("a text").expect("it is there"));
        assert_eq!(take(&compile), b"code of a kernel");
        let found = count.get();
        assert_eq!((take(&compile), count.get()), (b"code of a kernel".to_vec(), found), "it is kept again");
        fs::remove_dir_all(&home).expect("the folder goes");
        found == 2
    }

    #[test]
    fn kept_code_that_is_damaged_is_compiled_again() {
        assert!(!compiles_again(|_| {}));
        let file = |dir: &Path| dir.join(FILE);
        let damages: [&dyn Fn(&Path); 7] = [
            &|dir| fs::write(file(dir), b"").expect("a file"),
            &|dir| fs::write(file(dir), b"code of a kerne").expect("a file"),
            &|dir| fs::write(file(dir), b"code of a kernel!").expect("a file"),
            &|dir| fs::write(file(dir), b"code of a Kernel").expect("a file"),
            &|dir| fs::remove_file(file(dir)).expect("it goes"),
            &|dir| {
                fs::remove_file(file(dir)).expect("it goes");
                fs::create_dir(file(dir)).expect("a folder");
            },
            &|dir| fs::remove_dir_all(dir).expect("it goes"),
        ];
        for (k, damage) in damages.into_iter().enumerate() {
            assert!(compiles_again(damage), "damage {k}");
        }
    }

    #[test]
    fn each_kernel_of_a_text_is_in_one_part() {
        let text: String = (0..9).map(|k| format!("__constant__ int T{k};\n{KERNEL} void k{k}(int) {{}}\n")).collect();
        let parts = parts(&text);
        assert_eq!(parts.len(), PARTS);
        for k in 0..9 {
            let count = |head: &str| parts.iter().filter(|part| part.contains(&format!("{head} void k{k}("))).count();
            assert_eq!([count(KERNEL), count("template <int> __global__")], [1, PARTS - 1]);
            assert!(parts.iter().all(|part| part.contains(&format!("T{k};"))));
        }
        let few = format!("{KERNEL} void one(int) {{}}");
        assert_eq!(super::parts(&few), std::slice::from_ref(&few));
        let ended = in_parts(&text, |part| Ok(vec![part.matches(KERNEL).count() as u8]));
        assert_eq!(ended.expect("code"), [[3], [2], [2], [2]]);
        assert!(in_parts(&few, |_| Err(CudaError::Failed("line 3".into()))).is_err());
    }

    #[test]
    fn code_is_compiled_where_none_can_be_kept_and_a_failure_is_told() {
        let file: PathBuf = std::env::temp_dir().join(format!("pairforge-no-folder-{}", std::process::id()));
        fs::write(&file, "").expect("a file");
        let found = kept(&Cache::at(file.join("cache")), "a text", || Ok(vec![1]));
        fs::remove_file(&file).expect("it goes");
        assert_eq!(found.expect("code"), [1]);
        let failed = kept(&Cache::at(&file), "a text", || Err(CudaError::Failed("line 3".into())));
        assert!(failed.is_err_and(|e| e.to_string() == "line 3"));
        fs::remove_dir_all(&file).expect("the folder goes");
    }
}
