//! The core of a board's network (MAC, ARP, IP, UDP): generated from LiteEth by a script, and never changed by hand.

use crate::{FlowError, Tools};
use hdl::ethernet::{self, core};
use std::process::{Command, Stdio};

const SCRIPT: &str = include_str!("../liteeth/core.py");

/// The terms of LiteEth (BSD-2-Clause), which go with the core's text and with what is made of it.
pub const NOTICE: &str = include_str!("../liteeth/LICENSE");

/// The packages that the script needs, as pip takes them.
const PACKAGES: &str = "liteeth==2024.12 litex==2024.12 migen==0.10.0";

/// The core whose modules' names begin with `prefix`, with LiteEth's notice in front. The tools' own Python is asked before the one on
/// `PATH`; one that lacks the packages counts as missing.
pub fn network_core(tools: &Tools, prefix: &str) -> Result<String, FlowError> {
    let name = core::name(prefix);
    for python in tools.pythons()? {
        let mut command = Command::new(&python);
        command.args(["-I", "-c", SCRIPT, &name, &ethernet::PORT.to_string(), &core::MHZ.to_string()]);
        (tools.prepare)(&mut command);
        let ended = command.stdin(Stdio::null()).output().map_err(FlowError::io(&python))?;
        if ended.status.success() {
            let text = String::from_utf8_lossy(&ended.stdout);
            let notice: String =
                NOTICE.lines().map(|line| format!("// {line}").trim_end().to_string() + "\n").collect();
            return Ok(format!("// Generated from LiteEth, whose terms are:\n//\n{notice}\n{text}"));
        }
        let said = String::from_utf8_lossy(&ended.stderr);
        if !said.starts_with("missing: ") {
            let last = said.lines().last().unwrap_or("it says nothing");
            return Err(FlowError::Unsupported(format!(
                "{} could not make the network core: {last}",
                python.display()
            )));
        }
    }
    Err(FlowError::ToolMissing {
        tool: "LiteEth, which the network core is made of,".into(),
        how: format!("pip install {PACKAGES}"),
    })
}
