//! Which pin of a kernel takes what (RULES H8).

/// A kernel that cannot be used; the text names the pin and the shape it must have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BindError(pub String);
