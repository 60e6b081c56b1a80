//! `pairforge board-sim` beside a test.

use super::Place;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Long enough for the first compilation of a simulation on a loaded machine.
const READY: Duration = Duration::from_secs(300);

/// A simulated board that runs beside the test.
pub struct Simulated {
    child: Child,
    pub port: String,
}

impl Simulated {
    /// Starts `board-sim` and waits for its port. What it saw goes to `NAME.json`.
    pub fn start(place: &Place, name: &str, words: &str) -> Simulated {
        let file = place.path(&format!("{name}.port"));
        let mut command =
            place.command(&format!("board-sim {words} --once --port-file {name}.port --json {name}.json"));
        let err = std::fs::File::create(place.path(&format!("{name}.err"))).expect("the folder is writable");
        let mut child = command.stdout(Stdio::null()).stderr(err).spawn().expect("the command starts");
        let start = Instant::now();
        loop {
            if let Ok(port) = std::fs::read_to_string(&file) {
                return Simulated { child, port: port.trim().to_string() };
            }
            let ended = child.try_wait().expect("the command can be waited for");
            let said = || std::fs::read_to_string(place.path(&format!("{name}.err"))).unwrap_or_default();
            assert!(ended.is_none() && start.elapsed() < READY, "board-sim gave no port: {}", said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the simulation has ended, as it does when its host has left, and gives its statistics.
    pub fn end(mut self, place: &Place, name: &str) -> serde_json::Value {
        let start = Instant::now();
        while self.child.try_wait().expect("the command can be waited for").is_none() {
            assert!(start.elapsed() < READY, "board-sim does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        place.json(&format!("{name}.json"))
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
