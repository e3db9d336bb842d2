//! `#[bertha::service]`: a typed client and a typed server of a trait.

mod expand;
mod parse;
#[cfg(test)]
mod tests;

pub(crate) use expand::expand;
