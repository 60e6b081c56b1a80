//! Kernels that are not 1/r, by the kernels of the GPU compiled for the host: errors beside the CPU's, and several GPUs.

use super::*;
use fmm::data::periodic::Periodic;
use fmm::octree::Coincident;
use fmm::octree::executor::Executor;
use pipelines::octree::kernel::of_graph;

/// A kernel of P2P: its name, the statements behind its pins, and the values of its parameters.
struct Law {
    name: &'static str,
    text: &'static str,
    params: &'static [(&'static str, f64)],
}

const PINS: &str =
    "fixed32.31 xi[3] ipin; fixed32.31 xj[3] jpin; float25.16 mj jpin; fixed64.20 pout fout; fixed64.10 gout[3] fout;
dx = (float25.16)(xj - xi); r2 = dx * dx; inr = pg_pow(r2, -1, 2);\n";

/// One of each symmetry, with a length of its own and homogeneous.
const LAWS: [Law; 4] = [
    Law { name: "p2p_yukawa", text: "", params: &[("kappa", 5.0)] },
    Law {
        name: "inverse cube",
        text: "e = mj * inr * inr * inr; pout += (fixed64.20)e; gout += (fixed64.10)(3.0 * e * inr * inr * dx);",
        params: &[],
    },
    Law {
        name: "a dipole's",
        text: "float25.16 px param; float25.16 py param;
            i3 = mj * inr * inr * inr; along = px * dx[0] + py * dx[1] - 0.25 * dx[2]; b = 3.0 * along * i3 * inr * inr;
            pout += (fixed64.20)(along * i3); gout[0] += (fixed64.10)(b * dx[0] - px * i3);
            gout[1] += (fixed64.10)(b * dx[1] - py * i3); gout[2] += (fixed64.10)(b * dx[2] + 0.25 * i3);",
        params: &[("px", 1.0), ("py", 0.5)],
    },
    Law {
        name: "a stretched Gaussian's",
        text: "s = dx[0] * dx[0] + 2.0 * dx[1] * dx[1] + 0.5 * dx[2] * dx[2]; e = mj * pg_exp(-3.0 * s) * inr;
            pout += (fixed64.20)e; g = e * inr * inr;
            gout[0] += (fixed64.10)((g + 6.0 * e) * dx[0]); gout[1] += (fixed64.10)((g + 12.0 * e) * dx[1]);
            gout[2] += (fixed64.10)((g + 3.0 * e) * dx[2]);",
        params: &[],
    },
];

impl Law {
    fn graph(&self) -> Graph {
        let text = match pg2::kernels::find(self.name) {
            Some(shipped) => shipped.text.to_string(),
            None => format!("{PINS}{}", self.text),
        };
        let compiled = pg2::compile("law", &text);
        compiled.unwrap_or_else(|e| panic!("{}: {e:?}", self.name)).graph
    }
}

/// A problem of a kernel.
struct Case<'a> {
    law: &'a Law,
    kernel: Graph,
    particles: &'a Particles,
    options: FmmOptions,
    tree: TreeKind,
}

impl<'a> Case<'a> {
    fn new(law: &'a Law, particles: &'a Particles, order: usize, leaf: usize) -> Case<'a> {
        let params = law.params.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        let options = FmmOptions { order, leaf, basis: Basis::Chebyshev, params, ..FmmOptions::default() };
        Case { law, kernel: law.graph(), particles, options, tree: TreeKind::OneDepth }
    }

    fn run<T: Number>(&self, devices: usize) -> Outcome<Found> {
        let device = HostDevice { is_far: devices.is_multiple_of(2), ..HostDevice::default() };
        self.run_on::<T, HostDevice>(vec![device; devices])
    }

    fn run_on<T: Number, C: GpuDevice>(&self, devices: Vec<C>) -> Outcome<Found> {
        let mut whole: GpuFmm<T, C> = GpuFmm::black_box(&devices, &self.kernel, &self.options).expect("it compiles");
        whole.tree = self.tree;
        let (geometry, leaf) = (self.particles.columns().into(), Some(self.options.leaf));
        let task = Task {
            name: "host",
            geometry,
            sets: &[self.particles.q[..].into()],
            options: &self.options,
            wanted: Wanted::default(),
            leaf,
        };
        let team = Team::alone(&devices);
        let first = task.run(&team, &mut whole).expect("there is room");
        // The second run finds the tables that the first one left.
        let second = task.run(&team, &mut whole).expect("as before");
        if let (Ok(first), Ok(second)) = (&first, &second) {
            assert!(second.fields == first.fields, "a run gives the same bits each time");
        }
        second
    }

    /// Errors of potential and gradient of a field and of the CPU's, against direct sums.
    fn errors(&self, field: &Field) -> [[f64; 2]; 2] {
        let kernel = of_graph(&self.kernel);
        let geometry = self.particles.columns();
        let plan = Plan::for_kernel(geometry, &self.options, Some(kernel)).expect("good options");
        let mut near = kernel.in_f64();
        let executors: &mut [&mut dyn Executor<Plan>] = &mut [&mut *near];
        let cpu = plan.solve(&self.particles.q, executors, &mut |_, _, _| {}).expect("the CPU is always there").field;
        let targets: Vec<usize> = (0..self.particles.len()).step_by(self.particles.len().div_ceil(120)).collect();
        let direct = kernel.direct(&plan, &self.particles.q, &targets, &mut |_, _, _| {}).expect("it sums");
        let of = |field: &Field| {
            let gradient = field.gradient.as_ref().expect("a gradient");
            let found = |k: usize, a: usize| if a == 0 { field.potential[k] } else { gradient[a - 1][k] };
            let error = |axes: std::ops::Range<usize>| {
                let pairs = targets.iter().zip(&direct).flat_map(|(k, direct)| {
                    axes.clone().map(move |a| ((found(*k, a) - direct[a]).powi(2), direct[a].powi(2)))
                });
                let (off, all) = pairs.fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
                f64::sqrt(off / all)
            };
            [error(0..1), error(1..4)]
        };
        [of(field), of(&cpu)]
    }

    /// Whether direct sums, which errors are judged by, are those of the CPU.
    fn check_sums(&self) {
        let devices = [HostDevice::default()];
        let mut whole: GpuFmm<f32, HostDevice> =
            GpuFmm::black_box(&devices, &self.kernel, &self.options).expect("it compiles");
        let (columns, targets, charges) = (self.particles.columns(), [3, 77, 140], &self.particles.q[..]);
        let places = targets.map(|k| columns.map(|column| column[k]));
        let found = search::direct(&Team::alone(&devices), &mut whole, columns.into(), charges, &places, 0.0);
        let kernel = of_graph(&self.kernel);
        let plan = Plan::for_kernel(columns, &self.options, Some(kernel)).expect("good options");
        let wanted = kernel.direct(&plan, charges, &targets, &mut |_, _, _| {}).expect("it sums");
        for (found, wanted) in found.expect("there is room").iter().zip(&wanted) {
            let (found, size) = (found.expect("none are close"), wanted.iter().map(|x| x * x).sum::<f64>().sqrt());
            let is_same = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6 * size);
            assert!(is_same, "{found:?}, the CPU {wanted:?}");
        }
    }

    /// Whether the errors of a run are those of the CPU, whose tree has some larger leaves, but for rounding.
    fn check_errors(&self, field: &Field, rounding: f64) {
        let [own, cpu] = self.errors(field);
        let is_right = own.iter().zip(cpu).all(|(own, cpu)| *own <= 1.6 * cpu + rounding);
        assert!(is_right, "{} of order {}: {own:?}, the CPU {cpu:?}", self.law.name, self.options.order);
    }

    /// The same, and whether the bits are those of several GPUs.
    fn check<T: Number>(&self, rounding: f64, several: &[usize]) {
        let one = self.run::<T>(1).unwrap_or_else(|why| panic!("{}: {why}", self.law.name));
        self.check_errors(&one.fields[0], rounding);
        for devices in several {
            let other = self.run::<T>(*devices).expect("as before");
            assert!(other.fields == one.fields, "{} on {devices} GPUs", self.law.name);
            assert_eq!(other.stats.pairs, one.stats.pairs);
        }
    }
}

#[test]
fn a_screened_kernel_has_the_errors_of_the_cpu_and_the_same_bits_on_two_gpus() {
    if !on_host::is_there() {
        return;
    }
    let particles = generate(500, Distribution::Uniform, Charge::Random, 1);
    let case = Case::new(&LAWS[0], &particles, 2, 8);
    case.check::<f32>(1e-5, &[2]);
    case.check_sums();
}

#[test]
#[ignore = "a proof in depth"]
fn every_kernel_has_the_errors_of_the_cpu_in_every_order() {
    if !on_host::is_there() {
        return;
    }
    let particles = generate(700, Distribution::Uniform, Charge::Random, 1);
    for law in &LAWS {
        for order in 2..=8 {
            let case = Case::new(law, &particles, order, 8);
            case.check::<f32>(2e-5, &[]);
            case.check::<f64>(1e-9, &[]);
        }
    }
}

#[test]
#[ignore = "a proof in depth"]
fn every_kernel_has_the_errors_of_the_cpu_in_every_distribution() {
    if !on_host::is_there() {
        return;
    }
    for law in &LAWS {
        for (_, distribution) in Distribution::ALL {
            let particles = generate(900, distribution, Charge::Random, 1);
            let case = Case { tree: TreeKind::Adaptive, ..Case::new(law, &particles, 3, 8) };
            case.check::<f32>(2e-5, &[2]);
            case.check::<f64>(1e-9, &[3]);
        }
    }
}

#[test]
#[ignore = "a proof in depth"]
fn every_kernel_has_the_errors_of_the_cpu_in_periodic_boxes() {
    if !on_host::is_there() {
        return;
    }
    let particles = generate(300, Distribution::Uniform, Charge::Random, 1);
    for law in &LAWS {
        for tree in [TreeKind::OneDepth, TreeKind::Adaptive] {
            let mut case = Case { tree, ..Case::new(law, &particles, 3, 8) };
            // The sum over a plane of images of a dipole's potential does not converge absolutely.
            let axes = [true, false, law.name != "a dipole's"];
            case.options.periodic = Some(Periodic { length: 1.5, axes });
            case.check::<f32>(2e-5, &[2]);
            case.check::<f64>(1e-9, &[]);
        }
    }
}

#[test]
#[ignore = "a proof in depth"]
fn kernels_take_other_angles_in_an_adaptive_tree() {
    if !on_host::is_there() {
        return;
    }
    let (plummer, uniform) = (Distribution::Plummer, Distribution::Uniform);
    for (distribution, axes) in [(plummer, None), (uniform, Some([true; 3])), (uniform, Some([false, true, false]))] {
        let particles = generate(300, distribution, Charge::Random, 1);
        let mut case = Case { tree: TreeKind::Adaptive, ..Case::new(&LAWS[0], &particles, 3, 8) };
        case.options.theta = 1.0 / 3.0;
        case.options.periodic = axes.map(|axes| Periodic { length: 1.5, axes });
        case.check::<f32>(2e-5, &[2]);
    }
}

#[test]
fn a_gpu_has_the_errors_of_the_cpu_with_every_kernel() {
    if let Err(why) = device::found().and_then(|_| compile::check()) {
        eprintln!("skipped: no CUDA device ({why})");
        return;
    }
    let open = || vec![Device::open().expect("there is one")];
    for law in &LAWS {
        for (distribution, tree) in
            [(Distribution::Uniform, TreeKind::OneDepth), (Distribution::Plummer, TreeKind::Adaptive)]
        {
            let particles = generate(5000, distribution, Charge::Random, 1);
            let case = Case { tree, ..Case::new(law, &particles, 5, 30) };
            let found = [case.run_on::<f32, Device>(open()), case.run_on::<f64, Device>(open())];
            for (found, rounding) in found.into_iter().zip([2e-5, 1e-9]) {
                case.check_errors(&found.expect("it is fit").fields[0], rounding);
            }
        }
    }
}

/// For `--nocapture` on a GPU: milliseconds of each stage, of a second run.
#[test]
#[ignore = "a measurement"]
fn stages_of_a_screened_kernel_take_so_long() {
    if let Err(why) = device::found().and_then(|_| compile::check()) {
        eprintln!("skipped: no CUDA device ({why})");
        return;
    }
    for distribution in [Distribution::Uniform, Distribution::Plummer] {
        let particles = generate(1_000_000, distribution, Charge::Random, 1);
        for (order, leaf) in [(5, 31), (6, 31), (7, 31), (8, 31), (8, 245)] {
            let case = Case { tree: TreeKind::Chosen, ..Case::new(&LAWS[0], &particles, order, leaf) };
            let found = case.run_on::<f32, Device>(vec![Device::open().expect("there is one")]).expect("it is fit");
            let times = found.runs[0].times;
            eprintln!(
                "{distribution:?} order {order}, leaf {leaf}: {:.2} ms, {:.2?}",
                1e3 * times.total,
                times.stages.map(|s| 1e3 * s)
            );
            assert!(times.total > 0.0 && found.stats.pairs.m2l > 0);
        }
    }
}

#[test]
fn dipoles_and_second_derivatives_of_a_black_box_expansion_are_left_to_the_cpu() {
    let of = |basis, wanted| Gpu::refuses_wanted(&FmmOptions { order: 4, basis, ..FmmOptions::default() }, wanted);
    for (hessian, dipoles) in [(true, false), (false, true), (true, true)] {
        let wanted = Wanted { hessian, dipoles };
        assert!(of(Basis::Chebyshev, wanted).is_some_and(|why| why.contains("black-box")));
        assert_eq!(of(Basis::Solid, wanted), None);
    }
    assert_eq!(of(Basis::Chebyshev, Wanted::default()), None);
}

#[test]
#[ignore = "a proof in depth"]
fn a_kernel_that_acts_at_distance_0_is_left_to_the_cpu() {
    if !on_host::is_there() {
        return;
    }
    let particles = generate(300, Distribution::Uniform, Charge::Random, 1);
    let text = "r = pg_pow(r2 + 0.01, -1, 2); e = mj * r; pout += (fixed64.20)e; gout += (fixed64.10)(e * r * r * dx);";
    let softened = Law { name: "softened", text, params: &[] };
    let mut case = Case::new(&softened, &particles, 1, 8);
    case.options.coincident = Coincident::Include;
    assert!(case.run::<f32>(1).is_err_and(|why| why.contains("one place")));
}
