//! The FMM in two dimensions as programs call it.

use pairforge::Error;
use pairforge::kernel;
use pairforge::plane::{Fmm, Geometry, Kernel, Options, Plan, Points, Strengths};

/// Points on a spiral, and complex strengths.
fn points(n: usize) -> [Vec<f64>; 4] {
    let of = |f: fn(f64) -> f64| (0..n).map(|k| f(k as f64)).collect::<Vec<f64>>();
    [of(|k| k.sqrt() * k.cos()), of(|k| k.sqrt() * k.sin()), of(|k| (1.3 * k).sin()), of(|k| (0.7 * k).cos())]
}

#[test]
fn a_plan_serves_many_sets_of_strengths_from_many_threads() {
    let [x, y, re, im] = points(3000);
    let plan = Plan::new([&x, &y], &Options::default().tolerance(1e-9).samples(400)).unwrap();
    let strengths = Strengths { re: &re, im: Some(&im) };
    let found = plan.run_all(&[strengths]).unwrap();
    assert!(found.stats.error.unwrap().of_vector() <= 1e-9);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(plan.run(strengths).unwrap(), found.solutions[0].field));
        }
    });
    // Sums are linear in the strengths: those of i Gamma are i times those of Gamma.
    let turned: Vec<f64> = im.iter().map(|b| -b).collect();
    let field = plan.run(Strengths { re: &turned, im: Some(&re) }).unwrap();
    let size = found.solutions[0].field.vector.iter().flatten().fold(0.0, |a: f64, b| a.max(b.abs()));
    for k in 0..x.len() {
        let [a, b] = [0, 1].map(|c| found.solutions[0].field.vector[c][k]);
        let [c, d] = [0, 1].map(|c| field.vector[c][k]);
        assert!((c + b).abs() + (d - a).abs() <= 1e-9 * size, "{k}");
    }
}

#[test]
fn a_solver_serves_points_that_move_and_targets_of_their_own() {
    let [x, y, q, _] = points(500);
    let fmm = Fmm::new(&Options::default().kernel(Kernel::Log).order(30)).unwrap();
    let at = [[0.5, -3.0], [0.25, 7.0]];
    let mut owned = fmm.plan_owned(Points { sources: [Vec::new(), Vec::new()], targets: None });
    for step in [0.0, 0.125] {
        let moved: Vec<f64> = x.iter().map(|x| x + step).collect();
        let geometry = Geometry { sources: [&moved, &y], targets: Some([&at[0], &at[1]]) };
        let field = fmm.plan(geometry).run(q[..].into()).unwrap();
        owned.update(Points { sources: [moved.clone(), y.clone()], targets: Some(at.map(|column| column.to_vec())) });
        assert_eq!(owned.run(q[..].into()).unwrap(), field);
        for (found, (at_x, at_y)) in field.potential.iter().zip(at[0].iter().zip(&at[1])) {
            let right: f64 = (0..500).map(|j| q[j] * (moved[j] - at_x).hypot(y[j] - at_y).ln()).sum();
            assert!((found - right).abs() <= 1e-9 * right.abs().max(1.0), "{found} {right}");
        }
    }
}

#[test]
fn kernels_run_p2p_by_their_bits() {
    let [x, y, re, im] = points(300);
    let on = |backend: &str| {
        let options = Options::default().order(12).backend(backend).p2p(kernel::shipped("harmonic2d").unwrap());
        Plan::new([&x, &y], &options).unwrap().run_all(&[Strengths { re: &re, im: Some(&im) }]).unwrap()
    };
    let (bits, real) = (on("emulator"), on("cpu"));
    assert!(bits.stats.streamed.p2p > 0 && bits.stats.backend == "emulator");
    let size = real.solutions[0].field.vector.iter().flatten().fold(0.0, |a: f64, b| a.max(b.abs()));
    for (a, b) in bits.solutions[0].field.vector.iter().flatten().zip(real.solutions[0].field.vector.iter().flatten()) {
        assert!((a - b).abs() <= 1e-4 * size, "{a} {b}");
    }
}

#[test]
fn wrong_options_and_strengths_are_refused_with_a_remedy() {
    let [x, y, re, im] = points(10);
    let refused = |options: Options| match Plan::new([&x, &y], &options) {
        Err(Error::Options(text)) => text,
        Err(e) => panic!("{e:?}"),
        Ok(_) => panic!("it was taken"),
    };
    assert!(refused(Options::default().order(0)).contains("1 to 60"));
    assert!(refused(Options::default().theta(1.5)).contains("0.95"));
    assert!(refused(Options::default().backend("gpu")).contains("cuda"));
    let plan = Plan::new([&x, &y], &Options::default().kernel(Kernel::Log)).unwrap();
    assert!(matches!(plan.run(re[..3].into()), Err(Error::Input(text)) if text.contains("3 strengths")));
    assert!(matches!(plan.run(Strengths { re: &re, im: Some(&im) }), Err(Error::Options(_))));
    // A kernel of other sums is none of these.
    let other = Options::default().kernel(Kernel::Log).p2p(kernel::shipped("harmonic2d").unwrap());
    assert!(Plan::new([&x, &y], &other).is_err());
}
