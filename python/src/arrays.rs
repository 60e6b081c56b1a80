//! Arrays of NumPy as columns, and columns as arrays.

use crate::errors;
use numpy::ndarray::ArrayView2;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// The columns of an array of rows, in memory of their own. `name` is the argument's.
pub fn columns<const D: usize>(name: &str, rows: &PyReadonlyArray2<'_, f64>) -> PyResult<[Vec<f64>; D]> {
    let rows: ArrayView2<'_, f64> = rows.as_array();
    if rows.ncols() != D {
        return Err(errors::input(format!("`{name}` has {} columns where {D} are needed", rows.ncols())));
    }
    let mut all = [(); D].map(|()| Vec::new());
    for (axis, (to, from)) in all.iter_mut().zip(rows.columns()).enumerate() {
        if to.try_reserve_exact(from.len()).is_err() {
            return Err(errors::input(format!("`{name}` has {} rows, and there is no memory for them", from.len())));
        }
        match from.as_slice() {
            Some(column) => to.extend_from_slice(column),
            None => to.extend(from.iter()),
        }
        if let Some(k) = to.iter().position(|x| !x.is_finite()) {
            return Err(errors::input(format!("`{name}[{k}, {axis}]` is {}; give finite numbers", to[k])));
        }
    }
    Ok(all)
}

/// The numbers of an array that is contiguous. `name` is the argument's.
pub fn finite<'a>(name: &str, numbers: &'a PyReadonlyArray1<'_, f64>) -> PyResult<&'a [f64]> {
    let all = numbers.as_slice().map_err(|_| errors::input(format!("`{name}` is not contiguous")))?;
    // Without a way out of the loop it is one of vectors.
    if !all.iter().fold(true, |all, x| all & x.is_finite()) {
        let k = all.iter().position(|x| !x.is_finite()).unwrap_or(0);
        return Err(errors::input(format!("`{name}[{k}]` is {}; give finite numbers", all[k])));
    }
    Ok(all)
}

/// An array that takes over a column.
pub fn vector(py: Python<'_>, column: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    PyArray1::from_vec(py, column)
}

/// An array of (n, `columns`) that takes over columns which follow each other: a transposed view of them.
pub fn matrix<'py>(py: Python<'py>, all: Vec<f64>, columns: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let n = all.len() / columns;
    PyArray1::from_vec(py, all).reshape([columns, n])?.transpose()
}

/// `N` columns of one piece of memory.
pub fn split<const N: usize>(all: &mut [f64]) -> [&mut [f64]; N] {
    let n = all.len() / N;
    let mut rest = all;
    [(); N].map(|()| {
        let (column, behind) = std::mem::take(&mut rest).split_at_mut(n);
        rest = behind;
        column
    })
}

/// Zeros, or an exception where there is no memory for them.
pub fn zeros(n: usize) -> PyResult<Vec<f64>> {
    let mut all: Vec<f64> = Vec::new();
    all.try_reserve_exact(n).map_err(|_| errors::input(format!("there is no memory for {n} results")))?;
    drop(all);
    Ok(vec![0.0; n])
}
