//! Jobs of several kernels on the engines of one board, at the same time.
//!
//! All engines are fed by one stream, and a packet that its engine has no space for holds up those behind it. The driver knows
//! about when an engine takes each packet (see [`super::dispatch`]), so packets go out in the order of these times. The queue
//! in front of each engine ([`hdl::engine::switch`]) makes up for small errors.

use super::failed;
use super::{CHUNK_WORDS, Feed, Links};
use crate::job::{BackendError, Job, Outcome};
use hdl::engine::Config;
use hdl::engine::link::Shared;
use hdl::engine::protocol::Stream;
use std::collections::VecDeque;
use std::sync::PoisonError;

/// The jobs of one engine.
struct Lane<'a> {
    /// Its kernel's text form, and its number on the board.
    key: String,
    number: usize,
    config: &'a Config,
    /// Jobs to come, with their places among all.
    jobs: VecDeque<(usize, &'a Job<'a>)>,
    /// Jobs that were begun; the last one is under way.
    feeds: Vec<(usize, Feed<'a>)>,
    /// The packet of the last one that goes next, and whether all of its packets are made.
    next: usize,
    ended: bool,
}

impl<'a> Lane<'a> {
    /// Makes packets until there is one to send; `false` if all are sent.
    fn fill(&mut self) -> bool {
        loop {
            if let Some((_, feed)) = self.feeds.last_mut() {
                if self.next < feed.sender.stream.ends.len() {
                    return true;
                }
                feed.sender.stream.clear();
                feed.sender.times.clear();
                self.next = 0;
                if !self.ended {
                    if !feed.step() {
                        feed.sender.end(self.jobs.is_empty());
                        self.ended = true;
                    }
                    continue;
                }
            }
            let Some((place, job)) = self.jobs.pop_front() else { return false };
            let free = self.feeds.last().map_or(0, |(_, feed)| feed.sender.free());
            self.feeds.push((place, Feed::new(job, self.config, free)));
            self.ended = false;
        }
    }

    /// When the engine takes the next packet.
    fn time(&self) -> u64 {
        let times = self.feeds.last().map_or(&[][..], |(_, feed)| &feed.sender.times);
        times.get(self.next).copied().unwrap_or(u64::MAX)
    }

    /// Gives the next packet to the stream of all.
    fn give(&mut self, all: &mut Stream) {
        if let Some((_, feed)) = self.feeds.last() {
            let stream = &feed.sender.stream;
            let start = if self.next == 0 { 0 } else { stream.ends[self.next - 1] };
            all.packet(stream.words[start..stream.ends[self.next]].iter().copied());
            self.next += 1;
        }
    }

    /// Takes what the engine sends: answers come in the order of the jobs, the counters of each last.
    fn take(&mut self, packet: &[u32]) -> Result<(), String> {
        let waiting = self.feeds.iter_mut().find(|(_, feed)| feed.sender.collector.counters.is_none());
        match waiting {
            Some((_, feed)) => feed.sender.collector.take(packet),
            // The answer to END.
            None => Ok(()),
        }
    }

    fn finished(&self) -> usize {
        self.feeds.iter().map(|(_, feed)| feed.sender.collector.finished_targets()).sum()
    }
}

/// Runs jobs whose engines are on one board.
pub fn together(
    jobs: &[Job],
    links: &mut Links,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<Outcome>, BackendError> {
    let keys: Vec<String> = jobs.iter().map(|job| job.graph.to_string()).collect();
    let engine = |key: &String| links.get(key).and_then(|link| Some((link.config().clone(), link.on_board()?)));
    let engines: Vec<(Config, (Shared, usize))> = keys.iter().filter_map(engine).collect();
    let Some((_, (board, _))) = engines.first() else { return Ok(Vec::new()) };
    let mut lanes: Vec<Lane> = Vec::new();
    for (place, ((job, key), (config, (_, number)))) in jobs.iter().zip(&keys).zip(&engines).enumerate() {
        match lanes.iter_mut().find(|lane| lane.number == *number) {
            Some(lane) => lane.jobs.push_back((place, job)),
            None => {
                let (key, jobs) = (key.clone(), VecDeque::from([(place, job)]));
                lanes.push(Lane { key, number: *number, config, jobs, feeds: Vec::new(), next: 0, ended: false });
            }
        }
    }
    let (mut all, mut to) = (Stream::default(), Vec::new());
    loop {
        let next = lanes.iter_mut().filter_map(|lane| lane.fill().then_some(lane)).min_by_key(|lane| lane.time());
        if let Some(lane) = next {
            lane.give(&mut all);
            to.push(lane.number as u8);
            if all.words.len() < CHUNK_WORDS {
                continue;
            }
        }
        if all.words.is_empty() {
            break;
        }
        exchange(board, &mut all, &mut to, &mut lanes)?;
        progress(lanes.iter().map(Lane::finished).sum());
    }
    let mut outcomes = Vec::new();
    for lane in lanes {
        let link = links.get_mut(&lane.key).expect("the link of a lane");
        for (place, feed) in lane.feeds {
            outcomes.push((place, feed.finish(&mut **link)?));
        }
    }
    outcomes.sort_by_key(|(place, _)| *place);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

/// Sends packets, and gives what comes back to the lanes.
fn exchange(board: &Shared, all: &mut Stream, to: &mut Vec<u8>, lanes: &mut [Lane]) -> Result<(), BackendError> {
    let mut wrong = None;
    board
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .exchange(all, to, &mut |number, packet| {
            let lane = lanes.iter_mut().find(|lane| lane.number == number);
            let taken = match lane {
                Some(lane) => lane.take(packet),
                None => Err(format!("a packet of engine {number}, which has nothing to do")),
            };
            if let Err(e) = taken {
                wrong.get_or_insert(e);
            }
        })
        .map_err(failed)?;
    all.clear();
    to.clear();
    wrong.map_or(Ok(()), |e| Err(BackendError::Tool(format!("the board's answer is wrong: {e}"))))
}
