//! The clients that there are: their places, their memory, and why their connections end.

mod client;
mod ending;
mod memory;
mod places;
mod sweeping;
mod watched;

pub(super) use client::Client;
pub(super) use ending::Ending;
pub(super) use memory::{Held, Memory};
pub(crate) use places::Places;
pub(crate) use sweeping::sweep;
pub(super) use watched::Watched;
