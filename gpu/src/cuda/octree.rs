//! The whole FMM of 1/r on one or more GPUs: tree, all translations and P2P, for particles that are sources and targets.
//!
//! A tree of one depth for all particles has no list: which cells meet follows from their coordinates. So it is for particles that fill
//! their box more or less evenly. A run counts particles and pairs first; for others it makes an adaptive tree, with lists
//! ([`adaptive`]). What it does not take is left to the caller ([`Outcome`](driver::Outcome)). Lengths and charges are those of a tree's
//! [`BoxMap`] and charges.
//!
//! Every sum of floats has one order, so that a run gives the same bits each time, on any number of GPUs. Some of the GPUs may be
//! those of other processes ([`communicator`]).

mod adaptive;
mod ask;
mod black_box;
mod cells;
pub mod communicator;
mod depth;
pub mod links;
mod loaded;
mod made;
mod memory;
mod periodic;
mod reference;
pub mod resident;
mod results;
mod run;
mod split;
mod stages;
mod tables;
mod text;

use super::CudaError;
use super::device::Device;
use super::driver::{self, Times};
use super::gpu_device::GpuDevice;
use super::p2p::Number;
use black_box::BlackBox;
use communicator::{Team, bytes_of};
use fmm::data::periodic::Periodic;
use fmm::expansion::solid::dense::Dense;
use fmm::octree::options::Wanted;
use fmm::tree::boxmap::BoxMap;
use fmm::tree::lists::reach;
use loaded::{Loaded, Operators};
use memory::{Capacity, Particles, Parts, Problem, with_fitting};
use pg2::backend::cuda::p2p::Unfit;
use pg2::graph::Graph;
use results::Results;
use run::Kept;
use std::ops::Range;
use text::Shape;

pub use black_box::MOST_BLACK_BOX;
pub use depth::{DEEPEST, Prices, best_leaf, depth_for, m2l_pairs};
pub use memory::{MOST_GPUS, Status};
pub use text::{Basis as FmmBasis, Shape as FmmShape, adaptive as adaptive_text_of, text as text_of};

/// Two cells of one level at integer offset d are near if d.d is below this, for the usual theta of 0.5.
pub const NEAR2: u64 = 4;

/// The greatest such number: the rows of cells near a cell have a lane of a warp each.
pub const MOST_NEAR2: u64 = 9;

/// The highest order.
pub const MOST_ORDER: usize = 30;

/// The units of P2P for 1/r: of the potential and of the gradient, with lengths in boxes, and the coordinates of a box.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    pub potential: f64,
    pub gradient: f64,
    pub length: f64,
}

/// The stages in the order in which they run. With several GPUs, sort has the exchange of particles too, P2M and M2M those of expansions,
/// and L2P that of results; P2P runs beside all from P2M to L2L, and has the seconds from the end of L2L on.
pub const STAGES: [&str; driver::STAGES] = ["box", "sort", "P2M", "M2M", "M2L", "L2L", "P2P", "L2P"];

/// The outcome of one run. Results stay on the GPUs.
#[derive(Clone, Debug)]
pub struct Run {
    pub map: BoxMap,
    /// The power of two that charges were scaled by.
    pub exponent: i32,
    /// The deepest level.
    pub depth: u32,
    /// Pairs of P2P, each target's own place included.
    pub pairs: u64,
    /// Pairs of M2L, M2P and P2L.
    pub far: [u64; 3],
    pub status: Status,
    /// Times of [`STAGES`] on the GPU of this process that took longest, and the seconds of exchanges with other processes, which are in
    /// no stage.
    pub times: Times,
    pub travelled: f64,
    /// The cost of the leaves of this process's GPUs by the model, in seconds, and how many targets they have.
    pub work: f64,
    pub targets: u64,
}

/// The tree of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TreeKind {
    /// The one that suits the particles.
    #[default]
    Chosen,
    OneDepth,
    Adaptive,
}

/// The fields that runs sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fields {
    #[default]
    All,
    /// That of cells alone, without P2P.
    Far,
}

/// Kernels, tables and particles on GPUs, which every method is given in the same order.
pub struct GpuFmm<T: Number, C: GpuDevice = Device> {
    shape: Shape,
    order: usize,
    units: Units,
    /// The kernel of P2P, the tree that runs take, and the stages.
    graph: Graph,
    pub tree: TreeKind,
    pub fields: Fields,
    /// Periodic boundaries; the length may change.
    periodic: Option<Periodic>,
    /// Offsets beyond which M2L takes the order below, and from which on cells are not near.
    lower_beyond: Option<f64>,
    near2: u64,
    /// The kernel, or softened 1/r, where it is expanded as it is.
    black_box: Option<BlackBox>,
    /// The costs by which trees are chosen.
    pub prices: Prices,
    /// Whether the last adaptive tree had levels that a sort by the upper digits does not know.
    is_deep: bool,
    /// The tree of the last run, while particles stay where they were.
    kept: Option<Kept>,
    /// The number of the positions that runs are given, and of those that the GPUs have; none where they may be any.
    pub positions: Option<u64>,
    held: Option<u64>,
    /// Particles of all GPUs, and the parts that they are shared out in.
    n: usize,
    parts: Parts,
    /// Whether each GPU reads the memory of all others of this process.
    is_linked: bool,
    loaded: Vec<Loaded<T, C>>,
    /// How many of the GPUs, from the first one on, have operators of the order.
    in_order: usize,
}

/// Options that the tables of an order, or the texts of kernels, depend on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Extra {
    pub periodic: Option<Periodic>,
    /// See [`FmmOptions::lower_beyond`](fmm::octree::FmmOptions::lower_beyond).
    pub lower_beyond: Option<f64>,
    /// Cells at a squared offset below this are near.
    pub near2: u64,
    /// Results and inputs besides charges, potential and gradient.
    pub wanted: Wanted,
}

impl Default for Extra {
    fn default() -> Extra {
        Extra { periodic: None, lower_beyond: None, near2: NEAR2, wanted: Wanted::default() }
    }
}

impl Extra {
    /// Whether tables and texts are the same for both: those of any period are.
    fn is_like(&self, other: &Extra) -> bool {
        let key = |extra: &Extra| (extra.periodic.map(|p| p.axes), extra.lower_beyond, extra.near2, extra.wanted);
        key(self) == key(other)
    }
}

/// The properties of an FMM on GPUs that do not change.
struct Asked<'a> {
    graph: &'a Graph,
    order: usize,
    units: Units,
    extra: Extra,
    black_box: Option<BlackBox>,
}

fn basis_of(black_box: &Option<BlackBox>) -> FmmBasis {
    black_box.as_ref().map_or(FmmBasis::Harmonics, BlackBox::basis)
}

/// How many particles there are.
#[derive(Clone, Copy, Debug)]
pub struct Amounts {
    /// Of all processes.
    pub all: usize,
    /// Sources of this process.
    pub sources: usize,
    /// Its targets, if they are no sources.
    pub targets: Option<usize>,
}

impl Amounts {
    /// The amounts of one process with `n` particles that are sources and targets.
    pub fn of(n: usize) -> Amounts {
        Amounts { all: n, sources: n, targets: None }
    }
}

/// The division of the work for an order, its tables and the text of all kernels.
struct Made {
    shape: Shape,
    dense: Dense,
    text: String,
}

impl Made {
    fn new<T: Number, C: GpuDevice>(
        devices: &[C],
        graph: &Graph,
        (basis, order): (FmmBasis, usize),
        extra: &Extra,
    ) -> Result<Made, CudaError> {
        let Extra { periodic, lower_beyond, near2, wanted } = *extra;
        let memory = devices.iter().map(C::shared_memory).try_fold(usize::MAX, |a, b| b.map(|b| a.min(b)))?;
        let shape = Shape::new(basis, order, T::REAL).with_memory(memory).with_wanted(wanted, T::REAL);
        let dense = shape.dense(order, near2, lower_beyond);
        let text = text_of::<T>(graph, &dense, &shape, periodic.is_some());
        let text = text.map_err(|Unfit(why)| CudaError::Failed(why))?;
        Ok(Made { shape, dense, text })
    }
}

impl<T: Number, C: GpuDevice> GpuFmm<T, C> {
    /// Compiles the kernels for a P2P kernel that is 1/r, and sends the tables of an order.
    pub fn new(devices: &[C], graph: &Graph, order: usize, units: Units) -> Result<GpuFmm<T, C>, CudaError> {
        GpuFmm::with_options(devices, graph, order, units, &Extra::default())
    }

    /// The same with further options.
    pub fn with_options(
        devices: &[C],
        graph: &Graph,
        order: usize,
        units: Units,
        extra: &Extra,
    ) -> Result<GpuFmm<T, C>, CudaError> {
        let asked = Asked { graph, order, units, extra: *extra, black_box: None };
        GpuFmm::of(devices, asked)
    }

    fn of(devices: &[C], asked: Asked) -> Result<GpuFmm<T, C>, CudaError> {
        let Asked { graph, order, units, extra, black_box } = asked;
        let Extra { periodic, lower_beyond, near2, wanted } = extra;
        let basis = basis_of(&black_box);
        // What sums second derivatives is no kernel of the user's, and has no units.
        let plain = Units { potential: 1.0, gradient: 1.0, length: 1.0 };
        let units = if wanted == Wanted::default() { units } else { plain };
        let made = Made::new::<T, C>(devices, graph, (basis, order), &extra)?;
        let load = |device: &C| Loaded::new(device, &made.text, &made.dense, &made.shape, periodic.as_ref());
        let loaded = devices.iter().map(load).collect::<Result<_, _>>()?;
        let shape = made.shape;
        let mut is_linked = true;
        for (k, device) in devices.iter().enumerate() {
            for (_, other) in devices.iter().enumerate().filter(|(j, _)| *j != k) {
                is_linked &= device.reads(other)?;
            }
        }
        let (graph, tree) = (graph.clone(), TreeKind::default());
        Ok(GpuFmm {
            shape,
            order,
            units,
            graph,
            tree,
            fields: Fields::default(),
            periodic,
            lower_beyond,
            near2,
            black_box,
            prices: Prices::new(basis, order, T::REAL).with_near2(near2),
            is_deep: false,
            kept: None,
            positions: None,
            held: None,
            n: 0,
            parts: Parts { devices: 1, kinds: 1 },
            is_linked,
            in_order: devices.len(),
            loaded,
        })
    }

    /// The expansion that there is, and its order.
    pub fn expansion(&self) -> (FmmBasis, usize) {
        (self.basis(), self.order)
    }

    /// Compiles the kernels of another expansion of 1/r, and sends its tables. What the GPUs have of particles stays, and the costs that
    /// trees are chosen by.
    pub fn take_expansion(&mut self, team: &Team<C>, (basis, order): (FmmBasis, usize)) -> Result<(), CudaError> {
        let extra = self.extra();
        let made = Made::new::<T, C>(team.devices, &self.graph, (basis, order), &extra)?;
        let operators =
            |device: &C| Operators::new(device, &made.text, &made.dense, &made.shape, extra.periodic.as_ref());
        let all = team.devices.iter().map(operators).collect::<Result<Vec<_>, _>>()?;
        for ((device, loaded), operators) in team.devices.iter().zip(&mut self.loaded).zip(all) {
            loaded.take(operators);
            loaded.places = loaded.problem(device, self.parts);
        }
        (self.shape, self.order, self.kept, self.in_order) = (made.shape, order, None, team.devices.len());
        self.black_box = (basis == FmmBasis::Softened).then(BlackBox::softened);
        Ok(())
    }

    fn extra(&self) -> Extra {
        Extra { periodic: self.periodic, lower_beyond: self.lower_beyond, near2: self.near2, wanted: self.shape.wanted }
    }

    /// Takes other options, if tables and texts are the same; whether they are.
    pub fn takes(&mut self, extra: &Extra) -> bool {
        let is_whole = self.in_order == self.loaded.len();
        let is_like = is_whole && self.basis() != FmmBasis::Chebyshev && extra.is_like(&self.extra());
        if is_like && self.periodic != extra.periodic {
            (self.periodic, self.kept) = (extra.periodic, None);
        }
        is_like
    }

    /// The first level with expansions: images of cells are far from each other from the first one on, and of the root all but those around
    /// it.
    fn first_level(&self) -> u32 {
        if self.periodic.is_some() { 0 } else { 2 }
    }

    /// The distance along an axis up to which cells may be near; with periodic boundaries any.
    fn reach(&self) -> Option<u32> {
        if self.periodic.is_some() { None } else { Some(reach(self.near2) as u32) }
    }

    /// Memory for particles in other places, which the GPUs of this process share evenly. If each GPU's share is as before, it keeps what
    /// it has.
    pub fn reserve(&mut self, team: &Team<C>, amounts: &Amounts) -> Result<(), CudaError> {
        (self.kept, self.held) = (None, None);
        let Amounts { all, sources, targets } = *amounts;
        let kinds = if team.all() > 1 && targets.is_some() { 2 } else { 1 };
        let parts = Parts { devices: team.all(), kinds };
        if (all, parts) != (self.n, self.parts) {
            self.loaded.iter_mut().for_each(|loaded| loaded.cells = None);
        }
        (self.n, self.parts) = (all, parts);
        let (shape, prices, first_level) = (self.shape, self.prices, self.first_level());
        let tree = |n: usize| (depth_for(n, best_leaf(n, prices)), first_level);
        for (k, ((device, loaded), number)) in team.devices.iter().zip(&mut self.loaded).zip(team.own()).enumerate() {
            let share = [sources, targets.unwrap_or(0)].map(|n| share_of(n, team.devices.len(), k));
            let n = share[0].len() + share[1].len();
            let has_memories = (loaded.particles.devices > 1) == (parts.devices > 1);
            if share != loaded.share || loaded.particles.room < n || !has_memories {
                // The old ones go first.
                let none = Particles::new(device, &Capacity::default(), &self.shape)?;
                (loaded.cells, loaded.particles) = (None, none);
                let capacity = Capacity { n, room: n, devices: parts.devices };
                let bytes = capacity.bytes::<T>(&self.shape);
                device.check_capacity(bytes, "this FMM").map_err(|e| with_fitting::<T, C>(e, device, &shape, tree))?;
                // Of several GPUs each usually has more particles around its leaves than in its share. To allocate memory for them later
                // costs more, and where memory is ample, some more of it does not matter.
                let is_ample = parts.devices > 1 && device.check_capacity(3 * bytes, "this FMM").is_ok();
                let room = if is_ample { n + n / 4 } else { n };
                loaded.particles = Particles::new(device, &Capacity { room, ..capacity }, &self.shape)?;
            }
            let places = &mut loaded.places;
            places.number = share[0].start as u64;
            places.targets = if targets.is_some() { share[0].len() } else { n } as u64;
            places.is_apart = targets.is_some() as u64;
            (places.device, places.devices, places.kinds) = (number as u64, parts.devices as u64, kinds as u64);
            places.peers = 0;
            loaded.share = share;
            loaded.places = loaded.problem(device, parts);
        }
        if parts.devices > 1 && team.is_alone() && self.is_linked { self.introduce(team) } else { Ok(()) }
    }

    /// Tells each GPU where the others have their shares.
    fn introduce(&mut self, team: &Team<C>) -> Result<(), CudaError> {
        let of = |(device, loaded): (&C, &Loaded<T, C>)| {
            let [x, y, z, q] = loaded.particles.input.each_ref().map(|column| device.place(column));
            [x, y, z, q, device.place(&loaded.particles.order)]
        };
        let words: Vec<u64> = team.devices.iter().zip(&self.loaded).flat_map(of).collect();
        for (device, loaded) in team.devices.iter().zip(&mut self.loaded) {
            loaded.particles.peers = device.send(&words)?;
            loaded.places.peers = device.place(&loaded.particles.peers);
        }
        Ok(())
    }

    /// Whether the GPUs have the positions that runs are given.
    pub fn has_positions(&self) -> bool {
        self.positions.is_some() && self.held == self.positions
    }

    /// Takes note that the positions that runs are given have been sent.
    pub fn hold_positions(&mut self) {
        self.held = self.positions;
    }

    /// Chooses trees of a kind by some costs.
    pub fn choose(&mut self, tree: TreeKind, prices: Prices) {
        if (self.tree, self.prices) != (tree, prices) {
            (self.tree, self.prices, self.kept) = (tree, prices, None);
        }
    }

    /// Sends a column as the user gives it: x, y, z, charges, or a component of dipole moments, of this process's sources, and behind them of its targets, which have no
    /// charges.
    pub fn send(&self, team: &Team<C>, column: usize, slices: &[&[f64]]) -> Result<(), CudaError> {
        at_once(team.devices.iter().zip(&self.loaded), |(device, loaded)| {
            let places = [0, loaded.share[0].len()];
            slices.iter().zip(&loaded.share).zip(places).try_for_each(|((slice, share), at)| {
                device.put(bytes_of(&slice[share.clone()]), loaded.particles.column(column), at)
            })
        })
    }

    /// The numbers from the results of one target to those of the next.
    fn width(&self) -> usize {
        self.shape.results()
    }

    /// The first columns of results of the targets of this process (potential, gradient, second derivatives), each times its factor.
    pub fn fetch<const N: usize>(&self, team: &Team<C>, factors: [f64; N]) -> Result<[Vec<f64>; N], CudaError> {
        let targets = |loaded: &Loaded<T, C>| match loaded.places.is_apart {
            0 => 0..loaded.particles.n,
            _ => loaded.share[0].len()..loaded.particles.n,
        };
        let (n, width) = (self.loaded[..team.devices.len()].iter().map(|l| targets(l).len()).sum(), self.width());
        // Filling them with zeros first, by one thread, would take as long as all the rest.
        let mut columns = [0; N].map(|_| Vec::with_capacity(n));
        let (mut rest, mut parts) = (columns.each_mut().map(|c| &mut c.spare_capacity_mut()[..n]), Vec::new());
        for loaded in &self.loaded[..team.devices.len()] {
            let share = targets(loaded);
            let own = rest.each_mut().map(|column| column.split_off_mut(..share.len()).expect("there are as many"));
            parts.push((share, own));
        }
        at_once(team.devices.iter().zip(&self.loaded).zip(parts), |((device, loaded), (share, mut columns))| {
            let values = width * share.start..width * share.end;
            let results = Results { factors: &factors, width };
            device.read_pieces(self.results(loaded), values, &mut |at, piece| {
                results.spread(at, piece, columns.each_mut().map(|column| &mut **column));
            })
        })?;
        // SAFETY: the shares of all GPUs, and so the pieces, are all n places.
        columns.iter_mut().for_each(|column| unsafe { column.set_len(n) });
        Ok(columns)
    }

    /// Where a GPU has the results of its share after a run.
    fn results<'a>(&self, loaded: &'a Loaded<T, C>) -> &'a C::Memory<T> {
        if self.parts.devices > 1 { &loaded.particles.near } else { &loaded.particles.records }
    }
}

/// The share of a GPU where GPUs share so many particles evenly.
fn share_of(n: usize, devices: usize, device: usize) -> Range<usize> {
    n * device / devices..n * (device + 1) / devices
}

/// Does something for every GPU, each on a thread.
fn at_once<I: Send>(
    mut all: impl ExactSizeIterator<Item = I>,
    work: impl Fn(I) -> Result<(), CudaError> + Sync,
) -> Result<(), CudaError> {
    if all.len() == 1 {
        return all.try_for_each(work);
    }
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = all.map(|item| scope.spawn(move || work(item))).collect();
        let ended = threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}
