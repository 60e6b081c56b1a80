//! A kernel from its text to Verilog: compiled, run by its bits and clock by clock, and built.
//!
//! `cargo run --release -p pairforge --example design` (needs Verilator and a C++ compiler)

use pairforge::kernel::{self, Backend, Engine, Records};

const TEXT: &str = "
fixed32.31 xi[3] ipin;
fixed32.31 xj[3] jpin;
float25.16 mj    jpin;
fixed64.30 phi   fout;
d = (float25.16)(xj - xi);
phi += (fixed64.30)(mj * pg_pow(d * d, -1, 2));
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kernel = kernel::compile_named("potential", TEXT)?;
    let x: Vec<[f64; 3]> = (0..100).map(|k| [0.004 * k as f64, 0.3, -0.002 * k as f64]).collect();
    let m = vec![0.01; x.len()];
    let (i, j) = (Records::new().vectors("xi", &x), Records::new().vectors("xj", &x).column("mj", &m));
    let emulated = kernel.run(&i, &j, Backend::Emulator)?;
    let simulated = kernel.run(&i, &j, Backend::Cycle)?;
    assert_eq!(emulated.patterns("phi"), simulated.patterns("phi"));
    println!("phi[0] = {:.6} after {} cycles", emulated.column("phi")[0], simulated.cycles.unwrap_or(0));
    let design = kernel.build(&Engine { pipelines: 4, ..Engine::default() })?;
    let folder = std::path::Path::new("potential");
    std::fs::create_dir_all(folder)?;
    design.files().iter().try_for_each(|file| std::fs::write(folder.join(&file.name), &file.text))?;
    println!("{} in {}: a pair every clock, {} clocks deep", design.top(), folder.display(), design.latency());
    Ok(())
}
