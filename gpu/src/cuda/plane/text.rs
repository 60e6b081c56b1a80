//! The texts of the kernels: those of the mesh and its lists, and those of the stages for a kernel and an order.

use pg2::backend::cuda::prelude;

const COMMON: &str = include_str!("../../../templates/plane/common.cu");
const MESH: [&str; 5] = [
    include_str!("../../../templates/scan.cu"),
    include_str!("../../../templates/plane/sort.cu"),
    include_str!("../../../templates/plane/split.cu"),
    include_str!("../../../templates/plane/boxes.cu"),
    include_str!("../../../templates/plane/lists.cu"),
];
const STAGES: [&str; 3] = [
    include_str!("../../../templates/plane/expansions.cu"),
    include_str!("../../../templates/plane/m2l.cu"),
    include_str!("../../../templates/plane/near.cu"),
];

/// Points of a tile, and bins of a histogram, as in the text.
pub(super) const TILE: usize = 2048;
pub(super) const BINS: usize = 2048;

/// The parameters that the kernels are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// p of (2.2) and (2.3).
    pub order: usize,
    /// log |z_i - z_j| and its gradient, and not 1 / (z_j - z_i).
    pub is_log: bool,
    /// Whether strengths have imaginary parts.
    pub is_complex: bool,
    /// Points of the segments that one block splits to the end.
    pub many: usize,
}

/// Bins in which a block ranks points, as in the text, and what it needs of shared memory for other things.
const RANK_BINS: usize = 8192;
const OTHER_MEMORY: usize = 4 << 10;

impl Shape {
    /// For GPUs whose blocks have so many bytes of shared memory at most.
    pub fn new(order: usize, is_log: bool, is_complex: bool, memory: usize) -> Shape {
        // With more points to a thread its registers do not hold them.
        let many = (memory.saturating_sub(4 * RANK_BINS + OTHER_MEMORY) / 12 / 1024 * 1024).clamp(1024, 12288);
        Shape { order, is_log, is_complex, many }
    }

    /// The bytes of shared memory in which a block splits its segment.
    pub(super) fn split_memory(&self) -> usize {
        4 * (3 * self.many + RANK_BINS)
    }

    /// Numbers of an expansion.
    pub(super) fn stride(&self) -> usize {
        2 * (self.order + 1)
    }

    /// Numbers of a result.
    pub(super) fn columns(&self) -> usize {
        if self.is_log { 3 } else { 2 }
    }
}

/// The kernels that find boxes and lists.
pub fn mesh_text(shape: &Shape) -> String {
    let defines = format!("#define MANY {}\n", shape.many);
    [&prelude(), defines.as_str(), COMMON, &MESH.concat()].concat()
}

/// The kernels of all stages behind these.
pub fn stages_text(shape: &Shape) -> String {
    let Shape { order, is_log, is_complex, .. } = shape;
    let defines = [("ORDER", *order), ("LOG", *is_log as usize), ("COMPLEX", *is_complex as usize)];
    let defines: String = defines.iter().map(|(name, value)| format!("#define {name} {value}\n")).collect();
    [&prelude(), defines.as_str(), COMMON, &STAGES.concat()].concat()
}

/// The rows 0 to `order` of Pascal's triangle, one behind the other.
pub(super) fn binomials(order: usize) -> Vec<f64> {
    let mut all: Vec<f64> = vec![1.0];
    for n in 1..=order {
        let before = all.len() - n;
        let row: Vec<f64> =
            (0..=n).map(|k| if k == 0 || k == n { 1.0 } else { all[before + k - 1] + all[before + k] }).collect();
        all.extend(row);
    }
    all
}
