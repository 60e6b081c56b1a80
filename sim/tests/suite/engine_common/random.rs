//! Random packet streams for engines: lawful ones, and ones with faults.

use hdl::engine::Config;
use hdl::engine::protocol::{RunHeader, Segment, Stream};
use testkit::Random;

/// `n` random words.
pub fn words(random: &mut Random, n: u32) -> Vec<u32> {
    (0..n).map(|_| random.bits() as u32).collect()
}

/// A stream that fills the j memory and the parameters, then `steps` random commands, then STATUS and END. With
/// `faults`, about every sixth packet is damaged or out of place.
pub fn stream(config: &Config, dice: &mut Random, steps: u32, faults: bool) -> Stream {
    let mut s = Stream::default();
    let j_words = config.jmem_records * config.layout.j_words();
    s.load_j(0, config.jmem_records, &words(dice, j_words));
    s.param(&words(dice, config.layout.param_words()));
    // Accumulators hold nothing of use before the first run.
    for group in 0..config.groups as u8 {
        s.run(RunHeader { n_i: config.lanes(), group, ..RunHeader::default() }, &[]);
        s.i(config.lanes(), &words(dice, config.lanes() * config.layout.i_words()));
    }
    for _ in 0..steps {
        command(config, dice, &mut s);
        if faults && dice.chance(0.3) {
            fault(config, dice, &mut s);
        }
    }
    s.status(true);
    s.status(false);
    s.end();
    s
}

fn command(config: &Config, dice: &mut Random, s: &mut Stream) {
    match dice.below(20) {
        0..4 => load(config, dice, s),
        4 => s.param(&words(dice, config.layout.param_words())),
        5 => s.status(dice.chance(0.3)),
        6 if dice.chance(0.3) => s.ident(),
        6 => s.end(),
        _ => run(config, dice, s),
    }
}

fn load(config: &Config, dice: &mut Random, s: &mut Stream) {
    let first = dice.below(config.jmem_records + 1);
    let n = dice.below((config.jmem_records - first + 1).min(12));
    s.load_j(first, n, &words(dice, n * config.layout.j_words()));
}

fn run(config: &Config, dice: &mut Random, s: &mut Stream) {
    let lanes = config.lanes();
    let group = dice.below(config.groups) as u8;
    let special = dice.chance(0.25);
    let (keep, hold) = (special && dice.chance(0.6), special && dice.chance(0.6));
    let n_i = if special { dice.below(lanes + 1) } else { dice.below(4 * lanes) };
    let longest = dice.pick(&[1, 3, 30]);
    let segments: Vec<Segment> = (0..dice.below(config.segments + 1))
        .map(|_| {
            let count = dice.below(longest + 1).min(config.jmem_records);
            Segment { first: dice.below(config.jmem_records - count + 1), count }
        })
        .collect();
    let list = if dice.chance(0.1) { &[] } else { &segments[..] };
    s.run(RunHeader { tag: dice.bits() as u32, n_i, group, keep, hold }, list);
    for first in (0..n_i).step_by(lanes as usize) {
        // Commands between a run's groups act on the groups behind them.
        match dice.below(12) {
            0 => load(config, dice, s),
            1 => s.param(&words(dice, config.layout.param_words())),
            2 if dice.chance(0.3) => s.ident(),
            2 => s.status(false),
            _ => {}
        }
        let n = lanes.min(n_i - first);
        s.i(n, &words(dice, n * config.layout.i_words()));
    }
}

/// Damages the last packet, or adds one that is wrong.
fn fault(config: &Config, dice: &mut Random, s: &mut Stream) {
    let start = s.ends.iter().rev().nth(1).copied().unwrap_or(0);
    let last = s.words.len() - start;
    match dice.below(9) {
        0 => {
            let cut = dice.below(last as u32) as usize;
            s.words.truncate(s.words.len() - cut);
            s.ends.pop();
            s.ends.push(s.words.len());
        }
        1 => {
            let more = dice.below(9);
            s.words.extend(words(dice, more));
            s.ends.pop();
            s.ends.push(s.words.len());
        }
        2 => {
            let length = 1 + dice.below(9);
            s.packet(words(dice, length));
        }
        3 => s.load_j(config.jmem_records, 1, &words(dice, config.layout.j_words())),
        4 => s.load_j(u32::MAX, 2, &words(dice, 2 * config.layout.j_words())),
        5 => s.i(1, &words(dice, config.layout.i_words())),
        6 => {
            let first = dice.below(config.jmem_records);
            let beyond = Segment { first, count: config.jmem_records - first + 1 };
            let fine = Segment { first: 0, count: 1 };
            s.run(RunHeader { n_i: 1, ..RunHeader::default() }, &[fine, beyond, fine]);
            s.i(1, &words(dice, config.layout.i_words()));
        }
        7 => {
            let beyond = config.groups + dice.below(256 - config.groups);
            let (group, keep) = if dice.chance(0.5) { (beyond as u8, false) } else { (0, true) };
            s.run(RunHeader { n_i: config.lanes() + 1, group, keep, ..RunHeader::default() }, &[]);
        }
        _ => {
            let many = vec![Segment { first: 0, count: 1 }; config.segments as usize + 1];
            s.run(RunHeader { n_i: 1, ..RunHeader::default() }, &many);
        }
    }
}
