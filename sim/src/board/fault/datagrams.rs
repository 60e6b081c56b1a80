//! Faults of datagrams on a network.

use super::Fault;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;

/// The faults of one direction.
#[derive(Clone, Debug)]
pub struct Way {
    flip: f64,
    drop: f64,
    double: f64,
    cut: f64,
    swap: f64,
    random: SplitMix64,
    /// A datagram that comes later, and how many go before it.
    late: Option<(u32, Vec<u8>)>,
    /// Faults so far.
    injected: u64,
}

/// Most datagrams that overtake a late one.
const OVERTAKE: usize = 4;

impl Way {
    /// The direction's faults; each direction needs a seed of its own.
    pub fn new(faults: &[Fault], seed: u64) -> Way {
        let random = SplitMix64::seed_from_u64(seed);
        let mut way = Way { flip: 0.0, drop: 0.0, double: 0.0, cut: 0.0, swap: 0.0, random, late: None, injected: 0 };
        for fault in faults {
            match fault {
                Fault::Flip(rate) => way.flip = *rate,
                Fault::Drop(rate) => way.drop = *rate,
                Fault::Double(rate) => way.double = *rate,
                Fault::Cut(rate) => way.cut = *rate,
                Fault::Swap(rate) => way.swap = *rate,
                Fault::Stall(_) | Fault::Pull(_) => {}
            }
        }
        way
    }

    /// How many times something went wrong.
    pub fn injected(&self) -> u64 {
        self.injected
    }

    /// The datagrams that arrive when this one is sent, in their order.
    pub fn pass(&mut self, mut datagram: Vec<u8>) -> Vec<Vec<u8>> {
        let mut arrive = Vec::new();
        if self.chance(self.flip) && !datagram.is_empty() {
            let at = self.below(8 * datagram.len());
            datagram[at / 8] ^= 1 << (at % 8);
        }
        if self.chance(self.cut) {
            let length = self.below(datagram.len());
            datagram.truncate(length);
        }
        let doubled = self.chance(self.double).then(|| datagram.clone());
        if self.late.is_none() && self.chance(self.swap) {
            let behind = 1 + self.below(OVERTAKE) as u32;
            self.late = Some((behind, datagram));
        } else if !self.chance(self.drop) {
            arrive.push(datagram);
        }
        arrive.extend(doubled);
        if let Some((behind, _)) = &mut self.late {
            *behind = behind.saturating_sub(arrive.len() as u32);
        }
        if let Some((_, late)) = self.late.take_if(|(behind, _)| *behind == 0) {
            arrive.push(late);
        }
        arrive
    }

    fn chance(&mut self, rate: f64) -> bool {
        let hit = rate > 0.0 && self.random.random_bool(rate);
        self.injected += hit as u64;
        hit
    }

    fn below(&mut self, n: usize) -> usize {
        self.random.random_range(0..n.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_arrive_as_the_faults_say() {
        let sent = |k: u32| [k; 10].iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        let arrived = |faults: &[Fault]| -> Vec<Vec<u8>> {
            let mut way = Way::new(faults, 1);
            let all = (0..10_000).flat_map(|k| way.pass(sent(k))).collect();
            assert!(faults.is_empty() == (way.injected() == 0));
            all
        };
        let number = |d: &Vec<u8>| u32::from_le_bytes(d[..4].try_into().unwrap());
        assert_eq!(arrived(&[]), (0..10_000).map(sent).collect::<Vec<_>>());
        assert!((9_850..9_950).contains(&arrived(&[Fault::Drop(0.01)]).len()));
        assert!((10_050..10_150).contains(&arrived(&[Fault::Double(0.01)]).len()));
        let flipped = arrived(&[Fault::Flip(0.01)]);
        let wrong = flipped.iter().zip(0..).filter(|(d, k)| **d != sent(*k)).count();
        assert!(flipped.len() == 10_000 && (50..150).contains(&wrong), "{wrong}");
        let cut = arrived(&[Fault::Cut(0.01)]).iter().filter(|d| d.len() < 40).count();
        assert!((50..150).contains(&cut), "{cut}");
        let swapped = arrived(&[Fault::Swap(0.01)]);
        let back = swapped.windows(2).filter(|d| number(&d[0]) > number(&d[1])).count();
        let mut all: Vec<u32> = swapped.iter().map(number).collect();
        all.sort();
        assert!((50..150).contains(&back) && all.len() >= 9_999 && all.windows(2).all(|d| d[0] < d[1]), "{back}");
    }
}
