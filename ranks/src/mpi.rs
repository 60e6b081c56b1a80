//! Ranks as processes of MPI: Open MPI's library, found at run time, and the few functions of it that are used.
//!
//! The crate `mpi` would make MPI a matter of the build: another feature set, with libclang and the headers of one
//! installation. Loaded at run time, as CUDA is, the same program runs with MPI and without it.

use super::RankError;
use super::comm::{Comm, Tag, Traffic};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The environment variable that names the library's file.
pub const VARIABLE: &str = "PAIRFORGE_MPI";

const NAMES: [&str; 2] = ["libmpi.so.40", "libmpi.so"];

/// How to get it.
const REMEDY: &str =
    "install Open MPI (on Debian the package openmpi-bin), or set PAIRFORGE_MPI to its file libmpi.so.40";

/// Longer messages are cut into pieces of so many bytes: counts are of 31 bits. The last piece is shorter.
const PIECE: usize = 1 << 30;

/// A rank that rests looks for its message as often.
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// MPI_ANY_SOURCE and MPI_ANY_TAG.
const ANY: c_int = -1;

/// MPI_THREAD_FUNNELED: the thread that begins is the one that calls.
const FUNNELED: c_int = 1;

/// A communicator, a type of data or a request of Open MPI: a pointer.
type Handle = *mut c_void;

/// Memory for a status, whatever its layout.
type Status = [u64; 8];

/// The functions, with the signatures of mpi.h.
struct Functions {
    rank: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
    size: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
    isend: unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int,
    test: unsafe extern "C" fn(*mut Handle, *mut c_int, *mut Status) -> c_int,
    probe: unsafe extern "C" fn(c_int, c_int, Handle, *mut Status) -> c_int,
    get_count: unsafe extern "C" fn(*const Status, Handle, *mut c_int) -> c_int,
    recv: unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Status) -> c_int,
    iprobe: unsafe extern "C" fn(c_int, c_int, Handle, *mut c_int, *mut Status) -> c_int,
    ibarrier: unsafe extern "C" fn(Handle, *mut Handle) -> c_int,
    all_to_all: AllToAll,
    abort: unsafe extern "C" fn(Handle, c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
}

type AllToAll = unsafe extern "C" fn(*const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle) -> c_int;

/// A message on its way, whose bytes must stay where they are.
struct Sent {
    request: Handle,
    /// All of the message, of which it may be a piece.
    _bytes: Arc<Vec<u8>>,
}

/// This process as a rank of MPI, until it is dropped.
pub struct Mpi {
    functions: Functions,
    world: Handle,
    byte: Handle,
    rank: usize,
    size: usize,
    sent: Mutex<Vec<Sent>>,
    messages: AtomicU64,
    bytes: AtomicU64,
    /// Whether all goes well, so that the end can wait for the others.
    is_sound: std::sync::atomic::AtomicBool,
    _library: Library,
}

// SAFETY: handles are pointers to what the library owns. Only the thread that began calls it, as `Comm` says.
unsafe impl Sync for Mpi {}

/// How many processes a launcher has started, where one did so: 0 if it does not say.
pub fn launched() -> Option<usize> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    number("OMPI_COMM_WORLD_SIZE").or_else(|| number("PMIX_RANK").map(|_: usize| 0))
}

/// The number of this process among those that a launcher has started, where one did so and says it.
pub fn number() -> Option<usize> {
    ["OMPI_COMM_WORLD_RANK", "PMIX_RANK"].iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// The cores for each of the ranks that the launcher has started on this machine, if it has not shared them out: then each rank may run on
/// all, and with as many threads each they would wait for each other.
pub fn cores() -> Option<usize> {
    let ranks = std::env::var("OMPI_COMM_WORLD_LOCAL_SIZE").ok()?.parse().ok()?;
    let own = std::thread::available_parallelism().ok()?.get();
    let there = std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    shared(own, ranks, count(&there)?)
}

/// The cores of one of so many ranks, which may run on `own` of those that are there, if these are too few for all.
fn shared(own: usize, ranks: usize, there: usize) -> Option<usize> {
    (own.saturating_mul(ranks) > there && ranks > 0).then(|| (there / ranks).clamp(1, own.max(1)))
}

/// How many cores a list of Linux names, such as `0-3,8`.
fn count(list: &str) -> Option<usize> {
    let one = |part: &str| -> Option<usize> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let [first, last]: [usize; 2] = [first.parse().ok()?, last.parse().ok()?];
        (last + 1).checked_sub(first)
    };
    list.trim().split(',').map(one).sum()
}

/// The library, loaded.
fn loaded() -> Result<Library, RankError> {
    let named = std::env::var_os(VARIABLE).filter(|file| !file.is_empty());
    // SAFETY: the initialisers are Open MPI's, or of what the user names. Its parts look for its names themselves.
    let open = |name: &std::ffi::OsStr| unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) };
    let library = match &named {
        Some(file) => open(file).map_err(|e| format!("{VARIABLE}={}: {e}", file.to_string_lossy())),
        None => NAMES.iter().find_map(|name| open(name.as_ref()).ok()).ok_or_else(|| "it was not found".into()),
    };
    library.map_err(|e| RankError::Lost(format!("MPI cannot be loaded: {e}; {REMEDY}")))
}

/// The library's own words on its version, without beginning MPI.
pub fn version() -> Result<String, RankError> {
    /// MPI_MAX_LIBRARY_VERSION_STRING.
    const LONGEST: usize = 256;
    let library = loaded()?;
    let mut text = [0u8; LONGEST + 1];
    let mut length = 0;
    // SAFETY: names and signature are those of Open MPI's mpi.h, by which the function may be called before MPI begins.
    unsafe {
        data(&library, b"ompi_mpi_comm_world\0")?;
        type Version = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
        let version: Version = *function(&library, b"MPI_Get_library_version\0")?;
        check(version(text.as_mut_ptr().cast(), &mut length))?;
    }
    // Parts that it has loaded may have begun threads.
    std::mem::forget(library);
    let said = &text[..(length.max(0) as usize).min(LONGEST)];
    Ok(String::from_utf8_lossy(said).trim_end_matches('\0').trim().to_string())
}

impl Mpi {
    /// Begins MPI.
    pub fn begin() -> Result<Mpi, RankError> {
        let library = loaded()?;
        // SAFETY: names and signatures are those of Open MPI's mpi.h; all pointers live through the calls.
        unsafe {
            let world: Handle = data(&library, b"ompi_mpi_comm_world\0")?;
            let byte: Handle = data(&library, b"ompi_mpi_byte\0")?;
            let functions = Functions {
                rank: *function(&library, b"MPI_Comm_rank\0")?,
                size: *function(&library, b"MPI_Comm_size\0")?,
                isend: *function(&library, b"MPI_Isend\0")?,
                test: *function(&library, b"MPI_Test\0")?,
                probe: *function(&library, b"MPI_Probe\0")?,
                get_count: *function(&library, b"MPI_Get_count\0")?,
                recv: *function(&library, b"MPI_Recv\0")?,
                iprobe: *function(&library, b"MPI_Iprobe\0")?,
                ibarrier: *function(&library, b"MPI_Ibarrier\0")?,
                all_to_all: *function(&library, b"MPI_Alltoall\0")?,
                abort: *function(&library, b"MPI_Abort\0")?,
                finalize: *function(&library, b"MPI_Finalize\0")?,
            };
            type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int;
            let init: Init = *function(&library, b"MPI_Init_thread\0")?;
            let mut given = 0;
            check(init(null_mut(), null_mut(), FUNNELED, &mut given))?;
            let (mut rank, mut size) = (0, 0);
            check((functions.rank)(world, &mut rank))?;
            check((functions.size)(world, &mut size))?;
            Ok(Mpi {
                functions,
                world,
                byte,
                rank: rank as usize,
                size: size as usize,
                sent: Mutex::default(),
                messages: AtomicU64::new(0),
                bytes: AtomicU64::new(0),
                is_sound: true.into(),
                _library: library,
            })
        }
    }

    /// Ends all ranks at once, with an exit status.
    pub fn abort_with(&self, code: u8) {
        self.is_sound.store(false, Ordering::Relaxed);
        // SAFETY: as for `begin`.
        unsafe { (self.functions.abort)(self.world, code as c_int) };
    }

    /// Lets go of messages that have arrived; whether all have.
    fn settle(&self) -> bool {
        let mut sent = self.sent.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        sent.retain_mut(|one| {
            let (mut status, mut is_done) = (Status::default(), 0);
            // SAFETY: the request is of a message whose bytes are kept beside it.
            unsafe { (self.functions.test)(&mut one.request, &mut is_done, &mut status) == 0 && is_done == 0 }
        });
        sent.is_empty()
    }

    /// Waits until all ranks have come here and all messages have arrived. Where ranks have agreed to end early, some messages are
    /// wanted by nobody; a long one only leaves its sender when somebody takes it.
    fn drain(&self) -> Result<(), RankError> {
        let mut barrier: Option<Handle> = None;
        let mut is_over = 0;
        while is_over == 0 {
            let (mut status, mut is_there) = (Status::default(), 0);
            // SAFETY: all pointers live through the calls. The status of Open MPI begins with the source and the tag.
            unsafe {
                check((self.functions.iprobe)(ANY, ANY, self.world, &mut is_there, &mut status))?;
                if is_there != 0 {
                    let [source, tag] = *status.as_ptr().cast::<[c_int; 2]>();
                    self.receive_piece(source, tag, &mut Vec::new())?;
                }
                match &mut barrier {
                    Some(request) => check((self.functions.test)(request, &mut is_over, &mut status))?,
                    None if self.settle() => {
                        let mut request = null_mut();
                        check((self.functions.ibarrier)(self.world, &mut request))?;
                        barrier = Some(request);
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    fn receive_piece(&self, from: c_int, tag: c_int, to: &mut Vec<u8>) -> Result<usize, RankError> {
        let (mut status, mut count) = (Status::default(), 0);
        // SAFETY: the status is larger than the library's, and the vector as much as the message was found to have.
        unsafe {
            check((self.functions.probe)(from, tag, self.world, &mut status))?;
            check((self.functions.get_count)(&status, self.byte, &mut count))?;
            let first = to.len();
            to.reserve(count as usize);
            let place = to.spare_capacity_mut().as_mut_ptr().cast();
            check((self.functions.recv)(place, count, self.byte, from, tag, self.world, &mut status))?;
            to.set_len(first + count as usize);
        }
        Ok(count as usize)
    }
}

fn check(code: c_int) -> Result<(), RankError> {
    match code {
        0 => Ok(()),
        code => Err(RankError::Lost(format!("MPI failed with its error {code}"))),
    }
}

/// # Safety
/// The type must be that of the function.
unsafe fn function<T>(library: &Library, name: &[u8]) -> Result<libloading::os::unix::Symbol<T>, RankError> {
    // SAFETY: as for this function.
    unsafe { library.get(name) }.map_err(|_| foreign())
}

/// The address of data.
///
/// # Safety
/// The name must be one of data.
unsafe fn data(library: &Library, name: &[u8]) -> Result<Handle, RankError> {
    // SAFETY: an address is taken, and nothing is read.
    unsafe { library.get::<*mut c_void>(name) }.map(|symbol| symbol.into_raw()).map_err(|_| foreign())
}

fn foreign() -> RankError {
    RankError::Lost(format!("the MPI library that was found is not Open MPI; {REMEDY}"))
}

impl Comm for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>) -> Result<(), RankError> {
        self.settle();
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let bytes = Arc::new(bytes);
        let post = |piece: &[u8]| {
            let mut request = null_mut();
            let (place, count) = (piece.as_ptr().cast(), piece.len() as c_int);
            // SAFETY: the bytes are kept until the request is done.
            check(unsafe {
                (self.functions.isend)(place, count, self.byte, to as c_int, tag as c_int, self.world, &mut request)
            })?;
            let sent = Sent { request, _bytes: bytes.clone() };
            self.sent.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(sent);
            Ok(())
        };
        bytes.chunks(PIECE).try_for_each(&post)?;
        if bytes.len().is_multiple_of(PIECE) { post(&[]) } else { Ok(()) }
    }

    fn receive(&self, from: usize, tag: Tag) -> Result<Vec<u8>, RankError> {
        let mut bytes = Vec::new();
        while self.receive_piece(from as c_int, tag as c_int, &mut bytes)? == PIECE {}
        Ok(bytes)
    }

    fn rest(&self, from: usize, tag: Tag) -> Result<(), RankError> {
        // A receive of MPI looks for its message all the time.
        let mut pause = Duration::from_micros(50);
        loop {
            let (mut status, mut is_there) = (Status::default(), 0);
            // SAFETY: all pointers live through the call.
            check(unsafe {
                (self.functions.iprobe)(from as c_int, tag as c_int, self.world, &mut is_there, &mut status)
            })?;
            if is_there != 0 {
                return Ok(());
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    fn counts(&self, to: &[u64]) -> Result<Vec<u64>, RankError> {
        let mut from = vec![0u64; self.size];
        let (out, into) = (to.as_ptr().cast(), from.as_mut_ptr().cast());
        assert_eq!(to.len(), self.size, "a number for each rank");
        // SAFETY: both have eight bytes for each rank.
        check(unsafe { (self.functions.all_to_all)(out, 8, self.byte, into, 8, self.byte, self.world) })?;
        Ok(from)
    }

    fn abort(&self, _: &str) {
        self.abort_with(3);
    }

    fn traffic(&self) -> Traffic {
        let number = |x: &AtomicU64| x.load(Ordering::Relaxed);
        Traffic { messages: number(&self.messages), bytes: number(&self.bytes) }
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.abort_with(3);
        }
        if self.is_sound.load(Ordering::Relaxed) {
            match self.drain() {
                Ok(()) => {
                    // SAFETY: it was begun once, and all requests are done.
                    unsafe { (self.functions.finalize)() };
                }
                Err(_) => self.abort_with(3),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_the_cores_that_a_launcher_has_not_shared_out() {
        assert_eq!(shared(64, 4, 64), Some(16));
        assert_eq!(shared(16, 4, 64), None);
        assert_eq!((shared(1, 2, 64), shared(2, 3, 2), shared(64, 1, 64)), (None, Some(1), None));
        assert_eq!((count("0-63\n"), count("0-3,8"), count("0"), count("")), (Some(64), Some(5), Some(1), None));
    }
}
