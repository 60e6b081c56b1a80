//! What is removed when the program is interrupted: temporary files and folders that are not filled yet.

use std::ffi::CString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering};

/// More than any command writes at once.
const SLOTS: usize = 16;

/// The names, null where there is none. Folders come before what lies in them.
static NAMES: [AtomicPtr<libc::c_char>; SLOTS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS];
/// Set while files get their names, which is not interrupted half-way.
static HELD: AtomicBool = AtomicBool::new(false);
/// The signal that came meanwhile, or 0.
static WAITING: AtomicI32 = AtomicI32::new(0);

/// A file or an empty folder, to be removed for as long as this lives.
pub struct Pending {
    slot: Option<usize>,
}

impl Pending {
    pub fn new(path: &Path) -> Pending {
        let name = CString::new(path.as_os_str().as_encoded_bytes()).unwrap_or_default().into_raw();
        let null = std::ptr::null_mut();
        let free = |slot: &AtomicPtr<_>| slot.compare_exchange(null, name, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        let slot = NAMES.iter().position(free);
        if slot.is_none() {
            // SAFETY: the pointer came from `into_raw` above, and no slot took it.
            drop(unsafe { CString::from_raw(name) });
        }
        Pending { slot }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let name = self.slot.map(|slot| NAMES[slot].swap(std::ptr::null_mut(), Ordering::SeqCst));
        if let Some(name) = name.filter(|n| !n.is_null()) {
            // SAFETY: the pointer came from `into_raw`, and the swap gave it to nobody else. A handler that read it just
            // before ends the process.
            drop(unsafe { CString::from_raw(name) });
        }
    }
}

/// Does `work` with interrupts put off until it is done.
pub fn uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    HELD.store(true, Ordering::SeqCst);
    let done = work();
    HELD.store(false, Ordering::SeqCst);
    #[cfg(unix)]
    match WAITING.swap(0, Ordering::SeqCst) {
        0 => {}
        signal => end(signal),
    }
    done
}

/// Removes all that is pending; safe in a signal handler.
fn remove() {
    for name in NAMES.iter().rev().map(|n| n.load(Ordering::SeqCst)).filter(|n| !n.is_null()) {
        // SAFETY: the name is whole while the pointer is set, and unlink and rmdir are async-signal-safe.
        unsafe {
            if libc::unlink(name) != 0 {
                libc::rmdir(name);
            }
        }
    }
}

/// Removes all that is pending, says why on standard error, and ends the program with a status. Asks for no memory.
pub fn end_with(line: &[u8], status: i32) -> ! {
    remove();
    // SAFETY: the line is as long as it says, and both calls may be made anywhere.
    unsafe {
        libc::write(2, line.as_ptr().cast(), line.len() as _);
        libc::_exit(status)
    }
}

/// Lets Ctrl-C and a request to end remove what is pending, and then end the program as they would have.
#[cfg(unix)]
pub fn remove_when_interrupted() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let handler = end as extern "C" fn(libc::c_int);
        // SAFETY: `end` calls only functions that are safe in a signal handler.
        unsafe {
            if libc::signal(signal, handler as libc::sighandler_t) == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}

#[cfg(unix)]
extern "C" fn end(signal: libc::c_int) {
    if HELD.load(Ordering::SeqCst) {
        WAITING.store(signal, Ordering::SeqCst);
        return;
    }
    remove();
    // SAFETY: signal and raise are async-signal-safe.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
