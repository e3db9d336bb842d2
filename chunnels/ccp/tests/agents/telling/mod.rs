//! Lines of the log and errors about agents that are not there, that speak what this datapath does not know, or whose programs are wrong.

mod lines;
mod programs;

use bertha_ccp::{Ccp, Datapath, Link};
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Flow, NewReno};
use bertha_core::Error;
use lines::lines_of;
use std::time::Duration;

const PACKET: u64 = 1_352;

/// Acknowledges one packet at `ms` milliseconds.
fn acknowledge(control: &mut dyn CongestionControl, ms: u64) {
    let now = Duration::from_millis(ms);
    let ack = Ack { bytes_acked: PACKET, packets_acked: 1, now, ..Ack::default() };
    let flow = Flow { rtt_sample_us: 20_000, bytes_in_flight: 10 * PACKET, ..Flow::default() };
    control.on_ack(&ack, &flow);
}

/// A link to an agent with a name.
#[derive(Debug)]
struct Named;

impl Link for Named {
    fn send(&self, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn agent(&self) -> String {
        "the agent of tomorrow".to_owned()
    }
}

/// Returns a message of a type with a body of numbers.
fn message(kind: u16, body: &[u32]) -> Vec<u8> {
    let length = 8 + 4 * u16::try_from(body.len()).unwrap();
    let mut bytes = [kind.to_le_bytes(), length.to_le_bytes(), [1, 0], [0, 0]].concat();
    body.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    bytes
}

#[test]
fn a_socket_that_is_nobodys_is_named_once_and_the_flow_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("nobody");
    let ccp = Ccp::unix(folder.path().join("datapath"), &socket).unwrap();
    let lines = lines_of(|| {
        let (mut control, mut alone) = (ccp.start(PACKET), NewReno.start(PACKET));
        for ms in 0..5_000 {
            acknowledge(&mut *control, ms);
            acknowledge(&mut *alone, ms);
        }
        assert_eq!(control.window(), alone.window());
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("controls flows until there is an agent"), "{lines:?}");
    assert!(lines[0].contains(&socket.display().to_string()), "{lines:?}");
}

#[test]
fn an_agent_of_another_version_is_named_with_what_is_unknown() {
    // A program of a single instruction, whose operation this version does not have.
    let program = [7, 0, 1, 200, 0, 0, 0];
    let unknown = [
        (message(9, &[]), "no message has the type 9"),
        (message(2, &program), "no operation has the code 200"),
        (message(4, &[7, 0, 0]), "a message is longer than its contents"),
    ];
    for (message, reason) in unknown {
        let datapath = Datapath::new(Named);
        let lines = lines_of(|| (0..3).for_each(|_| datapath.handle(&message)));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains(reason) && lines[0].contains("the agent of tomorrow"), "{lines:?}");
    }
}
