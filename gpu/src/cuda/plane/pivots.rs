//! Splits by the paper's pivots: Algorithm 3.2, whose loop is the host's, around Algorithm 3.1. It is there to be compared with.

use super::memory::Problem;
use super::run::On;
use crate::cuda::CudaError;
use crate::cuda::octree::gpu_device::{GpuDevice, Stream};

/// Points up to which one block looks for a median alone: `single_thread_limit` of the paper. (Where a block has less memory, fewer.)
const LIMIT: usize = 4096;

/// Points of a block that shares a segment with others, as in the text.
const TILE: usize = 2048;

/// The state that the GPU keeps of a segment, in words, and the word whose lower half counts the points of its part.
pub(super) const STATE: usize = 9;
const COUNT: usize = 6;

impl<C: GpuDevice> On<'_, C> {
    /// All splits.
    pub(super) fn sort_by_pivots(&self, splits: usize) -> Result<(), CudaError> {
        let Problem { n, .. } = self.problem;
        (0..splits).try_for_each(|split| self.split_by_pivots(split, (n as usize).div_ceil(1 << split)))
    }

    /// One split of all segments, which have so many points at most.
    fn split_by_pivots(&self, split: usize, most: usize) -> Result<(), CudaError> {
        let launch = |name: &str, size: [usize; 2], numbers: &[u32]| self.launch(Stream::Main, name, size, numbers);
        let (segments, number) = (1usize << split, split as u32);
        let limit = LIMIT.min(self.plane.shape.many);
        let threads = (most / 8).next_multiple_of(32).clamp(32, 256);
        launch("pivots_begin", [segments.div_ceil(256), 256], &[number])?;
        let tiles = most.div_ceil(TILE);
        launch("pivots_extent", [segments * tiles, threads], &[number, tiles as u32])?;
        let mut left = most;
        while left > limit {
            launch("pivots_choose", [segments, 32], &[number, limit as u32])?;
            left = self.longest(segments)?;
            let tiles = left.div_ceil(TILE);
            if left > limit {
                launch("pivots_count", [segments * tiles, 256], &[tiles as u32, limit as u32])?;
                launch("pivots_move", [segments * tiles, 256], &[number, tiles as u32, limit as u32])?;
            }
        }
        launch("pivots_rest", [segments, threads], &[number])
    }

    /// The points of the longest part in which a median is still looked for.
    fn longest(&self, segments: usize) -> Result<usize, CudaError> {
        let states = self.plane.states.as_ref().expect("it was made");
        let mut words = vec![0u64; STATE * segments];
        self.device.read(states, 0, &mut words)?;
        Ok(words.chunks(STATE).map(|state| state[COUNT] as u32).max().unwrap_or(0) as usize)
    }
}
