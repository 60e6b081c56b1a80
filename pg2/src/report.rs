//! What a user is shown: a schedule as a table and a picture, where flags come from, and text from outside.

pub mod area;
pub mod explain;
pub mod origins;
pub mod shown;
