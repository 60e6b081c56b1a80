//! One run: what is launched, in which order and with how many threads.

use super::memory::{BOUNDS_BLOCKS, Boxes, Problem, Tiled};
use super::{MOST_LEVELS, Plane, Run, Settings};
use crate::cuda::CudaError;
use crate::cuda::driver::{Clock, Outcome};
use crate::cuda::gpu_device::{GpuDevice, Size, Stream};

/// Levels up to this one have one block for all of their boxes.
const TOP: usize = 2;
const TOP_BOXES: usize = 4;

/// Blocks of `scale` at most, which go through the points in turn.
const SCALE_BLOCKS: usize = 1056;

/// Of more points than this, and no more than one block holds, one block makes the first two splits and four blocks the others.
const FEW: usize = 1024;

/// Blocks of P2P that a GPU should have at least, and threads of one at most.
const P2P_BLOCKS: usize = 1056;
const P2P_THREADS: usize = 384;

/// Threads of a block of L2P at most.
const L2P_THREADS: usize = 256;

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
        // Few blocks should be large ones, and small ones leave a multiprocessor without enough of them.
        let least = if parts * boxes < 4 * P2P_BLOCKS { P2P_THREADS } else { 128 };
        let fill = |ways: usize| {
            let threads = (part * ways).next_multiple_of(32);
            (part * ways) as f64 / threads.max(least) as f64
        };
        let all = 1..=(P2P_THREADS / part).clamp(1, 32);
        let ways = all.max_by(|a, b| fill(*a).total_cmp(&fill(*b)).then(b.cmp(a))).expect("one way");
        Division { part, ways }
    }
}

impl<C: GpuDevice> Plane<C> {
    /// Runs all stages for the points that were sent, unless the arithmetic of the GPU is too narrow for them.
    pub fn run(&mut self, device: &C, settings: Settings) -> Result<Outcome<Run>, CudaError> {
        let n = self.points.as_ref().expect("points were sent").n;
        let levels = settings.levels;
        assert!(levels <= MOST_LEVELS && n >> (2 * levels) > 0, "no finest box is empty");
        let mut capacity = [0; 4];
        loop {
            let problem = self.placed(device, settings, capacity)?;
            let boxes = self.boxes.as_mut().expect("it was made");
            let mut clock = Clock::new(device);
            clock.tick(())?;
            // Where one block has all points, what counts is set to 0 beside it.
            if n > self.shape.many {
                device.clear(&mut boxes.counted)?;
            }
            On { plane: self, device, problem, settings }.stages(&mut clock)?;
            let boxes = self.boxes.as_ref().expect("it was made");
            let status = boxes.status(device)?;
            if status.items.iter().zip(&boxes.capacity).any(|(items, capacity)| items > capacity) {
                // What was found without capacity may be less than there is.
                capacity = [0, 1, 2, 3].map(|k| boxes.capacity[k].max(status.items[k] * 2));
                self.boxes = None;
                continue;
            }
            if status.unfit != 0 {
                return Ok(Err("some numbers, or results, are very large or very small".into()));
            }
            return Ok(Ok(Run { status, times: clock.read(|_, _| Ok(0.0))? }));
        }
    }

    /// Where everything is, in memory that is allocated if there is none. `capacity` is that of lists, or zeros for the usual one.
    fn placed(&mut self, device: &C, settings: Settings, capacity: [u64; 4]) -> Result<Problem, CudaError> {
        let points = self.points.as_ref().expect("points were sent");
        let (n, levels) = (points.n, settings.levels);
        if self.boxes.as_ref().is_none_or(|boxes| boxes.levels != levels) {
            (self.boxes, self.problem) = (None, None);
            self.boxes = Some(Boxes::new(device, n, levels, capacity, &self.shape)?);
        }
        let problem = match self.problem {
            Some(problem) => problem,
            None => {
                let mut problem = Problem { binomials: device.place(&self.binomials), ..Problem::default() };
                points.place(device, self.shape.is_complex, &mut problem);
                self.boxes.as_ref().expect("it was made").place(device, &mut problem);
                problem
            }
        };
        self.problem = Some(problem);
        let most = n.div_ceil(1 << (2 * levels));
        let Division { part, ways } = Division::new(1 << (2 * levels), most);
        Ok(Problem { theta: settings.theta, most: most as u64, part: part as u64, ways: ways as u64, ..problem })
    }
}

/// A GPU in one run.
pub(super) struct On<'a, C: GpuDevice> {
    pub plane: &'a Plane<C>,
    pub device: &'a C,
    pub problem: Problem,
    settings: Settings,
}

impl<C: GpuDevice> On<'_, C> {
    pub fn launch(&self, stream: Stream, name: &str, size: Size, numbers: &[u32]) -> Result<(), CudaError> {
        self.plane.kernels.launch_in(stream, self.device, name, size, &self.problem, numbers)
    }

    /// Starts all kernels. The clock ticks behind each stage, or behind the last one.
    fn stages(&mut self, clock: &mut Clock<C>) -> Result<(), CudaError> {
        let (device, is_timed, levels) = (self.device, self.settings.is_timed, self.settings.levels);
        let (finest, all) = (1usize << (2 * levels), ((4usize << (2 * levels)) - 1) / 3);
        let mut tick = || if is_timed { clock.tick(()) } else { Ok(()) };
        // Multipoles need no lists, and P2P needs nothing else: each goes on beside the other stages, unless these are timed.
        let beside = if is_timed { Stream::Main } else { Stream::Beside };
        self.sort(levels)?;
        self.boxes(levels)?;
        tick()?;
        if !is_timed {
            device.fork()?;
        }
        self.connect(levels)?;
        tick()?;
        self.launch(beside, "p2m", Size::of_warps(finest), &[])?;
        tick()?;
        self.up(beside, levels)?;
        tick()?;
        if !is_timed {
            device.join()?;
            device.fork()?;
            self.p2p(beside, finest)?;
        }
        self.launch(Stream::Main, "m2l", Size::new(all.div_ceil(8), 128), &[all as u32])?;
        tick()?;
        self.down(levels)?;
        tick()?;
        match is_timed {
            true => self.p2p(beside, finest)?,
            false => device.join()?,
        }
        tick()?;
        self.l2p(finest)?;
        clock.tick(())
    }

    fn connect(&self, levels: usize) -> Result<(), CudaError> {
        let top = TOP.min(levels);
        self.launch(Stream::Main, "couple_top", Size::new(1, 256), &[top as u32])?;
        for level in top + 1..=levels {
            self.launch(Stream::Main, "couple", Size::new((1usize << (2 * level)).div_ceil(8), 256), &[level as u32])?;
        }
        Ok(())
    }

    /// M2M.
    fn up(&self, stream: Stream, levels: usize) -> Result<(), CudaError> {
        // The last parents that one block has.
        let top = TOP.min(levels.saturating_sub(1));
        for level in (top + 1..levels).rev() {
            self.launch(stream, "m2m", Size::of_warps(1 << (2 * level)), &[level as u32])?;
        }
        if top > 0 {
            self.launch(stream, "m2m_top", Size::new(1, 256), &[top as u32])?;
        }
        Ok(())
    }

    /// L2L.
    fn down(&self, levels: usize) -> Result<(), CudaError> {
        let top = TOP.min(levels.saturating_sub(1));
        if top > 0 {
            self.launch(Stream::Main, "l2l_top", Size::new(1, 256), &[top as u32])?;
        }
        for level in top + 1..levels {
            self.launch(Stream::Main, "l2l", Size::of_warps(1 << (2 * level)), &[level as u32])?;
        }
        Ok(())
    }

    fn p2p(&self, stream: Stream, finest: usize) -> Result<(), CudaError> {
        let Problem { most, part, ways, .. } = self.problem;
        let (blocks, threads) = (finest * most.div_ceil(part) as usize, (part * ways).next_multiple_of(32) as usize);
        self.launch(stream, "p2p", Size::new(blocks, threads), &[])
    }

    fn l2p(&self, finest: usize) -> Result<(), CudaError> {
        let (n, threads) =
            (self.problem.n as usize, (self.problem.most as usize).next_multiple_of(32).min(L2P_THREADS));
        self.launch(Stream::Main, "l2p", Size::new(finest, threads), &[self.are_many() as u32])?;
        match self.are_many() {
            true => self.launch(Stream::Main, "spread", Size::of_threads(n), &[]),
            false => Ok(()),
        }
    }

    /// Whether points are sorted as many are: there are more than one block sorts.
    fn are_many(&self) -> bool {
        self.problem.n as usize > self.plane.shape.many
    }

    /// The order of the points box by box.
    fn sort(&self, levels: usize) -> Result<(), CudaError> {
        let (n, splits) = (self.problem.n as usize, 2 * levels);
        if !self.are_many() {
            return self.sort_few(n, splits);
        }
        self.launch(Stream::Main, "bounds", Size::new(BOUNDS_BLOCKS as usize, 256), &[])?;
        self.launch(Stream::Main, "scale", Size::new(n.div_ceil(256).min(SCALE_BLOCKS), 256), &[BOUNDS_BLOCKS])?;
        let tiled = &self.tiled().splits;
        for (split, [tiles, before]) in tiled.iter().enumerate() {
            let numbers = [split as u32, *tiles, *before];
            let size = Size::new((*tiles as usize) << split, 256);
            self.launch(
                Stream::Main,
                "histogram",
                Size::new((tiles.div_ceil(4) as usize) << split, 1024),
                &numbers[..2],
            )?;
            self.launch(Stream::Main, "gather", size, &numbers)?;
            self.launch(Stream::Main, "choose", Size::new(1 << split, 256), &numbers)?;
            self.launch(Stream::Main, "scatter", size, &numbers)?;
        }
        let first = tiled.len();
        if first < splits {
            self.launch(Stream::Main, "split_rest", Size::new(1 << first, 1024), &[first as u32, splits as u32])?;
        }
        Ok(())
    }

    /// Few points: a block ranks them along each axis.
    fn sort_few(&self, n: usize, splits: usize) -> Result<(), CudaError> {
        let blocks = n.div_ceil(256);
        self.launch(Stream::Main, "bounds", Size::new(blocks, 256), &[])?;
        self.launch(Stream::Main, "rank_few", Size::new(2, 1024), &[blocks as u32])?;
        let first = if n > FEW { splits.min(2) } else { splits };
        self.launch(Stream::Main, "split_few", Size::new(1, 1024), &[0, first as u32, splits as u32])?;
        match first < splits {
            true => self.launch(
                Stream::Main,
                "split_few",
                Size::new(1 << first, 1024),
                &[first as u32, splits as u32, splits as u32],
            ),
            false => Ok(()),
        }
    }

    fn tiled(&self) -> &Tiled {
        &self.plane.boxes.as_ref().expect("it was made").tiled
    }

    /// Sorted sources, and the boxes of all levels.
    fn boxes(&mut self, levels: usize) -> Result<(), CudaError> {
        self.problem.order += 4 * self.problem.n * self.plane.last_column() as u64;
        self.launch(Stream::Main, "boxes", Size::of_warps(1 << (2 * levels)), &[self.are_many() as u32])?;
        let top = TOP_BOXES.min(levels.saturating_sub(1));
        for level in (top + 1..levels).rev() {
            self.launch(
                Stream::Main,
                "boxes_above",
                Size::new((1usize << (2 * level)).div_ceil(128), 128),
                &[level as u32],
            )?;
        }
        if levels > 0 {
            self.launch(Stream::Main, "boxes_top", Size::new(1, 256), &[top as u32])?;
        }
        Ok(())
    }
}
