//! Data in a caller's memory, on a GPU that the host stands for: the bits of a run from the host's.

use super::super::tests::{computed, units};
use super::*;
use crate::cuda::columns::{check, check_place};
use crate::cuda::octree::Extra;
use crate::cuda::octree::resident::RESULTS;
use crate::cuda::on_host::{self, HostDevice};
use fmm::data::particles::{Field, Particles};
use fmm::data::problem::Sources;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::expansion::basis::Basis;
use fmm::octree::Precision;

/// Numbers of a caller's, with others between them.
struct Numbers {
    f32: Vec<f32>,
    f64: Vec<f64>,
    n: usize,
    stride: isize,
}

impl Numbers {
    fn new(of: &[f64], stride: isize, precision: Precision) -> Numbers {
        let mut all = vec![f64::NAN; of.len().max(1) * stride.unsigned_abs()];
        for (k, x) in of.iter().enumerate() {
            all[(if stride < 0 { of.len() - 1 - k } else { k }) * stride.unsigned_abs()] = *x;
        }
        let singles = all.iter().map(|x| *x as f32).collect();
        match precision {
            Precision::F32 => Numbers { f32: singles, f64: Vec::new(), n: of.len(), stride },
            Precision::F64 => Numbers { f32: Vec::new(), f64: all, n: of.len(), stride },
        }
    }

    fn slice(&mut self) -> DeviceSlice {
        let is_single = !self.f32.is_empty();
        let (first, len) = match is_single {
            true => (self.f32.as_mut_ptr() as u64, self.f32.len()),
            false => (self.f64.as_mut_ptr() as u64, self.f64.len()),
        };
        let (step, size) = (self.stride.unsigned_abs(), if is_single { 4 } else { 8 });
        let at = if self.stride < 0 { first + ((len - step) * size) as u64 } else { first };
        let precision = if is_single { Precision::F32 } else { Precision::F64 };
        // SAFETY: the numbers outlive the run.
        unsafe { DeviceSlice::new(at, self.n, precision) }.stride(self.stride)
    }

    /// The numbers, and that what is between them is as it was.
    fn found(&self) -> Vec<f64> {
        let all: Vec<f64> =
            if self.f32.is_empty() { self.f64.clone() } else { self.f32.iter().map(|x| *x as f64).collect() };
        let step = self.stride.unsigned_abs();
        assert!(all.iter().enumerate().all(|(k, x)| k % step == 0 || x.is_nan()), "numbers between are untouched");
        let mut found: Vec<f64> = all.into_iter().step_by(step).take(self.n).collect();
        if self.stride < 0 {
            found.reverse();
        }
        found
    }
}

/// The numbers of a problem, of which `moments` are dipole moments.
#[derive(Clone, Copy)]
struct Data<'a> {
    particles: &'a Particles,
    targets: Option<&'a Particles>,
    moments: Option<&'a Particles>,
    hessian: bool,
}

impl<'a> From<&'a Particles> for Data<'a> {
    fn from(particles: &'a Particles) -> Data<'a> {
        Data { particles, targets: None, moments: None, hessian: false }
    }
}

impl Data<'_> {
    fn wanted(&self) -> Wanted {
        Wanted { hessian: self.hessian, dipoles: self.moments.is_some() }
    }

    fn whole<T: Number>(&self, devices: &[HostDevice], order: usize) -> GpuFmm<T, HostDevice> {
        let (kernel, units) = units();
        let extra = Extra { wanted: self.wanted(), ..Extra::default() };
        GpuFmm::with_options(devices, &kernel, order, units, &extra).expect("it compiles")
    }

    /// The field for the same numbers of the host.
    fn on_host<T: Number>(&self, order: usize, leaf: usize) -> Field {
        let (devices, Data { particles, targets, moments, .. }) = ([HostDevice::default()], *self);
        let geometry = Geometry { sources: particles.columns(), targets: targets.map(Particles::columns) };
        let sets = [Sources { charges: Some(&particles.q), dipoles: moments.map(Particles::columns) }];
        let options = FmmOptions { order, basis: Basis::Solid, ..FmmOptions::default() };
        let task =
            Task { name: "host", geometry, sets: &sets, options: &options, wanted: self.wanted(), leaf: Some(leaf) };
        let found = task.run(&Team::alone(&devices), &mut self.whole::<T>(&devices, order));
        found.expect("there is room").expect("it is fit").fields.remove(0)
    }
}

/// The field for data on the GPU with some strides and precision of each.
fn resident<T: Number>(data: &Data, (order, leaf): (usize, usize), stride: isize, precision: Precision) -> Field {
    let (devices, Data { particles, targets, moments, hessian }) = ([HostDevice::default()], *data);
    let mut whole: GpuFmm<T, HostDevice> = data.whole(&devices, order);
    let copier = Copier::new(&devices[0]).expect("it compiles");
    let team = Team::alone(&devices);
    let three = |of: &Particles| [&of.x, &of.y, &of.z].map(|column| Numbers::new(column, stride, precision));
    let (mut sources, mut apart) = (three(particles), targets.map(three));
    let mut charges = Numbers::new(&particles.q, stride, precision);
    let mut moments = moments.map(three);
    let m = targets.map_or(particles.len(), Particles::len);
    let mut rooms = [(); RESULTS].map(|()| Numbers::new(&vec![0.0; m], stride, precision));
    let slices = |of: &mut [Numbers; 3]| of.each_mut().map(Numbers::slice);
    let points = DevicePoints { sources: slices(&mut sources), targets: apart.as_mut().map(slices) };
    let [potential, x, y, z, second @ ..] = rooms.each_mut().map(Numbers::slice);
    let field =
        DeviceField { potential: Some(potential), gradient: Some([x, y, z]), hessian: hessian.then_some(second) };
    let sources = DeviceSources { charges: Some(charges.slice()), dipoles: moments.as_mut().map(slices) };
    let options = FmmOptions { order, basis: Basis::Solid, ..FmmOptions::default() };
    let none: [&[f64]; 3] = [&[]; 3];
    let geometry = Geometry { sources: none, targets: targets.map(|_| none) };
    let task = Task { name: "host", geometry, sets: &[], options: &options, wanted: data.wanted(), leaf: Some(leaf) };
    let stream = CallerStream::default();
    let given = Given { task, held: Held::of(&points), given: &sources, field: &field, stream };
    whole.take_points(&team, &copier, &points).expect("there is room");
    // Twice, since a plan is run again and again for the points that it has.
    for _ in 0..2 {
        given.run(&team, &mut whole, &copier).expect("there is room").expect("it is fit");
    }
    let [potential, x, y, z, second @ ..] = rooms.each_ref().map(Numbers::found);
    Field { potential, gradient: Some([x, y, z]), hessian: hessian.then_some(second) }
}

/// Particles whose numbers f32 holds.
fn rounded(particles: &Particles) -> Particles {
    let column = |of: &[f64]| of.iter().map(|x| *x as f32 as f64).collect();
    let Particles { x, y, z, q } = particles;
    Particles { x: column(x), y: column(y), z: column(z), q: column(q) }
}

#[test]
fn data_on_the_gpu_have_the_bits_of_data_on_the_host() {
    if !on_host::is_there() {
        return;
    }
    let particles = rounded(&generate(400, Distribution::Uniform, Charge::Positive, 1));
    let right = computed::<f32>(particles.columns().into(), &[&particles.q], 1, 2, 4).fields.swap_remove(0);
    for (stride, precision) in [(1, Precision::F64), (3, Precision::F64), (-2, Precision::F64), (4, Precision::F32)] {
        let found = resident::<f32>(&(&particles).into(), (2, 4), stride, precision);
        let close = |(a, b): (&f64, &f64)| if precision == Precision::F64 { a == b } else { *a == *b as f32 as f64 };
        let pairs = found.gradient.iter().flatten().chain([&found.potential]);
        for (found, right) in pairs.zip(right.gradient.iter().flatten().chain([&right.potential])) {
            assert!(found.len() == 400 && found.iter().zip(right).all(close), "stride {stride}, {precision:?}");
        }
    }
    // Targets apart, and none of either.
    let targets = rounded(&generate(90, Distribution::Sphere, Charge::Positive, 2));
    let none = Particles { x: vec![], y: vec![], z: vec![], q: vec![] };
    let geometry = Geometry { sources: particles.columns(), targets: Some(targets.columns()) };
    let right = computed::<f32>(geometry, &[&particles.q], 1, 2, 4).fields.swap_remove(0);
    let apart = |particles, targets| Data { targets: Some(targets), ..Data::from(particles) };
    assert!(resident::<f32>(&apart(&particles, &targets), (2, 4), 2, Precision::F64) == right);
    let zeros = resident::<f32>(&apart(&none, &targets), (2, 4), 2, Precision::F64);
    assert!(zeros.potential.len() == 90 && zeros.gradient.iter().flatten().flatten().all(|x| *x == 0.0));
    assert!(resident::<f32>(&apart(&particles, &none), (2, 4), 1, Precision::F64).potential.is_empty());
}

#[test]
fn second_derivatives_on_the_gpu_have_the_bits_of_those_on_the_host() {
    if on_host::is_there() {
        let particles = rounded(&generate(200, Distribution::Uniform, Charge::Positive, 1));
        let data = Data { hessian: true, ..Data::from(&particles) };
        assert!(resident::<f32>(&data, (3, 4), -2, Precision::F32).hessian.is_some());
        assert!(resident::<f32>(&data, (3, 4), 2, Precision::F64) == data.on_host::<f32>(3, 4));
    }
}

#[test]
#[ignore = "a proof in depth"]
fn dipole_moments_on_the_gpu_have_the_bits_of_those_on_the_host() {
    if !on_host::is_there() {
        return;
    }
    let [particles, moments, targets] = [1, 2, 3].map(|seed| {
        let distribution = if seed == 2 { Distribution::Normal } else { Distribution::Uniform };
        rounded(&generate(200, distribution, Charge::Random, seed))
    });
    for hessian in [false, true] {
        let data = Data { moments: Some(&moments), hessian, ..Data::from(&particles) };
        assert!(resident::<f32>(&data, (3, 4), 3, Precision::F64) == data.on_host::<f32>(3, 4));
        let data = Data { targets: Some(&targets), ..data };
        assert!(resident::<f32>(&data, (3, 4), 1, Precision::F64) == data.on_host::<f32>(3, 4));
    }
}

#[test]
fn numbers_that_cannot_be_on_the_gpu_are_refused_by_their_name() {
    // SAFETY: nothing is read.
    let slice = |address, len| unsafe { DeviceSlice::new(address, len, Precision::F64) };
    for (slice, part) in [
        (slice(0, 3), "`q` is a null pointer"),
        (slice(4, 3), "`q` is at the address 0x4, which is no multiple of 8"),
        (slice(8, usize::MAX), "more than a memory holds"),
        (slice(8, 1 << 40).stride(isize::MIN), "more than a memory holds"),
        (slice(8, 3).stride(-1), "more than a memory holds"),
        (slice(8, 3).on(1), "`q` is on GPU 1, and others on GPU 0"),
        (slice(8, 3).stride(0), "`q` has the stride 0"),
    ] {
        let found = check(&HostDevice::default(), "q", &slice, true).expect_err("it is refused").to_string();
        assert!(found.contains(part), "{found}");
    }
    for (slice, span) in [
        (slice(0, 0), (0, 0)),
        (slice(8, 3), (8, 24)),
        (slice(64, 3).stride(-2), (32, 40)),
        (slice(64, 1).stride(0), (64, 8)),
    ] {
        assert_eq!(check_place("q", &slice, true).expect("it is good"), span);
    }
    assert!(check(&HostDevice::default(), "q", &slice(8, 3).stride(0), false).is_ok(), "one charge for all is read");
    let points = DevicePoints { sources: [slice(8, 3), slice(8, 3), slice(8, 2)], targets: None };
    assert_eq!(points.check().expect_err("they differ").to_string(), "`x` has 2 numbers for 3 sources; give as many");
}
