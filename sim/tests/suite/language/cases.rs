//! Small kernels over the whole language, each with what it means in the words of i128 and f64.

use hdl::Format;

/// A kernel, and for one pair its outputs and flags. Inputs stand in the order i, j, params: ints and fixeds as their
/// integers, floats as patterns. Outputs may exceed the format: they wrap.
pub struct Case {
    pub text: &'static str,
    pub means: fn(&[i128]) -> (Vec<i128>, u8),
    /// Whether the inputs are ordinary numbers alone, for floats that native arithmetic cannot follow to the ends.
    pub ordinary: bool,
}

const OVERFLOW: u8 = 1;
const UNDERFLOW: u8 = 2;
pub const SATURATION: u8 = 4;
pub const INVALID: u8 = 8;

/// The low bits as a signed number.
pub fn int(v: i128, width: u32) -> i128 {
    v << (128 - width) >> (128 - width)
}

/// The low bits as an unsigned number.
fn uint(v: i128, width: u32) -> i128 {
    v & ((1 << width) - 1)
}

/// a / b to nearest even, b > 0.
fn nearest(a: i128, b: i128) -> i128 {
    let (q, r) = (a.div_euclid(b), a.rem_euclid(b));
    let up = r > b - r || (r == b - r && q & 1 == 1);
    q + up as i128
}

/// a / b of any signs to nearest even.
fn quotient(a: i128, b: i128) -> i128 {
    let (q, r) = (a.wrapping_div(b), a.wrapping_rem(b));
    let (r, rest) = (r.unsigned_abs(), b.unsigned_abs() - r.unsigned_abs());
    let away = r > rest || (r == rest && q & 1 == 1);
    let sign = if (a < 0) == (b < 0) { 1 } else { -1 };
    q + if away { sign } else { 0 }
}

pub fn saturate(v: i128, low: i128, high: i128) -> (i128, u8) {
    (v.clamp(low, high), if v < low || v > high { SATURATION } else { 0 })
}

fn float(format: &str) -> Format {
    format.parse().unwrap()
}

/// The value of a float pattern.
pub fn real(format: &str, bits: i128) -> f64 {
    let f = float(format);
    let (e, m) = (f.exp(), f.mant());
    let (field, fraction) = ((bits >> m) & ((1 << e) - 1), bits & ((1 << m) - 1));
    let sign = if bits >> (e + m) & 1 == 1 { -1.0 } else { 1.0 };
    if field == 0 {
        return 0.0;
    }
    sign * (1.0 + fraction as f64 / 2f64.powi(m as i32)) * 2f64.powi(field as i32 - f.bias())
}

/// A number rounded to nearest even with unbounded exponent, and the exponents that are left to it (RULES N2).
pub fn round(format: &str, x: f64) -> (i128, u8) {
    let f = float(format);
    let (e, m) = (f.exp(), f.mant());
    if x == 0.0 {
        return (0, 0);
    }
    let sign = i128::from(x < 0.0) << (e + m);
    // f64 is normal here, so that its exponent field tells the power of two.
    let mut power = ((x.to_bits() >> 52 & 0x7ff) as i32) - 1023;
    let mut significand = (x.abs() / 2f64.powi(power) * 2f64.powi(m as i32)).round_ties_even() as i128;
    if significand >> (m + 1) == 1 {
        (significand, power) = (significand >> 1, power + 1);
    }
    let field = power + f.bias();
    if field < 1 {
        return (0, UNDERFLOW);
    }
    if field > (1 << e) - 2 {
        return (sign | ((((1 << e) - 2) << m) | ((1 << m) - 1)), OVERFLOW);
    }
    (sign | i128::from(field) << m | (significand & ((1 << m) - 1)), 0)
}

/// Operations one after the other in a format, with their flags gathered.
struct Floats(&'static str, u8);

impl Floats {
    fn of(&self, bits: i128) -> f64 {
        real(self.0, bits)
    }

    fn keep(&mut self, x: f64) -> f64 {
        let (bits, flags) = round(self.0, x);
        self.1 |= flags;
        real(self.0, bits)
    }

    fn bits(&self, x: f64) -> i128 {
        round(self.0, x).0
    }
}

fn f64_of(bits: i128) -> f64 {
    f64::from_bits(bits as u64)
}

fn bits64(x: f64) -> i128 {
    x.to_bits() as i128
}

/// Sign and logarithm, times 16, of a log9.4 other than 0.
fn log9(bits: i128) -> Option<(i128, i128)> {
    (bits >> 7 & 1 == 1).then(|| (bits >> 8 & 1, (bits & 127) - 64))
}

fn log9_bits(sign: i128, log: i128) -> (i128, u8) {
    match log {
        ..-64 => (0, UNDERFLOW),
        64.. => (sign << 8 | 255, OVERFLOW),
        _ => (sign << 8 | 128 | (log + 64), 0),
    }
}

fn log9_value(bits: i128) -> f64 {
    log9(bits).map_or(0.0, |(s, l)| (1 - 2 * s) as f64 * (l as f64 / 16.0).exp2())
}

fn log9_nearest(x: f64) -> (i128, u8) {
    if x == 0.0 { (0, 0) } else { log9_bits((x < 0.0) as i128, (x.abs().log2() * 16.0).round() as i128) }
}

/// A number with 6 fraction bits of its significand.
fn short(x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    let unit = (x.abs().log2().floor() - 6.0).exp2();
    (x / unit).round_ties_even() * unit
}

macro_rules! case {
    ($text:expr, |$x:ident| $means:expr) => {
        Case { text: $text, means: |$x| $means, ordinary: false }
    };
    (ordinary $text:expr, |$x:ident| $means:expr) => {
        Case { text: $text, means: |$x| $means, ordinary: true }
    };
}

pub const CASES: &[Case] = &[
    // Ints of the extreme widths.
    case!(
        "int1 a ipin; int1 b jpin; int1 s fout; int1 m fout; int1 n fout; s += a * b + ~a; m max= a ^ b; n min= -a;",
        |x| (vec![int(x[0] * x[1], 1) + !x[0], x[0] ^ x[1], -x[0]], 0)
    ),
    case!("uint1 a ipin; uint1 b jpin; uint1 o fout; uint1 q fout; o += a - b; q max= a / b;", |x| (
        vec![x[0] - x[1], if x[1] == 0 { 0 } else { x[0] }],
        if x[1] == 0 { INVALID } else { 0 }
    )),
    case!(
        "int63 a ipin; int63 b jpin; int63 o fout; int63 p fout; int63 q fout; int64 r fout;
         o += (a - b) * 3 % 7; p max= a >> 62; q min= b << 62; r += a;",
        |x| (vec![int(int(x[0] - x[1], 63) * 3, 63) % 7, x[0] >> 62, x[1] << 62, x[0]], 0)
    ),
    case!(
        "int64 a ipin; int64 b jpin; int64 o fout; int64 p fout; int64 q fout;
         o += a ^ 0x8000000000000000; p max= a & 0xFFFF_FFFF_FFFF_FFFF; q min= a / b;",
        |x| (
            vec![x[0] ^ (1 << 63), x[0], if x[1] == 0 { 0 } else { x[0] / x[1] }],
            if x[1] == 0 { INVALID } else { 0 }
        )
    ),
    case!(
        "int32 a ipin; int32 b jpin; int32 o fout; int32 p fout; int32 q fout;
         o += b & 0xFFFFFFFF; p += a & 0xFFFF_0000 | 0b1; q max= (a ^ 0xFFFFFFFF) - ~a;",
        |x| (vec![x[1], x[0] & !0xffff | 1, 0], 0)
    ),
    case!(
        "uint64 a ipin; uint64 b jpin; uint64 o fout; uint64 p fout; uint64 q fout; uint64 r fout;
         o += a + 0xFFFFFFFFFFFFFFFF; p max= a % b; q min= b >> 63; r max= a * b;",
        |x| (
            vec![x[0] - 1, if x[1] == 0 { 0 } else { x[0] % x[1] }, x[1] >> 63, x[0].wrapping_mul(x[1])],
            if x[1] == 0 { INVALID } else { 0 }
        )
    ),
    case!("int3 a ipin; int17 b jpin; int40 o fout; int17 m fout; o += a * b; m min= pg_min(a, b);", |x| (
        vec![int(x[0] * x[1], 17), x[0].min(x[1])],
        0
    )),
    case!("uint5 u ipin; uint1 t jpin; uint9 o fout; uint5 n fout; o += u - t; n max= -u;", |x| (
        vec![uint(x[0] - x[1], 5), -x[0]],
        0
    )),
    case!("int8 a ipin; int8 b jpin; int8 o fout; int8 q fout; o += pg_abs(a); q max= a % b;", |x| (
        vec![x[0].abs(), if x[1] == 0 { 0 } else { x[0] % x[1] }],
        if x[1] == 0 { INVALID } else { 0 }
    )),
    case!(
        "int8 a ipin; uint16 b jpin; int4 o fout; int16 p fout; uint32 q fout; int12 r fout;
         o += (int4)a; p += (int16)b; q max= (uint32)a; r min= (int12)b;",
        |x| (vec![x[0], x[1], uint(x[0], 32), int(x[1], 12)], 0)
    ),
    // Fixeds.
    case!(
        "fixed64.64 a ipin; fixed64.64 b jpin; fixed64.64 s fout; fixed64.64 p fout; fixed64.64 q fout;
         s += a - b; p max= a * b; q min= a / b;",
        |x| (
            vec![x[0] - x[1], nearest(x[0] * x[1], 1 << 64), if x[1] == 0 { 0 } else { quotient(x[0] << 64, x[1]) }],
            if x[1] == 0 { INVALID } else { 0 }
        )
    ),
    case!(
        "ufixed1.1 a ipin; ufixed1.1 b jpin; ufixed1.1 s fout; ufixed1.1 p fout; ufixed1.1 q fout; ufixed1.1 m fout;
         s += a + b; p max= a * b; q min= a / b; m max= pg_max(a, 0.5);",
        |x| (vec![x[0] + x[1], 0, 0, 1], if x[1] == 0 { INVALID } else { 0 })
    ),
    case!(
        "fixed64.0 a ipin; fixed8.8 b jpin; int64 o fout; int8 p fout; fixed16.0 q fout; fixed9.8 r fout;
         o += (int64)a; p += (int8)b; q max= (fixed16.0)a; r min= (fixed9.8)b;",
        |x| {
            let (q, flags) = saturate(x[0], -32768, 32767);
            (vec![x[0], nearest(x[1], 256), q, x[1]], flags)
        }
    ),
    case!("fixed16.8 x ipin; fixed16.8 y jpin; ufixed8.4 o fout; o max= (ufixed8.4)(x - y);", |x| {
        let (v, flags) = saturate(nearest(int(x[0] - x[1], 16), 16), 0, 255);
        (vec![v], flags)
    }),
    case!("ufixed12.5 x ipin; ufixed12.5 y jpin; ufixed12.5 o fout; o max= x / y - x * 1/3;", |x| {
        let q = if x[1] == 0 { 0 } else { uint(nearest(x[0] << 5, x[1]), 12) };
        (vec![q - nearest(x[0] << 5, 96)], if x[1] == 0 { INVALID } else { 0 })
    }),
    case!("fixed10.3 x ipin; fixed10.3 y jpin; fixed20.3 o fout; o += (fixed20.3)(x * (1/3) + y >> 1);", |x| (
        vec![int(nearest(x[0] * 3, 8) + x[1], 10) >> 1],
        0
    )),
    case!("int8 a ipin; ufixed8.8 b jpin; fixed32.16 o fout; o += (fixed32.16)a + (fixed32.16)b;", |x| (
        vec![(x[0] << 16) + (x[1] << 8)],
        0
    )),
    // Shifts by parameters.
    case!(
        "int16 a ipin; uint16 b jpin; uint8 n param; int16 o fout; int16 p fout; uint16 q fout; uint16 r fout;
         o += a << n; p max= a >> n; q += b << n; r min= b >> n;",
        |x| {
            let n = x[2].min(100);
            (vec![int(x[0], 16) << n, x[0] >> n, x[1] << n, x[1] >> n], 0)
        }
    ),
    case!("fixed20.10 a ipin; int3 s[2] param; fixed20.10 o fout; fixed20.10 p fout; o += a >> s[1]; p max= a << s[0];", |x| {
        let (l, r) = (x[1], x[2]);
        let right = if r < 0 { x[0] >> 100 } else { x[0] >> r };
        (vec![right, if l < 0 { 0 } else { x[0] << l }], 0)
    }),
    case!("float18.9 f jpin; int6 n param; float18.9 o fout; float18.9 p fout; o max= f << n; p min= f >> n;", |x| {
        let mut f = Floats("float18.9", 0);
        let scale = 2f64.powi(x[1] as i32);
        let (l, r) = (f.keep(f.of(x[0]) * scale), f.keep(f.of(x[0]) / scale));
        (vec![f.bits(l), f.bits(r)], f.1)
    }),
    // Floats, small and large.
    case!(
        "float5.2 a ipin; float5.2 b jpin; float5.2 s fout; float5.2 p fout; float5.2 q fout; float5.2 m fout;
         s max= a - b; p min= a * b; q max= a / b; m min= pg_max(a, -b);",
        |x| {
            let mut f = Floats("float5.2", 0);
            let (a, b) = (f.of(x[0]), f.of(x[1]));
            let (s, p) = (f.keep(a - b), f.keep(a * b));
            let q = if b == 0.0 { 0.0 } else { f.keep(a / b) };
            let flags = f.1 | if b == 0.0 { INVALID } else { 0 };
            (vec![f.bits(s), f.bits(p), f.bits(q), f.bits(a.max(-b))], flags)
        }
    ),
    case!(
        "float4.1 a ipin; float4.1 b jpin; uint8 c fout; float4.1 o fout; c += (a < b ? 1 : 0) + (a == b ? 2 : 0); o max= a + b;",
        |x| {
            let mut f = Floats("float4.1", 0);
            let (a, b) = (f.of(x[0]), f.of(x[1]));
            let sum = f.keep(a + b);
            (vec![i128::from(a < b) + 2 * i128::from(a == b), f.bits(sum)], f.1)
        }
    ),
    case!("float32.23 a ipin; float32.23 b jpin; float32.23 o fout; o max= (a + b) * (a - b) / 3;", |x| {
        let mut f = Floats("float32.23", 0);
        let (a, b) = (f.of(x[0]), f.of(x[1]));
        let (s, d) = (f.keep(a + b), f.keep(a - b));
        let p = f.keep(s * d);
        let q = f.keep(p / 3.0);
        (vec![f.bits(q)], f.1)
    }),
    case!(ordinary "float64.52 a ipin; float64.52 b jpin; float64.52 o fout; float64.52 p fout; o max= a * b + 0.1; p min= a / b - 1/3;",
        |x| {
            let (a, b) = (f64_of(x[0]), f64_of(x[1]));
            (vec![bits64(a * b + 0.1), bits64(a / b - 1.0 / 3.0)], 0)
        }
    ),
    case!("float32.23 a ipin; float18.9 b jpin; float18.9 o fout; float32.23 p fout; o max= (float18.9)a; p min= (float32.23)b + a;", |x| {
        let mut f = Floats("float32.23", 0);
        let (a, b) = (f.of(x[0]), real("float18.9", x[1]));
        let (o, flags) = round("float18.9", a);
        let p = f.keep(a + b);
        // A cast out of range saturates (RULES N5).
        let flags = if flags == OVERFLOW { SATURATION } else { flags };
        (vec![o, f.bits(p)], f.1 | flags)
    }),
    case!("float18.9 f jpin; int8 o fout; ufixed8.3 p fout; o += (int8)f; p max= (ufixed8.3)f;", |x| {
        let f = real("float18.9", x[0]);
        let o = f.round_ties_even().clamp(-1e9, 1e9) as i128;
        let p = (f * 8.0).round_ties_even().clamp(-1e9, 1e9) as i128;
        let ((o, a), (p, b)) = (saturate(o, -128, 127), saturate(p, 0, 255));
        (vec![o, p], a | b)
    }),
    case!("fixed40.30 b jpin; float18.9 o fout; float32.23 p fout; o max= (float18.9)b; p min= (float32.23)b;", |x| {
        let b = x[0] as f64 / 2f64.powi(30);
        let (o, e) = round("float18.9", b);
        let (p, g) = round("float32.23", b);
        (vec![o, p], e | g)
    }),
    case!("float25.16 f jpin; float25.16 g ipin; float25.16 o fout; o max= -pg_abs(f) << 3 >> -2 < g ? g : f * 0x10;", |x| {
        let mut f = Floats("float25.16", 0);
        let (v, g) = (f.of(x[1]), f.of(x[0]));
        let s = f.keep(-v.abs() * 8.0);
        let s = f.keep(s * 4.0);
        let p = f.keep(v * 16.0);
        (vec![f.bits(if s < g { g } else { p })], f.1)
    }),
    case!("int8 k jpin; float32.23 z ipin; int32 o fout; float32.23 p fout; float32.23 q fout;
           s = (float32.23)((int16)k * (int16)k); o += (int32)pg_sqrt(s); p max= pg_pow(z, 0, 2); q min= pg_pow(s, 4, 4);", |x| {
        let f = Floats("float32.23", 0);
        (vec![x[1].abs(), f.bits(1.0), f.bits((x[1] * x[1]) as f64)], 0)
    }),
    case!("int4 k jpin; float18.9 o fout; float18.9 p fout; t = (float18.9)1 << 3; o max= pg_inv(t) * (float18.9)k; p min= pg_inv((float18.9)k - (float18.9)k);", |x| {
        let f = Floats("float18.9", 0);
        (vec![f.bits(x[0] as f64 / 8.0), 0], 0)
    }),
    // Choices and truth values.
    case!("int8 a ipin; int8 b jpin; int32 n fout; uint8 u fout; n += a < b ? 1 : a == b ? 0 : -1; u += a > 0 && b > 0 ? 255 : 0;", |x| (
        vec![(x[1] - x[0]).signum(), if x[0] > 0 && x[1] > 0 { 255 } else { 0 }],
        0
    )),
    case!("fixed8.4 x ipin; fixed8.4 y jpin; fixed8.4 o fout; o += y * (x < y ? 0.5 : 1/3) + (x == y ? 1 : 0);", |x| (
        vec![nearest(x[1] * if x[0] < x[1] { 8 } else { 5 }, 16) + if x[0] == x[1] { 16 } else { 0 }],
        0
    )),
    case!("uint3 a ipin; int1 b jpin; uint8 o fout; k = (a ? 2 : 3) * (b ? 5 : 7) - 1; o += k; uint3 p fout; p max= (a ? 0 : 1) || b ? a : 6;", |x| {
        let (a, b) = (x[0] != 0, x[1] != 0);
        let k = (if a { 2 } else { 3 }) * (if b { 5 } else { 7 }) - 1;
        (vec![k, if !a || b { x[0] } else { 6 }], 0)
    }),
    case!("uint2 a ipin; uint2 b jpin; uint32 o fout; o += !a && b || !(a ^ b) ; uint1 p fout; p max= !!a == (b != 0);", |x| {
        let (a, b) = (x[0] != 0, x[1] != 0);
        (vec![i128::from(!a && b || x[0] == x[1]), i128::from(a == b)], 0)
    }),
    case!("int8 a ipin; int8 b jpin; int8 o fout; o max= a < b ? a > 0 ? a : b : a == b ? 0x80 : b < 0 ? -b : 5;", |x| {
        let (a, b) = (x[0], x[1]);
        let v = if a < b {
            if a > 0 { a } else { b }
        } else if a == b {
            -128
        } else if b < 0 {
            -b
        } else {
            5
        };
        (vec![v], 0)
    }),
    // Vectors.
    case!("int8 v[1] ipin; int8 w[1] jpin; int32 o fout; int8 r[1] fout; o += v * w; r max= v - w;", |x| (
        vec![int(x[0] * x[1], 8), x[0] - x[1]],
        0
    )),
    case!("const K = 3 - 1; int5 v[K + 1] ipin; int9 w[3] jpin; int5 s param; int9 o[3] fout; int16 p fout; int9 q fout;
           o += (v - w) * s; p += -v * w; q min= (~w << 1)[K];", |x| {
        let (v, w, s) = (&x[..3], &x[3..6], x[6]);
        let mut out: Vec<i128> = (0..3).map(|k| int(v[k] - w[k], 9) * s).collect();
        let dot = (0..3).map(|k| int(-v[k], 5) * w[k]).sum::<i128>();
        out.extend([int(dot, 9), !w[2] << 1]);
        (out, 0)
    }),
    case!("fixed12.6 v[2] ipin; fixed12.6 w[2] jpin; uint1 c jpin; fixed12.6 h param; fixed12.6 o[2] fout; fixed12.6 p fout;
           o[1] max= (c ? v : w)[0]; o[0] += (v / h)[1]; p += v * w;", |x| {
        let (v, w, c, h) = (&x[..2], &x[2..4], x[4], x[5]);
        let product = |a: i128, b: i128| int(nearest(a * b, 64), 12);
        let q = if h == 0 { 0 } else { quotient(v[1] << 6, h) };
        let dot = product(v[0], w[0]) + product(v[1], w[1]);
        (vec![q, if c == 1 { v[0] } else { w[0] }, dot], if h == 0 { INVALID } else { 0 })
    }),
    case!("float14.7 v[3] ipin; float14.7 w[3] jpin; float14.7 o fout; o max= v * w;", |x| {
        let mut f = Floats("float14.7", 0);
        let p: Vec<f64> = (0..3).map(|k| f.keep(f.of(x[k]) * f.of(x[3 + k]))).collect();
        let s = f.keep(p[0] + p[1]);
        let s = f.keep(s + p[2]);
        (vec![f.bits(s)], f.1)
    }),
    // Outputs of params, of i-pins, of literals, and of pins as they are.
    case!("int8 a ipin; int8 b jpin; int8 p param; int16 o[4] fout; uint8 u fout; float64.52 f fout;
           o[0] += p; o[1] += a; o[2] max= b; o[3] += -300; u min= 255; f max= -1/3;", |x| (
        vec![x[2], x[0], x[1], -300, 255, bits64(-1.0 / 3.0)],
        0
    )),
    case!("float32.23 p param; int8 b jpin; float32.23 o fout; int8 u fout; o max= p * p - 1; u += b;", |x| {
        let mut f = Floats("float32.23", 0);
        let p = f.of(x[1]);
        let q = f.keep(p * p);
        let r = f.keep(q - 1.0);
        (vec![f.bits(r), x[0]], f.1)
    }),
    // Names, comments and layout.
    case!("/**/int8/*a*/reg/* ; */ipin;// int8 b jpin;\n int8 clk jpin; /* * / // */ int8 flags param;int8 wire fout ; ;;
           module=reg+/*-*/clk;// = \n wire+=module-flags//\n;", |x| (vec![x[0] + x[1] - x[2]], 0)),
    case!("int8 X ipin; int8 x jpin; int8 i_x ipin; int8 o_X fout; int8 o_x fout; o_X += X - x; o_x max= i_x;", |x| (
        vec![x[0] - x[2], x[1]],
        0
    )),
    case!("const a = 1 << 4; const b = a / 32 + .5e0; const c = ~0 & 0xF; int8 x jpin; int8 o fout; fixed8.4 y ipin; fixed8.4 p fout;
           o += x * c % (int8)a; p max= y * b + 25e-1;", |x| (
        vec![int(x[1] * 15, 8) % 16, x[0] + 40],
        0
    )),
    case!("int16 a ipin; int16 b jpin; int16 o fout; o += pg_min(pg_max(pg_abs(a - b), pg_min(3, 7)), pg_max(a, b) & 0x7F);", |x| {
        let d = int(int(x[0] - x[1], 16).abs(), 16);
        (vec![d.max(3).min(x[0].max(x[1]) & 0x7f)], 0)
    }),
    case!(
        "uint8 u ipin; int8 b jpin; uint8 o fout; int8 p fout; int8 q fout; int8 r[2] fout;
         const HIGH = 0xF0; const ALL = HIGH | 15; o += u & ~HIGH; p max= b ^ ALL; q min= b & ~0x7F | 0b1; r[0] += b % (b & 0x1 << 7 ? 0x7 : 5);
         r[1] += (b < 0 ? 0xF0 : 0x0F) ^ 0xFF;",
        |x| (
            vec![
                x[0] & 15,
                !x[1],
                x[1] & !0x7f | 1,
                x[1] % if x[1] < 0 { 7 } else { 5 },
                if x[1] < 0 { 0x0f } else { 0xf0 },
            ],
            0
        )
    ),
    case!("int7 a ipin; int7 b jpin; uint1 c param; ufixed9.9 o fout; int2 p fout; o max= c ? a > b ? 1/3 : 2/3 : 0; p += c ? -2 : 1;", |x| {
        let o = if x[0] > x[1] { 171 } else { 341 };
        (vec![if x[2] == 1 { o } else { 0 }, if x[2] == 1 { -2 } else { 1 }], 0)
    }),
    // Gathering at the ends of the formats.
    case!("uint64 a jpin; fixed64.64 b jpin; int64 c jpin; uint64 o fout; fixed64.64 p fout; int64 q fout; uint64 r fout;
           o += a; p += b; q min= c; r max= a;", |x| (vec![x[0], x[1], x[2], x[0]], 0)),
    case!("float64.52 a jpin; float5.2 b jpin; ufixed64.1 c jpin; float64.52 o fout; float5.2 p fout; ufixed64.1 q fout; ufixed64.1 r fout;
           o max= a; p min= b; q max= c; r += c;", |x| (vec![x[0], x[1], x[2], x[2]], 0)),
    // Logs: exact products, a root rounded to even, and signs, zeros and ends of the range.
    case!(
        "log9.4 a ipin; log9.4 b jpin; log9.4 o fout; log9.4 p fout; o max= a * b << 1; p min= pg_rsqrt(a) / b;",
        |x| {
            let (mut product, mut flags) = (0, 0);
            if let (Some((s, l)), Some((t, m))) = (log9(x[0]), log9(x[1])) {
                let first = log9_bits(s ^ t, l + m);
                let second = log9(first.0).map_or((0, 0), |(s, l)| log9_bits(s, l + 16));
                (product, flags) = (second.0, first.1 | second.1);
            }
            let root = match log9(x[0]) {
                Some((0, l)) => log9_bits(0, nearest(-l, 2)),
                Some(_) => (0, INVALID),
                None => (0, 0),
            };
            let quotient = match (log9(root.0), log9(x[1])) {
                (_, None) => (0, INVALID),
                (None, _) => (0, 0),
                (Some((_, l)), Some((s, m))) => log9_bits(s, l - m),
            };
            (vec![product, quotient.0], flags | root.1 | quotient.1)
        }
    ),
    // Logs: casts to and from ints, and a sum.
    case!("int7 c jpin; log9.4 a ipin; int16 o fout; log9.4 p fout; o += (int16)a; p max= (log9.4)c + a;", |x| {
        let (c, a) = (log9_nearest(short(x[1] as f64)), log9_value(x[0]));
        let (sum, flags) = log9_nearest(log9_value(c.0) + a);
        let flags = if c.1 == OVERFLOW { flags | SATURATION } else { flags | c.1 };
        (vec![short(a).round_ties_even() as i128, sum], flags)
    }),
    // Everything is cut off toward zero.
    case!(
        "round truncate; fixed16.8 a ipin; fixed16.8 b jpin; float18.9 f jpin; fixed32.8 o fout; fixed32.8 p fout;
        int32 q fout; o += (fixed32.8)(a * b); p += (fixed32.8)(a / b); q += (int32)f;",
        |x| {
            let (quotient, flags) = if x[1] == 0 { (0, INVALID) } else { (x[0] * 256 / x[1], 0) };
            let (whole, saturated) =
                saturate(real("float18.9", x[2]).trunc() as i128, i32::MIN as i128, i32::MAX as i128);
            (vec![int(x[0] * x[1] / 256, 16), int(quotient, 16), whole], flags | saturated)
        }
    ),
];
