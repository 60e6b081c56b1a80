//! Periodic boundaries by the kernels compiled for the host, beside the CPU.

use super::*;
use fmm::data::periodic::{ALL_AXES, Periodic};

/// A task with its boundaries.
#[derive(Clone, Copy)]
struct Case<'a> {
    geometry: Geometry<'a>,
    sets: &'a [&'a [f64]],
    periodic: Periodic,
    eps: f64,
    theta: f64,
    tree: TreeKind,
    order: usize,
    leaf: usize,
}

impl Case<'_> {
    fn options(&self) -> FmmOptions {
        let Case { order, leaf, eps, theta, periodic, .. } = *self;
        FmmOptions { order, leaf, eps, theta, basis: Basis::Solid, periodic: Some(periodic), ..FmmOptions::default() }
    }

    fn solve<T: Number>(&self, devices: usize) -> Outcome<Solutions> {
        let device = HostDevice { is_far: devices.is_multiple_of(2), ..HostDevice::default() };
        self.solve_on::<T, HostDevice>(&vec![device; devices])
    }

    fn solve_on<T: Number, C: GpuDevice>(&self, devices: &[C]) -> Outcome<Solutions> {
        let (kernel, units) = units();
        let extra = Extra { periodic: Some(self.periodic), near2: near2(self.theta), ..Extra::default() };
        let mut whole: GpuFmm<T, C> =
            GpuFmm::with_options(devices, &kernel, self.order, units, &extra).expect("it compiles");
        whole.tree = self.tree;
        let options = self.options();
        let Case { geometry, sets, leaf, .. } = *self;
        let sets: Vec<Sources> = sets.iter().map(|charges| (*charges).into()).collect();
        let task = Task {
            name: "host",
            geometry,
            sets: &sets,
            options: &options,
            wanted: Wanted::default(),
            leaf: Some(leaf),
        };
        let team = Team::alone(devices);
        let mut run = || task.run(&team, &mut whole).expect("there is room").map(Found::solutions);
        let first = run()?;
        assert!(run()?.fields == first.fields, "a run gives the same bits each time");
        Ok(first)
    }

    /// The CPU's field for a set, in a tree with other leaves.
    fn on_cpu(&self, leaf: usize, set: usize) -> Field {
        let plan = Plan::new(self.geometry, &FmmOptions { leaf, ..self.options() }).expect("good options");
        plan.solve(self.sets[set], &mut [], &mut |_, _, _| {}).expect("the CPU is always there").field
    }

    /// Errors of potential and gradient against Ewald sums.
    fn errors(&self, field: &Field, set: usize) -> [f64; 2] {
        let direct = Direct { geometry: self.geometry, sources: self.sets[set].into(), eps: self.eps, hessian: false };
        let errors = error::measure_all(&direct, Some(&self.periodic), field, 150, 1);
        [errors.potential_rel_l2, errors.gradient_median.expect("a gradient")]
    }

    /// Errors like those of the CPU's FMM of the same order, and the same bits on several GPUs.
    fn check<T: Number>(&self, name: &str, most: usize, rounding: f64) -> Stats {
        let one = self.solve::<T>(1).expect("it is fit");
        for set in 0..self.sets.len() {
            let own = self.errors(&one.fields[set], set);
            let cpu = self.errors(&self.on_cpu(2 * self.leaf, set), set);
            let is_right = own.iter().zip(cpu).all(|(own, cpu)| *own <= 1.4 * cpu + rounding);
            assert!(is_right, "{name}, {:?}, set {set}: {own:?}, the CPU {cpu:?}", self.periodic);
        }
        for devices in 2..=most {
            let several = self.solve::<T>(devices).expect("it is fit");
            assert!(several.fields == one.fields, "{name}, {:?} on {devices} GPUs", self.periodic);
            let counted = |s: &Stats| (s.pairs, s.recomputed, s.close_pairs);
            assert_eq!(counted(&several.stats), counted(&one.stats), "{name} on {devices} GPUs");
        }
        one.stats
    }
}

/// Particles that lie up to several periods away along periodic axes, within a period along the others, some of them on faces and close
/// to each other across them.
fn scattered(n: usize, distribution: Distribution, periodic: &Periodic, charge: Charge) -> Particles {
    let mut particles = generate(n, distribution, charge, 1);
    let Periodic { length, axes } = *periodic;
    for (axis, column) in [&mut particles.x, &mut particles.y, &mut particles.z].into_iter().enumerate() {
        let (low, high) = column.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
        for (k, x) in column.iter_mut().enumerate() {
            let within = (*x - low) / (high - low).max(1e-300) * 0.999 * length;
            *x = if axes[axis] { within + length * ((k % 5) as f64 - 2.0) } else { within };
        }
        if n > 30 && axes[axis] {
            (column[3], column[8]) = (0.5 * length, length * (0.5 - 1e-9));
            (column[13], column[18]) = (-0.5 * length, length * (-0.5 + 1e-5));
        }
    }
    particles
}

/// The same result as the CPU's up to rounding: where cells are the same, in trees of the root alone.
fn is_cpu<T: Number>(case: &Case, name: &str, rounding: f64) {
    let (own, cpu) = (case.solve::<T>(1).expect("it is fit"), case.on_cpu(case.leaf, 0));
    assert_eq!(own.stats.levels, 1, "{name}");
    let [potential, gradient] = [
        relative(&own.fields[0].potential, &cpu.potential),
        (0..3)
            .map(|a| {
                let of = |field: &Field| field.gradient.as_ref().expect("a gradient")[a].clone();
                // Gradients may vanish.
                let potential = cpu.potential.iter().fold(1e-300f64, |m, x| m.max(x.abs())) / case.periodic.length;
                let most = cpu.gradient.iter().flatten().flatten().fold(potential, |m, x| m.max(x.abs()));
                of(&own.fields[0]).iter().zip(of(&cpu)).fold(0.0f64, |m, (x, y)| m.max((x - y).abs() / most))
            })
            .fold(0.0, f64::max),
    ];
    assert!(potential < rounding && gradient < rounding, "{name}, {:?}: {potential:.1e} {gradient:.1e}", case.periodic);
}

/// The greatest difference beside the greatest number.
fn relative(found: &[f64], right: &[f64]) -> f64 {
    let most = right.iter().fold(1e-300f64, |m, x| m.max(x.abs()));
    found.iter().zip(right).fold(0.0, |m, (x, y)| m.max((x - y).abs() / most))
}

fn case<'a>(particles: &'a Particles, sets: &'a [&'a [f64]], periodic: Periodic, tree: TreeKind) -> Case<'a> {
    Case { geometry: particles.columns().into(), sets, periodic, eps: 0.0, theta: 0.5, tree, order: 2, leaf: 4 }
}

#[test]
fn periodic_boundaries_give_the_field_of_the_cpu() {
    if !on_host::is_there() {
        return;
    }
    for (k, axes) in testkit::some(ALL_AXES, 2).enumerate() {
        let periodic = Periodic { length: [1.0, 0.7, 3e5][k % 3], axes };
        let few = scattered(40, Distribution::Uniform, &periodic, Charge::Random);
        let sets = [&few.q[..]];
        is_cpu::<f32>(&Case { leaf: 64, ..case(&few, &sets, periodic, TreeKind::OneDepth) }, "the root alone", 3e-5);
        let many = scattered(200, Distribution::Uniform, &periodic, Charge::Random);
        let sets = [&many.q[..]];
        let stats =
            Case { leaf: 8, ..case(&many, &sets, periodic, TreeKind::OneDepth) }.check::<f32>("one depth", 2, 1e-4);
        assert_eq!(stats.levels, 3);
    }
}

#[test]
#[ignore = "a proof in depth"]
fn every_kind_of_periodic_boundaries_has_the_errors_of_the_cpu() {
    if !on_host::is_there() {
        return;
    }
    for axes in ALL_AXES {
        for (tree, distribution) in [
            (TreeKind::OneDepth, Distribution::Uniform),
            (TreeKind::Adaptive, Distribution::Plummer),
            (TreeKind::Adaptive, Distribution::Sphere),
        ] {
            let name = format!("{tree:?} {distribution:?}");
            for (charge, n, leaf) in [(Charge::Random, 500, 4), (Charge::Positive, 90, 30), (Charge::Positive, 400, 60)]
            {
                let periodic = Periodic { length: 0.7, axes };
                let particles = scattered(n, distribution, &periodic, charge);
                let sets = [&particles.q[..]];
                let case = Case { order: 4, leaf, ..case(&particles, &sets, periodic, tree) };
                case.check::<f32>(&name, 3, 1e-4);
                case.check::<f64>(&name, 3, 1e-11);
                if tree == TreeKind::OneDepth && leaf > n / 8 {
                    Case { eps: 1e-3, ..case }.check::<f64>(&format!("{name}, softened"), 1, 1e-11);
                }
            }
            for n in [1, 2, 31, 33] {
                let periodic = Periodic { length: 2.5, axes };
                let particles = scattered(n, distribution, &periodic, Charge::Random);
                let sets = [&particles.q[..]];
                let case = Case { order: 4, leaf: 64, ..case(&particles, &sets, periodic, tree) };
                is_cpu::<f64>(&case, &name, 1e-12);
                is_cpu::<f32>(&case, &name, 3e-5);
            }
        }
    }
}

/// Another angle in a periodic box, which takes an adaptive tree: one of the root alone, and a deeper one.
fn check_angle<T: Number>(theta: f64, axes: [bool; 3], rounding: f64) {
    let periodic = Periodic { length: 0.7, axes };
    let few = scattered(40, Distribution::Uniform, &periodic, Charge::Random);
    let sets = [&few.q[..]];
    is_cpu::<T>(&Case { theta, leaf: 64, ..case(&few, &sets, periodic, TreeKind::Chosen) }, "the root", rounding);
    let many = scattered(300, Distribution::Plummer, &periodic, Charge::Random);
    let sets = [&many.q[..]];
    Case { theta, ..case(&many, &sets, periodic, TreeKind::Chosen) }.check::<T>("another angle", 2, rounding);
}

#[test]
#[ignore = "a proof in depth"]
fn periodic_boxes_take_all_angles() {
    if on_host::is_there() {
        check_angle::<f32>(1.0 / 3.0, [true; 3], 1e-4);
        for axes in ALL_AXES {
            [0.45, 0.4, 1.0 / 3.0].into_iter().for_each(|theta| check_angle::<f64>(theta, axes, 1e-11));
        }
    }
}

#[test]
#[ignore = "a proof in depth"]
fn targets_apart_have_periodic_boundaries_too() {
    if !on_host::is_there() {
        return;
    }
    let periodic = Periodic { length: 1.5, axes: [true, false, true] };
    for axes in [periodic.axes, [true; 3]] {
        let periodic = Periodic { axes, ..periodic };
        let sources = scattered(600, Distribution::Plummer, &periodic, Charge::Random);
        let mut targets = scattered(150, Distribution::Uniform, &periodic, Charge::Random);
        for (axis, (column, at)) in
            [&mut targets.x, &mut targets.y, &mut targets.z].into_iter().zip(sources.columns()).enumerate()
        {
            // The place of a source, or one of its images.
            column[3] = at[10] + if axes[axis] { periodic.length } else { 0.0 };
        }
        let geometry = Geometry { sources: sources.columns(), targets: Some(targets.columns()) };
        let second: Vec<f64> = sources.q.iter().rev().copied().collect();
        let sets = [&sources.q[..], &second];
        for tree in [TreeKind::OneDepth, TreeKind::Adaptive] {
            let case = Case { geometry, order: 4, leaf: 8, ..case(&sources, &sets, periodic, tree) };
            case.check::<f32>(&format!("{tree:?}"), 3, 3e-4);
        }
    }
}

#[test]
#[ignore = "a proof in depth"]
fn particles_in_one_place_act_through_their_images_alone() {
    if !on_host::is_there() {
        return;
    }
    for axes in ALL_AXES {
        let periodic = Periodic { length: 1.0, axes };
        for tree in [TreeKind::OneDepth, TreeKind::Adaptive] {
            let mut particles = Particles::default();
            (0..40).for_each(|k| particles.push([0.3, -0.1, 0.2], 0.25 + (k % 7) as f64 / 7.0));
            let sets = [&particles.q[..]];
            let case = Case { order: 4, leaf: 64, ..case(&particles, &sets, periodic, tree) };
            is_cpu::<f64>(&case, "a point", 1e-12);
            // All of them at a corner of a cell, where expansions are least accurate.
            let found = Case { leaf: 4, ..case }.solve::<f64>(1).expect("it is fit");
            let off = relative(&found.fields[0].potential, &case.on_cpu(64, 0).potential);
            assert!(off < 5e-2, "{tree:?} {axes:?}: {off:.1e}");
        }
    }
}

#[test]
fn what_periodic_boundaries_leave_to_the_cpu_is_said() {
    if !on_host::is_there() {
        return;
    }
    let mut particles = generate(20, Distribution::Uniform, Charge::Random, 1);
    let periodic = Periodic { length: 0.5, axes: [true, true, false] };
    let sets = [&particles.q.clone()[..]];
    let why = case(&particles, &sets, periodic, TreeKind::OneDepth).solve::<f32>(1).expect_err("it is too long");
    assert!(why.contains("along z, which is not periodic"), "{why}");
    particles.z = vec![0.0; 20];
    particles.x[3] = 1e250;
    let why = case(&particles, &sets, periodic, TreeKind::OneDepth).solve::<f32>(1).expect_err("it is far away");
    assert_eq!(why, "coordinates are very large beside the period");
}

#[test]
fn pairs_of_cells_with_images_are_those_of_a_full_tree() {
    let particles = generate(20_000, Distribution::Uniform, Charge::Random, 1);
    for axes in testkit::some(ALL_AXES, 2) {
        let periodic = Some(Periodic { length: 1.0, axes });
        let options = FmmOptions { basis: Basis::Solid, leaf: 80, periodic, ..FmmOptions::default() };
        let plan = Plan::new(particles.columns(), &options).expect("good options");
        assert_eq!((plan.tree.levels.len(), plan.pairs.m2l), (4, m2l_pairs(3, NEAR2, axes)), "{axes:?}");
    }
}

#[test]
fn a_gpu_has_the_errors_of_the_cpu_in_periodic_boxes() {
    if let Err(why) = device::found().and_then(|_| compile::check()) {
        eprintln!("skipped: no CUDA device ({why})");
        return;
    }
    for axes in ALL_AXES {
        for (tree, distribution) in
            [(TreeKind::OneDepth, Distribution::Uniform), (TreeKind::Adaptive, Distribution::Plummer)]
        {
            let periodic = Periodic { length: 1.0, axes };
            let particles = scattered(20_000, distribution, &periodic, Charge::Random);
            let sets = [&particles.q[..]];
            let case = Case { order: 5, leaf: 40, ..case(&particles, &sets, periodic, tree) };
            let on = |devices: usize| {
                let devices: Vec<Device> = (0..devices).map(|_| Device::open().expect("there is one")).collect();
                case.solve_on::<f32, Device>(&devices).expect("it is fit").fields
            };
            let one = on(1);
            let (own, cpu) = (case.errors(&one[0], 0), case.errors(&case.on_cpu(80, 0), 0));
            assert!(
                own.iter().zip(cpu).all(|(own, cpu)| *own <= 1.4 * cpu + 1e-4),
                "{tree:?} {axes:?}: {own:?} {cpu:?}"
            );
            assert!([2, 3].into_iter().all(|devices| on(devices) == one), "{tree:?} {axes:?} on several GPUs");
        }
    }
}
