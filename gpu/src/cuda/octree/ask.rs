//! Requests between GPUs in f32: the f64 coordinates of particles that are close to targets, which are few. They go through the host.

use super::GpuFmm;
use super::communicator::{Team, bytes_of, of};
use super::memory::{Problem, Slot, Wide};
use super::stages::{AGAIN_BLOCKS, On};
use crate::cuda::CudaError;
use crate::cuda::gpu_device::{GpuDevice, Size};
use crate::cuda::p2p::Number;

/// The request of a GPU to another one: places of its sorted share, and their numbers on the GPU that wants them.
#[derive(Clone, Default)]
struct Wants {
    slots: Vec<u32>,
    numbers: Vec<usize>,
}

impl<T: Number, C: GpuDevice> GpuFmm<T, C> {
    /// For each own GPU the f64 coordinates that it has asked for, by their numbers.
    pub(super) fn ask(&self, team: &Team<C>, all: &[On<T, C>]) -> Result<Vec<C::Memory<Wide>>, CudaError> {
        for on in all {
            on.of_particles("ask_nothing", on.part.particles, &[on.part.particles])?;
            on.launch("ask", Size { blocks: AGAIN_BLOCKS, threads: 128 }, &[])?;
        }
        let wants = all.iter().map(|on| self.wants(team, on)).collect::<Result<Vec<_>, _>>()?;
        let asked = asked(team, &wants)?;
        let answers = all.iter().zip(&asked).map(|(on, asked)| answer(on, asked)).collect::<Result<Vec<_>, _>>()?;
        let answered = answered(team, &wants, &answers)?;
        all.iter().zip(&answered).map(|(on, wide)| on.device.send(wide)).collect()
    }

    /// The requests of a GPU to each of all.
    fn wants(&self, team: &Team<C>, on: &On<T, C>) -> Result<Vec<Wants>, CudaError> {
        let cells = on.loaded.cells.as_ref().expect("it has a tree");
        let count = cells.status(on.device)?.wanted as usize;
        let mut words = vec![T::default(); count * size_of::<Slot>() / size_of::<T>()];
        let at = (on.problem.wanted - on.problem.out) as usize / size_of::<T>();
        on.device.read(&on.loaded.particles.out, at, &mut words)?;
        let mut wants = vec![Wants::default(); team.all()];
        for (number, slot) in of::<Slot>(bytes_of(&words)).into_iter().enumerate() {
            let of = &mut wants[slot.part as usize / self.parts.kinds];
            of.slots.push(slot.slot);
            of.numbers.push(number);
        }
        Ok(wants)
    }
}

/// For each own GPU the requests of each of all.
fn asked<C: GpuDevice>(team: &Team<C>, wants: &[Vec<Wants>]) -> Result<Vec<Vec<Vec<u32>>>, CudaError> {
    let mut asked = vec![vec![Vec::new(); team.all()]; team.devices.len()];
    for (by, wants) in team.own().zip(wants) {
        for (asked, wants) in asked.iter_mut().zip(&wants[team.own()]) {
            asked[by] = wants.slots.clone();
        }
    }
    if team.is_alone() {
        return Ok(asked);
    }
    // Of each pair of GPUs how many places, and the places.
    let message = |process: usize| {
        let of = |wants: &Vec<Wants>| {
            let to = wants[team.numbers(process)].iter();
            to.flat_map(|wants| std::iter::once(wants.slots.len() as u32).chain(wants.slots.iter().copied()))
                .collect::<Vec<u32>>()
        };
        bytes_of(&wants.iter().flat_map(of).collect::<Vec<u32>>()).to_vec()
    };
    let own = team.others.number();
    let out = (0..team.others.count()).map(|process| if process == own { Vec::new() } else { message(process) });
    let found = team.travel(|| team.others.exchange(out.collect()))?;
    for process in team.others() {
        let words = of::<u32>(&found[process]);
        let mut rest = &words[..];
        for by in team.numbers(process) {
            for asked in &mut asked {
                let (slots, behind) = rest[1..].split_at(rest[0] as usize);
                asked[by] = slots.to_vec();
                rest = behind;
            }
        }
    }
    Ok(asked)
}

/// The answers of a GPU from its share to each of all that asked.
fn answer<T: Number, C: GpuDevice>(on: &On<T, C>, asked: &[Vec<u32>]) -> Result<Vec<Vec<Wide>>, CudaError> {
    let slots = asked.concat();
    if slots.is_empty() {
        return Ok(vec![Vec::new(); asked.len()]);
    }
    let (places, wide) = (on.device.send(&slots)?, on.device.allocate::<Wide>(slots.len())?);
    let problem = Problem { wide_at: on.device.place(&places), wide: on.device.place(&wide), ..on.problem };
    let count = slots.len() as u32;
    let size = Size { blocks: count.div_ceil(256), threads: 256 };
    on.loaded.kernels.launch(on.device, "answer", size, &problem, &[count])?;
    let answers = on.device.column(&wide, 0..slots.len())?;
    let mut rest = &answers[..];
    let part = |slots: &Vec<u32>| {
        let (part, behind) = rest.split_at(slots.len());
        rest = behind;
        part.to_vec()
    };
    Ok(asked.iter().map(part).collect())
}

/// For each own GPU what it wanted, by its numbers.
fn answered<C: GpuDevice>(
    team: &Team<C>,
    wants: &[Vec<Wants>],
    answers: &[Vec<Vec<Wide>>],
) -> Result<Vec<Vec<Wide>>, CudaError> {
    let mut all: Vec<Vec<Wide>> =
        wants.iter().map(|wants| vec![Wide::default(); wants.iter().map(|wants| wants.slots.len()).sum()]).collect();
    let mut put = |device: usize, wants: &Wants, values: &[Wide]| {
        wants.numbers.iter().zip(values).for_each(|(number, value)| all[device][*number] = *value);
    };
    for (device, by) in team.own().enumerate() {
        for (wants, answers) in wants[device][team.own()].iter().zip(answers) {
            put(device, wants, &answers[by]);
        }
    }
    if team.is_alone() {
        return Ok(all);
    }
    let message = |process: usize| {
        let to = |by: usize| answers.iter().flat_map(move |answers| bytes_of(&answers[by]).iter().copied());
        team.numbers(process).flat_map(to).collect::<Vec<u8>>()
    };
    let own = team.others.number();
    let out = (0..team.others.count()).map(|process| if process == own { Vec::new() } else { message(process) });
    let found = team.travel(|| team.others.exchange(out.collect()))?;
    for process in team.others() {
        let mut rest = &found[process][..];
        for (device, wants) in wants.iter().enumerate() {
            for wants in &wants[team.numbers(process)] {
                let (values, behind) = rest.split_at(wants.slots.len() * size_of::<Wide>());
                put(device, wants, &of::<Wide>(values));
                rest = behind;
            }
        }
    }
    Ok(all)
}
