//! The stages on the CPU. Each box is worked on by one thread in one order, so that results do not depend on the number of
//! threads.

pub use super::wide::far_beyond;

use super::mesh::{Points, first};
use super::mutual::{Left, add_mutual, columns, is_later};
use super::near::{Sources, add_near};
use super::points::{Block, Place, Setting, from_local, from_multipole, to_local, to_multipole};
use super::shift::{self, Ratios, Shift, m2l, shift};
use super::single::{Single, near_single};
use super::state::stride;
use super::{Kernel, Plan, State};
use crate::arith::vector::{Isa, Vectors};
use crate::parallel::prelude::*;
use crate::stages::{Coefficients, Expansions, Stage, Work};
use std::ops::Range;

/// Runs any stage.
pub(super) fn run(stage: Stage, state: &mut State) -> Work {
    if stage == Stage::P2p {
        p2p(state);
        return Work { wide: far_beyond(state.plan, state.charges), ..Work::default() };
    }
    let State { plan, charges, expansions, sums } = state;
    match expansions {
        Expansions::F32(c) => Far { plan, strengths: charges }.run(stage, c, sums),
        Expansions::F64(c) => Far { plan, strengths: charges }.run(stage, c, sums),
    }
    Work::default()
}

/// Finest boxes that a thread takes at a time.
const BOXES: usize = 16;

/// Some finest boxes and the sums at their targets.
pub(super) struct BoxSums<'a> {
    pub boxes: Range<usize>,
    /// The first target of these boxes.
    offset: usize,
    /// Columns of [`Sums`], the potential last.
    columns: [&'a mut [f64]; 3],
}

/// Cuts the sums into those of a few boxes each.
pub(super) fn parts<'a>(targets: &Points, sums: &'a mut super::Sums) -> Vec<BoxSums<'a>> {
    let boxes = targets.start.len() - 1;
    let [a, b] = &mut sums.vector;
    let mut rest = [&mut a[..], &mut b[..], &mut sums.potential[..]];
    let mut parts = Vec::new();
    for begin in (0..boxes).step_by(BOXES) {
        let end = boxes.min(begin + BOXES);
        let (offset, behind) = (targets.start[begin] as usize, targets.start[end] as usize);
        let mut columns = [&mut [][..], &mut [][..], &mut [][..]];
        for (column, rest) in columns.iter_mut().zip(&mut rest) {
            let count = rest.len().min(behind - offset);
            (*column, *rest) = std::mem::take(rest).split_at_mut(count);
        }
        parts.push(BoxSums { boxes: begin..end, offset, columns });
    }
    parts
}

impl BoxSums<'_> {
    /// Adds the sums that stand at some places of the columns that an earlier box has left.
    fn add_left(&mut self, range: Range<usize>, left: &[f64], places: Range<usize>) {
        let points = left.len() / 3;
        for (c, column) in self.columns.iter_mut().enumerate() {
            let column = &mut column[range.start - self.offset..range.end - self.offset];
            column.iter_mut().zip(&left[c * points..][places.clone()]).for_each(|(x, left)| *x += left);
        }
    }

    /// Adds the sums of a block of points, its vector times a factor, to the targets in `range`.
    pub fn add(&mut self, range: Range<usize>, block: &Block, factor: f64) {
        for (k, (column, sums)) in self.columns.iter_mut().zip(&block.sums).enumerate() {
            let factor = if k < 2 { factor } else { 1.0 };
            if !column.is_empty() {
                let column = &mut column[range.start - self.offset..range.end - self.offset];
                column.iter_mut().zip(sums).for_each(|(x, s)| *x += factor * s);
            }
        }
    }
}

/// The inputs that the stages of the far field have in common.
struct Far<'a> {
    plan: &'a Plan,
    strengths: &'a super::Scaled,
}

/// The scratch memory of a thread.
#[derive(Default)]
struct Scratch {
    block: Block,
    /// An expansion.
    row: Vec<f64>,
}

impl Far<'_> {
    fn run<T: Vectors>(&self, stage: Stage, c: &mut Coefficients<T>, sums: &mut super::Sums) {
        match stage {
            Stage::P2m => self.p2m(c),
            Stage::M2m => self.m2m(c),
            Stage::M2l => self.m2l(c),
            Stage::P2l => self.p2l(c),
            Stage::L2l => self.l2l(c),
            Stage::L2p => self.l2p(c, sums),
            Stage::M2p => self.m2p(c, sums),
            Stage::P2p => {}
        }
    }

    fn setting(&self) -> Setting {
        let options = &self.plan.options;
        Setting { kernel: options.kernel, order: options.order, log_unit: self.plan.mesh.frame.log_unit() }
    }

    fn place(&self, k: usize) -> Place {
        let boxes = &self.plan.mesh.boxes;
        Place { centre: [boxes.x[k], boxes.y[k]], unit: boxes.unit[k] }
    }

    /// The logarithm of the unit of a box in the user's units.
    fn log_u(&self, place: &Place) -> f64 {
        place.unit.ln() + self.plan.mesh.frame.log_unit()
    }

    /// Brings the sources of a finest box to a block of points, relative to a box, with their strengths for P2M (`sign` -1) or P2L (1).
    fn carry(&self, finest: usize, place: &Place, sign: f64, block: &mut Block) {
        let (sources, q) = (&self.plan.mesh.sources, self.strengths);
        let range = sources.range(finest);
        block.place(&sources.x[range.clone()], &sources.y[range.clone()], place);
        let factor = if self.plan.options.kernel == Kernel::Harmonic { sign / place.unit } else { 1.0 };
        let im = if q.im.is_empty() { &[][..] } else { &q.im[range.clone()] };
        block.carry(&q.re[range], im, factor);
    }

    fn p2m<T: Vectors>(&self, c: &mut Coefficients<T>) {
        let (stride, finest, isa) = (stride(self.plan.options.order), self.plan.mesh.finest(), Isa::best());
        let boxes = self.plan.lists.near.len();
        let rows = c.m[finest * stride..(finest + boxes) * stride].par_chunks_mut(stride).enumerate();
        rows.for_each_init(Scratch::default, |Scratch { block, row }, (k, out)| {
            row.clear();
            row.resize(stride, 0.0);
            self.carry(k, &self.place(finest + k), -1.0, block);
            to_multipole::<f64>(isa, [&block.x, &block.y, &block.re, &block.im], self.setting(), row);
            out.iter_mut().zip(row).for_each(|(out, x)| *out = T::of(*x));
        });
    }

    fn p2l<T: Vectors>(&self, c: &mut Coefficients<T>) {
        let (stride, finest, isa) = (stride(self.plan.options.order), self.plan.mesh.finest(), Isa::best());
        let rows = c.l[finest * stride..].par_chunks_mut(stride).enumerate();
        rows.for_each_init(Scratch::default, |Scratch { block, row }, (k, out)| {
            let list = self.plan.lists.p2l.of(k);
            if list.is_empty() {
                return;
            }
            row.clear();
            row.resize(stride, 0.0);
            let place = self.place(finest + k);
            for source in list {
                self.carry(*source as usize, &place, 1.0, block);
                let block = [&block.x[..], &block.y, &block.re, &block.im];
                to_local::<f64>(isa, block, self.setting(), self.log_u(&place), row);
            }
            out.iter_mut().zip(row).for_each(|(out, x)| *out += T::of(*x));
        });
    }

    fn l2p<T: Vectors>(&self, c: &Coefficients<T>, sums: &mut super::Sums) {
        let (stride, finest, isa) = (stride(self.plan.options.order), self.plan.mesh.finest(), Isa::best());
        let targets = self.plan.mesh.targets();
        parts(targets, sums).into_par_iter().for_each_init(Scratch::default, |Scratch { block, row }, mut part| {
            for k in part.boxes.clone() {
                let (place, range) = (self.place(finest + k), targets.range(k));
                row.clear();
                row.extend(c.l[(finest + k) * stride..][..stride].iter().map(|x| x.f64()));
                block.place(&targets.x[range.clone()], &targets.y[range.clone()], &place);
                block.clear_sums();
                let Block { x, y, sums, .. } = &mut *block;
                from_local::<f64>(isa, row, self.setting(), [x, y], sums.each_mut().map(|s| &mut s[..]));
                part.add(range, block, self.slope(&place));
            }
        });
    }

    /// The factor of derivatives, in units of a box.
    fn slope(&self, place: &Place) -> f64 {
        if self.plan.options.kernel == Kernel::Log { 1.0 / place.unit } else { 1.0 }
    }

    fn m2p<T: Vectors>(&self, c: &Coefficients<T>, sums: &mut super::Sums) {
        let (stride, finest, isa) = (stride(self.plan.options.order), self.plan.mesh.finest(), Isa::best());
        let targets = self.plan.mesh.targets();
        parts(targets, sums).into_par_iter().for_each_init(Scratch::default, |Scratch { block, row }, mut part| {
            for k in part.boxes.clone() {
                let range = targets.range(k);
                for source in self.plan.lists.m2p.of(k) {
                    let source = finest + *source as usize;
                    let place = self.place(source);
                    row.clear();
                    row.extend(c.m[source * stride..][..stride].iter().map(|x| x.f64()));
                    block.place(&targets.x[range.clone()], &targets.y[range.clone()], &place);
                    block.clear_sums();
                    let log_u = self.log_u(&place);
                    let Block { x, y, sums, .. } = &mut *block;
                    let sums = sums.each_mut().map(|s| &mut s[..]);
                    from_multipole::<f64>(isa, row, self.setting(), log_u, [x, y], sums);
                    part.add(range.clone(), block, self.slope(&place));
                }
            }
        });
    }

    /// The ratios of a shift from box `from` to box `to` with r between their centres, or `None` where r is so short beside the
    /// units that powers of the ratios may leave the range of f64.
    fn ratios(&self, which: Shift, from: usize, to: usize) -> Option<[[f64; 2]; 2]> {
        let (from, to) = (self.place(from), self.place(to));
        let r = [from.centre[0] - to.centre[0], from.centre[1] - to.centre[1]];
        let square = r[0] * r[0] + r[1] * r[1];
        let child = if which == Shift::M2m { from.unit } else { to.unit };
        if square.sqrt() < child * SHORT || square < f64::MIN_POSITIVE {
            return None;
        }
        let over = |unit: f64| [r[0] * (unit / square), -r[1] * (unit / square)];
        let under = |unit: f64| [r[0] / unit, r[1] / unit];
        Some(match which {
            Shift::M2m => [over(from.unit), under(to.unit)],
            Shift::L2l => [under(from.unit), over(to.unit)],
        })
    }

    /// Shifts the expansion in each row of `rows`, which are whole vectors of them, from a box to another.
    fn shift(&self, which: Shift, between: &[[usize; 2]], rows: &mut [f64]) {
        let lanes = Isa::best().lanes::<f64>();
        let rows = rows.chunks_mut(lanes * stride(self.plan.options.order));
        between.chunks(lanes).zip(rows).for_each(|(between, rows)| self.shift_lanes(which, between, rows));
    }

    /// [`shift`](Self::shift) of one in each lane of a vector.
    fn shift_lanes(&self, which: Shift, between: &[[usize; 2]], rows: &mut [f64]) {
        let order = self.plan.options.order;
        let stride = stride(order);
        let mut ratios = Ratios::zeros(0.0);
        let mut plain: Vec<(usize, Vec<f64>)> = Vec::new();
        for (lane, [from, to]) in between.iter().enumerate() {
            match self.ratios(which, *from, *to) {
                Some([before, after]) => ratios.set(lane, before, after, 0.0),
                None => {
                    let row = rows[lane * stride..][..stride].to_vec();
                    plain.push((lane, shift::plain(which, order, &self.place(*from), &self.place(*to), row)));
                }
            }
        }
        shift::<f64>(Isa::best(), which, order, &ratios, rows);
        for (lane, row) in plain {
            rows[lane * stride..][..stride].copy_from_slice(&row);
        }
    }

    fn m2m<T: Vectors>(&self, c: &mut Coefficients<T>) {
        let stride = stride(self.plan.options.order);
        let lanes = Isa::best().lanes::<f64>();
        for level in (0..self.plan.mesh.levels).rev() {
            let (above, below) = (first(level), first(level + 1));
            let (parents, children) = c.m.split_at_mut(below * stride);
            // So many parents at a time that their children fill a vector or more.
            let group = lanes.div_ceil(4);
            let groups = parents[above * stride..].par_chunks_mut(group * stride).enumerate();
            groups.for_each_init(Vec::new, |rows, (k, parents)| {
                let count = parents.len() / stride;
                let child = 4 * group * k;
                rows.clear();
                rows.extend(children[child * stride..][..4 * count * stride].iter().map(|x| x.f64()));
                rows.resize(4 * group * stride, 0.0);
                let between: Vec<[usize; 2]> =
                    (0..4 * count).map(|c| [below + child + c, above + group * k + c / 4]).collect();
                self.shift(Shift::M2m, &between, rows);
                for (parent, rows) in parents.chunks_mut(stride).zip(rows.chunks(4 * stride)) {
                    for (j, x) in parent.iter_mut().enumerate() {
                        *x = T::of((0..4).map(|c| rows[c * stride + j]).sum());
                    }
                }
            });
        }
    }

    fn l2l<T: Vectors>(&self, c: &mut Coefficients<T>) {
        let stride = stride(self.plan.options.order);
        let lanes = Isa::best().lanes::<f64>();
        for level in 0..self.plan.mesh.levels {
            let (above, below) = (first(level), first(level + 1));
            let (parents, children) = c.l.split_at_mut(below * stride);
            let parents = &parents[above * stride..];
            let boxes = 1usize << (2 * level + 2);
            let groups = children[..boxes * stride].par_chunks_mut(lanes * stride).enumerate();
            groups.for_each_init(Vec::new, |rows, (k, children)| {
                let (count, child) = (children.len() / stride, k * lanes);
                rows.clear();
                for c in 0..count {
                    rows.extend(parents[(child + c) / 4 * stride..][..stride].iter().map(|x| x.f64()));
                }
                rows.resize(lanes * stride, 0.0);
                let between: Vec<[usize; 2]> =
                    (0..count).map(|c| [above + (child + c) / 4, below + child + c]).collect();
                self.shift(Shift::L2l, &between, rows);
                children.iter_mut().zip(rows).for_each(|(x, row)| *x += T::of(*row));
            });
        }
    }

    fn m2l<T: Vectors>(&self, c: &mut Coefficients<T>) {
        let (stride, order, isa) = (stride(self.plan.options.order), self.plan.options.order, Isa::best());
        let lanes = isa.lanes::<T>();
        let (boxes, shift) = (&self.plan.mesh.boxes, self.plan.mesh.frame.log_unit());
        let is_log = self.plan.options.kernel == Kernel::Log;
        let all = &c.m;
        let rows = c.l.par_chunks_mut(stride).enumerate();
        rows.for_each_init(Vec::new, |ratios: &mut Vec<Ratios<T>>, (k, out)| {
            let list = self.plan.lists.weak.of(k);
            ratios.clear();
            for sources in list.chunks(lanes) {
                let mut some = Ratios::zeros(T::default());
                for (lane, s) in sources.iter().enumerate() {
                    let s = *s as usize;
                    let r = [boxes.x[s] - boxes.x[k], boxes.y[s] - boxes.y[k]];
                    let square = r[0] * r[0] + r[1] * r[1];
                    let inverse = 1.0 / square;
                    let over = |unit: f64| [r[0] * (unit * inverse), -r[1] * (unit * inverse)];
                    let log = if is_log { 0.5 * square.ln() + shift } else { 0.0 };
                    some.set(lane, over(-boxes.unit[s]), over(boxes.unit[k]), log);
                }
                ratios.push(some);
            }
            m2l::<T>(isa, order, all, list, ratios, out);
        });
    }
}

/// A shift shorter than this part of the child's unit is done without division. Powers of its inverse up to that of the highest order
/// stay in the range of f64.
const SHORT: f64 = 1.0 / 4096.0;

/// Whether two finest boxes may have points so close that P2P needs wide arithmetic.
pub(super) fn is_wide(plan: &Plan, a: usize, b: u32) -> bool {
    let mesh = &plan.mesh;
    mesh.exact.is_some() && mesh.boxes.is_tiny[a] && mesh.boxes.is_tiny[b as usize]
}

/// The sorted sources that act on the targets of a finest box by P2P, but for those of [`far_beyond`].
pub fn near_ranges(plan: &Plan, k: usize, ranges: &mut Vec<Range<usize>>) {
    ranges_of(plan, k, |b| !is_wide(plan, k, b), ranges);
}

/// The sorted sources of some of the boxes near to a finest box.
fn ranges_of(plan: &Plan, k: usize, takes: impl Fn(u32) -> bool, ranges: &mut Vec<Range<usize>>) {
    ranges.clear();
    for source in plan.lists.near.of(k).iter().filter(|s| takes(**s)) {
        let range = plan.mesh.sources.range(*source as usize);
        match ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => ranges.push(range),
        }
    }
}

/// P2P in f64.
pub struct Near<'a> {
    setting: Setting,
    sources: Sources<'a, f64>,
    is_apart: bool,
    isa: Isa,
}

impl<'a> Near<'a> {
    pub fn new(plan: &'a Plan, strengths: &'a super::Scaled) -> Near<'a> {
        let (options, points) = (&plan.options, &plan.mesh.sources);
        let log_unit = plan.mesh.frame.log_unit();
        let setting = Setting { kernel: options.kernel, order: options.order, log_unit };
        let sources = Sources { x: &points.x, y: &points.y, re: &strengths.re, im: &strengths.im };
        Near { setting, sources, is_apart: plan.mesh.is_apart(), isa: Isa::best() }
    }

    /// Adds the field of the sources in `ranges` to the sums of a block of points.
    pub fn at(&self, [x, y]: [&[f64]; 2], ranges: &[Range<usize>], block: &mut Block) {
        block.place(x, y, &Place { centre: [0.0; 2], unit: 1.0 });
        block.clear_sums();
        let Block { x, y, sums, .. } = &mut *block;
        let sums = sums.each_mut().map(|s| &mut s[..]);
        add_near::<f64>(self.isa, self.sources, ranges, self.setting, [x, y], sums);
    }

    /// The same of all points of a box in f32 and in units of the box, if that is exact enough.
    fn single(
        &self,
        [x, y]: [&[f64]; 2],
        place: &Place,
        ranges: &[Range<usize>],
        (block, single): (&mut Block, &mut Single<f32>),
    ) -> bool {
        block.place(x, y, place);
        block.clear_sums();
        let mut close = 0;
        near_single::<f32>(self.isa, self.sources, ranges, place, block, single, &mut close);
        // Targets that are sources, and what fills up the last vector, meet themselves.
        close == if self.is_apart { 0 } else { block.x.len() as u64 }
    }
}

/// The scratch memory of a thread, for P2P.
#[derive(Default)]
struct NearScratch {
    block: Block,
    ranges: Vec<Range<usize>>,
    single: Single<f32>,
}

fn p2p(state: &mut State) {
    let State { plan, charges: strengths, sums, expansions } = state;
    let (targets, near) = (plan.mesh.targets(), Near::new(plan, strengths));
    let is_single = matches!(expansions, Expansions::F32(_)) && plan.options.kernel == Kernel::Harmonic;
    let is_mutual = plan.options.kernel == Kernel::Log && !plan.mesh.is_apart();
    if let Some(left) = is_mutual.then(|| Left::new(plan)).flatten() {
        return mutual(plan, &near, &left, sums);
    }
    let far = Far { plan, strengths };
    let of_part = |NearScratch { block, ranges, single }: &mut NearScratch, mut part: BoxSums| {
        for k in part.boxes.clone() {
            near_ranges(plan, k, ranges);
            let range = targets.range(k);
            let columns = [&targets.x[range.clone()], &targets.y[range.clone()]];
            let place = far.place(plan.mesh.finest() + k);
            if is_single && near.single(columns, &place, ranges, (block, single)) {
                part.add(range, block, 1.0 / place.unit);
            } else {
                near.at(columns, ranges, block);
                part.add(range, block, 1.0);
            }
        }
    };
    parts(targets, sums).into_par_iter().for_each_init(Default::default, of_part);
}

/// P2P of `log`, each pair once.
fn mutual(plan: &Plan, near: &Near, left: &Left, sums: &mut super::Sums) {
    let (points, list, start) = (&plan.mesh.sources, &plan.lists.near, &left.start);
    let mut all = vec![0.0; 3 * start[list.len()]];
    let mut rest = &mut all[..];
    let mut some = Vec::new();
    for part in parts(points, sums) {
        let count = 3 * (start[part.boxes.end] - start[part.boxes.start]);
        let (own, behind) = std::mem::take(&mut rest).split_at_mut(count);
        rest = behind;
        some.push((part, own));
    }
    some.into_par_iter().for_each_init(
        NearScratch::default,
        |NearScratch { block, ranges, .. }, (mut part, mut own)| {
            for k in part.boxes.clone() {
                let (left, behind) = std::mem::take(&mut own).split_at_mut(3 * (start[k + 1] - start[k]));
                own = behind;
                let range = points.range(k);
                ranges_of(plan, k, |b| b as usize == k && !is_wide(plan, k, b), ranges);
                near.at([&points.x[range.clone()], &points.y[range.clone()]], ranges, block);
                block.carry(&near.sources.re[range.clone()], &[], 1.0);
                ranges_of(plan, k, |b| is_later(plan, k, b), ranges);
                let Block { x, y, re, sums, .. } = &mut *block;
                let sums = sums.each_mut().map(|s| &mut s[..]);
                add_mutual::<f64>(near.isa, near.sources, ranges, near.setting, [x, y, re], sums, columns(left));
                part.add(range, block, 1.0);
            }
        },
    );
    parts(points, sums).into_par_iter().for_each(|mut part| {
        for k in part.boxes.clone() {
            let range = points.range(k);
            for b in list.of(k).iter().map(|b| *b as usize).take_while(|b| *b < k) {
                if is_later(plan, b, k as u32) {
                    let places = left.between(list, b, k, range.len());
                    part.add_left(range.clone(), &all[3 * start[b]..3 * start[b + 1]], places);
                }
            }
        }
    });
}
