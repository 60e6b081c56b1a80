use hdl::circuit::target::{Clock, target};
use hdl::engine::{Config, design};
use hdl::rtl::netlist::Netlist;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = if a[1].starts_with("m2l_") { pg2::gen_m2l(a[1][4..].parse().unwrap()).unwrap() } else { pg2::kernels::find(&a[1]).unwrap().text.to_string() };
    let ii: u32 = a[2].parse().unwrap();
    let t = target(&a[3]).unwrap();
    let g = pg2::compile(&a[1], &text).unwrap().graph;
    let clock = Clock { target: t, mhz: a[4].parse().unwrap(), blocks: a.get(6).map(|b| b.parse().unwrap()) };
    let b = pg2::backend::build::build_folded(&g, (clock, ii), &text, Vec::new());
    let layout = b.graph.layout();
    let config = Config { ii, pipelines: 1, groups: 1, i_banks: 1, ..Config::usual(layout, b.schedule.depth) };
    let e = design(&config, &b.netlist);
    if a[5].ends_with("engine.v") {
        std::fs::write(&a[5], e.netlist.verilog().unwrap()).unwrap();
        return;
    }
    let whole = Netlist { top: e.lane.clone(), modules: e.netlist.modules.clone() };
    std::fs::write(&a[5], whole.verilog().unwrap()).unwrap();
}
