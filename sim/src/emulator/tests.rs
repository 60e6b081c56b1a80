//! Every operator's block evaluation against its `bits`, lane by lane, on every instruction set of the machine.

use super::*;
use crate::reference;
use hdl::Format;
use hdl::Rounding;
use hdl::number::exact::parse_decimal;
use hdl::number::real;
use hdl::op::table::func::Function;
use hdl::op::{Attrs, Inst, OPERATORS, Operator};
use pg2::diag::Span;
use pg2::graph::{Node, NodeId, NodeKind, Output, Pin, PinClass};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A valid pattern: corners, values of like size, and anything.
    fn pattern(&mut self, f: Format) -> u64 {
        let any = self.next() & f.mask();
        let kind = self.next() % 8;
        if f.is_log() {
            let one = 3u64 << (f.width() - 3);
            let low = (self.next() % (16 << f.log_frac())) & (f.mask() >> 3);
            let near = (one ^ low) | (any & (1 << (f.width() - 1)));
            let pattern = [0, f.min_bits(), f.max_bits(), any, near, near, near, near][kind as usize];
            return hdl::number::exact::check_raw(f, pattern).expect("it has no more bits");
        }
        if !f.is_float() {
            return match kind {
                0 => [0, 1, f.mask(), f.min_bits(), f.max_bits()][self.next() as usize % 5],
                1..=3 => (self.next() as i64 >> (self.next() % 64)) as u64 & f.mask(),
                _ => any,
            };
        }
        let top = (1u64 << f.exp()) - 2;
        let bias = f.bias() as u64;
        let field = match kind {
            0 => return [0, f.min_bits(), f.max_bits(), 1 << f.mant(), 2 << f.mant()][self.next() as usize % 5],
            1 => 1 + self.next() % top,
            2 => 1 + self.next() % top.min(3),
            3 => top - self.next() % top.min(3),
            _ => (bias + self.next() % 9).saturating_sub(4).clamp(1, top),
        };
        let mant = if kind == 4 { self.next() % 2 * ((1 << f.mant()) - 1) } else { any & ((1 << f.mant()) - 1) };
        (self.next() & 1) << (f.width() - 1) | field << f.mant() | mant
    }
}

/// A graph of one operator: its first argument an i pin, the others j pins.
fn graph_of(op: &'static dyn Operator, inst: &Inst) -> Graph {
    let mut pins: Vec<Pin> = Vec::new();
    let mut nodes: Vec<Node> = Vec::new();
    for (k, f) in inst.args.iter().enumerate() {
        let class = if k == 0 { PinClass::Ipin } else { PinClass::Jpin };
        pins.push(Pin { name: format!("a{k}"), class, format: *f, len: None, columns: None, span: Span::default() });
        let kind = NodeKind::Pin { pin: k, element: 0 };
        nodes.push(Node { kind, format: *f, name: String::new(), span: Span::default() });
    }
    pins.push(Pin {
        name: "q".into(),
        class: PinClass::Fout,
        format: inst.result,
        len: None,
        columns: None,
        span: Span::default(),
    });
    let args = (0..inst.args.len() as u32).map(NodeId).collect();
    let kind = NodeKind::Op { op, inst: inst.clone(), args };
    nodes.push(Node { kind, format: inst.result, name: String::new(), span: Span::default() });
    let value = NodeId(inst.args.len() as u32);
    let outputs = vec![Output { pin: inst.args.len(), element: 0, reduce: Reduce::Max, value }];
    let graph = Graph { name: "one".into(), pins, nodes, outputs, demand: Vec::new(), numbers: Default::default() };
    graph.verify().expect("a graph of one operator");
    graph
}

fn formats() -> Vec<Format> {
    let names = "int1 int7 int32 int33 int64 uint1 uint8 uint32 uint40 uint64 fixed12.4 fixed32.31 fixed64.30 ufixed32.16 \
                 ufixed64.64 float5.2 float7.3 float18.9 float19.10 float25.16 float29.20 float32.23 float33.24 float35.23 \
                 float40.30 log9.4 log17.8 log20.10";
    names.split(' ').map(|n| n.parse().expect("a format")).collect()
}

/// 1/x between 1 and 3/2, for `func`: short enough to be fitted in every format above that functions take.
fn reciprocal() -> &'static Function {
    let mut e = real::Expr::default();
    let x = e.push(real::Node::X);
    let one = e.push(real::Node::Number(parse_decimal("1").expect("a number")));
    e.push(real::Node::Div(one, x));
    Function::new(e, parse_decimal("1").expect("a number"), parse_decimal("1.5").expect("a number"))
}

/// Uses of an operator over the formats above.
fn uses(op: &dyn Operator) -> Vec<Inst> {
    let mut list = Vec::new();
    let all = formats();
    let attrs = |to, n, d| Attrs { to, n, d, ..Attrs::default() };
    let mut plain =
        vec![attrs(None, 0, 0), attrs(None, 3, 1), attrs(None, -2, 1), attrs(None, -1, 2), attrs(None, -3, 2)];
    plain.extend([attrs(None, 45, 0), attrs(None, -70, 0), attrs(None, 1, 2), attrs(None, 0, 1), attrs(None, 0, -1)]);
    plain.extend(all.iter().map(|f| attrs(Some(*f), 0, 0)));
    plain.push(Attrs { function: Some(reciprocal()), ..Attrs::default() });
    for a in &all {
        let uint1 = hdl::number::format::UINT1;
        let int8 = Format::int(8, true).expect("a format");
        for args in [
            vec![*a],
            vec![*a, *a],
            vec![uint1, *a, *a],
            vec![*a, int8],
            vec![*a, Format::int(32, false).expect("a format")],
        ] {
            let rounds = [Rounding::Nearest, Rounding::Truncate];
            for (attrs, round) in plain.iter().flat_map(|a| rounds.map(|r| (a, r))) {
                if let Ok(inst) = Inst::new(op, &args, Attrs { round, ..*attrs })
                    && !list.contains(&inst)
                {
                    list.push(inst);
                }
            }
        }
    }
    list
}

#[test]
fn every_operator_gives_the_bits_and_flags_of_its_specification() {
    let mut random = Random(20141119);
    for op in OPERATORS.iter() {
        let mut uses = uses(*op);
        // Casts between all pairs are many; a stride keeps the test short and still meets every class.
        let stride = (uses.len() / 60).max(1);
        uses = uses.into_iter().step_by(stride).collect();
        assert!(!uses.is_empty(), "no use of {} was found", op.name());
        for inst in uses {
            check_use(*op, &inst, &mut random);
        }
    }
}

fn check_use(op: &'static dyn Operator, inst: &Inst, random: &mut Random) {
    let graph = graph_of(op, inst);
    let class = Class::of(inst.result);
    for isa in Isa::available() {
        let emulator = Emulator::with_isa(&graph, isa);
        let mut scratch = emulator.scratch();
        for round in 0..12 {
            // Rounds with one source see the flags of a single pair.
            let count = if round < 8 { 1 } else { LANES };
            let target = vec![random.pattern(inst.args[0])];
            let record = |r: &mut Random| inst.args[1..].iter().map(|f| r.pattern(*f)).collect::<Vec<u64>>();
            let list: Vec<Vec<u64>> = (0..count).map(|_| record(random)).collect();
            let mut sources = emulator.sources(count);
            emulator.load(&mut sources, 0, &list.concat());
            let mut sums = vec![emulator.start()];
            let segments = [Segment { first: 0, count: count as u32 }];
            emulator.accumulate(&mut scratch, &mut sums, &target, &sources, &segments);
            let mut flags = Flags::NONE;
            for (lane, j) in list.iter().enumerate() {
                let (values, raised) = reference::pair(&graph, &target, j, &[]);
                flags |= raised;
                let slot = emulator.program.outputs[0].place.slot;
                let got = class.pattern(inst.result, scratch.frame.get(class, slot, lane));
                let want = *values.last().expect("a value");
                assert_eq!(got, want, "{} {inst:?} of {target:x?} {j:x?} on {isa:?}", op.name());
            }
            assert_eq!(sums[0].flags, flags, "{} {inst:?} of {target:x?} {list:x?} on {isa:?}", op.name());
        }
    }
}

#[test]
fn native_values_read_back() {
    let mut random = Random(7);
    for f in formats() {
        let class = Class::of(f);
        for _ in 0..1000 {
            let bits = random.pattern(f);
            assert_eq!(class.pattern(f, class.native(f, bits)), bits, "{f}");
        }
    }
}
