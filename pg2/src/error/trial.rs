//! Pairs as they are computed beside what they are in real arithmetic, and a search for the worst of them: from corners of the
//! ranges, by small steps that make a measure greater.

use crate::graph::{Graph, NodeId, NodeKind};
use hdl::number::reduce::order_key;
use hdl::op::compare;
use hdl::op::semantics::Real;
use hdl::{Flags, Format};

/// A pair, evaluated.
pub struct Pair {
    /// Patterns, and values of the real-arithmetic semantics (RULES N10), by node.
    pub bits: Vec<u64>,
    pub real: Vec<Real>,
    /// The flags that a node raises, where its value is demanded.
    pub flags: Vec<Flags>,
}

/// A graph to be tried, with its inputs.
pub struct Trial<'a> {
    graph: &'a Graph,
    /// The nodes of pins, which are what a pair is given by.
    pub pins: Vec<usize>,
}

/// A source of random bits (SplitMix64), so that every search finds the same.
pub struct Bits(pub u64);

impl Bits {
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        ((self.draw() as u128 * n as u128) >> 64) as u64
    }
}

impl<'a> Trial<'a> {
    pub fn new(graph: &'a Graph) -> Trial<'a> {
        let is_pin = |k: &usize| matches!(graph.nodes[*k].kind, NodeKind::Pin { .. });
        Trial { graph, pins: (0..graph.nodes.len()).filter(is_pin).collect() }
    }

    /// Evaluates a pair of so many patterns as there are nodes of pins.
    pub fn pair(&self, inputs: &[u64]) -> Pair {
        let nodes = &self.graph.nodes;
        let mut pair = Pair { bits: Vec::new(), real: Vec::new(), flags: Vec::new() };
        let mut inputs = inputs.iter();
        for (k, node) in nodes.iter().enumerate() {
            let (bits, real, flags) = match &node.kind {
                NodeKind::Pin { .. } => {
                    let bits = inputs.next().copied().unwrap_or(0);
                    (bits, Real::read(node.format, bits), Flags::NONE)
                }
                NodeKind::Const { bits } => {
                    let number = self.graph.numbers.get(&NodeId(k as u32));
                    (*bits, number.map_or_else(|| Real::read(node.format, *bits), |x| Real::number(*x).0), Flags::NONE)
                }
                NodeKind::Op { op, inst, args } => {
                    let of: Vec<u64> = args.iter().map(|a| pair.bits[a.0 as usize]).collect();
                    let (bits, flags) = op.bits(inst, &of);
                    let of: Vec<Real> = args.iter().map(|a| pair.real[a.0 as usize]).collect();
                    let real = if inst.args.iter().chain([&inst.result]).all(|f| f.is_integral()) {
                        let of: Vec<u64> = of.iter().map(|x| x.bits()).collect();
                        Real::read(inst.result, op.bits(inst, &of).0)
                    } else {
                        op.real(inst, &of).0
                    };
                    (bits, real, flags)
                }
            };
            pair.bits.push(bits);
            pair.real.push(real);
            pair.flags.push(flags);
        }
        self.keep_demanded(&mut pair);
        pair
    }

    /// Takes the flags away of what no output demands (RULES L6).
    fn keep_demanded(&self, pair: &mut Pair) {
        let mut demanded = vec![false; self.graph.nodes.len()];
        self.graph.outputs.iter().for_each(|o| demanded[o.value.0 as usize] = true);
        for (k, node) in self.graph.nodes.iter().enumerate().rev() {
            if !demanded[k] {
                pair.flags[k] = Flags::NONE;
            } else if let NodeKind::Op { op, args, .. } = &node.kind {
                let chooses = *op == compare::MUX;
                let taken = if chooses && pair.bits[args[0].0 as usize] == 1 { 1 } else { 2 };
                let read = args.iter().enumerate().filter(|(j, _)| !chooses || *j == 0 || *j == taken);
                read.for_each(|(_, a)| demanded[a.0 as usize] = true);
            }
        }
    }

    /// The distance of a computed value from the real one.
    pub fn error(&self, pair: &Pair, k: usize) -> f64 {
        let format = self.graph.nodes[k].format;
        match format.frac() {
            Some(frac) => {
                let apart = format.to_int(pair.bits[k]) - format.to_int(pair.real[k].bits());
                apart.unsigned_abs() as f64 * hdl::number::real::exp2(-(frac as i32))
            }
            None => (format.to_f64(pair.bits[k]) - pair.real[k].f64()).abs(),
        }
    }

    /// The least and the greatest key of a pin's patterns.
    fn keys(&self, k: usize) -> [i128; 2] {
        let NodeKind::Pin { pin, .. } = self.graph.nodes[k].kind else { unreachable!("inputs are pins") };
        let pin = &self.graph.pins[pin];
        pin.range.unwrap_or([pin.format.min_bits(), pin.format.max_bits()]).map(|bits| order_key(pin.format, bits))
    }

    /// Inputs at corners of their ranges, and at random inside.
    fn start(&self, random: &mut Bits) -> Vec<u64> {
        let mode = random.below(6);
        let near = random.below(40).min(random.below(40));
        let one = |k: &usize, random: &mut Bits| {
            let format = self.graph.nodes[*k].format;
            let [low, high] = self.keys(*k);
            let span = (high - low) as u128;
            let within = |part: u128| low + part.min(span) as i128;
            let key = match (mode, random.below(8)) {
                (0, n) | (1, n @ 0..4) => match n % 4 {
                    0 => low,
                    1 => high,
                    2 => 0,
                    _ => within(span >> 1),
                },
                (2, _) => {
                    // Small ones, of every size.
                    let size = random.below(format.width() as u64);
                    let magnitude = (random.draw() & format.mask()) >> size;
                    if random.below(2) == 0 { magnitude as i128 } else { -(magnitude as i128) }
                }
                // As the values are spread, where a float's patterns are not.
                (3, _) if format.is_float() => {
                    let (a, b) = (format.to_f64(pattern(format, low)), format.to_f64(pattern(format, high)));
                    let x = a + (b - a) * (random.draw() >> 11) as f64 * 2f64.powi(-53);
                    order_key(format, Real::number(x).0.nearest(format))
                }
                _ => within(((random.draw() as u128) << 64 | random.draw() as u128) % (span + 1)),
            };
            pattern(format, key.clamp(low, high))
        };
        let mut inputs: Vec<u64> = self.pins.iter().map(|k| one(k, random)).collect();
        if mode >= 4 {
            self.draw_near(&mut inputs, near, random);
        }
        inputs
    }

    /// Brings the second half of the pins of each format near the first one, as a source is near a target.
    fn draw_near(&self, inputs: &mut [u64], near: u64, random: &mut Bits) {
        for j in 0..inputs.len() {
            let format = self.graph.nodes[self.pins[j]].format;
            let alike: Vec<usize> =
                (0..inputs.len()).filter(|o| self.graph.nodes[self.pins[*o]].format == format).collect();
            let place = alike.iter().position(|o| *o == j).unwrap_or(0);
            if place < alike.len() / 2 || alike.len() % 2 == 1 {
                continue;
            }
            let [low, high] = self.keys(self.pins[j]);
            let reach = 1i128 << near.min(format.width() as u64 - 1);
            let by = (random.draw() as i128) % (2 * reach + 1) - reach;
            let key = order_key(format, inputs[alike[place - alike.len() / 2]]) + by;
            inputs[j] = pattern(format, key.clamp(low, high));
        }
    }

    /// Some inputs a step away.
    fn step(&self, inputs: &[u64], random: &mut Bits) -> Vec<u64> {
        let mut next = inputs.to_vec();
        for _ in 0..=random.below(2) {
            let j = random.below(next.len() as u64) as usize;
            let k = self.pins[j];
            let format = self.graph.nodes[k].format;
            let [low, high] = self.keys(k);
            let key = order_key(format, next[j]);
            let other = self.pins.iter().position(|o| *o != k && self.graph.nodes[*o].format == format);
            let far = 1i128 << random.below(format.width() as u64);
            let key = match (random.below(6), other) {
                (0, Some(_)) => {
                    let mut o = random.below(self.pins.len() as u64) as usize;
                    if self.graph.nodes[self.pins[o]].format != format {
                        o = j;
                    }
                    order_key(format, next[o]) + random.below(5) as i128 - 2
                }
                (1, _) => -key,
                (2, _) => key / 2,
                (n, _) if n % 2 == 0 => key + far,
                _ => key - far,
            };
            next[j] = pattern(format, key.clamp(low, high));
        }
        next
    }

    /// The inputs for which a measure is greatest, of so many tries.
    pub fn worst(&self, tries: usize, seed: u64, measure: impl Fn(&Pair) -> f64) -> (Vec<u64>, f64) {
        let mut random = Bits(seed);
        let mut best = (vec![0; self.pins.len()], f64::NEG_INFINITY);
        if self.pins.is_empty() {
            let value = measure(&self.pair(&[]));
            return (Vec::new(), value);
        }
        let climbs = (tries as f64).sqrt() as usize / 2 + 1;
        for _ in 0..climbs {
            // The best of some, from which the climb begins.
            let tried = (0..32).map(|_| self.start(&mut random));
            let mut at = tried
                .map(|inputs| {
                    let value = measure(&self.pair(&inputs));
                    (inputs, value)
                })
                .fold((Vec::new(), f64::NEG_INFINITY), |a, b| if b.1 >= a.1 { b } else { a });
            for _ in 0..tries / climbs {
                let inputs = self.step(&at.0, &mut random);
                let value = measure(&self.pair(&inputs));
                if value >= at.1 {
                    at = (inputs, value);
                }
            }
            if at.1 > best.1 {
                best = at;
            }
        }
        best
    }
}

/// The pattern of a key, of a float the nearest one to 0 that is a number.
pub fn pattern(format: Format, key: i128) -> u64 {
    if format.is_integral() {
        return key as u64 & format.mask();
    }
    let magnitude = key.unsigned_abs() as u64;
    let least = if format.is_log() { 1u64 << (format.width() - 2) } else { 1 << format.mant() };
    if magnitude < least {
        return 0;
    }
    magnitude | if key < 0 { 1 << (format.width() - 1) } else { 0 }
}
