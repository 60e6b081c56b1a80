//! The options that say how many lanes an engine has, and how they are fed.

use crate::failure::Failure;
use hdl::engine::usual_groups;

#[derive(clap::Args)]
pub struct LaneArgs {
    /// Number of pipelines
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=255))]
    pub pipelines: u32,
    #[command(flatten)]
    pub groups: GroupArgs,
}

#[derive(clap::Args)]
pub struct GroupArgs {
    /// Groups of pipelines, each with a j memory and a stream of sources of its own [default: 1 up to 8 pipelines, then
    /// groups of 4 to 8]
    #[arg(long, value_name = "G", value_parser = clap::value_parser!(u32).range(1..=255))]
    groups: Option<u32>,
}

impl GroupArgs {
    /// The number of groups of an engine of `pipelines` lanes.
    pub fn of(&self, pipelines: u32) -> Result<u32, Failure> {
        let groups = self.groups.unwrap_or(usual_groups(pipelines));
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

impl LaneArgs {
    /// The number of lane groups.
    pub fn groups(&self) -> Result<u32, Failure> {
        self.groups.of(self.pipelines)
    }
}
