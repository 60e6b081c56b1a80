//! Every pair is covered once for each near image of a periodic box.

use fmm::data::particles::Particles;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::tree::Tree;
use fmm::tree::lists::is_near;
use fmm::tree::lists::reach;
use fmm::tree::lists::{self, ListOptions, Lists};
use std::ops::Range;

/// The number of times that each particle acts on each, by shift: `seen[shift][target][source]`.
struct Coverage {
    n: usize,
    reach: i32,
    seen: Vec<u8>,
}

impl Coverage {
    fn of(tree: &Tree, lists: &Lists, near2: u64) -> Coverage {
        let reach = reach(near2) as i32;
        let n = tree.len();
        let mut all = Coverage { n, reach, seen: vec![0; (2 * reach as usize + 1).pow(3) * n * n] };
        for (k, cell) in tree.cells.iter().enumerate() {
            for s in &lists.u[k] {
                all.add(cell.targets(), s.0 as usize..(s.0 + s.1) as usize, [0; 3]);
            }
            for s in &lists.u_images[k] {
                assert_ne!(s.shift, [0; 3]);
                all.add(cell.targets(), s.first as usize..(s.first + s.count) as usize, s.shift);
            }
            for s in lists.w[k].iter().chain(&lists.x[k]) {
                let source = &tree.acting()[*s as usize];
                let original = &tree.cells[tree.original(*s)];
                assert_eq!((original.first, original.count), (source.first, source.count));
                let edge = 1 << source.level;
                let at: [i32; 3] = std::array::from_fn(|a| original.at[a] + edge * source.shift()[a]);
                assert_eq!(at, source.at);
                all.add(cell.targets(), source.sources(), source.shift());
            }
            for s in &lists.v[k] {
                let source = &tree.acting()[*s as usize];
                for t in &tree.cells[cell.child_range()] {
                    for s in &tree.cells[source.child_range()] {
                        let edge = 1 << s.level;
                        let d = [0, 1, 2].map(|a| t.at[a] - s.at[a] - edge * source.shift()[a]);
                        if !is_near(d.map(i64::from), near2) {
                            all.add(t.targets(), s.sources(), source.shift());
                        }
                    }
                }
            }
        }
        all
    }

    fn add(&mut self, targets: Range<usize>, sources: Range<usize>, shift: [i32; 3]) {
        let edge = 2 * self.reach + 1;
        let block = shift.iter().fold(0, |k, s| k * edge + s + self.reach) as usize;
        for i in targets {
            sources.clone().for_each(|j| self.seen[(block * self.n + i) * self.n + j] += 1);
        }
    }

    /// Every pair once for each near image of the box along the axes, and never for another.
    fn check(&self, axes: [bool; 3], near2: u64, what: &str) {
        let edge = 2 * self.reach as i64 + 1;
        for (block, seen) in self.seen.chunks(self.n * self.n).enumerate() {
            let k = block as i64;
            let shift = [k / (edge * edge), k / edge % edge, k % edge].map(|x| x - self.reach as i64);
            let wanted = is_near(shift, near2) && (0..3).all(|a| axes[a] || shift[a] == 0);
            assert!(seen.iter().all(|c| *c == wanted as u8), "{what} {axes:?} near2 {near2} shift {shift:?}");
        }
    }
}

fn check(what: &str, particles: &Particles, leaf: usize, near2: u64, above: usize) {
    for k in 1..8 {
        let axes = [k & 4 != 0, k & 2 != 0, k & 1 != 0];
        let mut tree = Tree::build(particles.columns(), leaf);
        tree.repeat(axes, near2);
        let options = ListOptions { near2, m2p_above: above, p2l_above: above };
        let lists = lists::build(&tree, &options);
        Coverage::of(&tree, &lists, near2).check(axes, near2, &format!("{what} leaf {leaf} above {above}"));
    }
}

#[test]
fn every_pair_is_covered_once_for_each_near_image() {
    for (name, d) in Distribution::ALL {
        let particles = generate(120, d, Charge::Random, 5);
        for leaf in [1, 6, 200] {
            for above in [0, 8, 10000] {
                check(name, &particles, leaf, 4, above);
            }
        }
        check(name, &particles, 3, 9, 4);
    }
    check("wide", &generate(40, Distribution::Normal, Charge::Random, 5), 2, 23, 3);
}

#[test]
fn few_particles_and_clumps_are_covered_too() {
    for n in [1, 2, 3] {
        check("few", &generate(n, Distribution::Uniform, Charge::Random, 2), 1, 4, 0);
    }
    let mut p = generate(20, Distribution::Uniform, Charge::Random, 2);
    // Deep cells at a face and at a corner of the box.
    (0..40).for_each(|k| p.push([1e-7 * k as f64, 0.4, 0.6], 1.0));
    (0..40).for_each(|k| p.push([1.0 - 1e-6 * k as f64, 1.0, 1.0], 1.0));
    for above in [0, 15] {
        check("clumps", &p, 4, 4, above);
    }
    let mut none = Tree::build(Particles::default().columns(), 1);
    none.repeat([true; 3], 4);
    assert!(none.acting().is_empty() && none.images_of_root().next().is_none());
}
