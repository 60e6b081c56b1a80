//! The inputs that formats are found on: files, or draws from the ranges of pins.

use hdl::Format;
use hdl::number::exact;
use pairforge::backends::{BackendOptions, Entry};
use pairforge::kernel::explore::{Inputs, Measured, OutputError, Reference};
use pg2::error::trial::Bits;
use pg2::graph::{Graph, Pin, PinClass};
use terminal::csv::{Text, columns, held_columns, parameters};
use terminal::failure::Failure;

/// Targets and sources of a draw, and the number of draws on which formats are found.
const TARGETS: usize = 48;
const SOURCES: usize = 128;
const DRAWS: u64 = 12;

/// Draws on which the formats that were found are measured again.
const FRESH: u64 = 8;

/// Inputs with what the kernel means for them.
pub struct Batch {
    pub i: Text,
    pub j: Text,
    pub reference: Reference,
}

/// All inputs, with what runs on them.
pub struct Data<'a> {
    pub backend: &'static Entry,
    pub params: &'a [String],
    pub batches: Vec<Batch>,
}

/// The largest errors over all inputs, by output.
fn worst(all: &mut Vec<OutputError>, more: Vec<OutputError>) {
    if all.is_empty() {
        *all = more;
        return;
    }
    for (a, b) in all.iter_mut().zip(more) {
        (a.rel_l2, a.rel_max) = (a.rel_l2.max(b.rel_l2), a.rel_max.max(b.rel_max));
    }
}

/// The largest relative L2 error.
pub fn largest(errors: &[OutputError]) -> f64 {
    errors.iter().fold(0.0, |a, e| a.max(e.rel_l2))
}

impl<'a> Data<'a> {
    pub fn new(backend: &'static Entry, params: &'a [String]) -> Data<'a> {
        Data { backend, params, batches: Vec::new() }
    }

    /// Takes these records.
    pub fn add(&mut self, graph: &Graph, i: Text, j: Text) -> Result<(), Failure> {
        let mut real = (pairforge::backends::find("cpu").map_err(|e| Failure::Usage(e.to_string()))?.0.open)(
            &BackendOptions::default(),
        );
        let held = [PinClass::Ipin, PinClass::Jpin, PinClass::Param].map(|c| held_columns(graph, c, &*real));
        let inputs = Inputs {
            targets: i.table(&held[0], false).map_err(Failure::Input)?.0,
            sources: j.table(&held[1], false).map_err(Failure::Input)?.0,
            params: parameters(&held[2], self.params, false)?,
        };
        if inputs.targets.is_empty() || inputs.sources.is_empty() {
            return Err(Failure::Input("an error is measured on a target and a source at least".into()));
        }
        let reference = Reference::new(graph, &mut *real, &inputs)?;
        self.batches.push(Batch { i, j, reference });
        Ok(())
    }

    /// Draws inputs from the ranges of the pins; `fresh` are others than those on which formats are found.
    pub fn draw(&mut self, graph: &Graph, fresh: bool) -> Result<(), Failure> {
        let seeds = if fresh { DRAWS..DRAWS + FRESH } else { 0..DRAWS };
        for seed in seeds {
            let mut random = Bits(seed);
            let i = drawn(graph, PinClass::Ipin, TARGETS, &mut random)?;
            let j = drawn(graph, PinClass::Jpin, SOURCES, &mut random)?;
            self.add(graph, i, j)?;
        }
        Ok(())
    }

    /// The records of a batch in a variant's formats.
    pub fn inputs(&self, graph: &Graph, batch: &Batch) -> Result<Inputs, Failure> {
        Ok(Inputs {
            targets: batch.i.table(&columns(graph, PinClass::Ipin), false).map_err(Failure::Input)?.0,
            sources: batch.j.table(&columns(graph, PinClass::Jpin), false).map_err(Failure::Input)?.0,
            params: parameters(&columns(graph, PinClass::Param), self.params, false)?,
        })
    }

    /// The errors of a variant on all inputs.
    pub fn measure(&self, graph: &Graph) -> Result<Measured, Failure> {
        let mut all = Measured { errors: Vec::new(), flags: hdl::Flags::NONE };
        for batch in &self.batches {
            let inputs = self.inputs(graph, batch)?;
            let one = Measured::new(graph, self.backend, &inputs, &batch.reference)?;
            all.flags |= one.flags;
            worst(&mut all.errors, one.errors);
        }
        Ok(all)
    }

    /// Targets and sources of all inputs.
    pub fn counts(&self) -> (usize, usize) {
        let [i, j] = [|b: &Batch| b.reference.ni, |b: &Batch| b.reference.nj].map(|f| self.batches.iter().map(f).sum());
        (i, j)
    }
}

/// Records of a class, each element evenly within its pin's range.
fn drawn(graph: &Graph, class: PinClass, count: usize, random: &mut Bits) -> Result<Text, Failure> {
    let elements = graph.elements_of(class);
    let missing = elements.iter().map(|e| &graph.pins[e.0]).find(|p| p.range.is_none());
    if let Some(pin) = missing {
        return Err(Failure::Input(format!(
            "`{0}` states no range to draw from: give records with --i and --j, or a range, as in `{1} {0} {2} in 0..1;`",
            pin.name,
            pin.format,
            if class == PinClass::Ipin { "ipin" } else { "jpin" }
        )));
    }
    let names: Vec<String> = elements.iter().map(|(pin, element)| graph.pins[*pin].column(*element)).collect();
    // Of a class without pins there are records too.
    let mut text = if names.is_empty() { "record".to_string() } else { names.join(",") };
    for record in 0..count {
        let fields: Vec<String> = elements.iter().map(|(pin, _)| number(&graph.pins[*pin], random)).collect();
        text.push('\n');
        text += &if fields.is_empty() { record.to_string() } else { fields.join(",") };
    }
    text.push('\n');
    Ok(Text::made("the inputs drawn from the ranges of pins", text))
}

/// A number within a pin's range, as text.
fn number(pin: &Pin, random: &mut Bits) -> String {
    let format = pin.format;
    let [low, high] = pin.range.unwrap_or([format.min_bits(), format.max_bits()]);
    let bits = if format.is_integral() {
        let (low, high) = (format.to_int(low), format.to_int(high));
        let of = (high - low + 1) as u128;
        (low + ((random.draw() as u128 * of) >> 64) as i128) as u64 & format.mask()
    } else {
        let part = (random.draw() >> 11) as f64 * 2f64.powi(-53);
        let (low, high) = (format.to_f64(low), format.to_f64(high));
        let x = low * (1.0 - part) + high * part;
        return format!("{x:e}");
    };
    exact::print(format, bits)
}

/// Octaves beyond the numbers that were seen.
pub const SPARE: i32 = 8;

/// Octaves beyond the sums that were seen, which grow with the number of pairs.
pub const SPARE_OF_SUMS: i32 = 12;

fn octave(x: f64) -> i32 {
    x.log2().floor() as i32
}

/// The least exponent bits of a float with which numbers of these magnitudes are within it, and some octaves more.
pub fn exponent_bits(least: f64, most: f64) -> u32 {
    let (low, high) = (octave(least) - SPARE, octave(most) + SPARE);
    (2..11u32).find(|e| (1 << (e - 1)) > high && 2 - (1 << (e - 1)) <= low).unwrap_or(11)
}

/// The bits before the point, sign included, of fixeds with numbers up to this magnitude, and some octaves more.
pub fn whole_bits(format: Format, most: f64) -> u32 {
    let high = if most > 0.0 { octave(most) + 1 + SPARE } else { 0 };
    high.max(0) as u32 + format.is_signed() as u32
}

/// The bits of a format that say how large its numbers are: of a float's exponent, or before the point of a fixed.
pub fn range_bits(format: Format) -> u32 {
    match format {
        Format::Float { .. } => format.exp(),
        _ => format.width() - fraction(format),
    }
}

/// The float or fixed with other such bits, where there is one.
pub fn with_range(format: Format, bits: u32) -> Option<Format> {
    let frac = fraction(format);
    match format {
        Format::Float { .. } => Format::float(1 + bits + frac, frac).ok(),
        Format::Fixed { signed, .. } => Format::fixed(bits + frac, frac, signed).ok(),
        _ => None,
    }
}

/// The bits of a format that say how exact it is: of its fraction.
pub fn fraction(format: Format) -> u32 {
    match format {
        Format::Log { frac, .. } | Format::Fixed { frac, .. } => frac as u32,
        _ => format.mant(),
    }
}

/// The format with other fraction bits, where there is one.
pub fn with_fraction(format: Format, bits: i64) -> Option<Format> {
    let bits = u32::try_from(bits).ok()?;
    let width = (format.width() + bits).checked_sub(fraction(format))?;
    let made = match format {
        Format::Float { .. } => Format::float(width, bits),
        Format::Log { .. } => Format::log(width, bits),
        Format::Fixed { signed, .. } => Format::fixed(width, bits, signed),
        Format::Int { .. } => return None,
    };
    made.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_change_in_one_respect() {
        let format = |text: &str| text.parse::<Format>().expect("a format");
        assert_eq!(with_fraction(format("float25.16"), 9), Some(format("float18.9")));
        assert_eq!(with_fraction(format("fixed32.31"), 20), Some(format("fixed21.20")));
        assert_eq!(with_fraction(format("fixed64.30"), 31), None);
        assert_eq!(with_fraction(format("float25.16"), -1), None);
        assert_eq!(with_range(format("float25.16"), 5), Some(format("float22.16")));
        assert_eq!(with_range(format("ufixed32.20"), 5), Some(format("ufixed25.20")));
        assert_eq!((range_bits(format("float25.16")), range_bits(format("fixed32.30"))), (8, 2));
        assert_eq!((whole_bits(format("fixed32.8"), 3.5), whole_bits(format("ufixed32.8"), 0.25)), (11, 7));
        // The largest and the least exponents of 6 bits are 31 and -30.
        assert_eq!(exponent_bits(2f64.powi(SPARE - 30), 2f64.powi(31 - SPARE)), 6);
        assert_eq!(exponent_bits(2f64.powi(SPARE - 31), 2f64.powi(31 - SPARE)), 7);
        assert_eq!(exponent_bits(2f64.powi(SPARE - 30), 2f64.powi(32 - SPARE)), 7);
    }
}
