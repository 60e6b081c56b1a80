//! The GPU: finding it, its memory, and kernels loaded onto it.

use super::CudaError;
use super::compile::{self, Arithmetic};
use super::staging::Staging;
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdevice_attribute, CUevent_flags, CUresult};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaModule, CudaSlice, CudaStream, DeviceRepr, DriverError, PinnedHostSlice,
    ValidAsZeroBits,
};
use cudarc::nvrtc::Ptx;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The error where the GPU refuses kernels.
const REFUSED: &str = "the GPU takes no kernel";

/// The remedy without a GPU.
const REMEDY: &str = "take another backend, such as `cpu`";

/// A GPU that can be used.
pub struct Device {
    pub(super) context: Arc<CudaContext>,
    pub stream: Arc<CudaStream>,
    /// For kernels that run beside those of the first.
    pub(super) side: Arc<CudaStream>,
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    arch: String,
    /// Texts as they are compiled and loaded.
    loaded: Mutex<HashMap<String, Vec<Arc<CudaModule>>>>,
    /// Through which large copies go, once there was one.
    pub(super) staging: Mutex<Option<Staging>>,
}

/// The name of the first GPU, or why there is none.
pub fn found() -> Result<String, CudaError> {
    let context = context(0)?;
    context.name().map_err(|e| failed("the GPU cannot be asked for its name", e))
}

/// The name of the first GPU, if kernels can be compiled for it; or what is missing: the driver or the GPU first, and then the compiler.
pub fn ready() -> Result<String, CudaError> {
    match (found(), compile::check()) {
        (found, Ok(())) => found,
        (Ok(_), Err(compiler)) => Err(compiler),
        (Err(gpu), Err(compiler)) => Err(CudaError::Failed(format!("{gpu}. Besides, {compiler}"))),
    }
}

/// The number of GPUs; 0 without a driver.
pub fn count() -> usize {
    context(0)
        .and_then(|_| CudaContext::device_count().map_err(|e| failed("the GPUs cannot be counted", e)))
        .unwrap_or(0) as usize
}

/// The GPU of one of several processes or threads, which go through the GPUs in turn.
pub fn in_turn(turn: usize) -> Result<usize, CudaError> {
    context(0)?;
    Ok(turn % count().max(1))
}

/// A GPU that nothing was started on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// Bytes of its memory.
    pub memory: u64,
    /// Its architecture, such as `sm_90`.
    pub arch: String,
}

/// All GPUs of this machine.
pub fn seen() -> Result<Vec<Seen>, CudaError> {
    driver()?;
    let of = |device| -> Result<Seen, DriverError> {
        let device = result::device::get(device)?;
        // SAFETY: the device is one that the driver has just given.
        let attribute = |a| unsafe { result::device::get_attribute(device, a) };
        let major = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        // SAFETY: as above.
        let memory = unsafe { result::device::total_mem(device)? } as u64;
        Ok(Seen { name: result::device::get_name(device)?, memory, arch: arch(major, minor) })
    };
    let all = || result::init().and_then(|()| (0..result::device::get_count()?).map(of).collect());
    all().map_err(|e| no_gpu(&e))
}

/// The architecture of a compute capability.
fn arch(major: i32, minor: i32) -> String {
    format!("sm_{major}{minor}")
}

pub(super) fn context(device: usize) -> Result<Arc<CudaContext>, CudaError> {
    driver()?;
    CudaContext::new(device).map_err(|e| no_gpu(&e))
}

fn no_gpu(e: &DriverError) -> CudaError {
    CudaError::Failed(format!("the CUDA driver finds no GPU that can be used ({}); {REMEDY}", reason(e)))
}

/// The version of CUDA of the driver, if that is there and can be used.
pub fn driver() -> Result<(u32, u32), CudaError> {
    // SAFETY: it only tries to load NVIDIA's driver.
    if !unsafe { cudarc::driver::sys::is_culib_present() } {
        let what = "no CUDA driver was found: NVIDIA's library libcuda.so is missing";
        return Err(CudaError::Failed(format!("{what}; install the driver of the GPU, or {REMEDY}")));
    }
    let mut version = 0;
    // SAFETY: the driver is there, and every one has this function.
    if unsafe { cudarc::driver::sys::cuDriverGetVersion(&mut version) } != CUresult::CUDA_SUCCESS {
        version = 0;
    }
    match too_old(version) {
        Some(why) => Err(CudaError::Failed(why)),
        None => Ok((version as u32 / 1000, version as u32 % 1000 / 10)),
    }
}

/// The version of CUDA, times 1000, whose functions the driver must have.
const LEAST: i32 = 13_000;

/// Why a driver of a version cannot be used: calling a function that it lacks would end the program.
fn too_old(version: i32) -> Option<String> {
    let (major, minor) = (version / 1000, version % 1000 / 10);
    (version < LEAST).then(|| {
        format!(
            "the GPU's driver is one of CUDA {major}.{minor}, and {}.{} is needed; install a newer driver (580 or later), or {REMEDY}",
            LEAST / 1000,
            LEAST % 1000 / 10
        )
    })
}

/// The driver's message, without Rust's decoration.
fn reason(e: &DriverError) -> String {
    let text = e.error_string().map(|s| s.to_string_lossy().into_owned());
    text.unwrap_or_else(|_| format!("{:?}", e.0))
}

/// A failed call, in words.
pub fn failed(what: &str, e: DriverError) -> CudaError {
    if e.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        return CudaError::TooLarge(
            "the GPU has too little free memory for this; take fewer particles or records".into(),
        );
    }
    CudaError::Failed(format!("{what}: {}", reason(&e)))
}

impl Device {
    /// The first GPU.
    pub fn open() -> Result<Device, CudaError> {
        Device::open_at(0)
    }

    /// A GPU by its number, from 0.
    pub fn open_at(device: usize) -> Result<Device, CudaError> {
        let context = context(device)?;
        let open = || -> Result<_, DriverError> {
            let (major, minor) = context.compute_capability()?;
            let (_, first) = result::stream::get_priority_range()?;
            // What runs beside fills what the main stream leaves idle.
            let stream = context.new_stream_with_priority(first)?;
            Ok((stream, context.new_stream()?, context.name()?, arch(major, minor)))
        };
        let (stream, side, name, arch) = open().map_err(|e| failed("the GPU cannot be opened", e))?;
        Ok(Device { context, stream, side, name, arch, loaded: Mutex::default(), staging: Mutex::new(None) })
    }

    /// Without the driver's record of each use of memory, which takes longer than to start a kernel. For stages of an FMM, which keep their
    /// own order.
    pub fn untracked(self) -> Device {
        // SAFETY: work on the second stream begins behind all of the first (`fork`), which waits for it before memory goes (`join`,
        // `finish`), and copies of pinned memory have events of their own (`staging`).
        unsafe { self.context.disable_event_tracking() };
        self
    }

    /// Lets this GPU copy from another one without the host, and says whether the two are so linked.
    pub fn link(&self, other: &Device) -> Result<bool, CudaError> {
        let refused = |e| failed("the GPUs cannot be linked", e);
        self.context.bind_to_thread().map_err(refused)?;
        let (own, peer) = (self.context.cu_device(), other.context.cu_device());
        let mut can = 0;
        // SAFETY: both devices are open.
        unsafe { sys::cuDeviceCanAccessPeer(&mut can, own, peer) }.result().map_err(refused)?;
        if can == 0 {
            return Ok(false);
        }
        // SAFETY: both contexts and their memory pools live as long as the program.
        unsafe {
            match sys::cuCtxEnablePeerAccess(other.context.cu_ctx(), 0) {
                CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => {}
                ended => ended.result().map_err(refused)?,
            }
            let mut pool = std::ptr::null_mut();
            sys::cuDeviceGetDefaultMemPool(&mut pool, peer).result().map_err(refused)?;
            let location = sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: own };
            let access =
                sys::CUmemAccessDesc { location, flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
            sys::cuMemPoolSetAccess(pool, &access, 1).result().map_err(refused)?;
        }
        Ok(true)
    }

    /// Multiprocessors and the clock in kHz that the GPU states.
    pub fn size(&self) -> Option<(u32, u32)> {
        let of = |a| self.context.attribute(a).ok().map(|x| x as u32);
        Some((
            of(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            of(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        ))
    }

    /// A kernel of a text, which is compiled and loaded once. It has one arithmetic.
    pub fn function(&self, text: &str, name: &'static str, arithmetic: Arithmetic) -> Result<CudaFunction, CudaError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let modules = match loaded.get(text) {
            Some(modules) => modules,
            None => {
                let modules = self.load(text, arithmetic)?;
                loaded.entry(text.to_string()).or_insert(modules)
            }
        };
        let mut found = modules.iter().map(|module| module.load_function(name));
        let first = found.next().expect("a text has a module");
        found.fold(first, |found, next| found.or(next)).map_err(|e| failed(REFUSED, e))
    }

    /// Compiles and loads the parts of a text.
    fn load(&self, text: &str, arithmetic: Arithmetic) -> Result<Vec<Arc<CudaModule>>, CudaError> {
        let load = |cubins: Vec<Vec<u8>>| -> Result<Vec<Arc<CudaModule>>, DriverError> {
            cubins.into_iter().map(|cubin| self.context.load_module(Ptx::from_binary(cubin))).collect()
        };
        let kept = compile::in_parts(text, |part| compile::cubin(part, &self.arch, arithmetic))?;
        let loaded = match load(kept) {
            // What the cache has may be of no use, though it is whole.
            Err(e) if e.0 != CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                load(compile::in_parts(text, |part| compile::cubin_anew(part, &self.arch, arithmetic))?)
            }
            loaded => loaded,
        };
        loaded.map_err(|e| failed(REFUSED, e))
    }

    /// Says before anything is sent whether so many bytes fit.
    pub fn check_capacity(&self, bytes: u64, what: &str) -> Result<(), CudaError> {
        let (free, all) = self.context.mem_get_info().map_err(|e| failed("the GPU's memory is not known", e))?;
        if bytes <= free as u64 {
            return Ok(());
        }
        let gb = |bytes: u64| bytes as f64 / 1e9;
        Err(CudaError::TooLarge(format!(
            "{what} needs {:.2} GB on the GPU, which has {:.2} GB free of {:.2}; take fewer, or {REMEDY}",
            gb(bytes),
            gb(free as u64),
            gb(all as u64)
        )))
    }

    /// Copies to the GPU. An empty slice takes memory for one.
    pub fn send<T: DeviceRepr + ValidAsZeroBits>(&self, data: &[T]) -> Result<CudaSlice<T>, CudaError> {
        let sent = match data.is_empty() {
            true => self.stream.alloc_zeros(1),
            false => self.stream.clone_htod(data),
        };
        sent.map_err(|e| failed("data cannot be sent to the GPU", e))
    }

    /// Memory for results, of which there is at least one.
    pub fn allocate<T: DeviceRepr + ValidAsZeroBits>(&self, count: usize) -> Result<CudaSlice<T>, CudaError> {
        self.stream.alloc_zeros(count.max(1)).map_err(|e| failed("the GPU has no room for the results", e))
    }

    /// Memory on the host that the GPU reads and writes by itself, filled with zeros. It takes longer to make than a copy does,
    /// so it is for what many runs use.
    pub fn pinned<T: DeviceRepr + ValidAsZeroBits>(&self, count: usize) -> Result<PinnedHostSlice<T>, CudaError> {
        let make = || -> Result<_, DriverError> {
            // SAFETY: it is filled below, with zeros, which are values of T.
            let mut room = unsafe { self.context.alloc_pinned_with_flags::<T>(count.max(1), 0) }?;
            let place = room.as_mut_slice()?;
            // SAFETY: all of it lies within the memory.
            unsafe { std::ptr::write_bytes(place.as_mut_ptr(), 0, place.len()) };
            Ok(room)
        };
        make().map_err(|e| failed("the host has no room for the GPU's data", e))
    }

    /// A point in time on the GPU, behind all that was started before.
    pub fn event(&self) -> Result<CudaEvent, CudaError> {
        let event = self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        event.map_err(|e| failed("the GPU failed", e))
    }

    /// Copies the first `count` back, after all that was started before.
    pub fn fetch<T: DeviceRepr + Clone + Default>(
        &self,
        from: &CudaSlice<T>,
        count: usize,
    ) -> Result<Vec<T>, CudaError> {
        let mut data = vec![T::default(); count];
        if count > 0 {
            let copied = self.stream.memcpy_dtoh(&from.slice(..count), &mut data);
            copied.and_then(|()| self.stream.synchronize()).map_err(|e| failed("the GPU failed", e))?;
        }
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_driver_is_refused_with_its_version() {
        assert_eq!(too_old(13_000), None);
        assert_eq!(too_old(13_020), None);
        let why = too_old(12_080).expect("it lacks functions");
        assert!(why.contains("CUDA 12.8") && why.contains("13.0 is needed"), "{why}");
    }
}
