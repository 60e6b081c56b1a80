//! Positions, charges and results in a caller's memory on the GPU, in place of the host's.

use super::communicator::Team;
use super::{Amounts, GpuFmm};
use crate::cuda::CudaError;
use crate::cuda::caller::Caller;
use crate::cuda::columns::{self, Copier, Copy, DeviceSlice, own};
use crate::cuda::p2p::Number;

/// The points of a problem: columns of x, y and z.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DevicePoints {
    pub sources: [DeviceSlice; 3],
    /// Points where the field is wanted, if not at the sources.
    pub targets: Option<[DeviceSlice; 3]>,
}

impl DevicePoints {
    /// The numbers of sources and of targets that are none.
    pub fn counts(&self) -> [usize; 2] {
        [self.sources[0].len(), self.targets.map_or(0, |targets| targets[0].len())]
    }

    /// Says what is wrong with them, before any GPU is asked.
    pub fn check(&self) -> Result<(), CudaError> {
        let [sources, targets] = self.counts();
        columns::check_lengths(self.sources.map(|slice| ("x", slice)), sources, "sources")?;
        columns::check_lengths(self.targets.into_iter().flatten().map(|slice| ("targets", slice)), targets, "targets")?;
        self.named().try_for_each(|(name, slice)| columns::check_place(name, &slice, false).map(drop))
    }

    /// All columns, with names of arguments.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, DeviceSlice)> {
        let targets = self.targets.into_iter().flatten().map(|slice| ("targets", slice));
        self.sources.into_iter().map(|slice| ("x", slice)).chain(targets)
    }
}

/// Memory for results at the targets; none for what is not wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceField {
    pub potential: Option<DeviceSlice>,
    pub gradient: Option<[DeviceSlice; 3]>,
}

impl DeviceField {
    /// Potential and gradient, with their names.
    pub fn columns(&self) -> [(&'static str, Option<DeviceSlice>); 4] {
        let [x, y, z] = self.gradient.map_or([None; 3], |all| all.map(Some));
        [("potential", self.potential), ("gradient", x), ("gradient", y), ("gradient", z)]
    }

    /// The results that are wanted.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, DeviceSlice)> {
        self.columns().into_iter().filter_map(|(name, slice)| Some((name, slice?)))
    }
}

impl<T: Number, C: Caller> GpuFmm<T, C> {
    /// Takes positions as they are now; targets stand behind sources, and have no charges.
    pub fn take_points(&mut self, team: &Team<C>, copier: &Copier<C>, points: &DevicePoints) -> Result<(), CudaError> {
        let [sources, targets] = points.counts();
        let apart = points.targets.map(|_| targets);
        self.reserve(team, &Amounts { all: sources + targets, sources, targets: apart })?;
        self.take(team, copier, 0, 0, &points.sources)?;
        points.targets.map_or(Ok(()), |columns| self.take(team, copier, 0, sources, &columns))
    }

    /// Takes the charges of the sources.
    pub fn take_charges(&self, team: &Team<C>, copier: &Copier<C>, charges: DeviceSlice) -> Result<(), CudaError> {
        self.take(team, copier, 3, 0, &[charges])
    }

    /// Copies columns to those of the input from a number on, to places from `at` on.
    fn take(
        &self,
        team: &Team<C>,
        copier: &Copier<C>,
        first: usize,
        at: usize,
        slices: &[DeviceSlice],
    ) -> Result<(), CudaError> {
        let (device, loaded) = (&team.devices[0], &self.loaded[0]);
        let columns = &loaded.particles.input[first..];
        let copies = slices.iter().zip(columns).map(|(from, to)| Copy::in_from(from, own(device, to, at, 1)));
        copier.copy(device, slices[0].len(), &copies.collect::<Vec<Copy>>())
    }

    /// Writes results of a run, each column times its factor.
    pub fn give(
        &self,
        team: &Team<C>,
        copier: &Copier<C>,
        factors: [f64; 4],
        field: &DeviceField,
    ) -> Result<(), CudaError> {
        let (device, loaded) = (&team.devices[0], &self.loaded[0]);
        let first = self.first_target();
        let copy = |(k, (_, to)): (usize, (&str, Option<DeviceSlice>))| {
            Some(Copy::out_to(
                own(device, self.results(loaded), self.width() * first + k, self.width()),
                &to?,
                factors[k],
            ))
        };
        let copies: Vec<Copy> = field.columns().into_iter().enumerate().filter_map(copy).collect();
        copier.copy(device, loaded.particles.n - first, &copies)
    }

    fn first_target(&self) -> usize {
        let loaded = &self.loaded[0];
        if loaded.places.is_apart == 0 { 0 } else { loaded.share[0].len() }
    }

    /// The positions that were taken, of sources and of targets that are none.
    pub fn points(&self, team: &Team<C>) -> Result<[[Vec<f64>; 3]; 2], CudaError> {
        let (loaded, sources) = (&self.loaded[0], self.loaded[0].share[0].len());
        let mut found = [(); 2].map(|()| [(); 3].map(|()| Vec::new()));
        for (columns, part) in found.iter_mut().zip([0..sources, sources..loaded.particles.n]) {
            for (column, input) in columns.iter_mut().zip(&loaded.particles.input) {
                *column = team.devices[0].column(input, part.clone())?;
            }
        }
        Ok(found)
    }
}
