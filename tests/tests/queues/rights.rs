//! Rights of Kafka's users, which its client library for Rust can't give: one request, as the protocol's guide has it.

use std::io::{Read, Write};
use std::net::TcpStream;

/// The beginning of the request: its kind and version.
const CREATE_ACLS: [u8; 4] = [0, 30, 0, 1];

/// The protocol's numbers for a right.
const TOPIC: u8 = 2;
const LITERAL: u8 = 3;
const READ: u8 = 3;
const ALLOW: u8 = 3;

/// Gives a user the right to receive from a topic, by a connection that needs no login.
pub(crate) fn allow_to_read(address: &str, user: &str, topic: &str) {
    let mut request = CREATE_ACLS.to_vec();
    // The number of the request, a client without a name, and one right.
    request.extend([0, 0, 0, 7, 0xFF, 0xFF, 0, 0, 0, 1, TOPIC]);
    text(&mut request, topic);
    request.push(LITERAL);
    text(&mut request, &format!("User:{user}"));
    text(&mut request, "*");
    request.extend([READ, ALLOW]);

    let mut broker = TcpStream::connect(address).unwrap();
    broker.write_all(&u32::try_from(request.len()).unwrap().to_be_bytes()).unwrap();
    broker.write_all(&request).unwrap();
    let mut length = [0; 4];
    broker.read_exact(&mut length).unwrap();
    let mut answer = vec![0; u32::from_be_bytes(length) as usize];
    broker.read_exact(&mut answer).unwrap();
    // The number of the request, a time to wait, one result, and its error.
    let expected = [0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0];
    assert!(answer.starts_with(&expected), "the broker gives no right to {topic}: {answer:?}");
}

fn text(request: &mut Vec<u8>, text: &str) {
    request.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
    request.extend(text.as_bytes());
}
