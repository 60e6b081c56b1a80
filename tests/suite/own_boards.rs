//! Boards of a user's own: what `board new` writes, what is refused of it, and that it serves wherever a board is named.

use crate::common::Place;
use crate::common::command::{check_in, has};
use crate::synth;

/// The part of a prediction that depends on the board alone.
fn predicted(p: &Place, board: &str) -> Vec<serde_json::Value> {
    let words = format!("fmm --n 300 --m2l native --pipelines 2 --leaf 64 --predict {board} --json t.json");
    check_in(p, &words, 0, &[], &[]);
    let json = p.json("t.json");
    ["baud", "clock_mhz", "cycles", "bytes_in", "p2p_seconds"].map(|key| json[key].clone()).to_vec()
}

#[test]
fn a_board_of_ones_own_serves_once_its_pins_are_filled_in() {
    let p = Place::new();
    let said = check_in(&p, "board new mine --like ulx3s", 0, &["mine/ has board.toml and pins.lpf"], &[]);
    assert!(said.err.is_empty(), "{}", said.err);
    let pins = p.text("mine/pins.lpf");
    let shipped = hdl::board::pins("ulx3s").expect("it has pins")[1];
    assert_eq!(pins.matches("FILL-IN").count(), shipped.matches("SITE").count());
    let line = 1 + pins.lines().position(|l| l.contains("FILL-IN")).expect("a pin");
    let open = format!(": pins.lpf, line {line}: FILL-IN is to be filled in");
    check_in(&p, "fmm --n 100 --predict ./mine", 1, &[], &[&open]);
    check_in(&p, "synth p2p_paper --board ./mine -o out", 1, &[], &[&open]);
    check_in(&p, "board-sim ./mine out", 1, &[], &[&open]);
    p.write("mine/pins.lpf", shipped);
    assert_eq!(predicted(&p, "./mine"), predicted(&p, "ulx3s"));
    assert_eq!(predicted(&p, "mine/board.toml"), predicted(&p, "ulx3s"));
    p.write("i.csv", "xi[0],xi[1],xi[2]\n1,2,3\n");
    p.write("j.csv", "xj[0],xj[1],xj[2],mj\n10,20,30,1\n");
    let run = |board: &str| {
        let words = format!("run p2p_paper --i i.csv --j j.csv --predict {board}");
        check_in(&p, &words, 0, &[], &[]).out.replace("mine", "ulx3s").replace("./", "")
    };
    assert_eq!(run("./mine"), run("ulx3s"));
    check_in(&p, "board new mine --like ulx3s", 1, &[], &["exists already"]);
}

#[test]
fn a_device_can_be_described_too() {
    let p = Place::new();
    check_in(&p, "board new mine --like ulx3s", 0, &[], &[]);
    p.write("mine/pins.lpf", hdl::board::pins("ulx3s").expect("it has pins")[1]);
    let own = "device = { name = \"mine\", summary = \"s\", target = \"ecp5\", route = [\"--85k\"], luts = 83640, \
               flip_flops = 83640, multipliers = 156, memories = 208, memory_bits = 18432 }";
    let text = p.text("mine/board.toml");
    p.write("mine/board.toml", text.replacen("device = \"ecp5-85\"", own, 1));
    assert_eq!(predicted(&p, "./mine"), predicted(&p, "ulx3s"));
    p.write("mine/board.toml", text.replacen("device = \"ecp5-85\"", &own.replace("\"ecp5\"", "\"ecp6\""), 1));
    check_in(&p, "fmm --n 100 --predict ./mine", 1, &[], &["device.target: there is no target `ecp6`"]);
}

#[test]
fn every_board_begins_another_one() {
    let p = Place::new();
    for (k, board) in hdl::board::BOARDS.iter().enumerate() {
        let name = format!("b{k}");
        check_in(&p, &format!("board new {name} --like {}", board.name), 0, &[], &[]);
        let [file, pins] = hdl::board::pins(board.name).expect("it has pins");
        has(&p.text(&format!("{name}/{file}")), &["FILL-IN"]);
        p.write(&format!("{name}/{file}"), pins);
        let text = p.text(&format!("{name}/board.toml"));
        let same = hdl::board::Board::read(&text, &|_| Ok(pins.into())).expect("it is whole");
        assert_eq!((same.baud, same.device.luts, same.loader), (board.baud, board.device.luts, board.loader));
        assert_eq!((same.vendor, same.pll.name, same.differential), (board.vendor, board.pll.name, board.differential));
        assert_eq!(
            (same.usual_mhz, same.leds.alive, same.fixed_pins),
            (board.usual_mhz, board.leds.alive, board.fixed_pins)
        );
    }
}

#[test]
fn what_is_wrong_with_a_board_is_told_with_its_key() {
    let p = Place::new();
    check_in(&p, "board new mine --like icebreaker", 0, &[], &[]);
    p.write("mine/pins.pcf", hdl::board::pins("icebreaker").expect("it has pins")[1]);
    let text = p.text("mine/board.toml");
    let cases = [
        ("baud = 1000000", "baud = 3000000", "baud: a bit takes 6 clocks, so that 12 MHz allow 1 to 2000000 baud"),
        ("usual_mhz = 12.0", "usual_mhz = 5.0", "usual_mhz: from 12 MHz the slowest clock of SB_PLL40_PAD is 12 MHz"),
        ("full_mhz = 12.0", "full_mhz = inf", "full_mhz: a clock has 1 to 1000 MHz, not inf"),
        ("pll = \"sb-pll40-pad\"", "pll = \"mmcm\"", "pll: ice40 has no `mmcm`; it has sb-pll40-pad"),
        ("device = \"up5k\"", "device = \"up6k\"", "device: there is no device `up6k`; see `pairforge list devices`"),
        ("device = \"up5k\"", "device = { name = \"u\" }", "device: missing field `summary`"),
        (
            "constraints = \"pins.pcf\"",
            "constraints = \"../pins.pcf\"",
            "constraints: `../pins.pcf` is no file beside board.toml",
        ),
        ("constraints = \"pins.pcf\"", "constraints = \"pin.pcf\"", "constraints: pin.pcf cannot be read: "),
        ("name = \"mine\"", "name = \"Mine\"", "`Mine` cannot name a board"),
        ("baud = ", "bauds = ", "unknown field `bauds`"),
        ("baud = ", "baud = \"", "invalid basic string"),
    ];
    for (from, to, told) in cases {
        assert!(text.contains(from), "{from} in {text}");
        p.write("mine/board.toml", text.replacen(from, to, 1));
        let line = 1 + text.lines().position(|l| l.starts_with(from)).expect("it is there");
        let wanted = format!("mine/board.toml: line {line}: {told}");
        check_in(&p, "fmm --n 100 --predict mine/board.toml", 1, &[], &[&wanted]);
    }
    p.write("mine/board.toml", text.replacen("alive = false", "alive = true", 1));
    check_in(&p, "fmm --n 100 --predict ./mine", 1, &[], &["constraints: there is no pin for `led_alive`"]);
    p.write("mine/board.toml", text.replacen("name = \"mine\"", "name = \"icebreaker\"", 1));
    check_in(&p, "fmm --n 100 --predict ./mine", 1, &[], &["is named icebreaker as a board that is known"]);
    check_in(&p, "board new Mine --like ulx3s", 2, &[], &["`Mine` cannot name a board"]);
    check_in(&p, "board new ulx3s --like ulx3s", 2, &[], &["the board ulx3s is known"]);
    check_in(&p, "board new mine2 --like toaster", 2, &[], &["there is no board `toaster`; the boards are ulx3s"]);
    check_in(
        &p,
        "fmm --n 100 --predict ./nowhere",
        1,
        &[],
        &["begin one with `pairforge board new NAME --like BOARD`"],
    );
}

#[test]
fn every_board_is_listed_with_its_links() {
    let said = check_in(&Place::new(), "list boards", 0, &["colorlight-i9", "1000000 baud, Ethernet", "vivado"], &[]);
    assert_eq!(said.out.lines().count(), hdl::board::BOARDS.iter().len());
}

/// A stub of each command of Vivado and Quartus, which notes how it is called.
const COMMANDS: [&str; 20] = [
    "create_project",
    "add_files",
    "set_property",
    "current_fileset",
    "update_compile_order",
    "launch_runs",
    "wait_on_run",
    "open_run",
    "report_timing_summary",
    "report_utilization",
    "get_timing_paths",
    "close_project",
    "project_new",
    "set_global_assignment",
    "set_location_assignment",
    "set_instance_assignment",
    "export_assignments",
    "execute_flow",
    "project_close",
    "package",
];

/// Calls in a project's script, if there is a `tclsh`. The bitstream that the tool would make is there already.
fn called(p: &Place, top: &str) -> Option<String> {
    let stub = |name: &&str| format!("proc {name} args {{ puts \"{name} $args\"; return {name} }}\n");
    let stubs: String = COMMANDS.iter().map(stub).collect();
    let slack = "proc get_property args { return 0.1 }\n";
    p.write("stubs.tcl", format!("{stubs}{slack}source out/project.tcl\n"));
    for (folder, ending) in [(format!("out/vivado/{top}.runs/impl_1"), "bit"), ("out/output_files".to_string(), "rbf")]
    {
        std::fs::create_dir_all(p.path(&folder)).expect("the folder is writable");
        p.write(&format!("{folder}/{top}.{ending}"), "made");
    }
    let mut tclsh = std::process::Command::new("tclsh");
    let (good, said) = testkit::run(tclsh.arg("stubs.tcl").current_dir(p.path("")))?;
    assert!(good, "{said}");
    Some(said)
}

#[test]
fn a_vendors_board_gets_its_area_and_a_project() {
    // The cells of this yosys are tables on AMD's devices alone.
    for (board, part, made, tables) in
        [("zcu104", "xczu7ev", "engine.bit", 40), ("de10-nano", "PIN_AG13 -to uart_rx", "engine.rbf", 0)]
    {
        let p = synth::place(&[("yosys", &synth::well())]);
        let ended = synth::run(&p, &format!("synth k.pg2 --board {board} -o out")).expect(0);
        has(&ended.err, &["no clock was found", "out/project.tcl` makes out/", made, "`pairforge deploy out` loads"]);
        let (json, top) = (p.json("out/synth.json"), format!("k_{}", board.replace('-', "_")));
        assert!(json["lut"] == tables && json["fmax_mhz"].is_null() && json["bitstream"].is_null(), "{json}");
        let primitives = match board {
            "zcu104" => ["MMCME4_BASE #(", "IBUFDS pins (.I(clk_in_p)"],
            _ => ["altera_pll #(", ".refclk(clk_in)"],
        };
        has(&p.text("out/project.v"), &[&format!("module {top} ("), primitives[0], primitives[1]]);
        // The loop takes no logic, and yosys need not know it.
        assert!(!p.text("out/synth_work/design.v").contains(primitives[0]));
        check_in(&p, "deploy out --dry-run", 1, &[], &[made, "is not there yet; make it by"]);
        if let Some(said) = called(&p, &top) {
            has(&said, &[part, "project.v", &top]);
            check_in(&p, "deploy out --dry-run", 0, &[made], &[]);
        }
    }
}
