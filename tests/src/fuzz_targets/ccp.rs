//! Arbitrary messages of an agent of congestion control.

use bertha_ccp::message::{MAX_FIELDS, Message};
use bertha_ccp::{Flow, Program, Signals};
use std::sync::Arc;

/// Passes messages of an agent to a flow, with an acknowledgement after each: programs run, and messages that
/// were read are written without change.
pub fn agent(bytes: &[u8]) {
    let mut flow = Flow::new();
    let mut program = None;
    let mut rest = bytes;
    let mut time = 0;
    while let Ok((message, length)) = Message::decode(rest) {
        let mut written = Vec::new();
        message.encode(&mut written).unwrap();
        let mut read = rest[..length].to_vec();
        if let Message::Ready(_) = message {
            // A datapath has no flow, and any number is accepted in its place.
            read[4..8].fill(0);
        }
        assert_eq!(written, read);
        match message {
            Message::Install(install) => program = Program::load(&install).ok().map(Arc::new).or(program),
            Message::Update(update) => flow.update(&update.fields),
            Message::Change(change) => {
                program.clone().into_iter().for_each(|program| flow.change(program, &change.fields));
            }
            Message::Create(_) | Message::Measure(_) | Message::Ready(_) => {}
        }
        rest = &rest[length..];
        for step in [1, 1 << 20, u64::MAX] {
            time = step.wrapping_add(time);
            acknowledge(&mut flow, time);
        }
    }
}

fn acknowledge(flow: &mut Flow, value: u64) {
    let signals = Signals {
        bytes_acked: value,
        lost_pkts_sample: value % 3,
        now: value,
        rtt_sample_us: value >> 4,
        rate_incoming: value >> 1,
        rate_outgoing: value,
        ..Signals::default()
    };
    let decision = flow.on_ack(&signals, 13_520, 0);
    let Some(report) = decision.report else { return };
    assert!(report.fields.len() <= MAX_FIELDS && decision.fault.is_none());
    flow.on_reported();
}
