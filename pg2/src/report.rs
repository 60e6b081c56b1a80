//! What a user is shown: a schedule as a table and a picture, and where flags come from.

pub mod explain;
pub mod origins;
