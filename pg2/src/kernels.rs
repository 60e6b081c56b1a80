//! The shipped kernels: the files of `pg2/kernels`, embedded.

/// A shipped kernel.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    pub name: &'static str,
    pub summary: &'static str,
    pub text: &'static str,
}

/// Every shipped kernel; M2L of other orders comes from [`crate::gen_m2l()`].
pub static KERNELS: &[Kernel] = &[
    Kernel {
        name: "p2p",
        summary: "potential and gradient of a source particle, optionally softened",
        text: include_str!("../kernels/p2p.pg2"),
    },
    Kernel {
        name: "p2p_paper",
        summary: "potential of a source particle, as printed in the paper (Fig. 2)",
        text: include_str!("../kernels/p2p_paper.pg2"),
    },
    Kernel {
        name: "p2p_small",
        summary: "potential of a source particle in small formats, for small devices",
        text: include_str!("../kernels/p2p_small.pg2"),
    },
    Kernel {
        name: "m2l_paper",
        summary: "M2L of order 2, the paper's Fig. 3 with its declarations",
        text: include_str!("../kernels/m2l_paper.pg2"),
    },
];

/// The kernel of that name.
pub fn find(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|k| k.name == name)
}
