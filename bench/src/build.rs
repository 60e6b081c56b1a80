//! Time to compile kernels to the Verilog of an engine.

use hdl::circuit::target::Clock;
use hdl::engine::{Config, design};
use terminal::bench::{spread, timed};
use terminal::failure::Failure;
use terminal::say;
use terminal::source;

/// The paper's P2P, and M2L of orders 2, 4 and 8.
pub fn run(repeat: u32) -> Result<(), Failure> {
    let mut kernels = vec![source::read("p2p_paper")?];
    for order in [2, 4, 8] {
        let text = pg2::gen_m2l(order).map_err(Failure::Input)?;
        let name = format!("m2l_p{order}");
        kernels.push(source::Kernel::shipped(&name, &text));
    }
    for kernel in &kernels {
        let mut size = 0;
        let seconds = timed(repeat, || {
            let graph = source::compile(kernel)?;
            let built = pg2::backend::build::build(&graph, Clock::default_clock(), &kernel.sources, Vec::new());
            let config = Config::usual(built.layout(), built.schedule.depth);
            size = design(&config, &built.netlist).netlist.verilog()?.len();
            Ok(())
        })?;
        let show = |s: f64| format!("{:.1}", 1e3 * s);
        say!("  {:<10} {} ms, {} KiB of Verilog", kernel.name, spread(&seconds, show), size >> 10)?;
    }
    Ok(())
}
