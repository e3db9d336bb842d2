//! The subcommands, one each.

pub(crate) mod echo;
