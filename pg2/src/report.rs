//! What a user is shown of a schedule: a table and a picture.

pub mod explain;
