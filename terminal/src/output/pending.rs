//! The files to remove when the program is interrupted: temporary files and folders that are not filled yet.

use std::cell::Cell;
use std::ffi::CString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicUsize, Ordering};
use std::time::Duration;

/// A name, in a list that only grows: a handler may walk it at any time, and no name that it reads is ever freed.
struct Node {
    name: CString,
    live: AtomicBool,
    older: *mut Node,
}

/// The head of the list. Folders are older than what lies in them.
static NEWEST: AtomicPtr<Node> = AtomicPtr::new(std::ptr::null_mut());
/// Threads that do what is not interrupted half-way.
static HELD: AtomicUsize = AtomicUsize::new(0);
/// The signal that came, or 0.
static WAITING: AtomicI32 = AtomicI32::new(0);

thread_local! {
    /// Number of holds of this thread among them.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// A file or an empty folder, to be removed for as long as this lives. It is made within [`uninterrupted`], together with the file.
pub struct Pending {
    node: &'static Node,
}

impl Pending {
    pub fn new(path: &Path) -> Pending {
        let name = CString::new(path.as_os_str().as_encoded_bytes()).unwrap_or_default();
        let node = Box::into_raw(Box::new(Node { name, live: AtomicBool::new(true), older: std::ptr::null_mut() }));
        let mut newest = NEWEST.load(Ordering::SeqCst);
        loop {
            // SAFETY: the node is not in the list yet, so that nobody else has it.
            unsafe { (*node).older = newest };
            match NEWEST.compare_exchange(newest, node, Ordering::SeqCst, Ordering::SeqCst) {
                // SAFETY: it came from a box that is never freed, and from here on it is only read.
                Ok(_) => return Pending { node: unsafe { &*node } },
                Err(now) => newest = now,
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.node.live.store(false, Ordering::SeqCst);
    }
}

/// Counts a thread among those that are not interrupted, for as long as it lives.
struct Hold;

impl Hold {
    fn new() -> Hold {
        OWN.set(OWN.get() + 1);
        HELD.fetch_add(1, Ordering::SeqCst);
        let signal = WAITING.load(Ordering::SeqCst);
        if signal != 0 && OWN.get() == 1 {
            // The program ends: nothing new is begun.
            HELD.fetch_sub(1, Ordering::SeqCst);
            loop {
                end(signal);
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Hold
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        OWN.set(OWN.get() - 1);
        HELD.fetch_sub(1, Ordering::SeqCst);
        match WAITING.load(Ordering::SeqCst) {
            0 => {}
            signal => end(signal),
        }
    }
}

/// Does `work` with interrupts put off until it is done.
pub fn uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    let _hold = Hold::new();
    work()
}

/// Removes a file or an empty folder; safe in a signal handler.
#[cfg(unix)]
fn unlink(name: &CString) {
    // SAFETY: unlink and rmdir are async-signal-safe, and the name is one.
    unsafe {
        if libc::unlink(name.as_ptr()) != 0 {
            libc::rmdir(name.as_ptr());
        }
    }
}

/// The same. Handlers are called in a thread of their own, which may ask for memory.
#[cfg(not(unix))]
fn unlink(name: &CString) {
    // SAFETY: the name was made of a path's bytes.
    let path = Path::new(unsafe { std::ffi::OsStr::from_encoded_bytes_unchecked(name.as_bytes()) });
    if std::fs::remove_file(path).is_err() {
        let _ = std::fs::remove_dir(path);
    }
}

/// Removes all that is pending; safe in a signal handler.
fn remove() {
    let mut node = NEWEST.load(Ordering::SeqCst);
    while !node.is_null() {
        // SAFETY: nodes in the list are whole and never freed.
        let Node { name, live, older } = unsafe { &*node };
        if live.load(Ordering::SeqCst) {
            unlink(name);
        }
        node = *older;
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
pub fn remove_when_interrupted() {
    let signals = [
        libc::SIGINT,
        libc::SIGTERM,
        #[cfg(unix)]
        libc::SIGHUP,
    ];
    for signal in signals {
        let handler = end as extern "C" fn(libc::c_int);
        // SAFETY: `end` calls only functions that are safe in a signal handler.
        unsafe {
            if libc::signal(signal, handler as libc::sighandler_t) == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}

/// Ends the program, now or when the last thread lets go of what is not interrupted. A thread that begins such work looks for the
/// signal after it has counted itself, and this looks at the count after it has noted the signal, so that one of the two sees the
/// other: no file comes to be behind the removal.
extern "C" fn end(signal: libc::c_int) {
    WAITING.store(signal, Ordering::SeqCst);
    if HELD.load(Ordering::SeqCst) > 0 {
        return;
    }
    remove();
    // SAFETY: signal and raise are async-signal-safe.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
