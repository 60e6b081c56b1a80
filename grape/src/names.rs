//! The symbols of the library: each call by its C name, and by its Fortran name, where every argument is an address.

#[allow(clippy::too_many_arguments, reason = "the calls are as old codes have them")]
mod five;
#[allow(clippy::too_many_arguments, reason = "the calls are as old codes have them")]
mod six;

use crate::failure;
use std::ffi::c_int;

/// Defines calls by both names: `value` arguments come as they are in C and by their address in Fortran, `array`s by their address in both.
/// Arguments about
/// whose types codes disagree are left out; the library has no use for them.
macro_rules! calls {
    ($($(#[$doc:meta])* $c:ident $fortran:ident ($($kind:ident $name:ident: $ty:ty),*) $(-> $out:ty)? $body:block)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// Arrays must have as many elements as the numbers beside them say.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $c($($name: crate::names::c_type!($kind $ty)),*) $(-> $out)? {
                $(let $name: $ty = $name;)*
                $body
            }

            /// The same for Fortran.
            ///
            /// # Safety
            /// As above, and every argument must be an address.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $fortran($($name: crate::names::fortran_type!($kind $ty)),*) $(-> $out)? {
                $(let $name: $ty = crate::names::fortran_value!($kind $name);)*
                $body
            }
        )*
    };
}

macro_rules! c_type {
    (value $ty:ty) => {
        $ty
    };
    (array $ty:ty) => {
        $ty
    };
}

macro_rules! fortran_type {
    (value $ty:ty) => { *const $ty };
    (array $ty:ty) => { $ty };
}

macro_rules! fortran_value {
    // SAFETY: Fortran gives addresses of arguments that are there.
    (value $name:ident) => {
        unsafe { *$name }
    };
    (array $name:ident) => {
        $name
    };
}

pub(crate) use {c_type, calls, fortran_type, fortran_value};

/// A number of elements, or an address in the memory of a board.
fn count(name: &str, number: c_int) -> usize {
    usize::try_from(number).unwrap_or_else(|_| failure::end(format_args!("{name} is {number}; give 0 or more")))
}

/// An array of the program's.
///
/// # Safety
/// It must have so many elements, or be null and have none.
unsafe fn array<'a, T>(name: &str, first: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    if first.is_null() {
        failure::end(format_args!("{name} is a null pointer; give the address of {count} elements"));
    }
    // SAFETY: as for this function.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// An array that the program wants filled; null where it does not want it.
///
/// # Safety
/// As for [`array`].
unsafe fn room<'a, T>(first: *mut T, count: usize) -> &'a mut [T] {
    if count == 0 || first.is_null() {
        return &mut [];
    }
    // SAFETY: as for this function.
    unsafe { std::slice::from_raw_parts_mut(first, count) }
}
