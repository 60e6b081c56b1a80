//! Charges in the order of a tree.

use fmm::data::particles::Particles;
use fmm::tree::Tree;
use fmm::tree::charges::*;

#[test]
fn charges_follow_the_order_of_the_tree_and_are_at_most_one() {
    let mut p = Particles::default();
    p.push([1.0, 0.0, 0.0], -3.0);
    p.push([0.0; 3], 0.25);
    p.push([0.5, 0.0, 0.0], 0.0);
    let tree = Tree::build(p.columns(), 1);
    assert_eq!(tree.sources.order, [1, 2, 0]);
    for unit in [1.0, 2f64.powi(-1060), 2f64.powi(1021)] {
        let q: Vec<f64> = p.q.iter().map(|q| q * unit).collect();
        let charges = Charges::new(&tree, &q[..]);
        assert_eq!((charges.scaled, charges.least), (vec![0.0625, 0.0, -0.75], 0.0625));
    }
    assert_eq!(Charges::new(&tree, &[0.0; 3][..]).least, 1.0);
}
