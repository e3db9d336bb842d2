//! The qlog of `Reliable`: every record by the schema, and their sums against the statistics, in the simulator.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests panic to fail")]

mod cddl;
mod files;
mod run;
mod schema;
mod sums;
