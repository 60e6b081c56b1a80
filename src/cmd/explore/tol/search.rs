//! The search for the cheapest formats: each value's fraction as short as the tolerance allows with all others long, then all
//! together by the steps that save most.

use super::data::{Data, fraction, largest, range_bits, with_fraction, with_range};
use super::price::{Price, price};
use hdl::Flags;
use hdl::circuit::target::Clock;
use pairforge::kernel::explore::Measured;
use pg2::backend::build::build;
use pg2::error::{Report, analyse};
use pg2::graph::Graph;
use pg2::vary::apart::Apart;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use terminal::progress::Progress;
use terminal::source;

/// One format for each choice.
pub type Chosen = Vec<hdl::Format>;

/// Fraction bits that the others have while one is made as short as it can be, beyond the fewest that all can have.
const LONG: i64 = 4;

/// The most fraction bits of floats up to which all functions have tables.
const USUAL: i64 = 23;

/// The part of the tolerance that is aimed at elsewhere, once it was missed.
const MARGIN: f64 = 0.97;

/// Rounds of steps from one solution to cheaper ones.
const ROUNDS: usize = 8;

/// A search.
pub struct Search<'a> {
    pub kernel: &'a source::Kernel,
    pub apart: &'a Apart,
    pub data: &'a Data<'a>,
    pub clock: Clock,
    pub tolerance: f64,
    /// The limit of errors: less than that, where something is kept free for inputs on which nothing is measured.
    aim: Mutex<f64>,
    /// Whether the proven bound is to be below the tolerance too.
    pub proven: bool,
    /// The flags that the kernel raises as it is written.
    pub flags: Flags,
    errors: Mutex<HashMap<Chosen, f64>>,
    prices: Mutex<HashMap<Chosen, Price>>,
    progress: Mutex<Progress>,
    done: AtomicUsize,
}

/// Formats with their cost.
#[derive(Clone)]
pub struct Found {
    pub chosen: Chosen,
    pub price: Price,
}

impl<'a> Search<'a> {
    pub fn new(
        (kernel, apart): (&'a source::Kernel, &'a Apart),
        data: &'a Data<'a>,
        clock: Clock,
        (tolerance, spare, proven): (f64, f64, bool),
        flags: Flags,
    ) -> Search<'a> {
        let progress = Mutex::new(Progress::new("trying formats", 0));
        let (errors, prices, aim) = (Mutex::default(), Mutex::default(), Mutex::new(tolerance * (1.0 - spare)));
        let done = AtomicUsize::new(0);
        Search { kernel, apart, data, clock, tolerance, aim, proven, flags, errors, prices, progress, done }
    }

    /// The kernel with formats, if it compiles.
    pub fn graph(&self, chosen: &Chosen) -> Option<Graph> {
        source::graph(&self.kernel.with_text(self.apart.text(chosen))).ok()
    }

    fn count(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Ok(mut progress) = self.progress.try_lock() {
            progress.at(done);
        }
    }

    /// The error that counts: the largest measured one, and where it is to be proven the bound if that is larger. Infinite of
    /// what does not compile, or raises a flag that the kernel does not, but for underflow, whose error is measured.
    pub fn error(&self, chosen: &Chosen) -> f64 {
        if let Ok(known) = self.errors.lock()
            && let Some(error) = known.get(chosen)
        {
            return *error;
        }
        self.count();
        let error = self.error_of(chosen).unwrap_or(f64::INFINITY);
        if let Ok(mut known) = self.errors.lock() {
            known.insert(chosen.clone(), error);
        }
        error
    }

    fn error_of(&self, chosen: &Chosen) -> Option<f64> {
        let graph = self.graph(chosen)?;
        let Measured { errors, flags } = self.data.measure(&graph).ok()?;
        let measured = largest(&errors);
        let allowed = self.flags | Flags::UNDERFLOW;
        if flags | allowed != allowed {
            return None;
        }
        if !self.proven || measured > self.tolerance {
            return Some(measured);
        }
        Some(measured.max(bound(&analyse(&graph))))
    }

    pub fn meets(&self, chosen: &Chosen) -> bool {
        self.error(chosen) <= self.aim.lock().map_or(self.tolerance, |aim| *aim)
    }

    /// Keeps more free: as much as formats that meet the tolerance here are off by `error` elsewhere.
    pub fn keep_free(&self, error: f64) {
        if let Ok(mut aim) = self.aim.lock() {
            *aim *= if error.is_finite() { (MARGIN * self.tolerance / error).max(0.5) } else { 0.5 };
        }
    }

    /// The cost of formats that compile.
    pub fn price(&self, chosen: &Chosen) -> Option<Price> {
        if let Ok(known) = self.prices.lock()
            && let Some(price) = known.get(chosen)
        {
            return Some(*price);
        }
        self.count();
        let price = price(&build(&self.graph(chosen)?, self.clock, "", Vec::new()));
        if let Ok(mut known) = self.prices.lock() {
            known.insert(chosen.clone(), price);
        }
        Some(price)
    }

    pub fn found(&self, chosen: Chosen) -> Option<Found> {
        let price = self.price(&chosen)?;
        Some(Found { chosen, price })
    }

    /// Whether a choice may be made other than the file has it. Proofs are of numbers in the formats of the pins.
    fn is_free(&self, knob: usize) -> bool {
        let knob = &self.apart.knobs[knob];
        !(knob.is_kept || self.proven && knob.is_input)
    }

    fn is_float(&self, knob: usize) -> bool {
        !self.apart.knobs[knob].format.is_fixed()
    }

    /// The formats with another fraction of one choice.
    fn with(&self, chosen: &Chosen, knob: usize, bits: i64) -> Option<Chosen> {
        let format = with_fraction(chosen[knob], bits)?;
        self.is_free(knob).then(|| replaced(chosen, knob, format))
    }

    /// All floats and logs with a fraction of so many bits, or as many as there can be; the rest as `base` has it.
    fn alike(&self, base: &Chosen, bits: i64) -> Chosen {
        let mut chosen = base.clone();
        for k in (0..chosen.len()).filter(|k| self.is_float(*k) && self.is_free(*k)) {
            let most = (1..=bits).rev().find_map(|n| with_fraction(chosen[k], n));
            chosen[k] = most.unwrap_or(chosen[k]);
        }
        chosen
    }

    /// The fewest fraction bits with which all floats meet the tolerance, the rest being as `base` has it.
    pub fn uniform(&self, base: &Chosen) -> Option<i64> {
        let meets = |bits| self.meets(&self.alike(base, bits));
        let (mut low, mut high) = (0, USUAL);
        if !meets(high) {
            (low, high) = (USUAL, (USUAL + 1..=52).find(|n| n % 3 == 1 && meets(*n))?);
        }
        while high - low > 1 {
            let middle = (low + high) / 2;
            if meets(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// All fixeds with as many fraction bits as their formats can have.
    fn longest(&self, base: &Chosen) -> Chosen {
        let mut chosen = base.clone();
        for k in (0..chosen.len()).filter(|k| !self.is_float(*k) && self.is_free(*k)) {
            chosen[k] = (0..=64).rev().find_map(|n| with_fraction(chosen[k], n)).unwrap_or(chosen[k]);
        }
        chosen
    }

    /// The best one format for all floats, and the formats from which the search begins.
    pub fn begin(&self) -> Result<(Option<Found>, Chosen), f64> {
        let written = self.apart.written();
        if let Some(bits) = self.uniform(&written) {
            // One format for all is not held to what is kept free.
            let fewer = self.alike(&written, bits - 1);
            let uniform = if self.error(&fewer) <= self.tolerance { fewer } else { self.alike(&written, bits) };
            let uniform = self.found(uniform);
            let mut long = (bits + LONG).min(bits.max(USUAL));
            while !self.meets(&self.alike(&written, long)) && long > bits {
                long -= 1;
            }
            return Ok((uniform, self.alike(&written, long)));
        }
        // The results' own formats may be too short.
        let longest = self.longest(&written);
        match self.uniform(&longest) {
            Some(bits) => Ok((None, self.alike(&longest, bits))),
            None => {
                Err([USUAL, 52].map(|n| self.error(&self.alike(&longest, n))).into_iter().fold(f64::INFINITY, f64::min))
            }
        }
    }

    /// The formats with the bits before the point that fixeds need, and fewer exponent bits: as many for all floats that need no
    /// more, and for all others as many as some need. The cheapest of these that meet the tolerance.
    fn narrow(&self, base: &Chosen, needs: &[u32]) -> Chosen {
        let most = (0..base.len()).filter(|k| base[*k].is_float()).map(|k| needs[k]).max().unwrap_or(0);
        let narrowed = |few: u32, many: u32| -> Chosen {
            let bits = |k: usize| match base[k] {
                f if !f.is_float() => needs[k],
                _ if needs[k] <= few => few,
                _ => many,
            };
            let one = |k: usize| match base[k] {
                f if self.is_free(k) => with_range(f, bits(k).min(range_bits(f))).unwrap_or(f),
                f => f,
            };
            (0..base.len()).map(one).collect()
        };
        let alike = (most..=11).find(|many| self.meets(&narrowed(*many, *many)));
        let Some(many) = alike else { return base.clone() };
        let tried = (2..=many).into_par_iter().map(|few| narrowed(few, many)).filter(|c| self.meets(c));
        let found = tried.filter_map(|c| self.found(c)).min_by(cheaper);
        found.map_or_else(|| narrowed(many, many), |f| f.chosen)
    }

    /// Of each choice the shortest fraction with which the tolerance is met while the others are as they are.
    fn shortest(&self, base: &Chosen) -> Vec<i64> {
        let one = |k: usize| {
            let (mut low, mut high) = (-1, fraction(base[k]) as i64);
            while high - low > 1 {
                let middle = (low + high) / 2;
                if self.with(base, k, middle).is_some_and(|c| self.meets(&c)) { high = middle } else { low = middle }
            }
            high
        };
        (0..base.len()).into_par_iter().map(one).collect()
    }

    /// The formats from which cheaper ones are looked for: each as short as alone, and all longer by the least that
    /// the tolerance asks for.
    fn spread(&self, base: &Chosen) -> Chosen {
        let shortest = self.shortest(base);
        let longer = |by: i64| -> Chosen {
            let one = |k: usize| {
                let bits = (shortest[k] + by).min(fraction(base[k]) as i64);
                with_fraction(base[k], bits).unwrap_or(base[k])
            };
            (0..base.len()).map(one).collect()
        };
        (0..=LONG + 2).map(longer).find(|c| self.meets(c)).unwrap_or_else(|| base.clone())
    }

    /// Formats a step away.
    fn steps(&self, from: &Chosen, needs: &[u32]) -> Vec<Chosen> {
        let mut all = Vec::new();
        let passes = self.apart.passes();
        for k in 0..from.len() {
            let bits = fraction(from[k]) as i64;
            for by in [1, 2, 4] {
                all.extend(self.with(from, k, bits - by));
            }
            let near = passes.iter().filter(|(a, b)| *a == k || *b == k).map(|(a, b)| if *a == k { *b } else { *a });
            for other in near {
                let differs = self.is_free(k) && from[other] != from[k];
                all.extend(differs.then(|| replaced(from, k, from[other])));
            }
            if self.is_free(k) {
                let least = needs[k].min(range_bits(from[k]));
                let narrow = with_range(from[k], least).filter(|f| *f != from[k]);
                all.extend(narrow.map(|f| replaced(from, k, f)));
            }
        }
        all
    }

    /// Formats of which some that read each other, or all floats, have shorter fractions: there are fewer casts among them than
    /// where one is shorter.
    fn together(&self, from: &Chosen) -> Vec<Chosen> {
        let passes = self.apart.passes();
        let is_near = |a: usize, b: usize| a == b || passes.contains(&(a, b)) || passes.contains(&(b, a));
        let shorter = |of: &dyn Fn(usize) -> bool| -> Chosen {
            let one = |k: usize| match self.is_float(k) && self.is_free(k) && of(k) {
                true => with_fraction(from[k], fraction(from[k]) as i64 - 1).unwrap_or(from[k]),
                false => from[k],
            };
            (0..from.len()).map(one).collect()
        };
        let mut all: Vec<Chosen> = (0..from.len()).map(|k| shorter(&|other| is_near(k, other))).collect();
        all.extend(passes.iter().map(|(a, b)| shorter(&|k| k == *a || k == *b)));
        all.push(shorter(&|_| true));
        all
    }

    /// Formats of which one has a shorter fraction and another one a longer one.
    fn trades(&self, from: &Chosen) -> Vec<Chosen> {
        let longer = |k: usize, by: i64, of: &Chosen| self.with(of, k, fraction(of[k]) as i64 + by);
        let pairs = (0..from.len()).flat_map(|a| (0..from.len()).map(move |b| (a, b))).filter(|(a, b)| a != b);
        pairs.filter_map(|(a, b)| longer(b, 1, &longer(a, -1, from)?)).collect()
    }

    /// Cheaper formats that meet the tolerance, by steps until none saves anything.
    fn descend(&self, from: Found, needs: &[u32]) -> Found {
        let mut at = from;
        for _ in 0..ROUNDS {
            let better_of = |steps: Vec<Chosen>| -> Vec<Found> {
                let tried = steps.into_par_iter().filter(|c| self.meets(c)).filter_map(|c| self.found(c));
                tried.filter(|f| f.price.cost < at.price.cost).collect()
            };
            let mut better = better_of([self.steps(&at.chosen, needs), self.together(&at.chosen)].concat());
            if better.is_empty() {
                better = better_of(self.trades(&at.chosen));
            }
            if better.is_empty() {
                break;
            }
            better.sort_by(cheaper);
            // The best steps of different choices are taken together as far as they can be.
            let (from, mut changed) = (at.chosen.clone(), vec![false; at.chosen.len()]);
            for step in better {
                let places: Vec<usize> = (0..from.len()).filter(|k| step.chosen[*k] != from[*k]).collect();
                let mut both = at.chosen.clone();
                places.iter().for_each(|k| both[*k] = step.chosen[*k]);
                if places.iter().all(|k| !changed[*k])
                    && self.meets(&both)
                    && let Some(found) = self.found(both)
                    && found.price.cost < at.price.cost
                {
                    at = found;
                    places.iter().for_each(|k| changed[*k] = true);
                }
            }
        }
        at
    }

    /// The cheapest formats that are found, from `base`, which meet the tolerance; `needs` are the bits of exponents, or before
    /// the point, that each value needs.
    pub fn cheapest(&self, base: &Chosen, uniform: Option<&Found>, needs: &[u32]) -> Option<Found> {
        let narrow = self.narrow(base, needs);
        let spread = self.found(self.spread(&narrow)).map(|f| self.descend(f, needs));
        let alike = uniform.and_then(|u| self.found(self.narrow(&u.chosen, needs)));
        let alike = alike.map(|f| self.descend(f, needs));
        let all = [spread, alike].into_iter().flatten();
        all.min_by(cheaper)
    }

    /// The same with longer fractions of all floats, until the tolerance is met here.
    pub fn longer(&self, uniform: Found) -> Option<Found> {
        let longest = |k: &usize| self.is_float(*k).then(|| fraction(uniform.chosen[*k]) as i64);
        let bits = (0..uniform.chosen.len()).filter_map(|k| longest(&k)).max()?;
        let all = (bits..=bits + LONG).map(|bits| self.alike(&uniform.chosen, bits));
        all.into_iter().find(|c| self.error(c) <= self.tolerance).and_then(|c| self.found(c))
    }

    /// Formats that meet the tolerance on more inputs than they were found on: longer ones, by the step that helps most.
    pub fn repaired(&self, mut chosen: Chosen) -> Option<Chosen> {
        while self.error(&chosen) > self.tolerance {
            let longer = (0..chosen.len()).flat_map(|k| {
                let longer = self.with(&chosen, k, fraction(chosen[k]) as i64 + 1);
                let wider = self.is_free(k).then(|| with_range(chosen[k], range_bits(chosen[k]) + 1)).flatten();
                [longer, wider.map(|f| replaced(&chosen, k, f))]
            });
            let steps: Vec<Chosen> = longer.flatten().collect();
            let errors: Vec<f64> = steps.par_iter().map(|c| self.error(c)).collect();
            let best = (0..steps.len()).min_by(|a, b| errors[*a].total_cmp(&errors[*b]))?;
            if !errors[best].is_finite() || errors[best] >= self.error(&chosen) {
                return None;
            }
            chosen = steps[best].clone();
        }
        Some(chosen)
    }
}

/// The order of cost; of equal ones that of the formats.
fn cheaper(a: &Found, b: &Found) -> std::cmp::Ordering {
    a.price.cost.total_cmp(&b.price.cost).then_with(|| a.chosen.cmp(&b.chosen))
}

/// The same formats but for one.
fn replaced(chosen: &Chosen, knob: usize, format: hdl::Format) -> Chosen {
    let mut all = chosen.clone();
    all[knob] = format;
    all
}

/// The proven bound of a kernel's outputs: relative where there is one, else the absolute one as a part of the greatest value.
pub fn bound(report: &Report) -> f64 {
    let one = |o: &pg2::error::OutputBound| {
        let found = &o.value.bound;
        if !o.value.is_proved {
            return f64::INFINITY;
        }
        let most = found.real.most();
        let part = if found.absolute == 0.0 { 0.0 } else { found.absolute / most };
        found.relative.min(if part.is_nan() { f64::INFINITY } else { part })
    };
    report.outputs.iter().map(one).fold(0.0, f64::max)
}
