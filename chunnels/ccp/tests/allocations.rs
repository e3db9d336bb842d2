//! An acknowledgement allocates nothing.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod compiled;

use bertha_allocations::{Counting, in_thread};
use bertha_ccp::message::{Field, Measure, Register};
use bertha_ccp::{Flow, Program, Signals};
use compiled::{BBR, compile};
use std::sync::Arc;

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn neither_programs_nor_reports_nor_updates_allocate() {
    let program = Arc::new(Program::load(&compile(BBR)).unwrap());
    let mut flow = Flow::new();
    let mut message = Vec::with_capacity(1_000);
    let (reports, allocations) = in_thread(|| {
        let mut reports = 0;
        for now in 0..10_000 {
            let rates =
                Signals { rate_incoming: 12_000_000, rate_outgoing: 11_000_000, ..Signals::default() };
            let signals = Signals { now: now * 100, rtt_sample_us: 20_000, bytes_acked: 1_352, ..rates };
            if now % 1_000 == 0 {
                let field = Field { register: Register::Implicit(4), value: 100_000 + now };
                flow.change(program.clone(), &[field]);
            }
            if let Some(report) = flow.on_ack(&signals, 100_000, 0).report {
                reports += 1;
                message.clear();
                Measure::encode_fields(1, report.program, report.fields, &mut message).unwrap();
                flow.on_reported();
            }
        }
        reports
    });
    assert!(reports > 5, "{reports} reports");
    assert_eq!(allocations, 0);
}
