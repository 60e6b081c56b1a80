//! The pins of a board's PHY, in Icarus: models of what they take of ECP5, and a PHY.

use hdl::board::{BOARDS, gigabit};
use std::process::Command;

const MODELS: &str = include_str!("../models/ecp5.v");
const PHY: &str = include_str!("../models/phy.v");

#[test]
fn bytes_pass_the_pins_of_a_phy_in_both_directions() {
    for ethernet in BOARDS.iter().filter_map(|b| b.ethernet) {
        let folder = tempfile::tempdir().expect("a folder");
        let text = MODELS.to_string() + &gigabit::rgmii("k", ethernet).verilog() + PHY;
        std::fs::write(folder.path().join("pins.v"), text).expect("a writable folder");
        let compile = &["-g2005", "-Wall", "-s", "bench", "-o", "bench", "pins.v"][..];
        for (name, args, wanted) in [("iverilog", compile, ""), ("vvp", &["-n", "bench"], "all came")] {
            let Some((good, said)) = testkit::run(Command::new(name).args(args).current_dir(folder.path())) else {
                return;
            };
            let said: Vec<&str> = said.lines().filter(|line| !line.contains("$finish called")).collect();
            assert!(good && said.join("\n") == wanted, "{name}: {said:#?}");
        }
    }
}
