//! The parties that call and serve, each of which is a `link`.
//!
//! `calls_made` are the open calls of a party that calls, and `calls_given` those that a party which serves has to answer.

pub(crate) mod calls_given;
pub(crate) mod calls_made;
pub(crate) mod link;
pub(crate) mod origin;
pub(crate) mod reserved_names;
