//! Checks at the end of a kernel: missing reductions, port names, unused names.

use super::{Checker, Slot};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::graph::{Output, PinClass};
use crate::syntax::ast::Word;
use std::collections::HashMap;

impl<'a> Checker<'a> {
    /// Collects the outputs and reports what is missing or unused.
    pub(super) fn finish(&mut self, own_end: usize) {
        if self.full {
            return;
        }
        self.uncalled_functions();
        self.apply_filters();
        self.outputs();
        self.port_names();
        super::tables::read_from_memory(&mut self.builder.graph);
        if !self.has_errors() {
            self.unused(own_end);
        }
    }

    fn outputs(&mut self) {
        if self.builder.graph.pins_of(PinClass::Fout).next().is_none() {
            // A file whose declarations are in doubt may well have an output.
            if !self.has_errors() {
                let start = Span { start: 0, end: 0 };
                let error =
                    Diagnostic::error(codes::NO_OUTPUT, "this kernel has no output", start, "nothing is computed");
                self.error(error.help("declare one with `fixed64.30 name fout;` and write `name += (fixed64.30)...;`"));
            }
            return;
        }
        for pin in 0..self.slots.len() {
            let mut missing = Vec::new();
            let Some((indexed, elements)) = self.slots[pin].split_last() else { continue };
            if let Slot::Filled(reduction) = *indexed {
                self.indexed_outputs(pin, reduction);
                continue;
            }
            for element in 0..elements.len() {
                match self.slots[pin][element] {
                    Slot::Empty => missing.push(element as u32),
                    Slot::Broken => {}
                    Slot::Filled(r) => {
                        if let Some(value) = self.settled(pin, element, r) {
                            let element = element as u32;
                            self.builder.graph.outputs.push(Output { pin, element, reduce: r.reduce, value });
                        }
                    }
                }
            }
            // A reduction into an unknown name may be the one that is missing.
            if !missing.is_empty() && !self.lost_reduction {
                self.missing(pin, &missing);
            }
        }
        Checker::number_selections(&mut self.builder.graph.outputs);
    }

    fn missing(&mut self, pin: usize, elements: &[u32]) {
        let pin = &self.builder.graph.pins[pin];
        let names: Vec<String> = elements.iter().take(4).map(|e| format!("`{}`", pin.column(*e))).collect();
        let more = if elements.len() > names.len() {
            format!(" and {} more", elements.len() - names.len())
        } else {
            String::new()
        };
        let message = format!("nothing is ever reduced into {}{more}", names.join(", "));
        let error = Diagnostic::error(codes::NO_REDUCTION, message, pin.span, "declared here").help(format!(
            "write `{} {} ...;`, or remove the declaration",
            pin.column(elements[0]),
            if pin.format.is_integral() { "+=" } else { "max=" }
        ));
        self.error(error);
    }

    /// A vector's element and a scalar may flatten to one port: `xi[1]` and `xi_1`.
    fn port_names(&mut self) {
        let mut ports: HashMap<(PinClass, String), (Span, String)> = HashMap::new();
        let mut clashes = Vec::new();
        for pin in &self.builder.graph.pins {
            for element in 0..pin.elements() {
                let flat = pin.flat(element);
                let column = pin.column(element);
                if let Some((span, first)) = ports.get(&(pin.class, flat.clone())) {
                    let message = format!("`{first}` and `{column}` would both be the port `{flat}`");
                    let error = Diagnostic::error(codes::PORTS, message, pin.span, "declared here")
                        .label(*span, "the other one")
                        .help("rename one of the two");
                    clashes.push(error);
                    break;
                }
                ports.insert((pin.class, flat), (pin.span, column));
            }
        }
        for clash in clashes {
            self.error(clash);
        }
    }

    fn unused(&mut self, own_end: usize) {
        let unused: Vec<(Word<'a>, bool)> = self
            .definitions
            .range(..own_end)
            .filter(|(at, (name, _))| !self.used.contains(at) && !name.text.starts_with('_'))
            .map(|(_, definition)| *definition)
            .collect();
        for (Word { text, span }, is_pin) in unused {
            let (code, what) = if is_pin { (codes::UNUSED_PIN, "input pin") } else { (codes::UNUSED_NAME, "value") };
            let warning = Diagnostic::warning(code, format!("the {what} `{text}` is never used"), span, "defined here");
            self.error(warning.help(format!("remove it, or call it `_{text}` if it is meant")));
        }
    }
}
