//! The data of the figures, as paper.json keeps them.

use fmm::octree::stats::Seconds;
use serde::{Deserialize, Serialize};
use std::path::Path;
use terminal::failure::Failure;
use terminal::input;

/// Operations of a pair in Fig. 2: three differences, an inner product of three, a power, a product and a sum. The paper gives its speed in
/// GFLOPS without saying how many it counts.
pub const OPERATIONS: f64 = 11.0;

/// Everything that was measured and predicted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Kept {
    pub cpu: String,
    pub threads: usize,
    pub repeat: u32,
    pub machines: Vec<About>,
    pub agreement: Vec<Agreement>,
    /// Absent where no size was large enough.
    pub sampling: Option<Sampling>,
    pub stages: Stages,
    pub sizes: Vec<Size>,
    pub parts: Vec<PartRow>,
    pub published: Vec<Published>,
    pub gpu: Option<Gpu>,
    pub gumerov: Vec<Gumerov>,
    pub haney: Vec<Haney>,
}

/// A device of the figures in words.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct About {
    pub name: String,
    pub lanes: String,
    /// Of P2P, on all boards.
    pub p2p_lanes: u32,
    pub mhz: f64,
    pub link: String,
}

/// Clocks of an engine in its simulated Verilog, and in the model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Agreement {
    pub kernel: String,
    pub n: usize,
    pub leaf: usize,
    pub pairs: u64,
    pub counted: u64,
    pub modelled: u64,
}

impl Agreement {
    /// The part of the clocks that the model is off by.
    pub fn off(&self) -> f64 {
        self.modelled as f64 / self.counted as f64 - 1.0
    }
}

/// How far seconds from a part of the work, taken as often, are off those from all of it, at most.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sampling {
    pub n: usize,
    /// Of both stages of any device: the greatest part by which they are off.
    pub off: f64,
}

/// Fig. 5.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stages {
    pub n: usize,
    pub leaf: usize,
    pub levels: usize,
    pub p2p_pairs: u64,
    pub m2l_pairs: u64,
    /// On the CPU, with all its threads.
    pub cpu: CpuStages,
    pub devices: Vec<Offloaded>,
}

/// Seconds of the stages on the CPU.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CpuStages {
    pub tree: f64,
    pub p2m: f64,
    pub m2m: f64,
    pub m2l: f64,
    pub l2l: f64,
    pub l2p: f64,
    pub p2p: f64,
    pub total: f64,
}

impl From<&Seconds> for CpuStages {
    fn from(s: &Seconds) -> CpuStages {
        let Seconds { tree, p2m, m2m, m2l, l2l, l2p, p2p, total, .. } = *s;
        CpuStages { tree, p2m, m2m, m2l, l2l, l2p, p2p, total }
    }
}

impl CpuStages {
    /// The work left to the CPU where a device has P2P and M2L.
    pub fn rest(&self) -> f64 {
        self.total - self.p2p - self.m2l
    }
}

/// Predicted seconds of both stages on a device, until the last result is back, and bytes over its links.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Offloaded {
    pub name: String,
    pub p2p: f64,
    pub m2l: f64,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

/// A device that one might buy, with both stages of Fig. 5 on it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PartRow {
    pub summary: String,
    pub about: About,
    /// Of the card at most, where its vendor states it.
    pub watts: Option<f64>,
    pub used: Offloaded,
}

impl PartRow {
    /// Seconds of both stages, which run at the same time.
    pub fn seconds(&self) -> f64 {
        self.used.p2p.max(self.used.m2l)
    }

    /// Pairs a second with every lane of P2P busy.
    pub fn peak(&self) -> f64 {
        self.about.p2p_lanes as f64 * self.about.mhz * 1e6
    }
}

/// A published machine's pairs a second, and what the rules give for it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Published {
    pub what: String,
    pub published: f64,
    pub by_rule: f64,
}

/// A number of particles, in Figs. 6 and 7.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Size {
    pub n: usize,
    pub depths: Vec<Depth>,
    /// Direct summation on the CPU; by its square law where it would take too long.
    pub direct: f64,
    pub is_law: bool,
}

/// A depth of the tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Depth {
    pub depth: u32,
    pub leaf: usize,
    pub p2p_pairs: u64,
    pub cpu: CpuStages,
    /// Devices with one stage at a time, of which P2P counts, and with both at the same time.
    pub by_stage: Vec<Offloaded>,
    pub together: Vec<Offloaded>,
}

impl Depth {
    /// Seconds of the whole FMM with P2P and M2L on a device of Fig. 6.
    pub fn with(&self, name: &str) -> f64 {
        self.together.iter().find(|d| d.name == name).map_or(f64::NAN, |d| self.cpu.rest() + d.p2p.max(d.m2l))
    }
}

impl Size {
    /// The depth with the shortest time of a device, or of the CPU alone.
    pub fn best(&self, device: Option<&str>) -> (&Depth, f64) {
        let seconds = |d: &Depth| device.map_or(d.cpu.total, |name| d.with(name));
        let best = self.depths.iter().min_by(|a, b| seconds(a).total_cmp(&seconds(b))).expect("there are depths");
        (best, seconds(best))
    }

    /// Pairs a second of P2P alone, in the tree that is best with a device of Fig. 6.
    pub fn p2p(&self, together: &str, by_stage: Option<&str>) -> f64 {
        let depth = self.best(Some(together)).0;
        let seconds = match by_stage {
            Some(name) => depth.by_stage.iter().find(|d| d.name == name).map(|d| d.p2p),
            None => depth.together.iter().find(|d| d.name == together).map(|d| d.p2p),
        };
        depth.p2p_pairs as f64 / seconds.unwrap_or(f64::NAN)
    }

    /// The same of the CPU.
    pub fn p2p_cpu(&self) -> f64 {
        let depth = self.best(None).0;
        depth.p2p_pairs as f64 / depth.cpu.p2p
    }
}

/// P2P on a GPU, of a file that `bench cuda --json` has written.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Gpu {
    pub device: String,
    pub points: Vec<GpuPoint>,
    /// Whole FMMs and their P2P.
    pub fmm: Vec<GpuFmm>,
}

/// P2P alone.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GpuPoint {
    pub what: String,
    pub n: usize,
    pub pairs: u64,
    pub pairs_per_second: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GpuFmm {
    pub n: usize,
    pub seconds: f64,
    pub p2p: f64,
}

/// A row of Gumerov and Duraiswami's table: P2P of an FMM, theirs and on one thread and all.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Gumerov {
    pub n: usize,
    pub p2p_one: f64,
    pub p2p_all: f64,
    pub fmm_all: f64,
}

/// A row of Haney's: all pairs of so many particles on the CPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Haney {
    pub n: usize,
    pub seconds: f64,
}

/// The keys of `bench cuda --json` that are read.
#[derive(Deserialize)]
struct Cuda {
    device: String,
    figures: Vec<Figure>,
    #[serde(default)]
    sizes: Vec<Figure>,
    #[serde(default)]
    fmm: Vec<CudaFmm>,
}

#[derive(Deserialize)]
struct Figure {
    what: String,
    n: usize,
    pairs: u64,
    pairs_per_second: f64,
}

#[derive(Deserialize)]
struct CudaFmm {
    n: usize,
    gpu_seconds: f64,
    stages: P2p,
}

#[derive(Deserialize)]
struct P2p {
    p2p: f64,
}

impl Gpu {
    /// The figures of a file.
    pub fn read(path: &Path) -> Result<Gpu, Failure> {
        let make = "; make it with `pairforge bench cuda --json FIGURES.json`";
        let text = input::text(path, make)?;
        let Cuda { device, figures, sizes, fmm } = serde_json::from_str(&text)
            .map_err(|e| Failure::file(path, format!("has not the figures of a GPU: {e}{make}")))?;
        let point = |f: Figure| GpuPoint { what: f.what, n: f.n, pairs: f.pairs, pairs_per_second: f.pairs_per_second };
        let points = sizes.into_iter().chain(figures).map(point).collect();
        let row = |f: CudaFmm| GpuFmm { n: f.n, seconds: f.gpu_seconds, p2p: f.stages.p2p };
        Ok(Gpu { device, points, fmm: fmm.into_iter().map(row).collect() })
    }
}

impl Kept {
    /// The figures that an earlier run has kept.
    pub fn read(path: &Path) -> Result<Kept, Failure> {
        let make = "; make it with `pairforge bench paper -o DIR`";
        let text = input::text(path, make)?;
        serde_json::from_str(&text)
            .map_err(|e| Failure::file(path, format!("is not what this benchmark writes: {e}{make}")))
    }
}
