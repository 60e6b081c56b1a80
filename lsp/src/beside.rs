//! Work beside the requests: documents are analysed on threads of their own, and requests about one wait for its analysis while others are
//! answered.
//!
//! A document is analysed once at a time. A change of it, or of what it includes, stops the analysis under way; when that has ended, the
//! next one begins, of the last state alone. Requests that wait then are answered with `ContentModified`, since their places are those of
//! a text that is gone.

use crate::analysis::{self, Analysis, Missing, Pipeline, Task};
use crate::document::Document;
use crate::frame::Incoming;
use crate::system::Stop;
use crate::{Out, Server};
use lsp_server::{ErrorCode, Message, Request, RequestId, Response};
use lsp_types::Uri;
use pg2::graph::Graph;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
#[cfg(not(target_family = "wasm"))]
use std::sync::mpsc::RecvTimeoutError;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// Documents that are analysed at the same time at most.
const MOST_AT_ONCE: usize = 8;

/// The stack of a thread that compiles, as large as that of a program's first thread.
const STACK: usize = 8 << 20;

/// A request whose answer may be old waits so long for a new one.
const GRACE: Duration = Duration::from_millis(100);

/// Whatever the server acts on.
pub enum Event {
    Incoming(Incoming),
    /// The client has gone.
    #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "there are no streams that end"))]
    End,
    Analysed(Uri, Analysis),
    /// The pipeline of a document's state, where it has one.
    Built(Uri, u64, Option<Pipeline>),
}

/// A request that waits for what its answer needs.
struct Waiting {
    request: Request,
    uri: Uri,
    /// When its patience is over; never where nothing is done meanwhile.
    #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "nobody waits"))]
    until: Option<Instant>,
    missing: Missing,
    may_be_old: bool,
}

/// The threads that the work is done on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// One for each piece of work.
    OneEach,
    /// That of the caller, who waits for it.
    Callers,
}

/// The work under way, and the requests that wait for it.
pub struct Beside {
    out: Out,
    threads: Threads,
    events: Sender<Event>,
    analyses: BTreeMap<Uri, Stop>,
    builds: BTreeSet<Uri>,
    waiting: Vec<Waiting>,
}

impl Beside {
    pub fn new(events: Sender<Event>, out: Out, threads: Threads) -> Beside {
        Beside { out, threads, events, analyses: BTreeMap::new(), builds: BTreeSet::new(), waiting: Vec::new() }
    }

    /// Sends the client a message.
    pub fn send(&self, message: impl Into<Message>) {
        (self.out)(message.into());
    }

    fn refuse(&self, id: RequestId, code: ErrorCode, why: &str) {
        self.send(Response::new_err(id, code as i32, why.into()));
    }

    /// Does something on a thread of its own, where there are threads; where it panics, `failed` is what comes of it.
    fn start(&self, failed: Event, work: impl FnOnce() -> Event + Send + 'static) {
        let events = self.events.clone();
        let run = move || {
            let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or(failed);
            // A server that has ended takes nothing any more.
            let _ = events.send(done);
        };
        if self.threads == Threads::Callers {
            return run();
        }
        std::thread::Builder::new().stack_size(STACK).spawn(run).expect("the system has a thread more");
    }

    /// Stops the analysis of a document.
    pub fn stop(&self, uri: &Uri) {
        if let Some(stop) = self.analyses.get(uri) {
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// Takes the requests that wait, as far as they are wanted.
    fn taken(&mut self, is_wanted: impl Fn(&Waiting) -> bool) -> Vec<Waiting> {
        self.waiting.extract_if(.., |w| is_wanted(w)).collect()
    }

    /// Refuses the requests about a document that wait.
    pub fn refuse_about(&mut self, uri: &Uri, code: ErrorCode, why: &str) {
        let refused = self.taken(|w| w.uri == *uri);
        refused.into_iter().for_each(|w| self.refuse(w.request.id, code, why));
    }

    /// Refuses a request that waits, since the client does not want its answer any more.
    pub fn cancel(&mut self, id: &RequestId) {
        let refused = self.taken(|w| w.request.id == *id);
        refused.into_iter().for_each(|w| self.refuse(w.request.id, ErrorCode::RequestCanceled, "cancelled"));
    }

    /// Stops everything, and refuses all that waits.
    pub fn leave(&mut self) {
        self.analyses.values().for_each(|stop| stop.store(true, Ordering::Relaxed));
        let refused = std::mem::take(&mut self.waiting);
        refused
            .into_iter()
            .for_each(|w| self.refuse(w.request.id, ErrorCode::ServerCancelled, "the server is shut down"));
    }

    /// Keeps a request until what it needs is there.
    pub fn keep(&mut self, request: Request, uri: Uri, missing: Missing) {
        let until = (self.threads == Threads::OneEach).then(|| Instant::now() + GRACE);
        self.waiting.push(Waiting { request, uri, until, missing, may_be_old: false });
    }

    /// Whether anything about a document is under way or waits.
    fn is_busy(&self, uri: &Uri) -> bool {
        self.analyses.contains_key(uri) || self.builds.contains(uri) || self.waiting.iter().any(|w| w.uri == *uri)
    }

    fn analyse(&mut self, document: &mut Document) {
        let (uri, stop, task) = (document.uri.clone(), Stop::default(), Task::new(document));
        self.analyses.insert(uri.clone(), stop.clone());
        let failed = Event::Analysed(uri.clone(), task.failed());
        self.start(failed, move || Event::Analysed(uri, task.compile(&stop)));
    }

    fn build(&mut self, uri: Uri, state: u64, graph: Arc<Graph>) {
        self.builds.insert(uri.clone());
        let failed = Event::Built(uri.clone(), state, None);
        self.start(failed, move || Event::Built(uri, state, analysis::built(&graph)));
    }
}

impl Server {
    /// The next event. Where there is none at once, the analyses that are wanted begin, and requests whose patience is over are answered.
    #[cfg(not(target_family = "wasm"))]
    pub fn next(&mut self, events: &Receiver<Event>) -> Option<Event> {
        loop {
            if let Ok(event) = events.try_recv() {
                return Some(event);
            }
            self.begin();
            let patient = self.beside.waiting.iter().filter(|w| w.missing == Missing::Analysis && !w.may_be_old);
            let until = patient.filter_map(|w| w.until).min();
            let wait = until.map(|until| until.saturating_duration_since(Instant::now()));
            // The server can send itself events, so that its channel never closes.
            match events.recv_timeout(wait.unwrap_or(Duration::MAX)) {
                Ok(event) => return Some(event),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => self.impatient(),
            }
        }
    }

    /// The next event where all work is done on the caller's thread; none when everything is done.
    pub fn next_at_once(&mut self, events: &Receiver<Event>) -> Option<Event> {
        events.try_recv().ok().or_else(|| {
            self.begin();
            events.try_recv().ok()
        })
    }

    /// Begins what changed documents and waiting requests need.
    fn begin(&mut self) {
        let needs = |w: &&Waiting| w.missing == Missing::Analysis;
        let asked = self.beside.waiting.iter().filter(needs).map(|w| w.uri.clone());
        // Who waits comes first.
        let wanted: Vec<Uri> = asked.chain(self.changed.iter().cloned()).collect();
        for uri in wanted {
            if self.beside.analyses.len() < MOST_AT_ONCE
                && !self.beside.analyses.contains_key(&uri)
                && let Some(document) = self.documents.get_mut(&uri)
            {
                self.beside.analyse(document);
            }
        }
        let needs = |w: &&Waiting| w.missing == Missing::Pipeline;
        let wanted: Vec<Uri> = self.beside.waiting.iter().filter(needs).map(|w| w.uri.clone()).collect();
        for uri in wanted {
            let known = self.documents.get(&uri).and_then(|d| d.analysis.as_ref());
            if let Some(Analysis { state, graph: Some(graph), .. }) = known
                && !self.beside.builds.contains(&uri)
            {
                self.beside.build(uri, *state, graph.clone());
            }
        }
    }

    /// Answers from the last analyses the requests that have waited long enough for new ones, as far as their answers may be old.
    #[cfg(not(target_family = "wasm"))]
    fn impatient(&mut self) {
        let now = Instant::now();
        let is_late = |w: &Waiting| w.until.is_some_and(|until| until <= now);
        let is_over = |w: &Waiting| w.missing == Missing::Analysis && !w.may_be_old && is_late(w);
        for mut waiting in self.beside.taken(is_over) {
            waiting.may_be_old = true;
            self.again(waiting);
        }
    }

    /// Asks again what has waited.
    fn again(&mut self, waiting: Waiting) {
        let allow = |server: &mut Server, may_be_old| {
            if let Some(document) = server.documents.get_mut(&waiting.uri) {
                document.may_be_old = may_be_old;
            }
        };
        allow(self, waiting.may_be_old);
        let reply = self.reply(&waiting.request);
        allow(self, false);
        match reply {
            Ok(response) => self.beside.send(response),
            Err((_, missing)) => self.beside.waiting.push(Waiting { missing, ..waiting }),
        }
    }

    /// Asks again whatever has waited for a document.
    fn continued(&mut self, uri: &Uri) {
        for waiting in self.beside.taken(|w| w.uri == *uri) {
            self.again(waiting);
        }
        self.settle(uri);
    }

    /// Forgets a large document that nothing waits for.
    pub fn settle(&mut self, uri: &Uri) {
        if !self.beside.is_busy(uri)
            && !self.changed.contains(uri)
            && let Some(document) = self.documents.get_mut(uri)
            && document.is_large()
        {
            document.forget();
            crate::system::give_back();
        }
    }

    /// Takes an analysis, and publishes what it has found; one of a state that is gone is dropped.
    pub fn analysed(&mut self, uri: Uri, analysis: Analysis) {
        self.beside.analyses.remove(&uri);
        let Some(document) = self.documents.get_mut(&uri).filter(|d| d.state == analysis.state) else { return };
        document.analysis = Some(analysis);
        if self.changed.remove(&uri) {
            let found = catch_unwind(AssertUnwindSafe(|| analysis::diagnostics(document))).unwrap_or_default();
            let version = document.version;
            self.publish(uri.clone(), version, found);
        }
        self.continued(&uri);
    }

    /// Takes a pipeline; one of a state that is gone is dropped.
    pub fn built(&mut self, uri: Uri, state: u64, pipeline: Option<Pipeline>) {
        self.beside.builds.remove(&uri);
        let document = self.documents.get_mut(&uri).filter(|d| d.state == state);
        if let Some(known) = document.and_then(|d| d.analysis.as_mut()).filter(|a| a.state == state) {
            known.pipeline = Some(pipeline);
            self.continued(&uri);
        }
    }
}
