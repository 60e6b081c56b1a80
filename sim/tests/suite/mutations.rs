//! Kernels that were changed at random: what compiles has the reference's bits in the emulator.

use crate::mutate::{mutated, sources};
use hdl::engine::protocol::Segment;
use pg2::graph::PinClass;
use pg2::middle::simplify::simplify;
use sim::emulator::Emulator;
use sim::stimuli::{self, Style, records};
use testkit::Random;

const SOURCES: usize = 12;

#[test]
fn what_compiles_has_the_reference_s_bits() {
    have_the_reference_s_bits(120);
}

#[test]
#[ignore = "a proof in depth"]
fn what_compiles_of_many_kernels_has_the_reference_s_bits() {
    have_the_reference_s_bits(2000);
}

/// So many changed kernels that compile.
fn have_the_reference_s_bits(number: usize) {
    let (texts, mut dice) = (sources(), Random::new(0x5EED_0005));
    let mut kernels = 0;
    while kernels < number {
        let text = mutated(&texts, &mut dice);
        let Ok(compiled) = pg2::compile("k", &text) else { continue };
        let graph = compiled.graph;
        if graph.nodes.len() > 2000 {
            continue;
        }
        kernels += 1;
        let random = &mut stimuli::Random::new(kernels as u64);
        let style = if kernels % 2 == 0 { Style::Ordinary } else { Style::Wild { anchor: 0x0123_4567_89ab_cdef } };
        let mut of = |class, n| records(&graph, class, n, style, random);
        let (i, j) = (of(PinClass::Ipin, 2), of(PinClass::Jpin, SOURCES));
        let params = of(PinClass::Param, 1).swap_remove(0);
        let mut emulator = Emulator::new(&simplify(&graph));
        emulator.set_params(&params);
        let mut loaded = emulator.sources(SOURCES);
        emulator.load(&mut loaded, 0, &j.concat());
        let (segments, mut scratch) = ([Segment { first: 0, count: SOURCES as u32 }], emulator.scratch());
        for i in &i {
            let want = sim::reference::target(&graph, i, &j, &params);
            let mut sums = [emulator.start()];
            emulator.accumulate(&mut scratch, &mut sums, i, &loaded, &segments);
            assert_eq!(sums[0].finish(), want, "{text}\nwith {i:x?}, {j:x?}, {params:x?}");
        }
    }
}
