//! Direct sums of potential, acceleration and jerk: by the kernel `gravity_hermite` on a backend, in units that suit its formats, or in f64 on
//! the CPU.

use super::{Force, HermiteOptions, norm};
use crate::Error;
use crate::kernel::{self, Backend, Flags, Records, RunError, Session};
use crate::nbody::Bodies;
use fmm::parallel::prelude::*;

/// The kernel on an open backend; none for the CPU, which takes numbers as they are.
pub struct Sums {
    session: Option<Session>,
    eps: f64,
    /// Masses are multiplied by it: the largest lies in (1/2, 1].
    mass: f64,
}

/// The units of a call: lengths and velocities are multiplied by these powers of two, after the centre was taken off.
struct Scale {
    centre: [f64; 3],
    length: f64,
    velocity: f64,
}

/// Velocities of the kernel are below 100.
const FASTEST: f64 = 64.0;

impl Sums {
    pub fn open(bodies: &Bodies, options: &HermiteOptions) -> Result<Sums, Error> {
        let session = match options.backend {
            Backend::Cpu => None,
            _ => {
                let kernel = kernel::shipped("gravity_hermite").expect("it is shipped");
                Some(kernel.open_with(&options.backend, &options.engine).map_err(error)?)
            }
        };
        let largest = bodies.mass.iter().fold(0.0f64, |a, m| a.max(*m));
        if bodies.mass.iter().any(|m| !(*m >= 0.0 && m.is_finite())) {
            return Err(Error::Input("masses of a Hermite run are finite and not negative".into()));
        }
        Ok(Sums { session, eps: options.eps, mass: reciprocal_power(largest) })
    }

    /// Acceleration, jerk and potential at some of the bodies, over all of them.
    pub fn at(
        &mut self,
        targets: &[usize],
        positions: &[[f64; 3]],
        velocities: &[[f64; 3]],
        masses: &[f64],
    ) -> Result<(Force, Vec<f64>), Error> {
        let scale = Scale::of(positions, velocities, self.eps)?;
        let all = Particles { positions, velocities, masses, eps2: self.eps * self.eps };
        let Some(session) = &mut self.session else { return Ok(all.sums(targets)) };
        let x: Vec<[f64; 3]> = positions.iter().map(|x| scale.position(*x)).collect();
        let v: Vec<[f64; 3]> = velocities.iter().map(|v| v.map(|v| v * scale.velocity)).collect();
        let m: Vec<f64> = masses.iter().map(|m| m * self.mass).collect();
        let (xi, vi): (Vec<[f64; 3]>, Vec<[f64; 3]>) = targets.iter().map(|k| (x[*k], v[*k])).unzip();
        session.set_param("eps2", (self.eps * scale.length).powi(2));
        let sources = Records::new().vectors("xj", &x).vectors("vj", &v).column("mj", &m);
        session.set_sources(&sources).map_err(error)?;
        let found = session.run(&Records::new().vectors("xi", &xi).vectors("vi", &vi)).map_err(error)?;
        let columns = NAMES.map(|name| found.column(name).to_vec());
        let (mut force, mut potential) = self.unscaled(&scale, columns);
        // What does not fit the formats is computed again without them (RULES H7).
        let lost = Flags::OVERFLOW | Flags::SATURATION | Flags::WRAP;
        let left: Vec<usize> = (0..targets.len()).filter(|k| found.flags[*k].intersects(lost)).collect();
        let (again, phi) = all.sums(&left.iter().map(|k| targets[*k]).collect::<Vec<_>>());
        for (place, k) in left.into_iter().enumerate() {
            (force.acceleration[k], force.jerk[k]) = (again.acceleration[place], again.jerk[place]);
            potential[k] = phi[place];
        }
        Ok((force, potential))
    }

    fn unscaled(&self, scale: &Scale, [phi, ax, ay, az, jx, jy, jz]: [Vec<f64>; 7]) -> (Force, Vec<f64>) {
        let acceleration = scale.length * scale.length / self.mass;
        let jerk = acceleration * scale.length / scale.velocity;
        let rows = |[x, y, z]: [&Vec<f64>; 3], by: f64| -> Vec<[f64; 3]> {
            x.iter().zip(y).zip(z).map(|((x, y), z)| [x * by, y * by, z * by]).collect()
        };
        let force = Force { acceleration: rows([&ax, &ay, &az], acceleration), jerk: rows([&jx, &jy, &jz], jerk) };
        (force, phi.iter().map(|phi| -phi * scale.length / self.mass).collect())
    }
}

const NAMES: [&str; 7] = ["phi", "acc[0]", "acc[1]", "acc[2]", "jerk[0]", "jerk[1]", "jerk[2]"];

/// All bodies, as sources.
struct Particles<'a> {
    positions: &'a [[f64; 3]],
    velocities: &'a [[f64; 3]],
    masses: &'a [f64],
    eps2: f64,
}

impl Particles<'_> {
    /// The sums at some of them in f64, by Makino and Aarseth's eqs. 1 and 2.
    fn sums(&self, targets: &[usize]) -> (Force, Vec<f64>) {
        let one = |i: &usize| {
            let (mut phi, mut acceleration, mut jerk) = (0.0, [0.0; 3], [0.0; 3]);
            let (xi, vi) = (self.positions[*i], self.velocities[*i]);
            for ((xj, vj), m) in self.positions.iter().zip(self.velocities).zip(self.masses) {
                let (r, v) = ([0, 1, 2].map(|c| xj[c] - xi[c]), [0, 1, 2].map(|c| vj[c] - vi[c]));
                let distance2 = dot(r, r);
                // A pair in one place contributes nothing.
                if distance2 == 0.0 {
                    continue;
                }
                let rinv2 = 1.0 / (distance2 + self.eps2);
                let mr = m * rinv2.sqrt();
                let (mr3, alpha) = (mr * rinv2, 3.0 * dot(r, v) * rinv2);
                phi += mr;
                for c in 0..3 {
                    acceleration[c] += mr3 * r[c];
                    jerk[c] += mr3 * (v[c] - alpha * r[c]);
                }
            }
            ((acceleration, jerk), phi)
        };
        let all: Vec<_> = targets.par_iter().map(one).collect();
        let ((acceleration, jerk), potential) = all.into_iter().unzip();
        (Force { acceleration, jerk }, potential)
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

impl Scale {
    fn of(positions: &[[f64; 3]], velocities: &[[f64; 3]], eps: f64) -> Result<Scale, Error> {
        let mut ends = [[f64::INFINITY, f64::NEG_INFINITY]; 3];
        for x in positions {
            ends.iter_mut().zip(x).for_each(|([low, high], x)| (*low, *high) = (low.min(*x), high.max(*x)));
        }
        let extent = ends.iter().map(|[low, high]| high - low).fold(eps, f64::max);
        let fastest = velocities.iter().map(|v| norm(*v)).fold(0.0, f64::max);
        if !(extent.is_finite() && fastest.is_finite()) {
            return Err(Error::Input(
                "bodies have gone to places that are no finite numbers; take shorter steps".into(),
            ));
        }
        // Coordinates lie within a quarter of the box on each side of its centre.
        let [length, velocity] = [2.0 * extent, fastest / FASTEST].map(reciprocal_power);
        Ok(Scale { centre: ends.map(|[low, high]| low + 0.5 * (high - low)), length, velocity })
    }

    fn position(&self, x: [f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|c| (x[c] - self.centre[c]) * self.length)
    }
}

/// The greatest power of two by which a length is at most 1; 1 for none.
fn reciprocal_power(length: f64) -> f64 {
    match length > 0.0 && length.is_finite() {
        true => 2f64.powi((-length.log2().ceil() as i32).clamp(-1000, 1000)),
        false => 1.0,
    }
}

fn error(e: RunError) -> Error {
    match e {
        RunError::Records(text) => Error::Input(text),
        RunError::Backend(e) => e.into(),
    }
}
