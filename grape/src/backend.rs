//! The backend that `PAIRFORGE_GRAPE_BACKEND` names, and kernels on it.

use crate::failure;
use pairforge::kernel::{self, Backend, Session};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

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

/// A shipped kernel on a backend, ready to run, for one device at a time.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<Lent>>);

/// A session while a device has it.
pub struct Lent {
    pub session: Session,
    /// The number that a device wrote here when it sent sources, if it did: those of another one are gone then.
    pub sources_of: Option<u64>,
}

/// The session on the board. A board has one port, so all devices of a program share it.
static ON_BOARD: Mutex<Weak<Mutex<Lent>>> = Mutex::new(Weak::new());

impl Shared {
    /// Opens the backend. Devices on a board get the session that another one has opened.
    pub fn open(kernel: &str, backend: &Backend) -> Shared {
        if !matches!(backend, Backend::Board(_)) {
            return Shared::new(kernel, backend);
        }
        let mut on_board = ON_BOARD.lock().unwrap_or_else(PoisonError::into_inner);
        let known = on_board.upgrade().map(Shared);
        if let Some(known) = known.filter(|shared| shared.lend().session.kernel().name() == kernel) {
            return known;
        }
        let new = Shared::new(kernel, backend);
        *on_board = Arc::downgrade(&new.0);
        new
    }

    fn new(kernel: &str, backend: &Backend) -> Shared {
        let kernel = kernel::shipped(kernel).expect("it is shipped");
        let opened = kernel.open(backend).and_then(|mut session| session.prepare().map(|()| session));
        let session = opened.unwrap_or_else(|e| failure::end(e));
        Shared(Arc::new(Mutex::new(Lent { session, sources_of: None })))
    }

    /// The session, once no other device has it.
    pub fn lend(&self) -> MutexGuard<'_, Lent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
