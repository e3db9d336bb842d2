//! `#[subst(..)]`: rewrite rules over stacks.

mod build;
mod expand;
mod parse;
mod variables;

pub(crate) use expand::expand;
pub(crate) use parse::Subst;
