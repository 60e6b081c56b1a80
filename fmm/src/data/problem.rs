//! The input of an FMM: the positions of sources and targets, and the charges and moments of the sources (RULES H17 to H19).

use super::particles::Columns;

/// The points of a problem in `D` dimensions, in the user's units. Either set may be empty.
#[derive(Clone, Copy, Debug)]
pub struct Geometry<'a, const D: usize = 3> {
    pub sources: [&'a [f64]; D],
    /// Where the field is wanted, if not at the sources.
    pub targets: Option<[&'a [f64]; D]>,
}

impl<'a, C: AsRef<[f64]> + ?Sized, const D: usize> From<[&'a C; D]> for Geometry<'a, D> {
    fn from(sources: [&'a C; D]) -> Geometry<'a, D> {
        Geometry { sources: sources.map(C::as_ref), targets: None }
    }
}

/// Points as columns of their own, for what outlives the caller's.
#[derive(Clone, PartialEq, Debug)]
pub struct Points<const D: usize = 3> {
    pub sources: [Vec<f64>; D],
    /// Where the field is wanted, if not at the sources.
    pub targets: Option<[Vec<f64>; D]>,
}

impl<const D: usize> Points<D> {
    pub fn geometry(&self) -> Geometry<'_, D> {
        Geometry { sources: slices(&self.sources), targets: self.targets.as_ref().map(slices) }
    }
}

fn slices<const D: usize>(columns: &[Vec<f64>; D]) -> [&[f64]; D] {
    columns.each_ref().map(Vec::as_slice)
}

/// The points of a plan: the caller's, or its own.
#[derive(Clone, Debug)]
pub enum Positions<'a, const D: usize = 3> {
    Borrowed(Geometry<'a, D>),
    Owned(Points<D>),
}

impl<const D: usize> Positions<'_, D> {
    pub fn geometry(&self) -> Geometry<'_, D> {
        match self {
            Positions::Borrowed(geometry) => *geometry,
            Positions::Owned(points) => points.geometry(),
        }
    }
}

/// The charges and moments of the sources in one run, in the order of the input: charges, dipole moments in units of charge times
/// length, or both.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    pub charges: Option<&'a [f64]>,
    pub dipoles: Option<Columns<'a>>,
}

impl<'a> From<&'a [f64]> for Sources<'a> {
    fn from(charges: &'a [f64]) -> Sources<'a> {
        Sources { charges: Some(charges), dipoles: None }
    }
}
