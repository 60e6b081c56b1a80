//! Positions, charges and results in a caller's memory on the GPU, in place of the host's.

use super::communicator::Team;
use super::{Amounts, GpuFmm};
use crate::cuda::CudaError;
use crate::cuda::caller::Caller;
use crate::cuda::columns::{self, Copier, Copy, DeviceSlice, own};
use crate::cuda::p2p::Number;
use fmm::data::problem::Points;

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

/// Charges of the sources and the components of dipole moments, or either alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceSources {
    pub charges: Option<DeviceSlice>,
    pub dipoles: Option<[DeviceSlice; 3]>,
}

impl From<DeviceSlice> for DeviceSources {
    fn from(charges: DeviceSlice) -> DeviceSources {
        DeviceSources { charges: Some(charges), dipoles: None }
    }
}

impl DeviceSources {
    /// The columns that there are, with names of arguments.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, DeviceSlice)> {
        let moments = self.dipoles.into_iter().flatten().map(|slice| ("dipoles", slice));
        self.charges.into_iter().map(|slice| ("q", slice)).chain(moments)
    }
}

/// Memory for results at the targets; none for what is not wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceField {
    pub potential: Option<DeviceSlice>,
    pub gradient: Option<[DeviceSlice; 3]>,
    /// xx, xy, xz, yy, yz, zz.
    pub hessian: Option<[DeviceSlice; 6]>,
}

impl DeviceField {
    /// Potential, gradient and second derivatives, with their names.
    pub fn columns(&self) -> [(&'static str, Option<DeviceSlice>); RESULTS] {
        let gradient = self.gradient.map_or([None; 3], |all| all.map(Some));
        let hessian = self.hessian.map_or([None; 6], |all| all.map(Some));
        std::array::from_fn(|k| match k {
            0 => ("potential", self.potential),
            1..=3 => ("gradient", gradient[k - 1]),
            _ => ("hessian", hessian[k - 4]),
        })
    }

    /// The results that are wanted.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, DeviceSlice)> {
        self.columns().into_iter().filter_map(|(name, slice)| Some((name, slice?)))
    }
}

/// Results of a target: potential, gradient and second derivatives.
pub const RESULTS: usize = columns::MOST_COLUMNS;

impl<T: Number, C: Caller> GpuFmm<T, C> {
    /// Takes positions as they are now; targets stand behind sources, and have no charges.
    pub fn take_points(&mut self, team: &Team<C>, copier: &Copier<C>, points: &DevicePoints) -> Result<(), CudaError> {
        let [sources, targets] = points.counts();
        let apart = points.targets.map(|_| targets);
        self.reserve(team, &Amounts { all: sources + targets, sources, targets: apart })?;
        self.take(team, copier, 0, 0, &points.sources)?;
        points.targets.map_or(Ok(()), |columns| self.take(team, copier, 0, sources, &columns))
    }

    /// Takes the same from the host.
    pub fn put_points(&mut self, team: &Team<C>, points: &Points) -> Result<(), CudaError> {
        let Points { sources, targets } = points;
        let [sources_count, apart] = [Some(sources), targets.as_ref()].map(|columns| columns.map(|of| of[0].len()));
        let sources_count = sources_count.unwrap_or(0);
        let all = sources_count + apart.unwrap_or(0);
        self.reserve(team, &Amounts { all, sources: sources_count, targets: apart })?;
        for axis in 0..3 {
            let slices: Vec<&[f64]> =
                [Some(sources), targets.as_ref()].into_iter().flatten().map(|of| &of[axis][..]).collect();
            self.send(team, axis, &slices)?;
        }
        // The host's columns are here until they are there.
        team.devices.iter().try_for_each(C::finish)
    }

    /// Takes charges and dipole moments of the sources; what is not given is 0.
    pub fn take_sources(
        &mut self,
        team: &Team<C>,
        copier: &Copier<C>,
        sources: &DeviceSources,
    ) -> Result<(), CudaError> {
        match sources.charges {
            Some(charges) => self.take(team, copier, 3, 0, &[charges])?,
            None => team.devices[0].clear(&mut self.loaded[0].particles.input[3])?,
        }
        match sources.dipoles {
            Some(moments) => self.take(team, copier, 4, 0, &moments),
            None => self.loaded[0].particles.dipoles.iter_mut().try_for_each(|column| team.devices[0].clear(column)),
        }
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
        let columns = (first..).map(|column| loaded.particles.column(column));
        let copies = slices.iter().zip(columns).map(|(from, to)| Copy::in_from(from, own(device, to, at, 1)));
        copier.copy(device, slices[0].len(), &copies.collect::<Vec<Copy>>())
    }

    /// Writes results of a run, each column times its factor.
    pub fn give(
        &self,
        team: &Team<C>,
        copier: &Copier<C>,
        factors: [f64; RESULTS],
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
