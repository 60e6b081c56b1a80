//! Copies between the host's memory and a GPU, through a buffer on the host that the GPU reads and writes by itself. They go in
//! pieces: threads copy one to or from that buffer while others are on their way. The driver's own copies of other memory are done
//! by one thread.

use super::CudaError;
use super::device::{Device, failed};
use cudarc::driver::{CudaEvent, DriverError, PinnedHostSlice, result};
use fmm::parallel::prelude::*;
use std::mem::MaybeUninit;

/// Bytes of a piece, and pieces that may be on their way.
pub const PIECE: usize = 4 << 20;
const SLOTS: usize = 3;

/// Bytes from which on that is worth it.
pub const LEAST: usize = 1 << 20;

/// Bytes that a thread copies at a time.
const PART: usize = 256 << 10;

/// Memory whose bytes need not all mean something.
pub type Byte = MaybeUninit<u8>;

/// The staging buffer of a GPU.
pub struct Staging {
    slots: Vec<Slot>,
}

struct Slot {
    room: PinnedHostSlice<u64>,
    /// When the GPU has done with it.
    done: Option<CudaEvent>,
}

impl Slot {
    fn new(device: &Device) -> Result<Slot, CudaError> {
        Ok(Slot { room: device.pinned(PIECE / 8)?, done: None })
    }

    /// The buffer, once the GPU has done with it.
    fn bytes(&mut self) -> Result<&mut [Byte], DriverError> {
        if let Some(done) = self.done.take() {
            done.synchronize()?;
        }
        let words = self.room.as_mut_slice()?;
        // SAFETY: the same memory, of which each byte is one that may mean nothing.
        Ok(unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), PIECE) })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // The buffer is freed next. If the GPU failed, it no longer uses it.
        let _ = self.done.take().map(|done| done.synchronize());
    }
}

impl Staging {
    pub fn new(device: &Device) -> Result<Staging, CudaError> {
        Ok(Staging { slots: (0..SLOTS).map(|_| Slot::new(device)).collect::<Result<_, _>>()? })
    }

    /// Sends bytes to a place on the GPU, behind what was asked for before. They have been read when this returns.
    ///
    /// # Safety
    /// There is space for them.
    pub unsafe fn send(&mut self, device: &Device, data: &[Byte], place: u64) -> Result<(), CudaError> {
        let mut send = || -> Result<(), DriverError> {
            device.context.bind_to_thread()?;
            for (k, piece) in data.chunks(PIECE).enumerate() {
                let slot = &mut self.slots[k % SLOTS];
                let room = &mut slot.bytes()?[..piece.len()];
                let parts = room.par_chunks_mut(PART).zip(piece.par_chunks(PART));
                parts.for_each(|(to, from)| to.copy_from_slice(from));
                // SAFETY: the caller says that there is space, and the slot is not used before the GPU has done with it.
                unsafe { result::memcpy_htod_async(place + (k * PIECE) as u64, room, device.stream.cu_stream()) }?;
                slot.done = Some(device.stream.record_event(None)?);
            }
            Ok(())
        };
        send().map_err(|e| failed("data cannot be sent to the GPU", e))
    }

    /// Fetches so many bytes from a place on the GPU, after all that was asked for before: hands over pieces and where they
    /// begin.
    ///
    /// # Safety
    /// There are so many.
    pub unsafe fn fetch(
        &mut self,
        device: &Device,
        place: u64,
        bytes: usize,
        take: &mut dyn FnMut(usize, &[Byte]),
    ) -> Result<(), CudaError> {
        let size = |k: usize| PIECE.min(bytes - k * PIECE);
        let pieces = bytes.div_ceil(PIECE);
        let mut fetch = || -> Result<(), DriverError> {
            device.context.bind_to_thread()?;
            let start = |slot: &mut Slot, k: usize| -> Result<(), DriverError> {
                let room = &mut slot.bytes()?[..size(k)];
                // SAFETY: the caller says that there are so many, and the slot is not used before the GPU has done with it.
                unsafe { result::memcpy_dtoh_async(room, place + (k * PIECE) as u64, device.stream.cu_stream()) }?;
                slot.done = Some(device.stream.record_event(None)?);
                Ok(())
            };
            for k in 0..pieces.min(SLOTS) {
                start(&mut self.slots[k], k)?;
            }
            for k in 0..pieces {
                let slot = &mut self.slots[k % SLOTS];
                take(k * PIECE, &slot.bytes()?[..size(k)]);
                if k + SLOTS < pieces {
                    start(slot, k + SLOTS)?;
                }
            }
            Ok(())
        };
        fetch().map_err(|e| failed("the GPU failed", e))
    }
}

/// Copies by all threads.
pub fn copy<T: Copy + Send + Sync>(from: &[T], to: &mut [T]) {
    let part = (PART / size_of::<T>()).max(1);
    to.par_chunks_mut(part).zip(from.par_chunks(part)).for_each(|(to, from)| to.copy_from_slice(from));
}
