//! `#[subst(..)]`: rewrite rules over stacks.

mod build;
mod expand;
mod parse;
mod side;
mod variables;

pub(crate) use expand::expand;
