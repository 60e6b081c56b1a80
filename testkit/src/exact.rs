//! A small interpreter in exact fractions: rules L6 and N1 to N7 read a second time, without the operators' `bits`.
//!
//! A program is what a compiled kernel says before anything is simplified: names of operators, formats, arguments. A pair is
//! evaluated from its outputs, and only what they demand, so that an arm that is not taken raises nothing because it is never
//! looked at. Every value is a fraction that is rounded once into its format. Of the functions that are made by tables the rules
//! promise a bound of the error and no bits: their bits are taken as they are given, after they are checked against the bound.

mod near;
mod rules;
mod selected;
mod value;

pub use rules::apply;
pub use value::{decode, encode};

use hdl::{Flags, Format, Reduce};
use num_bigint::BigInt;
use num_rational::BigRational;

/// A use of an operator: its name as the documentation has it, and what rules need to know of it.
#[derive(Clone, Debug)]
pub struct Use {
    pub name: &'static str,
    pub args: Vec<Format>,
    pub result: Format,
    /// A shift amount, or an exponent n/d; of a shift by a run-time amount d is its direction.
    pub n: i32,
    pub d: i32,
    pub truncates: bool,
}

/// A value of a program.
#[derive(Clone, Debug)]
pub enum Node {
    /// An element of what comes in, by its place.
    Input(usize, Format),
    /// A number that the kernel states, as its format's pattern.
    Constant(u64),
    /// An operator on earlier values.
    Op(Use, Vec<usize>),
    /// The entry of a table at indices that are earlier values.
    Entry(Entries, Vec<usize>),
}

/// A table: the numbers that its indices are below, and its entries by rows.
#[derive(Clone, Debug)]
pub struct Entries {
    pub limits: Vec<u32>,
    pub indices: Vec<Format>,
    pub format: Format,
    pub words: Words,
}

/// Where entries are.
#[derive(Clone, Debug)]
pub enum Words {
    Here(Vec<u64>),
    /// Among what comes in, from that place on.
    Inputs(usize),
}

/// An element of an output.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub value: usize,
    pub reduce: Reduce,
    pub format: Format,
}

/// A kernel.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub nodes: Vec<Node>,
    pub outputs: Vec<Output>,
}

/// The bits and flags that the implementation gives for a node's arguments.
pub type Given<'a> = &'a dyn Fn(usize, &[u64]) -> (u64, Flags);

impl Program {
    /// The outputs' patterns for one pair, and the flags of what they demand; or which value breaks its promise, and how.
    pub fn pair(&self, inputs: &[u64], given: Given) -> Result<(Vec<u64>, Flags), String> {
        let mut pair = Pair { program: self, inputs, given, values: vec![None; self.nodes.len()], flags: Flags::NONE };
        let values = self.outputs.iter().map(|o| pair.value(o.value)).collect::<Result<_, _>>()?;
        Ok((values, pair.flags))
    }

    /// The results of one target over pairs with these inputs, and its flags.
    pub fn target<'i>(
        &self,
        pairs: impl Iterator<Item = &'i [u64]>,
        given: Given,
    ) -> Result<(Vec<u64>, Flags), String> {
        let mut sums: Vec<Gathered> = self.outputs.iter().map(|o| Gathered::new(*o)).collect();
        let mut selections = selected::Selections::new(&self.outputs);
        let mut flags = Flags::NONE;
        for inputs in pairs {
            let (values, raised) = self.pair(inputs, given)?;
            flags |= raised;
            selections.take(&values);
            let plain = sums.iter_mut().zip(values).filter(|(sum, _)| !matches!(sum.output.reduce, Reduce::Ranked(_)));
            plain.for_each(|(sum, value)| sum.take(value));
        }
        let ended: Vec<(u64, bool)> = sums.iter().map(Gathered::end).collect();
        let wraps = ended.iter().any(|e| e.1);
        let mut results: Vec<u64> = ended.iter().map(|e| e.0).collect();
        selections.end(&mut results);
        Ok((results, flags | Flags::WRAP.when(wraps)))
    }
}

/// One pair as far as it has been evaluated.
struct Pair<'a> {
    program: &'a Program,
    inputs: &'a [u64],
    given: Given<'a>,
    values: Vec<Option<u64>>,
    flags: Flags,
}

impl Pair<'_> {
    /// The value of a node that something demands.
    fn value(&mut self, node: usize) -> Result<u64, String> {
        // A chain of arguments may be longer than a stack is deep.
        let mut open = vec![node];
        while let Some(&k) = open.last() {
            if self.values[k].is_some() {
                open.pop();
                continue;
            }
            let made = match &self.program.nodes[k] {
                // An input with exponent field 0 is read as 0.
                Node::Input(place, format) => Ok(value::canonical(*format, self.inputs[*place])),
                Node::Constant(bits) => Ok(*bits),
                Node::Op(of, args) => self.operator(k, of, args)?,
                Node::Entry(table, args) => self.entry(table, args),
            };
            match made {
                Ok(bits) => self.values[k] = Some(bits),
                Err(missing) => open.push(missing),
            }
        }
        Ok(self.values[node].expect("it was just made"))
    }

    /// The entry of a table (L16), or an index that has no value yet.
    fn entry(&mut self, table: &Entries, args: &[usize]) -> Result<u64, usize> {
        if let Some(missing) = args.iter().find(|a| self.values[**a].is_none()) {
            return Err(*missing);
        }
        let patterns: Vec<u64> = args.iter().map(|a| self.values[*a].expect("none is missing")).collect();
        let Some(at) = rules::place(&table.limits, &table.indices, &patterns) else {
            self.flags |= Flags::INVALID;
            return Ok(0);
        };
        Ok(match &table.words {
            Words::Here(words) => words[at],
            Words::Inputs(first) => value::canonical(table.format, self.inputs[first + at]),
        })
    }

    /// The value of an operator, or a node that it demands and that has none yet.
    fn operator(&mut self, k: usize, of: &Use, args: &[usize]) -> Result<Result<u64, usize>, String> {
        if let ("mux", [condition, then, otherwise]) = (of.name, args) {
            let Some(chosen) = self.values[*condition] else { return Ok(Err(*condition)) };
            let taken = if chosen == 1 { *then } else { *otherwise };
            return Ok(self.values[taken].ok_or(taken));
        }
        if let Some(missing) = args.iter().find(|a| self.values[**a].is_none()) {
            return Ok(Err(*missing));
        }
        let patterns: Vec<u64> = args.iter().map(|a| self.values[*a].expect("none is missing")).collect();
        let (bits, flags) = match apply(of, &patterns) {
            Some(made) => made,
            None => {
                let given = (self.given)(k, &patterns);
                near::check(of, &patterns, given).map_err(|why| format!("%{k}, {of:?} of {patterns:x?}: {why}"))?;
                given
            }
        };
        self.flags |= flags;
        Ok(Ok(bits))
    }
}

/// An output's sum, maximum or minimum so far.
struct Gathered {
    output: Output,
    sum: BigInt,
    best: (BigRational, u64),
}

impl Gathered {
    fn new(output: Output) -> Gathered {
        let first = match output.reduce {
            Reduce::Max => value::least(output.format),
            Reduce::Min => value::greatest(output.format),
            Reduce::Sum | Reduce::Ranked(_) => 0,
        };
        Gathered { output, sum: BigInt::from(0), best: (decode(output.format, first), first) }
    }

    fn take(&mut self, bits: u64) {
        let Output { reduce, format, .. } = self.output;
        if reduce == Reduce::Sum {
            self.sum += value::integer(format, bits);
            return;
        }
        let value = decode(format, bits);
        let better = if reduce == Reduce::Max { value > self.best.0 } else { value < self.best.0 };
        if better {
            self.best = (value, bits);
        }
    }

    /// The result, and whether the exact sum is beyond the format.
    fn end(&self) -> (u64, bool) {
        match self.output.reduce {
            Reduce::Sum => {
                let bits = value::wrapped(self.output.format, &self.sum);
                (bits, value::integer(self.output.format, bits) != self.sum)
            }
            _ => (self.best.1, false),
        }
    }
}
