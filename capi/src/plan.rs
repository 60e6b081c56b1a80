//! Plans of the Fast Multipole Method.

use crate::arrays::{Room, columns, free, hand_out, handle, handle_mut, numbers, pairforge_points};
use crate::options::pairforge_options;
use crate::status::{Failure, call, input, pairforge_status, usage};
use fmm::direct::summation::Direct;
use pairforge::fmm::{Fmm, Options, Plan, Points, Sources};

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
            let found = plan.plan.run(&charges)?;
            if found.hessian.is_none() && field.hessian.iter().any(|column| !column.is_null()) {
                return usage("the Hessian was not asked for; set the option `hessian` to 1 before the plan is made");
            }
            field.potential().write(&found.potential)?;
            if let Some(gradient) = &found.gradient {
                field.gradient().iter().zip(gradient).try_for_each(|(room, column)| room.write(column))?;
            }
            found.hessian.iter().try_for_each(|hessian| {
                field.hessian().iter().zip(hessian).try_for_each(|(room, column)| room.write(column))
            })
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
            let (points, field) = (points(sources, targets)?, handle("field", field)?);
            let (sources, targets) = counts(&points);
            field.check(targets)?;
            let charges = numbers("charges", charges, sources, stride)?;
            if !eps.is_finite() || eps < 0.0 || charges.iter().any(|q| !q.is_finite()) {
                return input("a charge or the softening length is not finite, or the latter negative");
            }
            let hessian = field.hessian.iter().any(|column| !column.is_null());
            let direct = Direct { geometry: points.geometry(), sources: Sources::from(&charges[..]), eps, hessian };
            let all: Vec<usize> = (0..targets).collect();
            let found = direct.at(&all);
            let column = |a: usize| -> Vec<f64> { found.iter().map(|sums| sums[a]).collect() };
            field.potential().write(&column(0))?;
            let rest = field.gradient().into_iter().chain(field.hessian());
            rest.enumerate().try_for_each(|(a, room)| room.write(&column(a + 1)))
        }
    })
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
