//! Softened images of periodic boxes against direct sums.

use fmm::data::Force;
use fmm::data::particles::Particles;
use fmm::data::periodic::Periodic;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::error::{compare, reference, sample};
use fmm::expansion::basis::Basis;
use fmm::octree::FmmOptions;
use fmm::octree::Plan;
use fmm::octree::softening::change;
use fmm::octree::tune::usual_of as usual;

/// Particles with their sums over all images by direct summation, for each softening length.
struct Summed {
    particles: Particles,
    targets: Vec<usize>,
    right: Vec<(f64, Vec<Force>)>,
}

impl Summed {
    fn new(charge: Charge, periodic: &Periodic, lengths: &[f64]) -> Summed {
        let particles = generate(300, Distribution::Uniform, charge, 5);
        let targets = sample(particles.len(), 40, 5);
        let right = lengths.iter().map(|eps| (*eps, reference(&particles, &targets, *eps, Some(periodic)))).collect();
        Summed { particles, targets, right }
    }

    /// The gradient's error, and the plan.
    fn error(&self, options: &FmmOptions) -> (f64, Plan) {
        let plan = Plan::new(self.particles.columns(), options).expect("it is possible");
        let field = plan.solve(&self.particles.q, &mut [], &mut |_, _, _| {}).expect("it runs").field;
        let (_, right) = self.right.iter().find(|r| r.0 == options.eps).expect("it is one of the lengths");
        (compare(&field, &self.targets, right, 1.0).gradient_rel_l2.expect("there is a gradient"), plan)
    }
}

#[test]
#[ignore = "a proof in depth"]
fn as_many_images_are_softened_at_two_angles() {
    softened_at(&[1e-3, 0.2], &[0.5, 0.25], &[20]);
}

#[test]
#[ignore = "a proof in depth"]
fn as_many_images_are_softened_at_all_angles() {
    // A tree that is one cell, and one that has far cells.
    softened_at(&[1e-6, 1e-3, 0.03, 0.2], &[0.5, 0.45, 0.3, 0.25], &[400, 20]);
}

fn softened_at(lengths: &[f64], angles: &[f64], leaves: &[usize]) {
    for (axes, charge) in [([true; 3], Charge::Random), ([true, false, true], Charge::Positive)] {
        let periodic = Periodic { length: 1.0, axes };
        let summed = Summed::new(charge, &periodic, &[&[0.0], lengths].concat());
        for (basis, order, leaf) in leaves.iter().flat_map(|l| [(Basis::Cartesian, 4, *l), (Basis::Solid, 5, *l)]) {
            for &theta in angles {
                let plain = FmmOptions { basis, order, leaf, theta, periodic: Some(periodic), ..FmmOptions::default() };
                // Orders at smaller angles are those of smaller errors.
                let most = 8.0 * usual(&plain).max(summed.error(&plain).0);
                for &eps in lengths {
                    let (error, plan) = summed.error(&FmmOptions { eps, ..plain.clone() });
                    assert!(error < most, "{basis:?} {axes:?} {leaf} {eps} {theta}: {error:e}, not {most:e}");
                    let is_kept = plan.options.theta == theta;
                    assert!(is_kept || plan.options.theta == 0.5 && eps > 1e-6, "{eps} {theta}");
                }
            }
        }
    }
}

#[test]
fn angles_that_no_order_replaces_are_refused() {
    let periodic = |length| Some(Periodic { length, axes: [true; 3] });
    let options = FmmOptions { basis: Basis::Solid, order: 25, theta: 0.25, ..FmmOptions::default() };
    for length in [1e-9, 1.0, 1e9] {
        let with = |eps: f64| FmmOptions { periodic: periodic(length), eps: eps * length, ..options.clone() };
        assert!(with(1e-12).check().is_ok() && with(0.0).check().is_ok());
        let told = with(0.5).check().expect_err("it is refused").to_string();
        assert!(told.contains("--theta 0.5"), "{told}");
        assert!(FmmOptions { near_only: true, ..with(0.5) }.check().is_ok());
        assert!(FmmOptions { theta: 0.5, ..with(0.5) }.check().is_ok());
    }
    assert!(FmmOptions { eps: 0.5, ..options }.check().is_ok());
}

#[test]
fn a_plan_keeps_the_images_of_its_tree_from_order_to_order() {
    let periodic = Some(Periodic { length: 1.0, axes: [true; 3] });
    let base = FmmOptions { basis: Basis::Solid, leaf: 20, theta: 0.3, periodic, ..FmmOptions::default() };
    for eps in [0.0, 0.01, 0.3] {
        let particles = generate(300, Distribution::Uniform, Charge::Random, 5);
        let mut plan = Plan::new(particles.columns(), &FmmOptions { order: 1, eps, ..base.clone() }).expect("a plan");
        let targets = sample(particles.len(), 40, 5);
        let right = reference(&particles, &targets, eps, base.periodic.as_ref());
        for order in [5, 2, 6] {
            plan.set_order(order, None);
            let field = plan.solve(&particles.q, &mut [], &mut |_, _, _| {}).expect("it runs").field;
            let error = compare(&field, &targets, &right, 1.0).gradient_rel_l2.expect("there is a gradient");
            let most = 8.0 * usual(&FmmOptions { order, eps, ..base.clone() });
            // Images of another angle than an order asks for differ by what softening changes there.
            let images = if plan.options.theta == 0.5 { 0.0 } else { change(eps) };
            assert!(error < most + images, "{eps} {order}: {error:e}, not {most:e}");
        }
    }
}
