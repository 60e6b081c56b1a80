//! Programs that end with this one, and with all that they have started.
//!
//! A compiler driver starts compilers, and a script what it is about. When the command is interrupted, ended or killed, none of
//! them may go on for minutes. So each program runs in a process group of its own under a supervisor: a copy of this process
//! that does nothing but wait for the program, and ends the whole group as soon as this process is gone, for whatever reason.
//! A signal handler would not see a kill, nor what programs start.

use std::process::Command;

/// Lets a program, and all that it starts, end when this process does. The thread that starts it must wait for its end, since the
/// system tells of the end of a thread.
pub fn ends_with_us(command: &mut Command) {
    #[cfg(target_os = "linux")]
    linux::ends_with_us(command);
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{Error, Result};
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    /// For programs to remove what they have begun, before they are killed.
    const LAST_WORDS: libc::timespec = libc::timespec { tv_sec: 1, tv_nsec: 0 };
    /// Descriptors beyond this are not looked for where the system cannot close all.
    const MOST_FILES: i32 = 1 << 16;

    pub fn ends_with_us(command: &mut Command) {
        // SAFETY: getpid has no conditions.
        let parent = unsafe { libc::getpid() };
        // SAFETY: between fork and exec `supervised` makes only system calls that may be made there.
        unsafe { command.pre_exec(move || supervised(parent)) };
    }

    /// In the new process: goes on in a child of it, which becomes the program, and waits for that one.
    fn supervised(parent: libc::pid_t) -> Result<()> {
        // SAFETY: system calls on this process alone; the sets are made before they are used.
        unsafe {
            libc::setpgid(0, 0);
            dies_with_parent(libc::SIGTERM, parent);
            let mut heard: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut heard);
            for signal in [libc::SIGTERM, libc::SIGCHLD] {
                libc::sigaddset(&mut heard, signal);
            }
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            libc::sigprocmask(libc::SIG_BLOCK, &heard, &mut before);
            let supervisor = libc::getpid();
            match libc::fork() {
                -1 => Err(Error::last_os_error()),
                0 => {
                    libc::sigprocmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
                    // So that it ends too where the supervisor itself is killed.
                    dies_with_parent(libc::SIGKILL, supervisor);
                    Ok(())
                }
                child => supervise(child, &heard),
            }
        }
    }

    /// Asks for a signal at the end of the parent, which may have ended already.
    unsafe fn dies_with_parent(signal: i32, parent: libc::pid_t) {
        // SAFETY: system calls on this process alone.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, signal);
            if libc::getppid() != parent {
                libc::_exit(1);
            }
        }
    }

    /// Waits for the child, and ends as it did. A SIGTERM, of which the end of the parent is one, goes to the whole group.
    unsafe fn supervise(child: libc::pid_t, heard: &libc::sigset_t) -> ! {
        // SAFETY: system calls that are safe after a fork; pointers are to locals.
        unsafe {
            // Whoever reads what the program writes waits for the last one that has it open, and locks are held as long.
            close_all();
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
            let mut ending = false;
            loop {
                let mut status = 0;
                if libc::waitpid(child, &mut status, libc::WNOHANG) == child {
                    if ending {
                        // What it has started and left.
                        libc::kill(0, libc::SIGKILL);
                    }
                    end_as(status);
                }
                let signal = match ending {
                    false => libc::sigwaitinfo(heard, std::ptr::null_mut()),
                    true => libc::sigtimedwait(heard, std::ptr::null_mut(), &LAST_WORDS),
                };
                match signal {
                    libc::SIGCHLD => {}
                    libc::SIGTERM if !ending => {
                        ending = true;
                        libc::kill(0, libc::SIGTERM);
                        // The one that it sent to itself.
                        let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                        let mut own: libc::sigset_t = std::mem::zeroed();
                        libc::sigemptyset(&mut own);
                        libc::sigaddset(&mut own, libc::SIGTERM);
                        libc::sigtimedwait(&own, std::ptr::null_mut(), &none);
                    }
                    _ if ending => {
                        libc::kill(0, libc::SIGKILL);
                    }
                    _ => {}
                }
            }
        }
    }

    unsafe fn close_all() {
        // SAFETY: nothing of this process uses a descriptor any more.
        unsafe {
            for fd in 0..3 {
                libc::close(fd);
            }
            if libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) != 0 {
                let most = libc::sysconf(libc::_SC_OPEN_MAX).clamp(3, MOST_FILES as libc::c_long) as i32;
                for fd in 3..most {
                    libc::close(fd);
                }
            }
        }
    }

    /// Ends this process as a child ended.
    unsafe fn end_as(status: i32) -> ! {
        // SAFETY: system calls on this process alone.
        unsafe {
            if libc::WIFSIGNALED(status) {
                let signal = libc::WTERMSIG(status);
                let mut all: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&mut all);
                libc::signal(signal, libc::SIG_DFL);
                libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
                libc::raise(signal);
            }
            libc::_exit(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 1 })
        }
    }
}
