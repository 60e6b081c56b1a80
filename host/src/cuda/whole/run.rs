//! One run of all stages: box, tree, the shares of the cards, and the stages.

use super::card::{Card, From, Lane, Size};
use super::depth::cost;
use super::memory::{BOUNDS_BLOCKS, Bounds, Cells, Problem, Status};
use super::split::{Part, Rows, Span, split};
use super::{DEEPEST, Loaded, Outcome, Run, STAGES, Units, Whole, depth_for, exchange};
use crate::arith::scale::exponent;
use crate::cuda::CudaError;
use crate::cuda::p2p::Number;
use crate::direct::p2p::Limits;
use crate::tree::boxmap::BoxMap;
use pg2::backend::cuda::p2p::Real;

/// Blocks of `again`, which go through their work in turn.
const AGAIN_BLOCKS: u32 = 1056;

/// The least level above the leaves whose expansions several cards compute each for its part, and exchange: below it, computing all takes
/// less time than the copies.
const SHARED_LEVEL: u32 = 3;

/// Pairs of P2P a particle up to which the mixed path, with its adaptive tree, is not faster.
const MOST_PAIRS: f64 = 1e5;

/// Greater powers of two than these are left to the caller.
const MOST_SHIFT: i32 = 60;
const MOST_EXPONENT: i32 = 500;

/// Lengths and charges of a run.
struct Scales {
    map: BoxMap,
    exponent: i32,
    eps: f64,
}

/// A tree whose cells are counted.
struct Counted {
    depth: u32,
    rows: Rows,
    pairs: u64,
}

/// A card in one run.
struct On<'a, T: Number, C: Card> {
    card: &'a C,
    loaded: &'a Loaded<T, C>,
    problem: Problem,
    part: Part,
    /// How many of its targets are in the share of each other card, and where the results of these are collected.
    sends: Vec<Sends>,
}

#[derive(Clone, Copy, Default)]
struct Sends {
    first: usize,
    count: usize,
}

impl<T: Number, C: Card> Whole<T, C> {
    /// All of it, from the particles as they were sent to results in the order of the input, in a tree whose leaves have at most
    /// `leaf` particles in the mean, or a deeper one. `eps` is the softening length of P2P.
    pub fn run(&mut self, cards: &[C], leaf: usize, eps: f64) -> Result<Outcome, CudaError> {
        if self.n() == 0 {
            return Ok(Outcome::Unfit("there are no particles".into()));
        }
        let mut clocks: Vec<Clock<C>> = cards.iter().map(|card| Clock { card, events: Vec::new() }).collect();
        let mut tick = || clocks.iter_mut().try_for_each(Clock::tick);
        tick()?;
        let bounds = self.bounds(cards)?;
        let scales = match scales::<T>(&bounds, eps) {
            Ok(scales) => scales,
            Err(why) => return Ok(Outcome::Unfit(why)),
        };
        tick()?;
        let Some(counted) = self.tree(cards, &scales, leaf)? else {
            return Ok(Outcome::Unfit("the particles are too uneven for a tree of one depth".into()));
        };
        let parts = self.share_out(cards, &counted)?;
        let all = self.on(cards, &scales, counted.depth, parts);
        all.iter().try_for_each(On::sort)?;
        tick()?;
        self.stages(cards, &all, counted.depth, &mut tick)?;
        let mut status = Status::default();
        for on in &all {
            status = status.plus(on.loaded.cells.as_ref().expect("it has a tree").status(on.card)?);
        }
        if status.lost > 0 {
            return Ok(Outcome::Unfit("some particles are so close that a result leaves the arithmetic".into()));
        }
        let mut run = Run {
            map: scales.map,
            exponent: scales.exponent,
            depth: counted.depth,
            pairs: counted.pairs,
            status,
            seconds: [0.0; STAGES.len()],
            total: 0.0,
        };
        clocks.iter().try_for_each(|clock| clock.read(&mut run))?;
        Ok(Outcome::Done(Box::new(run)))
    }

    /// The box and the charges of all particles.
    fn bounds(&self, cards: &[C]) -> Result<Bounds, CudaError> {
        let (blocks, threads) = (BOUNDS_BLOCKS, 256);
        for (card, loaded) in cards.iter().zip(&self.loaded) {
            loaded.launch(card, "bounds", Size { blocks, threads }, &loaded.places, &[])?;
            loaded.launch(card, "all_bounds", Size { blocks: 1, threads }, &loaded.places, &[blocks])?;
        }
        let mut all = vec![[Bounds::default()]; cards.len()];
        for ((card, loaded), bounds) in cards.iter().zip(&self.loaded).zip(&mut all) {
            card.read(&loaded.particles.bounds, 0, bounds)?;
        }
        Ok(all.into_iter().map(|[bounds]| bounds).reduce(Bounds::join).expect("there is a card"))
    }

    /// Counts particles and pairs in trees of rising depth until one is good; none may be.
    fn tree(&mut self, cards: &[C], scales: &Scales, leaf: usize) -> Result<Option<Counted>, CudaError> {
        let n = self.n();
        let order = self.order;
        let costs = |tree: &Counted| cost(tree.pairs as f64, tree.depth, order, T::REAL);
        let mut tree = self.count(cards, scales, depth_for(n, leaf))?;
        // Uniform particles have no more pairs than this.
        let even = 40.0 * n as f64 * (n as f64 / 8f64.powi(tree.depth as i32) + 2.0);
        while tree.pairs as f64 > even && tree.depth < DEEPEST {
            // The cells alone may cost more than all of this.
            if cost(0.0, tree.depth + 1, order, T::REAL) >= costs(&tree) {
                break;
            }
            let deeper = self.count(cards, scales, tree.depth + 1)?;
            if costs(&deeper) >= costs(&tree) {
                tree = self.count(cards, scales, tree.depth)?;
                break;
            }
            tree = deeper;
        }
        let is_good = tree.pairs as f64 <= even.max(MOST_PAIRS * n as f64);
        Ok(is_good.then_some(tree))
    }

    /// Counts the particles of all leaves of a depth, each card those of its share, and the pairs of P2P on all cards.
    fn count(&mut self, cards: &[C], scales: &Scales, depth: u32) -> Result<Counted, CudaError> {
        let (n, leaves) = (self.n(), 1u32 << (3 * depth));
        let units = self.units;
        // No card may still fetch what another one counted before.
        if cards.len() > 1 {
            cards.iter().try_for_each(C::finish)?;
        }
        let shares = self.shares();
        for ((card, loaded), share) in cards.iter().zip(&mut self.loaded).zip(&shares) {
            if loaded.cells.as_ref().is_none_or(|cells| cells.depth != depth) {
                loaded.cells = None;
                loaded.cells = Some(Cells::new(card, &self.shape, depth, n, cards.len())?);
                loaded.places = loaded.problem(card);
            }
            let cells = loaded.cells.as_mut().expect("it was made");
            card.clear(&mut cells.shares)?;
            card.clear(&mut cells.counted)?;
            let problem = loaded.places.scaled::<T>(scales, units, depth);
            let blocks = share.len().div_ceil(256) as u32;
            loaded.launch(card, "count", Size { blocks, threads: 256 }, &problem, &[])?;
        }
        if cards.len() > 1 {
            let all: Vec<_> = self.loaded.iter().map(|l| &l.cells.as_ref().expect("it was made").shares).collect();
            let parts: Vec<_> = (0..cards.len()).map(|k| k << (3 * depth)..(k + 1) << (3 * depth)).collect();
            exchange(cards, &all, &parts)?;
        }
        for (card, loaded) in cards.iter().zip(&self.loaded) {
            let problem = loaded.places.scaled::<T>(scales, units, depth);
            let (blocks, threads) = (leaves.div_ceil(1024), 1024);
            loaded.launch(card, "scan_cells", Size { blocks, threads }, &problem, &[])?;
            loaded.launch(card, "scan_sums", Size { blocks: 1, threads }, &problem, &[blocks])?;
            loaded.launch(card, "scan_add", Size { blocks, threads }, &problem, &[])?;
        }
        // All cards count the same.
        let rows = self.loaded[0].cells.as_ref().expect("it was made").rows(&cards[0], cards.len())?;
        Ok(Counted { depth, pairs: rows.rows.iter().map(|row| row.pairs).sum(), rows })
    }

    /// What each card is to do of a tree, and which results it sends to the others, whose places the cards are told.
    fn share_out(&mut self, cards: &[C], tree: &Counted) -> Result<Vec<(Part, Vec<Sends>)>, CudaError> {
        let parts = split(&tree.rows.rows, tree.depth, self.order, T::REAL, cards.len());
        let sends = sends(&tree.rows.targets(&parts, 1 << tree.depth));
        if cards.len() > 1 {
            for ((card, loaded), sends) in cards.iter().zip(&mut self.loaded).zip(&sends) {
                let cursors: Vec<u32> = sends.iter().map(|to| to.first as u32).collect();
                card.write(&cursors, &mut loaded.cells.as_mut().expect("it was made").cursors, 0)?;
            }
        }
        Ok(parts.into_iter().zip(sends).collect())
    }

    /// The cards with their parts.
    fn on<'a>(
        &'a self,
        cards: &'a [C],
        scales: &Scales,
        depth: u32,
        parts: Vec<(Part, Vec<Sends>)>,
    ) -> Vec<On<'a, T, C>> {
        let on = |((card, loaded), (part, sends)): ((&'a C, &'a Loaded<T, C>), (Part, Vec<Sends>))| {
            let Part { own, around, parents, .. } = part;
            let problem = loaded.places.scaled::<T>(scales, self.units, depth);
            On { card, loaded, problem: Problem { own, around, parents, ..problem }, part, sends }
        };
        cards.iter().zip(&self.loaded).zip(parts).map(on).collect()
    }

    /// All stages from P2M on.
    fn stages(
        &self,
        cards: &[C],
        all: &[On<T, C>],
        depth: u32,
        tick: &mut impl FnMut() -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        let shape = &self.shape;
        let family = |cells: u32| Size {
            blocks: cells.div_ceil(shape.families as u32),
            threads: (shape.terms * shape.families) as u32,
        };
        if depth >= 2 {
            all.iter().try_for_each(|on| on.of_leaves("p2m"))?;
            let leaves: Vec<Span> = all.iter().map(|on| on.part.own).collect();
            self.exchange_expansions(cards, all, depth, &leaves)?;
        }
        tick()?;
        for level in (2..depth).rev() {
            let is_shared = cards.len() > 1 && level + 1 == depth && level >= SHARED_LEVEL;
            for on in all {
                let every = Span { first: 0, end: 1 << (3 * level) };
                let span = if is_shared { on.part.parents[level as usize] } else { every };
                on.launch("m2m", family(span.len()), &[level, span.first, span.end])?;
            }
            if is_shared {
                let spans: Vec<Span> = all.iter().map(|on| on.part.parents[level as usize]).collect();
                self.exchange_expansions(cards, all, level, &apart(&spans))?;
            }
        }
        tick()?;
        if depth >= 2 {
            for on in all {
                let above = &on.part.parents[1..depth as usize];
                let blocks = above.iter().map(|span| 8 * span.len().div_ceil(64)).sum();
                on.launch("m2l", Size { blocks, threads: 16 * (self.order as u32 + 1) }, &[])?;
            }
        }
        tick()?;
        for level in 2..depth {
            all.iter().try_for_each(|on| on.launch("l2l", family(on.part.parents[level as usize].len()), &[level]))?;
        }
        tick()?;
        for on in all {
            on.launch("p2p", Size { blocks: on.part.blocks, threads: shape.threads as u32 }, &[])?;
            on.launch("again", Size { blocks: AGAIN_BLOCKS, threads: 128 }, &[])?;
        }
        tick()?;
        all.iter().try_for_each(|on| on.of_leaves("l2p"))?;
        self.exchange_results(cards, all)?;
        tick()
    }

    /// Gives every card the multipole expansions that the others have of the cells of a level.
    fn exchange_expansions(&self, cards: &[C], all: &[On<T, C>], level: u32, spans: &[Span]) -> Result<(), CudaError> {
        let m: Vec<_> = all.iter().map(|on| &on.loaded.cells.as_ref().expect("it has a tree").m).collect();
        let first = ((1usize << (3 * level)) - 64) / 7;
        let place = |cell: u32| (first + cell as usize) * self.shape.pitch;
        let parts: Vec<_> = spans.iter().map(|span| place(span.first)..place(span.end)).collect();
        exchange(cards, &m, &parts)
    }

    /// Gives every card what the others have for its share of the input.
    fn exchange_results(&self, cards: &[C], all: &[On<T, C>]) -> Result<(), CudaError> {
        if cards.len() == 1 {
            return Ok(());
        }
        all.iter().try_for_each(On::collect)?;
        let events = cards.iter().map(C::event).collect::<Result<Vec<_>, _>>()?;
        for (k, on) in all.iter().enumerate() {
            let (to, mut count) = (&on.loaded.particles, 0);
            for (j, other) in all.iter().enumerate().filter(|(j, _)| *j != k) {
                let (card, event, from) = (&cards[j], &events[j], &other.loaded.particles);
                let part = other.sends[k].first..other.sends[k].first + other.sends[k].count;
                let values = 4 * part.start..4 * part.end;
                on.card.take(&to.records, 4 * count, From { card, memory: &from.near, part: values, event })?;
                on.card.take(&to.again, count, From { card, memory: &from.unsettled, part: part.clone(), event })?;
                count += part.len();
            }
            on.launch("spread", Size { blocks: count.div_ceil(256) as u32, threads: 256 }, &[count as u32])?;
        }
        Ok(())
    }
}

/// Spans that follow each other, without what the ones before have.
fn apart(spans: &[Span]) -> Vec<Span> {
    let mut end = 0;
    let rest = |span: &Span| {
        let first = span.first.max(end);
        end = end.max(span.end);
        Span { first, end: first.max(span.end) }
    };
    spans.iter().map(rest).collect()
}

/// Where each card collects the results for each other one, given how many of its targets are in the share of each.
fn sends(targets: &[Vec<usize>]) -> Vec<Vec<Sends>> {
    let of = |(own, counts): (usize, &Vec<usize>)| {
        let mut first = 0;
        let to = |(card, count): (usize, &usize)| {
            let count = if card == own { 0 } else { *count };
            first += count;
            Sends { first: first - count, count }
        };
        counts.iter().enumerate().map(to).collect()
    };
    targets.iter().enumerate().map(of).collect()
}

impl<T: Number, C: Card> On<'_, T, C> {
    fn launch(&self, name: &str, size: Size, numbers: &[u32]) -> Result<(), CudaError> {
        self.loaded.launch(self.card, name, size, &self.problem, numbers)
    }

    /// Puts the particles of its leaves, and of those near them, in order.
    fn sort(&self) -> Result<(), CudaError> {
        let size = |particles: u32| Size { blocks: particles.div_ceil(256), threads: 256 };
        self.launch("scatter", size(self.problem.n as u32), &[])?;
        self.launch("settle", size(self.part.particles), &[])
    }

    /// Collects the results of its leaves that others are sent.
    fn collect(&self) -> Result<(), CudaError> {
        self.launch("collect", Size { blocks: self.part.targets.div_ceil(256), threads: 256 }, &[])
    }

    /// A kernel with a warp for each of its leaves.
    fn of_leaves(&self, name: &str) -> Result<(), CudaError> {
        self.launch(name, Size { blocks: self.part.own.len().div_ceil(4), threads: 128 }, &[])
    }
}

impl<T: Number, C: Card> Loaded<T, C> {
    pub(super) fn launch(
        &self,
        card: &C,
        name: &str,
        size: Size,
        problem: &Problem,
        numbers: &[u32],
    ) -> Result<(), CudaError> {
        match size.blocks {
            0 => Ok(()),
            _ => card.launch(Lane::Main, &self.kernels[name], size, problem, numbers),
        }
    }

    /// Where everything is, and which particles are sources; units are not known yet.
    pub(super) fn problem(&self, card: &C) -> Problem {
        let (particles, tables) = (&self.particles, &self.tables);
        let mut problem = Problem {
            input: particles.input.each_ref().map(|x| card.place(x)),
            bounds: card.place(&particles.bounds),
            cell: card.place(&particles.cell),
            rank: card.place(&particles.rank),
            unsettled: card.place(&particles.unsettled),
            order: card.place(&particles.order),
            again: card.place(&particles.again),
            records: card.place(&particles.records),
            near: card.place(&particles.near),
            out: card.place(&particles.out),
            up: card.place(&tables.up),
            down: card.place(&tables.down),
            matrices: card.place(&tables.matrices),
            slopes: card.place(&tables.slopes),
            steps: card.place(&tables.steps),
            slope_terms: card.place(&tables.slope_terms),
            n: particles.n as u64,
            sources: self.places.sources,
            first_target: self.places.first_target,
            card: self.places.card,
            cards: self.places.cards,
            share: self.places.share,
            ..Problem::default()
        };
        if let Some(cells) = &self.cells {
            problem.shares = card.place(&cells.shares);
            problem.counts = card.place(&cells.counts);
            problem.cursors = card.place(&cells.cursors);
            problem.sums = card.place(&cells.sums);
            problem.starts = card.place(&cells.starts);
            problem.status = card.place(&cells.counted);
            problem.rows = problem.status + (Status::WORDS * size_of::<u64>()) as u64;
            problem.row_shares = problem.rows + (2 * Rows::count(cells.depth) * size_of::<u64>()) as u64;
            problem.work = card.place(&cells.work);
            problem.m = card.place(&cells.m);
            problem.l = card.place(&cells.l);
        }
        problem
    }
}

impl Problem {
    /// With what kernels know of units.
    fn scaled<T: Number>(self, scales: &Scales, units: Units, depth: u32) -> Problem {
        let map = &scales.map;
        let (side, eps) = (2f64.powi(depth as i32), map.scaled(scales.eps));
        let edge = map.size / side;
        // The frame of P2P: cells in f32, scaled coordinates in f64.
        let unit = if T::REAL == Real::F32 { edge } else { 1.0 };
        let (boxes, Units { potential, gradient, length }) = (map.size / unit, units);
        Problem {
            shift: 2f64.powi(-map.shift),
            centre: map.centre,
            rest: map.rest,
            size: map.size,
            charge: 2f64.powi(-scales.exponent),
            eps2: (eps / unit).powi(2),
            wide_eps2: eps * eps,
            potential: boxes / (length * potential),
            gradient: boxes * boxes / (length * length * gradient),
            wide_potential: unit,
            wide_gradient: unit * unit,
            depth: depth as u64,
            ..self
        }
    }
}

/// The box and the scale of charges, if the arithmetic suits them.
fn scales<T: Number>(bounds: &Bounds, eps: f64) -> Result<Scales, String> {
    if bounds.bad != 0 {
        return Err("some coordinates or charges are no numbers".into());
    }
    let map = BoxMap::within([0, 1, 2].map(|a| [bounds.low[a], bounds.high[a]]));
    let exponent = exponent(bounds.most);
    if map.shift.abs() > MOST_SHIFT || exponent.abs() > MOST_EXPONENT || map.size < 1e-30 {
        return Err("lengths or charges are very large or very small numbers".into());
    }
    let limits = Limits::of::<T>();
    if bounds.most > 0.0 && bounds.least * 2f64.powi(-exponent) < limits.charge {
        return Err("some charges are very small beside others".into());
    }
    // In units of the smallest leaf.
    if map.length(eps) * 2f64.powi(DEEPEST as i32) > limits.eps.min(1e7) {
        return Err("the softening length is very large beside the box".into());
    }
    Ok(Scales { map, exponent, eps })
}

/// The times between stages on a card.
struct Clock<'a, C: Card> {
    card: &'a C,
    events: Vec<C::Event>,
}

impl<C: Card> Clock<'_, C> {
    fn tick(&mut self) -> Result<(), CudaError> {
        self.events.push(self.card.event()?);
        Ok(())
    }

    /// Notes the seconds of stages that took longer here than elsewhere.
    fn read(&self, run: &mut Run) -> Result<(), CudaError> {
        for (seconds, pair) in run.seconds.iter_mut().zip(self.events.windows(2)) {
            *seconds = seconds.max(C::seconds(&pair[0], &pair[1])?);
        }
        if let [first, .., last] = &self.events[..] {
            run.total = run.total.max(C::seconds(first, last)?);
        }
        Ok(())
    }
}
