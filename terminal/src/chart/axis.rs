//! Axes: where values stand, which ticks are round, and how they are written.

/// An axis before it is known what stands on it.
pub struct Axis {
    /// The quantity, with its unit where ticks do not have it.
    pub name: String,
    pub is_log: bool,
    pub unit: Unit,
}

/// The unit behind the numbers of an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nothing but k and M for thousands and millions.
    Plain,
    Seconds,
    Percent,
}

impl Axis {
    pub fn log(name: impl Into<String>) -> Axis {
        Axis { name: name.into(), is_log: true, unit: Unit::Plain }
    }

    pub fn linear(name: impl Into<String>) -> Axis {
        Axis { is_log: false, ..Axis::log(name) }
    }

    pub fn of(self, unit: Unit) -> Axis {
        Axis { unit, ..self }
    }
}

/// An axis from the pixel `from` to the pixel `to`.
pub struct Scale {
    pub is_log: bool,
    pub low: f64,
    pub high: f64,
    pub from: f64,
    pub to: f64,
}

impl Scale {
    pub fn around(is_log: bool, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        if is_log { Scale::log(values, from, to) } else { Scale::linear(values, from, to) }
    }

    /// A logarithmic axis around the positive ones of some values, with a small margin.
    pub fn log(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let (low, high) = ends(values.filter(|x| *x > 0.0)).unwrap_or((0.1, 1.0));
        // At least a factor of 2, so that the ticks below find a place.
        let middle = (low * high).sqrt();
        let (low, high) = (low.min(middle / 1.5), high.max(middle * 1.5));
        let room = (high / low).powf(0.06);
        Scale { is_log: true, low: low / room, high: high * room, from, to }
    }

    /// A linear axis around some values. It begins at 0 unless they are far from it beside their extent.
    pub fn linear(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let (low, high) = ends(values.filter(|x| x.is_finite())).unwrap_or((0.0, 1.0));
        let low = if low > 0.0 && low < 2.0 * (high - low) { 0.0 } else { low };
        let extent = if high > low { high - low } else { high.abs().max(1.0) };
        let below = if low == 0.0 { 0.0 } else { 0.05 * extent };
        Scale { is_log: false, low: low - below, high: high + 0.06 * extent, from, to }
    }

    /// Whether a value has a place.
    pub fn shows(&self, x: f64) -> bool {
        x.is_finite() && (!self.is_log || x > 0.0)
    }

    pub fn at(&self, x: f64) -> f64 {
        let part = match self.is_log {
            true => (x / self.low).ln() / (self.high / self.low).ln(),
            false => (x - self.low) / (self.high - self.low),
        };
        self.from + (self.to - self.from) * part
    }

    /// Round numbers: of logarithmic axes powers of ten where they are many, else 1, 2 and 5 times them, else all digits; of
    /// linear ones 1, 2 or 5 times a power of ten apart.
    pub fn ticks(&self) -> Vec<f64> {
        if !self.is_log {
            let rough = (self.high - self.low) / 8.0;
            let power = 10f64.powf(rough.log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0].map(|d| d * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
            let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
            // As a quotient where the step is below 1, so that 0.3 is not 0.30000000000000004.
            let at = |k: i64| if step < 1.0 { k as f64 / (1.0 / step).round() } else { k as f64 * step };
            return (first..=last).map(at).collect();
        }
        let decades = (self.high / self.low).log10();
        let digits: &[i32] = match decades {
            d if d > 3.0 => &[1],
            d if d > 0.9 => &[1, 2, 5],
            _ => &[1, 2, 3, 4, 5, 6, 7, 8, 9],
        };
        let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let all = powers.flat_map(|p| digits.iter().map(move |d| *d as f64 * 10f64.powi(p)));
        all.filter(|x| (self.low..=self.high).contains(x)).collect()
    }
}

/// The least and the greatest of finite values.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) =
        values.filter(|x| x.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    (low <= high).then_some((low, high))
}

/// A number as a tick shows it.
pub fn label(x: f64, unit: Unit) -> String {
    let short = |x: f64| format!("{}", format!("{x:.3e}").parse::<f64>().unwrap_or(x));
    match unit {
        Unit::Seconds => match x.abs() {
            s if s >= 1.0 || s == 0.0 => format!("{} s", short(x)),
            s if s >= 0.999e-3 => format!("{} ms", short(x * 1e3)),
            s if s >= 0.999e-6 => format!("{} \u{b5}s", short(x * 1e6)),
            _ => format!("{} ns", short(x * 1e9)),
        },
        Unit::Percent => format!("{} %", short(x)),
        Unit::Plain => match x.abs() {
            a if a >= 1e6 => format!("{}M", short(x / 1e6)),
            a if a >= 1e4 => format!("{}k", short(x / 1e3)),
            a if a >= 0.01 || a == 0.0 => short(x),
            _ => format!("{x:.0e}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        let of = |is_log, ends: [f64; 2]| Scale::around(is_log, ends.into_iter(), 0.0, 100.0).ticks();
        assert_eq!(of(true, [1e-3, 10.0]), [1e-3, 1e-2, 0.1, 1.0, 10.0]);
        assert_eq!(of(true, [1000.0, 20000.0]), [1e3, 2e3, 5e3, 1e4, 2e4]);
        assert_eq!(of(false, [1.0, 75.0]), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0]);
        assert_eq!(of(false, [1.0, 1.3]), [1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3]);
        assert!(of(false, [3.0, 3.0]).contains(&3.0));
    }

    #[test]
    fn labels_have_units_and_few_digits() {
        let seconds = [1e-7, 2e-6, 1e-3, 0.1, 1.0, 20.0].map(|x| label(x, Unit::Seconds));
        assert_eq!(seconds, ["100 ns", "2 \u{b5}s", "1 ms", "100 ms", "1 s", "20 s"]);
        let plain = [0.0, 1e-5, 0.3, 45.0, 3500.0, 45e3, 2_949_120.0].map(|x| label(x, Unit::Plain));
        assert_eq!(plain, ["0", "1e-5", "0.3", "45", "3500", "45k", "2.949M"]);
        assert_eq!(label(43.0, Unit::Percent), "43 %");
    }
}
