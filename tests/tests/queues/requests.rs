//! Requests to Kafka that its client library for Rust can't make, encoded as Kafka's protocol guide
//! describes.

use std::io::{Read, Write};
use std::net::TcpStream;

/// The beginning of a request: its kind and version.
const CREATE_ACLS: [u8; 4] = [0, 30, 0, 1];
const DESCRIBE_GROUPS: [u8; 4] = [0, 15, 0, 0];
const CREATE_TOPICS: [u8; 4] = [0, 19, 0, 2];

/// The bytes behind kind and version: the number of the request, and a client without a name.
const NUMBER: [u8; 4] = [0, 0, 0, 7];
const NO_NAME: [u8; 2] = [0xFF, 0xFF];

/// The protocol's numbers for a right.
const TOPIC: u8 = 2;
const LITERAL: u8 = 3;
const READ: u8 = 3;
const ALLOW: u8 = 3;

/// Gives a user the right to receive from a topic, by a connection that needs no login.
pub(crate) fn allow_to_read(address: &str, user: &str, topic: &str) {
    let mut request = vec![0, 0, 0, 1, TOPIC];
    text(&mut request, topic);
    request.push(LITERAL);
    text(&mut request, &format!("User:{user}"));
    text(&mut request, "*");
    request.extend([READ, ALLOW]);

    let answer = ask(address, CREATE_ACLS, &request);
    // The answer has a time to wait, one result, and its error.
    assert!(
        answer.starts_with(&[0, 0, 0, 0, 0, 0, 0, 1, 0, 0]),
        "the broker gives no right to {topic}: {answer:?}"
    );
}

/// Creates a topic of one partition, whose old messages are compacted.
pub(crate) fn create_compacted(address: &str, topic: &str) {
    let mut request = vec![0, 0, 0, 1];
    text(&mut request, topic);
    // One partition with one replica, and no assignment of replicas.
    request.extend([0, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
    request.extend([0, 0, 0, 1]);
    text(&mut request, "cleanup.policy");
    text(&mut request, "compact");
    // The broker answers within ten seconds, and creates the topic.
    request.extend(10_000_u32.to_be_bytes());
    request.push(0);

    let answer = ask(address, CREATE_TOPICS, &request);
    // The answer has a time to wait and one topic, its name, and its error.
    let rest = answer.strip_prefix(&[0, 0, 0, 0, 0, 0, 0, 1]).unwrap_or_else(|| panic!("{answer:?}"));
    assert!(first_text(rest).1.starts_with(&[0, 0]), "the broker creates no topic {topic}: {answer:?}");
}

/// Returns the state of a group of receivers: `Empty` without members.
pub(crate) fn state_of(address: &str, group: &str) -> String {
    let mut request = vec![0, 0, 0, 1];
    text(&mut request, group);
    let answer = ask(address, DESCRIBE_GROUPS, &request);
    // The answer has one group without an error, its name, and its state.
    let rest = answer.strip_prefix(&[0, 0, 0, 1, 0, 0]).unwrap_or_else(|| panic!("{group}: {answer:?}"));
    let (_, rest) = first_text(rest);
    first_text(rest).0.to_owned()
}

/// Returns the answer to a request, by a connection of its own that needs no login.
fn ask(address: &str, kind: [u8; 4], content: &[u8]) -> Vec<u8> {
    let request = [&kind[..], &NUMBER, &NO_NAME, content].concat();
    let mut broker = TcpStream::connect(address).unwrap();
    broker.write_all(&u32::try_from(request.len()).unwrap().to_be_bytes()).unwrap();
    broker.write_all(&request).unwrap();
    let mut length = [0; 4];
    broker.read_exact(&mut length).unwrap();
    let mut answer = vec![0; u32::from_be_bytes(length) as usize];
    broker.read_exact(&mut answer).unwrap();
    assert!(answer.starts_with(&NUMBER), "{answer:?}");
    answer.split_off(NUMBER.len())
}

fn first_text(bytes: &[u8]) -> (&str, &[u8]) {
    let (length, rest) = bytes.split_at(2);
    let (text, rest) = rest.split_at(u16::from_be_bytes([length[0], length[1]]).into());
    (std::str::from_utf8(text).unwrap(), rest)
}

fn text(request: &mut Vec<u8>, text: &str) {
    request.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
    request.extend(text.as_bytes());
}
