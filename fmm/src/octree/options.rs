//! The options of an FMM plan, and the checks of options and input.

use crate::arith::scale::{exponent, ldexp};
use crate::data::particles::Columns;
use crate::data::periodic::Periodic;
use crate::data::problem::{Geometry, Sources};
use crate::expansion::basis::Basis;
use crate::expansion::chebyshev;
use crate::expansion::solid::m2l::{M2lBy, least_by_waves};
use crate::octree::executor::Executor;
use crate::octree::field::beyond;
use crate::octree::{Cancel, Coincident, FmmError, Outputs, Plan, periodic};
use crate::tree::boxmap::BoxMap;
use crate::tree::charges::{self, Ends};
use crate::tree::lists::near2;

/// Arithmetic of P2P and M2L on the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Precision {
    F32,
    #[default]
    F64,
}

/// The options of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct FmmOptions {
    /// Order P, 1 to that of [`Basis::max_order`].
    pub order: usize,
    /// M2L of solid harmonics takes the order below between cells at offsets d with d.d above this, which is a step between two
    /// orders. Of offsets with the same d.d, those with their longest component along y count 1/4 less, and those along z 1/2. Plane waves have
    /// one order at all offsets: with this, M2L goes by matrices.
    pub lower_beyond: Option<f64>,
    /// The translation of M2L in solid harmonics.
    pub m2l_by: M2lBy,
    /// Opening angle in (0, 0.5].
    pub theta: f64,
    /// Particles up to which a cell stays a leaf.
    pub leaf: usize,
    /// The edge of the root cell in edges of the particles' box, from 1 to below 2: of uniform particles the cells of a level hold
    /// so many that far and near field cost least together, where powers of two of an edge would leave too many or too few. Only
    /// without periods.
    pub enlarge: f64,
    pub precision: Precision,
    pub basis: Basis,
    /// Softening length, in the user's units. Where that of the far field matters, a plan takes [`Basis::Softened`].
    pub eps: f64,
    /// Whether pairs at distance 0 act by a P2P kernel that is not 0 there.
    pub coincident: Coincident,
    /// Leave out the far field: for kernels that are not 1/r.
    pub near_only: bool,
    /// Periodic boundaries.
    pub periodic: Option<Periodic>,
    /// The values of the P2P kernel's own parameters, by name.
    pub params: Vec<(String, f64)>,
    /// Ends a run between two stages.
    pub cancel: Cancel,
}

impl Default for FmmOptions {
    fn default() -> FmmOptions {
        FmmOptions {
            order: 4,
            lower_beyond: None,
            m2l_by: M2lBy::default(),
            theta: 0.5,
            leaf: 64,
            enlarge: 1.0,
            precision: Precision::F64,
            basis: Basis::Cartesian,
            eps: 0.0,
            coincident: Coincident::default(),
            near_only: false,
            periodic: None,
            params: Vec::new(),
            cancel: Cancel::default(),
        }
    }
}

impl FmmOptions {
    /// The root cell over points, with periodic boundaries a period.
    pub fn root(&self, sets: &[Columns]) -> BoxMap {
        BoxMap::root(sets, self.periodic.as_ref(), self.enlarge)
    }

    /// The highest order that is possible: for a black-box expansion, of which there are tables.
    pub fn max_order(&self) -> usize {
        let most = self.basis.max_order();
        let fits = |order: &usize| self.table_bytes(*order) <= MOST_TABLES;
        match self.basis {
            Basis::Chebyshev => (1..=most).rev().find(fits).unwrap_or(1),
            _ => most,
        }
    }

    /// The order from which on M2L goes by plane waves, if there is one.
    pub fn least_by_waves(&self) -> Option<usize> {
        let is_solid = matches!(self.basis, Basis::Solid | Basis::Softened);
        let may_be = self.precision == Precision::F64 && is_solid && self.m2l_by == M2lBy::Cheapest;
        least_by_waves(near2(self.theta)).filter(|_| may_be)
    }

    /// Whether M2L goes by plane waves.
    pub fn has_waves(&self) -> bool {
        self.lower_beyond.is_none() && self.least_by_waves().is_some_and(|least| self.order >= least)
    }

    /// The same in f64, with expansions that are cut off alike: results differ by rounding alone.
    pub fn in_f64(&self) -> FmmOptions {
        let m2l_by = if self.has_waves() { self.m2l_by } else { M2lBy::Matrices };
        FmmOptions { precision: Precision::F64, m2l_by, ..self.clone() }
    }

    /// About how many bytes the tables of a level take at most.
    fn table_bytes(&self, order: usize) -> f64 {
        match self.basis {
            Basis::Solid | Basis::Cartesian | Basis::Softened => 0.0,
            Basis::Chebyshev => chebyshev::table_bytes(order, near2(self.theta)),
        }
    }

    /// Says which option is out of its range.
    pub fn check(&self) -> Result<(), FmmError> {
        let wrong = |what: String| Err(FmmError::Option(what));
        let most = self.basis.max_order();
        if !(1..=most).contains(&self.order) {
            return wrong(format!("the order must be 1 to {most}, not {}", self.order));
        }
        if self.lower_beyond.is_some_and(|d| !(0.0..=1e9).contains(&d)) {
            let given = self.lower_beyond.unwrap_or_default();
            return wrong(format!("M2L takes a lower order beyond an offset d with d.d from 0 to 1e9, not {given:?}"));
        }
        if self.lower_beyond.is_some() && !matches!(self.basis, Basis::Solid | Basis::Softened) {
            return wrong(
                "M2L takes a lower order beyond some offset with solid harmonics alone; take --expansion solid".into(),
            );
        }
        if !(self.theta > 0.0 && self.theta <= 0.5) {
            return wrong(format!("theta must be above 0 and at most 0.5, not {:?}", self.theta));
        }
        let tables = self.table_bytes(self.order);
        if tables > MOST_TABLES {
            return wrong(format!(
                "the expansion in Chebyshev polynomials would need tables of {:.0} GB a level for order {} and theta {}; give a \
                 lower order or a larger theta",
                tables / 1e9,
                self.order,
                self.theta
            ));
        }
        if self.leaf == 0 {
            return wrong("a leaf must be allowed at least one particle".into());
        }
        if !(1.0..2.0).contains(&self.enlarge) {
            return wrong(format!(
                "the root cell can be enlarged 1 to below 2 times, not {:?}; from 2 on it has only more empty cells",
                self.enlarge
            ));
        }
        if !(self.eps >= 0.0 && self.eps.is_finite()) {
            return wrong(format!("the softening length must be finite and not negative, not {:?}", self.eps));
        }
        self.periodic.iter().try_for_each(|p| periodic::check(p, self))
    }
}

/// Bytes of the tables of a level that a black-box expansion may have.
const MOST_TABLES: f64 = 1e9;

/// Particles that the tree can number.
pub const MOST_PARTICLES: usize = (u32::MAX / 2) as usize;

/// The least charge in units of the largest that the far field keeps.
const LEAST_CHARGE: f64 = 1e-270;

fn wrong<T>(what: String) -> Result<T, FmmError> {
    Err(FmmError::Range(what))
}

pub fn check_positions(geometry: Geometry) -> Result<(), FmmError> {
    for (name, points) in [("sources", Some(geometry.sources)), ("targets", geometry.targets)] {
        let Some(points) = points else { continue };
        let n = points[0].len();
        if n > MOST_PARTICLES {
            return wrong(format!("{n} {name} are more than the {MOST_PARTICLES} that are possible"));
        }
        if points.iter().any(|c| c.len() != n) {
            return wrong(format!("there must be as many y and z coordinates of {name} as x coordinates"));
        }
        if beyond(&points).is_some() {
            return wrong("coordinates and charges must be finite numbers".into());
        }
    }
    Ok(())
}

pub(super) fn check_run(
    plan: &Plan,
    sources: &[Sources],
    executors: &[&mut dyn Executor<Plan>],
    out: &[Outputs],
) -> Result<(), FmmError> {
    if sources.len() != out.len() {
        return wrong(format!("there is room for the results of {} sets of {} of charges", out.len(), sources.len()));
    }
    let wanted = Wanted {
        dipoles: sources.iter().any(|s| s.dipoles.is_some()),
        hessian: out.iter().any(|out| out.hessian.is_some()),
    };
    check_executors(&plan.options, wanted, executors)?;
    out.iter().try_for_each(|out| check_capacity(plan, out))?;
    sources.iter().try_for_each(|sources| check_charges(plan, sources))
}

/// The results and inputs that native code alone supports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    pub dipoles: bool,
    pub hessian: bool,
}

/// Refuses dipoles and Hessians where the executors of a run cannot compute them.
pub fn check_executors(
    options: &FmmOptions,
    wanted: Wanted,
    executors: &[&mut dyn Executor<Plan>],
) -> Result<(), FmmError> {
    let what = match (wanted.dipoles, wanted.hessian) {
        (false, false) => return Ok(()),
        (true, _) => "dipoles",
        (false, true) => "Hessians",
    };
    if !executors.is_empty() {
        return Err(FmmError::Option(format!(
            "kernels have no pins for {what}; compute them natively, with --backend cpu and no kernel"
        )));
    }
    if options.basis == Basis::Chebyshev {
        return Err(FmmError::Option(format!(
            "the black-box expansion is made from a kernel, which has no pins for {what}; take --expansion cartesian or solid"
        )));
    }
    Ok(())
}

fn check_capacity(plan: &Plan, out: &Outputs) -> Result<(), FmmError> {
    let columns = [&out.potential[..], &*out.gradient[0], &*out.gradient[1], &*out.gradient[2]];
    let lengths = columns.into_iter().chain(out.hessian.iter().flatten().map(|h| &**h)).map(<[f64]>::len);
    let n = plan.tree.targets().len();
    match lengths.into_iter().find(|length| *length != n) {
        Some(length) => wrong(format!("there is room for {length} results of {n} particles")),
        None => Ok(()),
    }
}

fn check_charges(plan: &Plan, sources: &Sources) -> Result<(), FmmError> {
    let n = plan.tree.len();
    let columns = || sources.charges.into_iter().chain(sources.dipoles.into_iter().flatten());
    if let Some(column) = columns().find(|column| column.len() != n) {
        return wrong(format!("{} charges were given for {n} particles", column.len()));
    }
    if beyond(&columns().collect::<Vec<_>>()).is_some() {
        return wrong("coordinates and charges must be finite numbers".into());
    }
    if sources.dipoles.is_some() {
        return check_span(charges::span(&plan.tree.map, sources));
    }
    check_ends(&Ends::of(sources))
}

/// Refuses charges and dipole moments of which some are lost beside others, given the powers of two of the largest and the least.
pub fn check_span(span: Option<[i32; 2]>) -> Result<(), FmmError> {
    match span {
        Some([most, least]) if ldexp(1.0, least.saturating_sub(most)) < LEAST_CHARGE => wrong(format!(
            "charges or dipole moments are lost beside others that are 2^{} times as large, in units of the box's length, \
                 since f64 holds numbers that are up to 1e270 apart; leave them out, or give 0 for them",
            most - least
        )),
        _ => Ok(()),
    }
}

/// The same for charges.
pub fn check_ends(ends: &Ends) -> Result<(), FmmError> {
    let Ends { largest, smallest: least, .. } = *ends;
    if least < largest && ldexp(least, -exponent(largest)) < LEAST_CHARGE {
        return wrong(format!(
            "charges as small as {least:e} are lost beside one of {largest:e}, since f64 holds numbers that are up to 1e270 \
             apart; leave them out, or give 0 for them"
        ));
    }
    Ok(())
}
