//! Accelerations, jerks and nearest bodies against plain loops.

use fmm::arith::vector::Isa;
use fmm::direct::hermite::*;
use testkit::Random;

fn bodies(n: usize, seed: u64) -> Vec<Body> {
    let mut random = Random::new(seed);
    let mut vector = || [(); 3].map(|()| random.unit() - 0.5);
    let body =
        |k: usize| Body { position: vector(), velocity: vector(), mass: 1.0 / (k + 1) as f64, index: 3 * k as i32 - 7 };
    (0..n).map(body).collect()
}

fn targets(bodies: &[Body]) -> Vec<Target> {
    // Beside where the body is, as a predictor that rounds otherwise has it.
    let near = |x: [f64; 3]| x.map(|x| x * (1.0 + 1e-15));
    bodies.iter().map(|b| Target { position: near(b.position), velocity: b.velocity, index: b.index }).collect()
}

fn plain(bodies: &[Body], at: &Target, eps2: f64) -> [f64; 7] {
    let mut sum = [0.0; 7];
    for body in bodies.iter().filter(|body| body.index != at.index) {
        let r = [0, 1, 2].map(|a| body.position[a] - at.position[a]);
        let v = [0, 1, 2].map(|a| body.velocity[a] - at.velocity[a]);
        let dot = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let s2 = dot(&r, &r) + eps2;
        let s3 = s2 * s2.sqrt();
        sum[0] -= body.mass / s2.sqrt();
        for a in 0..3 {
            sum[1 + a] += body.mass * r[a] / s3;
            sum[4 + a] += body.mass * (v[a] - 3.0 * dot(&r, &v) / s2 * r[a]) / s3;
        }
    }
    sum
}

#[test]
fn every_set_of_instructions_gives_the_sums_of_a_plain_loop() {
    for (n, eps2) in [(1, 0.0), (2, 0.0), (16, 1e-4), (37, 0.0), (203, 1e-4)] {
        let given = bodies(n, n as u64);
        let targets = targets(&given);
        for isa in Isa::all() {
            let mut all = Bodies::with(isa);
            all.set(bodies(300, 9).into_iter());
            all.set(given.iter().copied());
            for (target, found) in targets.iter().zip(all.motions(&targets, eps2)) {
                let Motion { potential, acceleration: [ax, ay, az], jerk: [jx, jy, jz] } = found;
                let found = [potential, ax, ay, az, jx, jy, jz];
                let wanted = plain(&given, target, eps2);
                let size = wanted.iter().fold(1e-300, |m: f64, x| m.max(x.abs()));
                let error = found.iter().zip(wanted).fold(0.0, |m: f64, (f, w)| m.max((f - w).abs()));
                assert!(error <= 1e-11 * size, "{isa:?} {n}: {found:?} {wanted:?}");
            }
        }
    }
}

#[test]
fn several_threads_give_the_bits_of_one() {
    let (given, mut all) = (bodies(1100, 4), Bodies::default());
    all.set(given.iter().copied());
    let targets = targets(&given);
    let together = all.motions(&targets, 1e-4);
    let apart: Vec<Motion> = targets.chunks(2).flat_map(|two| all.motions(two, 1e-4)).collect();
    assert_eq!(together, apart);
}

#[test]
fn a_body_at_a_target_acts_on_it_only_if_it_is_softened() {
    let mut all = Bodies::default();
    all.set([Body { mass: 2.0, index: 5, ..Body::default() }].into_iter());
    let target = Target { index: -1, ..Target::default() };
    assert_eq!(all.motions(&[target], 0.0)[0], Motion::default());
    let potential = all.motions(&[target], 0.25)[0].potential;
    assert!((potential + 4.0).abs() <= 4.0 * f64::EPSILON, "{potential}");
    assert_eq!(all.motions(&[Target { index: 5, ..target }], 0.25)[0], Motion::default());
}

#[test]
fn the_nearest_body_is_found_by_every_set_of_instructions() {
    for n in [1, 2, 17, 203] {
        let given = bodies(n, 30 + n as u64);
        for target in targets(&given) {
            let square = |b: &&Body| (0..3).map(|a| (b.position[a] - target.position[a]).powi(2)).sum::<f64>();
            let others = || given.iter().filter(|b| b.index != target.index);
            let wanted = others().min_by(|a, b| square(a).total_cmp(&square(b)));
            let limit = wanted.map_or(1.0, |b| square(&b) * 4.0);
            let near: Vec<i32> = others().filter(|b| square(b) < limit).map(|b| b.index).collect();
            for isa in Isa::all() {
                let mut all = Bodies::with(isa);
                all.set(given.iter().copied());
                assert_eq!(all.nearest(&[target]), [wanted.map(|b| b.index)], "{isa:?} {n}");
                assert_eq!(all.within(&target, limit), near);
            }
        }
    }
}

#[test]
fn of_two_bodies_at_one_distance_the_lesser_index_is_nearest() {
    let at = |x: f64, index: i32| Body { position: [x, 0.0, 0.0], mass: 1.0, index, ..Body::default() };
    let mut all = Bodies::default();
    all.set([at(1.0, 8), at(-1.0, 3), at(0.0, 1)].into_iter());
    assert_eq!(all.nearest(&[Target { index: 1, ..Target::default() }]), [Some(3)]);
    all.set([].into_iter());
    assert_eq!(all.nearest(&[Target::default()]), [None]);
}
