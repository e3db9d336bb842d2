//! A client that loads a key-value store with the YCSB core workloads.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod generator;
pub mod parameters;
pub mod properties;
