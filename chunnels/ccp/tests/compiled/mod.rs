//! Programs as portus compiles them.

use bertha_ccp::message::{Install, Message};
use portus::{lang, serialize};

/// Returns the message with which portus installs a program.
#[allow(dead_code, reason = "each test uses some of this module")]
pub(crate) fn compile(source: &str) -> Install {
    let (compiled, scope) = lang::compile(source.as_bytes(), &[]).unwrap();
    let bytes = serialize::serialize(&serialize::install::Msg {
        sid: 0,
        program_uid: scope.program_uid,
        num_events: compiled.events.len() as u32,
        num_instrs: compiled.instrs.len() as u32,
        instrs: compiled,
    })
    .unwrap();
    match Message::decode(&bytes).unwrap() {
        (Message::Install(install), _) => install,
        (other, _) => panic!("portus sent {other:?}"),
    }
}

/// The program of BBR's steady state: filters of rate and delay, and a cycle of gains.
#[allow(dead_code, reason = "each test uses some of this module")]
pub(crate) const BBR: &str = "
    (def
        (Report (volatile loss 0) (volatile minrtt +infinity) (volatile rate 0) (pulseState 0))
        (cwndCap 135200) (bottleRate 12000000) (threeFourthsRate 9000000) (fiveFourthsRate 15000000))
    (when true
        (:= Report.loss (+ Report.loss Ack.lost_pkts_sample))
        (:= Report.minrtt (min Report.minrtt Flow.rtt_sample_us))
        (:= Report.rate (max Report.rate (min Flow.rate_outgoing Flow.rate_incoming)))
        (fallthrough))
    (when (&& (> Micros Report.minrtt) (== Report.pulseState 0))
        (:= Rate threeFourthsRate)
        (:= Report.pulseState 1)
        (report))
    (when (&& (> Micros (* Report.minrtt 2)) (== Report.pulseState 1))
        (:= Rate bottleRate)
        (:= Report.pulseState 2)
        (report))
    (when (&& (> Micros (* Report.minrtt 8)) (== Report.pulseState 2))
        (:= Rate fiveFourthsRate)
        (:= Cwnd cwndCap)
        (:= Report.pulseState 0)
        (:= Micros 0)
        (report))";
