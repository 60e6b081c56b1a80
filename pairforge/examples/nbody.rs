//! A Plummer sphere of 4096 stars in a leapfrog of 64 steps. The order that keeps the forces to 1e-4 is found in the first.
//!
//! `cargo run --release -p pairforge --example nbody`

use pairforge::fmm::{Field, Fmm, Options};
use pairforge::random::{Charge, Distribution, generate};

const STEP: f64 = 1.0 / 256.0;

/// Half a step of the velocities: the gradient of the sum of m / r is the acceleration for G = 1.
fn kick(velocity: &mut [Vec<f64>; 3], field: &Field) {
    for (v, g) in velocity.iter_mut().zip(field.gradient.as_ref().expect("1/r has a gradient")) {
        v.iter_mut().zip(g).for_each(|(v, g)| *v += 0.5 * STEP * g);
    }
}

fn main() -> Result<(), pairforge::Error> {
    let fmm = Fmm::new(&Options::default().tolerance(1e-4).softening(0.01))?;
    let mut stars = generate(4096, Distribution::Plummer, Charge::Mass, 1);
    let mut velocity = [0, 1, 2].map(|_| vec![0.0; stars.len()]);
    let mut field = fmm.plan(stars.columns()).run(&stars.q)?;
    for step in 0..=64 {
        if step % 16 == 0 {
            let speed2 = |k: usize| velocity.iter().map(|v| v[k] * v[k]).sum::<f64>();
            let energy: f64 = (0..stars.len()).map(|k| 0.5 * stars.q[k] * (speed2(k) - field.potential[k])).sum();
            println!("t = {:.4}: energy {energy:.6}", step as f64 * STEP);
        }
        kick(&mut velocity, &field);
        for (x, v) in [&mut stars.x, &mut stars.y, &mut stars.z].into_iter().zip(&velocity) {
            x.iter_mut().zip(v).for_each(|(x, v)| *x += STEP * v);
        }
        field = fmm.plan(stars.columns()).run(&stars.q)?;
        kick(&mut velocity, &field);
    }
    Ok(())
}
