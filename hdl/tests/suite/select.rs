//! Selections against sorting.

use hdl::Flags;
use hdl::Format;
use hdl::Reduce;
use hdl::number::reduce::Record;
use hdl::number::reduce::Selection;
use hdl::number::reduce::order_key;
use hdl::number::select::Ranked;

fn formats() -> [Format; 2] {
    [Format::Float { width: 6, mant: 2 }, Format::Int { width: 3, signed: true }]
}

/// A record of two members and so many ranks, the payloads in front of the keys.
fn record(ranks: u32, greatest: bool) -> Record {
    let [key, payload] = formats();
    let place = |member, rank| Reduce::Ranked(Ranked { selection: 0, member, rank, greatest });
    let payloads = (0..ranks).map(|rank| (payload, place(1, rank)));
    Record::new(payloads.chain((0..ranks).map(|rank| (key, place(0, rank)))))
}

/// Numbers below `n` in an order of their own.
fn scattered(seed: &mut u64, n: u64) -> u64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 33) % n
}

#[test]
fn any_order_and_any_parts_give_the_sorted_pairs() {
    let mut seed = 7;
    for (ranks, greatest) in [(1, false), (1, true), (3, false), (5, true)] {
        let (record, [key, payload]) = (record(ranks, greatest), formats());
        let ranks = ranks as usize;
        for count in 0..24 {
            let mut pairs: Vec<[u64; 2]> = (0..count)
                .map(|_| {
                    [
                        if scattered(&mut seed, 3) == 0 { 0 } else { scattered(&mut seed, 24) | 4 },
                        scattered(&mut seed, 8),
                    ]
                })
                .collect();
            let run = |pairs: &[[u64; 2]]| {
                let mut sums = record.start();
                pairs.iter().for_each(|p| record.add(&mut sums, |k| if k < ranks { p[1] } else { p[0] }));
                sums.iter().map(|s| s.finish().0).collect::<Vec<u64>>()
            };
            let whole = run(&pairs);
            let (one, two) = pairs.split_at(scattered(&mut seed, count as u64 + 1) as usize);
            let (mut joined, other) = (run(two), run(one));
            assert_eq!(record.combine(&mut joined, &other), Flags::NONE);
            let sign = if greatest { -1 } else { 1 };
            pairs.resize(count.max(ranks) + ranks, [record.selections[0].identity()[0], payload.max_bits()]);
            pairs.sort_by_key(|p| (sign * order_key(key, p[0]), order_key(payload, p[1])));
            let wanted: Vec<u64> =
                pairs[..ranks].iter().map(|p| p[1]).chain(pairs[..ranks].iter().map(|p| p[0])).collect();
            assert_eq!((&whole, &joined), (&wanted, &wanted), "{ranks} {greatest} {pairs:x?}");
        }
    }
}

#[test]
fn what_is_not_whole_is_refused() {
    let [key, payload] = formats();
    let place = |member, rank| Reduce::Ranked(Ranked { selection: 0, member, rank, greatest: false });
    assert!(Selection::all([(key, place(0, 0)), (payload, place(1, 0)), (key, place(0, 1))]).is_err());
    assert!(Selection::all([(key, place(0, 0)), (payload, place(0, 1))]).is_err());
    assert!(Selection::all([(payload, place(1, 0))]).is_err());
    assert_eq!(
        Selection::all([(key, place(0, 1)), (key, place(0, 0))]).map(|s| s[0].ranks.clone()),
        Ok(vec![vec![1], vec![0]])
    );
}
