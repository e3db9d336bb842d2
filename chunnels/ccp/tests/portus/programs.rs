//! Programs, compiled by portus, and the values that they compute.

use crate::compiled::compile;
use bertha_ccp::message::{Clause, Field, Install, Instruction, Operation, Register};
use bertha_ccp::{Decision, Fault, Flow, Program, Refused, Signal, SignalSet, Signals};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

fn flow_of(source: &str) -> Flow {
    let mut flow = Flow::new();
    flow.change(Arc::new(Program::load(&compile(source)).unwrap()), &[]);
    flow
}

fn reported(decision: &Decision<'_>) -> Vec<u64> {
    decision.report.map(|report| report.fields.to_vec()).unwrap_or_default()
}

#[test]
fn listing_4_1_counts_bytes_and_reports_losses() {
    let mut flow = flow_of(
        "(def (Report (volatile acked 0) (volatile lost 0)))
         (when true
             (:= Report.acked (+ Report.acked Ack.bytes_acked))
             (:= Report.lost (+ Report.lost Ack.lost_pkts_sample))
             (fallthrough))
         (when (> Report.lost 0) (report))",
    );
    let acked = Signals { bytes_acked: 1_000, ..Signals::default() };
    assert_eq!(flow.on_ack(&acked, 10, 0).report, None);
    let lossy = Signals { lost_pkts_sample: 2, ..acked };
    let decision = flow.on_ack(&lossy, 10, 0);
    assert_eq!(reported(&decision), [2_000, 2]);
    flow.on_reported();
    let decision = flow.on_ack(&lossy, 10, 0);
    assert_eq!(reported(&decision), [1_000, 2]);
}

#[test]
fn listing_4_3_grows_the_window_in_the_datapath() {
    let mut flow = flow_of(
        "(def (Report (volatile loss 0)))
         (when true (:= Cwnd (+ Cwnd Ack.bytes_acked)) (fallthrough))
         (when (> Ack.lost_pkts_sample 0) (report))",
    );
    let acked = Signals { bytes_acked: 1_352, ..Signals::default() };
    assert_eq!(flow.on_ack(&acked, 10_000, 0).window, Some(11_352));
    assert_eq!(flow.on_ack(&acked, 11_352, 0).window, Some(12_704));
}

#[test]
fn the_timer_counts_from_the_program_and_from_where_it_is_set() {
    let mut flow = flow_of(
        "(def (Report (volatile at 0)))
         (when (> Micros 999) (:= Report.at Micros) (:= Micros 0) (report))",
    );
    let at = |now| Signals { now, ..Signals::default() };
    assert_eq!(flow.on_ack(&at(5_000), 1, 0).report, None);
    assert_eq!(flow.on_ack(&at(5_999), 1, 0).report, None);
    assert_eq!(reported(&flow.on_ack(&at(6_100), 1, 0)), [1_100]);
    flow.on_reported();
    assert_eq!(flow.on_ack(&at(7_099), 1, 0).report, None);
    assert_eq!(reported(&flow.on_ack(&at(7_101), 1, 0)), [1_001]);
}

#[test]
fn updates_take_effect_at_the_next_acknowledgement_even_of_a_program_that_fails() {
    let mut flow = flow_of("(def (Report (x 0)) (divisor 1)) (when true (:= Rate (/ 1000 divisor)))");
    let control = |index| Register::Control { index, is_volatile: false };
    assert_eq!(flow.on_ack(&Signals::default(), 10, 0).rate, Some(1_000));
    flow.update(&[
        Field { register: control(0), value: 7 },
        Field { register: Register::Implicit(4), value: 77 },
        Field { register: control(0), value: 0 },
    ]);
    let decision = flow.on_ack(&Signals::default(), 10, 5);
    let failed =
        Decision { window: Some(77), rate: Some(5), report: None, fault: Some(Fault::DivisionByZero) };
    assert_eq!(decision, failed);
    flow.update(&[Field { register: control(0), value: 10 }]);
    assert_eq!(flow.on_ack(&Signals::default(), 77, 5).rate, Some(100));
}

#[test]
fn a_change_drops_updates_and_sets_its_own() {
    let program = "(def (Report (x 0)) (gain 2)) (when true (:= Cwnd (* gain 100)))";
    let mut flow = flow_of(program);
    let gain = |value| Field { register: Register::Control { index: 0, is_volatile: false }, value };
    flow.update(&[gain(9)]);
    flow.change(Arc::new(Program::load(&compile(program)).unwrap()), &[]);
    assert_eq!(flow.on_ack(&Signals::default(), 1, 0).window, Some(200));
    flow.change(Arc::new(Program::load(&compile(program)).unwrap()), &[gain(3)]);
    assert_eq!(flow.on_ack(&Signals::default(), 1, 0).window, Some(300));
}

#[test]
fn a_program_names_the_signals_that_it_reads() {
    let install = compile(
        "(def (Report (marked 0))) (when (> Ack.ecn_packets 0) (:= Report.marked Ack.ecn_bytes) (report))",
    );
    let reads = Program::load(&install).unwrap().reads();
    assert_eq!(reads, SignalSet::default().with(Signal::EcnBytes).with(Signal::EcnPackets));
    assert_eq!(reads.to_string(), "Ack.ecn_bytes, Ack.ecn_packets");
}

/// Makes a program of one clause, whose condition and body are all of `instructions`.
fn raw(instructions: Vec<Instruction>) -> Install {
    let count = instructions.len() as u32;
    let clause = Clause { condition_start: 0, condition_count: count, body_start: 0, body_count: 0 };
    Install { flow: 0, program: 1, clauses: vec![clause], instructions }
}

const LOCAL: Register = Register::Local(0);

fn bind(result: Register, right: Register) -> Instruction {
    Instruction { operation: Operation::Bind, result, left: result, right }
}

#[test]
fn what_would_leave_the_registers_is_refused_or_ignored() {
    let stranger = Register::Temporary(8);
    let refused = Err(Refused::NoSuchRegister(stranger));
    assert_eq!(Program::load(&raw(vec![bind(LOCAL, stranger)])), refused);
    let signal = Register::Signal(15);
    assert!(Program::load(&raw(vec![bind(LOCAL, signal)])).is_ok());
    let write = Instruction { operation: Operation::Bind, result: stranger, left: LOCAL, right: signal };
    assert!(Program::load(&raw(vec![write])).is_ok());

    let mut beyond = raw(vec![bind(LOCAL, LOCAL)]);
    beyond.clauses[0].body_start = u32::MAX;
    beyond.clauses[0].body_count = 2;
    assert_eq!(Program::load(&beyond), Err(Refused::NoSuchInstruction { clause: 0 }));

    let mut shared = raw(vec![bind(LOCAL, LOCAL); 200]);
    shared.clauses.push(shared.clauses[0]);
    assert_eq!(Program::load(&shared), Err(Refused::TooMuchWork { instructions: 400 }));
}

fn any_register() -> impl Strategy<Value = Register> {
    let index = prop_oneof![4 => 0..16_u32, 1 => 100..120_u32, 1 => any::<u32>()];
    (0..7_u8, index, any::<bool>()).prop_map(|(kind, index, is_volatile)| match kind {
        0 => Register::Control { index, is_volatile },
        1 => Register::Immediate(index),
        2 => Register::Implicit(index % 6),
        3 => Register::Local(index % 8),
        4 => Register::Signal(index),
        5 => Register::Report { index, is_volatile },
        _ => Register::Temporary(index % 8),
    })
}

fn any_instruction() -> impl Strategy<Value = Instruction> {
    let operations = vec![
        Operation::Add,
        Operation::Bind,
        Operation::Define,
        Operation::Divide,
        Operation::Equal,
        Operation::Ewma,
        Operation::If,
        Operation::MaxWrapped,
        Operation::Multiply,
        Operation::IfNot,
        Operation::Subtract,
    ];
    (proptest::sample::select(operations), any_register(), any_register(), any_register())
        .prop_map(|(operation, result, left, right)| Instruction { operation, result, left, right })
}

proptest! {
    #[test]
    fn no_program_panics(
        instructions in vec(any_instruction(), 1..60),
        signals in vec(any::<[u64; 3]>(), 1..10),
    ) {
        let Ok(program) = Program::load(&raw(instructions)) else { return Ok(()) };
        let mut flow = Flow::new();
        flow.change(Arc::new(program), &[]);
        for [bytes_acked, now, rtt_sample_us] in signals {
            let signals = Signals { bytes_acked, now, rtt_sample_us, ..Signals::default() };
            if flow.on_ack(&signals, bytes_acked, now).report.is_some() {
                flow.on_reported();
            }
        }
    }
}
