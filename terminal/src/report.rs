//! Pages that people read (`--report OUT.html`): one file with its style, its script and its figures, which asks no network for
//! anything.
//!
//! A page is made of the statistics that `--json` writes. Each of its numbers is looked up there by its key ([`Data::cell`]) and keeps
//! that key, so that a page cannot show what the statistics do not say.

mod data;
mod page;

pub use data::{Cell, Data, Quantity};
pub use page::{Block, Figure, Key, Listing, ListingLine, Page, Section, Table};
