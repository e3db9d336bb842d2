//! Messages of protobuf, and the frames that parties have.

use super::message;
use super::status::Status;
use crate::failures::code::Code;
use crate::messages::interpreter_view::into_buf;
use bertha_core::Buf;
use bertha_managed::Descriptor;
use bertha_schemas::{Encoded, Fault, Limits, MessageId, Plan, PrivateMemory, Room};
use bytes::Bytes;

/// Decodes the message of a body. Returns the frame, which has room for a descriptor in front, and the address of the message in it.
pub(crate) fn frame(plan: &Plan, kind: MessageId, body: &[u8]) -> Result<(Buf, u64), Status> {
    let limits = Limits::default();
    let mut frame = PrivateMemory::of(limits.memory);
    frame.reserve(Descriptor::SIZE).map_err(|full| faulty(&full.into()))?;
    let at =
        plan.decode(kind, message::message(body)?, &mut frame, limits).map_err(|fault| faulty(&fault))?;
    let large = |_| Status::too_large("the message is too large");
    Ok((into_buf(frame).map_err(large)?, at))
}

/// Encodes the message of a frame as a body.
pub(crate) fn body(plan: &Plan, kind: MessageId, frame: &PrivateMemory, at: u64) -> Result<Bytes, Status> {
    let mut encoded = Encoded::new();
    plan.encode(kind, frame, at, Limits::default(), &mut encoded).map_err(|fault| faulty(&fault))?;
    Ok(message::body(encoded.as_bytes()))
}

#[cold]
fn faulty(fault: &Fault) -> Status {
    let text = fault.to_string();
    match fault {
        // The memory is for this message alone.
        Fault::NoRoom | Fault::Large(_) | Fault::Long(_) => Status::too_large(&text),
        _ => Status::new(Code::InvalidArgument, &text),
    }
}
