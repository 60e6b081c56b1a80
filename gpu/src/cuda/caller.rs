//! A caller's own memory and streams on a GPU: which addresses are there, and whose work comes first.

use super::CudaError;
use super::device::{Device, context, failed};
use super::gpu_device::GpuDevice;
use cudarc::driver::sys::{self, CUevent_flags, CUevent_wait_flags, CUpointer_attribute, CUresult};
use cudarc::driver::{DriverError, result};
use std::ffi::c_void;

/// A GPU that a caller uses beside this program.
pub trait Caller: GpuDevice {
    /// Its number, from 0.
    fn number(&self) -> usize;
    /// The end of a sentence that says why bytes at an address cannot be used there, if they cannot.
    fn lacks(&self, first: u64, bytes: u64) -> Option<String>;
    /// Lets what is asked for later wait for all work that a caller's stream has.
    fn follow(&self, stream: CallerStream) -> Result<(), CudaError>;
    /// Lets what a caller asks for later on its stream wait for all that was asked for here.
    fn lead(&self, stream: CallerStream) -> Result<(), CudaError>;
}

/// The order of a caller's work and this program's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CallerStream {
    /// Calls begin once all work on the GPU is done, and end with their own.
    #[default]
    All,
    /// The `CUstream` of a caller's, of the GPU's primary context: 0 or 1 for the default stream, 2 for that of each thread.
    One(u64),
}

/// The GPU that an address belongs to, or the end of a sentence that says why there is none. Memory that all GPUs and the host share
/// belongs to the first one.
pub fn device_of(address: u64) -> Result<Result<usize, String>, CudaError> {
    // Attributes can be asked for once the driver is there and has a context.
    context(0)?.bind_to_thread().map_err(|e| failed("the GPU cannot be used", e))?;
    Ok(belongs(address).map(|owner| owner.unwrap_or(0)))
}

/// The same; none for memory that all share.
fn belongs(address: u64) -> Result<Option<usize>, String> {
    const HOST: u32 = sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32;
    let (mut kind, mut is_managed, mut ordinal) = (0u32, 0u32, 0i32);
    let of_host = || "is an address of the host's memory; give one of the GPU's".to_string();
    // SAFETY: each place is as large as its attribute, and the driver takes any address.
    unsafe {
        ask(CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, &mut kind, address)
            .map_err(|_| "is no address of memory that the driver knows; give one of the GPU's".to_string())?;
        let managed = ask(CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED, &mut is_managed, address);
        if managed.is_ok() && is_managed != 0 {
            return Ok(None);
        }
        if kind == HOST {
            return Err(of_host());
        }
        ask(CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, &mut ordinal, address).map_err(|_| of_host())?;
    }
    Ok(Some(ordinal.max(0) as usize))
}

/// # Safety
/// `T` must be as large as the attribute.
unsafe fn ask<T>(attribute: CUpointer_attribute, to: &mut T, address: u64) -> Result<(), CUresult> {
    // SAFETY: the caller's.
    match unsafe { sys::cuPointerGetAttribute((&raw mut *to).cast::<c_void>(), attribute, address) } {
        CUresult::CUDA_SUCCESS => Ok(()),
        other => Err(other),
    }
}

impl Caller for Device {
    fn number(&self) -> usize {
        self.context.ordinal()
    }

    fn lacks(&self, first: u64, bytes: u64) -> Option<String> {
        if let Err(e) = self.context.bind_to_thread() {
            return Some(failed("cannot be looked for on the GPU", e).to_string());
        }
        let own = self.number();
        match (belongs(first), belongs(first + bytes - 1)) {
            (Err(why), _) => Some(why),
            (_, Err(_)) => Some("ends outside of the GPU's memory; check its length and stride".into()),
            (Ok(Some(other)), _) | (_, Ok(Some(other))) if other != own => {
                Some(format!("is on GPU {other}, and others on GPU {own}; bring all to one GPU"))
            }
            _ => None,
        }
    }

    fn follow(&self, stream: CallerStream) -> Result<(), CudaError> {
        match stream {
            CallerStream::All => self.context.synchronize().map_err(|e| failed("the GPU failed", e)),
            CallerStream::One(stream) => self.order(stream as sys::CUstream, self.stream.cu_stream()),
        }
    }

    fn lead(&self, stream: CallerStream) -> Result<(), CudaError> {
        match stream {
            CallerStream::All => self.finish(),
            CallerStream::One(stream) => self.order(self.stream.cu_stream(), stream as sys::CUstream),
        }
    }
}

impl Device {
    /// Lets one stream wait for what another has.
    fn order(&self, first: sys::CUstream, second: sys::CUstream) -> Result<(), CudaError> {
        let order = || -> Result<(), DriverError> {
            self.context.bind_to_thread()?;
            let event = result::event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
            // SAFETY: the event was just made, and goes once; the driver keeps what a stream still waits for. The caller says that its
            // stream is there.
            unsafe {
                let ordered = result::event::record(event, first).and_then(|()| {
                    result::stream::wait_event(second, event, CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT)
                });
                result::event::destroy(event)?;
                ordered
            }
        };
        order().map_err(|e| failed("the caller's stream cannot be waited for; it must be one of this GPU", e))
    }
}
