//! Arrays, texts and handles of the caller's.

use crate::status::{Failure, input, usage};
use std::borrow::Cow;
use std::ffi::{CStr, c_char};

/// Points in space: coordinates `x[k * stride]` and so on. Three columns have the stride 1, and an array of triples `p` is
/// `x = p, y = p + 1, z = p + 2` with the stride 3.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "it is a name in C")]
pub struct pairforge_points {
    pub x: *const f64,
    pub y: *const f64,
    pub z: *const f64,
    pub count: usize,
    /// From one point to the next, in numbers.
    pub stride: isize,
}

/// A column of numbers for a pin: `mj` for a scalar, `xi[0]` for the first element of a vector.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "it is a name in C")]
pub struct pairforge_column {
    pub name: *const c_char,
    pub values: *const f64,
    pub count: usize,
    /// From one number to the next, in numbers.
    pub stride: isize,
}

/// Whether so many numbers can be there.
fn fits(count: usize, stride: isize) -> Result<(), Failure> {
    let numbers = (count.saturating_sub(1)).checked_mul(stride.unsigned_abs());
    match numbers.is_some_and(|n| n < isize::MAX as usize / 8) {
        true => Ok(()),
        false => input(format!("{count} numbers with the stride {stride} are more than a memory holds")),
    }
}

/// Numbers of the caller's, which are copied only where they are strided.
///
/// # Safety
/// There must be `count` numbers, `stride` apart.
pub unsafe fn numbers<'a>(
    name: &str,
    first: *const f64,
    count: usize,
    stride: isize,
) -> Result<Cow<'a, [f64]>, Failure> {
    if count == 0 {
        return Ok(Cow::Borrowed(&[]));
    }
    if first.is_null() {
        return usage(format!("{name} is a null pointer; give the address of {count} numbers"));
    }
    fits(count, stride)?;
    // SAFETY: the numbers are there, and their places do not overflow.
    unsafe {
        if stride == 1 {
            return Ok(Cow::Borrowed(std::slice::from_raw_parts(first, count)));
        }
        Ok(Cow::Owned((0..count as isize).map(|k| *first.offset(k * stride)).collect()))
    }
}

/// Where results go; a null pointer where they are not wanted.
#[derive(Clone, Copy)]
pub struct Room {
    pub first: *mut f64,
    pub stride: isize,
}

impl Room {
    /// Writes numbers.
    ///
    /// # Safety
    /// There must be room for as many, `stride` apart.
    pub unsafe fn write(self, from: &[f64]) -> Result<(), Failure> {
        if self.first.is_null() || from.is_empty() {
            return Ok(());
        }
        if self.stride == 0 {
            return usage("results with the stride 0 would all go to one place; give 1 for a column");
        }
        fits(from.len(), self.stride)?;
        for (k, value) in from.iter().enumerate() {
            // SAFETY: there is room.
            unsafe { *self.first.offset(k as isize * self.stride) = *value };
        }
        Ok(())
    }
}

/// The columns of points.
///
/// # Safety
/// The points must be there.
pub unsafe fn columns(name: &str, points: &pairforge_points) -> Result<[Vec<f64>; 3], Failure> {
    let column = |axis: &str, first| {
        // SAFETY: as for this function.
        let column = unsafe { numbers(&format!("{axis} of the {name}"), first, points.count, points.stride) };
        column.map(Cow::into_owned)
    };
    Ok([column("x", points.x)?, column("y", points.y)?, column("z", points.z)?])
}

/// A text of the caller's.
///
/// # Safety
/// It must end with a byte 0, or be null.
pub unsafe fn text<'a>(name: &str, of: *const c_char) -> Result<&'a str, Failure> {
    if of.is_null() {
        return usage(format!("{name} is a null pointer; give a text"));
    }
    // SAFETY: it ends with a byte 0.
    let bytes = unsafe { CStr::from_ptr(of) };
    bytes.to_str().or_else(|_| input(format!("{name} is not UTF-8")))
}

/// A thing that a call has made.
///
/// # Safety
/// It must be one that was not freed, or null.
pub unsafe fn handle<'a, T>(name: &str, of: *const T) -> Result<&'a T, Failure> {
    // SAFETY: as for this function.
    unsafe { of.as_ref() }.map_or_else(|| usage(format!("the {name} is a null pointer")), Ok)
}

/// The same, to be changed.
///
/// # Safety
/// As for [`handle`], and nobody else may use it meanwhile.
pub unsafe fn handle_mut<'a, T>(name: &str, of: *mut T) -> Result<&'a mut T, Failure> {
    // SAFETY: as for this function.
    unsafe { of.as_mut() }.map_or_else(|| usage(format!("the {name} is a null pointer")), Ok)
}

/// Things of the caller's, one behind the other.
///
/// # Safety
/// There must be `count` of them.
pub unsafe fn items<'a, T>(name: &str, first: *const T, count: usize) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if first.is_null() {
        return usage(format!("{name} is a null pointer; give the address of {count} of them"));
    }
    // SAFETY: they are there.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}

/// Hands out what a call has made.
///
/// # Safety
/// There must be room for a pointer, or null.
pub unsafe fn hand_out<T>(thing: T, to: *mut *mut T) -> Result<(), Failure> {
    // SAFETY: as for this function.
    let to = unsafe { handle_mut("place of the result", to)? };
    *to = Box::into_raw(Box::new(thing));
    Ok(())
}

/// Frees what a call has made; null is nothing.
///
/// # Safety
/// It must be one that was not freed, or null.
pub unsafe fn free<T>(of: *mut T) {
    if !of.is_null() {
        // SAFETY: it was handed out by `hand_out`.
        let thing = unsafe { Box::from_raw(of) };
        // The end of a thing must not unwind into C.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(thing)));
    }
}
