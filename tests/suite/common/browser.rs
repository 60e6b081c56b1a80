//! Chromium without a window, driven over a pipe by its DevTools protocol, for pages that the command writes.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The browser with one page.
pub struct Browser {
    child: Child,
    pipe: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    next: u64,
    /// Messages of the page's console and its exceptions, and the addresses that it has asked for.
    pub said: Vec<String>,
    pub asked: Vec<String>,
    _profile: tempfile::TempDir,
}

/// The longest wait for an answer: a loaded machine starts the browser slowly.
const PATIENCE: Duration = Duration::from_secs(60);

impl Browser {
    /// Starts it, or says that the test is skipped.
    pub fn start() -> Option<Browser> {
        if !testkit::require("chromium") {
            return None;
        }
        let profile = tempfile::tempdir().expect("a folder for the profile");
        // The protocol is spoken on descriptors 3 and 4.
        let script = "exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
                      --disable-background-networking --disable-extensions --remote-debugging-pipe --user-data-dir=\"$0\" 3<&0 4>&1 1>&2";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell runs");
        let (pipe, out) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(out).split(0).map_while(Result::ok) {
                let Ok(value) = serde_json::from_slice(&message) else { continue };
                if send.send(value).is_err() {
                    return;
                }
            }
        });
        let (said, asked) = (Vec::new(), Vec::new());
        let mut browser = Browser { child, pipe, answers, session: None, next: 0, said, asked, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(String::from);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Opens a file in a window of this width, with the colours that the system is to prefer.
    pub fn open(&mut self, file: &Path, width: u32, theme: &str) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let prefers = json!({ "features": [{ "name": "prefers-color-scheme", "value": theme }] });
        self.call("Emulation.setEmulatedMedia", prefers);
        (self.said, self.asked) = (Vec::new(), Vec::new());
        self.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        while self.next_message()["method"] != "Page.loadEventFired" {}
    }

    /// Has a script run in each page before those of its own.
    pub fn before(&mut self, script: &str) {
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script }));
    }

    /// The value of an expression on the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let found = self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(found["exceptionDetails"].is_null(), "{expression}: {found}");
        found["result"]["value"].clone()
    }

    /// The value of an expression as soon as it is true, within some seconds.
    pub fn wait(&mut self, expression: &str, seconds: u64) -> Value {
        let start = Instant::now();
        loop {
            let value = self.value(&format!("({expression}) || null"));
            if !value.is_null() {
                return value;
            }
            let late = start.elapsed() > Duration::from_secs(seconds);
            assert!(!late, "after {seconds} s there is no {expression}; the page says {:?}", self.said);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "code": key }));
        }
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.pipe.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let answer = self.next_message();
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// The next message of the browser. What the page says and asks for is kept.
    fn next_message(&mut self) -> Value {
        let message = self.answers.recv_timeout(PATIENCE).expect("the browser answers");
        let params = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" => self.said.push(params.to_string()),
            "Log.entryAdded" => self.said.push(params["entry"]["text"].to_string()),
            "Network.requestWillBeSent" => {
                self.asked.push(params["request"]["url"].as_str().unwrap_or_default().to_string());
            }
            _ => {}
        }
        message
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
