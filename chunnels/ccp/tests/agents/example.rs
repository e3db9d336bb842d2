//! Agents at real sockets: the example of this crate, and a program of portus at a socket of portus' own.

#[allow(dead_code, reason = "the example begins with `main`")]
#[path = "../../examples/aimd.rs"]
mod aimd;

use crate::agent::Aimd;
use bertha_ccp::Ccp;
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Flow};
use portus::ipc::{Blocking, unix::Socket};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PACKET: u64 = 1_352;

/// A flow over a path of 20 ms, of which a packet is acknowledged each millisecond.
struct Acknowledged {
    control: Box<dyn CongestionControl>,
    ms: u64,
}

impl Acknowledged {
    fn begin(control: &dyn Algorithm) -> Self {
        Self { control: control.start(PACKET), ms: 0 }
    }

    /// Acknowledges a packet, behind which as many were lost. Returns the window.
    fn acknowledge(&mut self, lost: u64) -> u64 {
        self.ms += 1;
        let now = Duration::from_millis(self.ms);
        let sent = Some(now.saturating_sub(Duration::from_millis(20)));
        let ack = Ack {
            bytes_acked: PACKET,
            packets_acked: 1,
            lost_pkts_sample: lost,
            now,
            newest_acked_sent: sent,
            ..Ack::default()
        };
        let flow = Flow { rtt_sample_us: 20_000, bytes_in_flight: 10 * PACKET, ..Flow::default() };
        self.control.on_ack(&ack, &flow);
        // The agent is another thread, at the other end of a socket.
        std::thread::sleep(Duration::from_millis(1));
        self.control.window()
    }

    /// Acknowledges packets until the window is as expected. Returns their number.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(u64) -> bool) -> u64 {
        let start = self.ms;
        while !is_so(self.acknowledge(0)) {
            assert!(self.ms - start < 20_000, "{what}: the window is {}", self.control.window());
        }
        self.ms - start
    }
}

#[test]
fn the_example_adds_a_packet_in_a_round_trip_and_halves_at_a_loss() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent");
    let served = path.to_str().unwrap().to_owned();
    // Ends with the process of the tests.
    let _agent = std::thread::spawn(move || aimd::serve(&served).unwrap());
    let ccp = Ccp::unix(folder.path().join("datapath"), &path).unwrap();
    let mut flow = Acknowledged::begin(&ccp);
    flow.until("the agent takes over", |_| ccp.statistics().by_agent == 1);
    let before = flow.control.window();
    let acknowledged = flow.until("three packets more", |window| window >= before + 3 * PACKET);
    // The flow's own control would have added a packet with each.
    assert!(acknowledged >= 40, "three round trips have {acknowledged} packets");
    let high = flow.control.window();
    assert_eq!((high - before) % PACKET, 0, "{before} to {high}");
    flow.acknowledge(1);
    flow.until("half of the window", |window| window < high);
    let low = flow.control.window();
    assert!((high / 2..high / 2 + 2 * PACKET).contains(&low), "from {high} to {low}");
    assert_eq!(ccp.statistics().by_agent, 1);
}

/// The file of a socket, which portus leaves behind.
struct Left(PathBuf);

impl Drop for Left {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_program_of_portus_drives_a_flow_from_a_socket_of_portus() {
    // The socket `portus` in this folder is that of an agent of this machine.
    let name = format!("portus-{}", std::process::id());
    let path = Left(Path::new("/tmp/ccp").join(&name));
    let agent = Aimd::spawn(Socket::<Blocking>::new(&name).unwrap());
    let ccp = Ccp::connect(&path.0).unwrap();
    let mut flow = Acknowledged::begin(&ccp);
    flow.until("three reports are answered", |_| agent.reports() >= 3);
    assert_eq!(ccp.statistics().by_agent, 1);
    let high = flow.control.window();
    flow.acknowledge(1);
    flow.until("a smaller window", |window| window < high);
    assert_eq!(ccp.statistics().by_agent, 1);
    drop(flow);
    agent.stop();
}
