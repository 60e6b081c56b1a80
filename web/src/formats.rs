//! A kernel with other widths: its error against what it costs, as `pairforge explore` has them, and the error that is proved.

use crate::design::For;
use crate::kernel::{Compiled, Kernel};
use crate::run::{Given, inputs};
use fmm::shown::shown;
use hdl::{Format, Reduce};
use pairforge::backends::{BackendOptions, cpu, emulator};
use pairforge::kernel::explore::{self, Reference};
use pg2::diag::Diagnostic;
use pg2::error::{OutputBound, analyse};
use pg2::graph::Graph;
use pg2::vary::{self, Varied, variant};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Deserialize)]
pub struct Of {
    kernel: Kernel,
}

/// A format or a constant of the text, and the numbers that it may take.
#[derive(Serialize)]
pub struct Axis {
    name: String,
    /// The number of the text: fraction bits, those of an int, or the constant itself.
    number: i64,
    low: i64,
    high: i64,
    /// Pins and values of this format.
    of: Vec<String>,
}

/// Numbers on each side of the one that the text has.
const AROUND: i64 = 12;

/// What can be varied in a kernel.
pub fn formats(asked: Of) -> Result<Vec<Axis>, String> {
    let text = &asked.kernel.text;
    let graph = asked.kernel.compiled()?.graph;
    let axis = |(name, varied): (String, Varied)| {
        let number = varied.present(text)?;
        let is_format = |n: i64| matches!(varied, Varied::Const { .. }) || varied.written(n).parse::<Format>().is_ok();
        let far = |step: i64| (1..=AROUND).map(|k| number + step * k).take_while(|n| is_format(*n)).last();
        let (low, high) = (far(-1).unwrap_or(number), far(1).unwrap_or(number));
        Some(Axis { of: users(&graph, &varied), name, number, low, high })
    };
    Ok(vary::all(text).into_iter().filter_map(axis).collect())
}

/// Names of pins, and of values without their elements.
fn users(graph: &Graph, varied: &Varied) -> Vec<String> {
    let Varied::Format(word) = varied else { return Vec::new() };
    let Ok(format) = word.parse::<Format>() else { return Vec::new() };
    let pins = graph.own_pins().filter(|p| p.format == format).map(|p| p.name.clone());
    let values = graph.nodes.iter().filter(|n| n.format == format);
    let names = values.filter_map(|n| n.name.split('[').next()).filter(|name| !name.is_empty()).map(String::from);
    pins.chain(names).collect::<BTreeSet<String>>().into_iter().collect()
}

#[derive(Deserialize)]
pub struct Asked {
    kernel: Kernel,
    #[serde(default)]
    options: For,
    /// Numbers by the name of what is varied; others stay.
    numbers: BTreeMap<String, i64>,
    #[serde(flatten)]
    given: Given,
}

/// A variant: its cost, how far it is off on the records, and how far it can be off for any.
#[derive(Serialize)]
pub struct Point {
    /// Of each number, what is written in its place.
    written: Vec<String>,
    of: explore::Point,
    bounds: Vec<Bound>,
    ni: usize,
    nj: usize,
    text: String,
}

/// The proven bound of an output's element: of a sum for each of its pairs.
#[derive(Serialize)]
struct Bound {
    output: String,
    absolute: Option<f64>,
    is_by_pair: bool,
    /// Why there is none.
    why: Option<String>,
}

/// Compiles, builds, bounds and emulates a variant.
pub fn point(asked: Asked) -> Result<Point, String> {
    let clock = asked.options.clock()?;
    let written = &asked.kernel.compiled()?.graph;
    let varied = asked.varied()?;
    let numbers: Vec<(&Varied, i64)> = varied.iter().map(|(varied, number)| (varied, *number)).collect();
    let text = variant(&asked.kernel.text, &numbers);
    let Compiled { graph, .. } = asked.kernel.tried(&text)?.map_err(|found| first(&text, &found))?;
    // Records are drawn in the formats that the text has.
    let texts = asked.given.texts(written)?;
    let options = BackendOptions::default();
    let [exact, mut real] = [emulator::ENTRY, cpu::ENTRY].map(|entry| (entry.open)(&options));
    let numbers = inputs(written, &*real, &texts, &asked.given.params)?;
    let reference = Reference::new(written, &mut *real, &numbers).map_err(|e| e.to_string())?;
    let bits = inputs(&graph, &*exact, &texts, &asked.given.params)?;
    let of = explore::Point::new(&graph, clock, &emulator::ENTRY, &bits, &reference).map_err(|e| e.to_string())?;
    Ok(Point {
        written: varied.iter().map(|(varied, number)| varied.written(*number)).collect(),
        of,
        bounds: analyse(&graph).outputs.into_iter().map(bound).collect(),
        ni: reference.ni,
        nj: reference.nj,
        text,
    })
}

impl Asked {
    fn varied(&self) -> Result<Vec<(Varied, i64)>, String> {
        let all = vary::all(&self.kernel.text);
        let one = |(name, number): (&String, &i64)| {
            let found = all.iter().find(|(known, _)| known == name);
            let (_, varied) =
                found.ok_or_else(|| format!("the kernel writes no format or constant `{}`", shown(name)))?;
            if number.unsigned_abs() > 1 << 20 {
                return Err(format!("{} does not take {number}", shown(name)));
            }
            Ok((varied.clone(), *number))
        };
        self.numbers.iter().map(one).collect()
    }
}

fn bound(o: OutputBound) -> Bound {
    Bound {
        output: o.value.name,
        absolute: Some(o.value.bound.absolute).filter(|x| o.value.is_proved && x.is_finite()),
        is_by_pair: o.reduce == Reduce::Sum,
        why: o.value.why,
    }
}

/// The first mistake of a variant in one line.
fn first(text: &str, found: &[Diagnostic]) -> String {
    let Some(d) = found.first() else { return "it does not compile".into() };
    let line = text[..d.span().start.min(text.len())].matches('\n').count() + 1;
    format!("{} line {line}: {}", d.code, d.message)
}
