//! Whole numbers, bits, vectors, names of formats, and several reductions into one output; as in `cases`.

use super::cases::{Case, INVALID, SATURATION, int, real, round, saturate};

const WRAP: u8 = 16;

const fn case(text: &'static str, means: fn(&[i128]) -> (Vec<i128>, u8)) -> Case {
    Case { text, means, ordinary: false }
}

/// A sum of one pair's terms, and whether it leaves so many bits.
fn total(sum: i128, width: u32, signed: bool) -> (i128, u8) {
    let kept = if signed { int(sum, width) } else { sum & ((1 << width) - 1) };
    (kept, if kept == sum { 0 } else { WRAP })
}

/// Floor, ceil, trunc and round of x over 2^places, in units of the last place.
fn wholes(x: i128, places: u32) -> [i128; 4] {
    let one = 1 << places;
    let floor = x.div_euclid(one) * one;
    let ceil = if floor == x { x } else { floor + one };
    // Half of one away from zero, cut off.
    let round = (2 * x + one * x.signum()) / (2 * one) * one;
    [floor, ceil, if x < 0 { ceil } else { floor }, round]
}

/// All of these, each kept within its format.
fn within(values: &[i128], low: i128, high: i128) -> (Vec<i128>, u8) {
    let kept: Vec<(i128, u8)> = values.iter().map(|v| saturate(*v, low, high)).collect();
    (kept.iter().map(|k| k.0).collect(), kept.iter().fold(0, |all, k| all | k.1))
}

/// The same of a float.
fn whole_floats(format: &str, bits: i128) -> (Vec<i128>, u8) {
    let x = real(format, bits);
    let all = [x.floor(), x.ceil(), x.trunc(), x.round()].map(|x| round(format, x + 0.0));
    (all.iter().map(|a| a.0).collect(), all.iter().fold(0, |all, a| all | a.1))
}

pub static CASES: &[Case] = &[
    case(
        "fixed16.8 a jpin; fixed16.8 o[4] fout; o max= (pg_floor(a), pg_ceil(a), pg_trunc(a), pg_round(a));",
        |x| within(&wholes(x[0], 8), -32768, 32767),
    ),
    case(
        "fixed8.8 a jpin; fixed8.8 o[4] fout; o min= (pg_floor(a), pg_ceil(a), pg_trunc(a), pg_round(a));",
        |x| within(&wholes(x[0], 8), -128, 127),
    ),
    case(
        "fixed64.63 a ipin; ufixed9.2 b jpin; fixed64.63 o[4] fout; ufixed9.2 p[4] fout;
         o max= (pg_floor(a), pg_ceil(a), pg_trunc(a), pg_round(a)); p min= (pg_floor(b), pg_ceil(b), pg_trunc(b), pg_round(b));",
        |x| {
            let (mut all, flags) = within(&wholes(x[0], 63), i64::MIN as i128, i64::MAX as i128);
            let (more, further) = within(&wholes(x[1], 2), 0, 511);
            all.extend(more);
            (all, flags | further)
        },
    ),
    case(
        "float12.6 a jpin; float12.6 o[4] fout; o max= (pg_floor(a), pg_ceil(a), pg_trunc(a), pg_round(a));",
        |x| whole_floats("float12.6", x[0]),
    ),
    case(
        "float6.3 a jpin; float6.3 o[4] fout; o max= (pg_floor(a), pg_ceil(a), pg_trunc(a), pg_round(a));",
        |x| whole_floats("float6.3", x[0]),
    ),
    case(
        "float64.52 a jpin; float64.52 o[4] fout; o max= (pg_floor(a), pg_ceil(a), pg_trunc(a), pg_round(a));",
        |x| whole_floats("float64.52", x[0]),
    ),
    case(
        "uint8 u ipin; int16 k jpin; uint8 o fout; int16 p fout; uint11 q fout; uint8 r fout; uint7 s fout; int16 t fout;
         o += pg_popcount(u); p += pg_clz(k); q max= k[14:4]; r += k[15]; s max= pg_bits(k)[8:2]; t += pg_popcount(k);",
        |x| {
            let k = x[1] & 0xffff;
            let zeros = (k as u16).leading_zeros() as i128;
            let ones = (k as u16).count_ones() as i128;
            (vec![x[0].count_ones() as i128, zeros, k >> 4 & 0x7ff, k >> 15, k >> 2 & 0x7f, ones], 0)
        },
    ),
    case(
        "uint18 u ipin; float18.9 f jpin; float18.9 o fout; uint18 p fout; uint1 q fout;
         o max= pg_from_bits(u, float18.9); p max= pg_bits(f); q += pg_bits(f * 2)[17];",
        |x| {
            let field = x[0] >> 9 & 255;
            let value = if field == 0 || field == 255 { 0 } else { x[0] };
            let (twice, flags) = round("float18.9", 2.0 * real("float18.9", x[1]));
            (vec![value, x[1], twice >> 17], flags | if field == 255 { INVALID } else { 0 })
        },
    ),
    // Several terms of one pair: their sum is exact.
    case("int8 a ipin; int8 b jpin; int8 o fout; o += a; if (a > b) { o += b; } o -= 3; o += 1;", |x| {
        let (o, flags) = total(x[0] + if x[0] > x[1] { x[1] } else { 0 } - 2, 8, true);
        (vec![o], flags)
    }),
    case("int64 a ipin; int64 b jpin; int64 o fout; o -= b; o += a; o -= a; o += b; o -= b;", |x| {
        let (o, flags) = total(-x[1], 64, true);
        (vec![o], flags)
    }),
    case(
        "uint8 u ipin; uint8 v jpin; uint8 o fout; uint8 p fout; int8 q fout; o += u; o += v;
         if (u > v) { o += 1; p max= u; q -= 1; } else if (u == v) { o += 2; } p max= v; if (v > 9) { p max= 77; q -= -128; }",
        |x| {
            let (u, v) = (x[0], x[1]);
            let (o, flags) = total(u + v + (u > v) as i128 + 2 * (u == v) as i128, 8, false);
            let p = v.max(if u > v { u } else { 0 }).max(if v > 9 { 77 } else { 0 });
            let (q, more) = total(-((u > v) as i128) + if v > 9 { 128 } else { 0 }, 8, true);
            (vec![o, p, q], flags | more)
        },
    ),
    case(
        "fixed16.8 a[3] ipin; fixed16.8 b jpin; fixed16.8 o fout; fixed16.8 m fout;
         for k in 0..3 { o += a[k]; if (a[k] < b) { o -= b; m min= a[k]; } else { if (b > 0) { o -= 0.5; } } }",
        |x| {
            let (mut sum, mut least) = (0, 32767);
            for a in &x[..3] {
                sum += a - if *a < x[3] {
                    x[3]
                } else if x[3] > 0 {
                    128
                } else {
                    0
                };
                least = if *a < x[3] { least.min(*a) } else { least };
            }
            let (o, flags) = total(sum, 16, true);
            (vec![o, least], flags)
        },
    ),
    case(
        "int16 a[3] ipin; int16 b[3] jpin; int16 o[3] fout; int16 p fout; int16 q fout; int16 r[3] fout; int16 s[3] fout; int16 t[3] fout;
         o += pg_cross(a, b); p += pg_dot(a, b); q += pg_norm2(a - b); r max= pg_max(pg_abs(a), b); s min= pg_min(a, 3);
         t += a[0] > b[0] ? b : 0; t -= (b[0], 1, a[1] & 7);",
        |x| {
            let (a, b) = (&x[..3], &x[3..6]);
            let w = |v: i128| int(v, 16);
            let cross = (0..3).map(|k| w(a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3]));
            let dot = w((0..3).map(|k| a[k] * b[k]).sum());
            let norm = w((0..3).map(|k| w(a[k] - b[k]) * w(a[k] - b[k])).sum());
            let greatest = (0..3).map(|k| w(a[k].abs()).max(b[k]));
            let least = (0..3).map(|k| a[k].min(3));
            let taken = [b[0], 1, a[1] & 7];
            let t = (0..3).map(|k| total(if a[0] > b[0] { b[k] } else { 0 } - taken[k], 16, true));
            let t: Vec<(i128, u8)> = t.collect();
            let all = cross.chain([dot, norm]).chain(greatest).chain(least).chain(t.iter().map(|t| t.0));
            (all.collect(), t.iter().fold(0, |all, t| all | t.1))
        },
    ),
    // Vectors of numbers, and what is taken away at an index.
    case(
        "int8 k ipin; int16 b[3] jpin; uint2 at jpin; int16 o[3] fout; int16 p fout; int8 h[3] fout;
         o += pg_cross(b, (1, -2, 3)); p += (2 * (1, 2, 3) - (0, 1, 0)) * b; h[at] -= k;",
        |x| {
            let (b, w) = (&x[1..4], |v: i128| int(v, 16));
            let n = [1, -2, 3];
            let cross = (0..3).map(|k| w(b[(k + 1) % 3] * n[(k + 2) % 3] - b[(k + 2) % 3] * n[(k + 1) % 3]));
            let inner = w(2 * b[0] + 3 * b[1] + 6 * b[2]);
            let taken = (0..3).map(|k| total(if x[4] == k { -x[0] } else { 0 }, 8, true));
            let taken: Vec<(i128, u8)> = taken.collect();
            let flags = taken.iter().fold(if x[4] == 3 { 8 } else { 0 }, |all, t| all | t.1);
            (cross.chain([inner]).chain(taken.iter().map(|t| t.0)).collect(), flags)
        },
    ),
    case(
        "type real = fixed16.8; fn scaled(x, F) = (F)x * (F)2; fn twice(x, F) { y = (F)(x); return scaled(y, real) + (real)y; }
         real a ipin; int8 b jpin; fixed32.8 o fout; real p fout; o max= scaled(b, fixed32.8) + (fixed32.8)(a); p max= twice(b, real);",
        |x| {
            let b = x[1] * 256;
            let (y, flags) = saturate(b, -32768, 32767);
            assert_eq!(flags & SATURATION, flags);
            (vec![int(2 * b + x[0], 32), int(int(2 * y, 16) + y, 16)], flags)
        },
    ),
];
