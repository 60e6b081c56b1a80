//! The ground that commands stand on, and a library must not: ending with a message and a status, reading and replacing the user's
//! files, and printing.

pub mod bench;
pub mod chart;
pub mod count;
pub mod csv;
pub mod declared;
pub mod failure;
pub mod files;
pub mod include;
pub mod input;
pub mod launch;
pub mod memory;
pub mod output;
pub mod particles;
pub mod program;
pub mod progress;
pub mod report;
pub mod snapshot;
pub mod source;
pub mod tables;
pub mod vtk;
