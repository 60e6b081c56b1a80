//! The text of all kernels of an FMM on the GPU, for a P2P kernel, an order and a precision.

use crate::cuda::p2p::Number;
use fmm::expansion::solid::dense::Dense;
use pg2::backend::cuda::p2p::{Names, Real, TILE, Unfit, pair};
use pg2::backend::cuda::prelude;
use pg2::graph::Graph;

const TEXTS: [&str; 11] = [
    TILE,
    include_str!("../../../templates/scan.cu"),
    include_str!("../../../templates/fmm/common.cu"),
    include_str!("../../../templates/fmm/periodic.cu"),
    include_str!("../../../templates/fmm/tree.cu"),
    include_str!("../../../templates/fmm/harmonics.cu"),
    include_str!("../../../templates/fmm/expansions.cu"),
    include_str!("../../../templates/fmm/copies.cu"),
    include_str!("../../../templates/fmm/m2l.cu"),
    include_str!("../../../templates/fmm/near.cu"),
    include_str!("../../../templates/fmm/made.cu"),
];

/// The texts of the adaptive tree.
const ADAPTIVE: [&str; 11] = [
    TILE,
    include_str!("../../../templates/scan.cu"),
    include_str!("../../../templates/fmm/adaptive/common.cu"),
    include_str!("../../../templates/fmm/periodic.cu"),
    include_str!("../../../templates/fmm/adaptive/sort.cu"),
    include_str!("../../../templates/fmm/adaptive/tree.cu"),
    include_str!("../../../templates/fmm/adaptive/lists.cu"),
    include_str!("../../../templates/fmm/harmonics.cu"),
    include_str!("../../../templates/fmm/adaptive/expansions.cu"),
    concat!(include_str!("../../../templates/fmm/copies.cu"), include_str!("../../../templates/fmm/adaptive/m2l.cu")),
    include_str!("../../../templates/fmm/adaptive/near.cu"),
];

/// The further text of periodic boundaries, behind those that both trees begin with: as many as these.
const IMAGES: &str = include_str!("../../../templates/fmm/images.cu");
const BEFORE_IMAGES: usize = 4;

/// The further text of f32.
const ASK: &str = include_str!("../../../templates/fmm/ask.cu");

/// Shared memory of a block without asking for more, and what a multiprocessor has for all its blocks.
const SHARED_MEMORY: usize = 48 << 10;
const ALL_SHARED_MEMORY: usize = 200 << 10;
const REGISTERS: usize = 64 << 10;

/// Targets and threads along them of a block of M2L, as in the text.
const CELLS: usize = 64;
const GROUPS: usize = 16;

/// The division of the work. Measured on an H200; see docs/results/gpu.md.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    pub terms: usize,
    /// Numbers from one expansion to the next, and the parts of it that M2L takes one after the other.
    pub pitch: usize,
    chunks: usize,
    /// Blocks of M2L that a multiprocessor is to hold.
    m2l_blocks: usize,
    /// Parents of a block of M2M and L2L.
    pub families: usize,
    /// Of P2P: threads of a block, targets of a thread, and blocks of a multiprocessor.
    pub threads: usize,
    shared: usize,
    blocks: usize,
}

/// Shared memory of M2L for the targets of a block, and with an adaptive tree for the colleagues of their parents too.
const TARGETS: usize = CELLS * 16;
const AROUND: usize = 27 * CELLS * 5 + CELLS * 4 + 27 * 4 + 256;

impl Shape {
    pub fn new(order: usize, real: Real) -> Shape {
        Shape::beside(order, real, TARGETS)
    }

    /// The division of the work in an adaptive tree.
    pub fn adaptive(order: usize, real: Real) -> Shape {
        Shape::beside(order, real, AROUND)
    }

    /// The same where M2L needs so many bytes of shared memory besides matrices and sources.
    fn beside(order: usize, real: Real, rest: usize) -> Shape {
        let bytes = if real == Real::F32 { 4 } else { 8 };
        let (terms, vector) = ((order + 1) * (order + 1), 16 / bytes);
        let chunk = |chunks: usize| terms.div_ceil(chunks).next_multiple_of(vector);
        // Two buffers of the matrix and the sources, in rows of an odd number of vectors.
        let room = |chunks: usize| 2 * bytes * (terms + CELLS) * ((chunk(chunks) / vector) | 1) * vector + rest;
        let chunks = (1..=terms).find(|chunks| room(*chunks) <= SHARED_MEMORY).unwrap_or(terms);
        let sums = (order + 1) * CELLS / GROUPS;
        let registers = (sums + 20) * bytes / 4 + 40;
        let by_registers = REGISTERS / (registers * GROUPS * (order + 1)).next_multiple_of(32 * registers);
        let (threads, shared, blocks) = if real == Real::F32 { (96, 2, 10) } else { (128, 1, 4) };
        Shape {
            terms,
            pitch: chunk(chunks) * chunks,
            chunks,
            m2l_blocks: (ALL_SHARED_MEMORY / room(chunks)).min(by_registers).clamp(1, 6),
            families: if order <= 7 { 4 } else { 2 },
            threads,
            shared,
            blocks,
        }
    }

    /// Targets that a block of P2P takes at most.
    pub fn targets(&self) -> usize {
        self.threads * self.shared
    }
}

/// All kernels in one text, for free or periodic boundaries.
pub fn text<T: Number>(graph: &Graph, dense: &Dense, shape: &Shape, is_periodic: bool) -> Result<String, Unfit> {
    let ask = if T::REAL == Real::F32 { ASK } else { "" };
    with_tables::<T>(graph, dense, shape, is_periodic, joined(&TEXTS, is_periodic) + ask)
}

/// All kernels of the adaptive tree in one text.
pub fn adaptive<T: Number>(graph: &Graph, dense: &Dense, shape: &Shape, is_periodic: bool) -> Result<String, Unfit> {
    with_tables::<T>(graph, dense, shape, is_periodic, joined(&ADAPTIVE, is_periodic))
}

fn joined(texts: &[&str], is_periodic: bool) -> String {
    let (before, behind) = texts.split_at(BEFORE_IMAGES);
    before.concat() + if is_periodic { IMAGES } else { "" } + &behind.concat()
}

/// Texts behind the pair functions and the tables that they need.
fn with_tables<T: Number>(
    graph: &Graph,
    dense: &Dense,
    shape: &Shape,
    is_periodic: bool,
    texts: String,
) -> Result<String, Unfit> {
    let names = &Names::USUAL;
    let (own, wide) = (pair(graph, names, T::REAL)?, pair(graph, names, Real::F64)?);
    let numbers = |of: &[f64]| of.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(", ");
    let steps: Vec<String> = dense.steps.iter().map(|s| format!("{{{}}}", numbers(s))).collect();
    let most = dense.slopes.iter().flatten().map(Vec::len).max().unwrap_or(0).max(1);
    let defines = [
        ("SINGLE", (T::REAL == Real::F32) as usize),
        ("PERIODIC", is_periodic as usize),
        ("ORDER", dense.order),
        ("PITCH", shape.pitch),
        ("CHUNKS", shape.chunks),
        ("LISTED", dense.lists[0].len()),
        ("SLOPES", most),
        ("FAMILIES", shape.families),
        ("M2L_BLOCKS", shape.m2l_blocks),
        ("THREADS", shape.threads),
        ("SHARED", shape.shared),
        ("UNROLL", 8),
        ("UNROLL_GUARDED", 2),
        ("TILE", 1024),
        ("BLOCKS", shape.blocks),
        ("MOST_TARGETS", shape.targets()),
    ];
    let defines: String = defines.iter().map(|(name, value)| format!("#define {name} {value}\n")).collect();
    let tables = format!(
        "__constant__ Real SECTORS[] = {{{}}};\n__constant__ Real STEPS[][2] = {{{}}};\n",
        numbers(&dense.sectors),
        steps.join(", ")
    );
    Ok(format!("{}\nnamespace wide {{\n{wide}}}\n{own}\n{defines}{tables}{texts}", prelude()))
}
