//! All stages on a GPU, mesh and lists included, beside which the CPU does nothing.

use crate::cuda::CudaError;
use crate::cuda::device::{self, Device};
use crate::cuda::driver::{Outcome, reported};
use crate::cuda::gpu_device::GpuDevice;
use crate::cuda::plane::{Columns, MOST_LEVELS, Plane, Run, Settings, Shape};
use fmm::octree::stats::{Pairs, Seconds};
use fmm::octree::{FmmError, Precision};
use fmm::plane::stats::Stats;
use fmm::plane::{Field, Geometry, Kernel, Options, Solution, Strengths, mesh, options};
use fmm::stages::{AllStages, Work};
use pipelines::job::BackendError;
use std::time::Instant;

/// A GPU, and what was compiled for it.
pub struct Gpu<C: GpuDevice = Device> {
    pub device: C,
    plane: Option<Plane<C>>,
}

/// The results and the outcome of a run on the GPU.
#[derive(Clone, Debug)]
pub struct Answer {
    pub field: Field,
    pub levels: usize,
    pub run: Run,
    /// Seconds of sending points and strengths, and of fetching the results.
    pub sent: f64,
    pub fetched: f64,
}

impl Gpu {
    /// Opens the first GPU.
    pub fn open() -> Result<Gpu, FmmError> {
        device::ready().map_err(BackendError::from)?;
        Ok(Gpu::on(Device::open().map_err(BackendError::from)?))
    }
}

impl<C: GpuDevice> Gpu<C> {
    pub fn on(device: C) -> Gpu<C> {
        Gpu { device, plane: None }
    }

    /// Why the GPU does not take a problem.
    pub fn refuses(geometry: Geometry, options: &Options) -> Option<String> {
        let sources = geometry.sources[0].len();
        let targets = geometry.targets.map_or(sources, |t| t[0].len());
        let n = (sources + targets).div_ceil(2);
        let why = match () {
            _ if options.precision != Precision::F64 => "the precision is not f64",
            _ if n == 0 => "there are no points",
            _ if mesh::levels(n, options.leaf) > MOST_LEVELS => "the pyramid is too deep",
            _ => return None,
        };
        Some(why.into())
    }

    /// Computes the field of some strengths, or says why that is left to the CPU. With `is_timed` every stage is timed.
    pub fn field<'a>(
        &mut self,
        geometry: impl Into<Geometry<'a>>,
        strengths: Strengths,
        options: &Options,
        is_timed: bool,
    ) -> Result<Outcome<Answer>, FmmError> {
        let geometry = geometry.into();
        options.check()?;
        options::check_positions(geometry)?;
        options::check_strengths(geometry.sources[0].len(), options.kernel, &strengths)?;
        if let Some(why) = Gpu::<C>::refuses(geometry, options) {
            return Ok(Err(why));
        }
        let found = self.computed(geometry, strengths, options, is_timed);
        reported(found, || self.plane = None)
    }

    fn computed(
        &mut self,
        geometry: Geometry,
        strengths: Strengths,
        options: &Options,
        is_timed: bool,
    ) -> Result<Outcome<Answer>, CudaError> {
        let Gpu { device, plane } = self;
        let (is_log, is_complex) = (options.kernel == Kernel::Log, strengths.im.is_some());
        let shape = Shape::new(options.order, is_log, is_complex, device.shared_memory()?);
        if plane.as_ref().is_none_or(|plane| *plane.shape() != shape) {
            *plane = None;
            *plane = Some(Plane::new(device, shape)?);
        }
        let plane = plane.as_mut().expect("it was made");
        let start = Instant::now();
        let joined = geometry.targets.map(|targets| Joined::new(geometry.sources, targets, strengths));
        let columns = match &joined {
            None => Columns { x: geometry.sources[0], y: geometry.sources[1], re: strengths.re, im: strengths.im },
            Some(all) => Columns { x: &all.x, y: &all.y, re: &all.re, im: strengths.im.map(|_| &all.im[..]) },
        };
        plane.send(device, columns)?;
        let sent = start.elapsed().as_secs_f64();
        // Where targets are apart, the mean of their number and that of the sources counts.
        let (sources, all) = (geometry.sources[0].len(), columns.x.len());
        let levels = mesh::levels(if joined.is_some() { all.div_ceil(2) } else { all }, options.leaf);
        let run = match plane.run(device, Settings { levels, theta: options.theta, is_timed })? {
            Ok(run) => run,
            Err(why) => return Ok(Err(why)),
        };
        let start = Instant::now();
        let mut columns = plane.fetch(device)?;
        if joined.is_some() {
            columns.iter_mut().for_each(|column| drop(column.drain(..sources)));
        }
        let fetched = start.elapsed().as_secs_f64();
        let potential = if options.kernel == Kernel::Log { columns.pop() } else { None };
        let mut column = || columns.pop().expect("there are two columns");
        let (im, re) = (column(), column());
        let field = Field { vector: [re, im], potential: potential.unwrap_or_default() };
        Ok(Ok(Answer { field, levels, run, sent, fetched }))
    }
}

/// The fields of sets of strengths one by one, each stage timed, and the report of all.
impl<C: GpuDevice> AllStages<2> for Gpu<C> {
    type Charges<'a> = Strengths<'a>;
    type Options = Options;
    type Results = (Vec<Solution>, Stats);

    fn solve(
        &mut self,
        geometry: Geometry,
        sets: &[Strengths],
        options: &Options,
    ) -> Result<Outcome<(Vec<Solution>, Stats)>, FmmError> {
        let (mut solutions, mut stats) = (Vec::new(), None);
        let mut seconds = Seconds::of_mesh(0.0, 0.0);
        for set in sets {
            let answer = match self.field(geometry, *set, options, true)? {
                Ok(answer) => answer,
                Err(why) => return Ok(Err(why)),
            };
            seconds.add_whole(&answer.seconds());
            stats.get_or_insert_with(|| answer.stats(geometry, options));
            solutions.push(Solution {
                seconds: answer.seconds(),
                field: answer.field,
                timeline: Vec::new(),
                waited: None,
                p2p: Work::default(),
            });
        }
        Ok(Ok((solutions, Stats { seconds, ..stats.unwrap_or_default() })))
    }
}

impl Answer {
    /// Seconds of a timed run, copies in the total.
    fn seconds(&self) -> Seconds {
        let [sort, connect, ..] = self.run.times.stages;
        let total = self.sent + self.run.times.total + self.fetched;
        Seconds { sort: Some(sort), connect: Some(connect), total, ..self.run.times.seconds() }
    }

    /// The report, without its time and without errors.
    fn stats(&self, geometry: Geometry, options: &Options) -> Stats {
        let status = self.run.status;
        Stats {
            kernel: options.kernel.name(),
            n: geometry.sources[0].len(),
            targets: geometry.targets.map(|targets| targets[0].len()),
            order: options.order,
            theta: options.theta,
            leaf: options.leaf,
            precision: "f64",
            levels: self.levels + 1,
            pairs: Pairs { p2p: status.pairs, m2l: status.items[0], m2p: status.m2p, p2l: status.p2l },
            ..Stats::of_work(Some("cuda"), &Work::default(), &Work::default())
        }
    }
}

/// Sources, and behind them targets without strength: on the GPU each point is both.
struct Joined {
    x: Vec<f64>,
    y: Vec<f64>,
    re: Vec<f64>,
    im: Vec<f64>,
}

impl Joined {
    fn new(sources: fmm::plane::Columns, targets: fmm::plane::Columns, strengths: Strengths) -> Joined {
        let none = vec![0.0; targets[0].len()];
        let with_none = |column: &[f64]| [column, &none].concat();
        Joined {
            x: [sources[0], targets[0]].concat(),
            y: [sources[1], targets[1]].concat(),
            re: with_none(strengths.re),
            im: strengths.im.map_or(Vec::new(), with_none),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::on_host::{self, HostDevice};
    use crate::cuda::plane::Status;
    use fmm::data::random::{Charge, Distribution, generate};
    use fmm::plane::Plan;

    /// Points and strengths of a distribution in the plane.
    fn points(n: usize, distribution: Distribution) -> [Vec<f64>; 4] {
        let all = generate(n, distribution, Charge::Random, 1);
        let more = generate(n, distribution, Charge::Random, 2);
        [all.x, all.y, all.q, more.q]
    }

    /// The field by its definition, and for each target the sum of the magnitudes of what was added.
    fn direct([x, y, re, im]: &[Vec<f64>; 4], kernel: Kernel) -> (Field, Vec<f64>) {
        let mut field = Field::zeros(x.len(), kernel);
        let mut sizes = vec![0.0; x.len()];
        for i in 0..x.len() {
            for j in 0..x.len() {
                let (dx, dy) = (x[j] - x[i], y[j] - y[i]);
                let r2 = dx * dx + dy * dy;
                if r2 == 0.0 {
                    continue;
                }
                let add = match kernel {
                    Kernel::Harmonic => [(re[j] * dx + im[j] * dy) / r2, (im[j] * dx - re[j] * dy) / r2],
                    Kernel::Log => [-re[j] * dx / r2, -re[j] * dy / r2],
                };
                field.vector[0][i] += add[0];
                field.vector[1][i] += add[1];
                sizes[i] += re[j].hypot(im[j]) / r2.sqrt();
                if kernel == Kernel::Log {
                    field.potential[i] += re[j] * 0.5 * r2.ln();
                }
            }
        }
        (field, sizes)
    }

    /// Runs the GPU's kernels on the host, with `many` points for the segments of one block.
    fn run_on_host(points: &[Vec<f64>; 4], options: &Options, many: usize) -> (Gpu<HostDevice>, Answer) {
        let mut gpu = Gpu::on(HostDevice::default());
        let is_log = options.kernel == Kernel::Log;
        let shape = Shape { many, ..Shape::new(options.order, is_log, !is_log, 0) };
        let mut plane = Plane::new(&gpu.device, shape).expect("it compiles");
        let [x, y, re, im] = points;
        let im = (!is_log).then_some(&im[..]);
        plane.send(&gpu.device, Columns { x, y, re, im }).expect("there is room");
        let levels = mesh::levels(x.len(), options.leaf);
        let settings = Settings { levels, theta: options.theta, is_timed: true };
        let run = plane.run(&gpu.device, settings).expect("it runs").expect("it is fit");
        let mut columns = plane.fetch(&gpu.device).expect("there are results");
        let potential = if is_log { columns.pop().expect("a potential") } else { Vec::new() };
        let field = Field { vector: [columns[0].clone(), columns[1].clone()], potential };
        gpu.plane = Some(plane);
        (gpu, Answer { field, levels, run, sent: 0.0, fetched: 0.0 })
    }

    /// Whether mesh and lists are those of the CPU, and errors within a bound beside the sum of magnitudes, both where many blocks
    /// split the first segments and where one block has all points.
    fn check(points: &[Vec<f64>; 4], options: &Options, bound: f64) {
        check_with(points, options, bound, 300);
        check_with(points, options, bound, 2048);
    }

    fn check_with(points: &[Vec<f64>; 4], options: &Options, bound: f64, many: usize) {
        let (gpu, answer) = run_on_host(points, options, many);
        let plan = Plan::new([&points[0][..], &points[1][..]], options).expect("a plan");
        let found = gpu.plane.as_ref().expect("it ran").found(&gpu.device);
        let boxes = &plan.mesh.boxes;
        assert_eq!(answer.levels, plan.mesh.levels);
        assert_eq!((found.order, found.start), (plan.mesh.sources.order.clone(), plan.mesh.sources.start.clone()));
        assert!(found.centre[0] == boxes.x && found.centre[1] == boxes.y && found.radius == boxes.radius);
        let lists = [&plan.lists.weak, &plan.lists.near, &plan.lists.p2l, &plan.lists.m2p];
        for (k, (found, list)) in found.lists.iter().zip(lists).enumerate() {
            let wanted: Vec<&[u32]> = (0..list.len()).map(|b| list.of(b)).collect();
            assert!(found.iter().map(|l| &l[..]).eq(wanted), "list {k}");
        }
        let Status { pairs, p2l, m2p, .. } = answer.run.status;
        assert_eq!([pairs, p2l, m2p], [plan.pairs.p2p, plan.pairs.p2l, plan.pairs.m2p]);
        let (wanted, sizes) = direct(points, options.kernel);
        let columns = answer.field.vector.iter().zip(&wanted.vector);
        for (found, wanted) in columns {
            for ((found, wanted), size) in found.iter().zip(wanted).zip(&sizes) {
                assert!((found - wanted).abs() <= bound * size, "{found} {wanted} of {size}");
            }
        }
        let size = points[2].iter().map(|q| q.abs()).sum::<f64>();
        for (found, wanted) in answer.field.potential.iter().zip(&wanted.potential) {
            assert!((found - wanted).abs() <= bound * size, "potential {found} {wanted}");
        }
    }

    #[test]
    fn the_gpu_has_the_mesh_and_lists_of_the_cpu_and_the_sums_of_the_definition() {
        if !on_host::is_there() {
            return;
        }
        let options = Options { order: 17, leaf: 10, ..Options::default() };
        check(&points(350, Distribution::Uniform), &options, 1e-6);
        let log = Options { kernel: Kernel::Log, order: 9, leaf: 5, ..options.clone() };
        check(&points(200, Distribution::Normal), &log, 1e-3);
        // Few places with many points each, which no split tells apart; and a line.
        let [mut x, mut y, re, im] = points(500, Distribution::Uniform);
        x.iter_mut().for_each(|x| *x = (*x * 3.0).floor());
        y.iter_mut().for_each(|y| *y = (*y * 2.0).floor());
        check(&[x.clone(), y, re.clone(), im.clone()], &Options { leaf: 4, ..options.clone() }, 1e-6);
        check(&[points(500, Distribution::Uniform)[0].clone(), vec![0.25; 500], re, im], &log, 1e-3);
        for n in [1, 2, 5] {
            check(&points(n, Distribution::Uniform), &Options { leaf: 1, ..options.clone() }, 1e-5);
        }
    }

    #[test]
    #[ignore = "a proof in depth"]
    fn lists_that_are_longer_than_their_room_are_made_again() {
        if !on_host::is_there() {
            return;
        }
        let places = |more: &[f64]| more.iter().map(|x| 2f64.powf(-60.0 * x)).collect::<Vec<f64>>();
        let [x, y, re, im] = points(300, Distribution::Uniform);
        check(&[places(&x), places(&y), re, im], &Options { order: 17, leaf: 3, ..Options::default() }, 1e-6);
    }

    #[test]
    fn targets_apart_get_the_sums_of_the_sources() {
        if !on_host::is_there() {
            return;
        }
        let [x, y, re, im] = points(900, Distribution::Uniform);
        // The last 300 are targets, some outside of the hull of the sources, and one at the place of a source.
        let (mut x, mut y) = (x, y);
        x[600..].iter_mut().for_each(|x| *x *= 1.5);
        (x[700], y[700]) = (x[3], y[3]);
        let geometry = Geometry { sources: [&x[..600], &y[..600]], targets: Some([&x[600..], &y[600..]]) };
        let strengths = Strengths { re: &re[..600], im: Some(&im[..600]) };
        let options = Options { leaf: 20, ..Options::default() };
        let answer = Gpu::on(HostDevice::default())
            .field(geometry, strengths, &options, false)
            .expect("good")
            .expect("it is fit");
        let none = |column: &[f64]| [&column[..600], &[0.0; 300]].concat();
        let (wanted, sizes) = direct(&[x.clone(), y.clone(), none(&re), none(&im)], Kernel::Harmonic);
        assert_eq!(answer.field.vector[0].len(), 300);
        for (found, wanted) in answer.field.vector.iter().zip(&wanted.vector) {
            for ((found, wanted), size) in found.iter().zip(&wanted[600..]).zip(&sizes[600..]) {
                assert!((found - wanted).abs() <= 1e-6 * size, "{found} {wanted} of {size}");
            }
        }
    }

    #[test]
    fn what_the_arithmetic_does_not_hold_is_left_to_the_cpu() {
        if !on_host::is_there() {
            return;
        }
        let run = |x: &[f64], re: &[f64]| {
            let mut gpu = Gpu::on(HostDevice::default());
            let strengths = Strengths { re, im: None };
            let options = Options { order: 2, ..Options::default() };
            gpu.field([x, &[0.0, 1.0, 2.0][..]], strengths, &options, false).expect("good options").err()
        };
        assert_eq!(run(&[0.0, 1.0, 2.0], &[1.0, -1.0, 2.0]), None);
        for (x, re) in [([0.0, 1e-200, 2.0], [1.0; 3]), ([0.0, 1.0, 1e305], [1.0; 3]), ([0.0, 1.0, 2.0], [1e200; 3])] {
            assert!(run(&x, &re).is_some_and(|why| why.contains("very large or very small")), "{x:?}");
        }
    }
}
