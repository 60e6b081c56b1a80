//! The interface of a GPU for a run of all stages: memory, copies, and kernels that run one after the other.

use crate::cuda::CudaError;
use crate::cuda::compile::Arithmetic;
use crate::cuda::device::{Device, failed};
use crate::cuda::staging::{self, Staging};
use crate::cuda::window::{View, Window};
use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute_enum};
use cudarc::driver::{
    CudaEvent, CudaFunction, CudaSlice, DevicePtr, DeviceRepr, LaunchConfig, PushKernelArg, ValidAsZeroBits,
};
use fmm::parallel::prelude::*;
use std::ops::Range;

/// Numbers, or structs of them, that a GPU has in memory. All zeros are one.
pub trait Plain: DeviceRepr + ValidAsZeroBits + Copy + Default + Send + Sync {}

impl<T: DeviceRepr + ValidAsZeroBits + Copy + Default + Send + Sync> Plain for T {}

/// A GPU, or what stands for one in tests. Work is done in the order in which it was asked for.
pub trait GpuDevice: Sync + Sized {
    type Memory<T: Plain>: Send + Sync;
    type Kernel: Send + Sync;
    type Event: Send + Sync;
    /// Memory of a GPU that GPUs of other processes read.
    type Window: Send + Sync;
    /// A window of another process's GPU, as this GPU reads it.
    type View: Send + Sync;

    /// A kernel of a text.
    fn kernel(&self, text: &str, name: &'static str, arithmetic: Arithmetic) -> Result<Self::Kernel, CudaError>;
    /// Says before anything is sent whether so many bytes fit.
    fn check_capacity(&self, bytes: u64, what: &str) -> Result<(), CudaError>;
    /// Memory for at least one number, all zeros.
    fn allocate<T: Plain>(&self, count: usize) -> Result<Self::Memory<T>, CudaError>;
    /// Sends numbers to their place.
    fn write<T: Plain>(&self, data: &[T], to: &mut Self::Memory<T>, at: usize) -> Result<(), CudaError>;
    /// Sends the bytes of numbers to their place. They may be under way when this returns, and need not stay where they were.
    fn put<T: Plain>(&self, bytes: &[u8], to: &Self::Memory<T>, at: usize) -> Result<(), CudaError>;
    /// Sets all to zeros.
    fn clear<T: Plain>(&self, memory: &mut Self::Memory<T>) -> Result<(), CudaError>;
    /// Fetches a part, after all that was asked for before.
    fn read<T: Plain>(&self, from: &Self::Memory<T>, at: usize, to: &mut [T]) -> Result<(), CudaError>;
    /// The same in pieces, which are handed over with their place in the part while others are on their way. A piece has a multiple of
    /// 32 bytes, unless it is the last.
    fn read_pieces<T: Plain>(
        &self,
        from: &Self::Memory<T>,
        part: Range<usize>,
        take: &mut dyn FnMut(usize, &[T]),
    ) -> Result<(), CudaError>;
    /// The place that kernels use.
    fn place<T: Plain>(&self, memory: &Self::Memory<T>) -> u64;
    /// Copies a part of another GPU's memory, which is complete there at an event, to a place in this GPU's.
    fn take<T: Plain>(&self, to: &Self::Memory<T>, at: usize, from: From<Self, T>) -> Result<(), CudaError>;
    /// Lets what is asked for later wait for an event, of this GPU or of another one.
    fn wait(&self, event: &Self::Event) -> Result<(), CudaError>;
    /// A window of two halves of so many bytes.
    fn window(&self, half: usize) -> Result<Self::Window, CudaError>;
    /// The handle by which other processes open it.
    fn ipc_handle(window: &Self::Window) -> Vec<u8>;
    /// Opens the window of a handle from another process, or says why it cannot be read from here.
    fn view(&self, ipc_handle: &[u8]) -> Result<Self::View, CudaError>;
    /// Copies a part of memory to a place of the own window, in bytes.
    fn fill<T: Plain>(
        &self,
        window: &Self::Window,
        at: usize,
        from: &Self::Memory<T>,
        part: Range<usize>,
    ) -> Result<(), CudaError>;
    /// Copies from a place of a view, in bytes, to a part of memory.
    fn pull<T: Plain>(
        &self,
        view: &Self::View,
        at: usize,
        to: &Self::Memory<T>,
        part: Range<usize>,
    ) -> Result<(), CudaError>;
    /// Marks that all that was asked for before is done, for those who have a view of the window.
    fn mark(&self, window: &Self::Window, mark: Mark) -> Result<(), CudaError>;
    /// Lets what is asked for later wait for the last mark of that kind which the other process has asked for.
    fn wait_for(&self, view: &Self::View, mark: Mark) -> Result<(), CudaError>;
    /// Whether kernels here can read the memory of another GPU.
    fn reads(&self, other: &Self) -> Result<bool, CudaError>;
    /// The bytes of shared memory that a block can have.
    fn shared_memory(&self) -> Result<usize, CudaError>;
    /// Gives the blocks of a kernel so many bytes of it, besides those that its text names.
    fn share(&self, kernel: &mut Self::Kernel, bytes: usize) -> Result<(), CudaError>;
    /// Lets a kernel have as much shared memory and as little cache as there can be.
    fn want_shared(&self, kernel: &Self::Kernel) -> Result<(), CudaError>;
    /// Starts a kernel, whose arguments are a problem and some numbers.
    fn launch<P: DeviceRepr>(
        &self,
        stream: Stream,
        kernel: &Self::Kernel,
        size: Size,
        problem: &P,
        numbers: &[u32],
    ) -> Result<(), CudaError>;
    /// Lets what is asked for beside later wait for all that was asked for on the main stream.
    fn fork(&self) -> Result<(), CudaError>;
    /// Lets what is asked for on the main stream later wait for all that was asked for beside.
    fn join(&self) -> Result<(), CudaError>;
    /// Waits for all that was asked for.
    fn finish(&self) -> Result<(), CudaError>;
    /// A point in time, behind all that was asked for before.
    fn event(&self) -> Result<Self::Event, CudaError>;
    /// The seconds between two of them, once both have passed.
    fn seconds(first: &Self::Event, second: &Self::Event) -> Result<f64, CudaError>;

    /// Fetches a part to a column of its own.
    fn column<T: Plain>(&self, from: &Self::Memory<T>, part: Range<usize>) -> Result<Vec<T>, CudaError> {
        let mut column = Vec::new();
        self.append(from, part, &mut column)?;
        Ok(column)
    }

    /// Fetches a part to the end of a column.
    fn append<T: Plain>(
        &self,
        from: &Self::Memory<T>,
        part: Range<usize>,
        column: &mut Vec<T>,
    ) -> Result<(), CudaError> {
        // Filling it with zeros first, by one thread, may take as long as the rest.
        column.reserve(part.len());
        self.read_pieces(from, part, &mut |_, piece| {
            piece.par_iter().with_min_len(1 << 15).copied().extend_into(column)
        })
    }

    /// Numbers sent to new memory.
    fn send<T: Plain>(&self, data: &[T]) -> Result<Self::Memory<T>, CudaError> {
        let mut memory = self.allocate(data.len())?;
        self.write(data, &mut memory, 0)?;
        Ok(memory)
    }
}

/// A part of another GPU's memory.
pub struct From<'a, C: GpuDevice, T: Plain> {
    pub device: &'a C,
    pub memory: &'a C::Memory<T>,
    pub part: Range<usize>,
    /// When it is complete.
    pub event: &'a C::Event,
}

/// A mark that a GPU sets on a half of its window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// All that is for others is there.
    Filled(usize),
    /// It has what it was to have from this half of the windows of others.
    Taken(usize),
}

impl Mark {
    /// How many there are, and the number of one.
    pub const COUNT: usize = 4;

    pub fn number(self) -> usize {
        match self {
            Mark::Filled(half) => half,
            Mark::Taken(half) => 2 + half,
        }
    }
}

/// Where kernels are one behind the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    Main,
    /// Beside the main one, for kernels alone.
    Beside,
}

/// A kernel, and what it has of shared memory besides what its text names.
pub struct Kernel {
    function: CudaFunction,
    shared: u32,
}

/// Blocks of a kernel, and threads of a block.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub blocks: u32,
    pub threads: u32,
}

impl Size {
    pub fn new(blocks: usize, threads: usize) -> Size {
        Size { blocks: blocks as u32, threads: threads as u32 }
    }

    /// Of a kernel whose threads have an item each.
    pub fn of_threads(items: usize) -> Size {
        Size::new(items.div_ceil(256), 256)
    }

    /// Of a kernel whose warps have an item each.
    pub fn of_warps(items: usize) -> Size {
        Size::new(items.div_ceil(4), 128)
    }
}

const FAILED: &str = "the GPU failed";

impl Device {
    /// Copies through the staging buffer, which is made once.
    fn staged<R>(&self, copy: impl FnOnce(&mut Staging) -> Result<R, CudaError>) -> Result<R, CudaError> {
        let mut staging = self.staging.lock().expect("no copy panics");
        if staging.is_none() {
            *staging = Some(Staging::new(self)?);
        }
        copy(staging.as_mut().expect("it was made"))
    }
}

impl GpuDevice for Device {
    type Memory<T: Plain> = CudaSlice<T>;
    type Kernel = Kernel;
    type Event = CudaEvent;
    type Window = Window;
    type View = View;

    fn kernel(&self, text: &str, name: &'static str, arithmetic: Arithmetic) -> Result<Kernel, CudaError> {
        Ok(Kernel { function: self.function(text, name, arithmetic)?, shared: 0 })
    }

    fn check_capacity(&self, bytes: u64, what: &str) -> Result<(), CudaError> {
        Device::check_capacity(self, bytes, what)
    }

    fn allocate<T: Plain>(&self, count: usize) -> Result<CudaSlice<T>, CudaError> {
        Device::allocate(self, count)
    }

    fn write<T: Plain>(&self, data: &[T], to: &mut CudaSlice<T>, at: usize) -> Result<(), CudaError> {
        if data.is_empty() {
            return Ok(());
        }
        if size_of_val(data) >= staging::LEAST {
            assert!(at + data.len() <= to.len(), "data has its room");
            let place = GpuDevice::place::<T>(self, to) + (at * size_of::<T>()) as u64;
            // SAFETY: the bytes of the data.
            let bytes = unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data)) };
            // SAFETY: there is space behind the place, as was just seen.
            return self.staged(|staging| unsafe { staging.send(self, bytes, place) });
        }
        let sent = self.stream.memcpy_htod(data, &mut to.slice_mut(at..at + data.len()));
        sent.map_err(|e| failed("data cannot be sent to the GPU", e))
    }

    fn put<T: Plain>(&self, bytes: &[u8], to: &CudaSlice<T>, at: usize) -> Result<(), CudaError> {
        if bytes.is_empty() {
            return Ok(());
        }
        assert!(at * size_of::<T>() + bytes.len() <= to.len() * size_of::<T>(), "numbers have their room");
        let place = GpuDevice::place::<T>(self, to) + (at * size_of::<T>()) as u64;
        if bytes.len() >= staging::LEAST {
            // SAFETY: the same bytes, of which each may mean nothing.
            let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<staging::Byte>(), bytes.len()) };
            // SAFETY: there is space behind the place, as was just seen.
            return self.staged(|staging| unsafe { staging.send(self, bytes, place) });
        }
        let send = || {
            self.context.bind_to_thread()?;
            // SAFETY: as above. The driver has read memory that is not pinned when this returns.
            unsafe { cudarc::driver::result::memcpy_htod_async(place, bytes, self.stream.cu_stream()) }
        };
        send().map_err(|e| failed("data cannot be sent to the GPU", e))
    }

    fn clear<T: Plain>(&self, memory: &mut CudaSlice<T>) -> Result<(), CudaError> {
        self.stream.memset_zeros(memory).map_err(|e| failed(FAILED, e))
    }

    fn read<T: Plain>(&self, from: &CudaSlice<T>, at: usize, to: &mut [T]) -> Result<(), CudaError> {
        if to.is_empty() {
            return Ok(());
        }
        if size_of_val(to) >= staging::LEAST && staging::PIECE.is_multiple_of(size_of::<T>()) {
            let part = at..at + to.len();
            return self.read_pieces(from, part, &mut |at, piece| staging::copy(piece, &mut to[at..at + piece.len()]));
        }
        let copied = self.stream.memcpy_dtoh(&from.slice(at..at + to.len()), to);
        copied.and_then(|()| self.stream.synchronize()).map_err(|e| failed(FAILED, e))
    }

    fn read_pieces<T: Plain>(
        &self,
        from: &CudaSlice<T>,
        part: Range<usize>,
        take: &mut dyn FnMut(usize, &[T]),
    ) -> Result<(), CudaError> {
        let size = size_of::<T>();
        assert!(part.end <= from.len() && staging::PIECE.is_multiple_of(size), "a part lies within memory");
        let place = GpuDevice::place::<T>(self, from) + (part.start * size) as u64;
        let mut hand_over = |at: usize, bytes: &[staging::Byte]| {
            // SAFETY: the GPU has written whole numbers here, which begin where a piece does.
            let piece = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<T>(), bytes.len() / size) };
            take(at / size, piece);
        };
        // SAFETY: the part lies within the memory.
        self.staged(|staging| unsafe { staging.fetch(self, place, part.len() * size, &mut hand_over) })
    }

    fn place<T: Plain>(&self, memory: &CudaSlice<T>) -> u64 {
        memory.device_ptr(&self.stream).0
    }

    fn take<T: Plain>(&self, to: &CudaSlice<T>, at: usize, from: From<Device, T>) -> Result<(), CudaError> {
        assert!(from.part.end <= from.memory.len() && at + from.part.len() <= to.len(), "a copy lies within memory");
        if from.part.is_empty() {
            return Ok(());
        }
        let size = size_of::<T>();
        let place = |device: &Device, memory, at: usize| GpuDevice::place::<T>(device, memory) + (at * size) as u64;
        let (from_place, to_place) = (place(from.device, from.memory, from.part.start), place(self, to, at));
        let copy = || {
            self.stream.wait(from.event)?;
            self.context.bind_to_thread()?;
            let (own, other, bytes) = (self.context.cu_ctx(), from.device.context.cu_ctx(), from.part.len() * size);
            // SAFETY: both parts lie within memory of their GPU, which lives until the run has ended.
            unsafe {
                cudarc::driver::result::memcpy_peer_async(
                    own,
                    to_place,
                    other,
                    from_place,
                    bytes,
                    self.stream.cu_stream(),
                )
            }
        };
        copy().map_err(|e| failed("data cannot be copied from one GPU to another", e))
    }

    fn wait(&self, event: &CudaEvent) -> Result<(), CudaError> {
        self.stream.wait(event).map_err(|e| failed(FAILED, e))
    }

    fn window(&self, half: usize) -> Result<Window, CudaError> {
        Window::new(self, half)
    }

    fn ipc_handle(window: &Window) -> Vec<u8> {
        window.ipc_handle()
    }

    fn view(&self, ipc_handle: &[u8]) -> Result<View, CudaError> {
        View::open(self, ipc_handle)
    }

    fn fill<T: Plain>(
        &self,
        window: &Window,
        at: usize,
        from: &CudaSlice<T>,
        part: Range<usize>,
    ) -> Result<(), CudaError> {
        assert!(part.end <= from.len(), "a part lies within memory");
        let (place, bytes) = (GpuDevice::place::<T>(self, from), part.len() * size_of::<T>());
        // SAFETY: the part lies within the memory, which lives until the run has ended.
        unsafe { window.fill(self, at, place + (part.start * size_of::<T>()) as u64, bytes) }
    }

    fn pull<T: Plain>(&self, view: &View, at: usize, to: &CudaSlice<T>, part: Range<usize>) -> Result<(), CudaError> {
        assert!(part.end <= to.len(), "a part lies within memory");
        let (place, bytes) = (GpuDevice::place::<T>(self, to), part.len() * size_of::<T>());
        // SAFETY: the part lies within the memory, which lives until the run has ended.
        unsafe { view.pull(self, at, place + (part.start * size_of::<T>()) as u64, bytes) }
    }

    fn mark(&self, window: &Window, mark: Mark) -> Result<(), CudaError> {
        window.mark(self, mark)
    }

    fn wait_for(&self, view: &View, mark: Mark) -> Result<(), CudaError> {
        view.wait_for(self, mark)
    }

    fn reads(&self, other: &Device) -> Result<bool, CudaError> {
        Ok(self.context.ordinal() == other.context.ordinal() || self.link(other)?)
    }

    fn shared_memory(&self) -> Result<usize, CudaError> {
        let most = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        self.context.attribute(most).map(|bytes| bytes as usize).map_err(|e| failed(FAILED, e))
    }

    fn share(&self, kernel: &mut Kernel, bytes: usize) -> Result<(), CudaError> {
        kernel.shared = bytes as u32;
        let most = CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        kernel.function.set_attribute(most, bytes as i32).map_err(|e| failed("the GPU gives a block no such memory", e))
    }

    fn want_shared(&self, kernel: &Kernel) -> Result<(), CudaError> {
        let share = CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        kernel.function.set_attribute(share, 100).map_err(|e| failed("the GPU gives a block no such memory", e))
    }

    fn launch<P: DeviceRepr>(
        &self,
        stream: Stream,
        kernel: &Kernel,
        size: Size,
        problem: &P,
        numbers: &[u32],
    ) -> Result<(), CudaError> {
        let config = LaunchConfig {
            grid_dim: (size.blocks, 1, 1),
            block_dim: (size.threads, 1, 1),
            shared_mem_bytes: kernel.shared,
        };
        let stream = if stream == Stream::Main { &self.stream } else { &self.side };
        let mut launch = stream.launch_builder(&kernel.function);
        launch.arg(problem);
        numbers.iter().for_each(|number| {
            launch.arg(number);
        });
        // SAFETY: the kernels take these arguments, and all places in them lie within what is allocated for the problem.
        unsafe { launch.launch(config) }.map_err(|e| failed("the GPU does not start the kernel", e))?;
        Ok(())
    }

    fn fork(&self) -> Result<(), CudaError> {
        self.side.join(&self.stream).map_err(|e| failed(FAILED, e))
    }

    fn join(&self) -> Result<(), CudaError> {
        self.stream.join(&self.side).map_err(|e| failed(FAILED, e))
    }

    fn finish(&self) -> Result<(), CudaError> {
        let finish = || self.stream.synchronize().and_then(|()| self.side.synchronize());
        finish().map_err(|e| failed(FAILED, e))
    }

    fn event(&self) -> Result<CudaEvent, CudaError> {
        Device::event(self)
    }

    fn seconds(first: &CudaEvent, second: &CudaEvent) -> Result<f64, CudaError> {
        first.elapsed_ms(second).map(|ms| ms as f64 * 1e-3).map_err(|e| failed(FAILED, e))
    }
}
