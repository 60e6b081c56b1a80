//! Pairs that `--near-only` leaves out, as one process finds them: at the same targets, over the sources of all ranks.

use super::RankError;
use super::comm::{Comm, gather_f64, gather_u64};
use super::near::Direct;
use super::prepare::{Prepared, Slice};
use fmm::data::Force;
use fmm::octree::Plan;
use fmm::octree::executor::{Executor, State};
use fmm::octree::left_out;
use fmm::stages::{ProbeSums, Probes};
use fmm::tree::charges::Charges;

/// Notes in the work of each set of charges what near cells leave out, where that is known. Kernels that are not 1/r have noted something;
/// those are `by`'s.
pub fn find(
    comm: &dyn Comm,
    (slice, prepared): (&Slice, &Prepared),
    (plan, charges): (&Plan, &[Charges]),
    by: Option<&dyn Executor<Plan>>,
    direct: &mut [Direct],
) -> Result<(), RankError> {
    if !slice.options.near_only || prepared.levels < 3 {
        return Ok(());
    }
    let own = seen(comm, plan, charges)?;
    let places: Vec<f64> = own.iter().flat_map(|k| plan.tree.target(*k)).collect();
    let places: Vec<[f64; 3]> =
        gather_f64(comm, &places)?.iter().flat_map(|of| of.as_chunks::<3>().0).copied().collect();
    let first = gather_u64(comm, &[own.len() as u64])?;
    let first = first.iter().take(comm.rank()).map(|one| one[0] as usize).sum::<usize>();
    let probes = Probes { places: &places, own: &own };
    for (set, charges) in charges.iter().enumerate().filter(|(_, charges)| charges.dipoles.is_none()) {
        let mut state = State::near(plan, charges);
        let sums = match direct[set].work.left_out {
            None => {
                state.sums.force.clone_from(&direct[set].force);
                Some(left_out::coulomb(&state, &probes))
            }
            Some(_) => by.and_then(|by| by.probe(&state, &probes)),
        };
        // All ranks have executors of one kind, so that all or none know.
        let Some(ProbeSums { all, near }) = sums else { continue };
        let all = gather_f64(comm, all.as_flattened())?;
        let sum = |place: usize| -> Force { std::array::from_fn(|a| all.iter().map(|of| of[4 * place + a]).sum()) };
        direct[set].work.left_out = Some(left_out::of((first..first + own.len()).map(sum).zip(near)));
    }
    Ok(())
}

/// The own targets of those that one process looks at.
fn seen(comm: &dyn Comm, plan: &Plan, charges: &[Charges]) -> Result<Vec<usize>, RankError> {
    let tree = &plan.tree;
    let own = tree.own_targets();
    let all = gather_u64(comm, &[own.len() as u64, tree.own_sources().len() as u64])?;
    let [targets, sources] = [0, 1].map(|k| all.iter().map(|one| one[k] as usize).sum::<usize>());
    let Some(charges) = charges.first().filter(|_| sources > 0) else { return Ok(Vec::new()) };
    let shifts = left_out::shifts(&State::near(plan, charges)).len();
    let step = left_out::step(targets, sources, shifts);
    let before: usize = all.iter().take(comm.rank()).map(|one| one[0] as usize).sum();
    Ok((before.next_multiple_of(step)..before + own.len()).step_by(step).map(|k| k - before + own.start).collect())
}
