//! An FMM on ranks for a wanted error: the first rank searches as one process does, and tells the others which runs to make.

use super::RankError;
use super::bytes::{Reader, Writer, cut};
use super::comm::{Comm, Tag, agree, broadcast};
use super::prepare::Slice;
use super::solve::{Answer, collected, solve};
use crate::data::Force;
use crate::data::particles::Field;
use crate::direct::error::Errors;
use crate::fmm::executor::Executor;
use crate::fmm::tune::{self, Found, Problem, Runner};
use crate::fmm::{FmmError, FmmOptions, Plan, Precision, Solution};

/// What keeps a wanted error, on the first rank: the results of all ranks, and the report of the run that gave them.
pub struct Tuned {
    pub field: Field,
    pub answer: Answer,
    pub errors: Errors,
}

/// Finds options for a wanted error, which all ranks get, and their results. The first rank alone has the whole problem; its slice has
/// the options to begin with.
pub fn within(
    comm: &dyn Comm,
    wanted: f64,
    problem: Option<&Problem>,
    slice: &Slice,
    executors: &mut [&mut dyn Executor],
) -> Result<(FmmOptions, Option<Tuned>), RankError> {
    match problem {
        Some(problem) => lead(comm, wanted, problem, slice, executors).map(|(options, tuned)| (options, Some(tuned))),
        None => follow(comm, slice, executors).map(|options| (options, None)),
    }
}

fn lead(
    comm: &dyn Comm,
    wanted: f64,
    problem: &Problem,
    slice: &Slice,
    executors: &mut [&mut dyn Executor],
) -> Result<(FmmOptions, Tuned), RankError> {
    let options = slice.options.clone();
    let mut all = Leader { comm, problem, slice, executors, options, plan: None, answers: Vec::new(), failed: None };
    let found = tune::search(wanted, problem, slice.options, &mut all);
    if let Some(failed) = all.failed {
        // All ranks know of it.
        return Err(failed);
    }
    // Those that others end with are of no use to them if nothing was found.
    let last = found.as_ref().map_or(slice.options, |found| &found.options);
    broadcast(comm, Choice::End(Chosen::from(last)).bytes())?;
    let Found { options, solution, errors } = agree(comm, found.map_err(RankError::from))?;
    let at = all.answers.iter().position(|(of, _)| *of == options).expect("what was found was run");
    let answer = all.answers.swap_remove(at).1;
    Ok((options, Tuned { field: solution.field, answer, errors }))
}

/// Makes the runs that the first rank asks for; the options that it has found.
fn follow(comm: &dyn Comm, slice: &Slice, executors: &mut [&mut dyn Executor]) -> Result<FmmOptions, RankError> {
    loop {
        // The first rank sums and judges.
        comm.rest(0, Tag::First)?;
        match Choice::read(&broadcast(comm, Vec::new())?)? {
            Choice::Run(chosen) => run(comm, slice, &chosen.of(slice.options), executors).map(drop)?,
            Choice::End(chosen) => return agree(comm, Ok(chosen.of(slice.options))),
        }
    }
}

/// A run of all ranks; the first one gets the results.
fn run(
    comm: &dyn Comm,
    slice: &Slice,
    options: &FmmOptions,
    executors: &mut [&mut dyn Executor],
) -> Result<(Option<Vec<Field>>, Answer), RankError> {
    let mut answer = solve(comm, &slice.with(options), executors)?;
    let fields = collected(comm, &answer.fields)?;
    answer.fields = Vec::new();
    Ok((fields, answer))
}

/// The first rank in the search.
struct Leader<'a, 'e> {
    comm: &'a dyn Comm,
    problem: &'a Problem<'a>,
    slice: &'a Slice<'a>,
    executors: &'a mut [&'e mut dyn Executor],
    options: FmmOptions,
    /// For the sums of a kernel.
    plan: Option<Plan>,
    /// What ranks reported of each run.
    answers: Vec<(FmmOptions, Answer)>,
    /// Why all ranks have failed in a run.
    failed: Option<RankError>,
}

impl Runner for Leader<'_, '_> {
    fn plan(&mut self, options: &FmmOptions) -> Result<(), FmmError> {
        (self.options, self.plan) = (options.clone(), None);
        Ok(())
    }

    fn solve(&mut self, order: usize, lower_beyond: Option<f64>) -> Result<Solution, FmmError> {
        let options = FmmOptions { order, lower_beyond, ..self.options.clone() };
        let told = broadcast(self.comm, Choice::Run(Chosen::from(&options)).bytes());
        let done = told.and_then(|_| run(self.comm, self.slice, &options, self.executors));
        let (fields, answer) = done.map_err(|e| {
            self.failed = Some(e.clone());
            FmmError::from(e)
        })?;
        let stats = answer.stats.clone();
        self.answers.push((options, answer));
        let field = fields.and_then(|mut fields| fields.pop()).expect("the first rank gets the one field");
        Ok(Solution { field, stats })
    }

    fn reference(&mut self, targets: &[usize]) -> Result<Vec<Force>, FmmError> {
        let (problem, options) = (self.problem, &self.options);
        if problem.p2p.is_some() && self.plan.is_none() {
            self.plan = Some(Plan::for_kernel(problem.particles.columns(), options, problem.p2p)?);
        }
        problem.reference(options, self.plan.as_ref(), targets, &mut |_, _, _| {})
    }

    fn is_native(&self) -> bool {
        self.executors.iter().all(|e| e.is_native())
    }
}

/// The options that a search changes.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Chosen {
    order: usize,
    lower_beyond: Option<f64>,
    theta: f64,
    leaf: usize,
    enlarge: f64,
    precision: Precision,
}

/// What the first rank tells the others to do.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Choice {
    Run(Chosen),
    /// The options that were found.
    End(Chosen),
}

impl From<&FmmOptions> for Chosen {
    fn from(options: &FmmOptions) -> Chosen {
        let FmmOptions { order, lower_beyond, theta, leaf, enlarge, precision, .. } = *options;
        Chosen { order, lower_beyond, theta, leaf, enlarge, precision }
    }
}

impl Chosen {
    fn of(self, options: &FmmOptions) -> FmmOptions {
        let Chosen { order, lower_beyond, theta, leaf, enlarge, precision } = self;
        FmmOptions { order, lower_beyond, theta, leaf, enlarge, precision, ..options.clone() }
    }
}

impl Choice {
    fn bytes(&self) -> Vec<u8> {
        let (Choice::Run(chosen) | Choice::End(chosen)) = *self;
        let Chosen { order, lower_beyond, theta, leaf, enlarge, precision } = chosen;
        let mut bytes = Writer::default();
        bytes.u64(matches!(self, Choice::End(_)) as u64);
        bytes.u64s(&[order as u64, leaf as u64, (precision == Precision::F32) as u64]);
        bytes.f64s(&[theta, enlarge]);
        bytes.f64s(lower_beyond.as_slice());
        bytes.take()
    }

    fn read(bytes: &[u8]) -> Result<Choice, RankError> {
        let mut bytes = Reader::new(bytes);
        let is_end = bytes.u64()? == 1;
        let ([order, leaf, is_f32], [theta, enlarge], lower) = (&bytes.u64s()?[..], &bytes.f64s()?[..], bytes.f64s()?)
        else {
            return Err(cut());
        };
        let precision = if *is_f32 == 1 { Precision::F32 } else { Precision::F64 };
        let (order, leaf, lower_beyond) = (*order as usize, *leaf as usize, lower.first().copied());
        let chosen = Chosen { order, lower_beyond, theta: *theta, leaf, enlarge: *enlarge, precision };
        Ok(if is_end { Choice::End(chosen) } else { Choice::Run(chosen) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_first_rank_chooses_is_read_by_the_others() {
        let options = FmmOptions { order: 7, theta: 1.0 / 3.0, leaf: 91, enlarge: 1.25, ..FmmOptions::default() };
        for lower_beyond in [None, Some(4.25)] {
            for precision in [Precision::F32, Precision::F64] {
                let chosen = FmmOptions { lower_beyond, precision, ..options.clone() };
                let choice = Choice::Run(Chosen::from(&chosen));
                assert_eq!(Choice::read(&choice.bytes()), Ok(choice));
                let Choice::Run(read) = Choice::read(&choice.bytes()).unwrap() else { panic!("it is a run") };
                assert_eq!(read.of(&FmmOptions::default()), chosen);
                assert!(Choice::read(&choice.bytes()[..9]).is_err());
                let end = Choice::End(Chosen::from(&chosen));
                assert_eq!(Choice::read(&end.bytes()), Ok(end));
            }
        }
    }
}
