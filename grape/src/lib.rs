//! The calls of GRAPE-5 and GRAPE-6, so that codes written for these machines link onto any backend of Pairforge.
//!
//! A GRAPE is a board that sums the field of sources in its memory (j) at targets that the host sends (i). The calls of its
//! libraries are still what many N-body codes are written for. Here they go to [`grape5`] and [`grape6`], each a set of boards with
//! a number, and from there to native code or to the kernels `grape5` and `grape6` in a [`pairforge::kernel::Session`].
//!
//! `names` has the symbols: each call by its C name and by its Fortran name. They call nothing but functions of this crate, since a program
//! may define some of the same names itself, which then take the place of these in the whole process.

mod backend;
mod failure;
mod grape5;
mod grape6;
mod names;
mod numbered;
mod scale;
