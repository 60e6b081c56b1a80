//! The shipped kernels: the files of `pg2/kernels`, embedded.

/// A shipped kernel.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    pub name: &'static str,
    pub summary: &'static str,
    pub text: &'static str,
}

/// Every shipped kernel.
pub static KERNELS: &[Kernel] = &[Kernel {
    name: "p2p_paper",
    summary: "potential of a source particle, as printed in the paper (Fig. 2)",
    text: include_str!("../kernels/p2p_paper.pg2"),
}];

/// The kernel of that name.
pub fn find(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|k| k.name == name)
}
