//! Several sets of charges in one run, by the kernels compiled for the host: one tree, and the results of single runs.

use super::*;
use crate::cuda::on_host::Launched;

/// Kernels that make the tree of one depth, and those that make an adaptive one and its lists.
const MAKE_TREES: [&[&str]; 2] = [
    &["count", "share_cells", "share_sums", "share_add", "scan_cells", "scan_sums", "scan_add", "scatter", "settle"],
    &[
        "keys",
        "count_digits",
        "scan_rows",
        "place_digits",
        "mark_cells",
        "make_cells",
        "find_colleagues",
        "share_leaves",
        "list_leaves",
        "list_cells",
    ],
];

/// Two sets of charges in one run give what each gives alone, to the bit, in a tree that is made once.
fn check<T: Number>(tree: TreeKind, count: usize, order: usize) {
    let (launched, (kernel, units)) = (Launched::keep(), units());
    let devices =
        vec![HostDevice { is_far: count.is_multiple_of(2), launched: Some(launched), ..HostDevice::default() }; count];
    let distribution = if tree == TreeKind::OneDepth { Distribution::Uniform } else { Distribution::Plummer };
    let mut particles = generate(150, distribution, Charge::Random, 1);
    // A pair that is computed again in f64.
    for column in [&mut particles.x, &mut particles.y, &mut particles.z] {
        column[7] = column[100] + 1e-9;
    }
    let few = |(k, q): (usize, &f64)| if k % 3 == 0 { 1e5 * q * q } else { 0.0 };
    let few: Vec<f64> = particles.q.iter().enumerate().map(few).collect();
    let sets = [&particles.q, &few].map(|charges| Sources::from(&charges[..]));
    let options = FmmOptions { order, basis: Basis::Solid, ..FmmOptions::default() };
    let team = Team::alone(&devices);
    let new = || GpuFmm::<T, HostDevice>::new(&devices, &kernel, order, units).expect("it compiles");
    let run = |whole: &mut GpuFmm<T, HostDevice>, particles: &Particles, sets: &[Sources]| {
        let geometry = particles.columns().into();
        whole.tree = tree;
        let task = Task { name: "host", geometry, sets, options: &options, wanted: Wanted::default(), leaf: Some(4) };
        launched.take();
        let found = task.run(&team, whole).expect("there is room").expect("it is fit").solutions();
        (found, launched.take())
    };
    let mut whole = new();
    // So that there is room for all lists.
    run(&mut whole, &particles, &sets[..1]);
    let (all, of_all) = run(&mut whole, &particles, &sets);
    let singles: Vec<_> = sets.iter().map(|set| run(&mut whole, &particles, &[*set])).collect();
    let (mut pairs, mut again) = (0, 0);
    for (k, (single, _)) in singles.iter().enumerate() {
        assert!(single.fields[0] == all.fields[k], "set {k} in {tree:?} on {count} GPUs");
        (pairs, again) = (pairs + single.stats.pairs.p2p, again + single.stats.recomputed);
    }
    assert_eq!((all.stats.pairs.p2p, all.stats.recomputed), (pairs, again));
    assert_eq!(again > 0, T::REAL == Real::F32);
    let times = |name: &str, of: &[String]| of.iter().filter(|of| *of == name).count();
    let makes = MAKE_TREES[(tree == TreeKind::Adaptive) as usize];
    for name in &singles[0].1 {
        let most = if makes.contains(&&**name) { 1 } else { 2 };
        assert_eq!(times(name, &of_all), most * times(name, &singles[0].1), "{name} in {tree:?} on {count} GPUs");
    }
    assert!(makes.iter().any(|name| times(name, &of_all) > 0));
    // A later run in places that are known needs no tree at all.
    whole.positions = Some(1);
    let (_, first) = run(&mut whole, &particles, &sets[..1]);
    let (later, of_later) = run(&mut whole, &particles, &sets[1..]);
    assert!(later.fields[..] == all.fields[1..] && makes.iter().any(|name| times(name, &first) > 0));
    assert!(makes.iter().all(|name| times(name, &of_later) == 0), "{of_later:?}");
    // Particles that have moved get another tree.
    whole.positions = Some(2);
    particles.x.iter_mut().for_each(|x| *x *= 1.5);
    let moved = run(&mut whole, &particles, &[(&few[..]).into()]).0;
    assert!(moved.fields == run(&mut new(), &particles, &[(&few[..]).into()]).0.fields);
}

#[test]
fn several_sets_of_charges_have_one_tree_and_the_bits_of_single_runs() {
    if !on_host::is_there() {
        return;
    }
    // An order whose kernels other tests compile.
    for tree in [TreeKind::OneDepth, TreeKind::Adaptive] {
        check::<f32>(tree, 1, 2);
    }
}

#[test]
#[ignore = "a proof in depth"]
fn several_sets_of_charges_have_the_bits_of_single_runs_on_any_number_of_gpus() {
    if !on_host::is_there() {
        return;
    }
    for tree in [TreeKind::OneDepth, TreeKind::Adaptive] {
        (1..=3).for_each(|count| check::<f64>(tree, count, 1));
        (1..=4).for_each(|count| check::<f32>(tree, count, 2));
    }
}
