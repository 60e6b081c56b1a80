//! A stand-in for a GPU in tests: the same kernels, compiled by the host's C++ compiler, on the host's memory.

use super::caller::{Caller, CallerStream};
use super::gpu_device::{From, GpuDevice, Mark, Plain, Size, Stream};
use crate::cuda::CudaError;
use crate::cuda::compile::Arithmetic;
use cudarc::driver::DeviceRepr;
use libloading::Library;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Range;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Instant;

const TEXT: &str = include_str!("../../templates/fmm/host.cpp");

/// The kernels of a text. Their fibers are one thread's at a time.
struct Compiled {
    library: Library,
    alone: Mutex<()>,
}

/// Without a compiler there are none.
type Once = Arc<OnceLock<Option<Arc<Compiled>>>>;

/// The kernels by their texts.
static COMPILED: Mutex<Option<HashMap<String, Once>>> = Mutex::new(None);

/// The stand-in for a GPU in tests, and the failures that it is to show.
#[derive(Clone, Copy, Default)]
pub struct HostDevice {
    /// The bytes of its memory, if it is short of memory.
    pub most: Option<u64>,
    /// A kernel that it does not start.
    pub broken: Option<&'static str>,
    /// Whether kernels do not read the memory of other GPUs.
    pub is_far: bool,
    pub sight: Sight,
    /// The record of the kernels that it starts, if one is kept.
    pub launched: Option<&'static Launched>,
}

/// Names of kernels that were started, in their order.
#[derive(Default)]
pub struct Launched(Mutex<Vec<String>>);

impl Launched {
    /// An empty record, for as long as the tests run.
    pub fn keep() -> &'static Launched {
        Box::leak(Box::default())
    }

    /// The names since this was asked for last.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("no panic"))
    }
}

/// The view that GPUs of other processes have of a GPU, and it of them.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Sight {
    #[default]
    Clear,
    /// It shows nothing.
    Hidden,
    /// It opens nothing.
    Blind,
    /// It reads other bytes than there are.
    Wrong,
}

/// Memory that GPUs of several processes share.
type Shared = Mutex<Vec<u8>>;

/// All windows, by their numbers.
static WINDOWS: Mutex<Option<HashMap<u64, Weak<Shared>>>> = Mutex::new(None);

/// The number of the next window or folder.
static NEXT: AtomicU64 = AtomicU64::new(0);

pub struct Window {
    number: u64,
    bytes: Arc<Shared>,
}

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

/// Bytes that the thread has allocated on devices, given back or not.
pub fn allocated() -> u64 {
    ALLOCATED.get()
}

/// Memory of a GPU, as aligned as its kernels want it.
pub struct Memory<T> {
    place: *mut u8,
    layout: Layout,
    count: usize,
    kind: PhantomData<T>,
}

// SAFETY: what is done with it is done by one thread at a time.
unsafe impl<T> Send for Memory<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Memory<T> {}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        // SAFETY: it was allocated so.
        unsafe { dealloc(self.place, self.layout) }
    }
}

pub struct Kernel(Arc<Compiled>, String);

type Start = unsafe extern "C" fn(u32, u32, *const c_void, *const u32);

/// Whether there is a compiler.
pub fn is_there() -> bool {
    let found = ["g++", "c++", "clang++"].iter().any(|name| Command::new(name).arg("--version").output().is_ok());
    if !found {
        assert!(std::env::var_os("REQUIRE_TOOLS").is_none_or(|v| v != "1"), "a C++ compiler not found");
        eprintln!("skipped: a C++ compiler not found");
    }
    found
}

/// The functions that start each kernel of a text: those that are given a problem and some numbers.
fn starts(text: &str) -> String {
    let head = "extern \"C\" __global__";
    let kernels = text.split(head).skip(1).filter_map(|text| text.split_once("(const Problem p"));
    let start = |(before, behind): (&str, &str)| {
        let name = before.split_whitespace().last().expect("a kernel has a name");
        let arguments = behind.split(')').next().expect("a part").matches("uint32_t").count();
        let numbers: String = (0..arguments).map(|k| format!(", numbers[{k}]")).collect();
        format!("START({name}) {{ run(blocks, threads, [&] {{ {name}(*p{numbers}); }}); }}\n")
    };
    kernels.map(start).collect()
}

/// Texts are compiled beside each other, and each of them once.
fn compiled(text: &str) -> Option<Arc<Compiled>> {
    let own = COMPILED.lock().expect("no panic").get_or_insert_default().entry(text.to_string()).or_default().clone();
    own.get_or_init(|| compile(text)).clone()
}

fn compile(text: &str) -> Option<Arc<Compiled>> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("pairforge-gpu-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (source, file) = (folder.join("kernels.cpp"), folder.join("kernels.so"));
    std::fs::write(&source, format!("{TEXT}{text}{}", starts(text))).expect("the text is written");
    let compile = |name: &&str| {
        let mut c = Command::new(name);
        c.args(["-O1", "-w", "-U_FORTIFY_SOURCE", "-ffp-contract=off", "-std=c++17", "-shared", "-fPIC", "-o"])
            .arg(&file)
            .arg(&source)
            .output()
            .ok()
    };
    let output = ["g++", "c++", "clang++"].iter().find_map(compile)?;
    let log: String = String::from_utf8_lossy(&output.stderr).chars().take(3000).collect();
    assert!(output.status.success(), "{log}");
    // SAFETY: the library has no initialisers but those of its vectors.
    let library = unsafe { Library::new(&file) }.expect("it loads");
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    Some(Arc::new(Compiled { library, alone: Mutex::new(()) }))
}

impl GpuDevice for HostDevice {
    type Memory<T: Plain> = Memory<T>;
    type Kernel = Kernel;
    type Event = Instant;
    type Window = Window;
    type View = Arc<Shared>;

    fn kernel(&self, text: &str, name: &'static str, _: Arithmetic) -> Result<Kernel, CudaError> {
        let library = compiled(text).ok_or_else(|| CudaError::Failed("no compiler".into()))?;
        Ok(Kernel(library, format!("start_{name}")))
    }

    fn check_capacity(&self, bytes: u64, _: &str) -> Result<(), CudaError> {
        match self.most {
            Some(most) if bytes > most => Err(CudaError::TooLarge("the GPU is small".into())),
            _ => Ok(()),
        }
    }

    fn allocate<T: Plain>(&self, count: usize) -> Result<Memory<T>, CudaError> {
        let layout = Layout::from_size_align(count.max(1) * size_of::<T>(), 64).expect("a size");
        ALLOCATED.set(ALLOCATED.get() + layout.size() as u64);
        // SAFETY: the size is not 0.
        Ok(Memory { place: unsafe { alloc_zeroed(layout) }, layout, count: count.max(1), kind: PhantomData })
    }

    fn write<T: Plain>(&self, data: &[T], to: &mut Memory<T>, at: usize) -> Result<(), CudaError> {
        assert!(at + data.len() <= to.count || data.is_empty());
        // SAFETY: it lies within the memory.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to.place.cast::<T>().add(at), data.len()) };
        Ok(())
    }

    fn put<T: Plain>(&self, bytes: &[u8], to: &Memory<T>, at: usize) -> Result<(), CudaError> {
        let at = at * size_of::<T>();
        assert!(at + bytes.len() <= to.count * size_of::<T>() || bytes.is_empty());
        // SAFETY: it lies within the memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.place.add(at), bytes.len()) };
        Ok(())
    }

    fn clear<T: Plain>(&self, memory: &mut Memory<T>) -> Result<(), CudaError> {
        // SAFETY: that is its size.
        unsafe { std::ptr::write_bytes(memory.place, 0, memory.layout.size()) };
        Ok(())
    }

    fn read<T: Plain>(&self, from: &Memory<T>, at: usize, to: &mut [T]) -> Result<(), CudaError> {
        assert!(at + to.len() <= from.count || to.is_empty());
        // SAFETY: it lies within the memory.
        unsafe { std::ptr::copy_nonoverlapping(from.place.cast::<T>().add(at), to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    fn read_pieces<T: Plain>(
        &self,
        from: &Memory<T>,
        part: Range<usize>,
        take: &mut dyn FnMut(usize, &[T]),
    ) -> Result<(), CudaError> {
        let mut values = vec![T::default(); part.len()];
        self.read(from, part.start, &mut values)?;
        // Small ones, so that there are several.
        let size = 128 / size_of::<T>();
        values.chunks(size).enumerate().for_each(|(k, piece)| take(k * size, piece));
        Ok(())
    }

    fn place<T: Plain>(&self, memory: &Memory<T>) -> u64 {
        memory.place as u64
    }

    fn take<T: Plain>(&self, to: &Memory<T>, at: usize, from: From<HostDevice, T>) -> Result<(), CudaError> {
        assert!(from.part.end <= from.memory.count && at + from.part.len() <= to.count);
        // SAFETY: both lie within memory.
        unsafe {
            let start = from.memory.place.cast::<T>().add(from.part.start);
            std::ptr::copy_nonoverlapping(start, to.place.cast::<T>().add(at), from.part.len());
        }
        Ok(())
    }

    fn wait(&self, _: &Instant) -> Result<(), CudaError> {
        Ok(())
    }

    fn window(&self, half: usize) -> Result<Window, CudaError> {
        if self.sight == Sight::Hidden {
            return Err(CudaError::Failed("it shows nothing".into()));
        }
        let window =
            Window { number: NEXT.fetch_add(1, Ordering::Relaxed), bytes: Arc::new(Mutex::new(vec![0; 2 * half])) };
        let mut all = WINDOWS.lock().expect("no panic");
        all.get_or_insert_default().insert(window.number, Arc::downgrade(&window.bytes));
        Ok(window)
    }

    fn ipc_handle(window: &Window) -> Vec<u8> {
        window.number.to_le_bytes().to_vec()
    }

    fn view(&self, ipc_handle: &[u8]) -> Result<Arc<Shared>, CudaError> {
        let number = ipc_handle.try_into().map(u64::from_le_bytes).ok().filter(|_| self.sight != Sight::Blind);
        let all = WINDOWS.lock().expect("no panic");
        let found = number.and_then(|number| all.as_ref()?.get(&number)?.upgrade());
        found.ok_or_else(|| CudaError::Failed("it opens nothing".into()))
    }

    fn fill<T: Plain>(
        &self,
        window: &Window,
        at: usize,
        from: &Memory<T>,
        part: Range<usize>,
    ) -> Result<(), CudaError> {
        assert!(part.end <= from.count);
        let (start, size) = (part.start * size_of::<T>(), part.len() * size_of::<T>());
        let room = &mut window.bytes.lock().expect("no panic")[at..at + size];
        // SAFETY: it lies within the memory.
        room.copy_from_slice(unsafe { std::slice::from_raw_parts(from.place.add(start), size) });
        Ok(())
    }

    fn pull<T: Plain>(
        &self,
        view: &Arc<Shared>,
        at: usize,
        to: &Memory<T>,
        part: Range<usize>,
    ) -> Result<(), CudaError> {
        assert!(part.end <= to.count);
        // Communicator may come in between, if they do not wait.
        std::thread::yield_now();
        let (start, size) = (part.start * size_of::<T>(), part.len() * size_of::<T>());
        let mut bytes = view.lock().expect("no panic")[at..at + size].to_vec();
        if self.sight == Sight::Wrong {
            bytes[0] ^= 1;
        }
        // SAFETY: it lies within the memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.place.add(start), size) };
        Ok(())
    }

    fn mark(&self, _: &Window, _: Mark) -> Result<(), CudaError> {
        Ok(())
    }

    fn wait_for(&self, _: &Arc<Shared>, _: Mark) -> Result<(), CudaError> {
        Ok(())
    }

    fn reads(&self, _: &HostDevice) -> Result<bool, CudaError> {
        Ok(!self.is_far)
    }

    fn shared_memory(&self) -> Result<usize, CudaError> {
        Ok(227 << 10)
    }

    fn share(&self, _: &mut Kernel, _: usize) -> Result<(), CudaError> {
        Ok(())
    }

    fn want_shared(&self, _: &Kernel) -> Result<(), CudaError> {
        Ok(())
    }

    fn launch<P: DeviceRepr>(
        &self,
        _: Stream,
        kernel: &Kernel,
        size: Size,
        problem: &P,
        numbers: &[u32],
    ) -> Result<(), CudaError> {
        assert!(size.blocks > 0 && size.threads > 0, "a GPU refuses {size:?}");
        if let Some(launched) = self.launched {
            launched.0.lock().expect("no panic").push(kernel.1.trim_start_matches("start_").to_string());
        }
        if self.broken.is_some_and(|name| kernel.1 == format!("start_{name}")) {
            return Err(CudaError::Failed("the GPU is broken".into()));
        }
        let _alone = kernel.0.alone.lock();
        // SAFETY: the library has a function of that type for each kernel, whose places are those of memory here.
        unsafe {
            let start = kernel.0.library.get::<Start>(kernel.1.as_bytes()).expect("it is there");
            start(size.blocks, size.threads, (&raw const *problem).cast(), numbers.as_ptr());
        }
        Ok(())
    }

    fn fork(&self) -> Result<(), CudaError> {
        Ok(())
    }

    fn join(&self) -> Result<(), CudaError> {
        Ok(())
    }

    fn finish(&self) -> Result<(), CudaError> {
        Ok(())
    }

    fn event(&self) -> Result<Instant, CudaError> {
        Ok(Instant::now())
    }

    fn seconds(first: &Instant, second: &Instant) -> Result<f64, CudaError> {
        Ok((*second - *first).as_secs_f64())
    }
}

impl Caller for HostDevice {
    fn number(&self) -> usize {
        0
    }

    fn lacks(&self, _: u64, _: u64) -> Option<String> {
        None
    }

    fn follow(&self, _: CallerStream) -> Result<(), CudaError> {
        Ok(())
    }

    fn lead(&self, _: CallerStream) -> Result<(), CudaError> {
        Ok(())
    }
}
