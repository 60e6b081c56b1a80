//! All stages of an FMM on the GPU, tree included, beside which the CPU does nothing.

use super::Gpu;
use crate::cuda::CudaError;
use crate::cuda::p2p::Number;
use crate::cuda::whole::card::Card;
use crate::cuda::whole::{DEEPEST, MOST_ORDER, NEAR2, Outcome, Run, STAGES, Units, Whole, best_leaf};
use crate::data::particles::Field;
use crate::data::problem::Geometry;
use crate::direct::error::{self, Errors};
use crate::expansion::basis::Basis;
use crate::fmm::stats::{OnCard, Pairs, PerKernel, Seconds, Stats};
use crate::fmm::{FmmError, FmmOptions, Precision, Solutions, options};
use crate::job::BackendError;
use crate::tree::lists::near2;
use pg2::backend::cuda::p2p::Real;
use std::time::Instant;

/// What is on the cards for an order and a precision.
pub(super) enum Ready {
    F32(usize, Whole<f32>),
    F64(usize, Whole<f64>),
}

/// What a whole run gives, or why the problem is one for P2P on the card beside the CPU.
pub type Answer = Result<Solutions, String>;

impl Gpu {
    /// Why the card does not run all stages with these options.
    pub fn refuses(&self, options: &FmmOptions) -> Option<String> {
        let why = match () {
            _ if self.units.gradient.is_none() => "the P2P kernel gives no gradient",
            _ if options.basis != Basis::Solid => "the expansion is not the one in solid harmonics",
            _ if near2(options.theta) != NEAR2 => "theta is not 0.5",
            _ if options.lower_beyond.is_some() => "offsets with a lower order are given",
            _ if options.near_only => "there is no far field",
            _ if options.periodic.is_some() => "the boundaries are periodic",
            _ if options.order > MOST_ORDER => return Some(format!("the order is above {MOST_ORDER}")),
            _ => return None,
        };
        Some(why.into())
    }

    /// The leaf size that costs least for uniform particles if the card runs all stages.
    pub fn whole_leaf(n: usize, options: &FmmOptions) -> usize {
        best_leaf(n, options.order, real(options.precision))
    }

    /// Computes potential and gradient at all targets for each set of charges. `leaf` bounds the particles a leaf has in the mean.
    pub fn whole(
        &mut self,
        geometry: Geometry,
        sets: &[&[f64]],
        options: &FmmOptions,
        leaf: usize,
    ) -> Result<Answer, FmmError> {
        options.check()?;
        options::check_positions(geometry)?;
        if let Some(why) = self.refuses(options) {
            return Ok(Err(why));
        }
        let task = Task { name: self.name, geometry, sets, options, leaf };
        let found = self.prepare(options).and_then(|()| match self.whole.as_mut().expect("it was made") {
            Ready::F32(_, whole) => task.run(&self.cards, whole),
            Ready::F64(_, whole) => task.run(&self.cards, whole),
        });
        match found {
            // P2P alone takes less room.
            Err(CudaError::TooLarge(why)) => {
                self.whole = None;
                Ok(Err(why))
            }
            found => Ok(found.map_err(BackendError::from)?),
        }
    }

    /// The same for `n` particles that are made on the cards (uniform in the unit cube, charges in [0, 1)), each of which then stands
    /// for itself alone: errors against direct sums there at `samples` targets, for each of `repeat` runs what it did.
    pub fn made(
        &mut self,
        n: usize,
        options: &FmmOptions,
        samples: usize,
        repeat: u32,
    ) -> Result<Result<Made, String>, FmmError> {
        options.check()?;
        if let Some(why) = self.refuses(options) {
            return Ok(Err(why));
        }
        let leaf = Gpu::whole_leaf(n, options);
        let none = Geometry { sources: [&[]; 3], targets: None };
        let task = Task { name: self.name, geometry: none, sets: &[], options, leaf };
        self.prepare(options).map_err(BackendError::from)?;
        let found = match self.whole.as_mut().expect("it was made") {
            Ready::F32(_, whole) => task.made(&self.cards, whole, n, samples, repeat),
            Ready::F64(_, whole) => task.made(&self.cards, whole, n, samples, repeat),
        };
        Ok(found.map_err(BackendError::from)?)
    }

    /// Gives back the room on the cards, which is free once the cards have done what was asked for before.
    pub fn clear(&mut self) -> Result<(), FmmError> {
        (self.whole, self.bound) = (None, None);
        Ok(self.cards.iter().try_for_each(Card::finish).map_err(BackendError::from)?)
    }

    /// Compiles the kernels and sends tables, unless they are there.
    fn prepare(&mut self, options: &FmmOptions) -> Result<(), CudaError> {
        let (order, precision) = (options.order, options.precision);
        let is_there = match &self.whole {
            Some(Ready::F32(o, _)) => *o == order && precision == Precision::F32,
            Some(Ready::F64(o, _)) => *o == order && precision == Precision::F64,
            None => false,
        };
        if is_there {
            return Ok(());
        }
        self.whole = None;
        let units = Units {
            potential: self.units.units.potential,
            gradient: self.units.units.gradient,
            length: self.units.length,
        };
        let (cards, kernel) = (&mut self.cards, &self.kernel);
        self.whole = Some(match precision {
            Precision::F32 => Ready::F32(order, Whole::new(cards, kernel, order, units)?),
            Precision::F64 => Ready::F64(order, Whole::new(cards, kernel, order, units)?),
        });
        Ok(())
    }
}

fn real(precision: Precision) -> Real {
    if precision == Precision::F32 { Real::F32 } else { Real::F64 }
}

/// Runs with particles made on the cards, all with the same bits.
pub struct Made {
    pub runs: Vec<Stats>,
    pub errors: Errors,
    /// The field at the targets that errors are from.
    pub field: Field,
}

struct Task<'a> {
    name: &'a str,
    geometry: Geometry<'a>,
    sets: &'a [&'a [f64]],
    options: &'a FmmOptions,
    leaf: usize,
}

impl Task<'_> {
    fn run<T: Number, C: Card>(&self, cards: &[C], whole: &mut Whole<T, C>) -> Result<Answer, CudaError> {
        let start = Instant::now();
        let Geometry { sources, targets } = self.geometry;
        let count = sources[0].len();
        // Targets that are no sources are particles without a charge, behind the sources.
        let joined = targets.map(|targets| [0, 1, 2].map(|a| [sources[a], targets[a]].concat()));
        whole.send(cards, joined.as_ref().map_or(sources, |all| all.each_ref().map(|x| &x[..])), count)?;
        let (mut fields, mut stats) = (Vec::new(), Stats::default());
        let mut times = OnCard { sent: start.elapsed().as_secs_f64(), ..OnCard::default() };
        for charges in self.sets {
            let sending = Instant::now();
            match targets {
                Some(targets) => whole.charge(cards, &[charges, &vec![0.0; targets[0].len()][..]].concat())?,
                None => whole.charge(cards, charges)?,
            }
            times.sent += sending.elapsed().as_secs_f64();
            let run = match whole.run(cards, self.leaf, self.options.eps)? {
                Outcome::Done(run) => run,
                Outcome::Unfit(why) => return Ok(Err(why)),
            };
            times.computed += run.total;
            let back = Instant::now();
            let without = if targets.is_some() { count } else { 0 };
            let [potential, x, y, z] = whole.fetch(cards, without, factors(&run))?;
            fields.push(Field { potential, gradient: Some([x, y, z]), hessian: None });
            times.fetched += back.elapsed().as_secs_f64();
            self.add(&run, &mut stats);
        }
        stats.on_card = Some(times);
        stats.seconds.total = start.elapsed().as_secs_f64();
        Ok(Ok(Solutions { fields, stats }))
    }

    fn made<T: Number, C: Card>(
        &self,
        cards: &[C],
        whole: &mut Whole<T, C>,
        n: usize,
        samples: usize,
        repeat: u32,
    ) -> Result<Result<Made, String>, CudaError> {
        whole.make(cards, n, 1)?;
        let targets: Vec<usize> = (0..samples.min(n)).map(|k| (2 * k + 1) * n / (2 * samples.min(n))).collect();
        let (mut runs, mut last) = (Vec::new(), None);
        // The first run, which is not counted, makes room for the tree.
        for _ in 0..=repeat {
            let run = match whole.run(cards, self.leaf, self.options.eps)? {
                Outcome::Done(run) => run,
                Outcome::Unfit(why) => return Ok(Err(why)),
            };
            let found = field(&run, &whole.fetch_some(cards, &targets)?);
            if last.replace(found.clone()).is_some_and(|before| before != found) {
                return Ok(Err("two runs gave different bits".into()));
            }
            let on_card = Some(OnCard { computed: run.total, ..OnCard::default() });
            runs.push(Stats { n, on_card, ..self.stats(&run) });
        }
        runs.remove(0);
        let right = whole.direct(cards, &targets)?;
        let field = last.expect("there was a run");
        let places: Vec<usize> = (0..targets.len()).collect();
        Ok(Ok(Made { runs, errors: error::compare(&field, &places, &right), field }))
    }

    /// Adds what one set of charges took.
    fn add(&self, run: &Run, stats: &mut Stats) {
        let mut one = self.stats(run);
        one.seconds.add(&stats.seconds);
        one.seconds.tree += stats.seconds.tree;
        one.pairs.p2p += stats.pairs.p2p;
        one.pairs.m2l += stats.pairs.m2l;
        one.streamed.p2p += stats.streamed.p2p;
        one.recomputed += stats.recomputed;
        one.close_pairs += stats.close_pairs;
        *stats = one;
    }

    fn stats(&self, run: &Run) -> Stats {
        let of = |name: &str| STAGES.iter().zip(run.seconds).filter(|s| *s.0 == name).map(|s| s.1).sum::<f64>();
        let seconds = Seconds {
            tree: of("box") + of("sort"),
            p2m: of("P2M"),
            m2m: of("M2M"),
            m2l: of("M2L"),
            l2l: of("L2L"),
            l2p: of("L2P"),
            p2p: of("P2P"),
            ..Seconds::default()
        };
        let is_apart = self.geometry.targets.is_some();
        let pairs = Pairs { p2p: run.pairs, m2l: m2l_pairs(run.depth), ..Pairs::default() };
        Stats {
            backend: self.name.to_string(),
            n: self.geometry.sources[0].len(),
            targets: self.geometry.targets.map(|targets| targets[0].len()),
            order: self.options.order,
            theta: self.options.theta,
            leaf: self.leaf,
            levels: run.depth as usize + 1,
            seconds,
            pairs,
            streamed: PerKernel { p2p: pairs.p2p, m2l: 0 },
            recomputed: run.status.again,
            close_pairs: if is_apart { run.status.close } else { run.status.close.div_ceil(2) },
            unsoftened: pairs.unsoftened(run.map.length(self.options.eps), run.depth as usize + 1),
            has_gradient: true,
            ..Stats::default()
        }
    }
}

/// Pairs of cells that M2L goes over in a tree of one depth: on each level, pairs whose parents are near, less those that are
/// near themselves.
fn m2l_pairs(depth: u32) -> u64 {
    let near = |level: u32| (3 * (1u64 << level) - 2).pow(3);
    (2..=depth.min(DEEPEST)).map(|level| 64 * near(level - 1) - near(level)).sum()
}

/// What brings potential and gradient from boxes to the user's units.
fn factors(run: &Run) -> [f64; 4] {
    [0, 1, 2, 3].map(|a| {
        let (unit, power) = run.map.wide(a, 1.0);
        unit * 2f64.powi(power + run.exponent)
    })
}

/// Results in the user's units.
fn field<T: Number>(run: &Run, values: &[T]) -> Field {
    let factors = factors(run);
    let column = |a: usize| values.chunks_exact(4).map(|v| v[a].f64() * factors[a]).collect::<Vec<f64>>();
    Field { potential: column(0), gradient: Some([1, 2, 3].map(column)), hessian: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::device::Device;
    use crate::cuda::whole::on_host::{self, HostCard};
    use crate::cuda::{compile, device};
    use crate::data::random::{Charge, Distribution, generate};
    use crate::direct::summation::Direct;
    use crate::fmm::Plan;
    use crate::fmm::bind::P2p;

    /// The field by the kernels of the card on so many cards that the host stands for.
    fn computed<T: Number>(geometry: Geometry, sets: &[&[f64]], cards: usize, order: usize, leaf: usize) -> Solutions {
        computed_on::<T, HostCard>((0..cards).map(|_| HostCard).collect(), geometry, sets, order, leaf)
    }

    fn computed_on<T: Number, C: Card>(
        mut cards: Vec<C>,
        geometry: Geometry,
        sets: &[&[f64]],
        order: usize,
        leaf: usize,
    ) -> Solutions {
        let text = pg2::kernels::find("p2p").expect("a shipped kernel").text;
        let kernel = pg2::compile("p2p", text).expect("it compiles").graph;
        let P2p { units, length, .. } = P2p::bind(&kernel, false, &[]).expect("it is 1/r");
        let units = Units { potential: units.potential, gradient: units.gradient, length };
        let mut whole: Whole<T, C> = Whole::new(&mut cards, &kernel, order, units).expect("it compiles");
        let options = FmmOptions { order, basis: Basis::Solid, ..FmmOptions::default() };
        let task = Task { name: "host", geometry, sets, options: &options, leaf };
        let mut run = || task.run(&cards, &mut whole).expect("there is room").expect("it is fit");
        let first = run();
        // The second run finds what the first one left.
        assert!(cards.len() != 3 || run().fields == first.fields, "a run gives the same bits each time");
        first
    }

    fn check<T: Number>(
        distribution: Distribution,
        (n, order, leaf): (usize, usize, usize),
        levels: usize,
        bound: f64,
    ) {
        let particles = generate(n, distribution, Charge::Positive, 1);
        let on = |cards| computed::<T>(particles.columns().into(), &[&particles.q], cards, order, leaf);
        let one = on(1);
        let found = error::measure(&particles, &one.fields[0], 200, 1, 0.0).gradient_rel_l2.expect("a gradient");
        let deep = one.stats.levels;
        assert!(deep == levels && found < bound, "{distribution:?}: {deep} levels, error {found:.1e}");
        for cards in if n < 100 { 2..=4 } else { 2..=3 } {
            let several = on(cards);
            assert!(several.fields == one.fields, "{distribution:?} on {cards} cards");
            assert_eq!((several.stats.pairs, several.stats.recomputed), (one.stats.pairs, one.stats.recomputed));
        }
    }

    #[test]
    fn the_kernels_of_the_card_give_direct_sums_and_the_same_bits_on_any_number_of_cards() {
        if !on_host::is_there() {
            return;
        }
        check::<f32>(Distribution::Uniform, (800, 4, 4), 4, 3e-3);
        check::<f64>(Distribution::Sphere, (600, 1, 1), 5, 2e-1);
        // Without a far field.
        check::<f64>(Distribution::Uniform, (300, 3, 40), 2, 1e-12);
        check::<f64>(Distribution::Uniform, (31, 1, 64), 1, 1e-12);
        check::<f32>(Distribution::Uniform, (2, 1, 64), 1, 1e-5);
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
            let on = |cards: usize| {
                let cards = (0..cards).map(|_| Device::open().expect("there is one")).collect();
                computed_on::<f32, Device>(cards, particles.columns().into(), &[&particles.q], order, leaf)
            };
            let one = on(1);
            for cards in [2, 3, 4, 7] {
                let several = on(cards);
                assert!(several.fields == one.fields, "{distribution:?} on {cards} cards");
                assert_eq!((several.stats.pairs, several.stats.recomputed), (one.stats.pairs, one.stats.recomputed));
            }
        }
    }

    #[test]
    fn a_card_takes_targets_apart_and_several_sets_of_charges() {
        if !on_host::is_there() {
            return;
        }
        let mut sources = generate(1200, Distribution::Uniform, Charge::Random, 1);
        let targets = generate(500, Distribution::Uniform, Charge::Random, 2);
        // A target at the very place of a source, and one close to another source.
        for (column, at) in [&mut sources.x, &mut sources.y, &mut sources.z].into_iter().zip(targets.columns()) {
            (column[3], column[7]) = (at[10], at[20] * (1.0 + 1e-9));
        }
        let geometry = Geometry { sources: sources.columns(), targets: Some(targets.columns()) };
        let (first, second) = (&sources.q[..], &targets.q.repeat(3)[..1200]);
        let one = computed::<f32>(geometry, &[first, second], 1, 5, 8);
        for (charges, field) in [first, second].into_iter().zip(&one.fields) {
            let direct = Direct { geometry, sources: charges.into(), eps: 0.0, hessian: false };
            let errors = error::measure_all(&direct, None, field, 500, 1);
            let is_right = [errors.gradient_median, errors.gradient_rel_l2].iter().all(|e| e.is_some_and(|e| e < 2e-3));
            assert!(field.potential.len() == 500 && is_right, "{errors:?}");
        }
        // One target and one source each time; neither the sources nor the targets are close to themselves.
        assert_eq!((one.stats.targets, one.stats.close_pairs, one.stats.recomputed), (Some(500), 2, 4));
        let three = computed::<f32>(geometry, &[first, second], 3, 5, 8);
        assert!(three.fields == one.fields);
    }

    #[test]
    fn particles_made_on_cards_have_the_errors_and_the_bits_of_others() {
        if !on_host::is_there() {
            return;
        }
        let text = pg2::kernels::find("p2p").expect("a shipped kernel").text;
        let kernel = pg2::compile("p2p", text).expect("it compiles").graph;
        let P2p { units, length, .. } = P2p::bind(&kernel, false, &[]).expect("it is 1/r");
        let units = Units { potential: units.potential, gradient: units.gradient, length };
        let options = FmmOptions { order: 4, basis: Basis::Solid, ..FmmOptions::default() };
        let geometry = Geometry { sources: [&[]; 3], targets: None };
        let task = Task { name: "host", geometry, sets: &[], options: &options, leaf: 4 };
        let on = |count: usize| {
            let mut cards: Vec<HostCard> = (0..count).map(|_| HostCard).collect();
            let mut whole: Whole<f32, HostCard> = Whole::new(&mut cards, &kernel, 4, units).expect("it compiles");
            task.made(&cards, &mut whole, 800, 60, 1).expect("there is room").expect("it is fit")
        };
        let (one, two) = (on(1), on(2));
        let found = one.errors.gradient_rel_l2.expect("a gradient");
        assert!(found > 0.0 && found < 3e-3 && one.errors.potential_rel_l2 < 1e-3, "{:?}", one.errors);
        assert!(one.field == two.field && one.runs[0].pairs == two.runs[0].pairs && one.runs[0].levels == 4);
    }

    #[test]
    fn pairs_of_cells_are_those_of_a_full_tree() {
        // So many particles that no cell down to the third level is empty, nor one there has more than 80.
        let particles = generate(20_000, Distribution::Uniform, Charge::Random, 1);
        let options = FmmOptions { basis: Basis::Solid, leaf: 80, ..FmmOptions::default() };
        let plan = Plan::new(particles.columns(), &options).expect("good options");
        assert_eq!(plan.tree.levels.len(), 4);
        assert_eq!(plan.pairs.m2l, m2l_pairs(3));
        assert_eq!((m2l_pairs(0), m2l_pairs(1)), (0, 0));
    }
}
