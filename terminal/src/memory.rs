//! Memory: how much is free, and a sentence where there is too little.

use crate::failure::Failure;
use crate::output;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator, which asks for huge pages. Where there is no memory it ends a [command](keep_freed) with a sentence, instead of
/// by a signal.
pub struct Allocator;

/// A huge page of x86-64, and of AArch64 with small pages of 4 KiB.
const HUGE: usize = 2 << 20;

/// The memory asked of the system beside what is needed.
const PAD: usize = 64 << 20;

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !(2 * HUGE..PAD).contains(&layout.size()) || !KEEPS.load(Ordering::Relaxed) {
            // SAFETY: the caller's promise is passed on.
            return given(unsafe { System.alloc_zeroed(layout) }, layout.size());
        }
        // Most of it would be cleared, page by small page, before huge ones are asked for. What is larger comes clear from the system.
        // SAFETY: the caller's promise is passed on, and the memory is of this size: none has ended the program, which keeps memory.
        unsafe {
            let memory = given(System.alloc(layout), layout.size());
            memory.write_bytes(0, layout.size());
            memory
        }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        given(unsafe { System.realloc(old, layout, size) }, size)
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(old, layout) }
    }
}

/// Whether the allocator keeps what is freed, so that memory is seldom fresh from the system, which would have cleared it.
static KEEPS: AtomicBool = AtomicBool::new(false);

/// Keeps what is freed for what comes next: large columns are made and freed one after the other, and the system clears each page that
/// it gives, which takes longer than what is written there.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it sets numbers of the allocator, which takes them at any time.
    unsafe {
        libc::mallopt(libc::M_MMAP_MAX, 0);
        // Pieces that are kept apart by size are merged again and again while large ones are asked for.
        libc::mallopt(libc::M_MXFAST, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        libc::mallopt(libc::M_TOP_PAD, PAD as libc::c_int);
    }
    KEEPS.store(true, Ordering::Relaxed);
}

/// Gives what is freed back to the system after all: for a program that goes on for days after a large piece of work.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the allocator takes it at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[inline]
fn given(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() && KEEPS.load(Ordering::Relaxed) {
        refused(size);
    }
    if size >= 2 * HUGE && !memory.is_null() {
        in_huge_pages(memory, size);
    }
    memory
}

/// Asks for huge pages wherever a large piece of memory has a part of one, and in the heap that is left behind it, out of which the
/// next pieces come. The first use of memory costs a fault a page: small pages took a third of the time of an FMM of 1e6 particles.
#[cfg(target_os = "linux")]
fn in_huge_pages(memory: *mut u8, size: usize) {
    // SAFETY: it tells where the heap ends, and changes nothing.
    let heap_end = unsafe { libc::sbrk(0) } as usize;
    let (first, mut end) = (memory as usize, memory as usize + size);
    if heap_end > end && heap_end - end <= 2 * PAD {
        end = heap_end;
    }
    let before = first % HUGE;
    let length = (before + end - first).next_multiple_of(HUGE);
    // SAFETY: what pages hold stays as it is, also beside the piece. A kernel without huge pages refuses, which is no loss, and so is
    // what is not mapped.
    unsafe { libc::madvise(memory.wrapping_sub(before).cast(), length, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn in_huge_pages(_: *mut u8, _: usize) {}

/// Ends the program. Nothing here may ask for memory.
#[cold]
fn refused(size: usize) -> ! {
    let mut line = [0u8; 160];
    let mut rest = &mut line[..];
    let _ = std::io::Write::write_fmt(
        &mut rest,
        format_args!("error: there is not enough memory: {} MB more are needed; try a smaller problem\n", size >> 20),
    );
    let left = rest.len();
    output::end_without_memory(&line[..line.len() - left])
}

/// Bytes of memory of the system. None where it does not say.
pub fn all() -> Option<u64> {
    counted("MemTotal:")
}

/// A line of what Linux says of memory, in bytes.
fn counted(name: &str) -> Option<u64> {
    kib("/proc/meminfo", name)
}

/// A line of a file that counts in units of 1024 bytes, in bytes.
fn kib(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let kib = text.lines().find_map(|l| l.strip_prefix(name))?.trim().trim_end_matches(" kB");
    kib.parse::<u64>().ok().map(|kib| kib << 10)
}

/// The most bytes of memory that this process has had. None where the system does not say.
pub fn peak() -> Option<u64> {
    kib("/proc/self/status", "VmHWM:")
}

/// Bytes that can be used: what the system, or the group of processes that this one is in, has free. None where it does not
/// say.
pub fn free() -> Option<u64> {
    let system = counted("MemAvailable:")?;
    Some(group_free().map_or(system, |group| group.min(system)))
}

/// The memory that the control group still gives, files in memory counted as free.
fn group_free() -> Option<u64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|l| l.strip_prefix("0::/"))?;
    let folder = std::path::Path::new("/sys/fs/cgroup").join(own);
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let most: u64 = text("memory.max")?.trim().parse().ok()?;
    let used: u64 = text("memory.current")?.trim().parse().ok()?;
    let stat = text("memory.stat")?;
    let files: u64 = stat.lines().find_map(|l| l.strip_prefix("file "))?.trim().parse().ok()?;
    Some(most.saturating_sub(used.saturating_sub(files)))
}

/// Refuses what needs more bytes than are free; `what` begins the sentence.
pub fn check(bytes: u64, what: impl std::fmt::Display) -> Result<(), Failure> {
    match free() {
        Some(free) if bytes > free => {
            let (needed, free) = (gigabytes(bytes), gigabytes(free));
            Err(Failure::Input(format!("{what} needs about {needed} of memory, and {free} are free")))
        }
        _ => Ok(()),
    }
}

pub fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}
