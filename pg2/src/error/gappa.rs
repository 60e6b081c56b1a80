//! Bounds as a script for Gappa (<https://gappa.gitlabpages.inria.fr>), which proves them again.
//!
//! Of each operation on rounded values the script claims the bound of its result from those of its arguments, and from the
//! operator's own accuracy; all claims together are the proof of the outputs' bounds. Real values are named `v` and computed
//! ones `c`, with the number of the value. Where inputs are divided into boxes ([`super::divide::starts`]), or a comparison can
//! differ, each has claims of its own, and names end with the case's number. What Gappa has no expression for (choices,
//! functions by tables, casts that saturate) is assumed, and a comment says so.

use super::divide::{differing, starts};
use super::forward::{Case, forward};
use super::model::{Model, Use};
use super::state::State;
use crate::graph::Graph;
use hdl::number::real::{Interval, exp2};
use hdl::op::accuracy::Meaning;
use std::fmt::Write as _;

/// A script being written.
#[derive(Default)]
struct Script {
    definitions: String,
    assumed: Vec<String>,
    claims: Vec<String>,
}

/// The script for the outputs of a kernel, or why there is none.
pub fn script(graph: &Graph) -> Result<String, String> {
    let graph = &crate::middle::simplify::live(graph);
    let model = Model::new(graph);
    let cases = cases(&model, graph);
    let mut script = Script::default();
    let mut worst = vec![0.0f64; graph.outputs.len()];
    for (number, case) in cases.iter().enumerate() {
        let states = forward(&model, case);
        for (o, worst) in graph.outputs.iter().zip(&mut worst) {
            *worst = worst.max(states[o.value.0 as usize].error());
        }
        script.case(&model, &states, number);
    }
    if let Some(k) = worst.iter().position(|w| !w.is_finite()) {
        let name = graph.pins[graph.outputs[k].pin].column(graph.outputs[k].element);
        return Err(format!("`{name}` has no bound that could be claimed; `explain --error` says why"));
    }
    if script.claims.is_empty() {
        return Err("nothing is rounded here: every output is exact".into());
    }
    let mut out = format!("# Bounds of rounding errors of the kernel {}, for Gappa.\n", graph.name);
    out += "# Real values are v, computed ones c. Where a value that is never negative can be 0, it is 0 in both: claims are of others.\n";
    for (o, worst) in graph.outputs.iter().zip(&worst) {
        let name = graph.pins[o.pin].column(o.element);
        let _ = writeln!(out, "# {name} (value {}): |computed - real| <= {worst:e}", o.value.0);
    }
    out += &script.definitions;
    let _ = writeln!(out, "{{\n   {}\n-> {}\n}}", script.assumed.join("\n/\\ "), script.claims.join("\n/\\ "));
    Ok(out)
}

/// The cases that are claimed apart: boxes that have one proof are one case, and so is each comparison that differs.
fn cases(model: &Model, graph: &Graph) -> Vec<Case> {
    let whole: Vec<Interval> = model.variables.iter().map(|v| model.values[*v].range).collect();
    let one = Case { ranges: whole, single: true, ..Case::default() };
    let worst =
        |states: &[State]| -> Vec<f64> { graph.outputs.iter().map(|o| states[o.value.0 as usize].error()).collect() };
    let mut differ = Vec::new();
    let boxes: Vec<Case> = starts(model).into_iter().map(|ranges| Case { ranges, ..one.clone() }).collect();
    let states: Vec<Vec<State>> = boxes.iter().map(|case| forward(model, case)).collect();
    for (case, states) in boxes.iter().zip(&states) {
        differ.extend(model.comparisons.iter().filter_map(|c| differing(model, case, states, *c)));
    }
    // What the boxes come to, and no group of them may come to much more.
    let limits = states.iter().map(|s| worst(s)).reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a.max(*b)).collect());
    let fits = |case: &Case| {
        let found = worst(&forward(model, case));
        found.iter().zip(limits.iter().flatten()).all(|(x, limit)| *x <= 1.01 * limit)
    };
    let mut groups: Vec<Vec<State>> = Vec::new();
    for states in &states {
        let join = |group: &Vec<State>| -> Vec<State> { group.iter().zip(states).map(|(a, b)| a.or(*b)).collect() };
        match groups.iter_mut().find(|group| fits(&together(model, &one, &join(group)))) {
            Some(group) => *group = join(group),
            None => groups.push(states.clone()),
        }
    }
    groups.iter().map(|group| together(model, &one, group)).chain(differ).collect()
}

/// All inputs for which real values lie where those of some boxes do.
fn together(model: &Model, whole: &Case, states: &[State]) -> Case {
    let ranges = model.variables.iter().map(|v| states[*v].real).collect();
    let narrowed = states.iter().enumerate().map(|(k, s)| (k, s.real, s.least)).collect();
    Case { ranges, narrowed, ..whole.clone() }
}

fn range(x: Interval) -> String {
    format!("[{:e},{:e}]", x.lo, x.hi)
}

impl Script {
    fn case(&mut self, model: &Model, states: &[State], number: usize) {
        let mut known = vec![false; states.len()];
        for k in 0..states.len() {
            let Some(u) = model.source(k).filter(|_| model.values[k].twin == k) else { continue };
            if states[k].is_exact() || model.values[k].is_exact {
                continue;
            }
            let is_claimed = self.operation(model, states, (k, u), number, &mut known);
            if !is_claimed {
                let (format, meaning) = (model.values[k].format, u.accuracy.meaning);
                let _ = writeln!(self.definitions, "# c{k}_{number} is assumed: {meaning:?} to {format}");
            }
        }
    }

    /// Facts of a value that is an argument.
    fn argument(
        &mut self,
        model: &Model,
        states: &[State],
        k: usize,
        number: usize,
        known: &mut [bool],
    ) -> [String; 2] {
        let k = model.values[k].twin;
        let state = &states[k];
        let (v, c) = (format!("v{k}_{number}"), format!("c{k}_{number}"));
        let is_exact = state.is_exact();
        if !std::mem::replace(&mut known[k], true) {
            // A 0 is computed as 0, and what is left out of a sum changes nothing.
            let skips = state.keeps_sign() && state.real.lo == 0.0 && state.least > 0.0 && state.least < state.real.hi;
            let real = if skips { Interval::new(state.least, state.real.hi) } else { state.real };
            self.assumed.push(format!("{v} in {}", range(real)));
            match (is_exact, state.relative > 0.0) {
                (true, _) => {}
                (_, true) => self.assumed.push(format!("{c} -/ {v} in {}", around(state.relative))),
                _ => self.assumed.push(format!("{c} - {v} in {}", around(state.absolute))),
            }
        }
        [v.clone(), if is_exact { v } else { c }]
    }

    /// The claim of an operation. Gives whether there is one.
    fn operation(
        &mut self,
        model: &Model,
        states: &[State],
        (k, u): (usize, &Use),
        number: usize,
        known: &mut [bool],
    ) -> bool {
        let state = &states[k];
        // Gappa has no word for a distance that may be as large as the value, as a part of it.
        let is_far = |k: usize| states[model.values[k].twin].relative >= 1.0;
        // And the root of what it takes for negative has no bound.
        let is_root_of_zero = matches!(u.accuracy.meaning, Meaning::Power(_, 2)) && {
            let x = &states[model.values[u.args[0]].twin];
            !x.is_exact() && x.relative == 0.0 && x.real.lo <= x.absolute
        };
        let is_lost = is_far(k) || is_root_of_zero || u.args.iter().any(|a| is_far(*a));
        if !state.error().is_finite() || state.cause.is_some() || is_lost || clamps(model, states, k, u) {
            return false;
        }
        let names: Vec<[String; 2]> = u.args.iter().map(|a| self.argument(model, states, *a, number, known)).collect();
        let side = |j: usize| -> Vec<&str> { names.iter().map(|n| n[j].as_str()).collect() };
        let (Some(real), Some(before)) =
            (expression(u.accuracy.meaning, &side(0)), expression(u.accuracy.meaning, &side(1)))
        else {
            return false;
        };
        // The parts of a sum of one sign lie between 0 and all of it.
        if matches!(u.accuracy.meaning, Meaning::Sum | Meaning::SumOfSquares) && state.relative > 0.0 {
            self.shares(u.accuracy.meaning, &side(0));
        }
        // A name for a name would only be renamed.
        let mut name = |letter: &str, expression: String| {
            if u.accuracy.meaning == Meaning::Same {
                return expression;
            }
            let name = format!("{letter}{k}_{number}");
            let _ = writeln!(self.definitions, "{name} = {expression};");
            name
        };
        let (r, z) = (name("r", real), name("z", before));
        let rounded = if state.own == 0.0 {
            z
        } else {
            let w = format!("w{k}_{number}");
            let format = model.values[k].format;
            let part = u.accuracy.relative(format);
            let is_relative = state.relative > 0.0 && part > 0.0 && format.is_sign_magnitude();
            let (minus, own) = if is_relative { ("-/", part) } else { ("-", state.own) };
            self.assumed.push(format!("{w} {minus} {z} in {}", around(own)));
            w
        };
        let (minus, bound) = if state.relative > 0.0 { ("-/", state.relative) } else { ("-", state.absolute) };
        self.claims.push(format!("{rounded} {minus} {r} in {}", around(bound)));
        true
    }

    fn shares(&mut self, meaning: Meaning, names: &[&str]) {
        let part = |x: &str| if meaning == Meaning::SumOfSquares { format!("({x} * {x})") } else { x.to_string() };
        let parts: Vec<String> = names.iter().map(|n| part(n)).collect();
        for k in 1..parts.len() {
            let left = parts[1..k].iter().fold(parts[0].clone(), |all, p| format!("({all} + {p})"));
            self.assumed.push(format!("{left} / ({left} + {}) in [0,1]", parts[k]));
        }
    }
}

fn around(x: f64) -> String {
    format!("[-{x:e},{x:e}]")
}

/// Whether a cast may saturate.
fn clamps(model: &Model, states: &[State], k: usize, u: &Use) -> bool {
    let format = model.values[k].format;
    let beyond = || {
        let (all, argument) = (super::forward::span(format), states[u.args[0]].real);
        argument.lo < all.lo || argument.hi > all.hi
    };
    format.is_integral() && u.accuracy.meaning == Meaning::Same && beyond()
}

/// A meaning in Gappa's words.
fn expression(meaning: Meaning, x: &[&str]) -> Option<String> {
    Some(match meaning {
        Meaning::Same => x[0].into(),
        Meaning::Sum => format!("{} + {}", x[0], x[1]),
        Meaning::Difference => format!("{} - {}", x[0], x[1]),
        Meaning::Product => format!("{} * {}", x[0], x[1]),
        Meaning::Quotient => format!("{} / {}", x[0], x[1]),
        Meaning::Negative => format!("-{}", x[0]),
        Meaning::Scaled(n) if n.abs() < 1000 => format!("{} * {:e}", x[0], exp2(n)),
        Meaning::SumOfSquares => {
            let square = |x: &&str| format!("({x} * {x})");
            x[1..].iter().fold(square(&x[0]), |all, x| format!("({all} + {})", square(x)))
        }
        Meaning::Power(n, d) if n != 0 => {
            let base = if d == 2 { format!("sqrt({})", x[0]) } else { x[0].to_string() };
            let count = n.unsigned_abs() as usize;
            let product = vec![base.as_str(); count].join(" * ");
            match (n > 0, count) {
                (true, _) => product,
                (false, 1) => format!("1 / {product}"),
                (false, _) => format!("1 / ({product})"),
            }
        }
        _ => return None,
    })
}
