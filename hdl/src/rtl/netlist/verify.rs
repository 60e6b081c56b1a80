//! What makes a netlist sound: every name declared once and legal, every port of an instance connected once and to as many
//! bits, and every output and net driven exactly once.

use super::width::{Shape, shape};
use super::{Dir, Item, Module, Netlist, ROM, identifiers};
use crate::hash::FastMap;
use crate::rtl::names::is_identifier;
use std::collections::BTreeMap;

impl Netlist {
    /// Whether the modules fit together; the error says what does not, and where. Hand-written text inside a module is not
    /// judged, and what it may declare or drive is left to it.
    pub fn verify(&self) -> Result<(), String> {
        self.verify_around(&[])
    }

    /// The same where the ports of the modules `outside` are known besides, and nothing else of them.
    pub fn verify_around(&self, outside: &[Module]) -> Result<(), String> {
        let mut modules = BTreeMap::new();
        for m in self.modules.iter().chain(outside) {
            if !is_identifier(&m.name) {
                return Err(format!("`{}` is no name of a module", m.name));
            }
            if modules.insert(m.name.as_str(), m).is_some() {
                return Err(format!("module {} is defined twice", m.name));
            }
        }
        for m in &self.modules {
            Check::new(m).run(&modules).map_err(|e| format!("module {}: {e}", m.name))?;
        }
        modules.contains_key(self.top.as_str()).then_some(()).ok_or_else(|| format!("no top module {}", self.top))
    }
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Input,
    /// What must be driven by something else: an output or a net.
    Driven,
    /// What is driven where it is declared.
    Own,
    /// An instance or a memory: no signal.
    NoSignal,
}

/// One module under examination.
struct Check<'a> {
    m: &'a Module,
    /// Whether hand-written text is in it, which may declare and drive what is not known here.
    text: bool,
    names: FastMap<&'a str, (Kind, u32)>,
    /// The bits (high, low) that something drives, of each output and net.
    driven: BTreeMap<&'a str, Vec<(u32, u32)>>,
}

impl<'a> Check<'a> {
    fn new(m: &'a Module) -> Check<'a> {
        let text = m.items.iter().any(|i| matches!(i, Item::Text(_)));
        Check { m, text, names: FastMap::default(), driven: BTreeMap::new() }
    }

    fn run(mut self, modules: &BTreeMap<&str, &Module>) -> Result<(), String> {
        self.declarations()?;
        for item in &self.m.items {
            match item {
                Item::Assign { name, expr } => {
                    let width = self.shape(name).width;
                    self.equal(width, self.shape(expr).width, || format!("{name} and what is assigned to it"))?;
                    self.drive(name, "an assignment")?;
                }
                Item::Wire { name, width, expr } | Item::Reg { name, width, next: expr } => {
                    self.equal(Some(*width), self.shape(expr).width, || format!("{name} and its value"))?;
                }
                Item::Rom { name, width, addr, addr_width, data } => {
                    self.equal(Some(*addr_width), self.shape(addr).width, || {
                        format!("the address of {name} and its memory's")
                    })?;
                    if *addr_width > 32 || data.len() as u64 != 1 << addr_width {
                        return Err(format!("memory {name} has {} words, not 2^{addr_width}", data.len()));
                    }
                    if data.iter().any(|word| *width < 64 && word >> width != 0) {
                        return Err(format!("a word of memory {name} has more than {width} bits"));
                    }
                }
                Item::Instance { module, name, connections } => {
                    let inner = modules.get(module.as_str());
                    let inner = inner.ok_or_else(|| format!("{name} is an instance of unknown {module}"))?;
                    self.instance(name, inner, connections)?;
                }
                Item::Comment(_) | Item::Net { .. } | Item::Text(_) => {}
            }
        }
        self.used_names()?;
        self.terms()?;
        self.all_driven()
    }

    /// Declares ports, signals, memories and instances.
    fn declarations(&mut self) -> Result<(), String> {
        let m = self.m;
        for p in &m.ports {
            self.declare(&p.name, if p.dir == Dir::In { Kind::Input } else { Kind::Driven }, p.width)?;
        }
        for item in &m.items {
            match item {
                Item::Wire { name, width, .. } | Item::Reg { name, width, .. } => {
                    self.declare(name, Kind::Own, *width)?
                }
                Item::Net { name, width } => self.declare(name, Kind::Driven, *width)?,
                Item::Rom { name, width, .. } => self.declare(name, Kind::Own, *width)?,
                Item::Instance { name, .. } => self.declare(name, Kind::NoSignal, 1)?,
                Item::Comment(_) | Item::Assign { .. } | Item::Text(_) => {}
            }
        }
        let memory =
            |i: &&Item| matches!(i, Item::Rom { name, .. } if self.names.contains_key(format!("{name}{ROM}").as_str()));
        match m.items.iter().find(memory) {
            Some(Item::Rom { name, .. }) => Err(format!("{name}{ROM} is declared and is the memory of {name}")),
            _ => Ok(()),
        }
    }

    fn declare(&mut self, name: &'a str, kind: Kind, width: u32) -> Result<(), String> {
        match () {
            _ if !is_identifier(name) => Err(format!("`{name}` is no name of a signal")),
            _ if width == 0 => Err(format!("{name} has no bits")),
            _ if self.names.insert(name, (kind, width)).is_some() => Err(format!("{name} is declared twice")),
            _ => Ok(()),
        }
    }

    fn shape<'e>(&self, expr: &'e str) -> Shape<'e> {
        shape(expr, &|name| self.names.get(name).filter(|n| n.0 != Kind::NoSignal).map(|n| n.1))
    }

    /// An error unless two widths are equal, as far as they are known.
    fn equal(&self, a: Option<u32>, b: Option<u32>, what: impl Fn() -> String) -> Result<(), String> {
        match (a, b) {
            (Some(a), Some(b)) if a != b => Err(format!("{} have {a} and {b} bits", what())),
            _ => Ok(()),
        }
    }

    /// Connections of an instance: each port once, to as many bits, and outputs to what may be driven.
    fn instance(&mut self, name: &str, inner: &Module, connections: &'a [(String, String)]) -> Result<(), String> {
        let mut given: FastMap<&str, &'a str> = FastMap::default();
        for (port, expr) in connections {
            if given.insert(port, expr).is_some() {
                return Err(format!("port {port} of {name} is connected twice"));
            }
        }
        for port in &inner.ports {
            let Some(expr) = given.remove(port.name.as_str()) else {
                return Err(format!("port {} of {name} is not connected", port.name));
            };
            self.equal(Some(port.width), self.shape(expr).width, || {
                format!("port {} of {name} and `{expr}`", port.name)
            })?;
            if port.dir == Dir::Out {
                self.drive(expr, &format!("port {} of {name}", port.name))?;
            }
        }
        match given.keys().next() {
            Some(port) => Err(format!("{} has no port {port}, which {name} connects", inner.name)),
            None => Ok(()),
        }
    }

    /// Notes that something drives the signals of `target`.
    fn drive(&mut self, target: &'a str, by: &str) -> Result<(), String> {
        let parts = self.shape(target).parts;
        if parts.is_empty() && !self.text {
            return Err(format!("{by} drives `{target}`, which is no signal"));
        }
        for (name, bits) in parts {
            match self.names.get(name) {
                Some((Kind::Driven, width)) => {
                    let (high, low) = bits.unwrap_or((width - 1, 0));
                    if high >= *width {
                        return Err(format!("{by} drives bit {high} of {name}, which has {width}"));
                    }
                    self.driven.entry(name).or_default().push((high, low));
                }
                Some(_) => return Err(format!("{name} is driven twice, once by {by}")),
                None if self.text => {}
                None => return Err(format!("{name} is used and not declared")),
            }
        }
        Ok(())
    }

    /// Every bit of every output and net is driven once. Hand-written text may drive what nothing else does.
    fn all_driven(mut self) -> Result<(), String> {
        for (name, (kind, width)) in self.names.iter().filter(|n| n.1.0 == Kind::Driven) {
            debug_assert!(*kind == Kind::Driven);
            let mut bits = self.driven.remove(name).unwrap_or_default();
            if bits.is_empty() && self.text {
                continue;
            }
            bits.sort_by_key(|b| b.1);
            let mut next = 0;
            for (high, low) in bits {
                if low < next {
                    return Err(format!("{name} is driven twice"));
                }
                if low > next && !self.text {
                    return Err(format!("bit {next} of {name} is not driven"));
                }
                next = high + 1;
            }
            if next < *width && !self.text {
                return Err(if next == 0 {
                    format!("{name} is not driven")
                } else {
                    format!("bit {next} of {name} is not driven")
                });
            }
        }
        Ok(())
    }

    /// Expressions use declared names alone. Hand-written text may declare more than is known here.
    fn used_names(&self) -> Result<(), String> {
        if self.text {
            return Ok(());
        }
        if self.m.items.iter().any(Item::uses_clock) && !self.names.contains_key("clk") {
            return Err("registers without a clock".into());
        }
        for item in &self.m.items {
            let texts: Vec<&str> = match item {
                Item::Wire { expr, .. } => vec![expr],
                Item::Reg { next, .. } => vec![next],
                Item::Assign { expr, .. } => vec![expr],
                Item::Rom { addr, .. } => vec![addr],
                Item::Instance { connections, .. } => connections.iter().map(|c| c.1.as_str()).collect(),
                _ => vec![],
            };
            for name in texts.into_iter().flat_map(identifiers) {
                match self.names.get(name) {
                    None => return Err(format!("{name} is used and not declared")),
                    Some((Kind::NoSignal, _)) => return Err(format!("{name} is no signal")),
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    /// The ports of terms are outputs of their widths.
    fn terms(&self) -> Result<(), String> {
        for term in &self.m.terms {
            for (port, width) in term.ports.iter().zip(term.shape.widths()) {
                if !self.m.ports.iter().any(|p| p.dir == Dir::Out && p.name == *port && p.width == width) {
                    return Err(format!("{port}, {width} bits of the term {}, is no such output", term.output));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn netlist(items: Vec<Item>) -> Netlist {
        let mut inner = Module { name: "inner".into(), ..Module::default() };
        inner.port(Dir::In, "d", 4);
        inner.port(Dir::Out, "q", 4);
        inner.items.push(assign("q", "d"));
        let mut m = Module { name: "m".into(), items, ..Module::default() };
        m.port(Dir::In, "clk", 1);
        m.port(Dir::In, "a", 4);
        m.port(Dir::Out, "q", 4);
        Netlist { top: "m".into(), modules: vec![inner, m] }
    }

    fn assign(name: &str, expr: &str) -> Item {
        Item::Assign { name: name.into(), expr: expr.into() }
    }

    fn wire(name: &str) -> Item {
        Item::Wire { name: name.into(), width: 4, expr: "a".into() }
    }

    fn net(name: &str, width: u32) -> Item {
        Item::Net { name: name.into(), width }
    }

    fn inside(connections: &[(&str, &str)]) -> Item {
        let connections = connections.iter().map(|(p, e)| (p.to_string(), e.to_string())).collect();
        Item::Instance { module: "inner".into(), name: "u".into(), connections }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let q = || assign("q", "a");
        let rom = |name: &str| Item::Rom {
            name: name.into(),
            width: 1,
            addr: "a[0]".into(),
            addr_width: 1,
            data: vec![0, 1],
        };
        let cases = [
            (vec![assign("q", "a ^ b")], "b is used and not declared"),
            (vec![wire("w"), wire("w"), assign("q", "w")], "w is declared twice"),
            (vec![wire("w"), inside(&[("d", "a"), ("q", "w")]), q()], "w is driven twice, once by port q of u"),
            (vec![wire("u"), inside(&[("d", "a"), ("q", "q")])], "u is declared twice"),
            (vec![wire("wire"), q()], "`wire` is no name of a signal"),
            (vec![wire("q"), q()], "q is declared twice"),
            (vec![wire("w")], "q is not driven"),
            (vec![q(), q()], "q is driven twice"),
            (vec![assign("a", "q"), q()], "a is driven twice, once by an assignment"),
            (vec![assign("q[1:0]", "a[1:0]"), assign("q[3]", "a[3]")], "bit 2 of q is not driven"),
            (vec![assign("q[3:0]", "a"), assign("q[3]", "a[3]")], "q is driven twice"),
            (vec![net("n", 4), q()], "n is not driven"),
            (vec![inside(&[("d", "a")]), q()], "port q of u is not connected"),
            (vec![inside(&[("d", "a"), ("d", "a"), ("q", "q")])], "port d of u is connected twice"),
            (vec![inside(&[("d", "a"), ("q", "q"), ("e", "a")])], "inner has no port e, which u connects"),
            (vec![inside(&[("d", "a[2:0]"), ("q", "q")])], "port d of u and `a[2:0]` have 4 and 3 bits"),
            (vec![net("n", 5), inside(&[("d", "a"), ("q", "n")]), q()], "port q of u and `n` have 4 and 5 bits"),
            (vec![inside(&[("d", "a"), ("q", "q & a")])], "port q of u drives `q & a`, which is no signal"),
            (vec![inside(&[("d", "a"), ("q", "q")]), q()], "q is driven twice"),
            (vec![inside(&[("d", "u"), ("q", "q")])], "u is no signal"),
            (vec![wire("w_rom"), rom("w"), q()], "w_rom is declared and is the memory of w"),
        ];
        for (items, wanted) in cases {
            assert_eq!(netlist(items.clone()).verify(), Err(format!("module m: {wanted}")), "{items:?}");
            assert!(netlist(items).verilog().is_err());
        }
        netlist(vec![wire("w_1"), assign("q", "$signed({w_1[3:0]}) + 4'hf & 4'd9")]).verify().unwrap();
        netlist(vec![net("n", 4), inside(&[("d", "{a[1:0], 2'd0}"), ("q", "{n, q[3:2]}")])]).verify().unwrap_err();
        netlist(vec![net("n", 2), inside(&[("d", "{a[1:0], 2'd0}"), ("q", "{n, q[3:2]}")]), assign("q[1:0]", "n")])
            .verify()
            .unwrap();
    }

    #[test]
    fn modules_of_one_name_and_unequal_contents_are_not_sound() {
        let mut all = netlist(vec![assign("q", "a")]);
        all.add(all.modules[0].clone());
        all.verify().unwrap();
        all.add(Module { name: "inner".into(), ..Module::default() });
        assert_eq!(all.verify(), Err("module inner is defined twice".into()));
    }
}
