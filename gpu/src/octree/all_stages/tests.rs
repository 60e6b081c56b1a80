//! The kernels of the GPU, compiled for the host, and on a GPU where there is one.

mod adaptive;
mod black_box;
mod derivatives;
mod periodic;
mod sets;
mod softening;
mod split;
mod theta;

use super::*;
use crate::cuda::device::Device;
use crate::cuda::octree::NEAR2;
use crate::cuda::octree::{TreeKind, m2l_pairs};
use crate::cuda::on_host::{self, HostDevice};
use crate::cuda::{compile, device};
use fmm::data::particles::Particles;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::summation::Direct;
use fmm::octree::Plan;
use pipelines::octree::bind::P2p;

/// The field by the kernels of the GPU on so many GPUs that the host stands for.
pub fn computed<T: Number>(
    geometry: Geometry,
    sets: &[&[f64]],
    devices: usize,
    order: usize,
    leaf: usize,
) -> Solutions {
    // With an even number of them, none reads another one's memory.
    let device = HostDevice { is_far: devices.is_multiple_of(2), ..HostDevice::default() };
    computed_on::<T, HostDevice>(vec![device; devices], geometry, sets, order, leaf)
}

/// The kernel of 1/r, and its units.
pub fn units() -> (Graph, Units) {
    let text = pg2::kernels::find("p2p").expect("a shipped kernel").text;
    let kernel = pg2::compile("p2p", text).expect("it compiles").graph;
    let P2p { units, length, .. } = P2p::bind(&kernel, false, &[]).expect("it is 1/r");
    (kernel, Units { potential: units.potential, gradient: units.gradient, length })
}

fn computed_on<T: Number, C: GpuDevice>(
    devices: Vec<C>,
    geometry: Geometry,
    sets: &[&[f64]],
    order: usize,
    leaf: usize,
) -> Solutions {
    let (kernel, units) = units();
    let mut whole: GpuFmm<T, C> = GpuFmm::new(&devices, &kernel, order, units).expect("it compiles");
    whole.tree = TreeKind::OneDepth;
    let options = FmmOptions { order, basis: Basis::Solid, ..FmmOptions::default() };
    let sets: Vec<Sources> = sets.iter().map(|charges| (*charges).into()).collect();
    let task =
        Task { name: "host", geometry, sets: &sets, options: &options, wanted: Wanted::default(), leaf: Some(leaf) };
    let team = Team::alone(&devices);
    let mut run = || task.run(&team, &mut whole).expect("there is room").expect("it is fit").solutions();
    let first = run();
    // The second run finds what the first one left.
    assert!(devices.len() != 3 || run().fields == first.fields, "a run gives the same bits each time");
    first
}

fn check<T: Number>(distribution: Distribution, (n, order, leaf): (usize, usize, usize), levels: usize, bound: f64) {
    let particles = generate(n, distribution, Charge::Positive, 1);
    let on = |devices| computed::<T>(particles.columns().into(), &[&particles.q], devices, order, leaf);
    let one = on(1);
    let found = error::measure(&particles, &one.fields[0], 200, 1, 0.0).gradient_rel_l2.expect("a gradient");
    let deep = one.stats.levels;
    assert!(deep == levels && found < bound, "{distribution:?}: {deep} levels, error {found:.1e}");
    for devices in if n < 100 { 2..=7 } else { 2..=3 } {
        let several = on(devices);
        assert!(several.fields == one.fields, "{distribution:?} on {devices} GPUs");
        assert_eq!((several.stats.pairs, several.stats.recomputed), (one.stats.pairs, one.stats.recomputed));
    }
}

#[test]
fn the_kernels_of_the_gpu_give_direct_sums_and_the_same_bits_on_any_number_of_gpus() {
    if !on_host::is_there() {
        return;
    }
    // The kernels of two orders alone, since compiling takes most of the time.
    check::<f32>(Distribution::Uniform, (400, 2, 4), 4, 4e-2);
    check::<f64>(Distribution::Sphere, (600, 1, 1), 5, 2e-1);
    // Without a far field.
    check::<f64>(Distribution::Uniform, (31, 1, 64), 1, 1e-12);
    check::<f32>(Distribution::Uniform, (2, 2, 64), 1, 1e-5);
}

#[test]
#[ignore = "a proof in depth"]
fn orders_above_ten_give_direct_sums() {
    if !on_host::is_there() {
        return;
    }
    let particles = generate(120, Distribution::Uniform, Charge::Positive, 1);
    let found = computed::<f64>(particles.columns().into(), &[&particles.q], 1, 11, 4);
    let error = error::measure(&particles, &found.fields[0], 120, 1, 0.0).gradient_rel_l2.expect("a gradient");
    assert!(found.stats.levels == 3 && error < 1e-5, "{} levels, error {error:.1e}", found.stats.levels);
}

#[test]
#[ignore = "a proof in depth"]
fn kernels_of_higher_orders_give_direct_sums_and_the_same_bits_on_any_number_of_gpus() {
    if !on_host::is_there() {
        return;
    }
    check::<f32>(Distribution::Uniform, (400, 4, 4), 4, 3e-3);
    check::<f64>(Distribution::Uniform, (300, 3, 40), 2, 1e-12);
    check::<f64>(Distribution::Uniform, (300, 11, 4), 4, 1e-5);
    check::<f32>(Distribution::Uniform, (100, 12, 2), 3, 1e-5);
    check_apart(5, 2e-3);
    check_made(4, 3e-3);
}

/// Potential and gradient on several GPUs are those on one, to the bit, in f32 and in f64.
fn same_on_all(particles: &Particles, leaf: usize, counts: &[usize]) -> Stats {
    let columns = particles.columns();
    let one = [
        computed::<f32>(columns.into(), &[&particles.q], 1, 2, leaf),
        computed::<f64>(columns.into(), &[&particles.q], 1, 1, leaf),
    ];
    for devices in counts {
        let f32 = computed::<f32>(columns.into(), &[&particles.q], *devices, 2, leaf);
        let f64 = computed::<f64>(columns.into(), &[&particles.q], *devices, 1, leaf);
        for (one, several) in one.iter().zip([f32, f64]) {
            assert!(several.fields == one.fields, "{} particles on {devices} GPUs", particles.len());
            let counted = |s: &Stats| (s.pairs, s.recomputed, s.close_pairs);
            assert_eq!(counted(&several.stats), counted(&one.stats));
        }
    }
    one.into_iter().next().expect("two").stats
}

#[test]
#[ignore = "a proof in depth"]
fn gpus_that_hold_parts_of_crowded_particles_give_the_bits_of_one() {
    if !on_host::is_there() {
        return;
    }
    // All in one point but one: one GPU has all targets, and others have no leaves.
    let point = |n: usize| Particles {
        x: [vec![0.25; n], vec![1.0]].concat(),
        y: [vec![0.5; n], vec![1.0]].concat(),
        z: [vec![0.125; n], vec![1.0]].concat(),
        q: (0..=n).map(|k| k as f64 - 3.5).collect(),
    };
    let stats = same_on_all(&point(40), 1, &[2, 7]);
    assert_eq!((stats.recomputed, stats.close_pairs), (40, 0));
    // A crowd whose pairs are nearly all too close for f32, in the shares of all GPUs.
    let mut crowd = generate(90, Distribution::Uniform, Charge::Random, 1);
    for k in (0..90).filter(|k| k % 3 != 0) {
        for column in [&mut crowd.x, &mut crowd.y, &mut crowd.z] {
            column[k] = 0.4 + 1e-6 * column[k];
        }
    }
    let stats = same_on_all(&crowd, 2, &[3, 4]);
    assert!(stats.recomputed >= 60 && stats.close_pairs >= 1770, "{stats:?}");
}

#[test]
fn targets_that_are_computed_again_get_the_room_that_they_need() {
    if !on_host::is_there() {
        return;
    }
    // More of them than a GPU has room for at first.
    let mut crowd = generate(1500, Distribution::Uniform, Charge::Positive, 1);
    for column in [&mut crowd.x, &mut crowd.y, &mut crowd.z] {
        column[..1400].iter_mut().for_each(|x| *x = 0.4 + 1e-6 * *x);
    }
    let found = computed::<f32>(crowd.columns().into(), &[&crowd.q, &crowd.q], 1, 2, 64);
    let error = error::measure(&crowd, &found.fields[0], 200, 1, 0.0).gradient_rel_l2.expect("a gradient");
    assert!(found.stats.recomputed >= 2800 && error < 1e-6, "{:?}, error {error:.1e}", found.stats);
    assert!(found.fields[0] == found.fields[1], "the second run, with room for all, gives the same bits");
}

#[test]
fn a_gpu_that_stands_for_several_gives_the_bits_of_one() {
    if let Err(why) = device::found().and_then(|_| compile::check()) {
        eprintln!("skipped: no CUDA device ({why})");
        return;
    }
    for (distribution, n, order, leaf) in [
        (Distribution::Uniform, 200_000, 5, 30),
        (Distribution::Sphere, 30_000, 3, 4),
        (Distribution::Normal, 20_000, 4, 64),
        (Distribution::Uniform, 5, 4, 64),
    ] {
        let particles = generate(n, distribution, Charge::Random, 1);
        let on = |devices: usize| {
            let devices = (0..devices).map(|_| Device::open().expect("there is one")).collect();
            computed_on::<f32, Device>(devices, particles.columns().into(), &[&particles.q], order, leaf)
        };
        let one = on(1);
        for devices in [2, 3, 4, 7] {
            let several = on(devices);
            assert!(several.fields == one.fields, "{distribution:?} on {devices} GPUs");
            assert_eq!((several.stats.pairs, several.stats.recomputed), (one.stats.pairs, one.stats.recomputed));
        }
    }
}

#[test]
fn a_gpu_takes_targets_apart_and_several_sets_of_charges() {
    if on_host::is_there() {
        check_apart(2, 4e-2);
    }
}

/// Targets that are no sources, and two sets of charges, with errors within a bound.
fn check_apart(order: usize, bound: f64) {
    let mut sources = generate(500, Distribution::Uniform, Charge::Random, 1);
    let targets = generate(250, Distribution::Uniform, Charge::Random, 2);
    // A target at the very place of a source, and one close to another source.
    for (column, at) in [&mut sources.x, &mut sources.y, &mut sources.z].into_iter().zip(targets.columns()) {
        (column[3], column[7]) = (at[10], at[20] * (1.0 + 1e-9));
    }
    let geometry = Geometry { sources: sources.columns(), targets: Some(targets.columns()) };
    let (first, second) = (&sources.q[..], &targets.q.repeat(2)[..]);
    let one = computed::<f32>(geometry, &[first, second], 1, order, 8);
    for (charges, field) in [first, second].into_iter().zip(&one.fields) {
        let direct = Direct { geometry, sources: charges.into(), eps: 0.0, hessian: false };
        let errors = error::measure_all(&direct, None, field, 250, 1);
        let is_right = [errors.gradient_median, errors.gradient_rel_l2].iter().all(|e| e.is_some_and(|e| e < bound));
        assert!(field.potential.len() == 250 && is_right, "{errors:?}");
    }
    // One target and one source each time; neither the sources nor the targets are close to themselves.
    assert_eq!((one.stats.targets, one.stats.close_pairs, one.stats.recomputed), (Some(250), 2, 4));
    let three = computed::<f32>(geometry, &[first, second], 3, order, 8);
    assert!(three.fields == one.fields);
}

#[test]
fn direct_sums_that_errors_are_judged_by_are_those_of_the_cpu() {
    if !on_host::is_there() {
        return;
    }
    let mut sources = generate(1300, Distribution::Plummer, Charge::Random, 1);
    let targets = generate(140, Distribution::Uniform, Charge::Random, 2);
    // A target at the very place of a source, one that f64 hardly tells from another, and one nearer to a source at 0 than it holds.
    for (column, at) in [&mut sources.x, &mut sources.y, &mut sources.z].into_iter().zip(targets.columns()) {
        (column[3], column[7], column[9]) = (at[10], at[20] * (1.0 + 1e-15), 0.0);
    }
    let mut places: Vec<[f64; 3]> = (0..140).map(|k| targets.columns().map(|column| column[k])).collect();
    places[30] = [1e-60, 0.0, 0.0];
    let columns = [0, 1, 2].map(|axis| places.iter().map(|place| place[axis]).collect::<Vec<f64>>());
    let geometry = Geometry { sources: sources.columns(), targets: Some(columns.each_ref().map(|c| &c[..])) };
    let (kernel, units) = units();
    for (eps, devices) in [(0.0, 1), (0.01, 3)] {
        let devices = vec![HostDevice::default(); devices];
        let mut whole: GpuFmm<f32, HostDevice> = GpuFmm::new(&devices, &kernel, 2, units).expect("it compiles");
        let team = Team::alone(&devices);
        let found = search::direct(&team, &mut whole, geometry, &sources.q, &places, eps).expect("there is room");
        let direct = Direct { geometry, sources: (&sources.q[..]).into(), eps, hessian: false };
        let wanted = direct.at(&(0..140).collect::<Vec<_>>());
        for (k, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            let Some(found) = found else {
                assert_eq!(k, 30);
                continue;
            };
            let size = wanted[..4].iter().map(|x| x * x).sum::<f64>().sqrt();
            let is_same = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12 * size);
            assert!(k != 30 && is_same, "{k}: {found:?}, the CPU {wanted:?}");
        }
    }
}

#[test]
fn far_offsets_take_the_order_below_where_it_is_asked_for() {
    if !on_host::is_there() {
        return;
    }
    let particles = generate(400, Distribution::Uniform, Charge::Positive, 1);
    let (devices, (kernel, units)) = ([HostDevice::default()], units());
    let of = |lower_beyond: Option<f64>| {
        let options = FmmOptions { order: 2, leaf: 8, basis: Basis::Solid, lower_beyond, ..FmmOptions::default() };
        let extra = Extra { lower_beyond, ..Extra::default() };
        let mut whole: GpuFmm<f32, HostDevice> =
            GpuFmm::with_options(&devices, &kernel, 2, units, &extra).expect("it compiles");
        whole.tree = TreeKind::OneDepth;
        let geometry = particles.columns().into();
        let task = Task {
            name: "host",
            geometry,
            sets: &[particles.q[..].into()],
            options: &options,
            wanted: Wanted::default(),
            leaf: Some(4),
        };
        let own = task.run(&Team::alone(&devices), &mut whole).expect("there is room").expect("it is fit");
        let plan = Plan::new(particles.columns(), &options).expect("good options");
        let cpu = plan.solve(&particles.q, &mut [], &mut |_, _, _| {}).expect("the CPU is always there").field;
        let error = |field: &Field| error::measure(&particles, field, 200, 1, 0.0).potential_rel_l2;
        [error(&own.fields[0]), error(&cpu)]
    };
    let all = [None, Some(5.5), Some(3.5)].map(of);
    assert!(all.iter().all(|[own, cpu]| *own < 1.4 * cpu), "{all:?}");
    assert!(all[0][0] < all[1][0] && all[1][0] < all[2][0], "{all:?}");
}

#[test]
fn particles_made_on_gpus_have_the_errors_and_the_bits_of_others() {
    if on_host::is_there() {
        check_made(2, 4e-2);
    }
}

/// Particles that are made on GPUs, with errors within a bound.
fn check_made(order: usize, bound: f64) {
    let text = pg2::kernels::find("p2p").expect("a shipped kernel").text;
    let kernel = pg2::compile("p2p", text).expect("it compiles").graph;
    let P2p { units, length, .. } = P2p::bind(&kernel, false, &[]).expect("it is 1/r");
    let units = Units { potential: units.potential, gradient: units.gradient, length };
    let options = FmmOptions { order, basis: Basis::Solid, ..FmmOptions::default() };
    let geometry = Geometry { sources: [&[]; 3], targets: None };
    let task = Task { name: "host", geometry, sets: &[], options: &options, wanted: Wanted::default(), leaf: Some(4) };
    let on = |count: usize| {
        let devices: Vec<HostDevice> = (0..count).map(|_| HostDevice::default()).collect();
        let mut whole: GpuFmm<f32, HostDevice> = GpuFmm::new(&devices, &kernel, order, units).expect("it compiles");
        task.made(&Team::alone(&devices), &mut whole, 500, 60, 1).expect("there is room").expect("it is fit")
    };
    let (one, two) = (on(1), on(2));
    let found = one.errors.gradient_rel_l2.expect("a gradient");
    assert!(found > 0.0 && found < bound && one.errors.potential_rel_l2 < bound / 3.0, "{:?}", one.errors);
    assert!(one.field == two.field && one.runs[0].pairs == two.runs[0].pairs && one.runs[0].levels == 4);
}

#[test]
fn pairs_of_cells_are_those_of_a_full_tree() {
    // So many particles that no cell down to the third level is empty, nor one there has more than 80.
    let particles = generate(20_000, Distribution::Uniform, Charge::Random, 1);
    let options = FmmOptions { basis: Basis::Solid, leaf: 80, ..FmmOptions::default() };
    let plan = Plan::new(particles.columns(), &options).expect("good options");
    assert_eq!(plan.tree.levels.len(), 4);
    assert_eq!(plan.pairs.m2l, m2l_pairs(3, NEAR2, [false; 3]));
    assert_eq!((m2l_pairs(0, NEAR2, [false; 3]), m2l_pairs(1, NEAR2, [false; 3])), (0, 0));
}
