//! Failures of calls that have no status to return.

use std::fmt::Display;

/// Says what has failed, and ends the program: old codes look at no status, and would go on with forces that are none.
pub fn end(what: impl Display) -> ! {
    eprintln!("pairforge_grape: {what}");
    std::process::exit(1)
}
