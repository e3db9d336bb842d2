//! Programs that don't compile, or that no datapath runs.

use crate::telling::lines::lines_of;
use crate::telling::{Named, PACKET, acknowledge};
use bertha_ccp::message::{Change, Clause, Install, Instruction, Message, Operation, Register};
use bertha_ccp::{AgentSocket, Ccp, Datapath, check_programs};
use bertha_chunnels::congestion::{Algorithm, NewReno};
use portus::ipc::{BackendBuilder, Ipc};
use portus::{CongAlg, DatapathInfo, Flow, Report, RunBuilder};
use std::collections::HashMap;

/// An algorithm with this program, which does nothing.
struct With(String);

struct Nothing;

impl<I: Ipc> CongAlg<I> for With {
    type Flow = Nothing;

    fn name() -> &'static str {
        "with"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        HashMap::from([("a round trip", self.0.clone())])
    }

    fn new_flow(&self, _: portus::Datapath<I>, _: DatapathInfo) -> Nothing {
        Nothing
    }
}

impl Flow for Nothing {
    fn on_report(&mut self, _: u32, _: Report) {}
}

/// A program that reads a variable which it does not define.
const BAD: &str = "(def) (when true (:= Cwnd (+ Cwnd nowhere)))";

#[test]
fn a_check_names_the_program_that_does_not_compile_or_that_datapaths_refuse() {
    let long = format!("(def) (when true {})", "(:= Cwnd 1)".repeat(256));
    let refused = [
        (BAD, "does not compile", "nowhere"),
        // portus panics.
        ("(def (a 0)) (when (report) (report))", "does not compile", "operand"),
        (&long, "is refused by datapaths", "257 instructions"),
    ];
    for (program, what, why) in refused {
        let told = check_programs(&With(program.to_owned())).unwrap_err().to_string();
        assert!(told.contains(&format!("`a round trip` {what}")) && told.contains(why), "{told}");
    }
    check_programs(&With("(def (Report (a 0))) (when true (report))".to_owned())).unwrap();
}

#[test]
fn an_agent_whose_program_does_not_compile_ends_with_its_name_and_the_flow_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent");
    let ccp = Ccp::unix(folder.path().join("datapath"), &path).unwrap();
    let (mut control, mut alone) = (ccp.start(PACKET), NewReno.start(PACKET));
    let mut go_on = |from: u64| {
        for ms in from..from + 200 {
            acknowledge(&mut *control, ms);
            acknowledge(&mut *alone, ms);
        }
        assert_eq!((control.window(), ccp.statistics().by_agent), (alone.window(), 0));
    };
    go_on(0);
    let sock = AgentSocket::bind(&path, &[]).unwrap();
    let agent = RunBuilder::new(BackendBuilder { sock }).default_alg(With(BAD.to_owned()));
    let told = agent.run().unwrap_err().0;
    assert!(told.contains("a round trip") && told.contains("compile") && told.contains("nowhere"), "{told}");
    assert!(!path.exists(), "its socket has gone");
    go_on(200);
}

#[test]
fn a_program_that_is_refused_is_named_by_its_number_and_the_flow_goes_on() {
    let (first, second) = (Register::Implicit(4), Register::Immediate(70_000));
    let instruction = Instruction { operation: Operation::Bind, result: first, left: first, right: second };
    let clause = Clause { condition_start: 0, condition_count: 1, body_start: 7, body_count: 1 };
    let install = Install { flow: 0, program: 5, clauses: vec![clause], instructions: vec![instruction] };
    let change = Change { flow: 1, program: 5, fields: Vec::new() };
    let datapath = Datapath::new(Named);
    let ccp = Ccp::over(datapath.clone());
    let (mut control, mut alone) = (ccp.start(PACKET), NewReno.start(PACKET));
    let lines = lines_of(|| {
        for message in [Message::Install(install), Message::Change(change)] {
            let mut bytes = Vec::new();
            message.encode(&mut bytes).unwrap();
            datapath.handle(&bytes);
        }
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    for text in ["program 5 ", "clause 0", "the agent of tomorrow"] {
        assert!(lines[0].contains(text), "{text}: {lines:?}");
    }
    for ms in 0..200 {
        acknowledge(&mut *control, ms);
        acknowledge(&mut *alone, ms);
    }
    assert_eq!((control.window(), ccp.statistics().by_agent), (alone.window(), 0));
}
