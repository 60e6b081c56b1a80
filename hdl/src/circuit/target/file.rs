//! The file of a target: lines of `key = value`, a subset of TOML, with `#` comments.

use super::{DelayKind, DelayMemory, Target};
use std::collections::BTreeMap;

/// Values by key, each taken once.
struct Values(BTreeMap<&'static str, &'static str>);

/// Reads a file; the error says which line or key is wrong. Every key must be there, and no other.
pub(super) fn parse(text: &'static str) -> Result<Target, String> {
    let mut values = Values(BTreeMap::new());
    for (k, line) in text.lines().enumerate() {
        let wrong = |what: &str| format!("line {}: {what}", k + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').ok_or_else(|| wrong("not `key = value`"))?;
        if values.0.insert(key.trim(), value.trim()).is_some() {
            return Err(wrong("this key is there already"));
        }
    }
    let kind = match values.text("delay")? {
        "none" => DelayKind::None,
        "shift" => DelayKind::Shift,
        "lut" => DelayKind::Lut,
        "block" => DelayKind::Block,
        other => return Err(format!("delay is none, shift, lut or block, not {other}")),
    };
    let target = Target {
        name: values.text("name")?,
        summary: values.text("summary")?,
        lut: values.number("lut")?,
        carry_start: values.number("carry_start")?,
        carry_bit: values.number("carry_bit")?,
        mul: values.number("mul")?,
        mul_in: values.number("mul_in")?,
        rom: values.number("rom")?,
        rom_out: values.number("rom_out")?,
        ff: values.number("ff")?,
        lut_inputs: values.number("lut_inputs")?,
        mul_a: values.number("mul_a")?,
        mul_b: values.number("mul_b")?,
        mul_from: values.number("mul_from")?,
        clear_from: values.number("clear_from")?,
        memory_bits: values.number("memory_bits")?,
        memory_width: values.number("memory_width")?,
        delay: DelayMemory {
            kind,
            width: values.number("delay_width")?,
            depth: values.number("delay_depth")?,
            from: values.number("delay_from")?,
        },
        usual_mhz: values.number("usual_mhz")?,
    };
    match values.0.keys().next() {
        None => Ok(target),
        Some(key) => Err(format!("unknown key {key}")),
    }
}

impl Values {
    fn take(&mut self, key: &str) -> Result<&'static str, String> {
        self.0.remove(key).ok_or_else(|| format!("no key {key}"))
    }

    fn text(&mut self, key: &str) -> Result<&'static str, String> {
        let value = self.take(key)?;
        let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
        inner.ok_or_else(|| format!("{key} is not a text in quotes"))
    }

    fn number<T: std::str::FromStr>(&mut self, key: &str) -> Result<T, String> {
        let value = self.take(key)?;
        value.parse().map_err(|_| format!("{key} = {value} is not a number of its kind"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_named() {
        let generic = super::super::TEXTS[0];
        let without = |key: &str| -> &'static str {
            let line = generic.lines().find(|l| l.starts_with(&format!("{key} ="))).expect("a key of the file");
            Box::leak(generic.replace(line, "").into_boxed_str())
        };
        let with = |line: &str| -> &'static str { Box::leak(format!("{generic}\n{line}\n").into_boxed_str()) };
        assert_eq!(parse(without("mul")), Err("no key mul".into()));
        assert_eq!(parse(with("speed = 6")), Err("unknown key speed".into()));
        let last = format!("line {}: ", generic.lines().count() + 2);
        for (line, what) in [("lut = 1", "this key is there already"), ("lut", "not `key = value`")] {
            assert_eq!(parse(with(line)), Err(format!("{last}{what}")));
        }
    }
}
