//! The memory of the daemon that messages take, and what each party may have of it.

pub(crate) mod common;
pub(crate) mod mappings;
pub(crate) mod numbered_frames;
