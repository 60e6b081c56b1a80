//! Morton keys, and particles in their order.

use fmm::data::random::{Charge, Distribution, generate};
use fmm::tree::boxmap::BoxMap;
use fmm::tree::sort::*;

#[test]
fn morton_keys_interleave_the_upper_twenty_bits() {
    assert_eq!(morton(&[-(1 << 30); 3]), 0);
    assert_eq!(morton(&[(1 << 30) - 1; 3]), (1 << 60) - 1);
    assert_eq!(morton(&[0, -(1 << 30), -(1 << 30)]), 1 << 59);
    assert_eq!(morton(&[-(1 << 30), -(1 << 30), -(1 << 30) + (1 << 11)]), 1);
    assert_eq!(morton(&[-(1 << 30), -(1 << 30) + (1 << 12), -(1 << 30)]), 1 << 4);
    for x in [0, 1, 0xf_ffff, 0xa_5a5a, 0x5_0f31] {
        assert_eq!((contracted(dilated(x)), contracted(dilated(x) | 6 << 30)), (x, x));
    }
}

#[test]
fn runs_are_found_across_tasks() {
    let mut all: Vec<usize> = (0..3 * TASK).collect();
    assert_eq!((runs(&all), runs(&all[..1]), runs(&all[..0])), (vec![], vec![], vec![]));
    all[TASK - 1..TASK + 2].fill(7);
    all[2 * TASK - 1] = 2 * TASK;
    assert_eq!(runs(&all), [TASK - 1..TASK + 2, 2 * TASK - 1..2 * TASK + 1]);
    assert_eq!(runs(&[1; 3 * TASK]), vec![0..3 * TASK; 1]);
}

#[test]
fn particles_are_in_the_order_of_key_grid_and_input() {
    // Buckets of few and of very many, with particles in one cell of the deepest level and in one place.
    for (n, clump) in [(0, 0), (1, 0), (20_000, 300), (100, 70_000)] {
        let mut p = generate(n, Distribution::Plummer, Charge::Random, 7);
        for k in 0..clump {
            p.push([0.3, 0.4, 0.5 + 1e-9 * ((k * 7919) % 50) as f64 * (k % 3) as f64], 1.0);
        }
        let map = BoxMap::new(p.columns());
        let grid = |k: usize| [0, 1, 2].map(|a| BoxMap::grid(map.unit(a, map.scaled(p.columns()[a][k]))));
        let mut wanted: Vec<_> = (0..p.len()).map(|k| (morton(&grid(k)), grid(k), k as u32)).collect();
        wanted.sort_unstable();
        let (keys, order) = sorted(p.columns(), &map);
        assert!(keys.into_iter().zip(order).eq(wanted.into_iter().map(|w| (w.0, w.2))), "{n} {clump}");
    }
}
