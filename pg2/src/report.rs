//! What a user is shown: a schedule as a table and a picture, and text from outside.

pub mod explain;
pub mod shown;
