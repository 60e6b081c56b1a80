//! Running one program to its end, with its log kept and its progress reported.

use crate::{FlowError, Tools};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A step of the flow that is under way.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// The activity, such as `placing and routing`.
    pub what: String,
    pub elapsed: Duration,
}

/// One call of a program. Paths among the arguments are relative to `dir`, since YoWASP sees little else; and none may begin
/// with the name of a folder in the root of the file system, such as `work/` where there is a `/work`, for which it would
/// take it.
pub(crate) struct Call<'a> {
    pub tools: &'a Tools,
    pub program: PathBuf,
    pub args: Vec<String>,
    pub dir: &'a Path,
    /// The activity, for progress.
    pub what: &'a str,
    /// The log that the program writes, relative to `dir`. Its output goes to the same place if it writes none.
    pub log: String,
    /// Files that it has to write, relative to `dir`.
    pub writes: Vec<String>,
}

/// How often a running program is looked at.
const POLL: Duration = Duration::from_millis(50);

impl Call<'_> {
    /// Runs the program. An error has the last lines of the log, or the ones that say what is wrong.
    pub(crate) fn run(&self, watch: &mut dyn FnMut(&Step)) -> Result<(), FlowError> {
        let log = self.dir.join(&self.log);
        let printed = log.with_extension("out");
        let out = File::create(&printed).map_err(FlowError::io(&printed))?;
        let err = out.try_clone().map_err(FlowError::io(&printed))?;
        let _ = std::fs::remove_file(&log);
        // What an earlier run wrote is not taken for this one's.
        self.writes.iter().for_each(|name| drop(std::fs::remove_file(self.dir.join(name))));
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(self.dir).stdin(Stdio::null()).stdout(out).stderr(err);
        (self.tools.prepare)(&mut command);
        let mut child = command.spawn().map_err(FlowError::io(&self.program))?;
        let status = self.wait(&mut child, watch).map_err(FlowError::io(&self.program));
        if status.is_err() {
            let _ = child.kill();
        }
        let status = status?;
        if log.is_file() && (status.success() || printed.metadata().is_ok_and(|m| m.len() == 0)) {
            let _ = std::fs::remove_file(&printed);
        } else if !log.is_file() {
            std::fs::rename(&printed, &log).map_err(FlowError::io(&log))?;
        }
        if !status.success() {
            return Err(self.failure(status, log, &printed));
        }
        let is_missing = |name: &&String| self.dir.join(name).metadata().map_or(true, |m| m.len() == 0);
        match self.writes.iter().find(is_missing) {
            Some(name) => Err(FlowError::ToolSilent { tool: self.tool(), file: name.clone(), log }),
            None => Ok(()),
        }
    }

    fn tool(&self) -> String {
        self.program.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    fn wait(&self, child: &mut Child, watch: &mut dyn FnMut(&Step)) -> std::io::Result<ExitStatus> {
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            watch(&Step { what: self.what.to_string(), elapsed: started.elapsed() });
            std::thread::sleep(POLL);
        }
    }

    fn failure(&self, status: ExitStatus, log: PathBuf, printed: &Path) -> FlowError {
        let tool = self.tool();
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return FlowError::ToolKilled { tool, signal: format!("signal {signal}"), log };
        }
        let text =
            |path: &Path| std::fs::read(path).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
        let text = text(&log) + &text(printed);
        let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        let errors: Vec<&str> = lines.iter().filter(|l| l.contains("ERROR")).copied().collect();
        let shown = if errors.is_empty() { &lines[lines.len().saturating_sub(12)..] } else { &errors[..] };
        let tail = match shown {
            [] => "it said nothing".to_string(),
            _ => shown[shown.len().saturating_sub(12)..].join("\n"),
        };
        FlowError::ToolFailed { tool, status: status.to_string(), log, tail }
    }
}
