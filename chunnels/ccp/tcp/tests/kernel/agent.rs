//! An agent that sets what it is told, in a process of its own.

use bertha_ccp::{AgentSocket, Ccp};
use portus::ipc::{BackendBuilder, Ipc};
use portus::lang::Scope;
use portus::{CongAlg, Datapath, DatapathInfo, DatapathTrait, Flow, Report, RunBuilder};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The variables with which the test's program runs as an agent.
const SOCKET: &str = "BERTHA_TEST_AGENT";
/// The window of a flow that has reported a time-out, in bytes.
pub(crate) const AFTER_TIME_OUT: &str = "Cwnd after a time-out";

const FIELDS: &str = "BERTHA_TEST_AGENT_FIELDS";

/// An agent, which is killed when the value is dropped.
pub(crate) struct Agent(Child);

/// Returns a folder for sockets, and a congestion control by the agent there, which counts as gone after this time
/// without an answer.
pub(crate) fn place(timeout: Duration) -> (TempDir, Ccp) {
    let folder = tempfile::tempdir().unwrap();
    let ccp = Ccp::unix(folder.path().join("datapath"), socket(&folder)).unwrap();
    (folder, ccp.agent_timeout(timeout))
}

fn socket(folder: &TempDir) -> PathBuf {
    folder.path().join("agent")
}

impl Agent {
    /// Starts an agent that sets these fields again with each report. `Cwnd after a time-out` takes the place of `Cwnd` once a flow has
    /// reported one.
    pub(crate) fn start(folder: &TempDir, fields: &[(&str, u32)]) -> Self {
        let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["agent::runs", "--exact", "--ignored"]).stdout(Stdio::null());
        Self(command.env(SOCKET, socket(folder)).env(FIELDS, fields.join(",")).spawn().unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
#[ignore = "it is the agent of the other tests"]
fn runs() {
    let of = |name: &str| std::env::var(name).unwrap();
    let fields = of(FIELDS);
    let mut fixed = Fixed { fields: Vec::new(), after_time_out: None };
    for field in fields.split(',') {
        let (name, value) = field.split_once('=').unwrap();
        let value = value.parse().unwrap();
        match name {
            "Cwnd" => fixed.fields.push(("Cwnd", value)),
            "Rate" => fixed.fields.push(("Rate", value)),
            AFTER_TIME_OUT => fixed.after_time_out = Some(value),
            other => panic!("no field {other}"),
        }
    }
    let sock = AgentSocket::bind(Path::new(&of(SOCKET)), &[]).unwrap();
    RunBuilder::new(BackendBuilder { sock }).default_alg(fixed).run().unwrap();
}

#[derive(Clone)]
struct Fixed {
    fields: Vec<(&'static str, u32)>,
    /// The window after a time-out.
    after_time_out: Option<u32>,
}

struct FixedFlow<I: Ipc> {
    datapath: Datapath<I>,
    fixed: Fixed,
    scope: Scope,
}

impl<I: Ipc> CongAlg<I> for Fixed {
    type Flow = FixedFlow<I>;

    fn name() -> &'static str {
        "fixed"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        let program = "
            (def (Report (volatile acked 0) (volatile timeout 0)))
            (when true
                (:= Report.acked (+ Report.acked Ack.bytes_acked))
                (:= Report.timeout (if Flow.was_timeout 1))
                (fallthrough))
            (when (|| (> Micros 50000) (> Report.timeout 0)) (report) (:= Micros 0))";
        HashMap::from([("count", program.to_owned())])
    }

    fn new_flow(&self, mut datapath: Datapath<I>, _: DatapathInfo) -> FixedFlow<I> {
        let scope = datapath.set_program("count", Some(&self.fields)).unwrap();
        FixedFlow { datapath, fixed: self.clone(), scope }
    }
}

impl<I: Ipc> Flow for FixedFlow<I> {
    fn on_report(&mut self, _: u32, report: Report) {
        let was_time_out = report.get_field("Report.timeout", &self.scope).unwrap() > 0;
        if was_time_out && let Some(window) = self.fixed.after_time_out {
            self.fixed.fields = vec![("Cwnd", window)];
        }
        self.scope = self.datapath.set_program("count", Some(&self.fixed.fields)).unwrap();
    }
}
