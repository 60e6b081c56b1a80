//! The far field on the CPU and P2P on a device at the same time, as in Hu, Gumerov and Duraiswami (SC 2011).

use super::FmmError;
use super::executor::Work;
use super::stats::{Seconds, Waited};
use std::time::Instant;

/// What both gave, and how long one waited for the other.
pub(super) struct Both {
    pub far: (Vec<Work>, Seconds),
    pub near: Vec<Work>,
    pub waited: Waited,
}

/// Runs the far field on a thread of its own beside P2P on this one.
pub(super) fn both(
    far: impl FnOnce() -> (Vec<Work>, Seconds) + Send,
    near: impl FnOnce() -> Result<Vec<Work>, FmmError>,
) -> Result<Both, FmmError> {
    let start = Instant::now();
    let seconds = || start.elapsed().as_secs_f64();
    std::thread::scope(|scope| {
        let far = scope.spawn(|| (far(), seconds()));
        let near = near();
        let near_seconds = seconds();
        let (far, far_seconds) = far.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let waited =
            Waited { cpu: (near_seconds - far_seconds).max(0.0), device: (far_seconds - near_seconds).max(0.0) };
        Ok(Both { far, near: near?, waited })
    })
}
