//! Rule L14 read a second time: all pairs of a target are kept, and sorted when it ends.

use super::{Output, decode, value};
use hdl::Reduce;
use num_rational::BigRational;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A statement with the outputs that its pairs go to, by rank and member.
#[derive(Default)]
struct Statement {
    greatest: bool,
    outputs: BTreeMap<(u32, u32), usize>,
    /// The patterns of each pair, key first.
    pairs: Vec<Vec<u64>>,
}

/// All selections of a kernel.
pub struct Selections<'a> {
    outputs: &'a [Output],
    statements: BTreeMap<u32, Statement>,
}

impl<'a> Selections<'a> {
    pub fn new(outputs: &'a [Output]) -> Selections<'a> {
        let mut statements: BTreeMap<u32, Statement> = BTreeMap::new();
        for (k, output) in outputs.iter().enumerate() {
            if let Reduce::Ranked(place) = output.reduce {
                let statement = statements.entry(place.selection).or_default();
                statement.greatest = place.greatest;
                statement.outputs.insert((place.rank, place.member), k);
            }
        }
        Selections { outputs, statements }
    }

    /// Takes the outputs' values for a pair.
    pub fn take(&mut self, values: &[u64]) {
        for statement in self.statements.values_mut() {
            let best = statement.outputs.range((0, 0)..(1, 0)).map(|(_, output)| values[*output]).collect();
            statement.pairs.push(best);
        }
    }

    /// Writes the results of all selections.
    pub fn end(mut self, results: &mut [u64]) {
        for statement in self.statements.values_mut() {
            let format = |member: usize| self.outputs[statement.outputs[&(0, member as u32)]].format;
            let number = |pair: &[u64], member: usize| decode(format(member), pair[member]);
            let payloads = |pair: &Vec<u64>| -> Vec<BigRational> { (1..pair.len()).map(|m| number(pair, m)).collect() };
            match statement.greatest {
                true => statement.pairs.sort_by_key(|pair| (Reverse(number(pair, 0)), payloads(pair))),
                false => statement.pairs.sort_by_key(|pair| (number(pair, 0), payloads(pair))),
            }
            for ((rank, member), output) in &statement.outputs {
                let format = self.outputs[*output].format;
                let nothing = match statement.greatest && *member == 0 {
                    true => value::least(format),
                    false => value::greatest(format),
                };
                results[*output] = statement.pairs.get(*rank as usize).map_or(nothing, |pair| pair[*member as usize]);
            }
        }
    }
}
