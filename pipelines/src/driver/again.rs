//! Targets of split runs whose flag `wrap` may stem from a piece alone: summed again, in one go.
//!
//! A partial sum may leave the output's format although the sum over the whole run does not. Lanes hold exact sums
//! from one RUN to the next, but only for the targets that they hold, so that the sources go over the link once for as many
//! targets as there are lanes. That is far too slow for every run, and right for the few targets that need it.

use super::failed;
use super::{CHUNK_WORDS, packed};
use crate::job::{BackendError, Job, Outcome, Run};
use hdl::Flags;
use hdl::engine::Config;
use hdl::engine::link::Link;
use hdl::engine::protocol::{Counters, Reply, RunHeader, Segment, Stream};

/// Evaluates `targets`, all of `run`, once more and puts what comes back in the place of what `outcome` has of them.
pub fn again(
    job: &Job,
    config: &Config,
    link: &mut dyn Link,
    (run, targets): (&Run, &[usize]),
    outcome: &mut Outcome,
) -> Result<(), BackendError> {
    let pieces = pieces(job, run, config.jmem_records as usize);
    let (i_packing, j_packing) = (config.layout.i_packing(), config.layout.j_packing());
    let groups: Vec<&[usize]> = targets.chunks(config.lanes() as usize).collect();
    let mut answers = Answers { config, groups: &groups, counters: None, outcome };
    let mut stream = Stream::default();
    // As many as there are lane groups go through the same pieces together.
    for (round, groups) in groups.chunks(config.groups as usize).enumerate() {
        for (k, piece) in pieces.iter().enumerate() {
            let mut total = 0;
            for (first, count) in piece {
                let words = packed(&j_packing, job.sources, *first, *count);
                answers.outcome.words.j += words.len() as u64;
                stream.load_j(total, *count as u32, &words);
                total += *count as u32;
            }
            let (keep, hold) = (k > 0, k + 1 < pieces.len());
            for (at, group) in groups.iter().enumerate() {
                let records: Vec<u32> = group.iter().flat_map(|k| packed(&i_packing, job.targets, *k, 1)).collect();
                let tag = round * config.groups as usize + at;
                let header = RunHeader { tag: tag as u32, n_i: group.len() as u32, group: at as u8, keep, hold };
                stream.run(header, &[Segment { first: 0, count: total }]);
                stream.i(group.len() as u32, &records);
                answers.outcome.words.i += records.len() as u64;
            }
            if stream.words.len() >= CHUNK_WORDS {
                answers.exchange(&mut stream, link)?;
            }
        }
    }
    stream.status(true);
    stream.end();
    answers.exchange(&mut stream, link)?;
    // The pairs are the same as before; the clocks are further ones.
    let counters = answers.counters.filter(|c| !c.protocol_error);
    let counters = counters.ok_or_else(|| BackendError::Tool("the engine failed to sum targets again".into()))?;
    outcome.cycles = outcome.cycles.map(|c| c.saturating_add(counters.cycles));
    Ok(())
}

/// The sources of a run, as (first, count), in pieces that each fit the j memory.
fn pieces(job: &Job, run: &Run, capacity: usize) -> Vec<Vec<(usize, usize)>> {
    let mut list = vec![Vec::new()];
    let mut room = capacity;
    for s in &job.segments[run.segments.clone()] {
        let (mut first, mut count) = (s.first, s.count);
        while count > 0 {
            if room == 0 {
                list.push(Vec::new());
                room = capacity;
            }
            let take = count.min(room);
            list.last_mut().expect("there is a first piece").push((first, take));
            (first, count, room) = (first + take, count - take, room - take);
        }
    }
    list
}

/// Takes what comes back.
struct Answers<'a> {
    config: &'a Config,
    groups: &'a [&'a [usize]],
    counters: Option<Counters>,
    outcome: &'a mut Outcome,
}

impl Answers<'_> {
    fn exchange(&mut self, stream: &mut Stream, link: &mut dyn Link) -> Result<(), BackendError> {
        let mut wrong = None;
        link.exchange(stream, &mut |packet| {
            if let Err(e) = self.take(packet) {
                wrong.get_or_insert(e);
            }
        })
        .map_err(failed)?;
        stream.clear();
        wrong.map_or(Ok(()), |e| Err(BackendError::Tool(format!("the engine's answer is wrong: {e}"))))
    }

    fn take(&mut self, packet: &[u32]) -> Result<(), String> {
        match Reply::parse(packet, self.config)? {
            Reply::Result { tag, flags, records, .. } => self.result(tag as usize, &flags, &records),
            Reply::Status(counters) => {
                self.counters = Some(counters);
                Ok(())
            }
            // Whoever opened the session has asked for an identity.
            Reply::End | Reply::Ident(_) => Ok(()),
        }
    }

    fn result(&mut self, tag: usize, flags: &[Flags], records: &[u64]) -> Result<(), String> {
        let group = self.groups.get(tag).filter(|g| g.len() == flags.len());
        let group = group.ok_or_else(|| format!("a result of group {tag} that is not its own"))?;
        let elements = self.outcome.results.elements;
        for ((target, raised), record) in group.iter().zip(flags).zip(records.chunks_exact(elements)) {
            self.outcome.results.bits[target * elements..(target + 1) * elements].copy_from_slice(record);
            self.outcome.flags[*target] = *raised;
        }
        self.outcome.words.result += flags.len() as u64 * self.config.layout.result_words() as u64;
        Ok(())
    }
}
