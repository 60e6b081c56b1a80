//! What compiles becomes a pipeline, and has the reference's bits in the emulator.

#![no_main]

use hdl::engine::protocol::Segment;
use hdl::circuit::target::Clock;
use libfuzzer_sys::fuzz_target;
use pg2::graph::PinClass;
use sim::emulator::Emulator;
use sim::stimuli::{Random, Style, records};

const SOURCES: usize = 8;

fuzz_target!(|text: &str| {
    let Ok(compiled) = pg2::compile("fuzzed", text) else { return };
    let graph = compiled.graph;
    if graph.nodes.len() > 300 {
        return;
    }
    let built = pg2::backend::build::build(&graph, Clock::default_clock(), text, Vec::new());
    built.netlist.verify().expect("netlists verify");
    let random = &mut Random::new(text.len() as u64 + 1);
    let style = Style::Wild { anchor: 0x0123_4567_89ab_cdef };
    let mut of = |class, n| records(&graph, class, n, style, random);
    let (i, j) = (of(PinClass::Ipin, 1).swap_remove(0), of(PinClass::Jpin, SOURCES));
    let params = of(PinClass::Param, 1).swap_remove(0);
    let mut emulator = Emulator::new(&built.graph);
    emulator.set_params(&params);
    let mut loaded = emulator.sources(SOURCES);
    emulator.load(&mut loaded, 0, &j.concat());
    let segments = [Segment { first: 0, count: SOURCES as u32 }];
    let mut sums = [emulator.start()];
    emulator.accumulate(&mut emulator.scratch(), &mut sums, &i, &loaded, &segments);
    assert_eq!(sums[0].finish(), sim::reference::target(&graph, &i, &j, &params));
});
