//! The values that a run takes: of each, its range and the bits that it uses.

use super::{Pair, Prepared};
use hdl::Format;
use pg2::graph::{Graph, NodeId, NodeKind};

/// The values of a node over some pairs.
#[derive(Clone, Debug)]
pub struct Used {
    pub node: NodeId,
    pub low: f64,
    pub high: f64,
    /// The least magnitude other than 0; infinite where there is none.
    pub least: f64,
    /// The most bits of a significand, or of an int or fixed between its first and its last one.
    pub significant: u32,
    /// The lowest bit of an int or fixed that is ever 1, counted from 0; of a float 0.
    pub lowest: u32,
}

impl Used {
    fn new(node: usize) -> Used {
        let (low, high, least) = (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY);
        Used { node: NodeId(node as u32), low, high, least, significant: 0, lowest: u32::MAX }
    }

    fn take(&mut self, format: Format, bits: u64) {
        let x = format.to_f64(bits);
        (self.low, self.high) = (self.low.min(x), self.high.max(x));
        if x == 0.0 {
            return;
        }
        self.least = self.least.min(x.abs());
        let whole = match format {
            Format::Float { mant, .. } => (bits & ((1 << mant) - 1) | 1 << mant) as u128,
            Format::Log { .. } => 1,
            _ => format.to_int(bits).unsigned_abs(),
        };
        let last = whole.trailing_zeros();
        self.significant = self.significant.max(128 - whole.leading_zeros() - last);
        self.lowest = if format.is_integral() { self.lowest.min(last) } else { 0 };
    }

    /// The bits before the point of an int or fixed, with its sign; of a float or log those of the exponents from its least
    /// magnitude to its greatest.
    pub fn high_bits(&self, format: Format) -> u32 {
        let most = self.low.abs().max(self.high.abs());
        if most == 0.0 {
            return 0;
        }
        if format.is_integral() {
            let sign = (self.low < 0.0) as i32;
            return (hdl::number::real::log2(most) + 1 + sign).max(0) as u32;
        }
        let octaves = hdl::number::real::log2(most) - hdl::number::real::log2(self.least) + 1;
        // Two codes of an exponent are 0 and none.
        u32::BITS - (octaves as u32 + 1).leading_zeros()
    }
}

/// The use of every named value and of every output's, over pairs of these targets and sources: all of them, or about `most`
/// that are evenly spread. Gives the number of pairs that were evaluated.
pub fn profile<'a>(
    graph: &Graph,
    targets: &[&'a [u64]],
    sources: &[&'a [u64]],
    params: &[u64],
    most: usize,
) -> (Vec<Used>, usize) {
    let prepared = Prepared::new(graph);
    let is_output = |k: usize| graph.outputs.iter().any(|o| o.value.0 as usize == k);
    let is_shown = |k: usize| match graph.nodes[k].kind {
        NodeKind::Const { .. } => false,
        _ => !graph.nodes[k].name.is_empty() || is_output(k),
    };
    let mut used: Vec<Used> = (0..graph.nodes.len()).filter(|k| is_shown(*k)).map(Used::new).collect();
    let all = targets.len() * sources.len();
    let step = all.div_ceil(most.max(1)).max(1);
    let (mut pair, mut count) = (Pair::default(), 0);
    for k in (0..all).step_by(step) {
        // Sources in turn, each time with another target.
        let (i, j) = (targets[k / sources.len()], sources[k % sources.len()]);
        prepared.pair(i, j, params, &mut pair);
        count += 1;
        used.iter_mut().for_each(|u| {
            let k = u.node.0 as usize;
            u.take(graph.nodes[k].format, pair.values[k]);
        });
    }
    (used, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_bits_are_those_of_the_values() {
        let text = "int16 x ipin; fixed16.8 y jpin; float18.9 z jpin; int32 o fout; a = x * x; b = z * z;
            o += a + (int32)b + (int32)y;";
        let graph = pg2::compile("k", text).map_err(|e| format!("{e:?}")).unwrap().graph;
        let float = |x: f64| hdl::number::exact::parse("float18.9".parse().unwrap(), &x.to_string()).unwrap();
        let sources = [[0x0180, float(1.5)], [0xff00, float(0.25)]];
        let sources: Vec<&[u64]> = sources.iter().map(|s| &s[..]).collect();
        let (used, pairs) = profile(&graph, &[&[4], &[6]], &sources, &[], 100);
        assert_eq!(pairs, 4);
        let of = |name: &str| {
            let u = used.iter().find(|u| graph.node(u.node).name == name).unwrap();
            (u.low, u.high, u.significant, u.lowest, u.high_bits(graph.node(u.node).format))
        };
        assert_eq!(of("x"), (4.0, 6.0, 2, 1, 3));
        assert_eq!(of("a"), (16.0, 36.0, 4, 2, 6));
        assert_eq!(of("y"), (-1.0, 1.5, 2, 7, 2));
        // 2.25 is 1.001b 2^1, and 0.0625 is 2^-4: six octaves, and two codes more.
        assert_eq!(of("b"), (0.0625, 2.25, 4, 0, 3));
        let (_, pairs) = profile(&graph, &[&[4], &[6]], &sources, &[], 2);
        assert_eq!(pairs, 2);
    }
}
