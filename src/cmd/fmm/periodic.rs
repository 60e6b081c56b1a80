//! The options of `pairforge fmm` for periodic boundaries.

use fmm::data::periodic::Periodic;

#[derive(clap::Args)]
pub struct PeriodicArgs {
    /// Periodic boundaries with period L along all axes
    ///
    /// 1/r by Ewald's convention, other kernels by their sum over all images; with --near-only, near images alone.
    #[arg(long, value_name = "L", value_parser = period)]
    periodic: Option<f64>,
    /// The axes that are periodic: x, y, z, xy, xz, yz or xyz [default: xyz]
    #[arg(long, value_name = "AXES", value_parser = axes, requires = "periodic")]
    periodic_axes: Option<[bool; 3]>,
}

impl PeriodicArgs {
    pub fn get(&self) -> Option<Periodic> {
        self.periodic.map(|length| Periodic { length, axes: self.periodic_axes.unwrap_or([true; 3]) })
    }
}

fn period(text: &str) -> Result<f64, String> {
    match text.parse::<f64>().map_err(|e| e.to_string())? {
        length if length.is_normal() && length > 0.0 => Ok(length),
        length => Err(format!("a period must be finite and above 0, not {length:?}")),
    }
}

fn axes(text: &str) -> Result<[bool; 3], String> {
    let mut axes = [false; 3];
    for name in text.chars() {
        let axis = "xyz".find(name).filter(|axis| !axes[*axis]);
        axes[axis.ok_or_else(|| format!("axes are some of x, y and z, each once, not `{text}`"))?] = true;
    }
    if text.is_empty() { Err("at least one axis must be periodic".into()) } else { Ok(axes) }
}
