//! About what a tool makes of a netlist: lookup tables, registers, multipliers and block memories, without the tool.
//!
//! The netlist becomes gates ([`elaborate`]), flattened and without what nobody reads, and these are covered with tables
//! ([`tables`]) as ABC covers them for yosys. The figures of families are in [`family`]. Of modules that are hand-written text only the
//! memories and registers that they declare are seen ([`text`]).

mod elaborate;
mod family;
mod gates;
mod tables;
mod text;

use super::area::Area;
use family::Family;
use hdl::circuit::target::Target;
use hdl::rtl::netlist::Netlist;

/// The resources of the top of a netlist in a family.
pub fn map(netlist: &Netlist, target: &Target) -> Area {
    let family = Family::of(target.name);
    let made = elaborate::elaborate(netlist, &family);
    let covered = tables::cover(&made.gates, &made.roots, &family);
    let mut area = Area {
        tables: covered.tables + covered.steps * family.step_tables,
        registers: made.registers,
        multipliers: made.products,
        memories: made.roms.iter().map(|(words, bits)| target.blocks(*words, *bits)).sum(),
    };
    made.texts.iter().for_each(|module| area.add(text::area(module, &family, target)));
    area
}

/// A memory of so many words of so many bits: in block memories, or in tables where tools put it there.
pub fn memory(target: &Target, words: u64, bits: u64) -> Area {
    text::memory(&Family::of(target.name), target, words, bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdl::circuit::target::target;
    use hdl::rtl::expr::{Shift, Test};
    use hdl::rtl::netlist::{Dir, Module};
    use hdl::rtl::{Value, cat};

    /// The tables of an expression over three signals of 24 bits and one of 5.
    fn tables(family: &str, of: impl Fn([Value; 4]) -> Value) -> u64 {
        let mut module = Module { name: "m".into(), ..Module::default() };
        let inputs = [("a", 24), ("b", 24), ("c", 24), ("n", 5)];
        let inputs = inputs.map(|(name, width)| {
            module.port(Dir::In, name, width);
            module.signal(name)
        });
        let value = of(inputs);
        module.port(Dir::Out, "y", value.width());
        module.assign("y", value);
        map(&Netlist::new([module]), target(family).expect("a target")).tables
    }

    #[test]
    fn single_operators_take_the_tables_that_yosys_gives_them() {
        let each = |of: &dyn Fn([Value; 4]) -> Value| ["ecp5", "ice40", "xc7"].map(|family| tables(family, of));
        assert_eq!(each(&|[a, b, ..]| a + b), [24, 24, 24]);
        // The cells of iCE40 and 7 series do not invert; the latter have the inversion in the table before.
        // A chain's last table inverts for itself.
        assert_eq!(each(&|[a, b, ..]| a - b), [24, 47, 24]);
        // The table of a sum of iCE40 has room for what masks it.
        assert_eq!(tables("ecp5", |[a, b, c, _]| (a + b) & c), 48);
        assert_eq!(tables("ice40", |[a, b, c, _]| (a + b) & c), 24);
        // Three summands are made two by tables, before there is a chain.
        assert_eq!(tables("ecp5", |[a, b, c, _]| a + b + c), 71);
        // A carry in costs nothing.
        assert_eq!(tables("ecp5", |[a, b, c, _]| a + b + c.low(1).zext(24)), 24);
        assert_eq!(each(&|[a, b, c, _]| c.bit(0).mux(&a, &b)), [24, 24, 24]);
        // A comparison is a chain whose sum nobody reads.
        assert_eq!(tables("ecp5", |[a, b, ..]| a.compare(Test::Ge, false, &b)), 24);
        // What is narrow is left to tables.
        assert_eq!(tables("ecp5", |[a, b, ..]| a.low(2) + b.low(2)), 2);
        // What nobody reads is not there.
        assert_eq!(tables("ecp5", |[a, b, ..]| cat([a.low(1), b.low(1)])), 0);
    }

    #[test]
    fn a_shifter_takes_more_tables_where_these_are_joined_for_speed() {
        let shifter = |[a, _, _, n]: [Value; 4]| a.shift(Shift::Right, &n);
        // As yosys: 178 and 112.
        assert!((150..=195).contains(&tables("ecp5", shifter)), "{}", tables("ecp5", shifter));
        assert!((95..=125).contains(&tables("ice40", shifter)), "{}", tables("ice40", shifter));
    }
}
