//! Kernels with loops, branches, functions, matrices and elements; as in `cases`.

use super::cases::{Case, SATURATION, int};

const fn case(text: &'static str, means: fn(&[i128]) -> (Vec<i128>, u8)) -> Case {
    Case { text, means, ordinary: false }
}

pub static CASES: &[Case] = &[
    case(
        "int16 a[3] ipin; int16 b[3] jpin; int32 o fout;
         s = (int32)0; for k in 0..3 { s = s + (int32)a[k] * (int32)b[k]; } o += s;",
        |x| (vec![int((0..3).map(|k| x[k] * x[3 + k]).sum(), 32)], 0),
    ),
    case(
        "int16 a ipin; int16 b jpin; int16 o fout; int16 m fout; int8 p fout;
         if (a > b) { o += a - b; m max= a; } else if (a == b) { m max= 3; p += 1; } else { o += -1; }",
        |x| match x[0].cmp(&x[1]) {
            std::cmp::Ordering::Greater => (vec![int(x[0] - x[1], 16), x[0], 0], 0),
            std::cmp::Ordering::Equal => (vec![0, 3, 1], 0),
            std::cmp::Ordering::Less => (vec![-1, -32768, 0], 0),
        },
    ),
    case(
        "fn clip(x, low, high) { if (x < low) { return low; } if (x > high) { return high; } return x; }
         int16 a ipin; int16 b jpin; int16 c param; int16 o fout; o += clip(a - b, -100, c);",
        |x| {
            let d = int(x[0] - x[1], 16);
            (vec![if d < -100 { -100 } else { d.min(x[2]) }], 0)
        },
    ),
    case(
        "int16 m[2][3] ipin; int16 v[3] jpin; int16 n[3][2] jpin; int32 o[2] fout; int16 w[2][2] fout; int16 t[3][2] fout;
         o += (int32)(m * v); w += m * n; t += pg_transpose(m);",
        |x| {
            let (m, v, n) = (|r: usize, k: usize| x[3 * r + k], &x[6..9], |k: usize, c: usize| x[9 + 2 * k + c]);
            let o = (0..2).map(|r| int((0..3).map(|k| m(r, k) * v[k]).sum(), 16));
            let w = (0..4).map(|e| int((0..3).map(|k| m(e / 2, k) * n(k, e % 2)).sum(), 16));
            let t = (0..6).map(|e| m(e % 2, e / 2));
            (o.chain(w).chain(t).collect(), 0)
        },
    ),
    case(
        "int16 a[4] ipin; int16 b jpin; int16 o[4] fout; c[4]; c[0] = 1; for k in 1..4 { c[k] = c[k - 1] * 3; }
         p = a; for k in 0..4 { p[k] = p[k] * c[k] - b; if (p[k] < 0) { p[k] = 0; } } o += p;",
        |x| ((0..4).map(|k| int(x[k] * 3i128.pow(k as u32) - x[4], 16).max(0)).collect(), 0),
    ),
    // A branch that is not taken raises nothing.
    case(
        "int32 a ipin; int32 b jpin; fixed8.4 z fout; if (b > 0) { z max= (fixed8.4)a; }",
        |x| {
            let z = (x[0] * 16).clamp(-128, 127);
            if x[1] > 0 { (vec![z], if z == x[0] * 16 { 0 } else { SATURATION }) } else { (vec![-128], 0) }
        },
    ),
    case(
        "const N = 3; int16 a ipin; int16 b jpin; int32 o fout;
         fn power(x, n) { y = 1; for k in 0..n { y = y * x; } return y; }
         s = 0; for k in 0..N { if (k % 2 == 0) { s = s + power(a, k); } else { s = s - b; } } o += s;",
        |x| (vec![int(1 - x[1] + x[0] * x[0], 16)], 0),
    ),
    // Nested branches, in which a name from outside gets a new value, and one that is defined by all of them.
    case(
        "int16 a ipin; int16 b jpin; int16 c param; int16 o fout; int16 q fout;
         s = a; if (a < b) { if (b < c) { s = b; t = 1; } else { t = 2; s += 1; } } else { t = s; }
         o += s; q += t * 2;",
        |x| {
            let (a, b, c) = (x[0], x[1], x[2]);
            let (s, t) = match (a < b, b < c) {
                (true, true) => (b, 1),
                (true, false) => (int(a + 1, 16), 2),
                (false, _) => (a, a),
            };
            (vec![s, t * 2], 0)
        },
    ),
];
