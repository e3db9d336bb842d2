//! The bytes of a caller or a server of gRPC. A fuzzer calls this, and so do the tests of its corpus.

use bertha_rpcd::testing::grpc::{body, deadline, message, milliseconds, passed_on, take, trailers};
use bertha_schemas::{MessageId, Plan, Schema};
use bertha_tests::fuzz_targets::schemas::good_schema;
use bytes::BytesMut;
use http::{HeaderMap, HeaderValue};
use std::sync::OnceLock;

/// Number of bytes of the longest message of a stream.
const MOST: usize = 1 << 16;

/// Reads the bytes behind the first as what the first says: a body, the header of a deadline, or a status, its text and its details, with line
/// feeds between them.
pub(crate) fn call(bytes: &[u8]) {
    match bytes.split_first() {
        Some((0, body)) => bodies(body),
        Some((1, header)) => deadlines(header),
        Some((2, status)) => statuses(status),
        _ => {}
    }
}

/// Reads a body whole, and in pieces of one byte; both find the same message. What the daemon passes on of it is a message as before.
fn bodies(bytes: &[u8]) {
    let whole = message(bytes);
    assert!(whole.is_none_or(|message| body(message) == bytes));
    let (mut stream, mut messages, mut is_refused) = (BytesMut::new(), Vec::new(), false);
    for byte in bytes {
        stream.extend_from_slice(&[*byte]);
        match take(&mut stream, MOST) {
            Some(taken) => messages.extend(taken),
            None => {
                is_refused = true;
                break;
            }
        }
    }
    let found: Vec<u8> = messages.iter().flat_map(|message| body(message)).collect();
    assert!(bytes.starts_with(&found));
    match whole {
        Some(whole) if whole.len() <= MOST => {
            assert!(!is_refused);
            assert_eq!(messages, [whole]);
        }
        _ => assert!(is_refused || found.len() < bytes.len() || messages.len() != 1),
    }
    let (plan, kind) = plan();
    if let Some(once) = passed_on(plan, *kind, bytes) {
        assert_eq!(passed_on(plan, *kind, &once), Some(once));
    }
}

/// Reads a deadline, which hardly changes when it is passed on.
fn deadlines(header: &[u8]) {
    let Some(stated) = std::str::from_utf8(header).ok().and_then(milliseconds) else { return };
    let again = milliseconds(&deadline(stated)).unwrap();
    assert!((stated..=stated.saturating_add(999)).contains(&again), "{stated} {again}");
}

/// Reads a status, which is the same when it is passed on, and has a text of a bounded length.
fn statuses(bytes: &[u8]) {
    let mut parts = bytes.splitn(3, |byte| *byte == b'\n');
    let mut told = HeaderMap::new();
    for name in ["grpc-status", "grpc-message", "grpc-status-details-bin"] {
        let value = parts.next().and_then(|bytes| HeaderValue::from_bytes(bytes).ok());
        told.extend(value.map(|value| (http::HeaderName::from_static(name), value)));
    }
    match trailers(&told) {
        // A zero may have zeros and a sign in front.
        None => assert!(told["grpc-status"].as_bytes().ends_with(b"0")),
        Some(once) => {
            assert_ne!(once["grpc-status"], "0");
            // Each of 1,024 letters has up to four bytes, of three signs each.
            assert!(once["grpc-message"].len() <= 1024 * 12);
            assert_eq!(trailers(&once), Some(once));
        }
    }
}

/// Returns a plan, and a message of it with fields of all kinds.
fn plan() -> &'static (Plan, MessageId) {
    static PLAN: OnceLock<(Plan, MessageId)> = OnceLock::new();
    PLAN.get_or_init(|| {
        let schema = Schema::read(&good_schema()).unwrap();
        let plan = Plan::new(&schema);
        let message = plan.message(&schema.methods()[0].request).unwrap();
        (plan, message)
    })
}
