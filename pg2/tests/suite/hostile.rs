//! Texts that nobody should write: an answer, never a panic, in time that grows with their length.

use crate::mutate::{PIECES, answer};
use std::time::{Duration, Instant};
use testkit::Random;

#[test]
fn random_pieces_get_an_answer() {
    let mut dice = Random::new(0x5EED_0002);
    for _ in 0..3000 {
        let pieces: Vec<&str> = (0..dice.below(60)).map(|_| PIECES[dice.below(PIECES.len())]).collect();
        answer(&pieces.join(if dice.below(2) == 0 { " " } else { "" }));
    }
}

/// Large hostile texts with a code that each must lead to.
fn large() -> Vec<(&'static str, String, Option<&'static str>)> {
    let pins = "int32 a ipin; int64 o fout; float32.23 f jpin; int32 v[1024] jpin;\n";
    let with = |body: String| format!("{pins}{body}\no += a;");
    let deep = |open: &str, close: &str| with(format!("z = {}a{};", open.repeat(10_000), close.repeat(10_000)));
    let many = |piece: &str, n: usize| with(piece.repeat(n));
    let numbered = |n: usize| {
        let mut text = String::new();
        (1..n).for_each(|k| text += &format!("z{k} = z{} * f + 0.5;\n", k - 1));
        with(format!("z0 = f;\n{text}"))
    };
    let errors = (0..100_000).map(|k| format!("q{k} = p{k} + a;\n")).collect::<String>();
    vec![
        ("parentheses", deep("(", ")"), Some("PG0006")),
        ("prefixes", deep("-", ""), Some("PG0006")),
        ("casts", deep("(int8)", ""), Some("PG0006")),
        ("choices", deep("a ? a : ", ""), Some("PG0006")),
        ("indices", deep("a[", "]"), Some("PG0006")),
        ("calls", deep("pg_abs(", ")"), Some("PG0006")),
        ("open parentheses", with(format!("z = {}", "(".repeat(1_000_000))), Some("PG0006")),
        ("braces", with("{".repeat(1_000_000)), Some("PG0004")),
        ("for loops", many("for k in 0..3 {", 100_000), Some("PG0006")),
        ("a chain", with(format!("z = a{};", " + a".repeat(200_000))), None),
        ("garbage", "\0\u{1}é".repeat(1_000_000), Some("PG0001")),
        ("scattered garbage", "\0a ".repeat(1_000_000), Some("PG0010")),
        ("quotes", "\"".repeat(1_000_000), Some("PG0004")),
        ("open comments", "/*".repeat(1_000_000), Some("PG0002")),
        ("one comment", format!("/*{}*/{pins}o += a;", "é\n".repeat(1_000_000)), None),
        ("one line", with(" ".repeat(10_000_000)), None),
        ("a long name", with(format!("{} = a;", "n".repeat(5_000_000))), Some("PG0007")),
        ("a long number", with(format!("z = {};", "9".repeat(5_000_000))), Some("PG0035")),
        ("a long hex number", with(format!("z = 0x{};", "f".repeat(5_000_000))), Some("PG0035")),
        ("semicolons", with(";".repeat(5_000_000)), None),
        ("errors", with(errors), Some("PG0010")),
        (
            "large constants",
            with((0..20_000).map(|k| format!("k{k} = 1 / 3e300 + 1 / 7e299;")).collect()),
            Some("PG0035"),
        ),
        ("a large kernel", with(format!("z = v{};", " + v".repeat(100_000))), Some("PG0053")),
        ("many pins", (0..50_000).map(|k| format!("int8 p{k}[1024] ipin;")).collect(), Some("PG0053")),
        ("branches", many("if (a) {", 100_000), Some("PG0006")),
        ("functions", many("fn f(x) {", 100_000), Some("PG0019")),
        ("many functions", (0..50_000).map(|k| format!("fn f{k}(x) = f{}(x);", k + 1)).collect(), Some("PG0018")),
        ("a long loop", with("n = 0; for k in 0..1000000000 { n = n + k; }".into()), Some("PG0053")),
        ("matrices", (0..50_000).map(|k| format!("int8 p{k}[32][32] ipin;")).collect(), Some("PG0053")),
        ("products", with("int32 m[32][32] jpin; z = m; for k in 0..1000 { z = z * m; }".into()), Some("PG0053")),
        ("10000 statements", numbered(10_000), None),
    ]
}

#[test]
fn large_texts_get_an_answer_soon() {
    for (name, text, code) in large() {
        let start = Instant::now();
        let codes = answer(&text);
        let took = start.elapsed();
        if std::env::var_os("TIMES").is_some() {
            println!("{name}: {} bytes, {took:?}", text.len());
        }
        if let Some(code) = code {
            assert!(codes.contains(&code), "{name}: {:?}", &codes[..codes.len().min(5)]);
        } else {
            assert!(codes.iter().all(|c| c.starts_with("PG01")), "{name}: {codes:?}");
        }
        // Far above what is measured; anything quadratic takes minutes.
        assert!(took < Duration::from_secs(20), "{name}: {took:?}");
    }
}
