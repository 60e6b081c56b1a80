//! The link's Verilog passes the strictest checks of three tools in every shape.

use crate::echo;
use std::process::Command;

#[test]
fn every_shape_is_clean() {
    for identity in [
        echo::identity(1, 32, 12_000_000, 1_000_000, (11, 11)),
        echo::identity(1, 64, 50_000_000, 3_000_000, (9, 14)),
        echo::identity(1, 128, 18_000_000, 3_000_000, (12, 10)),
        echo::identity(1, 32, 100_000_000, 9600, (14, 9)),
        echo::identity(1, 32, 50_000_000, 0, (15, 15)),
        echo::identity(1, 64, 75_000_000, 0, (12, 16)),
        echo::identity(1, 128, 50_000_000, 0, (13, 12)),
    ] {
        let of = if identity.is_ethernet() { hdl::ethernet::netlist } else { hdl::serial::netlist };
        let netlist = of(&identity);
        netlist.verify().expect("the netlist is sound");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut files = Vec::new();
        for module in &netlist.modules {
            let file = format!("{}.v", module.name);
            let text = module.verilog();
            assert_eq!(testkit::used_before_declared(&text), None, "{}", module.name);
            std::fs::write(folder.path().join(&file), text).expect("the text is written");
            files.push(file);
        }
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        if let Some((good, said)) = testkit::slang(folder.path(), &files) {
            assert!(good && said.is_empty(), "{identity:?}\n{said}");
        }
        let verilator = ["--lint-only", "-Wall", "--top-module", &netlist.top];
        let icarus = ["-Wall", "-g2005", "-s", &netlist.top, "-o", "link.vvp"];
        for (name, args) in [("verilator", &verilator[..]), ("iverilog", &icarus)] {
            let mut command = Command::new(name);
            let Some((good, text)) = testkit::run(command.args(args).args(&files).current_dir(folder.path())) else {
                continue;
            };
            assert!(good && text.trim().is_empty(), "{name} on {identity:?}\n{text}");
        }
    }
}
