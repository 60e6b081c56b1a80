//! Every operator's block evaluation against its `bits`, lane by lane, on every instruction set of the machine, for the uses that
//! `testkit` makes up.

use hdl::engine::protocol::Segment;
use hdl::op::{Inst, OPERATORS, Operator};
use hdl::{Flags, Reduce};
use pg2::diag::Span;
use pg2::graph::{Graph, Node, NodeId, NodeKind, Output, Pin, PinClass};
use sim::emulator::{Emulator, Isa, LANES};
use testkit::Random;
use testkit::uses::{describe, plain_uses, rows, shown};

/// Uses of one operator, about, and rows of each.
const USES: usize = 30;
const ROWS: usize = 600;

/// Rows that are tried alone, so that the flags of each one are seen.
const ALONE: usize = 24;

/// A graph of one operator: its arguments are j pins, the first one an i pin on demand.
fn graph_of(op: &'static dyn Operator, inst: &Inst, first_of_target: bool) -> Graph {
    let mut pins: Vec<Pin> = Vec::new();
    let mut nodes: Vec<Node> = Vec::new();
    let pin = |name: String, class, format| Pin::scalar(name, class, format, Span::default());
    for (k, f) in inst.args.iter().enumerate() {
        let class = if k == 0 && first_of_target { PinClass::Ipin } else { PinClass::Jpin };
        pins.push(pin(format!("a{k}"), class, *f));
        let kind = NodeKind::Pin { pin: k, element: 0 };
        nodes.push(Node { kind, format: *f, name: String::new(), span: Span::default() });
    }
    pins.push(pin("q".into(), PinClass::Fout, inst.result));
    let args = (0..inst.args.len() as u32).map(NodeId).collect();
    let kind = NodeKind::Op { op, inst: inst.clone(), args };
    nodes.push(Node { kind, format: inst.result, name: String::new(), span: Span::default() });
    let value = NodeId(inst.args.len() as u32);
    let outputs = vec![Output { pin: inst.args.len(), element: 0, reduce: Reduce::Max, value }];
    let graph = Graph {
        name: "one".into(),
        pins,
        nodes,
        outputs,
        demand: Vec::new(),
        numbers: Default::default(),
        bins: Vec::new(),
        gathered: Vec::new(),
        filter: None,
    };
    graph.verify().expect("a graph of one operator");
    graph
}

#[test]
fn every_operator_gives_the_bits_and_flags_of_its_specification() {
    let mut wrong = Vec::new();
    for op in OPERATORS.iter() {
        let mut uses = plain_uses(*op);
        let stride = (uses.len() / USES).max(1);
        uses = uses.into_iter().step_by(stride).collect();
        assert!(!uses.is_empty(), "no use of {} is made up", op.name());
        let found = uses.iter().enumerate().filter_map(|(k, inst)| check_use(*op, inst, k));
        wrong.extend(found.take(3));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The first error of a use, or `None`.
fn check_use(op: &'static dyn Operator, inst: &Inst, k: usize) -> Option<String> {
    let first_of_target = k % 2 == 1;
    let graph = graph_of(op, inst, first_of_target);
    let mut all = rows(inst, ROWS, &mut Random::new(k as u64));
    all.dedup();
    if first_of_target {
        let first = all[all.len() / 3][0];
        all.iter_mut().for_each(|row| row[0] = first);
    }
    let alone = all.iter().step_by(all.len().div_ceil(ALONE)).map(std::slice::from_ref);
    let blocks: Vec<&[Vec<u64>]> = alone.chain(all.chunks(LANES)).collect();
    Isa::available().into_iter().find_map(|isa| {
        let emulator = Emulator::with_isa(&graph, isa);
        blocks.iter().find_map(|block| check_block(&emulator, op, inst, block, first_of_target, isa))
    })
}

fn check_block(
    emulator: &Emulator,
    op: &'static dyn Operator,
    inst: &Inst,
    block: &[Vec<u64>],
    first_of_target: bool,
    isa: Isa,
) -> Option<String> {
    let split = first_of_target as usize;
    let records: Vec<u64> = block.iter().flat_map(|row| row[split..].iter().copied()).collect();
    let mut sources = emulator.sources(block.len());
    emulator.load(&mut sources, 0, &records);
    let mut scratch = emulator.scratch();
    let mut sums = vec![emulator.start()];
    let segments = [Segment { first: 0, count: block.len() as u32 }];
    emulator.accumulate(&mut scratch, &mut sums, &block[0][..split], &sources, &segments);
    let mut flags = Flags::NONE;
    for (lane, row) in block.iter().enumerate() {
        let (want, raised) = op.bits(inst, row);
        flags |= raised;
        let got = emulator.value(&scratch, 0, lane);
        if got != want {
            let (of, want) = (shown(&inst.args, row), shown(&[inst.result], &[want]));
            return Some(format!("{}: the emulator on {isa} of {of} gives {got:#x}, not {want}", describe(op, inst)));
        }
    }
    let of = shown(&inst.args, &block[0]);
    let message = || {
        let (raised, n) = (sums[0].flags, block.len());
        format!(
            "{}: the emulator on {isa} raises {raised:?}, not {flags:?}, for {n} rows from {of}",
            describe(op, inst)
        )
    };
    (sums[0].flags != flags).then(message)
}
