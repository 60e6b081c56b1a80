//! Exact numbers against Rust's own floats, against rationals, and there and back.

use hdl::Format;
use hdl::number::exact::*;
use num_bigint::BigInt;
use num_traits::{One, ToPrimitive};
use testkit::Random;

fn format(name: &str) -> Format {
    name.parse().unwrap()
}

/// A valid pattern made of any bits.
fn valid(format: Format, bits: u64) -> u64 {
    let bits = bits & format.mask();
    check_raw(format, bits).unwrap_or(bits ^ 1 << format.mant())
}

#[test]
fn parsing_agrees_with_rust_where_the_formats_meet() {
    let mut random = Random::new(11);
    let (single, double) = (format("float32.23"), format("float64.52"));
    let (mut compared, mut slow) = (0, 0);
    for k in 0..40_000 {
        let digits = random.bits() >> (random.bits() & 63);
        let exponent = (random.bits() % 90) as i64 - 50;
        let point = random.bits() as usize % 8;
        let mut text = format!("{digits}");
        text.insert(point.min(text.len()), '.');
        text += &format!("e{exponent}");
        if k % 3 == 0 {
            // Just beside the boundary between two singles: more digits than any fast way takes.
            let x = f32::from_bits(valid(single, random.bits()) as u32) as f64;
            let half = f64::from_bits(x.to_bits() | 1 << 28);
            text = format!("{half:.200}") + ["", "0", "1"][random.bits() as usize % 3];
            slow += 1;
        }
        let (s, d): (f32, f64) = (text.parse().unwrap(), text.parse().unwrap());
        if s.is_normal() && s.abs() > f32::MIN_POSITIVE {
            assert_eq!(parse(single, &text), Ok(s.to_bits() as u64), "{text}");
            compared += 1;
        }
        if d.is_normal() {
            assert_eq!(parse(double, &text), Ok(d.to_bits()), "{text}");
        }
    }
    assert!(compared > 30_000 && slow > 10_000, "{compared} {slow}");
}

#[test]
fn printing_agrees_with_rust_where_the_formats_meet() {
    let mut random = Random::new(12);
    let (single, double) = (format("float32.23"), format("float64.52"));
    // A decimal as digits without a point and trailing zeros, and the power of ten of the first.
    let digits = |text: &str| -> (String, i64) {
        let (mantissa, e) =
            text.trim_start_matches('-').split_once('e').map_or((text, 0), |(m, e)| (m, e.parse().unwrap()));
        let mantissa = mantissa.trim_start_matches('-');
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let zeros = all.len() - all.trim_start_matches('0').len();
        (all.trim_matches('0').to_string(), e + whole.len() as i64 - 1 - zeros as i64)
    };
    for k in 0..30_000u64 {
        // Some round numbers among random ones; the smallest normal is apart, for IEEE goes on below it.
        let s = if k < 2000 { k as f32 / 8.0 } else { f32::from_bits(valid(single, random.bits()) as u32) };
        if s.abs() != f32::MIN_POSITIVE && s != 0.0 {
            let ours = print(single, s.to_bits() as u64);
            assert_eq!(digits(&ours), digits(&format!("{s:e}")), "{s:e} {ours}");
            assert_eq!(ours.starts_with('-'), s < 0.0);
            assert_eq!(ours.parse::<f32>(), Ok(s));
        }
        let d = if k < 2000 { 10f64.powi(k as i32 % 600 - 300) } else { f64::from_bits(valid(double, random.bits())) };
        let ours = print(double, d.to_bits());
        assert_eq!(digits(&ours), digits(&format!("{d:e}")), "{d:e} {ours}");
        assert_eq!(ours.parse::<f64>(), Ok(d));
    }
}

#[test]
fn every_float18_9_reads_back_and_no_shorter_text_does() {
    let f = format("float18.9");
    let mut longest = 0;
    for bits in 0..1u64 << 18 {
        let Ok(canonical) = check_raw(f, bits) else { continue };
        if canonical != bits {
            assert_eq!(canonical, 0);
            continue;
        }
        let text = print(f, bits);
        assert_eq!(parse(f, &text), Ok(bits), "{text}");
        // The two decimals beside the value that have one digit less must be other values.
        let count = text.bytes().take_while(|b| *b != b'e').filter(u8::is_ascii_digit).count();
        let mantissa: String = text.split('e').next().unwrap().chars().filter(char::is_ascii_digit).collect();
        longest = longest.max(mantissa.trim_matches('0').len());
        if bits % 7 == 0 && count > 1 && bits != 0 {
            let x = f.to_f64(bits).abs();
            let digits = text.trim_start_matches(['-', '0', '.']).split('e').next().unwrap().replace('.', "");
            let significant = digits.trim_end_matches('0').len() as i32;
            let unit = 10f64.powi(x.log10().floor() as i32 - (significant - 2));
            if significant > 1 {
                for shorter in [(x / unit).floor(), (x / unit).ceil()] {
                    let e = x.log10().floor() as i32 - (significant - 2);
                    let shorter = format!("{}{shorter}e{e}", if text.starts_with('-') { "-" } else { "" });
                    assert_ne!(parse(f, &shorter), Ok(bits), "{shorter} is shorter than {text}");
                }
            }
        }
    }
    assert_eq!(print(f, parse(f, "0.1").unwrap()), "0.1");
    // 10 bits of significand need at most 2 + floor(10 log10(2)) digits.
    assert!(longest <= 5, "{longest}");
}

#[test]
fn floats_of_every_shape_read_back() {
    let mut random = Random::new(13);
    for mant in 1..=52 {
        for exp in 2..=11 {
            let f = Format::float(1 + exp + mant, mant).unwrap();
            let ends = [f.max_bits(), f.min_bits(), 1 << mant, 1 << mant | 1, f.max_bits() - 1, 0];
            for bits in ends.into_iter().chain((0..20).map(|_| valid(f, random.bits()))) {
                let bits = valid(f, bits);
                assert_eq!(parse(f, &print(f, bits)), Ok(bits), "{f} {bits:x}");
                let exact = from_bits(f, bits);
                assert_eq!(to_bits(f, &exact), Ok((bits, Fit::Exact)));
                assert_eq!(exact.to_f64(), Some(f.to_f64(bits)));
            }
        }
    }
}

#[test]
fn ints_and_fixeds_print_exactly_and_read_back() {
    let mut random = Random::new(14);
    for width in 1..=64 {
        for frac in [0, 1, width / 2, width - 1, width] {
            for signed in [false, true] {
                let fixed = Format::fixed(width, frac, signed).unwrap();
                for f in [fixed, Format::int(width, signed).unwrap()] {
                    for bits in [0, 1, f.mask(), f.max_bits(), f.min_bits(), random.bits() & f.mask()] {
                        let text = print(f, bits);
                        assert_eq!(parse(f, &text), Ok(bits), "{f} {text}");
                        assert_eq!(parse_decimal(&text), Ok(from_bits(f, bits)), "{f} {text}");
                    }
                }
            }
        }
    }
    assert_eq!(print(format("fixed8.4"), 0xf8), "-0.5");
    assert_eq!(print(format("fixed64.64"), 1 << 63), "-0.5");
    assert_eq!(print(format("ufixed4.4"), 1), "0.0625");
    assert_eq!(print(format("int1"), 1), "-1");
}

/// An independent rounding: the two neighbours of `x` on the format's grid, and which one is nearer.
fn by_search(f: Format, x: &Exact) -> Result<u64, Misfit> {
    let unit = Exact::new(BigInt::one(), BigInt::one() << f.frac().unwrap());
    let scaled = x / unit;
    if f.is_int() && !scaled.is_integer() {
        return Err(Misfit::Fraction);
    }
    let (down, up) = (scaled.floor(), scaled.ceil());
    let (below, above) = (&scaled - &down, &up - &scaled);
    let even = |n: &Exact| !n.to_integer().bit(0);
    let n = if below < above || (below == above && even(&down)) { down } else { up };
    let n = n.to_integer().to_i128().ok_or(Misfit::OutOfRange)?;
    let bits = n as u64 & f.mask();
    if f.to_int(bits) == n { Ok(bits) } else { Err(Misfit::OutOfRange) }
}

#[test]
fn fixed_text_rounds_to_nearest_even_by_both_ways() {
    let mut random = Random::new(15);
    let names =
        ["fixed8.4", "ufixed8.8", "fixed64.64", "ufixed64.64", "fixed32.31", "int32", "uint64", "int64", "fixed7.0"];
    let mut seen = [0; 3];
    for f in names.map(format) {
        for _ in 0..4000 {
            let digits = random.bits() >> (random.bits() & 63);
            let sign = if random.bits() & 1 == 0 { "-" } else { "" };
            let places = random.bits() as usize % 22;
            let mut text = format!("{digits:0places$}");
            text.insert(text.len() - places.min(text.len()), '.');
            // Ties of fixed8.4 and of fixed7.0 are common among eighths and halves.
            if random.bits() & 1 == 0 {
                text = format!("{}", (digits % 2048) as f64 / 32.0);
            }
            let text = format!("{sign}{text}{}", ["", "e-1", "e2", "e-25", "e30"][random.bits() as usize % 5]);
            let want = by_search(f, &parse_decimal(&text).unwrap());
            seen[match want {
                Ok(_) => 0,
                Err(Misfit::Fraction) => 1,
                Err(Misfit::OutOfRange) => 2,
            }] += 1;
            assert_eq!(parse(f, &text), want.map_err(|why| ParseError::Misfit { format: f, why }), "{f} {text}");
            assert_eq!(to_bits(f, &parse_decimal(&text).unwrap()).map(|r| r.0), want, "{f} {text}");
        }
    }
    assert!(seen.iter().all(|n| *n > 500), "{seen:?}");
}

#[test]
fn narrow_floats_round_once() {
    // All multiples of a quarter of the last place of float6.2 and beyond its ends, against a search over its values.
    let f = format("float6.2");
    let values: Vec<u64> = (0..64).filter(|b| check_raw(f, *b) == Ok(*b)).collect();
    for n in -2100..=2100i64 {
        let x = Exact::new(n.into(), 128.into());
        let size = (n as f64 / 128.0).abs();
        // Largest 14, next 16 with unbounded exponent; smallest normal 1/4, next below 7/32.
        let got = to_bits(f, &x);
        let text = parse(f, &format!("{}", n as f64 / 128.0));
        if size >= 15.0 {
            assert_eq!(got, Err(Misfit::OutOfRange), "{n}");
            assert!(text.is_err());
            continue;
        }
        assert_eq!(text, Ok(got.unwrap().0), "{n}");
        if size < 15.0 / 64.0 {
            let want = if n == 0 { Fit::Exact } else { Fit::Underflow };
            assert_eq!(got, Ok((0, want)), "{n}");
            continue;
        }
        let distance = |b: &u64| ((f.to_f64(*b) - n as f64 / 128.0).abs(), b & 1);
        let candidates = values.iter().filter(|b| **b != 0);
        let best = candidates.min_by(|a, b| distance(a).partial_cmp(&distance(b)).unwrap()).unwrap();
        assert_eq!(got.unwrap().0, *best, "{n}");
        assert_eq!(got.unwrap().1 == Fit::Exact, distance(best).0 == 0.0);
    }
}

#[test]
fn just_below_a_power_of_two_rounds_in_its_own_binade() {
    let f = format("float18.9");
    assert_eq!(f.to_f64(parse(f, "0.99905").unwrap()), 1.0 - 1.0 / 1024.0);
    assert_eq!(f.to_f64(to_bits(f, &parse_decimal("0.99905").unwrap()).unwrap().0), 1.0 - 1.0 / 1024.0);
}

#[test]
fn hostile_text_is_answered_at_once() {
    let (single, fixed, int) = (format("float32.23"), format("fixed32.16"), format("int32"));
    let out = |format| Err(ParseError::Misfit { format, why: Misfit::OutOfRange });
    let long = "9".repeat(100_000);
    let small = format!("0.{}1", "0".repeat(100_000));
    for text in ["1e999999999", "1e99999999999999999999999", "-1e999999999", &long] {
        assert!(parse_decimal(text).is_err());
        for f in [single, fixed, int] {
            assert_eq!(parse(f, text), out(f));
        }
    }
    for text in ["1e-999999999", &small, "-1e-9999999999999999999999999"] {
        assert_eq!(parse(single, text), Ok(0));
        assert_eq!(parse(fixed, text), Ok(0));
        assert_eq!(parse(int, text), Err(ParseError::Misfit { format: int, why: Misfit::Fraction }));
    }
    assert_eq!(parse(single, "0e999999999"), Ok(0));
    assert_eq!(parse(int, "0e-999999999"), Ok(0));
    // Digits far behind the point decide a tie.
    let tie = format!("0.5{}", "0".repeat(5000));
    assert_eq!(parse(format("fixed8.0"), &tie), Ok(0));
    assert_eq!(parse(format("fixed8.0"), &(tie + "1")), Ok(1));
    for text in
        ["", "-", ".", "e5", "1e", "1e+", "1.2.3", "0x10", "nan", "inf", "infinity", "1 2", "1_0", "--1", "+-1", "１"]
    {
        assert_eq!(parse(single, text), Err(ParseError::Syntax), "{text}");
        assert_eq!(parse(int, text), Err(ParseError::Syntax), "{text}");
    }
    for (text, bits) in [(" 7 ", 7), ("+7", 7), ("7.", 7), ("0.7e1", 7), ("70e-1", 7), (".7E+1", 7), ("007", 7)] {
        assert_eq!(parse(int, text), Ok(bits));
    }
    assert_eq!(parse_decimal("0xFF"), Ok(Exact::from(BigInt::from(255))));
    assert_eq!(parse_decimal("-0x10"), Ok(Exact::from(BigInt::from(-16))));
    assert!(parse_decimal("0x").is_err() && parse_decimal("0xg").is_err() && parse_decimal("0x-1").is_err());
}

#[test]
fn raw_patterns_are_checked() {
    let f = format("float18.9");
    assert_eq!(check_raw(f, 0x1ff), Ok(0));
    assert_eq!(check_raw(f, 1 << 17), Ok(0));
    assert_eq!(check_raw(f, f.max_bits()), Ok(f.max_bits()));
    assert!(check_raw(f, f.max_bits() + 1).is_err());
    assert!(check_raw(f, f.min_bits() + 1).is_err());
    assert!(check_raw(f, 1 << 18).is_err());
    assert_eq!(check_raw(format("int8"), 255), Ok(255));
    assert!(check_raw(format("int8"), 256).is_err());
}
