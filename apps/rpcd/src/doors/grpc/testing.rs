//! Bytes of callers and servers of gRPC, read and written again.

use super::formats::status::Status;
use super::formats::{message, time, translate};
use bertha_schemas::{Frame, Limits, MessageId, Plan, PrivateMemory};
use bytes::{Bytes, BytesMut};
use http::HeaderMap;

/// Returns the message of a body that is whole. Returns `None` if the call is refused.
pub fn message(body: &[u8]) -> Option<&[u8]> {
    message::message(body).ok()
}

/// Returns the body with a message.
pub fn body(message: &[u8]) -> Bytes {
    message::body(message)
}

/// Takes the first message of at most so many bytes out of a stream. Returns `None` if the call is refused, and `Some(None)` while the
/// message is not whole.
pub fn take(stream: &mut BytesMut, most: usize) -> Option<Option<Bytes>> {
    message::take(stream, most).ok()
}

/// Returns the number of milliseconds that the header of a deadline states.
pub fn milliseconds(header: &str) -> Option<u32> {
    time::milliseconds(header)
}

/// Returns the header that states so many milliseconds.
pub fn deadline(milliseconds: u32) -> String {
    time::header(milliseconds)
}

/// Returns trailers that tell what these do, as the daemon writes them. Returns `None` if they tell of success.
pub fn trailers(trailers: &HeaderMap) -> Option<HeaderMap> {
    let (status, mut again) = (Status::read(trailers)?, HeaderMap::new());
    status.write(&mut again);
    Some(again)
}

/// Decodes the message of a body, passes it on as a frame, and encodes it. Returns `None` if the call is refused.
pub fn passed_on(plan: &Plan, message: MessageId, body: &[u8]) -> Option<Bytes> {
    let (frame, at) = translate::frame(plan, message, body).ok()?;
    let limits = Limits::default();
    let mut copy = PrivateMemory::of(limits.memory);
    let at = plan.copy(message, &Frame::of(&frame), at, &mut copy, limits).ok()?;
    translate::body(plan, message, &copy, at).ok()
}
