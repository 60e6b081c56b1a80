//! Statements of a pipeline about the filter in front of it: the condition's own pipeline, and what goes from one to the other.

/// A pipeline that takes only pairs for which a condition holds, which another module computes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filtered {
    /// The module of the condition: pins of targets and sources, parameters, and the outputs named here.
    pub condition: String,
    /// Cycles from its pins to its outputs.
    pub latency: u32,
    /// The output that says whether a pair passes.
    pub pass: String,
    /// Values of a pair that passes.
    pub carried: Vec<Carried>,
}

/// A value that the condition's module gives and the pipeline takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Carried {
    /// The port that it comes from, and the one that it goes to.
    pub from: String,
    pub to: String,
    pub width: u32,
}

impl Filtered {
    /// Bits that are carried of a pair.
    pub fn bits(&self) -> u32 {
        self.carried.iter().map(|c| c.width).sum()
    }
}
