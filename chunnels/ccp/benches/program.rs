//! The cost of an acknowledgement: the program of BBR's steady state, as portus compiles it.
#![allow(clippy::unwrap_used, reason = "benchmarks panic to fail")]

#[path = "../tests/compiled/mod.rs"]
mod compiled;

use bertha_ccp::{Flow, Program, Signals};
use compiled::{BBR, compile};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;

fn programs(criterion: &mut Criterion) {
    let mut flow = Flow::new();
    flow.change(Arc::new(Program::load(&compile(BBR)).unwrap()), &[]);
    let mut signals = Signals {
        bytes_acked: 1_352,
        packets_acked: 1,
        rtt_sample_us: 20_000,
        rate_incoming: 12_000_000,
        rate_outgoing: 11_900_000,
        ..Signals::default()
    };
    criterion.bench_function("ccp/an acknowledgement with the program of BBR", |bencher| {
        bencher.iter(|| {
            signals.now += 113;
            let report = flow.on_ack(black_box(&signals), 135_200, 12_000_000).report.is_some();
            if report {
                flow.on_reported();
            }
            report
        });
    });
}

criterion_group!(benches, programs);
criterion_main!(benches);
