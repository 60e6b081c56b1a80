//! The options that say how many lanes an engine has, and how they are fed.

use super::folding::FitArgs;
use hdl::engine::{FEWEST_FILTERS, MOST_FILTERS, usual, usual_groups};
use pairforge::backends::{BACKENDS, Entry};
use terminal::failure::Failure;

/// The number for kernel `k` of `count`: one number is for all of them, else there is one for each.
pub fn each<T: Copy>(values: &[T], (k, count): (usize, usize), option: &str) -> Result<T, Failure> {
    match values {
        [one] => Ok(*one),
        _ if values.len() == count => Ok(values[k]),
        _ => {
            let kernels = if count == 1 { "1 kernel".to_string() } else { format!("{count} kernels") };
            let text =
                format!("{option} has {} numbers for {kernels}; give one for all, or one for each", values.len());
            Err(Failure::Usage(text))
        }
    }
}

#[derive(clap::Args)]
pub struct LaneArgs {
    /// Number of pipelines [default: 8]
    ///
    /// Of several kernels, one number for all or one for each, such as 4,1.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=255))]
    pub pipelines: Vec<u32>,
    #[command(flatten)]
    pub groups: GroupArgs,
}

#[derive(clap::Args)]
pub struct GroupArgs {
    /// Groups of pipelines, each with its own j memory and stream of sources [default: 1 up to 8 pipelines, then of 4 to 8]
    ///
    /// Of several kernels, one number for all or one for each.
    #[arg(long, value_name = "G", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=255))]
    groups: Option<Vec<u32>>,
}

impl GroupArgs {
    pub fn are_given(&self) -> bool {
        self.groups.is_some()
    }

    /// The number of groups of the engine of kernel `place.0` of `place.1`, which has `pipelines` lanes.
    pub fn of(&self, pipelines: u32, place: (usize, usize)) -> Result<u32, Failure> {
        let groups = match &self.groups {
            Some(groups) => each(groups, place, "--groups")?,
            None => usual_groups(pipelines),
        };
        if !pipelines.is_multiple_of(groups) {
            let fitting: Vec<String> =
                (1..=pipelines).filter(|g| pipelines.is_multiple_of(*g)).map(|g| g.to_string()).collect();
            let fitting = fitting.join(", ");
            return Err(Failure::Usage(format!(
                "--groups {groups} does not divide {pipelines} pipelines into equal groups; {fitting} do"
            )));
        }
        Ok(groups)
    }
}

#[derive(clap::Args)]
pub struct FilterArgs {
    /// Filters in front of each pipeline, of a kernel with `where (condition);`: each has a target and takes a source a clock
    #[arg(long, value_name = "F", value_parser = FilterArgs::range())]
    filters: Option<u32>,
}

impl FilterArgs {
    /// The numbers of filters that there can be.
    pub fn range() -> clap::builder::RangedI64ValueParser<u32> {
        clap::value_parser!(u32).range(FEWEST_FILTERS as i64..=MOST_FILTERS as i64)
    }

    /// Filters of each pipeline; 0 for none.
    pub fn count(&self) -> u32 {
        self.filters.unwrap_or(0)
    }

    /// Refuses filters in an engine of several kernels, and in one with pairs every several clocks.
    pub fn check_engine(&self, kernels: usize, fit: &FitArgs) -> Result<(), Failure> {
        if self.count() == 0 || kernels == 1 && fit.each_clock() {
            return Ok(());
        }
        let text = "--filters is for an engine of one kernel that takes a pair in each clock; leave out the other kernels, --ii and --fit";
        Err(Failure::Usage(text.into()))
    }

    /// Refuses a page where there are filters.
    pub fn check_page(&self, is_wanted: bool) -> Result<(), Failure> {
        if self.count() == 0 || !is_wanted {
            return Ok(());
        }
        let text = "the page of --report draws one pipeline with all that a line costs, and a kernel before which filters stand is two, \
                    of which each line is in one or in both; leave out --filters, or --report, and see `explain --filters`";
        Err(Failure::Usage(text.into()))
    }

    /// Refuses filters where there is no engine of one's own to have them.
    pub fn check(&self, entry: &Entry) -> Result<(), Failure> {
        if self.count() == 0 || entry.shaped {
            return Ok(());
        }
        let shaped: Vec<&str> = BACKENDS.iter().filter(|b| b.shaped).map(|b| b.name).collect();
        let text = match entry.place {
            Some(_) => format!("`{}` has the filters that its engine was built with; leave out --filters", entry.name),
            None => format!("--filters needs --backend {}; `{}` has no engine", shaped.join(" or "), entry.name),
        };
        Err(Failure::Usage(text))
    }
}

impl LaneArgs {
    /// Pipelines and lane groups of the engine of kernel `place.0` of `place.1`.
    pub fn of(&self, place: (usize, usize)) -> Result<(u32, u32), Failure> {
        let pipelines = match self.pipelines[..] {
            [] => usual::PIPELINES,
            _ => each(&self.pipelines, place, "--pipelines")?,
        };
        Ok((pipelines, self.groups.of(pipelines, place)?))
    }

    /// The lanes of an engine where all kernels have the same.
    pub fn one(&self) -> Result<(u32, u32), Failure> {
        self.of((0, 1))
    }
}
