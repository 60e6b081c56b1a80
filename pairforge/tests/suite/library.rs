//! The library as programs call it.

mod two_dimensions;

use pairforge::Error;
use pairforge::fmm::ranks::{Job, RankSlice, slice};
use pairforge::fmm::{Cancel, Fmm, Options, Plan, Points, Problem, Sources};
use pairforge::kernel::{self, Backend, Engine, Records};
use pairforge::random::{self, Particles};
use pairforge::ranks::threads;
use rayon::prelude::*;

fn is_shared<T: Send + Sync>() {}

#[test]
fn plans_and_kernels_can_be_shared_among_threads() {
    is_shared::<Plan>();
    is_shared::<kernel::Kernel>();
    is_shared::<Error>();
    let particles: Vec<_> = (1..4).map(|seed| random::uniform(2000, seed)).collect();
    let plans: Vec<Plan> =
        particles.iter().map(|p| Plan::new(p.columns(), &Options::default().order(4)).unwrap()).collect();
    let one_by_one: Vec<_> = plans.iter().zip(&particles).map(|(plan, p)| plan.run(&p.q).unwrap()).collect();
    // Each plan from two threads at once, and all at the same time.
    std::thread::scope(|scope| {
        let runs = plans.iter().zip(&particles).flat_map(|pair| [pair, pair]);
        let threads: Vec<_> = runs.map(|(plan, p)| scope.spawn(|| plan.run(&p.q).unwrap())).collect();
        for (k, thread) in threads.into_iter().enumerate() {
            assert_eq!(thread.join().unwrap(), one_by_one[k / 2]);
        }
    });
    // A pool of the caller's gives the same bits.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(pool.install(|| plans[0].run(&particles[0].q).unwrap()), one_by_one[0]);
}

/// Nothing waits for itself, wherever first runs begin at the same time: on threads, or in parallel loops, whose threads take up other
/// runs while they wait within one.
#[test]
fn first_runs_may_begin_at_the_same_time() {
    let p = random::uniform(3000, 5);
    for options in [Options::default().tolerance(1e-4), Options::default().order(4)] {
        let plan = Plan::new(p.columns(), &options).unwrap();
        let fields: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| plan.run(&p.q).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let fmm = Fmm::new(&options).unwrap();
        let looped: Vec<_> = (0..6).into_par_iter().map(|_| fmm.plan(p.columns()).run(&p.q).unwrap()).collect();
        assert!(fields.iter().chain(&looped).all(|field| *field == fields[0]));
    }
    let few = random::uniform(300, 5);
    let plan = Plan::new(few.columns(), &Options::default().order(2).backend("emulator")).unwrap();
    let runs: Vec<_> = (0..4).into_par_iter().map(|_| plan.run(&few.q)).collect();
    let right = plan.run(&few.q).unwrap();
    for run in runs {
        match run {
            Ok(field) => assert_eq!(field, right),
            Err(e) => assert!(e.to_string().contains("within another one"), "{e}"),
        }
    }
}

#[test]
fn a_plan_with_a_tolerance_keeps_it_and_its_order() {
    let p = random::uniform(5000, 7);
    let plan = Plan::new(p.columns(), &Options::default().tolerance(1e-4).samples(500)).unwrap();
    let found = plan.run_all(&[p.q[..].into()]).unwrap();
    assert!(found.stats.error.unwrap().gradient_rel_l2.unwrap() <= 1e-4);
    let again = plan.run_all(&[p.q[..].into()]).unwrap();
    assert_eq!((again.stats.order, &again.fields), (found.stats.order, &found.fields));
    // Of twice the charges all is twice.
    let double: Vec<f64> = p.q.iter().map(|q| 2.0 * q).collect();
    let mut out = [vec![0.0; 5000], vec![0.0; 5000], vec![0.0; 5000], vec![0.0; 5000]];
    let [phi, x, y, z] = &mut out;
    let mut outputs = pairforge::fmm::Outputs { potential: phi, gradient: [x, y, z], hessian: None };
    plan.run_into(&double, &mut outputs).unwrap();
    assert!(out[0].iter().zip(&found.fields[0].potential).all(|(a, b)| *a == 2.0 * b));
}

/// A plan that owns its points gives the bits of one that borrows them, also after they have moved, as many or not.
#[test]
fn a_plan_can_own_its_points_and_take_others() {
    let (p, moved) = (random::uniform(3000, 7), random::uniform(2000, 8));
    let fmm = Fmm::new(&Options::default().tolerance(1e-4)).unwrap();
    let owned = |p: &Particles| Points { sources: p.columns().map(<[f64]>::to_vec), targets: None };
    let mut plan: Plan<'static> = fmm.plan_owned(owned(&p));
    assert_eq!(plan.run(&p.q).unwrap(), fmm.plan(p.columns()).run(&p.q).unwrap());
    plan.update(owned(&moved));
    assert_eq!(plan.run(&moved.q).unwrap(), fmm.plan(moved.columns()).run(&moved.q).unwrap());
    let at = Points { targets: Some([vec![0.5], vec![0.25], vec![2.0]]), ..owned(&p) };
    assert_eq!(fmm.plan_owned(at.clone()).run(&p.q).unwrap(), fmm.plan(at.geometry()).run(&p.q).unwrap());
}

#[test]
fn options_that_are_no_good_are_refused_with_a_remedy() {
    let p = random::uniform(10, 1);
    let refused = |options: Options| match Plan::new(p.columns(), &options) {
        Err(Error::Options(text)) => text,
        Err(e) => panic!("{e:?}"),
        Ok(_) => panic!("it was taken"),
    };
    assert!(refused(Options::default().theta(0.7)).contains("at most 0.5"));
    assert!(refused(Options::default().backend("gpu")).contains("cuda"));
    assert!(refused(Options::default().order(0)).contains("order"));
    let plan = Plan::new(p.columns(), &Options::default()).unwrap();
    assert!(matches!(plan.run(&[1.0]), Err(Error::Input(text)) if text.contains("1 charges")));
    let mut out = [vec![0.0; 3], vec![0.0; 3], vec![0.0; 3], vec![0.0; 3]];
    let [phi, x, y, z] = &mut out;
    let mut outputs = pairforge::fmm::Outputs { potential: phi, gradient: [x, y, z], hessian: None };
    // By the first run, and by those that write there directly.
    for _ in 0..2 {
        assert!(
            matches!(plan.run_into(&p.q, &mut outputs), Err(Error::Input(text)) if text.contains("3 results of 10"))
        );
    }
}

#[test]
fn a_run_can_be_cancelled_between_stages() {
    let p = random::uniform(3000, 2);
    let cancel = Cancel::new();
    let plan = Plan::new(p.columns(), &Options::default().order(3).cancel(cancel.clone())).unwrap();
    let mut stages = Vec::new();
    let stop = &mut |stage: &'static str, _, _| {
        stages.push(stage);
        if stage == "M2M" {
            cancel.cancel();
        }
    };
    let sets: [Sources; 1] = [p.q[..].into()];
    assert!(matches!(plan.run_with(&sets, stop), Err(Error::Cancelled)));
    assert!(stages.contains(&"M2M") && !stages.contains(&"M2L"), "{stages:?}");
    assert!(matches!(plan.run(&p.q), Err(Error::Cancelled)));
}

#[test]
fn a_kernel_in_an_fmm_is_that_of_its_own_sums() {
    let p = random::uniform(800, 3);
    let kernel = kernel::shipped("p2p_yukawa").unwrap().with_param("kappa", 2.0);
    let options = Options::default().kernel(kernel).tolerance(1e-4).samples(200);
    let found = Plan::new(p.columns(), &options).unwrap().run_all(&[p.q[..].into()]).unwrap();
    assert!(found.stats.error.unwrap().gradient_rel_l2.unwrap() <= 1e-4);
}

#[test]
fn a_kernel_gives_the_same_bits_on_every_exact_backend_and_is_built() {
    let kernel = kernel::shipped("gravity").unwrap().with_param("eps2", 0.001);
    let x: Vec<[f64; 3]> = (0..20).map(|k| [k as f64 / 50.0, (k * k % 7) as f64 / 40.0, -0.25]).collect();
    let m: Vec<f64> = (0..20).map(|k| 1.0 + k as f64 / 3.0).collect();
    let (i, j) = (Records::new().vectors("xi", &x), Records::new().vectors("xj", &x).column("mj", &m));
    let sums = kernel.run(&i, &j, Backend::Emulator).unwrap();
    assert_eq!(sums.names(), ["phi", "acc[0]", "acc[1]", "acc[2]"]);
    assert_eq!(sums.pairs, 400);
    // Bit patterns of the same numbers.
    let formats = |name: &str| kernel.graph().pins.iter().find(|pin| pin.name == name).unwrap().format;
    let bits: Vec<u64> = m.iter().map(|m| pipelines::encode::encode(formats("mj"), *m).0).collect();
    let raw = Records::new().vectors("xj", &x).patterns("mj", &bits);
    let same = kernel.run(&i, &raw, Backend::Emulator).unwrap();
    assert!(sums.names().iter().all(|name| same.patterns(name) == sums.patterns(name)));
    let real = kernel.run(&i, &j, Backend::Cpu).unwrap();
    for name in sums.names() {
        for (a, b) in sums.column(name).iter().zip(real.column(name)) {
            assert!((a - b).abs() <= 2e-4 * b.abs() + 1e-3, "{name}: {a} {b}");
        }
    }
    if testkit::require("verilator") {
        let cycle = kernel.run(&i, &j, Backend::Cycle).unwrap();
        assert!(sums.names().iter().all(|name| cycle.patterns(name) == sums.patterns(name)));
        assert_eq!(cycle.flags, sums.flags);
        assert!(cycle.cycles.is_some());
    }
    let design = kernel.build(&Engine { pipelines: 4, ..Engine::default() }).unwrap();
    assert!(design.verilog.contains(&format!("module {}", design.top())));
    assert_eq!(design.manifest.pipelines, 4);
    assert!(kernel.build(&Engine { pipelines: 0, ..Engine::default() }).is_err());
    assert!(kernel.build(&Engine { target: "asic".into(), ..Engine::default() }).is_err());
}

#[test]
fn records_that_do_not_fit_are_refused_by_name() {
    let kernel = kernel::shipped("gravity").unwrap();
    let (x, m) = ([[0.0; 3], [0.25; 3]], [1.0, 2.0]);
    let refused = |kernel: &kernel::Kernel, i: Records, j: Records| match kernel.run(&i, &j, Backend::Emulator) {
        Err(e) => e.to_string(),
        Ok(_) => panic!("it was taken"),
    };
    let (i, j) = (Records::new().vectors("xi", &x), Records::new().vectors("xj", &x).column("mj", &m));
    assert!(refused(&kernel, i.clone(), j.clone()).contains("`eps2`"));
    let kernel = kernel.with_param("eps2", 0.0);
    assert!(refused(&kernel, i.clone(), Records::new().vectors("xj", &x)).contains("`mj`"));
    assert!(refused(&kernel, i.clone().column("q", &m), j.clone()).contains("`q`"));
    assert!(refused(&kernel, i.clone(), j.clone().column("mj", &m)).contains("twice"));
    let far = [[0.0; 3], [1.5; 3]];
    let text = refused(&kernel, Records::new().vectors("xi", &far), j);
    assert!(text.contains("`xi[0]` at 1, counted from 0, is 1.5"), "{text}");
    let of_one = Records::new().vectors("xj", &x).column("mj", &m[..1]);
    assert!(refused(&kernel, i.clone(), of_one).contains("`mj` has 1"));
    let wide = Records::new().vectors("xj", &x).patterns("mj", &[0, 1 << 40]);
    assert!(refused(&kernel, i, wide).contains("`mj` at 1, counted from 0, is no pattern of it: 0x10000000000"));
}

#[test]
fn errors_of_a_text_come_as_data_and_as_text() {
    let e = kernel::compile("float18.9 x ipin;\ny += x;\n").err().expect("no kernel");
    assert!(e.diagnostics.iter().all(|d| d.code.starts_with("PG")));
    assert!(e.to_string().starts_with("2:"), "{e}");
}

/// Ranks make the choices of one process, and compute its bits: with an order for a tolerance, and with a budget of the error.
#[test]
fn ranks_give_what_one_process_gives() {
    let particles = pairforge::random::uniform(900, 4);
    let whole = Problem { geometry: particles.columns().into(), sets: vec![particles.q[..].into()] };
    let asked = Options::default().samples(100);
    for options in [asked.clone().tolerance(1e-5), asked.order(5).budget(true)] {
        let alone = Plan::new(particles.columns(), &options).unwrap().run_all(&whole.sets).unwrap();
        let job = Job::new(&options, 3).unwrap();
        let found = threads::run(3, |rank| {
            let own = slice(900, rank);
            let geometry = particles.columns().map(|column| &column[own.clone()]).into();
            let own = Problem { geometry, sets: vec![particles.q[own].into()] };
            let whole = Some(&whole).filter(|_| rank.rank() == 0);
            job.open(rank, 0)?.solve(rank, &RankSlice { own, n: 900, whole })
        });
        let mut solved = found.into_iter().filter_map(|of_rank| of_rank.unwrap()).collect::<Vec<_>>();
        assert_eq!(solved.len(), 1);
        let mut solved = solved.remove(0);
        job.complete(&whole, &mut solved, &mut |_, _, _| {}).unwrap();
        assert_eq!(solved.fields, alone.fields);
        assert_eq!(solved.stats.error, alone.stats.error);
        assert_eq!((solved.stats.order, solved.stats.leaf), (alone.stats.order, alone.stats.leaf));
        assert_eq!(solved.stats.budget.is_some(), alone.stats.budget.is_some());
        assert_eq!(solved.report.ranks, 3);
    }
}
