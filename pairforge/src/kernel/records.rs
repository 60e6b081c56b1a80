//! Numbers of a program as records of a kernel, and its results as numbers.

use hdl::number::exact::check_raw;
use hdl::op::semantics::Real;
use hdl::{Flags, Format};
use pg2::graph::{Graph, PinClass};
use pipelines::encode::encode;
use pipelines::job::{BackendError, Outcome, Table};

/// Columns of numbers, or of bit patterns, for the elements of pins, by name: `mj` for a scalar, `xi[0]` for the first element of a vector. They are the
/// caller's; nothing is copied before a run.
#[derive(Clone, Debug, Default)]
pub struct Records<'a> {
    columns: Vec<(String, Column<'a>)>,
}

#[derive(Clone, Copy, Debug)]
enum Column<'a> {
    /// Every `step`th number from `first` on.
    Numbers {
        all: &'a [f64],
        first: usize,
        step: usize,
    },
    Patterns(&'a [u64]),
}

impl Column<'_> {
    fn len(&self) -> usize {
        match self {
            Column::Numbers { all, step, .. } => all.len() / step,
            Column::Patterns(bits) => bits.len(),
        }
    }

    /// The pattern of a value of a format, as it is `held`; the error says what is wrong with it.
    fn at(&self, k: usize, format: Format, held: Format) -> Result<u64, String> {
        let x = match self {
            Column::Numbers { all, first, step } => all[k * step + first],
            Column::Patterns(bits) if held == format => return pattern(format, bits[k]),
            Column::Patterns(bits) => format.to_f64(pattern(format, bits[k])?),
        };
        let (own, fits) = encode(format, x);
        if !fits {
            let (low, high) = (format.to_f64(format.min_bits()), format.to_f64(format.max_bits()));
            return Err(format!("{x:?}; {format} takes {low:e} to {high:e}"));
        }
        Ok(if held == format { own } else { encode(held, x).0 })
    }
}

/// A bit pattern as the format has it.
fn pattern(format: Format, bits: u64) -> Result<u64, String> {
    check_raw(format, bits).map_err(|why| format!("no pattern of it: {why}"))
}

/// Why a kernel could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The records do not fit the kernel's pins; the text names the column, and what it must be.
    #[error("{0}")]
    Records(String),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl<'a> Records<'a> {
    pub fn new() -> Records<'a> {
        Records::default()
    }

    /// Adds a column for a scalar, or for one element of a vector, as in `xi[0]`.
    pub fn column(mut self, name: &str, numbers: &'a [f64]) -> Records<'a> {
        self.columns.push((name.to_string(), Column::Numbers { all: numbers, first: 0, step: 1 }));
        self
    }

    /// Adds a column of bit patterns in the format of the pin.
    pub fn patterns(mut self, name: &str, bits: &'a [u64]) -> Records<'a> {
        self.columns.push((name.to_string(), Column::Patterns(bits)));
        self
    }

    /// Adds columns for all elements of a vector of N.
    pub fn vectors<const N: usize>(mut self, name: &str, vectors: &'a [[f64; N]]) -> Records<'a> {
        let all = vectors.as_flattened();
        let of = |k| (format!("{name}[{k}]"), Column::Numbers { all, first: k, step: N });
        self.columns.extend((0..N).map(of));
        self
    }
}

/// The records of a class of pins, in the formats in which a backend holds them.
pub(super) fn table(
    graph: &Graph,
    class: PinClass,
    records: &Records,
    held: &dyn Fn(Format) -> Format,
) -> Result<Table, RunError> {
    let wrong = |what: String| Err::<Table, _>(RunError::Records(what));
    let elements: Vec<(String, Format)> = graph
        .elements_of(class)
        .into_iter()
        .map(|(pin, element)| (graph.pins[pin].column(element), graph.pins[pin].format))
        .collect();
    let names = || elements.iter().map(|e| format!("`{}`", e.0)).collect::<Vec<_>>().join(", ");
    for (k, (name, _)) in records.columns.iter().enumerate() {
        if elements.iter().all(|e| e.0 != *name) {
            let known = if elements.is_empty() { "there are none".into() } else { format!("there are {}", names()) };
            return wrong(format!("{} has no pin for `{name}` here; {known}", graph.name));
        }
        if records.columns[..k].iter().any(|other| other.0 == *name) {
            return wrong(format!("`{name}` is given twice"));
        }
    }
    let places = graph.elements_of(class);
    let default = |k: usize, format| graph.pins[places[k].0].default_bits(places[k].1, held(format));
    let column = |(k, (name, format)): (usize, &(String, Format))| match records.columns.iter().find(|c| c.0 == *name) {
        Some((_, column)) => Ok((Ok(*column), *format)),
        None if let Some(bits) = default(k, *format) => Ok((Err(bits), *format)),
        None => Err(RunError::Records(format!("`{name}` of {} is missing; it takes {}", graph.name, names()))),
    };
    // A parameter that is not given has its own value.
    type Given<'a> = (Result<Column<'a>, u64>, Format);
    let columns: Vec<Given> = elements.iter().enumerate().map(column).collect::<Result<_, _>>()?;
    let given = || columns.iter().enumerate().filter_map(|(k, c)| c.0.as_ref().ok().map(|c| (k, c.len())));
    let count = given().next().map_or(!columns.is_empty() as usize, |c| c.1);
    if let Some((k, len)) = given().find(|c| c.1 != count) {
        let (name, first) = (&elements[k].0, &elements[given().next().map_or(0, |c| c.0)].0);
        return wrong(format!("`{name}` has {len} values where `{first}` has {count}; give as many"));
    }
    let mut bits = Vec::with_capacity(count * columns.len());
    for k in 0..count {
        for (element, (column, format)) in columns.iter().enumerate() {
            let pattern = match column {
                Ok(column) => column.at(k, *format, held(*format)),
                Err(bits) => Ok(*bits),
            };
            match pattern {
                Ok(pattern) => bits.push(pattern),
                Err(what) => return wrong(format!("`{}` at {k}, counted from 0, is {what}", elements[element].0)),
            }
        }
    }
    Ok(Table { elements: columns.len(), bits })
}

/// The results of a kernel at every target.
#[derive(Clone, Debug)]
pub struct Sums {
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
    /// As the backend holds them, element by element: on an exact one the bits of the pipeline.
    patterns: Vec<Vec<u64>>,
    /// The sticky flags of each target.
    pub flags: Vec<Flags>,
    /// Pairs of a target and a source.
    pub pairs: u64,
    /// Clock cycles, where there is a clock.
    pub cycles: Option<u64>,
    /// Pairs over those that the pipelines could take in as many cycles.
    pub utilisation: Option<f64>,
}

impl Sums {
    /// The names of the outputs' elements, in the order of the kernel.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The values of an output, or of an element as in `gout[0]`, at all targets; empty if there is none of that name.
    pub fn column(&self, name: &str) -> &[f64] {
        self.place(name).map_or(&[], |k| &self.columns[k])
    }

    /// The bit patterns of the same.
    pub fn patterns(&self, name: &str) -> &[u64] {
        self.place(name).map_or(&[], |k| &self.patterns[k])
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }
}

pub(super) fn decoded(graph: &Graph, outcome: Outcome, held: &dyn Fn(Format) -> Format) -> Sums {
    let elements = graph.elements_of(PinClass::Fout);
    let utilisation = outcome.utilisation();
    let Outcome { results, flags, cycles, pairs, .. } = outcome;
    let pattern = |k: usize| -> Vec<u64> { (0..results.len()).map(|n| results.record(n)[k]).collect() };
    let patterns: Vec<Vec<u64>> = (0..elements.len()).map(pattern).collect();
    let value = |(k, (pin, _)): (usize, &(usize, u32))| -> Vec<f64> {
        let format = graph.pins[*pin].format;
        let read = |bits: &u64| match held(format) == format {
            true => format.to_f64(*bits),
            false => Real::of_bits(*bits).value(format),
        };
        patterns[k].iter().map(read).collect()
    };
    Sums {
        names: elements.iter().map(|(pin, element)| graph.pins[*pin].column(*element)).collect(),
        columns: elements.iter().enumerate().map(value).collect(),
        patterns,
        flags,
        pairs,
        cycles,
        utilisation,
    }
}
