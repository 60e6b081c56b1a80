//! The time that a run takes.

use super::Stage;
use serde::Serialize;

/// Wall-clock seconds of each stage; `tree` includes the lists, `total` everything but the error measure.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Seconds {
    /// In the plane, of the mesh and of the lists, whose sum is `tree`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<f64>,
    pub tree: f64,
    pub p2m: f64,
    pub m2m: f64,
    pub m2l: f64,
    pub l2l: f64,
    pub l2p: f64,
    pub p2p: f64,
    pub m2p: f64,
    pub p2l: f64,
    pub total: f64,
}

impl Seconds {
    /// The seconds of a mesh and its lists, and nothing else yet.
    pub fn of_mesh(sort: f64, connect: f64) -> Seconds {
        let tree = sort + connect;
        Seconds { sort: Some(sort), connect: Some(connect), tree, total: tree, ..Seconds::default() }
    }

    /// Adds the seconds of the stages.
    pub fn add(&mut self, other: &Seconds) {
        let mut other = *other;
        for stage in Stage::FAR.into_iter().chain([Stage::P2p]) {
            *self.of(stage) += *other.of(stage);
        }
    }

    /// Adds those of another run with a tree of its own.
    pub fn add_whole(&mut self, run: &Seconds) {
        self.add(run);
        let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        (self.sort, self.connect) = (both(self.sort, run.sort), both(self.connect, run.connect));
        self.tree += run.tree;
        self.total += run.total;
    }

    /// Adds those of another run of the same plan: all but those of the tree.
    pub fn add_run(&mut self, run: &Seconds) {
        self.add(run);
        self.total += run.total - run.tree;
    }

    /// The seconds of one stage.
    pub fn of(&mut self, stage: Stage) -> &mut f64 {
        match stage {
            Stage::P2m => &mut self.p2m,
            Stage::M2m => &mut self.m2m,
            Stage::M2l => &mut self.m2l,
            Stage::P2l => &mut self.p2l,
            Stage::L2l => &mut self.l2l,
            Stage::L2p => &mut self.l2p,
            Stage::M2p => &mut self.m2p,
            Stage::P2p => &mut self.p2p,
        }
    }
}

/// Where P2P ran on a device beside the far field on the CPU: how long the one that was done first waited for the other.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Waited {
    pub cpu: f64,
    pub device: f64,
}
