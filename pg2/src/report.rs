//! Reports for the user: a schedule as a table and a figure, and where flags come from.

pub mod area;
pub mod explain;
pub mod filtered;
pub mod lane;
pub mod mapping;
pub mod origins;
pub mod selections;
