//! The far field on the CPU and P2P on a device at the same time, as in Hu, Gumerov and Duraiswami (SC 2011).

use super::{FmmError, Waited};
use crate::clock::Instant;

/// The results of both, and how long one waited for the other.
pub struct Both<F, N> {
    pub far: F,
    pub near: N,
    pub waited: Waited,
}

/// Runs the far field on a thread of its own beside P2P on this one.
pub fn both<F: Send, N>(
    far: impl FnOnce() -> F + Send,
    near: impl FnOnce() -> Result<N, FmmError>,
) -> Result<Both<F, N>, FmmError> {
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
