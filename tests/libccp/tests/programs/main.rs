//! Random programs and signals, run by `bertha-ccp` and by libccp: window, rate, reports and faults are
//! equal.

mod arbitrary;
mod theirs;

use arbitrary::{instructions, program, signals};
use bertha_ccp::message::{Clause, Install, Instruction, Measure, Message, Operation, Register};
use bertha_ccp::{Fault, Flow, Program, Signals};
use libccp::LibccpError;
use proptest::prelude::*;
use std::sync::Arc;
use theirs::Theirs;

/// Number of the program. libccp drops all programs when the first program of an agent is installed, which
/// makes room for the programs of other cases.
const FIRST: u32 = 1;

fn fault(error: LibccpError) -> Fault {
    match error {
        LibccpError::LibccpAddIntOverflow | LibccpError::LibccpMulIntOverflow => Fault::Overflow,
        LibccpError::LibccpSubIntUnderflow => Fault::Underflow,
        LibccpError::LibccpDivByZero => Fault::DivisionByZero,
        other => panic!("libccp failed: {other}"),
    }
}

/// Runs `install` for each of `signals` on both datapaths, and compares all results.
fn compare(install: &Install, signals: &[Signals]) -> Result<(), TestCaseError> {
    let Ok(program) = Program::load(install) else { return Ok(()) };
    let mut ours = Flow::new();
    ours.change(Arc::new(program), &[]);
    let mut bytes = Vec::new();
    Message::Install(install.clone()).encode(&mut bytes).unwrap();
    let _alone = theirs::alone();
    let mut theirs = Theirs::start();
    theirs.begin(FIRST, &mut bytes);
    for (at, signals) in signals.iter().enumerate() {
        let (window, rate) = (10_000 + at as u64, at as u64 * 1_000);
        let result = theirs.on_ack(signals, window, rate);
        let decision = ours.on_ack(signals, window, rate);
        prop_assert_eq!(decision.fault, result.err().map(fault), "acknowledgement {}", at);
        prop_assert_eq!(
            decision.window.map(|window| window as u32),
            theirs.window(),
            "acknowledgement {}",
            at
        );
        prop_assert_eq!(decision.rate.map(|rate| rate as u32), theirs.rate(), "acknowledgement {}", at);
        let report = decision.report.map(|report| {
            let mut bytes = Vec::new();
            Measure::encode_fields(theirs.flow(), report.program, report.fields, &mut bytes).unwrap();
            bytes
        });
        prop_assert_eq!(&report, &theirs.report(), "acknowledgement {}", at);
        if report.is_some() {
            ours.on_reported();
        }
    }
    Ok(())
}

fn compile(source: &str) -> Install {
    let (compiled, _) = portus::lang::compile(source.as_bytes(), &[])
        .unwrap_or_else(|error| panic!("portus refuses {source}: {error}"));
    let bytes = portus::serialize::serialize(&portus::serialize::install::Msg {
        sid: 0,
        program_uid: FIRST,
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

/// Makes a program of any instructions, the first of them mostly definitions, in two clauses.
fn raw(instructions: Vec<Instruction>, cut: [usize; 3]) -> Install {
    let count = instructions.len();
    let [a, b, c] = {
        let mut cut = cut.map(|at| at % (count + 1));
        cut.sort_unstable();
        cut
    };
    let clause = |start: usize, middle: usize, end: usize| Clause {
        condition_start: start as u32,
        condition_count: (middle - start) as u32,
        body_start: middle as u32,
        body_count: (end - middle) as u32,
    };
    let clauses = vec![clause(0, a, b), clause(b, c, count)];
    Install { flow: 0, program: FIRST, clauses, instructions }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_of_the_language(source in program(), signals in signals()) {
        compare(&compile(&source), &signals)?;
    }

    #[test]
    fn instructions_that_no_compiler_makes(
        instructions in instructions(),
        cut in any::<[usize; 3]>(),
        signals in signals(),
    ) {
        compare(&raw(instructions, cut), &signals)?;
    }
}

#[test]
fn a_register_that_is_defined_twice_begins_alike() {
    let register = |is_volatile| Register::Report { index: 1, is_volatile };
    let define = |left, value| {
        let (operation, right) = (Operation::Define, Register::Immediate(value));
        Instruction { operation, result: left, left, right }
    };
    // These instructions raise the flags of an event and of a report.
    let raise = |flag| {
        let (left, right) = (Register::Immediate(1), Register::Immediate(0));
        Instruction { operation: Operation::Add, result: Register::Implicit(flag), left, right }
    };
    let always = Clause { condition_start: 2, condition_count: 1, body_start: 3, body_count: 1 };
    let instructions = vec![define(register(false), 2), define(register(true), 3), raise(0), raise(2)];
    let install = Install { flow: 0, program: FIRST, clauses: vec![always], instructions };
    compare(&install, &[Signals::default(); 3]).unwrap();
}

#[test]
fn infinity_is_the_same() {
    let signals = [Signals { bytes_acked: 1, ..Signals::default() }; 3];
    let source = "(def (Report (volatile least +infinity) (volatile written 1073741823)) (x +infinity))
        (when true
            (:= Report.least (min Report.least (min x Flow.rtt_sample_us)))
            (:= Report.written (+ Report.written 1))
            (report))";
    compare(&compile(source), &signals).unwrap();
}
