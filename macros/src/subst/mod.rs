//! `#[subst(..)]`: rewrite rules over stacks.

mod build;
mod expand;
mod parse;
mod side;
#[cfg(test)]
mod tests;
mod variables;

pub(crate) use expand::expand;
