//! Short questions to programs, such as their version, with an end to waiting for the answer.

use crate::SimError;
use crate::process::ends_with_us;
use std::io::{PipeReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// A program that does nothing but tell of itself takes far less, on a busy machine too.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of an answer that are read.
const LONGEST: u64 = 1 << 16;

/// The file of a program on `PATH`.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|d| d.join(&file)).find(|p| p.is_file())
}

/// The first line that a program prints. `missing` is the error where it cannot be started.
pub fn first_line(command: &mut Command, timeout: Duration, missing: SimError) -> Result<String, SimError> {
    let ended = output(command, timeout);
    first_of(command, ended, timeout, missing)
}

/// The first line that a program prints on standard output or standard error.
pub fn first_line_of_all(command: &mut Command, timeout: Duration, missing: SimError) -> Result<String, SimError> {
    let both = |command: &mut Command| {
        let (pipe, end) = std::io::pipe()?;
        command.stderr(end.try_clone()?).stdout(end);
        answer(command, pipe, timeout)
    };
    let ended = both(command);
    first_of(command, ended, timeout, missing)
}

/// The first line of what a command printed when it ended.
fn first_of(
    command: &Command,
    ended: std::io::Result<Option<Output>>,
    timeout: Duration,
    missing: SimError,
) -> Result<String, SimError> {
    let program = PathBuf::from(command.get_program());
    let words = std::iter::once(program.display().to_string())
        .chain(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    let call = words.collect::<Vec<_>>().join(" ");
    let silent = |why: String| Err(SimError::ToolSilent { call: call.clone(), why });
    match ended {
        Err(_) => Err(missing),
        Ok(None) => silent(format!("has not answered in {} s", timeout.as_secs_f64())),
        Ok(Some(said)) if !said.status.success() => silent(format!("has failed with {}", said.status)),
        Ok(Some(said)) => match String::from_utf8_lossy(&said.stdout).lines().next().filter(|l| !l.trim().is_empty()) {
            Some(line) => Ok(line.to_string()),
            None => silent("has said nothing".into()),
        },
    }
}

/// Output of a program when it ended. `None` if it has not ended in time; it is then ended.
pub fn output(command: &mut Command, timeout: Duration) -> std::io::Result<Option<Output>> {
    let (pipe, end) = std::io::pipe()?;
    command.stdout(end).stderr(Stdio::null());
    answer(command, pipe, timeout)
}

/// The output that a program writes into a pipe until it ends, as [`output`] has it.
fn answer(command: &mut Command, pipe: PipeReader, timeout: Duration) -> std::io::Result<Option<Output>> {
    let deadline = Instant::now() + timeout;
    ends_with_us(command);
    let child = command.stdin(Stdio::null()).spawn();
    // Only the program holds the pipe's other end now.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child?;
    let (send, receive) = channel();
    // A program that this one has started may keep the pipe open: the thread is not waited for.
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.take(LONGEST).read_to_end(&mut bytes);
        send.send(bytes)
    });
    let stdout = receive.recv_timeout(timeout).ok();
    let status = match &stdout {
        Some(_) => ended(&mut child, deadline)?,
        None => None,
    };
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    Ok(status.zip(stdout).map(|(status, stdout)| Output { status, stdout, stderr: Vec::new() }))
}

/// The status of a program that has said all, if it ends in time.
fn ended(child: &mut Child, deadline: Instant) -> std::io::Result<Option<std::process::ExitStatus>> {
    loop {
        match child.try_wait()? {
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
            status => return Ok(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_says_nothing_or_does_not_end_is_told() {
        let said = |script: &str, timeout: u64| {
            let missing = SimError::ToolMissing { tool: "sh".into(), how: "nothing".into() };
            let mut command = Command::new("sh");
            first_line(command.args(["-c", script]), Duration::from_millis(timeout), missing).map_err(|e| e.to_string())
        };
        assert_eq!(said("echo one; echo two", 10_000), Ok("one".to_string()));
        let missing = SimError::ToolMissing { tool: "sh".into(), how: "nothing".into() };
        let all = first_line_of_all(Command::new("sh").args(["-c", "echo one >&2"]), TIMEOUT, missing);
        assert!(all.is_ok_and(|line| line == "one") && said("echo one >&2", 10_000).is_err());
        for (script, timeout, why) in [
            ("exec sleep 100", 100, "has not answered in 0.1 s"),
            // The pipe is closed, and the program goes on.
            ("echo one; exec > /dev/null; exec sleep 100", 100, "has not answered"),
            // A program that it has started keeps the pipe open.
            ("sleep 3 & wait", 100, "has not answered"),
            ("true", 10_000, "has said nothing"),
            ("echo; echo two", 10_000, "has said nothing"),
            ("echo one; exit 4", 10_000, "has failed with exit status: 4"),
        ] {
            let err = said(script, timeout).expect_err(script);
            assert!(err.contains("sh -c") && err.contains(why), "{script}: {err}");
        }
        let missing = SimError::ToolMissing { tool: "none".into(), how: "nothing".into() };
        let err = first_line(&mut Command::new("/none/such"), TIMEOUT, missing).expect_err("there is none");
        assert!(err.to_string().contains("none was not found"), "{err}");
    }
}
