//! The micro costs that add up to the cost of a message or of a handshake.
//!
//! The figures show the place of a regression. `bertha-bench` measures Bertha's claims, side by side and with
//! intervals.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark panics to fail")]

mod buffers;
mod connections;
mod matching;
mod memory;
mod sharding;

use criterion::{Criterion, criterion_group, criterion_main};
use std::time::Duration;

/// Returns settings for short measurements, since the machine's noise does not shrink with a longer
/// measurement.
fn quick() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
}

criterion_group! {
    name = micro;
    config = quick();
    targets = buffers::all, connections::all, matching::all, sharding::all
}
criterion_main!(micro);
