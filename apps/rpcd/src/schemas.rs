//! The schemas of services: a schema with its plan, and the plans that are known.

pub(crate) mod plans;
pub(crate) mod typed;
