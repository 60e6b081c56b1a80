//! Memory of a GPU that GPUs of other processes of the machine read directly: CUDA's interprocess handles, and within one process the
//! places themselves.
//!
//! A window has two halves. Its GPU fills one and marks it, others wait for that mark on their GPUs, copy, and mark what they have taken:
//! no host waits for a GPU. Who calls when is the matter of `octree::links`.

use super::CudaError;
use super::device::{Device, failed};
use super::gpu_device::Mark;
use cudarc::driver::sys::{self, CUevent, CUevent_flags, CUipcEventHandle, CUipcMem_flags, CUipcMemHandle, CUresult};
use cudarc::driver::{CudaContext, DriverError, result};
use std::ffi::c_char;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, OnceLock};

/// Whether a GPU's memory may be shared with other processes; `0` says no.
pub const VARIABLE: &str = "PAIRFORGE_CUDA_IPC";

/// How much more memory must be free than a window takes.
const AMPLE: u64 = 16;

const FAILED: &str = "the GPU failed";
const REFUSED: &str = "the GPU's memory cannot be shown to other processes";

/// Numbers that no other process has, on whatever machine.
fn process() -> [u64; 2] {
    static OWN: OnceLock<[u64; 2]> = OnceLock::new();
    // What hashes begin with are random numbers of the system.
    *OWN.get_or_init(|| [0, 1].map(|_| RandomState::new().build_hasher().finish()))
}

/// The identity of this machine since its start; other processes with the same one can open this one's windows.
fn machine() -> Vec<u8> {
    std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// The message by which others open a window.
struct Told {
    process: [u64; 2],
    /// Places of this process: the memory, and its events.
    places: [u64; 1 + Mark::COUNT],
    /// The number of the GPU, and the window's bytes.
    device: u64,
    bytes: u64,
    memory: CUipcMemHandle,
    events: [CUipcEventHandle; Mark::COUNT],
    machine: Vec<u8>,
}

/// Bytes of a handle.
const HANDLE: usize = 64;

impl Told {
    fn bytes(&self) -> Vec<u8> {
        let words = self.process.iter().chain(&self.places).chain([&self.device, &self.bytes]);
        let mut bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        let handles = std::iter::once(&self.memory.reserved).chain(self.events.iter().map(|event| &event.reserved));
        bytes.extend(handles.flatten().map(|byte| *byte as u8));
        bytes.extend(&self.machine);
        bytes
    }

    /// Reads a message, if it is as long as it must be.
    fn of(bytes: &[u8]) -> Option<Told> {
        const WORDS: usize = 2 + 1 + Mark::COUNT + 2;
        let (words, behind) = bytes.split_at_checked(8 * WORDS)?;
        let (handles, machine) = behind.split_at_checked(HANDLE * (1 + Mark::COUNT))?;
        let word = |k: usize| words[8 * k..8 * k + 8].try_into().map(u64::from_le_bytes).unwrap_or(0);
        let handle = |k: usize| -> [c_char; HANDLE] { std::array::from_fn(|at| handles[HANDLE * k + at] as c_char) };
        Some(Told {
            process: [word(0), word(1)],
            places: std::array::from_fn(|k| word(2 + k)),
            device: word(WORDS - 2),
            bytes: word(WORDS - 1),
            memory: CUipcMemHandle { reserved: handle(0) },
            events: std::array::from_fn(|k| CUipcEventHandle { reserved: handle(1 + k) }),
            machine: machine.to_vec(),
        })
    }
}

/// Memory of this GPU that others read.
pub struct Window {
    context: Arc<CudaContext>,
    place: u64,
    bytes: usize,
    /// For other processes, and for other ranks of this one: an event that is shared with processes is not for the contexts of other GPUs
    /// here.
    events: Vec<Event>,
    ipc_handle: Vec<u8>,
}

/// An event of this process.
struct Event(CUevent);

// SAFETY: the driver's handles are for all threads of a process.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

/// Whether parts of so many bytes lie within `room`.
fn check(at: usize, bytes: usize, room: usize) {
    assert!(at.checked_add(bytes).is_some_and(|end| end <= room), "a copy lies within its window");
}

impl Window {
    /// Of two halves of so many bytes.
    pub fn new(device: &Device, half: usize) -> Result<Window, CudaError> {
        if std::env::var_os(VARIABLE).is_some_and(|value| value == "0") {
            return Err(CudaError::Failed(format!("{VARIABLE}=0 says so")));
        }
        let bytes = 2 * half;
        // The particles need what there is more.
        device.check_capacity(AMPLE * bytes as u64, "what GPUs of ranks give each other")?;
        let make = || -> Result<Window, DriverError> {
            device.context.bind_to_thread()?;
            // Memory of the driver's pools has no handle of this kind.
            // SAFETY: nobody reads it before it has been filled.
            let place = unsafe { result::malloc_sync(bytes) }?;
            // It goes with this from here on.
            let mut window =
                Window { context: device.context.clone(), place, bytes, events: Vec::new(), ipc_handle: Vec::new() };
            let mut ipc_handle = Told {
                process: process(),
                places: [place; 1 + Mark::COUNT],
                device: device.context.ordinal() as u64,
                bytes: bytes as u64,
                memory: CUipcMemHandle { reserved: [0; HANDLE] },
                events: [CUipcEventHandle { reserved: [0; HANDLE] }; Mark::COUNT],
                machine: machine(),
            };
            // SAFETY: the memory is the beginning of what was allocated, and the handle has its size.
            unsafe { sys::cuIpcGetMemHandle(&mut ipc_handle.memory, place) }.result()?;
            let mut event = |flags: u32| {
                let mut event = std::ptr::null_mut();
                // SAFETY: the context is this thread's, and the place has its size.
                unsafe { sys::cuEventCreate(&mut event, flags) }.result()?;
                window.events.push(Event(event));
                Ok::<CUevent, DriverError>(event)
            };
            let untimed = CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
            for handle in &mut ipc_handle.events {
                let event = event(untimed | CUevent_flags::CU_EVENT_INTERPROCESS as u32)?;
                // SAFETY: the event is one of this kind, and the handle has its size.
                unsafe { sys::cuIpcGetEventHandle(handle, event) }.result()?;
            }
            for place in &mut ipc_handle.places[1..] {
                *place = event(untimed)? as u64;
            }
            window.ipc_handle = ipc_handle.bytes();
            Ok(window)
        };
        make().map_err(|e| failed(REFUSED, e))
    }

    pub fn ipc_handle(&self) -> Vec<u8> {
        self.ipc_handle.clone()
    }

    /// Copies to a place of it.
    ///
    /// # Safety
    /// There are `bytes` bytes at `from`, and stay there until the GPU has copied them.
    pub unsafe fn fill(&self, device: &Device, at: usize, from: u64, bytes: usize) -> Result<(), CudaError> {
        check(at, bytes, self.bytes);
        // SAFETY: as the caller says, and there is space.
        unsafe { copy(device, self.place + at as u64, from, bytes) }
    }

    pub fn mark(&self, device: &Device, mark: Mark) -> Result<(), CudaError> {
        let record = || {
            device.context.bind_to_thread()?;
            let both = [mark.number(), Mark::COUNT + mark.number()];
            // SAFETY: all are of the GPU's context.
            let record = |k: usize| unsafe { sys::cuEventRecord(self.events[k].0, device.stream.cu_stream()) };
            both.into_iter().try_for_each(|k| record(k).result())
        };
        record().map_err(|e| failed(FAILED, e))
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // What fails here has failed before, or the GPU is lost.
        let _ = self.context.bind_to_thread();
        for event in &self.events {
            // SAFETY: it was made once, and nothing is asked of it later.
            let _ = unsafe { result::event::destroy(event.0) };
        }
        // SAFETY: as above; the driver waits for copies that are on their way.
        let _ = unsafe { result::free_sync(self.place) };
    }
}

/// Another process's window.
pub struct View {
    context: Arc<CudaContext>,
    place: u64,
    bytes: usize,
    events: Vec<Event>,
    /// Whether memory and events were opened here.
    is_foreign: bool,
}

impl View {
    pub fn open(device: &Device, ipc_handle: &[u8]) -> Result<View, CudaError> {
        let refused = |why: &str| CudaError::Failed(format!("another process's GPU cannot be read: {why}"));
        let ipc_handle = Told::of(ipc_handle).ok_or_else(|| refused("it tells of none"))?;
        if ipc_handle.machine != machine() || ipc_handle.machine.is_empty() {
            return Err(refused("it is on another machine"));
        }
        let open = || -> Result<Option<View>, DriverError> {
            device.context.bind_to_thread()?;
            let is_foreign = ipc_handle.process != process();
            let (context, bytes) = (device.context.clone(), ipc_handle.bytes as usize);
            let mut view = View { context, place: 0, bytes, events: Vec::new(), is_foreign };
            if is_foreign {
                let flags = CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
                // SAFETY: the place has its size; an invalid handle is refused.
                unsafe { sys::cuIpcOpenMemHandle_v2(&mut view.place, ipc_handle.memory, flags) }.result()?;
                for handle in ipc_handle.events {
                    let mut event = std::ptr::null_mut();
                    // SAFETY: as above.
                    unsafe { sys::cuIpcOpenEventHandle(&mut event, handle) }.result()?;
                    view.events.push(Event(event));
                }
            } else {
                if !reaches(device, ipc_handle.device as usize)? {
                    return Ok(None);
                }
                view.place = ipc_handle.places[0];
                view.events.extend(ipc_handle.places[1..].iter().map(|place| Event(*place as CUevent)));
            }
            Ok(Some(view))
        };
        open().map_err(|e| failed("another process's GPU cannot be read", e))?.ok_or_else(|| refused("it has no link"))
    }

    /// Copies from a place of it.
    ///
    /// # Safety
    /// There is space for so many bytes at `to`, until the GPU has copied them.
    pub unsafe fn pull(&self, device: &Device, at: usize, to: u64, bytes: usize) -> Result<(), CudaError> {
        check(at, bytes, self.bytes);
        // SAFETY: as the caller says, and there are so many.
        unsafe { copy(device, to, self.place + at as u64, bytes) }
    }

    pub fn wait_for(&self, device: &Device, mark: Mark) -> Result<(), CudaError> {
        let wait = || {
            device.context.bind_to_thread()?;
            // SAFETY: the event is open, and the stream is of the context that this thread has.
            unsafe { sys::cuStreamWaitEvent(device.stream.cu_stream(), self.events[mark.number()].0, 0) }.result()
        };
        wait().map_err(|e| failed(FAILED, e))
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if !self.is_foreign {
            return;
        }
        // What fails here has failed before, or the GPU is lost.
        let _ = self.context.bind_to_thread();
        for event in &self.events {
            // SAFETY: it was opened once, and nothing is asked of it later.
            let _ = unsafe { result::event::destroy(event.0) };
        }
        if self.place != 0 {
            // SAFETY: as above, and copies from it have ended: who closes it has waited for its GPU.
            let _ = unsafe { sys::cuIpcCloseMemHandle(self.place) };
        }
    }
}

/// Lets a GPU read another one of this process, by its number.
fn reaches(device: &Device, other: usize) -> Result<bool, DriverError> {
    if other == device.context.ordinal() {
        return Ok(true);
    }
    let peer = CudaContext::new(other)?;
    device.context.bind_to_thread()?;
    let mut can = 0;
    // SAFETY: both devices are open.
    unsafe { sys::cuDeviceCanAccessPeer(&mut can, device.context.cu_device(), peer.cu_device()) }.result()?;
    if can != 0 {
        // SAFETY: the peer context is that of its device, which lives as long as somebody uses it.
        match unsafe { sys::cuCtxEnablePeerAccess(peer.cu_ctx(), 0) } {
            CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => {}
            ended => ended.result()?,
        }
    }
    Ok(can != 0)
}

/// Copies on the GPU's stream.
///
/// # Safety
/// Both places have so many bytes until the GPU has copied them.
unsafe fn copy(device: &Device, to: u64, from: u64, bytes: usize) -> Result<(), CudaError> {
    if bytes == 0 {
        return Ok(());
    }
    let copy = || {
        device.context.bind_to_thread()?;
        // SAFETY: as for this function.
        unsafe { result::memcpy_dtod_async(to, from, bytes, device.stream.cu_stream()) }
    };
    copy().map_err(|e| failed("data cannot be copied from one GPU to another", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_window_is_read_and_anything_else_is_not() {
        let ipc_handle = Told {
            process: process(),
            places: [1, 2, 3, 4, 5],
            device: 6,
            bytes: 7,
            memory: CUipcMemHandle { reserved: std::array::from_fn(|k| k as c_char) },
            events: [0, 1, 2, 3].map(|k| CUipcEventHandle { reserved: [-k; HANDLE] }),
            machine: machine(),
        };
        let bytes = ipc_handle.bytes();
        let found = Told::of(&bytes).expect("it is whole");
        assert_eq!((found.process, found.places, found.device, found.bytes), (process(), ipc_handle.places, 6, 7));
        assert_eq!((found.memory.reserved, found.machine), (ipc_handle.memory.reserved, ipc_handle.machine));
        assert!(found.events.iter().zip(&ipc_handle.events).all(|(a, b)| a.reserved == b.reserved));
        assert!([0, 7, 100].iter().all(|end| Told::of(&bytes[..*end]).is_none()));
    }

    #[test]
    fn a_process_has_one_number() {
        assert_eq!(process(), process());
        assert_ne!(process()[0], process()[1]);
    }
}
