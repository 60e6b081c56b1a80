//! `fmm --tune` measures what the stages cost on this machine and keeps it; later runs choose their leaf size by it.

use super::ranks::failure_of;
use fmm::octree::tune::cost;
use pairforge::fmm::costs::{self, Kept, Known};
use pairforge::fmm::ranks::costs_of_first;
use pairforge::fmm::{Basis, Precision};
use ranks::comm::Comm;
use terminal::failure::{Failure, safe};
use terminal::output;
use terminal::progress::Progress;

/// Tells of measured costs that are not used.
pub fn warn(known: &Known) {
    if let Some(why) = &known.warning {
        let text = format!("warning: the costs that `fmm --tune` measured are not used: {why}; measure them again");
        output::tell(&(safe(&text) + "\n"));
    }
}

/// The costs of this machine.
pub fn known() -> Known {
    let known = costs::known();
    warn(&known);
    known
}

/// The same on ranks: what the machine of the first one has kept counts on all.
pub fn known_on(comm: &dyn Comm) -> Result<Known, Failure> {
    let known = costs_of_first(comm).map_err(failure_of)?;
    warn(&known);
    Ok(known)
}

/// Measures, keeps and shows the costs.
pub fn measure() -> Result<(), Failure> {
    let mut shown: Option<Progress> = None;
    let kept = costs::measure(&mut |done, all| {
        shown.get_or_insert_with(|| Progress::new("measuring", all)).at(done);
    })?;
    drop(shown);
    let path = kept.keep().map_err(|e| Failure::Tool(e.to_string()))?;
    output::print(&table(&kept))?;
    output::print(&format!("\nkept in {}\n", fmm::shown::path(&path)))
}

const BASES: [(&str, Basis); 3] =
    [("solid", Basis::Solid), ("cartesian", Basis::Cartesian), ("chebyshev", Basis::Chebyshev)];

/// The measured costs and the leaf sizes that follow, for a terminal.
fn table(kept: &Kept) -> String {
    let Kept { machine, costs, .. } = kept;
    let ns = |seconds: f64| format!("{:>10.4}", seconds * 1e9);
    let mut out = format!("{machine}, nanoseconds\n\n");
    out += &format!("{:<44}{:>10}{:>10}\n", "", "f32", "f64");
    out += &format!("{:<44}{}\n", "P2P, a pair", [costs.f32.pair, costs.f64.pair].map(ns).concat());
    let by_kernel = [costs.f32.kernel_pair, costs.f64.kernel_pair].map(ns).concat();
    out += &format!("{:<44}{by_kernel}\n", "P2P by a kernel's meaning (p2p_yukawa)");
    for (name, basis) in BASES {
        let both = [costs.f32.far(basis), costs.f64.far(basis)];
        type Pick = fn(&cost::Far) -> f64;
        let picks: [(&str, Pick); 5] = [
            ("M2L, a pair of cells", |f| f.cell),
            ("M2L, a pair of terms besides", |f| f.product),
            ("P2M and L2P, a particle and term", |f| f.particle),
            ("M2M and L2L, a cell and term", |f| f.shift),
            ("M2P or P2L, a particle, cell and term", |f| f.point),
        ];
        for (what, pick) in picks {
            out += &format!("{:<44}{}\n", format!("{name}: {what}"), both.map(|far| ns(pick(far))).concat());
        }
    }
    out += "\nleaf sizes that follow, where the particles are not uniform:\n\n";
    out += &format!("{:<44}{:>10}{:>10}{:>10}{:>10}\n", "order", 4, 6, 10, 14);
    for (name, basis) in BASES {
        for (bits, precision) in [("f32", Precision::F32), ("f64", Precision::F64)] {
            let leaf = |order: usize| match order <= basis.max_order() {
                true => costs.leaf(&cost::Choice { n: 0, basis, order, precision }).to_string(),
                false => "-".into(),
            };
            let sizes = [4, 6, 10, 14].map(leaf);
            let sizes: String = sizes.iter().map(|size| format!("{size:>10}")).collect();
            out += &format!("{:<44}{sizes}\n", format!("{name}, {bits}"));
        }
    }
    out
}
