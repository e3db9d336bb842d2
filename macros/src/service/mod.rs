//! `#[bertha::service]`: a typed client and a typed server of a trait.

mod expand;
mod parse;

pub(crate) use expand::expand;
