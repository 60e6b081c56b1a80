//! Communication while the stages run: copies of particles, multipoles of shared cells on their way up, and those that others need.

use super::RankError;
use super::bytes::{Reader, Writer, cut};
use super::comm::{Comm, Tag};
use super::demand::Side;
use super::prepare::Prepared;
use fmm::arith::lanes::Real;
use fmm::expansion::Expansion;
use fmm::octree::Plan;
use fmm::octree::executor::{Coefficients, Expansions};
use fmm::parallel::prelude::*;
use fmm::tree::Tree;
use fmm::tree::charges::Charges;

/// All columns of charges.
fn columns_of(charges: &[Charges]) -> impl Iterator<Item = &Vec<f64>> {
    charges.iter().flat_map(|c| std::iter::once(&c.scaled).chain(c.dipoles.iter().flatten()))
}

/// Sends the particles that other ranks need.
pub fn send_copies(comm: &dyn Comm, prepared: &Prepared, charges: &[Charges]) -> Result<(), RankError> {
    let Prepared { settled, sides, local, .. } = prepared;
    let first = settled.own(comm.rank()).start as usize;
    for side in sides.exports.iter().filter(|side| !side.copies.is_empty()) {
        let mut bytes = Writer::default();
        let mut put = |column: &[f64], shift: usize| {
            let of = |s: &(u32, u32)| &column[s.0 as usize - shift..(s.0 + s.1) as usize - shift];
            bytes.f64s(&side.copies.iter().flat_map(of).copied().collect::<Vec<f64>>());
        };
        settled.sources.columns[..3].iter().for_each(|column| put(column, first));
        let shift = first - local.layout.own.start as usize;
        columns_of(charges).for_each(|column| put(column, shift));
        comm.send(side.rank, Tag::Copies, bytes.take())?;
    }
    Ok(())
}

/// Takes in the particles of others. Coincident particles are not counted yet.
pub fn take_copies(
    comm: &dyn Comm,
    prepared: &Prepared,
    tree: &mut Tree,
    charges: &mut [Charges],
) -> Result<(), RankError> {
    let map = prepared.map;
    for side in prepared.sides.imports.iter().filter(|side| !side.copies.is_empty()) {
        let bytes = comm.receive(side.rank, Tag::Copies)?;
        let mut bytes = Reader::new(&bytes);
        let place = |of: &(u32, u32)| prepared.local.layout.place(of.0).expect("what is asked for has a place");
        let places: Vec<u32> = side.copies.iter().map(place).collect();
        let count: usize = side.copies.iter().map(|s| s.1 as usize).sum();
        let mut next = || bytes.f64s().and_then(|column| if column.len() == count { Ok(column) } else { Err(cut()) });
        let at = [next()?, next()?, next()?];
        tree.sources.put(
            at.each_ref().map(|column| &column[..]),
            &map,
            places.iter().zip(side.copies.iter().map(|s| s.1)),
        );
        for own in charges.iter_mut() {
            for column in std::iter::once(&mut own.scaled).chain(own.dipoles.iter_mut().flatten()) {
                let found = next()?;
                let mut rest = &found[..];
                for (at, (_, count)) in places.iter().zip(&side.copies) {
                    let (part, behind) = rest.split_at(*count as usize);
                    column[*at as usize..][..part.len()].copy_from_slice(part);
                    rest = behind;
                }
            }
        }
    }
    Ok(())
}

/// Terms as they travel: without a change of their bits.
pub trait Travel: Copy + Default + Send + Sync {
    fn write(terms: &[Self], bytes: &mut Writer);
    fn read(bytes: &mut Reader) -> Result<Vec<Self>, RankError>;
}

impl Travel for f64 {
    fn write(terms: &[f64], bytes: &mut Writer) {
        bytes.each(terms, |x| *x);
    }

    fn read(bytes: &mut Reader) -> Result<Vec<f64>, RankError> {
        bytes.many()
    }
}

impl Travel for f32 {
    fn write(terms: &[f32], bytes: &mut Writer) {
        bytes.each(terms, |x| *x);
    }

    fn read(bytes: &mut Reader) -> Result<Vec<f32>, RankError> {
        bytes.many()
    }
}

/// The multipoles of some cells, as a message.
fn pack<T: Travel>(m: &[T], terms: usize, cells: &[u32], bytes: &mut Writer) {
    let mut all = vec![T::default(); cells.len() * terms];
    all.par_chunks_mut(terms.max(1)).zip(cells).for_each(|(to, k)| {
        to.copy_from_slice(&m[*k as usize * terms..(*k as usize + 1) * terms]);
    });
    T::write(&all, bytes);
}

fn unpack<T: Travel>(m: &mut [T], terms: usize, cells: &[u32], bytes: &mut Reader) -> Result<(), RankError> {
    let found = T::read(bytes)?;
    if found.len() != cells.len() * terms {
        return Err(RankError::Lost("a message of multipoles is cut".into()));
    }
    for (k, terms_of) in cells.iter().zip(found.chunks_exact(terms.max(1))) {
        m[*k as usize * terms..(*k as usize + 1) * terms].copy_from_slice(terms_of);
    }
    Ok(())
}

/// The multipoles of the shared cells: each by the rank that answers for it, from those of its children, in their order.
pub fn share<T: Travel + Real>(
    comm: &dyn Comm,
    prepared: &Prepared,
    tree: &Tree,
    operators: &dyn Expansion<T>,
    m: &mut [T],
) -> Result<(), RankError> {
    let (nodes, partition) = (&prepared.essential.nodes, &prepared.settled.partition);
    let terms = operators.multipole_terms();
    let owner = |k: u32| partition.owner(nodes[k as usize].level, nodes[k as usize].prefix);
    let is_shared = |k: &u32| partition.is_shared(nodes[*k as usize].level, nodes[*k as usize].prefix);
    let shared: Vec<u32> = prepared.essential.top.iter().copied().filter(is_shared).collect();
    for level in shared.chunk_by(|a, b| nodes[*a as usize].level == nodes[*b as usize].level).rev() {
        let mut out: Vec<Vec<u32>> = vec![Vec::new(); comm.size()];
        let mut into = out.clone();
        for k in level {
            let to = owner(*k);
            for child in tree.cells[*k as usize].child_range().map(|c| c as u32) {
                match (owner(child), to) {
                    (from, to) if from == to => {}
                    (from, to) if from == comm.rank() => out[to].push(child),
                    (from, to) if to == comm.rank() => into[from].push(child),
                    _ => {}
                }
            }
        }
        for (to, cells) in out.iter().enumerate().filter(|c| !c.1.is_empty()) {
            let mut bytes = Writer::default();
            pack(m, terms, cells, &mut bytes);
            comm.send(to, Tag::Shared, bytes.take())?;
        }
        for (from, cells) in into.iter().enumerate().filter(|c| !c.1.is_empty()) {
            unpack(m, terms, cells, &mut Reader::new(&comm.receive(from, Tag::Shared)?))?;
        }
        for k in level.iter().map(|k| *k as usize) {
            let mut sum = vec![T::default(); terms];
            for child in tree.cells[k].child_range().filter(|_| owner(k as u32) == comm.rank()) {
                let of = &m[child * terms..(child + 1) * terms];
                operators.m2m(tree.cells[child].octant(), of, &mut sum);
            }
            m[k * terms..(k + 1) * terms].copy_from_slice(&sum);
        }
    }
    Ok(())
}

/// Sends the multipoles that other ranks need.
pub fn send_multipoles(
    comm: &dyn Comm,
    plan: &Plan,
    exports: &[Side],
    expansions: &[Expansions],
) -> Result<(), RankError> {
    for side in exports.iter().filter(|side| !side.multipoles.is_empty()) {
        let mut bytes = Writer::default();
        for expansions in expansions {
            match expansions {
                Expansions::F32(c) => {
                    pack(&c.m, plan.operators_f32().multipole_terms(), &side.multipoles, &mut bytes);
                }
                Expansions::F64(c) => {
                    pack(&c.m, plan.operators_f64().multipole_terms(), &side.multipoles, &mut bytes);
                }
            }
        }
        comm.send(side.rank, Tag::Multipoles, bytes.take())?;
    }
    Ok(())
}

/// Takes in those of others.
pub fn take_multipoles(
    comm: &dyn Comm,
    plan: &Plan,
    imports: &[Side],
    expansions: &mut [Expansions],
) -> Result<(), RankError> {
    for side in imports.iter().filter(|side| !side.multipoles.is_empty()) {
        let bytes = comm.receive(side.rank, Tag::Multipoles)?;
        let mut bytes = Reader::new(&bytes);
        for expansions in expansions.iter_mut() {
            match expansions {
                Expansions::F32(Coefficients { m, .. }) => {
                    unpack(m, plan.operators_f32().multipole_terms(), &side.multipoles, &mut bytes)?;
                }
                Expansions::F64(Coefficients { m, .. }) => {
                    unpack(m, plan.operators_f64().multipole_terms(), &side.multipoles, &mut bytes)?;
                }
            }
        }
    }
    Ok(())
}
