//! Ends that speak different versions of the protocol.

use crate::child::Child;
use crate::{LONG, connect, idle};
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Describe, ErrorKind, make_stack};
use bertha_negotiation::testing::handshake::{Handshake, Requirements};
use bertha_negotiation::testing::wire::{self, HEADER, Kind, Refusal, RefusalKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket
}

/// Returns `message` as another version of this library would send it.
fn of_version(version: u8, mut message: Vec<u8>) -> Vec<u8> {
    message[HEADER] = version;
    let end = message.len() - 4;
    let check = crc32fast::hash(&message[..end]);
    message[end..].copy_from_slice(&check.to_le_bytes());
    message
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_refuses_another_version() {
    let server = Child::serve(&(Ipv4Addr::LOCALHOST, 0).into(), LONG);
    let nodes = make_stack!(Serialize::<String>::new()).nodes();
    let mut handshake =
        Handshake::new(&nodes, Requirements::OPEN, || 77, 65_507, Instant::now(), &idle(LONG)).unwrap();
    let offer = handshake.poll_transmit(Instant::now()).unwrap().unwrap().to_vec();
    let client = socket();
    let Addr::Ip(to) = server.addr else { unreachable!() };
    client.send_to(&of_version(9, offer), to).unwrap();
    let mut reply = [0; 2048];
    let len = client.recv(&mut reply).unwrap();
    let error = handshake.handle(&reply[..len]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Version, "{error}");
    assert!(error.to_string().contains("the client speaks version 9"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_understands_that_the_server_is_of_another_version() {
    let server = socket();
    let at = Addr::Ip(server.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        let mut offer = [0; 2048];
        let (len, from) = server.recv_from(&mut offer).unwrap();
        let (_, tag) = wire::header(&offer[..len]).unwrap();
        let refusal = Refusal { id: 0, kind: RefusalKind::Version, text: "in words to come".into() };
        server.send_to(&of_version(9, wire::encode(Kind::Refusal, tag, &refusal).unwrap()), from).unwrap();
    });
    let error = connect(&at, LONG).await.err().unwrap();
    answering.join().unwrap();
    assert_eq!(error.kind(), ErrorKind::Version, "{error}");
    assert!(error.to_string().contains("the server speaks version 9"), "{error}");
}
