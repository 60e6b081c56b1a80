//! Runs on several ranks, which are threads, against the run without ranks: the same bits.

use super::prepare::Slice;
use super::solve::{Answer, solve};
use super::{RankError, threads};
use crate::data::input::{Input, Set};
use crate::data::particles::{Field, Particles};
use crate::data::periodic::Periodic;
use crate::data::problem::{Geometry, Sources};
use crate::data::random::{Charge, Distribution, generate};
use crate::expansion::basis::Basis;
use crate::fmm::tune::cost::Costs;
use crate::fmm::{FmmOptions, Plan, Precision};

/// A problem, and how its input is cut into slices.
struct Problem {
    input: Input,
    options: FmmOptions,
    hessian: bool,
}

impl Problem {
    fn new(particles: Particles, options: FmmOptions) -> Problem {
        Problem { input: particles.into(), options, hessian: false }
    }

    /// What one process gives without ranks.
    fn alone(&self) -> Vec<Field> {
        let plan = Plan::new(self.input.geometry(), &self.options).unwrap();
        let sources = self.input.sources();
        plan.solve_all(&sources, self.hessian, &mut [], &mut |_, _, _| {}).unwrap().fields
    }

    /// On so many ranks, with the input in even slices.
    fn on(&self, ranks: usize) -> Vec<Result<Answer, RankError>> {
        self.cut(ranks, |n, rank| n * rank / ranks)
    }

    fn cut(&self, ranks: usize, start: impl Fn(usize, usize) -> usize + Sync) -> Vec<Result<Answer, RankError>> {
        let costs = Costs::default();
        threads::run(ranks, |comm| {
            let all = self.input.geometry();
            let range = |n: usize| start(n, comm.rank())..start(n, comm.rank() + 1);
            let own = range(all.sources[0].len());
            let geometry = Geometry {
                sources: all.sources.map(|c| &c[own.clone()]),
                targets: all.targets.map(|t| t.map(|c| &c[range(c.len())])),
            };
            let set = |s: &Sources<'_>| -> [Option<Vec<f64>>; 4] {
                let dipoles = |a: usize| s.dipoles.map(|p| p[a][own.clone()].to_vec());
                [s.charges.map(|q| q[own.clone()].to_vec()), dipoles(0), dipoles(1), dipoles(2)]
            };
            let sets: Vec<_> = self.input.sources().iter().map(set).collect();
            let sets = sets.iter().map(|[q, x, y, z]| Sources {
                charges: q.as_deref(),
                dipoles: x.as_deref().map(|x| [x, y.as_deref().unwrap(), z.as_deref().unwrap()]),
            });
            let (options, hessian) = (&self.options, self.hessian);
            solve(comm, &Slice { geometry, sets: sets.collect(), hessian, options, costs: &costs })
        })
    }

    fn check(&self, what: &str, all_ranks: &[usize]) -> Vec<Answer> {
        let wanted = self.alone();
        let mut last = Vec::new();
        for ranks in all_ranks {
            last = self.on(*ranks).into_iter().map(|answer| answer.unwrap()).collect();
            assert_equal(&last, &wanted, &format!("{what} on {ranks} ranks"));
        }
        last
    }
}

fn bits(column: &[f64]) -> Vec<u64> {
    column.iter().map(|x| x.to_bits()).collect()
}

fn columns(field: &Field) -> Vec<&Vec<f64>> {
    let gradient = field.gradient.iter().flatten();
    std::iter::once(&field.potential).chain(gradient).chain(field.hessian.iter().flatten()).collect()
}

fn assert_equal(answers: &[Answer], wanted: &[Field], what: &str) {
    for (set, wanted) in wanted.iter().enumerate() {
        for (k, column) in columns(wanted).into_iter().enumerate() {
            let found: Vec<f64> = answers.iter().flat_map(|a| columns(&a.fields[set])[k]).copied().collect();
            let differing = bits(&found).iter().zip(bits(column)).filter(|(a, b)| **a != *b).count();
            assert_eq!((found.len(), differing), (column.len(), 0), "{what}: set {set}, column {k}");
        }
    }
}

fn options(leaf: usize, basis: Basis, precision: Precision) -> FmmOptions {
    FmmOptions { leaf, basis, precision, ..FmmOptions::default() }
}

const RANKS: [usize; 5] = [1, 2, 3, 4, 7];

#[test]
fn every_distribution_gives_the_bits_of_one_rank() {
    for (name, d) in Distribution::ALL {
        let particles = generate(4000, d, Charge::Random, 3);
        Problem::new(particles, options(30, Basis::Solid, Precision::F64)).check(name, &RANKS);
    }
}
