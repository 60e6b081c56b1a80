//! The expected answers of an engine: an interpreter of the packet stream that knows no clock.

use super::pair;
use hdl::Flags;
use hdl::engine::Config;
use hdl::engine::protocol::{self, Counters, Ident, Packing, Reply};
use hdl::number::reduce::{Accumulator, Record};

/// The run that I packets belong to.
struct Run {
    tag: u32,
    waiting: u32,
    group: usize,
    keep: bool,
    hold: bool,
    segments: Vec<(usize, usize)>,
}

pub struct Model {
    config: Config,
    memory: Vec<Vec<u64>>,
    params: Vec<u64>,
    /// Whether parameters have come, where there are any.
    set: bool,
    run: Option<Run>,
    lanes: Vec<(Vec<Accumulator>, Flags)>,
    counters: Counters,
    pub replies: Vec<Reply>,
}

/// Why a packet was refused; the engine only tells that one was.
struct Refused;

impl Model {
    pub fn new(config: &Config) -> Model {
        let layout = &config.layout;
        let fresh = Record::new(layout.outputs.iter().map(|o| (o.1, o.2))).start();
        Model {
            config: config.clone(),
            memory: vec![vec![0; layout.j.len()]; config.jmem_records as usize],
            params: vec![0; layout.params.len()],
            set: layout.param_words() == 0,
            run: None,
            lanes: vec![(fresh, Flags::NONE); config.pipelines as usize],
            counters: Counters::default(),
            replies: Vec::new(),
        }
    }

    /// Takes one packet of any words.
    pub fn packet(&mut self, words: &[u32]) {
        let mut padded = words.to_vec();
        protocol::pad(&mut padded, 0, self.config.beat_words());
        if self.obey(&padded).is_err() {
            self.counters.protocol_error = true;
        }
    }

    fn obey(&mut self, words: &[u32]) -> Result<(), Refused> {
        let argument = words[0] & 0xff_ffff;
        match words[0] >> 24 {
            protocol::LOAD_J => self.load_j(words),
            protocol::PARAM => {
                let packing = self.config.layout.param_packing();
                let body = self.body(words, 1, packing.words())?;
                self.params = patterns(&packing, body);
                self.set = true;
                Ok(())
            }
            protocol::RUN => self.begin(words, argument),
            protocol::I => self.group(words, argument),
            protocol::STATUS => {
                self.body(words, 1, 0)?;
                self.replies.push(Reply::Status(self.counters));
                if argument & 1 == 1 {
                    self.counters = Counters::default();
                }
                Ok(())
            }
            protocol::END => {
                self.abandon();
                self.body(words, 1, 0)?;
                self.replies.push(Reply::End);
                Ok(())
            }
            protocol::IDENT => {
                let hash = self.config.ident.ok_or(Refused)?;
                self.body(words, 1, 0)?;
                self.replies.push(Reply::Ident(Ident::new(&self.config, hash)));
                Ok(())
            }
            _ => Err(Refused),
        }
    }

    /// `length` words behind the first `start`, if the packet has as many beats as they take.
    fn body<'a>(&self, words: &'a [u32], start: usize, length: usize) -> Result<&'a [u32], Refused> {
        let beat = self.config.beat_words() as usize;
        if words.len() != (start + length).next_multiple_of(beat) {
            return Err(Refused);
        }
        Ok(&words[start..start + length])
    }

    fn abandon(&mut self) {
        if self.run.take().is_some_and(|r| r.waiting > 0) {
            self.counters.protocol_error = true;
        }
    }

    fn outside(&self, first: u32, count: u32) -> bool {
        first as u64 + count as u64 > self.config.jmem_records as u64
    }

    fn load_j(&mut self, words: &[u32]) -> Result<(), Refused> {
        let [_, first, n, records @ ..] = words else { return Err(Refused) };
        if self.outside(*first, *n) {
            return Err(Refused);
        }
        let packing = self.config.layout.j_packing();
        for (k, record) in records.chunks_exact(packing.words()).take(*n as usize).enumerate() {
            self.memory[*first as usize + k] = patterns(&packing, record);
        }
        self.body(words, 3, *n as usize * packing.words()).map(|_| ())
    }

    fn begin(&mut self, words: &[u32], argument: u32) -> Result<(), Refused> {
        self.abandon();
        let [_, tag, n_i, group, ..] = *words else { return Err(Refused) };
        let special = argument != 0;
        let count = group & 0xff_ffff;
        let known = group >> 24 < self.config.groups;
        if !self.set || !known || count > self.config.segments || argument > 3 || special && n_i > self.config.lanes() {
            return Err(Refused);
        }
        let list = self.body(words, 4, 2 * count as usize)?;
        if list.chunks(2).any(|s| self.outside(s[0], s[1])) {
            return Err(Refused);
        }
        let segments = list.chunks(2).map(|s| (s[0] as usize, s[1] as usize)).collect();
        let (keep, hold) = (argument & protocol::RUN_KEEP != 0, argument & protocol::RUN_HOLD != 0);
        self.run = Some(Run { tag, waiting: n_i, group: (group >> 24) as usize, keep, hold, segments });
        Ok(())
    }

    fn group(&mut self, words: &[u32], n: u32) -> Result<(), Refused> {
        let due = self.run.as_ref().map_or(0, |r| r.waiting).min(self.config.lanes());
        if n == 0 || n != due {
            return Err(Refused);
        }
        let packing = self.config.layout.i_packing();
        let body = self.body(words, 1, n as usize * packing.words())?;
        let targets: Vec<Vec<u64>> = body.chunks(packing.words()).map(|r| patterns(&packing, r)).collect();
        let run = self.run.as_mut().expect("a run waits for targets");
        run.waiting -= n;
        let layout = &self.config.layout;
        let record = Record::new(layout.outputs.iter().map(|o| (o.1, o.2)));
        let fresh = record.start();
        let lanes = self.config.lanes() as usize;
        let own = &mut self.lanes[run.group * lanes..(run.group + 1) * lanes];
        for (lane, (sums, flags)) in own.iter_mut().enumerate() {
            if !run.keep {
                (*sums, *flags) = (fresh.clone(), Flags::NONE);
            }
            let Some(target) = targets.get(lane) else { continue };
            for source in run.segments.iter().flat_map(|s| &self.memory[s.0..s.0 + s.1]) {
                let (values, raised) = pair(layout, target, source, &self.params);
                record.add(sums, |output| values[output]);
                *flags |= raised;
            }
        }
        let sources: u64 = run.segments.iter().map(|s| s.1 as u64).sum();
        self.counters.busy += sources;
        self.counters.pairs += sources * n as u64;
        if !run.hold {
            let occupied = &own[..n as usize];
            let finished = |l: &(Vec<Accumulator>, Flags)| {
                let all: Vec<(u64, Flags)> = l.0.iter().map(Accumulator::finish).collect();
                (all.iter().map(|f| f.0).collect::<Vec<u64>>(), all.iter().fold(l.1, |a, f| a | f.1))
            };
            let lanes: Vec<(Vec<u64>, Flags)> = occupied.iter().map(finished).collect();
            let flags = lanes.iter().map(|l| l.1).collect();
            let records = lanes.into_iter().flat_map(|l| l.0).collect();
            self.replies.push(Reply::Result { tag: run.tag, n, flags, records });
        }
        Ok(())
    }
}

fn patterns(packing: &Packing, words: &[u32]) -> Vec<u64> {
    let mut out = Vec::new();
    packing.unpack(&words[..packing.words()], &mut out);
    out
}
