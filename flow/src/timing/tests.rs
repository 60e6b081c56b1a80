//! Files of delays as nextpnr writes them, and the paths counted from them.

use super::blocks::{Arc, Found, Model, Setup, count};
use super::sdf::parse;
use super::{DelayType, Timing};

/// A register, a product that the tool does not time, a table, and a register; and from the same one through a table alone.
const PRODUCT: &str = r#"(DELAYFILE
  (SDFVERSION "3.0")
  (TIMESCALE 1ps)
  (CELL
    (CELLTYPE "top")
    (INSTANCE )
    (DELAY
      (ABSOLUTE
        (INTERCONNECT a/Q m\[0\]/A0 (900:1000:1100) (900:1000:1100))
        (INTERCONNECT m\[0\]/P0 t\$/I0 (500:500:500) (500:500:500))
        (INTERCONNECT t\$/F b/D (0:0:0) (0:0:0))
        (INTERCONNECT a/Q u/I0 (700:700:700) (700:700:700))
        (INTERCONNECT u/F c/D (0:0:0) (0:0:0))
        (INTERCONNECT one/V m\[0\]/CE (700:700:700) (700:700:700))
        (INTERCONNECT buffer/O a/CLK (2000:2000:2000) (2000:2000:2000))
      )
    )
  )
  (CELL (CELLTYPE "DFF")
    (INSTANCE a)
        (IOPATH CLK Q (200:210:230) (200:210:231))
  )
  (CELL
    (CELLTYPE "MULT")
    (INSTANCE m\[0\])
  )
  (CELL
    (CELLTYPE "LUT4")
    (INSTANCE t\$)
  )
  (CELL
    (CELLTYPE "LUT4")
    (INSTANCE u)
        (IOPATH I0 F (300:400:500) (300:400:500))
  )
  (CELL
    (CELLTYPE "DFF")
    (INSTANCE b)
      (SETUPHOLD (posedge D) (posedge CLK) (35:35:35) (10:10:10))
      (SETUPHOLD (negedge D) (posedge CLK) (30:30:30) (10:10:10))
  )
  (CELL
    (CELLTYPE "DFF")
    (INSTANCE c)
      (SETUPHOLD (posedge D) (posedge CLK) (35:35:35) (10:10:10))
  )
  (CELL
    (CELLTYPE "VCC")
    (INSTANCE one)
  )
  (CELL
    (CELLTYPE "BUF")
    (INSTANCE buffer)
  )
)
"#;

const TABLE: Arc = Arc { kind: "LUT*", from: "I*", to: "F", ns: 0.4 };
const KNOWN: Model = Model {
    arcs: &[Arc { kind: "MULT", from: "A*", to: "P*", ns: 5.0 }, TABLE],
    setups: &[],
    replaced: &[],
    clocks: &["CLK"],
    outside: &["BUF"],
    idle: &[],
};

fn counted(model: &Model, text: &str) -> Found {
    count(model, &parse(text).expect("a file of delays"))
}

#[test]
fn paths_through_cells_without_delays_are_counted_with_the_models() {
    let found = counted(&KNOWN, PRODUCT);
    assert!((found.ns - (0.231 + 1.1 + 5.0 + 0.5 + 0.4 + 0.035)).abs() < 1e-9, "{found:?}");
    assert!((found.known_ns - (0.231 + 0.7 + 0.5 + 0.035)).abs() < 1e-9, "{found:?}");
    assert!(found.untimed.is_empty(), "{found:?}");
    let cells: Vec<(&str, DelayType)> = found.path.iter().map(|hop| (hop.cell.as_str(), hop.kind)).collect();
    use DelayType::{ClockToOutput, Logic, Routing, Setup};
    assert_eq!(
        cells,
        [
            ("a", ClockToOutput),
            ("m[0]", Routing),
            ("m[0]", Logic),
            ("t$", Routing),
            ("t$", Logic),
            ("b", Routing),
            ("b", Setup)
        ]
    );
    assert!((found.path.iter().map(|hop| hop.ns).sum::<f64>() - found.ns).abs() < 1e-9);
}

#[test]
fn a_clock_whose_wire_is_not_told_begins_paths_too() {
    let unwired = PRODUCT.replace("(INTERCONNECT buffer/O a/CLK (2000:2000:2000) (2000:2000:2000))", "");
    let (found, whole) = (counted(&KNOWN, &unwired), counted(&KNOWN, PRODUCT));
    assert_eq!((found.ns, found.known_ns, found.path.len()), (whole.ns, whole.known_ns, whole.path.len()));
}

#[test]
fn cells_that_nobody_times_are_named_and_no_clock_is_met() {
    // Without a delay of the product, paths end in front of it and begin behind it.
    let found = counted(&Model { arcs: &[TABLE], ..KNOWN }, PRODUCT);
    assert_eq!(found.untimed.iter().collect::<Vec<_>>(), [(&"MULT".to_string(), &1)]);
    let mut timing = Timing { fmax_mhz: 687.0, asked_mhz: 100.0, ..Timing::default() };
    assert!(timing.met());
    timing.add(found);
    assert!(!timing.met() && timing.tool_mhz == Some(687.0), "{timing:?}");
    // With it, the clock is that of the longer path.
    let mut timing = Timing { fmax_mhz: 687.0, asked_mhz: 100.0, ..Timing::default() };
    timing.add(counted(&KNOWN, PRODUCT));
    assert!(timing.met() && (timing.fmax_mhz - 1000.0 / 7.266).abs() < 0.01 && !timing.path.is_empty(), "{timing:?}");
    // A pin that takes anything else than a constant needs a delay or a set-up.
    let driven = PRODUCT.replace("one/V m", "u/F m");
    assert_eq!(counted(&KNOWN, &driven).untimed.len(), 1);
    let enabled = Model { setups: &[Setup { kind: "MULT", pin: "CE", ns: 0.1 }], ..KNOWN };
    assert!(counted(&enabled, &driven).untimed.is_empty());
}

#[test]
fn a_tools_own_delays_are_not_taken_where_they_are_wrong() {
    let registered = PRODUCT.replace(
        "(INSTANCE m\\[0\\])",
        "(INSTANCE m\\[0\\])\n(IOPATH CLK P0 (100:100:100) (100:100:100))\n(IOPATH A0 P0 (100:100:100) (100:100:100))\n\
         (SETUPHOLD (posedge A0) (posedge CLK) (100:100:100) (0:0:0))",
    );
    let taken = counted(&KNOWN, &registered);
    let replaced = counted(&Model { replaced: &["MULT"], ..KNOWN }, &registered);
    assert!((replaced.ns - taken.ns - 4.9).abs() < 1e-9, "{taken:?} {replaced:?}");
}

#[test]
fn a_loop_without_a_register_is_untimed() {
    let looped = PRODUCT.replace("a/Q u/I0", "u/F u/I0");
    assert_eq!(counted(&KNOWN, &looped).untimed.keys().collect::<Vec<_>>(), ["DFF", "LUT4"]);
}

#[test]
fn files_that_are_none_are_refused() {
    for (text, told) in [
        ("", "picoseconds"),
        ("(TIMESCALE 1ps)\n(IOPATH A B (1:2:3) (1:2:3))", "no cell"),
        ("(TIMESCALE 1ps)\n(INTERCONNECT a/Q b/D (1:1:1) (1:1:1))", "`a` is not in it"),
        ("(TIMESCALE 1ps)\n(CELLTYPE \"X\")\n(INSTANCE a)\n(IOPATH A B (x))", "`x` is no delay"),
        ("(TIMESCALE 1ps)\n(INTERCONNECT aQ b/D (1:1:1) (1:1:1))", "names no pin"),
    ] {
        let reason = parse(text).expect_err(told);
        assert!(reason.contains(told), "{reason}");
    }
}
