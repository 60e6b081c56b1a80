//! The parts of the machine that the server needs: files that others include, the time that a thread has worked, and memory.

pub use terminal::include::{key, load};
pub use terminal::memory::give_back;
pub use terminal::tables::{EDITOR, Stop, within_or_stopped};
