//! Models and a clock loop as a loaded library, which nothing that happens to the cache afterwards can change.

use super::binary::BinaryType;
use super::tools::{self, Tools};
use super::{Compilation, Model, Source, compile_all, model, runtime};
use crate::SimError;
use crate::cache::{self, Cache};
use askama::Template;
use libloading::Library;
use std::fs;
use std::path::{Path, PathBuf};

/// A clock loop in C++ around models.
pub(crate) trait ClockLoop: Template {
    /// The functions that it exports.
    const EXPORTS: &'static [&'static str];
}

/// One top with a clock loop as a loaded library.
pub(crate) fn load<T: ClockLoop>(source: &Source, driver: &T, cache: &Cache) -> Result<Library, SimError> {
    let tools = Tools::find()?;
    let model = model(&tools, cache, source)?;
    let text = driver.render().expect("the template renders into memory");
    library(&tools, cache, &[model], &text, T::EXPORTS)
}

/// Name of the library in its entry.
const FILE: &str = "model.so";

/// Links models and a driver (C++ that includes their headers and exports these `extern "C"` functions), or finds
/// the result in the cache, and loads it. Only what loads comes into the cache. Where that fails, or what is there does not
/// load, everything that it was made from is dropped and made again, once.
pub fn library(
    tools: &Tools,
    cache: &Cache,
    models: &[Model],
    driver: &str,
    exports: &[&str],
) -> Result<Library, SimError> {
    let trace = models.iter().any(|m| m.source.trace);
    let linking = Linking { tools, cache, models, driver, exports, trace };
    let mut used = Vec::new();
    match linking.load(&mut used) {
        Err(e @ SimError::ToolMissing { .. }) => Err(e),
        Err(_) => {
            cache.drop_entries(&used);
            linking.load(&mut used)
        }
        loaded => loaded,
    }
}

/// Parts of a library.
struct Linking<'a> {
    tools: &'a Tools,
    cache: &'a Cache,
    models: &'a [Model],
    driver: &'a str,
    exports: &'a [&'a str],
    trace: bool,
}

impl Linking<'_> {
    /// The library as it is in the cache, or made now. `used` are the entries that it is made from, and its own.
    fn load(&self, used: &mut Vec<cache::Seen>) -> Result<Library, SimError> {
        let models = self.models.iter().map(|m| m.dir.clone());
        let parts: Vec<PathBuf> = models.chain([runtime(self.tools, self.cache, self.trace)?]).collect();
        *used = parts.iter().map(|dir| cache::seen(dir)).collect();
        let mut made = None;
        let dir = self.cache.entry(&self.key(&parts), |dir| {
            self.link(dir)?;
            made = Some(self.open(&dir.join(FILE), fs::read(dir.join(FILE)).ok())?);
            Ok(())
        })?;
        if let Some(library) = made {
            return Ok(library);
        }
        used.push(cache::seen(&dir));
        self.open(&dir.join(FILE), cache::file(&dir, FILE))
    }

    fn key(&self, parts: &[PathBuf]) -> String {
        let name = |d: &PathBuf| d.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        let (runtime, models) = parts.split_last().expect("the run-time is a part");
        let models: Vec<String> = models.iter().map(name).collect();
        format!("library\n{}\n{}\n{}\n{}", self.tools.key(), name(runtime), models.join("\n"), self.driver)
    }

    /// Makes the library in `dir`.
    fn link(&self, dir: &Path) -> Result<(), SimError> {
        let text = dir.join("driver.cpp");
        fs::write(&text, self.driver).map_err(SimError::io(&text))?;
        // What happens to the parts in the cache does not reach these.
        let copies = tempfile::tempdir_in(dir).map_err(SimError::io(dir))?;
        let parts = self.copies(copies.path())?;
        let level = self.models.iter().map(|m| m.source.effort).max().unwrap_or_default().level();
        let driver = Compilation { text, object: dir.join("driver.o"), folders: parts.clone(), level };
        compile_all(self.tools, self.cache, self.trace, "driver", &[driver])?;
        let mut command = self.tools.linker();
        command.args(["-shared", "-Wl,-Bsymbolic", "-pthread"]);
        if cfg!(target_os = "linux") {
            // What is missing is an error here, not when it is called.
            command.arg("-Wl,-z,defs");
        }
        command.arg("-o").arg(dir.join(FILE)).arg(dir.join("driver.o"));
        for part in &parts {
            command.args(objects(part)?);
        }
        command.arg("-latomic");
        if self.trace {
            command.arg("-lz");
        }
        tools::finish(command, self.cache, "link")?;
        self.tools.check(&dir.join(FILE), BinaryType::Library)
    }

    /// Copies the parts into folders of their own in `to`; one that is damaged is made again first.
    fn copies(&self, to: &Path) -> Result<Vec<PathBuf>, SimError> {
        let mut folders = Vec::new();
        let remakes = self.models.iter().map(Some).chain([None]);
        for (k, of) in remakes.enumerate() {
            let folder = to.join(k.to_string());
            fs::create_dir(&folder).map_err(SimError::io(&folder))?;
            let whole = |again: bool| {
                let dir = match of {
                    Some(m) if again => model(self.tools, self.cache, &m.source)?.dir,
                    Some(m) => m.dir.clone(),
                    None => runtime(self.tools, self.cache, self.trace)?,
                };
                cache::copy(&dir, &folder)
            };
            if !whole(false)? && !whole(true)? {
                let reason = "its files change while they are read; run the command again".into();
                return Err(SimError::Cache { reason });
            }
            folders.push(folder);
        }
        Ok(folders)
    }

    /// Loads these bytes of the library at `path`, with all that it calls.
    fn open(&self, path: &Path, bytes: Option<Vec<u8>>) -> Result<Library, SimError> {
        let failed = |reason: String| SimError::Load { path: path.into(), reason };
        let bytes = bytes.ok_or_else(|| failed("changed while it was read; run the command again".into()))?;
        BinaryType::Library.check(&bytes).map_err(|e| failed(e.into()))?;
        let library = open_bytes(path, &bytes).map_err(|e| failed(e.to_string()))?;
        for name in self.exports {
            // SAFETY: the address is not used.
            let found = unsafe { library.get::<*const ()>(name.as_bytes()) };
            found.map_err(|_| failed(format!("has no function {name}")))?;
        }
        Ok(library)
    }
}

fn objects(dir: &Path) -> Result<Vec<PathBuf>, SimError> {
    let mut list = Vec::new();
    for file in fs::read_dir(dir).map_err(SimError::io(dir))? {
        let path = file.map_err(SimError::io(dir))?.path();
        if path.extension().is_some_and(|e| e == "o") {
            list.push(path);
        }
    }
    list.sort();
    Ok(list)
}

/// Loads a library from bytes in memory, where the system can, so that nobody can cut the file under the program that runs
/// from it; else from the file.
fn open_bytes(path: &Path, bytes: &[u8]) -> Result<Library, libloading::Error> {
    #[cfg(target_os = "linux")]
    if let Some(library) = in_memory(bytes) {
        return Ok(library);
    }
    let _ = bytes;
    open(path)
}

#[cfg(target_os = "linux")]
fn in_memory(bytes: &[u8]) -> Option<Library> {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{AtomicU32, Ordering};
    static LOADED: AtomicU32 = AtomicU32::new(0);
    let file = rustix::fs::memfd_create("pairforge-model", rustix::fs::MemfdFlags::CLOEXEC).ok()?;
    let mut file = fs::File::from(file);
    file.write_all(bytes).ok()?;
    // The loader takes a library of a name that it knows for the one that it has, and descriptors are used again: so each
    // file gets a path of its own, by slashes and dots that count.
    let count = LOADED.fetch_add(1, Ordering::Relaxed);
    let digits: String = (0..32).map(|k| if count >> k & 1 == 1 { "./" } else { "/" }).collect();
    open(Path::new(&format!("/proc/self/fd/{digits}{}", file.as_raw_fd()))).ok()
}

/// Loads a library with all symbols that it needs.
fn open(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: the library was built from Verilator's output and our driver, whose initialisers only register the run-time's
    // own statics, and it is whole.
    unsafe {
        #[cfg(unix)]
        {
            use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
            Library::open(Some(path), RTLD_NOW | RTLD_LOCAL).map(Into::into)
        }
        #[cfg(not(unix))]
        Library::new(path)
    }
}

/// Looks a function up.
///
/// # Safety
/// `F` must be the function's type in the driver, and `library` must outlive the copy.
pub(crate) unsafe fn symbol<F: Copy>(library: &Library, name: &str) -> F {
    // SAFETY: passed on to the caller.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    *found.expect("the functions of a driver were looked up when it was loaded")
}
