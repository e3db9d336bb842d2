//! The bytes of a body, as they come and go under HTTP/2's flow control.

use super::status::{Code, Status};
use bytes::Bytes;
use h2::{RecvStream, SendStream};
use std::future::poll_fn;
use tokio::sync::{Semaphore, SemaphorePermit};

/// A body, and the room that it takes until it is dropped.
#[derive(Debug)]
pub(super) struct Body<'a> {
    pub(super) bytes: Vec<u8>,
    room: Option<SemaphorePermit<'a>>,
}

/// Reads a body of at most so many bytes, for which there is room.
pub(super) async fn read<'a>(
    stream: &mut RecvStream,
    most: usize,
    room: &'a Semaphore,
) -> Result<Body<'a>, Status> {
    let full = |what: String| Status::new(Code::ResourceExhausted, &what);
    let mut body = Body { bytes: Vec::new(), room: None };
    while let Some(data) = stream.data().await {
        let data = data.map_err(|error| broken(&error))?;
        if data.len() > most - body.bytes.len() {
            return Err(full(format!("the message has more than {most} bytes")));
        }
        let taken = room.try_acquire_many(u32::try_from(data.len()).unwrap_or(u32::MAX));
        let taken = taken.map_err(|_| full("the messages of the connection take too much memory".into()))?;
        match &mut body.room {
            Some(room) => room.merge(taken),
            None => body.room = Some(taken),
        }
        body.bytes.extend_from_slice(&data);
        // Fails for a stream that has ended alone, which the next read tells.
        let _released = stream.flow_control().release_capacity(data.len());
    }
    Ok(body)
}

/// Sends a body, as the peer has room for it. A request ends with it; a response does with its trailers.
pub(super) async fn write(
    stream: &mut SendStream<Bytes>,
    mut body: Bytes,
    is_last: bool,
) -> Result<(), Status> {
    loop {
        stream.reserve_capacity(body.len());
        let capacity = match stream.capacity() {
            0 => match poll_fn(|context| stream.poll_capacity(context)).await {
                Some(capacity) => capacity.map_err(|error| broken(&error))?,
                None => return Err(Status::new(Code::Unavailable, "the stream has ended")),
            },
            capacity => capacity,
        };
        let part = body.split_to(capacity.min(body.len()));
        let is_end = body.is_empty();
        stream.send_data(part, is_end && is_last).map_err(|error| broken(&error))?;
        if is_end {
            return Ok(());
        }
    }
}

/// Returns the status of a stream or a connection that has failed.
#[cold]
pub(super) fn broken(error: &h2::Error) -> Status {
    let code = match error.reason() {
        Some(h2::Reason::CANCEL) => Code::Cancelled,
        Some(h2::Reason::ENHANCE_YOUR_CALM) => Code::ResourceExhausted,
        _ => Code::Unavailable,
    };
    Status::new(code, &format!("HTTP/2: {error}"))
}
