//! Faults of a serial line or a network, and of the parties at its ends: reproducible from a seed.

pub mod datagrams;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::fmt;
use std::str::FromStr;

/// A kind of fault. Rates are probabilities; counts are bytes both ways together. On a network they are of datagrams.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fault {
    /// Each bit on the line arrives wrong with this probability, start and stop bits included. On a network: one bit of each
    /// datagram.
    Flip(f64),
    /// Each byte is lost with this probability.
    Drop(f64),
    /// Each byte arrives twice with this probability.
    Double(f64),
    /// At each byte, with this probability, it and up to 255 more are lost. On a network: a datagram loses its end.
    Cut(f64),
    /// Each datagram is overtaken by later ones with this probability; networks only.
    Swap(f64),
    /// The board stops for good after so many bytes.
    Stall(u64),
    /// The cable is pulled after so many bytes.
    Pull(u64),
}

/// (name, meaning of its value) of each kind, for messages.
pub const KINDS: &[(&str, &str)] = &[
    ("flip", "RATE of wrong bits"),
    ("drop", "RATE of lost bytes"),
    ("double", "RATE of doubled bytes"),
    ("cut", "RATE of bytes from which on a piece of the line is lost"),
    ("swap", "RATE of datagrams that are overtaken (networks only)"),
    ("stall", "BYTES after which the board stops"),
    ("pull", "BYTES after which the cable is pulled"),
];

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        let known = || KINDS.iter().map(|(name, what)| format!("{name}:{what}")).collect::<Vec<_>>().join(", ");
        let (kind, value) = text.split_once(':').ok_or_else(|| format!("a fault is one of {}", known()))?;
        let rate = || match value.parse::<f64>() {
            Ok(rate) if (0.0..=0.5).contains(&rate) => Ok(rate),
            _ => Err(format!("`{value}` is no rate; it is a number from 0 to 0.5")),
        };
        let count = || value.parse().map_err(|_| format!("`{value}` is no number of bytes"));
        match kind {
            "flip" => rate().map(Fault::Flip),
            "drop" => rate().map(Fault::Drop),
            "double" => rate().map(Fault::Double),
            "cut" => rate().map(Fault::Cut),
            "swap" => rate().map(Fault::Swap),
            "stall" => count().map(Fault::Stall),
            "pull" => count().map(Fault::Pull),
            _ => Err(format!("there is no fault `{kind}`; a fault is one of {}", known())),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Fault::Flip(rate) => write!(f, "flip:{rate}"),
            Fault::Drop(rate) => write!(f, "drop:{rate}"),
            Fault::Double(rate) => write!(f, "double:{rate}"),
            Fault::Cut(rate) => write!(f, "cut:{rate}"),
            Fault::Swap(rate) => write!(f, "swap:{rate}"),
            Fault::Stall(bytes) => write!(f, "stall:{bytes}"),
            Fault::Pull(bytes) => write!(f, "pull:{bytes}"),
        }
    }
}

/// The faults of bytes in one direction of a line. Those of bits are the line's, and those that end everything are the
/// caller's.
#[derive(Clone, Debug)]
pub struct Channel {
    drop: f64,
    double: f64,
    cut: f64,
    /// Bytes that the cut under way still swallows.
    lost: u32,
    random: SplitMix64,
    /// Faults so far.
    injected: u64,
}

impl Channel {
    /// The direction's faults; each direction needs a seed of its own.
    pub fn new(faults: &[Fault], seed: u64) -> Channel {
        let random = SplitMix64::seed_from_u64(seed);
        let mut channel = Channel { drop: 0.0, double: 0.0, cut: 0.0, lost: 0, random, injected: 0 };
        for fault in faults {
            match fault {
                Fault::Drop(rate) => channel.drop = *rate,
                Fault::Double(rate) => channel.double = *rate,
                Fault::Cut(rate) => channel.cut = *rate,
                Fault::Flip(_) | Fault::Swap(_) | Fault::Stall(_) | Fault::Pull(_) => {}
            }
        }
        channel
    }

    /// How many times something went wrong.
    pub fn injected(&self) -> u64 {
        self.injected
    }

    /// How many times `byte` arrives: 0, 1 or 2.
    pub fn copies(&mut self) -> usize {
        if self.lost > 0 {
            self.lost -= 1;
            return 0;
        }
        let copies = if self.chance(self.cut) {
            self.lost = (self.random.random::<u64>() >> 56) as u32;
            0
        } else if self.chance(self.drop) {
            0
        } else if self.chance(self.double) {
            2
        } else {
            1
        };
        self.injected += (copies != 1) as u64;
        copies
    }

    fn chance(&mut self, rate: f64) -> bool {
        rate > 0.0 && self.random.random_bool(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_back_what_it_prints() {
        for fault in [
            Fault::Flip(1e-4),
            Fault::Drop(0.5),
            Fault::Double(0.0),
            Fault::Cut(0.25),
            Fault::Swap(0.1),
            Fault::Stall(7),
        ] {
            assert_eq!(fault.to_string().parse(), Ok(fault));
        }
        for (kind, _) in KINDS {
            assert!(format!("{kind}:0").parse::<Fault>().is_ok(), "{kind}");
        }
        assert!("burn:1".parse::<Fault>().unwrap_err().contains("there is no fault `burn`"));
        assert!("flip:1".parse::<Fault>().unwrap_err().contains("from 0 to 0.5"));
        assert!("flip".parse::<Fault>().unwrap_err().contains("flip:RATE"));
    }

    #[test]
    fn faults_come_at_their_rate_and_again_with_the_same_seed() {
        let count = |fault, wanted| {
            let mut channel = Channel::new(&[fault], 1);
            let mut again = channel.clone();
            let copies: Vec<usize> = (0..100_000).map(|_| channel.copies()).collect();
            assert!(copies.iter().all(|c| *c == again.copies()));
            copies.iter().filter(|c| **c == wanted).count()
        };
        assert!((900..1100).contains(&count(Fault::Drop(0.01), 0)));
        assert!((900..1100).contains(&count(Fault::Double(0.01), 2)));
        // A cut takes 128.5 bytes on average.
        assert!((6_000..18_000).contains(&count(Fault::Cut(0.001), 0)));
        assert_eq!(count(Fault::Flip(0.5), 1), 100_000);
    }
}
