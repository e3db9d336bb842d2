//! The engines that operators can name: those that are built in, and libraries, each of which a process of its own tries first.

pub(crate) mod kinds;
pub(crate) mod trial;
