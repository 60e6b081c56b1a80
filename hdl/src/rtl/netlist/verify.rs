//! Checks of a netlist: every name declared once, legally, and before it is used; every expression over declared names of their
//! widths; every port of an instance connected once and to as many bits; every output and net driven exactly once.

use super::{Dir, Item, MEMORY, Module, Netlist, Port, ROM};
use crate::hash::FastMap;
use crate::rtl::names::is_identifier;
use crate::rtl::{Name, Node, Value};
use std::fmt;

impl Netlist {
    /// Whether the modules fit together; the error says what does not, and where. Of a hand-written module the ports are
    /// checked, and not what its text does with them.
    pub fn verify(&self) -> Result<(), String> {
        self.verify_around(&[])
    }

    /// The same where the ports of the modules `outside` are known besides, and nothing else of them.
    pub fn verify_around(&self, outside: &[Module]) -> Result<(), String> {
        let (mut modules, mut small) = (FastMap::default(), FastMap::default());
        for m in self.modules.iter().map(|m| &**m).chain(outside) {
            if !is_identifier(&m.name) {
                return Err(format!("`{}` is no name of a module", m.name));
            }
            if modules.insert(m.name.as_str(), m).is_some() {
                return Err(format!("module {} is defined twice", m.name));
            }
            // VHDL and some file systems tell no capitals apart.
            if let Some(other) = small.insert(m.name.to_ascii_lowercase(), m.name.as_str()) {
                return Err(format!("modules {other} and {} differ in capitals alone", m.name));
            }
        }
        for m in &self.modules {
            // All at once, since a table that grows is filled anew.
            let names = FastMap::with_capacity_and_hasher(m.ports.len() + m.items.len(), Default::default());
            let check = Check { m, names, waiting: Vec::new(), driven: Vec::new() };
            check.run(&modules).map_err(|e| format!("module {}: {e}", m.name))?;
        }
        modules.contains_key(self.top.as_str()).then_some(()).ok_or_else(|| format!("no top module {}", self.top))
    }
}

/// The kind of object a name denotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ObjectKind {
    Input,
    /// A signal that must be driven by something else: an output or a net.
    Driven,
    /// A register that must be loaded.
    Held,
    /// A signal that is driven where it is declared.
    Own,
    /// An instance or a memory: no signal.
    NoSignal,
}

/// A name of a module.
struct Signal {
    kind: ObjectKind,
    width: u32,
    /// Its index where it waits for what drives it.
    index: u32,
}

/// One module under examination, item by item.
struct Check<'a> {
    m: &'a Module,
    names: FastMap<&'a str, Signal>,
    /// The outputs, nets and held registers, and the bits of them that something drives: their index, the low and the high bit.
    waiting: Vec<(&'a str, u32)>,
    driven: Vec<(u32, u32, u32)>,
}

type Checked = Result<(), String>;

fn ensure(condition: bool, message: impl FnOnce() -> String) -> Checked {
    if condition { Ok(()) } else { Err(message()) }
}

impl<'a> Check<'a> {
    fn run(mut self, modules: &FastMap<&'a str, &'a Module>) -> Checked {
        for p in &self.m.ports {
            self.declare(&p.name, if p.dir == Dir::In { ObjectKind::Input } else { ObjectKind::Driven }, p.width)?;
        }
        self.terms()?;
        if self.m.items.iter().any(|i| matches!(i, Item::Text(_))) {
            return self.text();
        }
        let clocked = self.m.items.iter().any(|i| i.uses_clock() && !matches!(i, Item::Instance { .. }));
        ensure(!clocked || self.is("clk", ObjectKind::Input, 1), || "registers without a clock".into())?;
        let enabled = self.m.enable.as_ref().is_none_or(|enable| self.is(enable, ObjectKind::Input, 1));
        ensure(enabled, || "what enables the registers is no input of a bit".into())?;
        for item in &self.m.items {
            self.item(item, modules)?;
        }
        self.all_driven()
    }

    /// A hand-written body has nothing beside it, and every output has a place in it.
    fn text(&self) -> Checked {
        let [Item::Text(text)] = &self.m.items[..] else {
            return Err("hand-written text stands beside other items".into());
        };
        let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
        let unknown = |p: &&Port| p.dir == Dir::Out && !words.contains(&p.name.as_str());
        let missing = self.m.ports.iter().find(unknown);
        ensure(missing.is_none(), || {
            format!("output {} is not in the hand-written text", missing.map_or("", |p| &p.name))
        })
    }

    fn item(&mut self, item: &'a Item, modules: &FastMap<&'a str, &'a Module>) -> Checked {
        match item {
            Item::Comment(_) | Item::Text(_) => Ok(()),
            Item::Net { name, width } => self.declare(name, ObjectKind::Driven, *width),
            Item::Hold { name, width } => self.declare(name, ObjectKind::Held, *width),
            Item::Wire { name, value } => {
                self.reads(value)?;
                self.declare(name, ObjectKind::Own, value.width())
            }
            Item::Reg { name, next } => {
                // A register may read itself.
                self.declare(name, ObjectKind::Own, next.width())?;
                self.reads(next)
            }
            Item::Load { name, next } => {
                self.reads(next)?;
                let held = self.names.get(&**name).is_some_and(|n| n.kind == ObjectKind::Held);
                ensure(held, || format!("{name} is loaded and is no register that waits for it"))?;
                self.whole(name, next.width(), format_args!("what it takes"))
            }
            Item::Assign { name, value } => {
                self.reads(value)?;
                self.whole(name, value.width(), format_args!("an assignment"))
            }
            Item::Counter { name, width } => self.declare(name, ObjectKind::Own, *width),
            Item::Constant { name, .. } => self.declare(name, ObjectKind::NoSignal, 1),
            Item::Memory { name, words, at, data, from, .. } => {
                [at, data, from].into_iter().try_for_each(|value| self.reads(value))?;
                let number = |value: &Value| value.width() <= 32 && *words == 1 << value.width();
                ensure(number(at) && number(from), || {
                    format!("memory {name} has {words} words and addresses of {} and {} bits", at.width(), from.width())
                })?;
                self.declare(name, ObjectKind::Own, data.width())?;
                self.apart(name, MEMORY)
            }
            Item::Rom { name, width, addr, data } => self.rom(name, *width, addr, data),
            Item::Instance { module, name, connections } => {
                let inner = modules.get(&**module);
                let inner = inner.ok_or_else(|| format!("{name} is an instance of unknown {module}"))?;
                self.instance(name, inner, connections)
            }
        }
    }

    fn rom(&mut self, name: &'a str, width: u32, addr: &'a Value, data: &[u64]) -> Checked {
        self.reads(addr)?;
        ensure(addr.width() <= 32 && data.len() as u64 == 1 << addr.width(), || {
            format!("memory {name} has {} words and an address of {} bits", data.len(), addr.width())
        })?;
        ensure(width <= 64 && !data.iter().any(|word| width < 64 && word >> width != 0), || {
            format!("a word of memory {name} has more than {width} bits")
        })?;
        self.declare(name, ObjectKind::Own, width)?;
        self.apart(name, ROM)
    }

    /// No item, before or after this one, is called as its memory is.
    fn apart(&self, name: &str, ending: &str) -> Checked {
        let memory = format!("{name}{ending}");
        let taken = self.names.contains_key(memory.as_str())
            || self.m.items.iter().any(|i| i.declares().is_some_and(|d| *d.0 == memory));
        ensure(!taken, || format!("{memory} is declared and is the memory of {name}"))
    }

    fn declare(&mut self, name: &'a str, kind: ObjectKind, width: u32) -> Checked {
        match () {
            _ if !is_identifier(name) => Err(format!("`{name}` is no name of a signal")),
            _ if width == 0 => Err(format!("{name} has no bits")),
            _ => {
                let index = self.waiting.len() as u32;
                if matches!(kind, ObjectKind::Driven | ObjectKind::Held) {
                    self.waiting.push((name, width));
                }
                let before = self.names.insert(name, Signal { kind, width, index });
                ensure(before.is_none(), || format!("{name} is declared twice"))
            }
        }
    }

    fn is(&self, name: &str, kind: ObjectKind, width: u32) -> bool {
        self.names.get(name).is_some_and(|n| (n.kind, n.width) == (kind, width))
    }

    /// All that an expression reads is declared by now, with as many bits as the expression takes it to have.
    fn reads(&self, value: &Value) -> Checked {
        let mut wrong = None;
        value.reads(&mut |name, full, _, _| {
            let found = match self.names.get(&**name) {
                None => format!("{name} is used before it is declared, or is not declared at all"),
                Some(Signal { kind: ObjectKind::NoSignal, .. }) => format!("{name} is no signal"),
                Some(Signal { width, .. }) if *width != full => {
                    format!("{name} has {width} bits and is read as one of {full}")
                }
                Some(_) => return,
            };
            wrong.get_or_insert(found);
        });
        wrong.map_or(Ok(()), Err)
    }

    /// Connections of an instance: each port once, to as many bits, and outputs to what may be driven.
    fn instance(&mut self, name: &'a str, inner: &Module, connections: &'a [(Name, Value)]) -> Checked {
        self.declare(name, ObjectKind::NoSignal, 1)?;
        // Most are in the order of the ports, one for each.
        let in_order = inner.ports.iter().map(|p| &p.name).eq(connections.iter().map(|c| &c.0));
        if in_order {
            let mut pairs = inner.ports.iter().zip(connections);
            return pairs.try_for_each(|(port, (_, value))| self.connection(name, port, value));
        }
        let mut given: FastMap<&str, &'a Value> = FastMap::default();
        for (port, value) in connections {
            ensure(given.insert(port, value).is_none(), || format!("port {port} of {name} is connected twice"))?;
        }
        for port in &inner.ports {
            let value = given.remove(&*port.name);
            let value = value.ok_or_else(|| format!("port {} of {name} is not connected", port.name))?;
            self.connection(name, port, value)?;
        }
        let left = given.keys().next();
        ensure(left.is_none(), || format!("{} has no port {}, which {name} connects", inner.name, left.unwrap_or(&"")))
    }

    fn connection(&mut self, name: &str, port: &Port, value: &'a Value) -> Checked {
        self.reads(value)?;
        let (a, b) = (port.width, value.width());
        ensure(a == b, || format!("port {} of {name} and `{value}` have {a} and {b} bits", port.name))?;
        match port.dir {
            Dir::In => Ok(()),
            Dir::Out => self.drive(value, format_args!("port {} of {name}", port.name)),
        }
    }

    /// Notes that something drives all of `name`.
    fn whole(&mut self, name: &str, width: u32, by: fmt::Arguments) -> Checked {
        match self.names.get(name) {
            Some(n) if n.width != width => Err(format!("{by} of {width} bits drives {name}, which has {}", n.width)),
            _ => self.part(name, (width - 1, 0), by),
        }
    }

    /// Notes that something drives the signals of `target`: bits of a name, or several side by side.
    fn drive(&mut self, target: &Value, by: fmt::Arguments) -> Checked {
        match target.node() {
            Node::Read { leaf, low, .. } => self.part(leaf, (low + target.width() - 1, *low), by),
            Node::Cat(parts) => parts.iter().try_for_each(|part| self.drive(part, by)),
            _ => Err(format!("{by} drives `{target}`, which is no signal")),
        }
    }

    fn part(&mut self, name: &str, (high, low): (u32, u32), by: fmt::Arguments) -> Checked {
        match self.names.get(name) {
            Some(Signal { kind: ObjectKind::Driven | ObjectKind::Held, index, .. }) => {
                self.driven.push((*index, low, high))
            }
            Some(_) => return Err(format!("{name} is driven twice, once by {by}")),
            None => return Err(format!("{name} is driven before it is declared, or is not declared at all")),
        }
        Ok(())
    }

    /// Every bit of every output and net is driven once, and every held register loaded. Of several faults that of the first name in
    /// the alphabet is told.
    fn all_driven(mut self) -> Checked {
        self.driven.sort_unstable();
        let mut driven = &self.driven[..];
        let mut first: Option<(&str, String)> = None;
        for (index, (name, width)) in self.waiting.iter().enumerate() {
            let own;
            (own, driven) = driven.split_at(driven.partition_point(|d| d.0 as usize <= index));
            if let Err(why) = all_bits(name, *width, own)
                && first.as_ref().is_none_or(|(other, _)| name < other)
            {
                first = Some((name, why));
            }
        }
        first.map_or(Ok(()), |(_, why)| Err(why))
    }

    /// The ports of terms are outputs of their widths.
    fn terms(&self) -> Checked {
        for term in &self.m.terms {
            for (port, width) in term.ports.iter().zip(term.shape.widths()) {
                // Only ports are declared by now, and of them outputs are what something drives.
                let is_output = self.is(port, ObjectKind::Driven, width);
                ensure(is_output, || format!("{port}, {width} bits of the term {}, is no such output", term.output))?;
            }
        }
        Ok(())
    }
}

/// Every bit of a signal is driven once, by parts in the order of their bits.
fn all_bits(name: &str, width: u32, parts: &[(u32, u32, u32)]) -> Checked {
    let mut next = 0;
    for (_, low, high) in parts {
        ensure(*low >= next, || format!("{name} is driven twice"))?;
        ensure(*low == next, || format!("bit {next} of {name} is not driven"))?;
        next = high + 1;
    }
    ensure(next > 0, || format!("{name} is not driven"))?;
    ensure(next == width, || format!("bit {next} of {name} is not driven"))
}
