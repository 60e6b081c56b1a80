//! A kernel in the emulator, beside its real meaning: results, errors, and flags by line.

use crate::kernel::Kernel;
use fmm::shown::shown;
use hdl::Format;
use hdl::number::exact::print;
use pairforge::backends::{BackendOptions, cpu, emulator};
use pairforge::kernel::csv::{Text, columns, field, header, held_columns, lines};
use pairforge::kernel::explore::{Inputs, OutputError, Reference, errors, errors_of_targets};
use pairforge::kernel::raised::{Raised, raised};
use pg2::graph::{Graph, Pin, PinClass};
use pipelines::encode::encode;
use pipelines::job::{Backend, Table};
use serde::{Deserialize, Serialize};
use sim::stimuli::Random;
use std::collections::BTreeMap;

#[derive(Deserialize)]
pub struct Of {
    kernel: Kernel,
}

/// A pin with what a form proposes for it.
#[derive(Serialize)]
pub struct PinEntry {
    name: String,
    class: &'static str,
    format: String,
    count: u32,
    /// A range to draw from: that of the source where it states one.
    range: [f64; 2],
    /// Of a parameter: the value of each element, by its name.
    values: Vec<(String, String)>,
}

/// The pins of a kernel.
pub fn pins(asked: Of) -> Result<Vec<PinEntry>, String> {
    let graph = asked.kernel.compiled()?.graph;
    let params = columns(&graph, PinClass::Param);
    let entry = |pin: &Pin| PinEntry {
        name: pin.name.clone(),
        class: match pin.class {
            PinClass::Ipin => "ipin",
            PinClass::Jpin => "jpin",
            PinClass::Param => "param",
            PinClass::Fout => "fout",
        },
        format: pin.format.to_string(),
        count: pin.elements(),
        range: range(pin),
        values: match pin.class {
            PinClass::Param => (0..pin.elements())
                .filter_map(|k| params.iter().find(|c| c.name == pin.column(k)))
                .map(|c| (c.name.clone(), print(c.format, c.default.unwrap_or(encode(c.format, 1.0).0))))
                .collect(),
            _ => Vec::new(),
        },
    };
    Ok(graph.own_pins().map(entry).collect())
}

/// The range that a pin's source states; else up to 1 in magnitude, and of ints a quarter of their own, of which no difference wraps.
fn range(pin: &Pin) -> [f64; 2] {
    let format = pin.format;
    let ends = [format.to_f64(format.min_bits()), format.to_f64(format.max_bits())];
    match pin.range {
        Some(range) => range.map(|bits| format.to_f64(bits)),
        None if format.frac() == Some(0) => ends.map(|x| (x / 4.0).trunc()),
        None => [ends[0].max(-1.0), ends[1].min(1.0)],
    }
}

/// Records of targets or of sources: as text, or drawn evenly from a range for each pin.
#[derive(Deserialize)]
struct Records {
    csv: Option<String>,
    #[serde(default)]
    count: usize,
    #[serde(default)]
    seed: u64,
    /// By pin.
    #[serde(default)]
    ranges: BTreeMap<String, [f64; 2]>,
}

/// Targets, sources and parameters.
#[derive(Deserialize)]
pub struct Given {
    i: Records,
    j: Records,
    /// Values by element; others have their defaults.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

impl Given {
    /// The records of targets and of sources, as text.
    pub fn texts(&self, graph: &Graph) -> Result<[Text; 2], String> {
        Ok([self.i.text(graph, PinClass::Ipin, "targets")?, self.j.text(graph, PinClass::Jpin, "sources")?])
    }
}

#[derive(Deserialize)]
pub struct Asked {
    kernel: Kernel,
    #[serde(flatten)]
    given: Given,
}

/// Records of a class at most.
const MOST: usize = 1 << 17;

/// The results, as `pairforge run` writes them with `--flags`.
#[derive(Serialize)]
pub struct Answer {
    csv: String,
    /// The inputs, drawn or as they were given.
    i: String,
    j: String,
    ni: usize,
    nj: usize,
    pairs: u64,
    errors: Vec<Errors>,
    raised: Vec<Raised>,
}

/// The errors of an output against its real meaning, and those of each target.
#[derive(Serialize)]
struct Errors {
    #[serde(flatten)]
    all: OutputError,
    /// Relative errors.
    targets: Vec<f64>,
}

pub fn run(asked: Asked) -> Result<Answer, String> {
    let kernel = asked.kernel.compiled()?;
    let graph = &kernel.graph;
    let texts = asked.given.texts(graph)?;
    let options = BackendOptions::default();
    let [mut exact, mut real] = [emulator::ENTRY, cpu::ENTRY].map(|entry| (entry.open)(&options));
    let of = |backend: &dyn Backend| inputs(graph, backend, &texts, &asked.given.params);
    let (bits, numbers) = (of(&*exact)?, of(&*real)?);
    let reference = Reference::new(graph, &mut *real, &numbers).map_err(|e| e.to_string())?;
    let outcome = bits.run(graph, &mut *exact).map_err(|e| e.to_string())?;
    let outputs = columns(graph, PinClass::Fout);
    let (count, flags) = (outcome.results.len(), Some(&outcome.flags[..]));
    let each =
        |all: OutputError| Errors { targets: errors_of_targets(graph, &outcome.results, &reference, &all.output), all };
    let [i, j] = texts.map(|text| text.text().to_string());
    Ok(Answer {
        csv: header(&outputs, true) + &lines(&outputs, &outcome.results, flags, (0..count, false)),
        i,
        j,
        ni: bits.targets.len(),
        nj: bits.sources.len(),
        pairs: outcome.pairs,
        errors: errors(graph, &outcome.results, &reference).into_iter().map(each).collect(),
        raised: raised((&kernel.origin, &kernel.sources), graph, &outcome.flags),
    })
}

/// The records as a backend holds them.
pub fn inputs(
    graph: &Graph,
    backend: &dyn Backend,
    texts: &[Text; 2],
    given: &BTreeMap<String, String>,
) -> Result<Inputs, String> {
    let [i, j, params] =
        [PinClass::Ipin, PinClass::Jpin, PinClass::Param].map(|class| held_columns(graph, class, backend));
    if let Some(name) = given.keys().find(|name| params.iter().all(|c| c.name != **name)) {
        return Err(format!("the kernel has no parameter `{}`", shown(name)));
    }
    let value = |c: &pairforge::kernel::csv::Column| match given.get(&c.name) {
        Some(text) => field(c, text.trim(), false).map_err(|e| format!("parameter {}: {e}", c.name)),
        None => c.default.ok_or_else(|| format!("the parameter `{}` ({}) has no value", c.name, c.format)),
    };
    let within = |(table, _): (Table, Vec<String>)| match table.len() <= MOST {
        true => Ok(table),
        false => Err(format!("there are {} records, and a page takes {MOST}; run more with the command", table.len())),
    };
    Ok(Inputs {
        targets: texts[0].table(&i, false).and_then(within)?,
        sources: texts[1].table(&j, false).and_then(within)?,
        params: params.iter().map(value).collect::<Result<_, _>>()?,
    })
}

impl Records {
    /// The text of the records, whose name is shown where it cannot be read.
    fn text(&self, graph: &Graph, class: PinClass, name: &str) -> Result<Text, String> {
        if let Some(csv) = &self.csv {
            return Ok(Text::made(name, csv.clone()));
        }
        if self.count > MOST {
            return Err(format!("a page takes up to {MOST} {name}, not {}; run more with the command", self.count));
        }
        let wrong = |pin: &str| format!("the range of {pin} runs from its least number to its greatest");
        let elements = graph.elements_of(class);
        let mut from: Vec<(Format, [f64; 2])> = Vec::new();
        for (pin, _) in &elements {
            let pin = &graph.pins[*pin];
            let range = self.ranges.get(&pin.name).copied().unwrap_or_else(|| range(pin));
            if !(range[0] <= range[1] && range[1] - range[0] < f64::INFINITY) {
                return Err(wrong(&pin.name));
            }
            from.push((pin.format, range));
        }
        let mut random = Random::new(self.seed);
        let number = |(format, [low, high]): &(Format, [f64; 2]), random: &mut Random| {
            let x = low + (high - low) * ((random.bits() >> 11) as f64 * 2f64.powi(-53));
            print(*format, encode(*format, x).0)
        };
        let columns = columns(graph, class);
        let mut text = if columns.is_empty() { "record\n".to_string() } else { header(&columns, false) };
        for record in 0..self.count {
            let fields: Vec<String> = from.iter().map(|from| number(from, &mut random)).collect();
            text += &if fields.is_empty() { record.to_string() } else { fields.join(",") };
            text.push('\n');
        }
        Ok(Text::made(name, text))
    }
}
