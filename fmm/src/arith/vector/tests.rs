//! Inverse roots of every set of instructions.

use super::*;

/// The inverse root of each `x + add` where x is at least 1e-6, and how many lanes are counted as below it.
#[inline(always)]
unsafe fn root<V: Vector>(x: &[V::Item], add: f64, found: &mut Vec<(f64, u32)>) {
    let of = |x: &[V::Item]| unsafe {
        let x = V::load(x);
        let y = x.add(V::splat(V::Item::of(add))).inverse_root();
        let (y, near) = y.where_from(x, V::splat(V::Item::of(1e-6)));
        (y.sum().f64() / V::ROOT, near)
    };
    // One value beside others that are below the limit, so that the sum is that of one lane.
    let alone = |x: &V::Item| {
        let mut lanes = vec![V::Item::default(); V::LANES];
        lanes[V::LANES / 2] = *x;
        lanes
    };
    found.extend(x.iter().map(|x| of(&alone(x))));
}

vectorised! {
    fn add_roots<T>(x: &[T], add: f64, found: &mut Vec<(f64, u32)>) = root
}

fn roots<T: Vectors>(isa: Isa, x: &[T], add: f64) -> Vec<(f64, u32)> {
    let mut found = Vec::new();
    add_roots(isa, x, add, &mut found);
    found
}

fn check<T: Vectors>(last_place: f64, powers: std::ops::Range<i32>) {
    let mantissas = (0..500).map(|k| 1.0 + 2.9999 * k as f64 / 499.0);
    let x: Vec<T> = mantissas.flat_map(|m| powers.clone().map(move |e| T::of(m * 4f64.powi(e)))).collect();
    for isa in Isa::all() {
        for (x, (y, near)) in x.iter().zip(roots(isa, &x, 0.0)) {
            let wanted = 1.0 / x.f64().sqrt();
            assert!((y / wanted - 1.0).abs() < 2.0 * last_place, "{isa:?}: 1/sqrt({}) is not {y}", x.f64());
            assert_eq!(near, isa.lanes::<T>() as u32 - 1, "{isa:?}");
        }
        // Below the limit, whatever is added.
        for x in [0.0, 1e-30, 0.99e-6] {
            assert_eq!(roots(isa, &[T::of(x)], 4.0), [(0.0, isa.lanes::<T>() as u32)], "{isa:?}");
        }
        let (y, _) = roots(isa, &[T::of(12.0)], 4.0)[0];
        assert!((y / 0.25 - 1.0).abs() < 2.0 * last_place, "{isa:?}: {y}");
    }
}

unsafe fn interleaved<V: Vector>(a: &[V::Item], b: &[V::Item], out: &mut [V::Item]) {
    unsafe {
        let [low, high] = V::load(a).interleave(V::load(b));
        low.store(out);
        high.store(&mut out[V::LANES..]);
    }
}

vectorised! {
    fn interleave<T>(a: &[T], b: &[T], out: &mut [T]) = interleaved
}

fn check_interleave<T: Vectors + std::fmt::Debug>() {
    let numbers = |from: usize| -> Vec<T> { (0..16).map(|k| T::of((2 * k + from) as f64)).collect() };
    for isa in Isa::all() {
        let mut out = vec![T::default(); 32];
        interleave(isa, &numbers(0), &numbers(1), &mut out);
        let count = 2 * isa.lanes::<T>();
        assert!(out[..count].iter().enumerate().all(|(k, x)| x.f64() == k as f64), "{isa:?}: {out:?}");
    }
}

#[test]
fn interleaving_takes_numbers_in_turn() {
    check_interleave::<f32>();
    check_interleave::<f64>();
}

unsafe fn summed<V: Vector>(x: &[V::Item], out: &mut [V::Item]) {
    unsafe {
        let of = [V::load(x), V::load(&x[16..]), V::load(&x[32..]), V::load(&x[48..])];
        out[..4].copy_from_slice(&V::four_sums(of));
        of.iter().zip(&mut out[4..]).for_each(|(v, out)| *out = v.sum());
    }
}

vectorised! {
    fn sum<T>(x: &[T], out: &mut [T]) = summed
}

fn check_sums<T: Vectors + std::fmt::Debug>() {
    // Powers of two, whose sums tell which lanes are in them.
    let x: Vec<T> = (0..64).map(|k| T::of(2f64.powi(k % 16) * (k / 16 + 1) as f64)).collect();
    for isa in Isa::all() {
        let mut out = vec![T::default(); 8];
        sum(isa, &x, &mut out);
        let one = 2f64.powi(isa.lanes::<T>() as i32) - 1.0;
        assert!(out.iter().enumerate().all(|(k, x)| x.f64() == one * (k % 4 + 1) as f64), "{isa:?}: {out:?}");
    }
}

#[test]
fn four_sums_are_those_of_each_vector() {
    check_sums::<f32>();
    check_sums::<f64>();
}

#[test]
fn inverse_roots_of_f32_are_right_to_two_units_of_the_last_place() {
    check::<f32>(2f64.powi(-23), -9..50);
}

#[test]
fn inverse_roots_of_f64_are_right_to_two_units_of_the_last_place() {
    check::<f64>(2f64.powi(-52), -9..500);
}
