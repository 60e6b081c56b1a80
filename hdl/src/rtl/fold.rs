//! The interface between the lane and a pipeline that takes a pair every K clocks.
//!
//! Such a pipeline has two more ports. `start` is high in the clock before each one in which a pair may enter, every K clocks.
//! `slots` has a bit for each of the K clocks from there on: bit 0 in the clock in which a pair enters. Its pins stand still from
//! then on for K clocks. Plain outputs and flags are there for one clock, `latency` clocks after the pair entered. Sums that share
//! an adder have one port together, on which the terms come one after the other in the K clocks that end with that one. What is
//! added up in slices has ports of another kind: terms are extended to their width, and no register stands in front of them.

/// The port of such a pipeline that says when a pair may enter, and the one that counts the clocks since.
pub const START: &str = "start";
pub const SLOTS: &str = "slots";

/// How the outputs leave a folded pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fold {
    /// Clocks from one pair to the next, K: at least 2.
    pub ii: u32,
    pub sums: Vec<SharedSum>,
    /// Whether the sums are added up in slices: then all outputs are.
    pub sliced: bool,
}

/// Sums of one format that share an adder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedSum {
    pub port: String,
    /// The outputs as the layout names them, and the slots of their terms, ascending.
    pub uses: Vec<(String, u32)>,
}

impl Fold {
    /// The shared sum that an output enters, if it does.
    pub fn sum_of(&self, output: &str) -> Option<&SharedSum> {
        self.sums.iter().find(|s| s.uses.iter().any(|u| u.0 == output))
    }
}
