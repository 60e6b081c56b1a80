//! Ranges of pins: what is stated, what is refused, and that nothing but bounds depends on them.

use hdl::Format;
use pg2::syntax::fmt;

/// The least and the greatest number of the pin `x` of a kernel.
fn range(declaration: &str) -> Result<(f64, f64), String> {
    let text = format!("const two = 2;\n{declaration}\nint8 o fout; o += 1;");
    let compiled = pg2::compile("k", &text).map_err(|errors| errors[0].message.clone())?;
    let pin = compiled.graph.pins.iter().find(|p| p.name == "x").expect("a pin x");
    let [low, high] = pin.range.expect("a range");
    Ok((pin.format.to_f64(low), pin.format.to_f64(high)))
}

#[test]
fn the_ends_are_numbers_of_the_format_within_the_range() {
    for (declaration, low, high) in [
        ("float32.23 x ipin in -1..1;", -1.0, 1.0),
        ("float32.23 x[3] jpin in 0..two*1.5;", 0.0, 3.0),
        ("int16 x param in -5/2..7/2;", -2.0, 3.0),
        ("fixed8.4 x ipin in -0.03..0.07;", 0.0, 0.0625),
        ("uint8 x ipin in 0..255;", 0.0, 255.0),
        ("float8.3 x ipin in 1.05..1.95;", 1.125, 1.875),
        ("float8.3 x ipin in -1.95..-1.05;", -1.875, -1.125),
        ("log17.8 x ipin in 1..4;", 1.0, 4.0),
        // The part that the format has.
        ("int8 x ipin in -7..200;", -7.0, 127.0),
        ("fixed8.8 x ipin in -0.5..0.5;", -0.5, 127.0 / 256.0),
        ("ufixed8.4 x ipin in -3..2;", 0.0, 2.0),
        ("float8.3 x ipin in -1e9..1e9;", -240.0, 240.0),
    ] {
        assert_eq!(range(declaration), Ok((low, high)), "{declaration}");
    }
}

#[test]
fn wrong_ranges_say_what_is_wrong() {
    for (declaration, message) in [
        ("float32.23 x ipin in 1..0;", "this range is empty"),
        ("int8 x ipin in 200..300;", "this range has no number of int8"),
        ("float8.3 x ipin in 1e8..1e9;", "this range has no number of float8.3"),
        ("float8.3 x ipin in -1e9..-1e8;", "this range has no number of float8.3"),
        ("int8 x ipin in 0.2..0.8;", "this range holds no number of its format"),
        ("float32.23 y ipin; float32.23 x ipin in 0..y;", "the range of a pin is known at compile time"),
        ("int8 x fout in 0..1; x += 1;", "an output has no stated range"),
    ] {
        assert_eq!(range(declaration), Err(message.into()), "{declaration}");
    }
}

/// Boards and kept simulations know kernels by their canonical text, which is that of the circuit.
#[test]
fn a_range_changes_no_circuit() {
    let kernel = |range: &str| {
        let text = format!("float18.9 x ipin{range}; float18.9 y jpin; int32 s fout; s += (int32)(x * y);");
        pg2::compile("k", &text).unwrap_or_else(|e| panic!("{e:?}")).graph
    };
    let (plain, ranged) = (kernel(""), kernel(" in 0..1"));
    assert_eq!(plain.canonical(), ranged.canonical());
    assert_eq!(plain.to_string(), ranged.to_string());
}

#[test]
fn ranges_are_laid_out_and_read_again() {
    let text = "float25.16   mj jpin   in  - 1 .. 1 ; // charge\nint8 o fout;\no += mj>0?1:0;\n";
    let once = fmt::format(text).unwrap_or_else(|e| panic!("{e:?}"));
    assert!(once.contains("in -1..1;"), "{once}");
    assert_eq!(fmt::format(&once).unwrap_or_else(|e| panic!("{e:?}")), once);
    let format: Format = "float25.16".parse().unwrap();
    let pin = &pg2::compile("k", &once).unwrap_or_else(|e| panic!("{e:?}")).graph.pins[0];
    assert_eq!(pin.range.map(|r| r.map(|bits| format.to_f64(bits))), Some([-1.0, 1.0]));
}
