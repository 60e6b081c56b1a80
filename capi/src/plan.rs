//! Plans of the Fast Multipole Method.

use crate::arrays::{Room, columns, free, hand_out, handle, handle_mut, items, numbers, pairforge_points};
use crate::options::pairforge_options;
use crate::status::{Failure, call, input, pairforge_status, usage};
use fmm::data::particles::Field;
use fmm::direct::summation::Direct;
use pairforge::fmm::{Fmm, Options, Plan, Points, Sources};
use std::borrow::Cow;

/// Sources and targets at fixed positions, for any number of sets of charges. Runs of one plan and of several can go on at once in any
/// number of threads; freeing and updating a plan is for one thread while no other uses it.
#[allow(non_camel_case_types, reason = "it is a name in C")]
pub struct pairforge_plan {
    plan: Plan<'static>,
    sources: usize,
    targets: usize,
}

/// Results at the targets, each at `[k * stride]`; null pointers for what is not wanted. Potentials are sums of q / |x_j - x_i| over all
/// other sources, and gradients are those with respect to x_i.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "it is a name in C")]
pub struct pairforge_field {
    pub potential: *mut f64,
    pub gx: *mut f64,
    pub gy: *mut f64,
    pub gz: *mut f64,
    /// xx, xy, xz, yy, yz, zz of the Hessian, where the option `hessian` asks for it.
    pub hessian: [*mut f64; 6],
    /// The number of targets.
    pub count: usize,
    pub potential_stride: isize,
    pub gradient_stride: isize,
    pub hessian_stride: isize,
}

/// Loads of the sources: charges at `charges[k * charge_stride]`, dipole moments (charge times length) at `px[k * dipole_stride]` and so
/// on, or both. Null pointers for what they do not carry.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "it is a name in C")]
pub struct pairforge_sources {
    pub charges: *const f64,
    pub px: *const f64,
    pub py: *const f64,
    pub pz: *const f64,
    /// The number of sources.
    pub count: usize,
    pub charge_stride: isize,
    pub dipole_stride: isize,
}

/// The numbers of a set, copied where they are strided.
struct Set<'a> {
    charges: Option<Cow<'a, [f64]>>,
    dipoles: Option<[Cow<'a, [f64]>; 3]>,
}

impl Set<'_> {
    fn sources(&self) -> Sources<'_> {
        Sources { charges: self.charges.as_deref(), dipoles: self.dipoles.as_ref().map(|p| p.each_ref().map(|p| &**p)) }
    }

    fn is_finite(&self) -> bool {
        let moments = self.dipoles.iter().flatten();
        self.charges.iter().chain(moments).all(|numbers| numbers.iter().all(|x| x.is_finite()))
    }
}

impl pairforge_sources {
    /// # Safety
    /// The numbers must be there.
    unsafe fn set<'a>(&self, sources: usize) -> Result<Set<'a>, Failure> {
        let pairforge_sources { charges, px, py, pz, count, charge_stride, dipole_stride } = *self;
        if count != sources {
            return input(format!("there are {count} charges or moments of {sources} sources; give as many"));
        }
        if [px, py, pz].iter().any(|p| p.is_null()) && [px, py, pz].iter().any(|p| !p.is_null()) {
            return usage(
                "a column of dipole moments is a null pointer, and another is not; give px, py and pz or none",
            );
        }
        if charges.is_null() && px.is_null() && count > 0 {
            return usage("charges and dipole moments are null pointers; give one of them");
        }
        // SAFETY: as for this function.
        unsafe {
            let charges = match charges.is_null() && !px.is_null() {
                true => None,
                false => Some(numbers("charges", charges, count, charge_stride)?),
            };
            let moments = |name, first| numbers(name, first, count, dipole_stride);
            let dipoles = match px.is_null() {
                true => None,
                false => Some([moments("px", px)?, moments("py", py)?, moments("pz", pz)?]),
            };
            Ok(Set { charges, dipoles })
        }
    }
}

/// # Safety
/// The points must be there; `targets` may be null.
unsafe fn points(sources: *const pairforge_points, targets: *const pairforge_points) -> Result<Points, Failure> {
    // SAFETY: as for this function.
    unsafe {
        let sources = columns("sources", handle("sources", sources)?)?;
        let targets = targets.as_ref().map(|targets| columns("targets", targets)).transpose()?;
        let not_finite = |[x, y, z]: &[Vec<f64>; 3]| x.iter().chain(y).chain(z).any(|x| !x.is_finite());
        if not_finite(&sources) || targets.as_ref().is_some_and(not_finite) {
            return input("a coordinate is not finite");
        }
        Ok(Points { sources, targets })
    }
}

fn counts(points: &Points) -> (usize, usize) {
    let sources = points.sources[0].len();
    (sources, points.targets.as_ref().map_or(sources, |targets| targets[0].len()))
}

/// Makes a plan for `sources`, which are the targets too where `targets` is null. `options` may be null for none. The plan keeps
/// copies.
///
/// # Safety
/// The points must be there, and `plan` must be room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_plan_new(
    sources: *const pairforge_points,
    targets: *const pairforge_points,
    options: *const pairforge_options,
    plan: *mut *mut pairforge_plan,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let points = points(sources, targets)?;
            let none = Options::default();
            let fmm = Fmm::new(options.as_ref().map_or(&none, |options| &options.0))?;
            let (sources, targets) = counts(&points);
            hand_out(pairforge_plan { plan: fmm.plan_owned(points), sources, targets }, plan)
        }
    })
}

/// Gives a plan other points, as many or not. It keeps its options, and with a tolerance what it has found for it.
///
/// # Safety
/// As for `pairforge_plan_new`; nobody else may use the plan meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_plan_update(
    plan: *mut pairforge_plan,
    sources: *const pairforge_points,
    targets: *const pairforge_points,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        let (plan, points) = unsafe { (handle_mut("plan", plan)?, points(sources, targets)?) };
        (plan.sources, plan.targets) = counts(&points);
        plan.plan.update(points);
        Ok(())
    })
}

/// Computes the field of charges `charges[k * stride]`, as many as there are sources.
///
/// # Safety
/// The charges must be there, and room for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_plan_run(
    plan: *const pairforge_plan,
    charges: *const f64,
    count: usize,
    stride: isize,
    field: *const pairforge_field,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let (plan, field) = (handle("plan", plan)?, handle("field", field)?);
            if count != plan.sources {
                return input(format!("there are {count} charges of {} sources; give as many", plan.sources));
            }
            let charges = numbers("charges", charges, count, stride)?;
            field.check(plan.targets)?;
            field.write(&plan.plan.run(&charges)?)
        }
    })
}

/// Computes the fields of several sets of charges or dipole moments at once, `fields[k]` that of `sets[k]`. Those of charges alone share
/// the pairs of the near field, so that several cost less than one after the other.
///
/// # Safety
/// The sets must be there, and room for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_plan_run_sets(
    plan: *const pairforge_plan,
    sets: *const pairforge_sources,
    fields: *const pairforge_field,
    count: usize,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let plan = handle("plan", plan)?;
            let (sets, fields) = (items("sets", sets, count)?, items("fields", fields, count)?);
            let sets = sets.iter().map(|set| set.set(plan.sources)).collect::<Result<Vec<Set>, Failure>>()?;
            fields.iter().try_for_each(|field| field.check(plan.targets))?;
            if sets.is_empty() {
                return Ok(());
            }
            let sources: Vec<Sources> = sets.iter().map(Set::sources).collect();
            let found = plan.plan.run_all(&sources)?;
            fields.iter().zip(&found.fields).try_for_each(|(field, found)| field.write(found))
        }
    })
}

/// Sums directly in f64: the reference for the error of a plan. Only `eps`, a softening length, is an option.
///
/// # Safety
/// As for `pairforge_plan_new` and `pairforge_plan_run`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_direct(
    sources: *const pairforge_points,
    targets: *const pairforge_points,
    charges: *const f64,
    stride: isize,
    eps: f64,
    field: *const pairforge_field,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            sum_directly(sources, targets, eps, field, |count| {
                Ok(Set { charges: Some(numbers("charges", charges, count, stride)?), dipoles: None })
            })
        }
    })
}

/// The same for charges or dipole moments, or both.
///
/// # Safety
/// As for `pairforge_plan_new` and `pairforge_plan_run_sets`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_direct_set(
    sources: *const pairforge_points,
    targets: *const pairforge_points,
    set: *const pairforge_sources,
    eps: f64,
    field: *const pairforge_field,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe { sum_directly(sources, targets, eps, field, |count| handle("set", set)?.set(count)) }
    })
}

/// Sums for the set of so many sources that `set` gives.
///
/// # Safety
/// The points must be there, and room for the results.
unsafe fn sum_directly<'a>(
    sources: *const pairforge_points,
    targets: *const pairforge_points,
    eps: f64,
    field: *const pairforge_field,
    set: impl FnOnce(usize) -> Result<Set<'a>, Failure>,
) -> Result<(), Failure> {
    // SAFETY: as for this function.
    let (points, field) = unsafe { (points(sources, targets)?, handle("field", field)?) };
    let (sources, targets) = counts(&points);
    field.check(targets)?;
    let set = set(sources)?;
    if !eps.is_finite() || eps < 0.0 || !set.is_finite() {
        return input("a charge, a moment or the softening length is not finite, or the latter negative");
    }
    let hessian = field.hessian.iter().any(|column| !column.is_null());
    let direct = Direct { geometry: points.geometry(), sources: set.sources(), eps, hessian };
    let all: Vec<usize> = (0..targets).collect();
    let found = direct.at(&all);
    let column = |a: usize| -> Vec<f64> { found.iter().map(|sums| sums[a]).collect() };
    // SAFETY: as for this function.
    unsafe {
        field.potential().write(&column(0))?;
        let rest = field.gradient().into_iter().chain(field.hessian());
        rest.enumerate().try_for_each(|(a, room)| room.write(&column(a + 1)))
    }
}

/// Frees a plan.
///
/// # Safety
/// `plan` must be null, or was made and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_plan_free(plan: *mut pairforge_plan) {
    unsafe { free(plan) }
}

impl pairforge_field {
    fn check(&self, targets: usize) -> Result<(), Failure> {
        match self.count == targets {
            true => Ok(()),
            false => input(format!("there is room for {} results of {targets} targets; give as many", self.count)),
        }
    }

    /// # Safety
    /// There must be room for the results.
    unsafe fn write(&self, found: &Field) -> Result<(), Failure> {
        if found.hessian.is_none() && self.hessian.iter().any(|column| !column.is_null()) {
            return usage("the Hessian was not asked for; set the option `hessian` to 1 before the plan is made");
        }
        // SAFETY: as for this function.
        unsafe {
            self.potential().write(&found.potential)?;
            if let Some(gradient) = &found.gradient {
                self.gradient().iter().zip(gradient).try_for_each(|(room, column)| room.write(column))?;
            }
            found.hessian.iter().try_for_each(|hessian| {
                self.hessian().iter().zip(hessian).try_for_each(|(room, column)| room.write(column))
            })
        }
    }

    fn potential(&self) -> Room {
        Room { first: self.potential, stride: self.potential_stride }
    }

    fn gradient(&self) -> [Room; 3] {
        [self.gx, self.gy, self.gz].map(|first| Room { first, stride: self.gradient_stride })
    }

    fn hessian(&self) -> [Room; 6] {
        self.hessian.map(|first| Room { first, stride: self.hessian_stride })
    }
}
