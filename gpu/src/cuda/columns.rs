//! Columns of numbers that a caller has on a GPU, and copies between them and those of an FMM there.

use super::CudaError;
use super::caller::Caller;
use super::compile::Arithmetic;
use super::device::{Device, failed};
use super::gpu_device::{GpuDevice, Plain, Size, Stream};
use cudarc::driver::{CudaSlice, DeviceRepr, ValidAsZeroBits};
use fmm::octree::Precision;
use pg2::backend::cuda::prelude;

const TEXT: &str = include_str!("../../templates/columns.cu");

/// Columns of a copy at most: potential, gradient and second derivatives.
pub const MOST_COLUMNS: usize = 10;

/// Numbers on a GPU: the address of the first one, how many there are, and the distance from one to the next in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceSlice {
    address: u64,
    len: usize,
    stride: isize,
    precision: Precision,
    device: Option<usize>,
}

impl DeviceSlice {
    /// Numbers one behind the other. Their GPU is the one that the address belongs to, unless [`DeviceSlice::on`] names it.
    ///
    /// # Safety
    /// The numbers must stay in memory while a call uses them, and nothing else may write there meanwhile, or read where a call writes.
    pub unsafe fn new(address: u64, len: usize, precision: Precision) -> DeviceSlice {
        DeviceSlice { address, len, stride: 1, precision, device: None }
    }

    /// Every `stride`-th number: 3 for a coordinate of an array of points.
    pub fn stride(self, stride: isize) -> DeviceSlice {
        DeviceSlice { stride, ..self }
    }

    /// The number of the GPU, from 0.
    pub fn on(self, device: usize) -> DeviceSlice {
        DeviceSlice { device: Some(device), ..self }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    /// The GPU that was named.
    pub fn device(&self) -> Option<usize> {
        self.device
    }

    /// The bytes of a number.
    pub fn bytes(&self) -> u64 {
        if self.precision == Precision::F32 { 4 } else { 8 }
    }

    /// The first byte of all numbers and how many bytes they span, if there are addresses for them.
    pub fn span(&self) -> Result<(u64, u64), String> {
        let address = self.address;
        if address == 0 && self.len > 0 {
            return Err("is a null pointer".into());
        }
        if !address.is_multiple_of(self.bytes()) {
            return Err(format!("is at the address {address:#x}, which is no multiple of {}", self.bytes()));
        }
        let last = (self.len.saturating_sub(1) as u64).checked_mul(self.stride.unsigned_abs() as u64);
        let span = last.and_then(|last| last.checked_mul(self.bytes())).filter(|span| *span < 1 << 62);
        let low = match (self.stride < 0, span) {
            (_, None) => None,
            (true, Some(span)) => address.checked_sub(span),
            (false, Some(_)) => Some(address),
        };
        let found = low.zip(span).filter(|(low, span)| low.checked_add(span + self.bytes()).is_some());
        let (low, span) = found.ok_or_else(|| {
            format!("has {} numbers with the stride {}, more than a memory holds", self.len, self.stride)
        })?;
        Ok((low, if self.len == 0 { 0 } else { span + self.bytes() }))
    }

    /// Whether numbers that are written there would meet each other.
    fn is_piled(&self) -> bool {
        self.stride == 0 && self.len > 1
    }

    fn column(&self) -> Column {
        let is_single = (self.precision == Precision::F32) as u64;
        Column { place: self.address, stride: self.stride as i64, is_single }
    }
}

fn refused<T>(name: &str, why: impl std::fmt::Display) -> Result<T, CudaError> {
    Err(CudaError::Refused(format!("`{name}` {why}")))
}

/// Says what is wrong with numbers of a caller's, by the name of the argument, before any GPU is asked: the bytes that they span.
pub fn check_place(name: &str, slice: &DeviceSlice, is_written: bool) -> Result<(u64, u64), CudaError> {
    if is_written && slice.is_piled() {
        return refused(name, "has the stride 0, so that all results would go to one place");
    }
    slice.span().or_else(|why| refused(name, why))
}

/// Says that there are more or fewer numbers than `n` points of a kind need.
pub fn check_lengths<'a>(
    slices: impl IntoIterator<Item = (&'a str, DeviceSlice)>,
    n: usize,
    what: &str,
) -> Result<(), CudaError> {
    match slices.into_iter().find(|(_, slice)| slice.len() != n) {
        None => Ok(()),
        Some((name, slice)) => refused(name, format!("has {} numbers for {n} {what}; give as many", slice.len())),
    }
}

/// Says what is wrong with numbers of a caller's if they cannot be read on a GPU, or written there.
pub fn check<C: Caller>(device: &C, name: &str, slice: &DeviceSlice, is_written: bool) -> Result<(), CudaError> {
    let own = device.number();
    if let Some(other) = slice.device.filter(|other| *other != own) {
        return refused(name, format!("is on GPU {other}, and others on GPU {own}; bring all to one GPU"));
    }
    match check_place(name, slice, is_written)? {
        (_, 0) => Ok(()),
        (first, bytes) => device.lacks(first, bytes).map_or(Ok(()), |why| refused(name, why)),
    }
}

/// A column as the kernel knows it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Column {
    place: u64,
    stride: i64,
    is_single: u64,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Problem {
    from: [Column; MOST_COLUMNS],
    to: [Column; MOST_COLUMNS],
    factor: [f64; MOST_COLUMNS],
    count: u64,
    n: u64,
}

// SAFETY: plain numbers in the order of the kernel's struct, of which all zeros are one.
unsafe impl DeviceRepr for Problem {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for Problem {}

impl Problem {
    /// Columns of `n` numbers each, with where they go and the factors for them.
    pub(super) fn new(n: usize, copies: &[Copy]) -> Problem {
        let mut problem = Problem { count: copies.len() as u64, n: n as u64, ..Problem::default() };
        for (k, copy) in copies.iter().enumerate() {
            (problem.from[k], problem.to[k], problem.factor[k]) = (copy.from, copy.to, copy.factor);
        }
        problem
    }
}

/// The text of the kernels of columns, of which each result is that of the CPU.
pub(super) fn text() -> String {
    format!("{}\n#define MOST_COLUMNS {MOST_COLUMNS}\n{TEXT}", prelude())
}

/// A column of an FMM's own memory.
pub fn own<C: GpuDevice, T: Plain>(device: &C, memory: &C::Memory<T>, first: usize, stride: usize) -> Column {
    let size = size_of::<T>();
    Column { place: device.place(memory) + (first * size) as u64, stride: stride as i64, is_single: (size == 4) as u64 }
}

/// Numbers to copy: a column, where they go, and the factor for them.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    pub from: Column,
    pub to: Column,
    pub factor: f64,
}

impl Copy {
    pub fn between(from: &DeviceSlice, to: &DeviceSlice, factor: f64) -> Copy {
        Copy { from: from.column(), to: to.column(), factor }
    }

    pub fn in_from(from: &DeviceSlice, to: Column) -> Copy {
        Copy { from: from.column(), to, factor: 1.0 }
    }

    pub fn out_to(from: Column, to: &DeviceSlice, factor: f64) -> Copy {
        Copy { from, to: to.column(), factor }
    }
}

/// The kernel that copies columns.
pub struct Copier<C: GpuDevice> {
    kernel: C::Kernel,
}

impl<C: GpuDevice> Copier<C> {
    pub fn new(device: &C) -> Result<Copier<C>, CudaError> {
        Ok(Copier { kernel: device.kernel(&text(), "columns", Arithmetic::Exact)? })
    }

    /// Copies up to [`MOST_COLUMNS`] columns of `n` numbers each, behind what was asked for before.
    pub fn copy(&self, device: &C, n: usize, copies: &[Copy]) -> Result<(), CudaError> {
        self.start(device, n, copies, 0)
    }

    /// Adds them to what is there.
    pub fn add(&self, device: &C, n: usize, copies: &[Copy]) -> Result<(), CudaError> {
        self.start(device, n, copies, 1)
    }

    fn start(&self, device: &C, n: usize, copies: &[Copy], adds: u32) -> Result<(), CudaError> {
        if n == 0 || copies.is_empty() {
            return Ok(());
        }
        device.launch(Stream::Main, &self.kernel, Size::of_threads(n), &Problem::new(n, copies), &[adds])
    }
}

/// Memory on a GPU that is handed out to a caller.
pub struct Memory {
    bytes: CudaSlice<u8>,
    address: u64,
    len: usize,
}

impl Memory {
    /// So many bytes, all zeros, once this returns.
    pub fn new(device: &Device, len: usize) -> Result<Memory, CudaError> {
        device.check_capacity(len as u64, "an array")?;
        let bytes = device.allocate::<u8>(len)?;
        device.finish()?;
        Ok(Memory { address: GpuDevice::place::<u8>(device, &bytes), bytes, len })
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    /// A copy on the host, after all work on the GPU.
    pub fn fetch(&self) -> Result<Vec<u8>, CudaError> {
        let mut bytes = vec![0; self.len];
        let mut fetch = || {
            self.bytes.context().synchronize()?;
            match self.len {
                0 => Ok(()),
                _ => self.bytes.stream().memcpy_dtoh(&self.bytes.slice(..self.len), &mut bytes),
            }?;
            self.bytes.stream().synchronize()
        };
        fetch().map_err(|e| failed("the GPU failed", e))?;
        Ok(bytes)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Other streams may still use it. If the GPU failed, none does.
        let _ = self.bytes.context().synchronize();
    }
}
