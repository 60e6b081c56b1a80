//! The shipped kernels: the files of `pg2/kernels`, embedded, and the M2L kernels that are generated.

use crate::syntax::sources::Loaded;
use std::sync::OnceLock;

/// A shipped kernel.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    pub name: &'static str,
    pub summary: &'static str,
    pub text: &'static str,
}

/// A kernel of the file of that name.
macro_rules! kernel {
    ($name:literal, $summary:literal) => {
        Kernel { name: $name, summary: $summary, text: include_str!(concat!("../kernels/", $name, ".pg2")) }
    };
}

/// Every kernel that is a file.
pub static KERNELS: &[Kernel] = &[
    kernel!("p2p", "potential and gradient of a source particle, optionally softened"),
    kernel!("p2p_paper", "potential of a source particle, as printed in the paper (Fig. 2)"),
    kernel!("p2p_small", "potential of a source particle in small formats, for small devices"),
    kernel!("p2p_yukawa", "potential and gradient of a screened source particle, for the FMM"),
    kernel!("gravity", "potential and acceleration by softened point masses"),
    kernel!("gravity_log", "acceleration by softened point masses in logarithms, as GRAPE-5"),
    kernel!("gravity_hermite", "potential, acceleration and jerk, for the Hermite scheme"),
    kernel!("grape5", "potential and acceleration as codes for GRAPE-5 want them"),
    kernel!("grape6", "potential, acceleration and jerk as codes for GRAPE-6 want them"),
    kernel!("coulomb", "energy of a charge and force on it, charges on both sides"),
    kernel!("yukawa", "energy and force of screened charges in a periodic box, with a cut-off"),
    kernel!("ewald_real", "energy and force of the Ewald sum in real space, with a cut-off"),
    kernel!("lennard_jones", "energy and force in a periodic box, with a cut-off"),
    kernel!("lennard_jones_species", "energy and force of a mixture in a periodic box, with tables of species"),
    kernel!("sph_density", "density and number of neighbours, cubic spline"),
    kernel!("sph_pressure", "acceleration by pressure, cubic spline, mean smoothing length"),
    kernel!("stokeslet", "velocity of a viscous fluid by point forces, optionally regularised"),
    kernel!("biot_savart", "velocity by vortex particles, optionally regularised"),
    kernel!("harmonic2d", "potential 1/(z_j - z_i) of a complex source in the plane"),
    kernel!("log2d", "potential log|z_i - z_j| of a complex source in the plane, and its derivative"),
    kernel!("nearest", "squared distances and numbers of the eight nearest neighbours"),
    kernel!("pair_count", "number of particles within each of eight radii"),
    kernel!("pair_histogram", "number of particles within each of 256 shells, for g(r)"),
    kernel!("m2l_paper", "M2L of order 2, the paper's Fig. 3 with its declarations"),
];

/// Name and summary of the generated kernels, M2L of orders 1 to 8; see [`crate::gen_m2l()`].
pub static GENERATED: [(&str, &str); 8] = [
    ("m2l_1", "M2L of order 1, generated"),
    ("m2l_2", "M2L of order 2, generated"),
    ("m2l_3", "M2L of order 3, generated"),
    ("m2l_4", "M2L of order 4, generated"),
    ("m2l_5", "M2L of order 5, generated"),
    ("m2l_6", "M2L of order 6, generated"),
    ("m2l_7", "M2L of order 7, generated"),
    ("m2l_8", "M2L of order 8, generated"),
];

/// The kernel of that name, a file's or a generated one.
pub fn find(name: &str) -> Option<Kernel> {
    static TEXTS: [OnceLock<String>; 8] = [const { OnceLock::new() }; 8];
    if let Some(kernel) = KERNELS.iter().find(|k| k.name == name) {
        return Some(*kernel);
    }
    let k = GENERATED.iter().position(|g| g.0 == name)?;
    let text = TEXTS[k].get_or_init(|| crate::gen_m2l(k as u32 + 1).expect("orders 1 to 8 have a kernel"));
    Some(Kernel { name: GENERATED[k].0, summary: GENERATED[k].1, text })
}

/// The prefix of the keys of shipped files; no path of a user begins so.
pub const SHIPPED: &str = "shipped:";

/// The shipped file that a kernel includes by `path`.
pub fn included(path: &str) -> Option<Loaded> {
    let name = path.strip_suffix(".pg2").unwrap_or(path);
    let origin = format!("{name}.pg2");
    find(name).map(|kernel| Loaded { key: SHIPPED.to_string() + &origin, origin, text: kernel.text.to_string() })
}

/// Name and summary of every shipped kernel.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    KERNELS.iter().map(|k| (k.name, k.summary)).chain(GENERATED)
}
