//! A client that loads a key-value store with the YCSB core workloads.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod connect;
pub mod driver;
pub mod generator;
pub mod measure;
pub mod outstanding;
pub mod parameters;
pub mod progress;
pub mod properties;
pub mod report;
pub mod schedule;
pub mod workload;
