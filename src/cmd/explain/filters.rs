//! `pairforge explain --filters F`: what filters and the pipeline behind them take, beside as many pipelines without filters.

use super::super::lanes::FilterArgs;
use hdl::engine::{Config, FEWEST_FILTERS};
use pairforge::kernel::fit::Share;
use pg2::backend::build::Built;
use pg2::backend::filtered::build_filtered;
use pg2::graph::Graph;
use pg2::report::area::{Area, engine};
use terminal::failure::Failure;
use terminal::output;
use terminal::source::Kernel;

/// Prints the table, if it was asked for.
pub fn print(args: &FilterArgs, kernel: &Kernel, graph: &Graph, plain: &Built) -> Result<(), Failure> {
    let filters = args.count();
    if filters == 0 {
        return Ok(());
    }
    let clock = plain.library.clock;
    let filtered = build_filtered(graph, clock, &kernel.sources, Vec::new()).map_err(Failure::Input)?;
    // The engines take as many targets at a time, with one j memory.
    let around = |built: &Built, pipelines: u32, filters: u32| {
        let layout = built.layout();
        let jmem_records = Share::of(None, 1).records(&layout, clock.target);
        let usual = Config::usual(layout, built.schedule.depth);
        engine(built, &Config { pipelines, groups: 1, filters, jmem_records, ..usual })
    };
    let with = |filters: u32| around(&filtered, 1, filters);
    let rows = [
        (format!("1 pipeline behind {filters} filters"), with(filters)),
        (format!("{filters} pipelines without filters"), around(plain, filters, 0)),
        ("1 pipeline without filters".to_string(), around(plain, 1, 0)),
    ];
    let mut text = format!(
        "\nEngines of one lane group, by an estimate of their area:\n{:<28} {:>7} {:>9} {:>11} {:>14}\n",
        "", "tables", "registers", "multipliers", "block memories"
    );
    for (name, Area { tables, registers, multipliers, memories }) in &rows {
        text += &format!("{name:<28} {tables:>7} {registers:>9} {multipliers:>11} {memories:>14}\n");
    }
    if filters > FEWEST_FILTERS {
        let (most, fewest) = (with(filters), with(FEWEST_FILTERS));
        let each = |of: fn(&Area) -> u64| of(&most).saturating_sub(of(&fewest)) / u64::from(filters - FEWEST_FILTERS);
        let columns: [fn(&Area) -> u64; 4] = [|a| a.tables, |a| a.registers, |a| a.multipliers, |a| a.memories];
        let [tables, registers, multipliers, memories] = columns.map(each);
        text +=
            &format!("{:<28} {tables:>7} {registers:>9} {multipliers:>11} {memories:>14}\n", "each filter of these");
    }
    output::print(&text)
}
