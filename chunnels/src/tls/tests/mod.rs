//! Tests of TLS between two ends in memory.

mod authority;
mod binding;
mod passing;
mod refusals;
mod scene;
mod sessions;
mod truncation;
