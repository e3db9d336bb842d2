//! The bytes of a body, as they come and go under HTTP/2's flow control.

use super::message;
use super::status::Status;
use crate::failures::code::Code;
use bytes::Bytes;
use h2::{RecvStream, SendStream};
use std::future::poll_fn;
use std::time::Duration;
use tokio::time::timeout;

/// The room for the bodies that are read at once. A part of it that is dropped gives its bytes back.
pub(crate) trait Room {
    /// Takes room for so many bytes more.
    fn grow(&mut self, more: usize) -> Result<(), Status>;
}

/// A body, and the room that it takes until it is dropped.
#[derive(Debug)]
pub(crate) struct Body<R> {
    pub(crate) bytes: Vec<u8>,
    _room: R,
}

/// Reads a body with a message of at most so many bytes, for which there is room, and of which more comes within a time.
pub(crate) async fn read<R: Room>(
    stream: &mut RecvStream,
    most: usize,
    mut room: R,
    next: Duration,
) -> Result<Body<R>, Status> {
    let late = |_| Status::new(Code::DeadlineExceeded, "the message does not come on");
    let mut bytes = Vec::new();
    while let Some(data) = timeout(next, stream.data()).await.map_err(late)? {
        let data = data.map_err(|error| broken(&error))?;
        if data.len() > most + message::PREFIX - bytes.len() {
            return Err(message::too_long(most));
        }
        room.grow(data.len())?;
        bytes.extend_from_slice(&data);
        message::check(&bytes, most)?;
        // Fails for a stream that has ended alone, which the next read tells.
        let _released = stream.flow_control().release_capacity(data.len());
    }
    Ok(Body { bytes, _room: room })
}

/// Takes what a body still has, as far as the peer may send it without leave, and forgets it. HTTP/2 counts the small frames that nobody
/// takes, and ends the connection for many.
pub(crate) async fn pass_over(stream: &mut RecvStream) {
    while let Some(Ok(_forgotten)) = stream.data().await {}
}

/// Sends a body, as the peer has room for it. A request ends with it; a response does with its trailers.
pub(crate) async fn write(
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
pub(crate) fn broken(error: &h2::Error) -> Status {
    let code = match error.reason() {
        Some(h2::Reason::CANCEL) => Code::Cancelled,
        Some(h2::Reason::ENHANCE_YOUR_CALM) => Code::ResourceExhausted,
        _ => Code::Unavailable,
    };
    Status::new(code, &format!("HTTP/2: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::io::duplex;

    /// Room that is there, and is counted while it is taken.
    struct Counted {
        _taken: Arc<()>,
    }

    impl Room for Counted {
        fn grow(&mut self, _: usize) -> Result<(), Status> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_on_is_given_up_and_leaves_its_room() {
        let (near, far) = duplex(1 << 16);
        let asking = async {
            let (sender, connection) = h2::client::handshake(near).await.unwrap();
            tokio::spawn(connection);
            let request = http::Request::post("http://daemon/").body(()).unwrap();
            let (response, mut body) = sender.ready().await.unwrap().send_request(request, false).unwrap();
            body.send_data(message::body(b"whole").slice(..7), false).unwrap();
            (response, body)
        };
        let taking = async {
            let mut connection = h2::server::handshake(far).await.unwrap();
            let request = connection.accept().await.unwrap().unwrap();
            tokio::spawn(async move { while connection.accept().await.is_some() {} });
            request
        };
        let (_asked, (request, _respond)) = tokio::join!(asking, taking);
        let taken = Arc::new(());
        let room = Counted { _taken: Arc::clone(&taken) };
        let read = read(&mut request.into_body(), 1 << 10, room, Duration::from_millis(50)).await;
        assert_eq!(read.map(|body| body.bytes).unwrap_err().code, Code::DeadlineExceeded);
        assert_eq!(Arc::strong_count(&taken), 1);
    }
}
