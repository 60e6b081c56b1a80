//! Clocks of families whose place and route leaves paths out: what `synth` says of them, and what `deploy` makes of it.
#![cfg(unix)]

use crate::common::Place;
use crate::synth::{place, run, well};

/// A fake nextpnr for Gowin: a fast clock, and the delays of a register, a cell of that kind, and a register.
fn nextpnr(kind: &str) -> String {
    let script = r#"
while [ $# -gt 0 ]; do
    case $1 in --report) report=$2;; --write) routed=$2;; --log) log=$2;; --sdf) sdf=$2;; esac
    shift
done
echo "Info: fake" > "$log"
echo routed > "$routed"
echo '{"fmax": {"clk": {"achieved": 687.0, "constraint": 81.0}}, "critical_paths": []}' > "$report"
cat > "$sdf" <<'END'
(TIMESCALE 1ps)
(CELL (CELLTYPE "top")
(INSTANCE )
(INTERCONNECT a/Q m/A0 (1400:1400:1400) (1400:1400:1400))
(INTERCONNECT m/DOUT0 b/D (3534:3534:3534) (3534:3534:3534))
)
(CELL
(CELLTYPE "DFF")
(INSTANCE a)
(IOPATH CLK Q (231:231:231) (231:231:231))
)
(CELL
(CELLTYPE "KIND")
(INSTANCE m)
)
(CELL
(CELLTYPE "DFF")
(INSTANCE b)
(SETUPHOLD (posedge D) (posedge CLK) (35:35:35) (10:10:10))
)
END
"#;
    script.replace("KIND", kind)
}

/// A fake packer, whose bitstream is the argument behind `-o`.
const PACK: &str = "while [ $# -gt 1 ]; do [ $1 = -o ] && echo bits > \"$2\"; shift; done";

fn synthesised(kind: &str, freq: u32) -> (Place, String) {
    let place = place(&[("yosys", &well()), ("nextpnr-himbaechel", &nextpnr(kind)), ("gowin_pack", PACK)]);
    let err = run(&place, &format!("synth k.pg2 --board tang-nano-20k --freq {freq} --seeds 1 -o out")).expect(0).err;
    (place, err)
}

#[test]
fn a_product_counts_in_a_clock_although_the_tool_does_not_time_it() {
    // 231 + 1400 + 4800 + 3534 + 35 ps.
    for (freq, met) in [(81, true), (108, false)] {
        let (place, err) = synthesised("MULT18X18", freq);
        let json = place.json("out/synth.json");
        assert!((json["fmax_mhz"].as_f64().unwrap() - 100.0).abs() < 1e-6, "{json}");
        assert_eq!((json["tool_fmax_mhz"].as_f64(), json["timing_met"].as_bool()), (Some(687.0), Some(met)));
        assert_eq!(err.contains("the clock is missed: 100.0 MHz of 108.0 MHz"), !met, "{err}");
        let report = place.text("out/report.txt");
        assert!(report.contains("that nextpnr does not time; 687.0 MHz without"), "{report}");
        assert!(report.contains("Slowest path: 10.00 ns"), "{report}");
        let deploy = place.run("deploy out --dry-run");
        assert_eq!(deploy.expect(if met { 0 } else { 1 }).err.contains("only sure to work up to 100.0"), !met);
        assert!(!place.path("out/synth_work/delays.sdf").exists());
    }
}

#[test]
fn a_clock_is_not_met_by_what_nobody_timed() {
    let (place, err) = synthesised("PADD18", 81);
    assert!(err.contains("nobody timed paths through PADD18"), "{err}");
    let json = place.json("out/synth.json");
    assert_eq!((json["timing_met"].as_bool(), json["untimed"][0].as_str()), (Some(false), Some("PADD18")));
    let report = place.text("out/report.txt");
    assert!(report.contains("untimed               paths through PADD18: no clock is known to be met"), "{report}");
    let deploy = place.run("deploy out --dry-run").expect(1);
    assert!(deploy.err.contains("has paths through PADD18 that nobody timed"), "{}", deploy.err);
}
