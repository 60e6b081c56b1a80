//! Loops in parallel: each item once, results in their order, errors and panics.

use fmm::parallel::prelude::*;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const COUNTS: [usize; 7] = [0, 1, 2, 3, 7, 64, 1001];

/// On one thread, as many as there are, and more than that.
fn on_threads(test: impl Fn() + Sync) {
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(&test);
    }
}

#[test]
fn items_are_collected_in_their_order() {
    on_threads(|| {
        for count in COUNTS {
            let squares: Vec<usize> = (0..count).map(|k| k * k).collect();
            assert_eq!((0..count).into_par_iter().map(|k| k * k).collect::<Vec<_>>(), squares);
            let zipped: Vec<_> =
                squares.par_iter().zip(&squares[count / 2..]).with_min_len(3).map(|(a, b)| a + b).collect();
            let expected: Vec<_> = squares.iter().zip(&squares[count / 2..]).map(|(a, b)| a + b).collect();
            assert_eq!(zipped, expected);
            let mut all = vec![5, 6];
            squares.par_iter().copied().chain((0..2).into_par_iter()).extend_into(&mut all);
            assert_eq!(all, [&[5, 6], &squares[..], &[0, 1]].concat());
            let owned: Vec<String> = squares.par_iter().map(|k| k.to_string()).collect();
            assert_eq!(owned, squares.iter().map(|k| k.to_string()).collect::<Vec<_>>());
            let by_key: HashMap<usize, usize> = (0..count).into_par_iter().map(|k| (k, k + 1)).collect();
            assert_eq!(by_key, (0..count).map(|k| (k, k + 1)).collect());
        }
    });
}

#[test]
fn any_number_of_items_for_one_are_collected_in_their_order() {
    on_threads(|| {
        for count in COUNTS {
            let expected: Vec<usize> = (0..count).flat_map(|k| 0..k % 4).collect();
            let flat = || (0..count).into_par_iter().flat_map_iter(|k| 0..k % 4);
            assert_eq!(flat().collect(), expected);
            assert_eq!(
                flat().collect_init(|| 1, |one, k| k + *one),
                expected.iter().map(|k| k + 1).collect::<Vec<_>>()
            );
            let sum = AtomicUsize::new(0);
            flat().for_each(|k| _ = sum.fetch_add(k, Ordering::Relaxed));
            assert_eq!(sum.into_inner(), expected.iter().sum());
            let odd: Vec<usize> = (0..count).into_par_iter().filter(|k| k % 2 == 1).collect();
            assert_eq!(odd, (0..count).filter(|k| k % 2 == 1).collect::<Vec<_>>());
        }
    });
}

#[test]
fn each_item_is_taken_once_and_by_one_thread() {
    on_threads(|| {
        for count in COUNTS {
            let mut taken = vec![0; count];
            taken
                .par_chunks_mut(3)
                .enumerate()
                .for_each(|(part, items)| items.iter_mut().for_each(|item| *item += part + 1));
            assert!(taken.iter().enumerate().all(|(k, item)| *item == k / 3 + 1));
            let parts = Mutex::new(Vec::new());
            let counted = |part: &mut Vec<usize>, k| {
                part.push(k);
                if part.len() == 1 {
                    parts.lock().unwrap().push(k);
                }
            };
            (0..count).into_par_iter().for_each_init(Vec::new, counted);
            let mut firsts = parts.into_inner().unwrap();
            firsts.sort_unstable();
            assert_eq!(firsts.first(), (count > 0).then_some(&0));
            assert!(firsts.windows(2).all(|w| w[0] < w[1]));
        }
    });
}

#[test]
fn what_parts_give_is_merged_in_their_order() {
    on_threads(|| {
        for count in COUNTS {
            let text = || (0..count).into_par_iter().map(|k| format!("{k} "));
            let all: String = (0..count).map(|k| format!("{k} ")).collect();
            assert_eq!(text().reduce(String::new, |a, b| a + &b), all);
            assert_eq!(text().fold_reduce(|| 0, |sum, item| sum + item.len(), |a, b| a + b), all.len());
        }
    });
}

#[test]
fn the_first_error_in_the_order_of_the_items_is_the_one_given() {
    on_threads(|| {
        let of = |k: usize| if k % 400 == 399 { Err(k) } else { Ok(k) };
        assert_eq!((0..1001).into_par_iter().map(of).collect::<Result<Vec<_>, _>>(), Err(399));
        assert_eq!((0..300).into_par_iter().map(of).collect::<Result<Vec<_>, _>>(), Ok((0..300).collect()));
    });
}

/// A loop within a loop, and one whose parts are as small as they can be.
#[test]
fn loops_of_loops_are_right() {
    on_threads(|| {
        let row = |k: usize| (0..k).into_par_iter().with_max_len(1).map(|j| j * k).reduce(|| 0, |a, b| a + b);
        let sums: Vec<usize> = (0..60).into_par_iter().map(row).collect();
        assert_eq!(sums, (0..60).map(|k: usize| k * (k * k.saturating_sub(1) / 2)).collect::<Vec<_>>());
    });
}

#[test]
#[should_panic(expected = "the seventh")]
fn a_panic_of_an_item_is_that_of_the_loop() {
    (0..100).into_par_iter().for_each(|k| assert!(k != 7, "the seventh"));
}
