//! Pairs that P2P leaves to wider arithmetic, and leaves of which it takes both directions at once.

use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::p2p::*;
use fmm::tree::Tree;
use fmm::tree::charges::Charges;
use fmm::tree::lists::{self, ListOptions};

#[test]
fn every_pair_too_close_for_f32_is_found_across_leaves_too() {
    let mut p = generate(3000, Distribution::Uniform, Charge::Random, 4);
    for k in 0..300 {
        // Beside a face, an edge or a corner between cells, at many distances.
        let at = p.position(k);
        let d = 1e-2 * 0.9f64.powi((k / 3) as i32);
        p.push(std::array::from_fn(|a| if a <= k % 3 { 0.5 - d } else { at[a] }), 1.0);
        p.push(std::array::from_fn(|a| if a <= k % 3 { 0.5 + d } else { at[a] }), 1.0);
    }
    let tree = Tree::build(p.columns(), 20);
    let options = ListOptions { near2: 4, m2p_above: 20, p2l_above: 20 };
    let (lists, charges) = (lists::build(&tree, &options), Charges::new(&tree, &p.q[..]));
    let mut wanted = 0;
    for leaf in &tree.leaves {
        let cell = &tree.cells[*leaf as usize];
        let limit = Limits::of::<f32>().distance * cell.edge();
        let sources = || lists.u[*leaf as usize].iter().flat_map(|s| s.0 as usize..(s.0 + s.1) as usize);
        for i in cell.targets() {
            let d2 =
                |j: usize| (0..3).map(|a| (tree.sources.unit[a][i] - tree.sources.unit[a][j]).powi(2)).sum::<f64>();
            wanted += sources().filter(|j| *j != i && d2(*j) < limit * limit).count();
        }
    }
    assert!(wanted > 300);
    let near = Near::new(&tree, &lists, &charges, 0.0);
    for is_mutual in [false, true] {
        let mut force = vec![[0.0; 4]; tree.len()];
        let out = vec![Out { force: &mut force, hessian: &mut [] }];
        let again =
            if is_mutual { tasks::all::<f32>(&near, &tasks::pairs(&near), out) } else { near.one_way::<f32>(out) };
        assert_eq!(again[0].pairs as usize, wanted);
    }
}

#[test]
fn both_directions_are_computed_at_once_where_leaves_have_many_pairs() {
    for (leaf, is_worth) in [(4, false), (2000, true)] {
        let p = generate(3000, Distribution::Uniform, Charge::Random, 4);
        let tree = Tree::build(p.columns(), leaf);
        let options = ListOptions { near2: 4, m2p_above: 20, p2l_above: 20 };
        let (lists, charges) = (lists::build(&tree, &options), Charges::new(&tree, &p.q[..]));
        let near = Near::new(&tree, &lists, &charges, 0.0);
        let pairs = tasks::pairs(&near);
        assert_eq!([tasks::are_worth::<f32>(&pairs), tasks::are_worth::<f64>(&pairs)], [is_worth; 2], "{leaf}");
    }
}
