//! The tables of an order on the GPU: operators, matrices of M2L, and the steps between cells.

use super::black_box::{Expanded, Sets};
use super::text::{Shape, Slopes};
use crate::cuda::CudaError;
use crate::cuda::gpu_device::{GpuDevice, Plain};
use crate::cuda::p2p::Number;
use fmm::expansion::solid::dense::Dense;

/// A step of the list of an octant: the source from the target, its matrix, and how many of its columns are not 0.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub d: [i32; 3],
    pub matrix: i32,
    pub columns: i32,
}

impl Step {
    /// The numbers that kernels read.
    pub fn numbers(&self) -> [i32; 5] {
        let Step { d: [x, y, z], matrix, columns } = *self;
        [x, y, z, matrix, columns]
    }
}

pub struct Tables<T: Plain, C: GpuDevice> {
    pub up: C::Memory<T>,
    pub down: C::Memory<T>,
    pub matrices: C::Memory<T>,
    pub slopes: C::Memory<T>,
    pub steps: C::Memory<i32>,
    /// The steps that stand there, from which those of a kernel are made.
    pub listed: Vec<Step>,
    pub slope_terms: C::Memory<i32>,
    /// The numbers of a kernel that is not 1/r, and what they and `matrices` are for, once they are there.
    pub law: C::Memory<f64>,
    pub of: Option<Expanded>,
    /// The sets that `matrices` are sums of, where other sums of them may follow.
    pub sets: Option<Sets<C>>,
}

/// Addresses of tables, as they follow each other in the arguments of the kernels of both trees.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct TablePlaces {
    pub up: u64,
    pub down: u64,
    pub matrices: u64,
    pub slopes: u64,
    pub steps: u64,
    pub slope_terms: u64,
}

/// The input of the kernel that makes the matrices of M2L, in the places of tables that it stands for, and where they come, in blocks of a
/// row each: derivatives for `up`, weights for `down`, orders for `steps`.
pub struct Making {
    pub places: TablePlaces,
    pub rows: usize,
}

impl<T: Number, C: GpuDevice> Tables<T, C> {
    /// Of wide products the GPU makes the matrices itself, by `make`.
    pub fn new(
        device: &C,
        dense: &Dense,
        shape: &Shape,
        make: impl FnOnce(&Making) -> Result<(), CudaError>,
    ) -> Result<Tables<T, C>, CudaError> {
        let is_wide = shape.is_wide();
        let matrices = match is_wide {
            // Those of a kernel follow.
            _ if shape.basis.is_of_kernel() => device.allocate(0)?,
            true => Self::made(device, dense, shape, make)?,
            false => device.send(&Self::matrices(dense, shape))?,
        };
        let rounded = |all: &[Vec<f64>]| if is_wide { Self::by_rows(all, shape) } else { Self::as_they_are(all) };
        let step = |k: &usize| {
            let offset = &dense.offsets[*k];
            Step { d: offset.at.map(|x| -x as i32), matrix: *k as i32, columns: offset.terms as i32 }
        };
        let steps: Vec<Step> = dense.lists.iter().flatten().map(step).collect();
        let numbers: Vec<i32> = steps.iter().flat_map(Step::numbers).collect();
        let (mut slopes, mut slope_terms) = (Vec::new(), Vec::new());
        let Slopes { rows, most } = Slopes::new(dense, shape.wanted);
        for entries in &rows {
            let filled = (0..most).map(|k| entries.get(k).copied().unwrap_or((0, 0.0)));
            filled.for_each(|(term, factor)| {
                slopes.push(T::of(factor));
                slope_terms.push(term as i32);
            });
        }
        Ok(Tables {
            up: device.send(&rounded(&dense.up))?,
            down: device.send(&rounded(&dense.down))?,
            matrices,
            slopes: device.send(&slopes)?,
            steps: device.send(&numbers)?,
            listed: steps,
            slope_terms: device.send(&slope_terms)?,
            law: device.allocate(0)?,
            of: None,
            sets: None,
        })
    }

    /// The matrices of M2L, row after row, with zeros behind each row.
    fn matrices(dense: &Dense, shape: &Shape) -> Vec<T> {
        let mut matrices = Vec::with_capacity(dense.offsets.len() * shape.terms * shape.pitch);
        for row in dense.offsets.iter().flat_map(|o| o.matrix.chunks_exact(shape.terms)) {
            matrices.extend(row.iter().map(|x| T::of(*x)));
            matrices.resize(matrices.len() + shape.pitch - shape.terms, T::default());
        }
        matrices
    }

    /// The same, made on the GPU.
    fn made(
        device: &C,
        dense: &Dense,
        shape: &Shape,
        make: impl FnOnce(&Making) -> Result<(), CudaError>,
    ) -> Result<C::Memory<T>, CudaError> {
        let rows = dense.offsets.len() * shape.terms;
        device.check_capacity((rows * shape.pitch * size_of::<T>()) as u64, "an order as high as this")?;
        let matrices = device.allocate(rows * shape.pitch)?;
        let derivatives: Vec<f64> = dense.offsets.iter().flat_map(|o| o.derivatives.iter().copied()).collect();
        let orders: Vec<i32> = dense.offsets.iter().map(|o| o.order as i32).collect();
        let (derivatives, weights) = (device.send(&derivatives)?, device.send(&dense.weights)?);
        let orders = device.send(&orders)?;
        let [derivatives_at, weights_at] = [&derivatives, &weights].map(|memory| device.place(memory));
        let (orders_at, to) = (device.place(&orders), device.place(&matrices));
        let places = TablePlaces {
            up: derivatives_at,
            down: weights_at,
            steps: orders_at,
            matrices: to,
            ..TablePlaces::default()
        };
        make(&Making { places, rows })?;
        // What it reads goes now.
        device.finish()?;
        Ok(matrices)
    }

    pub fn places(&self, device: &C) -> TablePlaces {
        TablePlaces {
            up: device.place(&self.up),
            down: device.place(&self.down),
            matrices: device.place(&self.matrices),
            slopes: device.place(&self.slopes),
            steps: device.place(&self.steps),
            slope_terms: device.place(&self.slope_terms),
        }
    }

    /// Operators column after column.
    fn as_they_are(all: &[Vec<f64>]) -> Vec<T> {
        all.iter().flatten().map(|x| T::of(*x)).collect()
    }

    /// Operators row after row, with zeros behind each row.
    fn by_rows(all: &[Vec<f64>], shape: &Shape) -> Vec<T> {
        let Shape { terms, pitch, .. } = *shape;
        let mut rows = vec![T::default(); all.len() * terms * pitch];
        for (to, columns) in rows.chunks_exact_mut(terms * pitch).zip(all) {
            for (row, to) in to.chunks_exact_mut(pitch).enumerate() {
                to.iter_mut().zip(columns[row..].iter().step_by(terms)).for_each(|(to, x)| *to = T::of(*x));
            }
        }
        rows
    }
}
