//! The boxes around a path between network namespaces, with flows of the kernel's TCP through them.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod agent;
mod boxes;
mod ending;
mod flow;
mod interface;
mod ipv6;
mod messages;
mod path;
mod priority;
mod queue;
mod refusals;
mod site;
