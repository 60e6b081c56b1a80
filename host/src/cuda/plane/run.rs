//! One run: what is launched, in which order and with how many threads.

use super::memory::{BOUNDS_BLOCKS, Boxes, Problem};
use super::{MOST_LEVELS, Plane, Run, STAGES, Settings};
use crate::cuda::CudaError;
use crate::cuda::whole::card::{Card, Size};

/// Levels up to this one have one block for all of their boxes.
const TOP: usize = 2;
const TOP_BOXES: usize = 4;

/// Blocks of P2P that a card should have at least, and threads of one at most.
const P2P_BLOCKS: usize = 1056;
const P2P_THREADS: usize = 384;

/// How P2P is divided: targets of a block, and threads that share one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Division {
    pub part: usize,
    pub ways: usize,
}

impl Division {
    /// For so many finest boxes of so many points at most: warps that are as full as can be.
    pub fn new(boxes: usize, most: usize) -> Division {
        let wanted = P2P_BLOCKS.div_ceil(boxes).min(most.div_ceil(32));
        let parts = most.div_ceil(P2P_THREADS).max(wanted).max(1);
        let part = most.div_ceil(parts).max(1);
        let fill = |ways: usize| {
            let threads = (part * ways).next_multiple_of(32);
            // Small blocks leave a multiprocessor without enough of them.
            (part * ways) as f64 / threads.max(128) as f64
        };
        let all = 1..=(P2P_THREADS / part).clamp(1, 32);
        let ways = all.max_by(|a, b| fill(*a).total_cmp(&fill(*b)).then(b.cmp(a))).expect("one way");
        Division { part, ways }
    }
}

impl<C: Card> Plane<C> {
    /// Runs all stages for the points that were sent. `None` if the arithmetic of the card is too narrow for them.
    pub fn run(&mut self, card: &C, settings: Settings) -> Result<Option<Run>, CudaError> {
        let points = self.points.as_ref().expect("points were sent");
        let (n, levels) = (points.n, settings.levels);
        assert!(levels <= MOST_LEVELS && n >> (2 * levels) > 0, "no finest box is empty");
        if self.boxes.as_ref().is_none_or(|boxes| boxes.levels != levels) {
            self.boxes = None;
            self.boxes = Some(Boxes::new(card, n, levels, [0; 4], &self.shape)?);
        }
        loop {
            let boxes = self.boxes.as_mut().expect("it was made");
            card.clear(&mut boxes.counted)?;
            let most = n.div_ceil(1 << (2 * levels));
            let division = Division::new(1 << (2 * levels), most);
            let mut problem = Problem {
                theta: settings.theta,
                most: most as u64,
                part: division.part as u64,
                ways: division.ways as u64,
                binomials: card.place(&self.binomials),
                ..Problem::default()
            };
            self.points.as_ref().expect("points were sent").place(card, self.shape.is_complex, &mut problem);
            boxes.place(card, &mut problem);
            self.problem = problem;
            let events = self.stages(card, settings, division)?;
            let boxes = self.boxes.as_ref().expect("it was made");
            let status = boxes.status(card)?;
            if status.items.iter().zip(&boxes.room).any(|(items, room)| items > room) {
                // What was found without room may be less than there is.
                let room = [0, 1, 2, 3].map(|k| boxes.room[k].max(status.items[k] * 2));
                self.boxes = None;
                self.boxes = Some(Boxes::new(card, n, levels, room, &self.shape)?);
                continue;
            }
            if status.unfit != 0 {
                return Ok(None);
            }
            let mut run = Run { status, seconds: [0.0; STAGES.len()], total: 0.0 };
            for (seconds, pair) in run.seconds.iter_mut().zip(events.windows(2)).filter(|_| settings.is_timed) {
                *seconds = C::seconds(&pair[0], &pair[1])?;
            }
            run.total = C::seconds(&events[0], &events[events.len() - 1])?;
            return Ok(Some(run));
        }
    }

    fn launch(&self, card: &C, name: &str, [blocks, threads]: [usize; 2], numbers: &[u32]) -> Result<(), CudaError> {
        let size = Size { blocks: blocks as u32, threads: threads as u32 };
        card.launch(&self.kernels[name], size, &self.problem, numbers)
    }

    /// Starts all kernels. The events are those between stages, or the first and the last.
    fn stages(&self, card: &C, settings: Settings, division: Division) -> Result<Vec<C::Event>, CudaError> {
        let mut events = vec![card.event()?];
        let mut tick = || -> Result<(), CudaError> {
            if settings.is_timed {
                events.push(card.event()?);
            }
            Ok(())
        };
        let levels = settings.levels;
        let (finest, all) = (1usize << (2 * levels), ((4usize << (2 * levels)) - 1) / 3);
        self.sort(card, levels)?;
        tick()?;
        let top = TOP.min(levels);
        self.launch(card, "couple_top", [1, 256], &[top as u32])?;
        for level in top + 1..=levels {
            self.launch(card, "couple", [(1usize << (2 * level)).div_ceil(8), 256], &[level as u32])?;
        }
        tick()?;
        let warps = |boxes: usize| [boxes.div_ceil(4), 128];
        self.launch(card, "p2m", warps(finest), &[])?;
        tick()?;
        // The last parents that one block has.
        let top = TOP.min(levels.saturating_sub(1));
        for level in (top + 1..levels).rev() {
            self.launch(card, "m2m", warps(1 << (2 * level)), &[level as u32])?;
        }
        if levels > 0 {
            self.launch(card, "m2m_top", [1, 512], &[top as u32])?;
        }
        tick()?;
        self.launch(card, "m2l", [all.div_ceil(8), 128], &[all as u32])?;
        tick()?;
        self.launch(card, "p2l", warps(finest), &[])?;
        if levels > 0 {
            self.launch(card, "l2l_top", [1, 512], &[top as u32])?;
        }
        for level in top + 1..levels {
            self.launch(card, "l2l", warps(1 << (2 * level)), &[level as u32])?;
        }
        tick()?;
        let parts = (self.problem.most as usize).div_ceil(division.part);
        let threads = (division.part * division.ways).next_multiple_of(32);
        self.launch(card, "p2p", [finest * parts, threads], &[])?;
        tick()?;
        self.launch(card, "l2p", warps(finest), &[])?;
        events.push(card.event()?);
        Ok(events)
    }

    /// Points box by box, and the boxes.
    fn sort(&self, card: &C, levels: usize) -> Result<(), CudaError> {
        let n = self.problem.n as usize;
        self.launch(card, "bounds", [BOUNDS_BLOCKS as usize, 256], &[])?;
        self.launch(card, "scale", [n.div_ceil(256), 256], &[BOUNDS_BLOCKS])?;
        let tiled = &self.boxes.as_ref().expect("it was made").tiled.splits;
        for (split, [tiles, before]) in tiled.iter().enumerate() {
            let numbers = [split as u32, *tiles, *before];
            let size = [(*tiles as usize) << split, 256];
            self.launch(card, "histogram", size, &numbers[..2])?;
            self.launch(card, "gather", size, &numbers)?;
            self.launch(card, "choose", [1 << split, 256], &numbers)?;
            self.launch(card, "scatter", size, &numbers)?;
        }
        for split in tiled.len()..2 * levels {
            let most = n.div_ceil(1 << split);
            let name = if most <= self.shape.few { "split_few" } else { "split_many" };
            let threads = match most {
                0..=64 => 32,
                65..=256 => 64,
                257..=1024 => 128,
                _ => 256,
            };
            self.launch(card, name, [1 << split, threads], &[split as u32])?;
        }
        self.launch(card, "boxes", [(1usize << (2 * levels)).div_ceil(4), 128], &[])?;
        let top = TOP_BOXES.min(levels.saturating_sub(1));
        for level in (top + 1..levels).rev() {
            self.launch(card, "boxes_above", [(1usize << (2 * level)).div_ceil(128), 128], &[level as u32])?;
        }
        if levels > 0 {
            self.launch(card, "boxes_top", [1, 256], &[top as u32])?;
        }
        Ok(())
    }
}
