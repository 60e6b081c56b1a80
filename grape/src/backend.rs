//! The backend that `PAIRFORGE_GRAPE_BACKEND` names, and kernels on it.

use crate::failure;
use pairforge::kernel::{self, Backend, Session};
use std::sync::OnceLock;

/// The environment's variable.
const VARIABLE: &str = "PAIRFORGE_GRAPE_BACKEND";

/// Where sums are done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// Vector code on the cores of this machine.
    Native,
    Kernel(Backend),
}

/// As the environment said when it was first asked.
pub fn place() -> &'static Place {
    static PLACE: OnceLock<Place> = OnceLock::new();
    PLACE.get_or_init(|| {
        let name = std::env::var(VARIABLE).unwrap_or_else(|_| "cpu".into());
        match name.parse() {
            Ok(Backend::Cpu) => Place::Native,
            Ok(backend) => Place::Kernel(backend),
            Err(e) => failure::end(format_args!("{VARIABLE}: {e}")),
        }
    })
}

/// A shipped kernel on a backend, ready to run.
pub fn session(kernel: &str, backend: &Backend) -> Session {
    let kernel = kernel::shipped(kernel).expect("it is shipped");
    let opened = kernel.open(backend).and_then(|mut session| session.prepare().map(|()| session));
    opened.unwrap_or_else(|e| failure::end(e))
}
