//! The options that say every how many clocks a pipeline takes a pair.

use super::lanes::each;
use hdl::board::Device;
use hdl::engine::{Config, MOST_II};
use pairforge::backends::{BACKENDS, Entry};
use pairforge::kernel::fit::{Around, Fitted, Wanted, fit, logic};
use pairforge::kernel::parts;
use pg2::backend::build::Built;
use pg2::report::area::Area;
use std::time::Instant;
use terminal::failure::Failure;
use terminal::progress::Steps;

#[derive(clap::Args)]
pub struct FoldArgs {
    /// Clocks from one pair to the next (initiation interval): with more than 1, operators share units
    #[arg(long, value_name = "K", default_value = "1", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MOST_II as i64))]
    pub ii: Vec<u32>,
}

impl FoldArgs {
    /// The interval where all kernels have the same.
    pub fn one(&self) -> Result<u32, Failure> {
        each(&self.ii, (0, 1), "--ii")
    }

    /// Refuses an interval where there is no pipeline to be built.
    pub fn check(&self, entry: &Entry) -> Result<(), Failure> {
        if self.ii.iter().all(|ii| *ii == 1) || entry.traced {
            return Ok(());
        }
        let simulated: Vec<&str> = BACKENDS.iter().filter(|b| b.traced).map(|b| b.name).collect();
        let text = format!("--ii needs --backend {}; `{}` builds no pipeline", simulated.join(" or "), entry.name);
        Err(Failure::Usage(text))
    }
}

#[derive(clap::Args)]
pub struct FitArgs {
    /// Clocks from one pair to the next (initiation interval): with more than 1, operators share units
    ///
    /// Of several kernels one number for all or one for each; `fit` for those that --fit is to find.
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = interval)]
    ii: Option<Vec<Interval>>,
    /// Take the least --ii with which the engines fit a device, by an estimate (see `pairforge list devices`)
    #[arg(long, value_name = "DEVICE")]
    fit: Option<String>,
}

/// The value of `--ii`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Interval {
    Clocks(u32),
    Fit,
}

impl Interval {
    /// The number that is given.
    fn clocks(self) -> Option<u32> {
        match self {
            Interval::Clocks(clocks) => Some(clocks),
            Interval::Fit => None,
        }
    }
}

fn interval(text: &str) -> Result<Interval, String> {
    match text.parse() {
        _ if text == "fit" => Ok(Interval::Fit),
        Ok(clocks) if (1..=MOST_II).contains(&clocks) => Ok(Interval::Clocks(clocks)),
        _ => Err(format!("an interval is 1 to {MOST_II} clocks, or `fit`")),
    }
}

impl FitArgs {
    /// Builds the kernel with the interval that was asked for, or with the least that fits; `config` is the engine around it.
    pub fn build(&self, wanted: &Wanted, config: &dyn Fn(&Built) -> Result<Config, Failure>) -> Result<Built, Failure> {
        let mut built = self.build_all(std::slice::from_ref(wanted), &|_, built| config(built))?;
        Ok(built.remove(0))
    }

    /// Builds kernels that share a device.
    pub fn build_all(&self, wanted: &[Wanted], config: &Around<Failure>) -> Result<Vec<Built>, Failure> {
        let usual = if self.fit.is_some() { Interval::Fit } else { Interval::Clocks(1) };
        let asked = self.ii.clone().unwrap_or(vec![usual]);
        let count = wanted.len();
        let intervals: Vec<Interval> =
            (0..count).map(|k| each(&asked, (k, count), "--ii")).collect::<Result<_, Failure>>()?;
        let Some(name) = &self.fit else {
            let one = |(wanted, interval): (&Wanted, &Interval)| match interval {
                Interval::Clocks(ii) => Ok(wanted.built(wanted.clock, *ii)),
                Interval::Fit => Err(Failure::Usage("--ii fit needs --fit DEVICE".into())),
            };
            return wanted.iter().zip(&intervals).map(one).collect();
        };
        if !intervals.contains(&Interval::Fit) {
            let text = "--fit finds --ii; leave --ii out, or give `fit` in it for a kernel that is to be fitted";
            return Err(Failure::Usage(text.into()));
        }
        let device = fitting(name, wanted)?;
        self.fitted(wanted, &intervals, device, config)
    }

    /// The least interval with which all fit a device.
    fn fitted(
        &self,
        wanted: &[Wanted],
        intervals: &[Interval],
        device: &Device,
        config: &Around<Failure>,
    ) -> Result<Vec<Built>, Failure> {
        let given: Vec<Option<u32>> = intervals.iter().map(|interval| interval.clocks()).collect();
        let (mut steps, started) = (Steps::default(), Instant::now());
        let mut tries = |ii: u32| steps.at(&format!("estimating the area of --ii {ii}"), started.elapsed());
        let found = fit(wanted, &given, device, config, &mut tries)?;
        drop(steps);
        let Fitted { ii, built, area } = found.map_err(|nearest| {
            let pipelines: u32 = wanted.iter().map(|w| w.pipelines).sum();
            let (lanes, fewer) = match pipelines {
                1 => ("1 pipeline".to_string(), ""),
                more => (format!("{more} pipelines"), "fewer pipelines, "),
            };
            Failure::Input(format!(
                "no --ii up to {MOST_II} fits {} with {lanes}: {nearest}; take {fewer}less --jmem or a larger device",
                device.name
            ))
        })?;
        let Area { tables, registers, multipliers, memories } = area;
        let logic = match logic(&area, device) {
            (what, cells, _) if device.target == "ice40" => format!("{cells} {what} of {}", device.luts),
            _ => format!("{tables} lookup tables of {}, {registers} registers of {}", device.luts, device.flip_flops),
        };
        eprintln!(
            "--ii {ii} fits {} by an estimate: about {logic}, {multipliers} multipliers of {}, {memories} block memories of {}",
            device.name, device.multipliers, device.memories
        );
        Ok(built)
    }

    /// Whether a pair comes in each clock, as filters need it, and nothing else is to be found.
    pub fn each_clock(&self) -> bool {
        self.fit.is_none() && self.ii.iter().flatten().all(|ii| *ii == Interval::Clocks(1))
    }

    /// The device of `--fit`, if there is one of that name.
    pub fn device(&self) -> Option<&'static Device> {
        self.fit.as_deref().and_then(parts::device_of)
    }
}

/// The device of `--fit`.
fn fitting(name: &str, wanted: &[Wanted]) -> Result<&'static Device, Failure> {
    let Some(device) = parts::device_of(name) else {
        let known = parts::names().join(", ");
        return Err(Failure::Usage(format!("there is no device `{name}`; there are {known}")));
    };
    match wanted.iter().find(|w| w.clock.target.name != device.target) {
        Some(w) => Err(Failure::Usage(format!(
            "--fit {name} is of the family {}, and the pipeline is made for {}; add --target {0}",
            device.target, w.clock.target.name
        ))),
        None => Ok(device),
    }
}
