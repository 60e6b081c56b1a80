//! Particles, and what the CPU gives for them in f64.

use fmm::data::Force;
use fmm::data::random::{self, Charge, Distribution};
use fmm::direct::p2p::{Near, Out};
use fmm::tree::Tree;
use fmm::tree::charges::Charges;
use fmm::tree::lists::{self, ListOptions, Lists, near2};
use gpu::cuda::p2p::{Layout, Number, Sums};

pub struct Problem {
    pub tree: Tree,
    pub lists: Lists,
    pub charges: Charges,
    /// For some targets or all of them, in their order.
    wanted: Vec<(usize, Force)>,
}

/// More pairs than this take the CPU long: then so many targets are checked.
const PAIRS: u64 = 1 << 37;
const CHECKED: usize = 256;

impl Problem {
    /// One leaf of all, in which each acts on each.
    pub fn of_all_pairs(n: usize) -> Problem {
        Problem::new(n, n)
    }

    pub fn new(n: usize, leaf: usize) -> Problem {
        let particles = random::generate(n, Distribution::Uniform, Charge::Positive, 1);
        let tree = Tree::build(particles.columns(), leaf);
        // No cell is worth a multipole: all near pairs are P2P's.
        let options = ListOptions { near2: near2(0.5), m2p_above: usize::MAX, p2l_above: usize::MAX };
        let lists = lists::build(&tree, &options);
        let charges = Charges::new(&tree, &particles.q[..]);
        let near = Near::new(&tree, &lists, &charges, 0.0);
        let wanted = match leaf < n || (n as u64).pow(2) <= PAIRS {
            true => {
                let mut force = vec![[0.0; 4]; n];
                near.all::<f64>(vec![Out { force: &mut force, hessian: &mut [] }]);
                force.into_iter().enumerate().collect()
            }
            false => {
                let mut some = Vec::new();
                let targets = (0..n).step_by(n / CHECKED).collect();
                near.some(&[(tree.leaves[0] as usize, targets)], &mut |k, force| some.push((k, force)));
                some
            }
        };
        Problem { tree, lists, charges, wanted }
    }

    /// Relative L2 errors of potential and gradient, and how many targets have pairs that were left out. `sign` is that of
    /// the kernel's potential.
    pub fn errors<T: Number>(&self, layout: &Layout<T>, sums: &Sums<T>, sign: f64) -> ([f64; 2], usize) {
        let (mut wrong, mut size, mut again) = ([0.0; 2], [0.0; 2], 0);
        let mut units = vec![0.0; self.tree.targets().len()];
        layout.blocks().for_each(|(targets, unit)| units[targets].fill(unit));
        for (k, wanted) in &self.wanted {
            let scale = self.tree.map.size / units[*k];
            let scale = [sign * scale, scale * scale, scale * scale, scale * scale];
            let (found, close) = sums.of(*k);
            if close != self.tree.targets().coincident[*k] {
                again += 1;
                continue;
            }
            for a in 0..4 {
                wrong[(a > 0) as usize] += (found[a].f64() * scale[a] - wanted[a]).powi(2);
                size[(a > 0) as usize] += wanted[a].powi(2);
            }
        }
        ([0, 1].map(|a| (wrong[a] / size[a]).sqrt()), again)
    }
}
