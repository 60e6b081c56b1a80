//! The M2L kernel of any order as PG2 text: Cartesian Taylor coefficients, RULES H4.
//!
//! L_k = sum of M_n D^(n+k) over |n| + |k| <= P, where D^m is the derivative of 1/r at R = c_i - c_j. The derivatives
//! come from the recurrence of McMurchie and Davidson (J. Comput. Phys. 26, 218, 1978): with R^n_0 = (-1)^n (2n-1)!! / r^(2n+1),
//! R^n_(m+e) = R_e R^(n+1)_m + m_e R^(n+1)_(m-e), and D^m = R^0_m. It needs one multiplier a value where an
//! exponent is 1.
//!
//! Since 1/r is harmonic, D_zz = -(D_xx + D_yy). So powers of z above 1 need no products: on the side of M their terms are
//! folded into those of xx and yy beforehand, and on the side of L they follow from xx and yy. What remains is (P+1)^2 of
//! the (P+1)(P+2)(P+3)/6 terms, and less than half of the multipliers at P = 8.

use std::collections::BTreeSet;
use std::fmt::Write;

/// The orders for which a kernel can be made.
pub const ORDERS: std::ops::RangeInclusive<u32> = 1..=8;

/// Exponents of x, y and z.
type Index = [u32; 3];

/// The text of the M2L kernel of order P: M of P(P+1)(P+2)/6 terms, L of (P+1)(P+2)(P+3)/6.
pub fn gen_m2l(order: u32) -> Result<String, String> {
    if !ORDERS.contains(&order) {
        return Err(format!("M2L kernels have orders {} to {}, not {order}", ORDERS.start(), ORDERS.end()));
    }
    let mut text = String::new();
    write_kernel(&mut text, order).expect("a String takes all that is written");
    Ok(crate::syntax::fmt::format(&text).expect("what is generated parses"))
}

/// All indices of order up to `order`: 1, x, y, z, xx, xy, xz, yy, yz, zz, ...
pub fn indices(order: u32) -> Vec<[u32; 3]> {
    let of_order = |n: u32| (0..=n).rev().flat_map(move |x| (0..=n - x).rev().map(move |y| [x, y, n - x - y]));
    (0..=order).flat_map(of_order).collect()
}

fn write_kernel(out: &mut String, order: u32) -> std::fmt::Result {
    // One 18 x 18 multiplier holds 16 fraction bits; orders above 6 need more to gain anything.
    let float = if order <= 6 { "float25.16" } else { "float29.20" };
    let (sources, targets) = (indices(order - 1), indices(order));
    writeln!(out, "// M2L of order P = {order}: L_k += sum of M_n D^(n+k) over |n| + |k| <= P, where D^m is the")?;
    writeln!(
        out,
        "// derivative of 1/r at ci - cj, in units of the cell. Terms stand in the order 1, x, y, z, xx, xy, ...\n"
    )?;
    writeln!(out, "int22       ci[3]    ipin;   // integer coordinates of the target cell")?;
    writeln!(out, "int22       cj[3]    jpin;   // of the source cell")?;
    writeln!(out, "{float:<11} {:<8} jpin;   // multipole coefficients", format!("M[{}]", sources.len()))?;
    writeln!(out, "int64       {:<8} fout;   // local coefficients", format!("L[{}]", targets.len()))?;
    writeln!(out, "int16       lshift   param;  // L is scaled by 2^lshift")?;
    writeln!(out, "int32       near2    param;  // nearer cells contribute nothing\n")?;
    writeln!(out, "// Distances beyond 511 cells are all alike to the mask; so the sum of squares cannot wrap.")?;
    writeln!(out, "d    = ci - cj;")?;
    for (k, axis) in ["ax", "ay", "az"].iter().enumerate() {
        writeln!(out, "{axis}   = (int22)pg_min((uint22)pg_abs(d[{k}]), 511);")?;
    }
    writeln!(out, "flag = ax * ax + ay * ay + az * az < near2;\n")?;
    writeln!(out, "r    = ({float})d;")?;
    writeln!(out, "inr  = flag ? 0 : pg_pow(r * r, -1, 2);  // 1/r, and 0 for near cells: then all below is 0")?;
    writeln!(out, "inr2 = 0 - inr * inr;\n")?;
    write_derivatives(out, order)?;
    write_folded(out, order)?;
    write_locals(out, order)
}

/// The name of R^n_m; that of a derivative for n = 0.
fn name(n: u32, m: Index) -> String {
    let letters = letters(m);
    match (n, letters.is_empty()) {
        (0, true) => "inr".into(),
        (0, false) => format!("d{letters}"),
        _ => format!("r{n}{letters}"),
    }
}

fn less(m: Index, axis: usize, by: u32) -> Index {
    let mut m = m;
    m[axis] -= by;
    m
}

/// The axis by which R^n_m is reduced: the one of the smallest power, for a power of 1 has no second term.
fn axis(m: Index) -> usize {
    (0..3).filter(|a| m[*a] > 0).min_by_key(|a| (m[*a], 2 - a)).expect("not the scalar")
}

/// The values R^n_m with n > 0 that the derivatives lead to.
fn needed(order: u32) -> BTreeSet<(u32, u32, [u32; 3])> {
    let mut set = BTreeSet::new();
    let mut todo: Vec<(u32, Index)> = indices(order).into_iter().filter(|m| m[2] <= 1).map(|m| (0, m)).collect();
    while let Some((n, m)) = todo.pop() {
        let total: u32 = m.iter().sum();
        // Ordered by falling n, then by order: each stands behind what it is made of.
        if n > 0 && !set.insert((order - n, total, [u32::MAX - m[0], u32::MAX - m[1], m[2]])) {
            continue;
        }
        if total == 0 {
            if n > 1 {
                todo.push((n - 1, m));
            }
            continue;
        }
        let a = axis(m);
        todo.push((n + 1, less(m, a, 1)));
        if m[a] >= 2 {
            todo.push((n + 1, less(m, a, 2)));
        }
    }
    set
}

/// One step of the recurrence.
fn recurrence(n: u32, m: Index) -> String {
    let a = axis(m);
    let first = format!("r[{a}] * {}", name(n + 1, less(m, a, 1)));
    match m[a] {
        1 => first,
        2 => format!("{first} + {}", name(n + 1, less(m, a, 2))),
        k => format!("{first} + {} * {}", k - 1, name(n + 1, less(m, a, 2))),
    }
}

fn write_derivatives(out: &mut String, order: u32) -> std::fmt::Result {
    writeln!(
        out,
        "// rN = (-1)^N (2N-1)!! / r^(2N+1), and rNm = r rN+1 + ... towards the derivatives (McMurchie and Davidson)."
    )?;
    for n in 1..=order {
        let factor = if n == 1 { String::new() } else { format!("{} * ", 2 * n - 1) };
        writeln!(out, "r{n} = {factor}{} * inr2;", name(n - 1, [0; 3]))?;
    }
    for (k, _, m) in needed(order) {
        let m = [u32::MAX - m[0], u32::MAX - m[1], m[2]];
        if m != [0; 3] {
            writeln!(out, "{} = {};", name(order - k, m), recurrence(order - k, m))?;
        }
    }
    writeln!(out, "\n// Derivatives of 1/r, which is harmonic: zz = -(xx + yy).")?;
    for m in indices(order).into_iter().skip(1).filter(|m| m[2] <= 2) {
        if m[2] <= 1 {
            writeln!(out, "{} = {};", name(0, m), recurrence(0, m))?;
        } else {
            let (xx, yy) = (swap(m, 2, 0), swap(m, 2, 1));
            writeln!(out, "{} = -({} + {});", name(0, m), name(0, xx), name(0, yy))?;
        }
    }
    Ok(())
}

/// `m` with two powers of one axis moved to another.
fn swap(m: Index, from: usize, to: usize) -> Index {
    let mut m = less(m, from, 2);
    m[to] += 2;
    m
}

fn letters(m: Index) -> String {
    ["x", "y", "z"].iter().zip(m).map(|(c, k)| c.repeat(k as usize)).collect()
}

/// The name of M_m after the terms with zz have been folded into it.
fn folded(m: Index, sources: &[Index]) -> String {
    if m[0] >= 2 || m[1] >= 2 {
        format!("m{}", letters(m))
    } else {
        format!("M[{}]", sources.iter().position(|s| *s == m).expect("a term of M"))
    }
}

/// M_zz D_zz = -M_zz (D_xx + D_yy): so M_zz is taken off M_xx and M_yy.
fn write_folded(out: &mut String, order: u32) -> std::fmt::Result {
    if order <= 2 {
        return Ok(());
    }
    let sources = indices(order - 1);
    writeln!(out, "\n// M without zz: M_zz D_zz = -M_zz D_xx - M_zz D_yy.")?;
    // Rising powers of x and y first, so that what is taken off is finished.
    let mut order_of_work: Vec<(usize, Index)> = sources.iter().copied().enumerate().collect();
    order_of_work.sort_by_key(|(k, m)| (m.iter().sum::<u32>(), u32::MAX - m[2], *k));
    for (k, m) in order_of_work {
        let off: Vec<String> =
            (0..2).filter(|a| m[*a] >= 2).map(|a| format!(" - {}", folded(swap(m, a, 2), &sources))).collect();
        if !off.is_empty() {
            writeln!(out, "{} = M[{k}]{};", folded(m, &sources), off.concat())?;
        }
    }
    Ok(())
}

fn write_locals(out: &mut String, order: u32) -> std::fmt::Result {
    let sources = indices(order - 1);
    let targets = indices(order);
    let mut last = u32::MAX;
    for target in targets.iter().copied() {
        let total: u32 = target.iter().sum();
        if total != last {
            writeln!(out, "\n// Local coefficients of order {total}.")?;
            last = total;
        }
        let sum = if target[2] <= 1 {
            let terms: Vec<String> = sources
                .iter()
                .filter(|n| n[2] <= 1 && n.iter().sum::<u32>() + total <= order)
                .map(|n| (folded(*n, &sources), [target[0] + n[0], target[1] + n[1], target[2] + n[2]]))
                .map(|(m, d)| format!("{m} * {}", name(0, d)))
                .collect();
            balanced(&terms)
        } else {
            format!("-({} + {})", local(swap(target, 2, 0)), local(swap(target, 2, 1)))
        };
        writeln!(out, "{} = {sum};", local(target))?;
    }
    writeln!(out)?;
    for (k, target) in targets.into_iter().enumerate() {
        writeln!(out, "L[{k}] += (int64)({} << lshift);", local(target))?;
    }
    Ok(())
}

/// The name of a local coefficient before it is scaled.
fn local(m: Index) -> String {
    format!("l{}", if m == [0; 3] { "0".into() } else { letters(m) })
}

/// The sum of the terms as a balanced tree, which is both shorter in time and more exact than a chain.
fn balanced(terms: &[String]) -> String {
    match terms {
        [one] => one.clone(),
        [a, b] => format!("{a} + {b}"),
        _ => {
            let (left, right) = terms.split_at(terms.len().div_ceil(2));
            let wrap = |t: &[String]| if t.len() == 1 { t[0].clone() } else { format!("({})", balanced(t)) };
            format!("{} + {}", wrap(left), wrap(right))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_stand_in_the_order_of_the_contract() {
        let names: Vec<String> = indices(2).into_iter().map(|m| name(0, m)).collect();
        assert_eq!(names.join(" "), "inr dx dy dz dxx dxy dxz dyy dyz dzz");
        for p in ORDERS {
            assert_eq!(indices(p).len() as u32, (p + 1) * (p + 2) * (p + 3) / 6);
        }
    }

    #[test]
    fn orders_outside_are_refused() {
        assert!(gen_m2l(0).is_err() && gen_m2l(9).is_err());
    }
}
