//! Statements of a pipeline about the filters in front of it: the modules that say which pairs it takes.

/// A pipeline that takes only pairs that pass a test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filtered {
    /// The test: pins of targets and sources, parameters, and the output named here.
    pub test: Part,
    /// The output that says whether a pair passes.
    pub pass: String,
    /// Of a test that takes fewer bits of targets and of sources than they have: what makes these, of each. Both take as many cycles.
    /// An output `o_X` is the pin `i_X` or `j_X` of the test.
    pub narrowed: Option<Narrowed>,
}

/// A module, and the cycles from its pins to its outputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    pub module: String,
    pub latency: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Narrowed {
    pub targets: String,
    pub sources: String,
    pub latency: u32,
}

impl Filtered {
    /// Cycles from a source to what the test says of it.
    pub fn latency(&self) -> u32 {
        self.test.latency + self.narrowed.as_ref().map_or(0, |n| n.latency)
    }
}
