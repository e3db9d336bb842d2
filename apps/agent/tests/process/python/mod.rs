//! Agents in Python.

mod programs;

use crate::agent::{Way, place};
use crate::flow::{Transfer, until_by_agent};
use crate::skip::skip;
use bertha::ccp::Ccp;
use bertha_ccp::message::{AlgorithmName, Create, Measure};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// The algorithm of the thesis, as an example of the package `portus` for Python.
const AIMD: &str = "examples/aimd.py";

/// An agent in Python, which ends with the test.
struct Python {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStderr>>,
}

impl Python {
    /// Starts an agent, and waits until it listens. Returns `None` if there is no Python.
    fn start(socket: &Path, script: &[&str]) -> Option<Self> {
        let mut agent = Self::run(socket, script)?;
        agent.prints("listening for datapaths");
        Some(agent)
    }

    /// Starts a script. Returns `None` if there is no Python.
    fn run(socket: &Path, script: &[&str]) -> Option<Self> {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../chunnels/ccp/python"));
        let child = Command::new("python3")
            .args(["-B", "-W", "error"])
            .args(script)
            .current_dir(folder)
            .env("PYTHONPATH", folder)
            .env("PORTUS_SOCKET", socket)
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => {
                skip(&format!("agents in Python: python3: {error}"));
                return None;
            }
        };
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Some(Self { child, lines })
    }

    /// Waits until the agent prints a line with this text. A test that waits for too long is ended by its runner.
    fn prints(&mut self, text: &str) {
        let mut printed = Vec::new();
        while let Some(Ok(line)) = self.lines.next() {
            if line.contains(text) {
                return;
            }
            printed.push(line);
        }
        panic!("the agent has ended without a line with `{text}`: {printed:#?}");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

/// Returns a script that can import the example.
fn beside_aimd(script: &str) -> String {
    format!("import sys; sys.path.append('examples')\n{script}")
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_algorithm_in_python_controls_a_flow_and_comes_back_after_a_kill() {
    let (folder, socket) = place();
    let control = Way::Socket.control(&folder, &socket);
    let transfer = Transfer::begin(control.clone()).await;
    transfer.continues(100).await;
    for _ in 0..2 {
        let Some(agent) = Python::start(&socket, &[AIMD]) else { return };
        until_by_agent(&control, 1).await;
        transfer.continues(1_000).await;
        assert_eq!(control.statistics().by_agent, 1, "it answers reports");
        agent.signal(Signal::KILL);
        until_by_agent(&control, 0).await;
        transfer.continues(1_000).await;
        assert!(socket.exists(), "it was killed");
    }
    let Some(mut agent) = Python::start(&socket, &[AIMD]) else { return };
    until_by_agent(&control, 1).await;
    agent.signal(Signal::STOP);
    until_by_agent(&control, 0).await;
    transfer.continues(1_000).await;
    agent.signal(Signal::CONT);
    until_by_agent(&control, 1).await;
    transfer.end().await;
    agent.signal(Signal::TERM);
    agent.prints("ended: 0 messages dropped");
    assert!(agent.child.wait().unwrap().success() && !socket.exists());
}

/// An algorithm whose flows fail with their tenth report if they ask for it by name.
const FAILS_AFTER_TEN: &str = "
import aimd, portus

class Flow(aimd.AimdFlow):
    reports = 0

    def on_report(self, report):
        self.reports += 1
        if self.datapath_info.cong_alg == 'fails' and self.reports == 10:
            raise RuntimeError('a mistake')
        super().on_report(report)

class Fails(aimd.Aimd):
    def new_flow(self, datapath, datapath_info):
        flow = Flow(datapath, datapath_info)
        flow.datapath_info = datapath_info
        return flow

portus.start('unix', Fails())
";

#[tokio::test(flavor = "multi_thread")]
async fn an_exception_ends_one_flow_and_garbage_none() {
    let (folder, socket) = place();
    let Some(mut agent) = Python::start(&socket, &["-c", &beside_aimd(FAILS_AFTER_TEN)]) else { return };
    let stranger = UnixDatagram::bind(folder.path().join("stranger")).unwrap();
    for garbage in [&[][..], &[0], &[0xff; 64], &[1, 0, 16, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0], &[2; 300]]
    {
        stranger.send_to(garbage, &socket).unwrap();
    }
    agent.prints("was dropped (1 so far)");
    let good = Way::Socket.control(&folder, &socket);
    let bad = Ccp::unix(folder.path().join("second"), &socket).unwrap();
    let bad = bad.agent_timeout(Duration::from_millis(300)).algorithm("fails").unwrap();
    let transfers = [Transfer::begin(good.clone()).await, Transfer::begin(bad.clone()).await];
    until_by_agent(&good, 1).await;
    agent.prints("on_report() has failed for flow 1");
    agent.prints("RuntimeError: a mistake");
    until_by_agent(&bad, 0).await;
    for transfer in &transfers {
        transfer.continues(2_000).await;
    }
    assert_eq!((good.statistics().by_agent, bad.statistics().by_agent), (1, 0));
    for transfer in transfers {
        transfer.end().await;
    }
    agent.signal(Signal::INT);
    agent.prints("ended: 5 messages dropped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_datapath_that_reads_nothing_holds_no_flow_up_and_its_flows_end_with_it() {
    let (folder, socket) = place();
    let Some(mut agent) = Python::start(&socket, &[AIMD]) else { return };
    let deaf = UnixDatagram::bind(folder.path().join("deaf")).unwrap();
    let mut message = Vec::new();
    let create = Create {
        flow: 3,
        initial_window: 12_000,
        packet: 1_200,
        source_address: 0,
        source_port: 0,
        destination_address: 0,
        destination_port: 0,
        algorithm: AlgorithmName::DEFAULT,
    };
    create.encode(&mut message);
    deaf.send_to(&message, &socket).unwrap();
    message.clear();
    Measure::encode_fields(3, 1, &[1_200, 0], &mut message).unwrap();
    for _ in 0..2_000 {
        deaf.send_to(&message, &socket).unwrap();
    }
    let control = Way::Socket.control(&folder, &socket);
    let transfer = Transfer::begin(control.clone()).await;
    until_by_agent(&control, 1).await;
    transfer.continues(1_000).await;
    assert_eq!(control.statistics().by_agent, 1);
    drop(deaf);
    agent.prints("has vanished with 1 flows");
    transfer.end().await;
    agent.signal(Signal::TERM);
    agent.prints("ended: 0 messages dropped");
}
