//! The text of all kernels of an FMM on the GPU, for a P2P kernel, an order and a precision.

use super::MOST_ORDER;
use crate::cuda::gpu_device::Size;
use crate::cuda::p2p::Number;
use fmm::expansion::basis;
use fmm::expansion::chebyshev::dense::operators;
use fmm::expansion::solid::dense::Dense;
use fmm::octree::options::Wanted;
use fmm::tree::lists::reach;
use pg2::backend::cuda::p2p::{Names, Real, TILE, Unfit, pair, pair_of_differences};
use pg2::backend::cuda::prelude;
use pg2::graph::{Graph, PinClass};

/// A template of the kernels.
macro_rules! template {
    ($name:literal) => {
        include_str!(concat!("../../../templates/fmm/", $name))
    };
}

/// Both texts begin so.
const FIRST: [&str; 2] = [template!("sums.cu"), include_str!("../../../templates/scan.cu")];

const TEXTS: [&str; 7] = [
    template!("periodic.cu"),
    template!("tree.cu"),
    template!("slopes.cu"),
    template!("dipoles.cu"),
    template!("expansions.cu"),
    template!("copies.cu"),
    template!("targets.cu"),
];

/// Kernels that go over cells, up to [`MOST_NARROW`] and above.
const NARROW: [&str; 3] = [template!("shifts.cu"), template!("block.cu"), template!("m2l.cu")];
const WIDE: [&str; 2] = [template!("products.cu"), template!("wide.cu")];

const NEAR: [&str; 3] = [template!("p2p.cu"), template!("near.cu"), template!("made.cu")];

/// The texts of the adaptive tree.
const ADAPTIVE: [&str; 11] = [
    template!("periodic.cu"),
    template!("adaptive/sort.cu"),
    template!("adaptive/tree.cu"),
    template!("adaptive/lists.cu"),
    template!("slopes.cu"),
    template!("dipoles.cu"),
    template!("adaptive/expansions.cu"),
    template!("copies.cu"),
    template!("adaptive/frames.cu"),
    template!("p2p.cu"),
    template!("adaptive/near.cu"),
];

const ADAPTIVE_NARROW: [&str; 4] = [
    template!("adaptive/shifts.cu"),
    template!("adaptive/targets.cu"),
    template!("block.cu"),
    template!("adaptive/m2l.cu"),
];
const ADAPTIVE_WIDE: [&str; 3] =
    [template!("products.cu"), template!("adaptive/targets.cu"), template!("adaptive/wide.cu")];

/// The beginnings of the texts of both trees, and the further text of periodic boundaries behind it.
const COMMON: [&str; 2] = [template!("common.cu"), template!("adaptive/common.cu")];
const IMAGES: &str = template!("images.cu");

/// The functions of an expansion, and what follows from which it is.
const HARMONICS: &str = template!("harmonics.cu");
const CHEBYSHEV: &str = template!("chebyshev.cu");
const OF_ALL: [&str; 2] = [template!("warp_sums.cu"), template!("setting.cu")];
const MATRICES: &str = template!("matrices.cu");

/// The further text of f32.
const ASK: &str = template!("ask.cu");

/// Shared memory of a block without asking for more, and what a multiprocessor has for all its blocks.
const SHARED_MEMORY: usize = 48 << 10;
const ALL_SHARED_MEMORY: usize = 200 << 10;
const REGISTERS: usize = 64 << 10;

/// Targets of a block of M2L, its buffers and rows of a tile as in the text, and tiles along rows that a warp has at most.
const CELLS: usize = 64;
const M2L_BUFFERS: usize = 2;

const ROWS_OF_TILE: usize = 8;
const MOST_TILES: usize = 5;

/// The highest order whose kernels have a term or more in the registers of each thread, with loops over terms unrolled. Above, products
/// of matrices are made in tiles, for which multipliers of matrices are used where a GPU has them.
pub const MOST_NARROW: usize = 10;

/// Threads of a block of these products, columns that it has in shared memory at a time, and numbers from one row to the next there, as in
/// the text.
const PRODUCT_THREADS: u32 = 256;
const COLUMNS: usize = 8;
const LINE: usize = 12;

/// The kernels that make products.
pub const PRODUCTS: [&str; 3] = ["m2m", "m2l", "l2l"];

/// Shared memory of two blocks of them, beside what the text names, and buffers of columns at most.
const PRODUCT_MEMORY: usize = 200 << 10;
const MOST_BUFFERS: usize = 5;

/// The division of the work. Measured on an H200; see docs/results/gpu.md.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    pub basis: Basis,
    pub terms: usize,
    /// Numbers from one expansion to the next, and the parts of it that M2L takes one after the other.
    pub pitch: usize,
    chunks: usize,
    /// Warps of a block of M2L along rows, and the tiles of each.
    row_warps: usize,
    row_tiles: usize,
    /// Its tiles along cells.
    cell_tiles: usize,
    /// Blocks of M2L that a multiprocessor is to hold.
    m2l_blocks: usize,
    /// Parents of a block of M2M and L2L.
    pub families: usize,
    /// Of P2P: threads of a block, targets of a thread, fewest and most, and blocks of a multiprocessor.
    pub threads: usize,
    shared: [usize; 2],
    blocks: usize,
    /// Above [`MOST_NARROW`], the rows of a block of products.
    tile_rows: Option<usize>,
    /// Its buffers in shared memory that a kernel is given when it starts, and the bytes of each. If there are none, the text has two.
    buffers: usize,
    buffer: usize,
    /// Warps of a block of L2P, and of M2P.
    l2p_warps: usize,
    m2p_warps: usize,
    /// The results and inputs besides charges, potential and gradient.
    pub wanted: Wanted,
}

/// Results of a target with second derivatives, in numbers.
const RESULTS_HESSIAN: usize = 12;

/// Targets of M2P that a warp takes at a time.
const TOGETHER: usize = 32;

/// Shared memory of M2L for the targets of a block, and with an adaptive tree for the colleagues of their parents too.
const TARGETS: usize = CELLS * 24;
const AROUND: usize = 27 * CELLS * 5 + CELLS * 12 + 27 * 4 + 256;

/// The functions that potentials are expanded in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Basis {
    /// Solid harmonics, for 1/r.
    #[default]
    Harmonics,
    /// Products of Chebyshev polynomials, for any kernel.
    Chebyshev,
    /// The same for softened 1/r, whose P2P is that of 1/r.
    Softened,
}

impl Basis {
    pub fn terms(self, order: usize) -> usize {
        match self {
            Basis::Harmonics => (order + 1) * (order + 1),
            Basis::Chebyshev | Basis::Softened => basis::terms(order),
        }
    }

    /// Whether matrices of M2L are those of a kernel on a level, which runs bring.
    pub fn is_of_kernel(self) -> bool {
        self != Basis::Harmonics
    }
}

impl Shape {
    pub fn new(basis: Basis, order: usize, real: Real) -> Shape {
        Shape::beside(basis, order, real, TARGETS)
    }

    /// The division of the work in an adaptive tree.
    pub fn adaptive(basis: Basis, order: usize, real: Real) -> Shape {
        Shape::beside(basis, order, real, AROUND)
    }

    /// The same where M2L needs so many bytes of shared memory besides matrices and sources.
    fn beside(basis: Basis, order: usize, real: Real, rest: usize) -> Shape {
        let bytes = if real == Real::F32 { 4 } else { 8 };
        let terms = basis.terms(order);
        let chunk = |chunks: usize| terms.div_ceil(chunks).next_multiple_of(4);
        let tiles = terms.div_ceil(ROWS_OF_TILE);
        let row_warps = tiles.div_ceil(MOST_TILES);
        let row_tiles = tiles.div_ceil(row_warps);
        // Buffers of the matrix and the sources, in rows of an odd number of fours.
        let rows = ROWS_OF_TILE * row_tiles * row_warps + CELLS;
        let room = |chunks: usize| M2L_BUFFERS * bytes * rows * ((chunk(chunks) / 4) | 1) * 4 + rest;
        let chunks = (1..=terms).find(|chunks| room(*chunks) <= SHARED_MEMORY).unwrap_or(terms);
        let (shared, blocks, cell_tiles) = if real == Real::F32 { ([3, 5], 16, 2) } else { ([2, 4], 8, 1) };
        // A thread's sums, of which f32 has two, and what it multiplies.
        let registers = 8 * cell_tiles * row_tiles + 72;
        let by_registers = REGISTERS / (registers * 2 * CELLS / cell_tiles * row_warps);
        let is_wide = order > MOST_NARROW;
        let tile_rows = is_wide.then(|| if padded(terms, 128) <= 1.1 * padded(terms, 64) { 128 } else { 64 });
        Shape {
            basis,
            terms,
            pitch: if is_wide { terms.next_multiple_of(COLUMNS) } else { chunk(chunks) * chunks },
            chunks,
            row_warps,
            row_tiles,
            cell_tiles,
            m2l_blocks: (ALL_SHARED_MEMORY / room(chunks)).min(by_registers).clamp(1, 8),
            families: if terms <= 64 { 4 } else { 2 },
            threads: 64,
            shared,
            blocks,
            tile_rows,
            buffers: 0,
            buffer: bytes * LINE * (tile_rows.unwrap_or(0) + CELLS),
            l2p_warps: warps(4, 4 * bytes * terms),
            m2p_warps: warps(8, 4 * bytes * (terms + TOGETHER)),
            wanted: Wanted::default(),
        }
    }

    /// The same for other results and inputs, whose sums take more registers.
    pub fn with_wanted(self, wanted: Wanted, real: Real) -> Shape {
        if wanted == Wanted::default() {
            return self;
        }
        let (bytes, blocks) = if real == Real::F32 { (4, 5) } else { (8, 3) };
        let shape = Shape { threads: 128, shared: [1, 1], blocks, wanted, ..self };
        let term = shape.results() * bytes;
        let (l2p_warps, m2p_warps) = (warps(4, term * self.terms), warps(8, term * (self.terms + TOGETHER)));
        Shape { l2p_warps, m2p_warps, ..shape }
    }

    /// The highest order of which a warp's factors of second derivatives, and the sums of dipoles, fit into shared memory.
    pub fn most_order(wanted: Wanted, real: Real) -> usize {
        let bytes = if real == Real::F32 { 4 } else { 8 };
        let terms = |order: usize| (order + 1) * (order + 1);
        let fits = |order: &usize| {
            let of_hessian = RESULTS_HESSIAN * (terms(*order) + TOGETHER);
            // Four warps have sums, those along an axis, and a copy of these.
            let of_dipoles = 3 * 4 * terms(*order);
            let numbers = [(wanted.hessian, of_hessian), (wanted.dipoles, of_dipoles)];
            numbers.iter().all(|(is_wanted, numbers)| !is_wanted || numbers * bytes <= SHARED_MEMORY)
        };
        (1..=MOST_ORDER).rev().find(fits).unwrap_or(1)
    }

    /// Numbers of a sorted particle, and the most of it, of its results, and of what other GPUs give of it.
    pub fn record(&self) -> usize {
        if self.wanted.dipoles { 8 } else { 4 }
    }

    pub fn width(&self) -> usize {
        self.record().max(self.results())
    }

    /// Numbers from the results of one target to those of the next: with second derivatives there are ten, and two that align them.
    pub fn results(&self) -> usize {
        if self.wanted.hessian { RESULTS_HESSIAN } else { 4 }
    }

    /// The same with as many buffers as a GPU has shared memory for, given what a block can have.
    pub fn with_memory(self, bytes: usize) -> Shape {
        let fitting = |rest: usize| (bytes.min(PRODUCT_MEMORY / 2).saturating_sub(rest)) / self.buffer;
        let buffers = fitting(AROUND).min(MOST_BUFFERS);
        Shape { buffers: if self.is_wide() && buffers > 2 { buffers } else { 0 }, ..self }
    }

    /// The shared memory that a kernel is given besides what its text names.
    pub fn memory_of(&self, kernel: &str) -> usize {
        if PRODUCTS.contains(&kernel) { self.buffers * self.buffer } else { 0 }
    }

    /// Whether products are made in tiles, whose operators are tables by rows.
    pub fn is_wide(&self) -> bool {
        self.tile_rows.is_some()
    }

    /// The tables of an order, for cells that are near below `near2`.
    pub fn dense(&self, order: usize, near2: u64, lower_beyond: Option<f64>) -> Dense {
        match self.is_wide() {
            _ if self.basis.is_of_kernel() => operators(order, near2),
            true => Dense::of_derivatives(order, near2, lower_beyond),
            false => Dense::mixed(order, near2, lower_beyond),
        }
    }

    /// M2L of so many tiles of 64 cells.
    pub fn m2l(&self, tiles: usize) -> Size {
        match self.tile_rows {
            Some(rows) => Size { blocks: (tiles * self.terms.div_ceil(rows)) as u32, threads: PRODUCT_THREADS },
            None => Size { blocks: tiles as u32, threads: (2 * CELLS / self.cell_tiles * self.row_warps) as u32 },
        }
    }

    /// M2M of so many cells in a tree of one depth.
    pub fn m2m(&self, cells: usize) -> Size {
        match self.tile_rows {
            Some(_) => self.m2l(cells.div_ceil(CELLS)),
            None => self.family(cells),
        }
    }

    /// L2L to the children of so many cells there.
    pub fn l2l(&self, cells: usize) -> Size {
        match self.tile_rows {
            Some(_) => self.m2l(8 * cells.div_ceil(CELLS)),
            // Those in one octant a block.
            None => Size { blocks: 8 * self.family(cells).blocks, ..self.family(cells) },
        }
    }

    fn family(&self, cells: usize) -> Size {
        Size { blocks: cells.div_ceil(self.families) as u32, threads: (self.terms * self.families) as u32 }
    }

    /// M2M of the cells of a level in an adaptive tree.
    pub fn m2m_of_level(&self, cells: usize) -> Size {
        match self.tile_rows {
            Some(_) => self.m2l(cells.div_ceil(CELLS)),
            None => Size::new(cells, self.octants() * self.terms),
        }
    }

    /// Children of a block of M2M and L2L there at a time.
    fn octants(&self) -> usize {
        [8, 4, 2].into_iter().find(|octants| octants * self.terms <= 1024).unwrap_or(1)
    }

    /// L2L to their children.
    pub fn l2l_of_level(&self, cells: usize) -> Size {
        match self.tile_rows {
            Some(_) => self.m2l(8 * cells.div_ceil(CELLS)),
            None => Size::new(cells, self.octants() * self.terms),
        }
    }

    /// L2P of so many leaves, and M2P.
    pub fn l2p(&self, leaves: usize) -> Size {
        Size::new(leaves.div_ceil(self.l2p_warps), 32 * self.l2p_warps)
    }

    pub fn m2p(&self, leaves: usize) -> Size {
        Size::new(leaves, 32 * self.m2p_warps)
    }

    /// Targets that a block of P2P takes at most.
    pub fn targets(&self) -> usize {
        self.threads * self.shared[1]
    }
}

/// The terms of a potential that derivatives along each axis are made of, with factors, for each of their terms; with dipoles, behind
/// them the same by the terms of the potential.
pub struct Slopes {
    pub rows: Vec<Vec<(usize, f64)>>,
    /// The most of a row; at least 1.
    pub most: usize,
}

impl Slopes {
    pub fn new(dense: &Dense, wanted: Wanted) -> Slopes {
        let mut rows: Vec<_> = dense.slopes.iter().flatten().cloned().collect();
        if wanted.dipoles {
            let terms = dense.slopes[0].len();
            for slopes in &dense.slopes {
                let mut turned = vec![Vec::new(); terms];
                for (of, entries) in slopes.iter().enumerate() {
                    entries.iter().for_each(|(term, factor)| turned[*term].push((of, *factor)));
                }
                rows.extend(turned);
            }
        }
        let most = rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
        Slopes { rows, most }
    }
}

/// Warps of a block that have so many bytes of shared memory each: a power of two, at most `most`.
fn warps(most: usize, bytes: usize) -> usize {
    [8, 4, 2].into_iter().find(|warps| *warps <= most && warps * bytes <= SHARED_MEMORY).unwrap_or(1)
}

/// Numbers of rows that come in parts of so many.
fn padded(terms: usize, rows: usize) -> f64 {
    terms.next_multiple_of(rows) as f64
}

/// All kernels in one text, for free or periodic boundaries.
pub fn text<T: Number>(graph: &Graph, dense: &Dense, shape: &Shape, is_periodic: bool) -> Result<String, Unfit> {
    let ask = if T::REAL == Real::F32 { ASK } else { "" };
    let cells = if shape.is_wide() { WIDE.concat() } else { NARROW.concat() };
    let texts = joined(shape, COMMON[0], &TEXTS, is_periodic) + &cells + &NEAR.concat() + ask;
    with_tables::<T>(graph, dense, shape, is_periodic, texts)
}

/// All kernels of the adaptive tree in one text.
pub fn adaptive<T: Number>(graph: &Graph, dense: &Dense, shape: &Shape, is_periodic: bool) -> Result<String, Unfit> {
    let cells = if shape.is_wide() { ADAPTIVE_WIDE.concat() } else { ADAPTIVE_NARROW.concat() };
    with_tables::<T>(graph, dense, shape, is_periodic, joined(shape, COMMON[1], &ADAPTIVE, is_periodic) + &cells)
}

/// The text of a tree, of which the first part says what periodic boundaries are.
fn joined(shape: &Shape, common: &str, texts: &[&str], is_periodic: bool) -> String {
    let (first, rest) = texts.split_first().expect("there are some");
    let (functions, matrices) = match shape.basis {
        Basis::Harmonics => (HARMONICS, ""),
        Basis::Chebyshev | Basis::Softened => (CHEBYSHEV, MATRICES),
    };
    let images = if is_periodic { IMAGES } else { "" };
    [common, first, images, functions, &OF_ALL.concat(), &rest.concat(), matrices].concat()
}

/// Definitions that follow from the functions of the expansion.
fn of_basis(graph: &Graph, dense: &Dense, shape: &Shape) -> Vec<(&'static str, String)> {
    let below = |degrees: usize| dense.order.checked_sub(degrees).map_or(0, |order| shape.basis.terms(order));
    let (is_box, is_own) = (shape.basis.is_of_kernel(), shape.basis == Basis::Chebyshev);
    let first =
        if is_box { format!("((int)((level) - (PERIODIC ? 1 : 2)) * {})", dense.offsets.len()) } else { "0".into() };
    vec![
        ("BLACK_BOX", (is_own as usize).to_string()),
        ("BASIS", if is_box { "polynomials" } else { "harmonics" }.into()),
        ("POTENTIAL_UNIT(side)", if is_box { "(Real)1" } else { "side" }.into()),
        // Of a level among the matrices of M2L.
        ("FIRST_MATRIX(level)", first),
        ("TERMS", shape.terms.to_string()),
        ("SLOPE_TERMS", below(1).to_string()),
        ("BEND_TERMS", below(2).to_string()),
        ("PARAMETERS", graph.elements_of(PinClass::Param).len().to_string()),
        ("OCTANTS", shape.octants().to_string()),
    ]
}

/// Texts behind the pair functions and the tables that they need.
fn with_tables<T: Number>(
    graph: &Graph,
    dense: &Dense,
    shape: &Shape,
    is_periodic: bool,
    texts: String,
) -> Result<String, Unfit> {
    // The pair functions of P2P.
    let of = if shape.basis == Basis::Chebyshev { pair_of_differences } else { pair };
    let (own, wide) = (of(graph, &Names::USUAL, T::REAL)?, of(graph, &Names::USUAL, Real::F64)?);
    let numbers = |of: &[f64]| of.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(", ");
    let steps: Vec<String> = dense.steps.iter().map(|s| format!("{{{}}}", numbers(s))).collect();
    let defines = [
        ("SINGLE", (T::REAL == Real::F32) as usize),
        ("PERIODIC", is_periodic as usize),
        ("HESSIAN", shape.wanted.hessian as usize),
        ("DIPOLES", shape.wanted.dipoles as usize),
        ("ORDER", dense.order),
        ("NEAR2", dense.near2 as usize),
        ("REACH", reach(dense.near2) as usize),
        ("PITCH", shape.pitch),
        ("CHUNKS", shape.chunks),
        ("LISTED", dense.lists[0].len()),
        ("SLOPES", Slopes::new(dense, shape.wanted).most),
        ("WIDE", shape.is_wide() as usize),
        ("UNROLL_TERMS", if shape.is_wide() { 1 } else { dense.order + 1 }),
        ("TILE_ROWS", shape.tile_rows.unwrap_or(0)),
        ("AHEAD", shape.buffers.saturating_sub(1)),
        ("L2P_WARPS", shape.l2p_warps),
        ("M2P_WARPS", shape.m2p_warps),
        ("FAMILIES", shape.families),
        ("M2L_BLOCKS", shape.m2l_blocks),
        ("ROW_WARPS", shape.row_warps),
        ("ROW_TILES", shape.row_tiles),
        ("CELL_TILES", shape.cell_tiles),
        ("M2L_BUFFERS", M2L_BUFFERS),
        ("THREADS", shape.threads),
        ("LEAST_SHARED", shape.shared[0]),
        ("SHARED", shape.shared[1]),
        ("UNROLL", 4),
        ("UNROLL_GUARDED", 1),
        ("TILE", 512),
        ("BLOCKS", shape.blocks),
        ("MOST_TARGETS", shape.targets()),
    ];
    let numbered = defines.iter().map(|(name, value)| (*name, value.to_string()));
    let defines: String = numbered
        .chain(of_basis(graph, dense, shape))
        .map(|(name, value)| format!("#define {name} {value}\n"))
        .collect();
    let tables = match shape.basis {
        Basis::Chebyshev | Basis::Softened => String::new(),
        Basis::Harmonics => format!(
            "__constant__ Real SECTORS[] = {{{}}};\n__constant__ Real STEPS[][2] = {{{}}};\n",
            numbers(&dense.sectors),
            steps.join(", ")
        ),
    };
    Ok(format!("{}\nnamespace wide {{\n{wide}}}\n{own}\n{defines}{tables}{TILE}{}{texts}", prelude(), FIRST.concat()))
}
