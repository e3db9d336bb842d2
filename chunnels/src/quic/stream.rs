//! The two streams of a connection, one in each direction, and the task of each.

use super::frame::{CONTINUED, Frames, LARGEST};
use crate::task_end::runtime_ended;
use bertha_core::framing::TooLarge;
use bertha_core::{Buf, DropCounter, ErrorKind};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use quinn::{
    Connection, ConnectionError, ReadError, RecvStream, SendStream, StoppedError, TransportErrorCode, VarInt,
    WriteError,
};
use std::any::Any;
use std::pin::pin;
use tokio::sync::{mpsc, oneshot, watch};

/// Maximum number of messages that wait in each direction.
pub(super) const QUEUE: usize = 256;

/// The number of bytes read at a time.
const READ: usize = 64 * 1024;

/// The code of a close after every message was delivered. Other codes report a failure.
pub(super) const DONE: VarInt = VarInt::from_u32(0);

/// The code for a peer that breaks the format of streams.
const BROKEN: VarInt = VarInt::from_u32(1);

/// The code for a peer that proves another agreement.
pub(super) const OTHER_AGREEMENT: VarInt = VarInt::from_u32(2);

/// The code for a peer whose identity, which it proved in the resumed session, is not accepted any more.
pub(super) const NOT_ACCEPTED: VarInt = VarInt::from_u32(3);

/// An entry of the queue to the writing task.
#[derive(Debug)]
pub(super) enum Outgoing {
    Message(Buf),
    /// A request that is answered once the peer has all messages that were queued before it.
    Drain(oneshot::Sender<()>),
}

/// The progress of a connection towards its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// The connection is in use.
    Open,
    /// The peer has closed, or the connection has failed. Messages that have arrived can still be received.
    PeerGone,
    /// This end has closed.
    Closed,
}

/// The state that the tasks of the two streams share with the connection.
#[derive(Debug)]
pub(super) struct StreamShared {
    pub(super) connection: Connection,
    /// The queue to the writing task. Weak, since the tasks end with the last sender.
    pub(super) outgoing: mpsc::WeakSender<Outgoing>,
    /// The queue from the reading task.
    pub(super) incoming: mpsc::WeakSender<Buf>,
    pub(super) phase: watch::Sender<Phase>,
    /// Number of tasks, of the two, that still run.
    pub(super) running: watch::Sender<u8>,
    /// The reason why no more messages will arrive.
    end: Mutex<Option<(ErrorKind, String)>>,
    /// What keeps the tasks running for an end that was dropped behind the peer's close. Erased, since the tasks need not know their
    /// runtime.
    left: Mutex<Option<Box<dyn Any + Send>>>,
    /// The messages that arrived for an application that receives no more.
    pub(super) after_end: DropCounter,
}

impl StreamShared {
    pub(super) fn new(
        connection: Connection,
        outgoing: mpsc::WeakSender<Outgoing>,
        incoming: mpsc::WeakSender<Buf>,
        after_end: DropCounter,
    ) -> Self {
        let phase = watch::Sender::new(Phase::Open);
        let running = watch::Sender::new(2);
        let (end, left) = Default::default();
        Self { connection, outgoing, incoming, phase, running, end, left, after_end }
    }

    pub(super) fn end(&self) -> Option<(ErrorKind, String)> {
        self.end.lock().clone()
    }

    /// Returns true if the peer has closed in order, and all that it sent has arrived.
    pub(super) fn has_peer_closed(&self) -> bool {
        matches!(&*self.end.lock(), Some((ErrorKind::Closed, _)))
    }

    /// This end was dropped. Its tasks go on, with `kept`, until it is closed.
    pub(super) fn leave(&self, kept: Box<dyn Any + Send>) {
        *self.left.lock() = Some(kept);
        self.advance(Phase::Closed);
    }

    /// Waits, behind the peer's close, until this end is closed or [left](Self::leave), and then until all of its messages have arrived.
    /// Returns what keeps the tasks of an end that was left. For the reading task.
    pub(super) async fn left(&self) -> Option<Box<dyn Any + Send>> {
        if !self.has_peer_closed() {
            return None;
        }
        self.reached(Phase::Closed).await;
        let kept = self.left.lock().take()?;
        // Never fails, since the sender is here.
        let _ = self.running.subscribe().wait_for(|running| *running <= 1).await;
        Some(kept)
    }

    pub(super) fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let is_later = to > *phase;
            *phase = to.max(*phase);
            is_later
        });
    }

    fn on_end(&self, kind: ErrorKind, what: String) {
        self.end.lock().get_or_insert((kind, what));
        self.advance(Phase::PeerGone);
    }

    /// Handles that the writing task has ended, by itself or with its runtime.
    pub(super) fn on_writer_end(&self) {
        self.running.send_modify(|running| *running -= 1);
    }

    /// Handles that the reading task has ended, by itself or with its runtime.
    pub(super) fn on_reader_end(&self) {
        // A task that ends by itself has recorded another reason before.
        let error = runtime_ended();
        self.on_end(error.kind(), error.context().to_owned());
        self.running.send_modify(|running| *running -= 1);
    }

    /// Waits for a phase.
    async fn reached(&self, at_least: Phase) {
        // The wait never fails, since the sender is here.
        let _ = self.phase.subscribe().wait_for(|phase| *phase >= at_least).await;
    }
}

/// Sends messages on `stream` until one end closes, then the messages that still wait. Returns when the peer
/// has them.
pub(super) async fn write(
    shared: &StreamShared,
    connection: &Connection,
    stream: SendStream,
    outgoing: mpsc::Receiver<Outgoing>,
) {
    if let Err(error) = try_write(shared, connection, stream, outgoing).await {
        let (kind, what) = match error {
            WriteError::ConnectionLost(error) => failure(&error),
            other => (ErrorKind::Reset, other.to_string()),
        };
        shared.on_end(kind, what);
    }
}

async fn try_write(
    shared: &StreamShared,
    connection: &Connection,
    mut stream: SendStream,
    mut outgoing: mpsc::Receiver<Outgoing>,
) -> Result<(), WriteError> {
    while let Some(next) = next(shared, &mut outgoing).await {
        match next {
            Outgoing::Message(message) => {
                stream.write_all(&(message.len() as u32).to_be_bytes()).await?;
                stream.write_all(&message).await?;
            }
            Outgoing::Drain(drained) => {
                // QUIC reports a stream as delivered once it is finished, so another stream continues it.
                stream.write_all(&CONTINUED.to_be_bytes()).await?;
                delivered(&mut stream).await?;
                // The send fails if the future of the drain was dropped.
                let _ = drained.send(());
                stream = connection.open_uni().await?;
            }
        }
    }
    delivered(&mut stream).await
}

/// Finishes a stream, and waits until the peer has all of it.
async fn delivered(stream: &mut SendStream) -> Result<(), WriteError> {
    if stream.finish().is_err() {
        return Ok(());
    }
    match stream.stopped().await {
        Ok(None) => Ok(()),
        Ok(Some(code)) => Err(WriteError::Stopped(code)),
        Err(StoppedError::ConnectionLost(error)) => Err(WriteError::ConnectionLost(error)),
        Err(StoppedError::ZeroRttRejected) => Err(WriteError::ZeroRttRejected),
    }
}

/// Returns the next entry of the queue; `None` once one end has closed and the queue is empty.
async fn next(shared: &StreamShared, outgoing: &mut mpsc::Receiver<Outgoing>) -> Option<Outgoing> {
    if !outgoing.is_closed() {
        let ending = pin!(shared.reached(Phase::PeerGone));
        if let Either::Left((next, _)) = select(pin!(outgoing.recv()), ending).await {
            return next;
        }
        outgoing.close();
    }
    outgoing.recv().await
}

/// Receives messages, first from `stream` if the peer's stream has begun, until the peer closes, or the
/// connection fails.
pub(super) async fn read(
    shared: &StreamShared,
    connection: &Connection,
    stream: Option<RecvStream>,
    messages: mpsc::Sender<Buf>,
) {
    let (kind, what) = try_read(shared, connection, stream, &messages).await;
    shared.on_end(kind, what);
}

async fn try_read(
    shared: &StreamShared,
    connection: &Connection,
    mut begun: Option<RecvStream>,
    messages: &mpsc::Sender<Buf>,
) -> (ErrorKind, String) {
    let mut frames = Frames::default();
    loop {
        let stream = match begun.take() {
            Some(stream) => stream,
            None => match connection.accept_uni().await {
                Ok(stream) => stream,
                Err(error) => return failure(&error),
            },
        };
        match read_stream(shared, &mut frames, stream, messages).await {
            Ok(()) if frames.continue_stream() => {}
            Ok(()) if frames.is_between() => {
                return (ErrorKind::Closed, "the peer closed the connection".into());
            }
            Ok(()) => {
                connection.close(BROKEN, b"the stream ended within a message");
                return (ErrorKind::Malformed, "the peer's stream ended within a message".into());
            }
            Err(StreamError::TooLarge(length)) => {
                connection.close(BROKEN, b"a message is larger than any may be");
                return (ErrorKind::Malformed, length.told(LARGEST));
            }
            Err(StreamError::Read(ReadError::ConnectionLost(error))) => return failure(&error),
            Err(StreamError::Read(other)) => return (ErrorKind::Reset, other.to_string()),
        }
    }
}

/// The reason why a stream can't be read further.
enum StreamError {
    Read(ReadError),
    TooLarge(TooLarge),
}

/// Reads a stream to its end.
async fn read_stream(
    shared: &StreamShared,
    frames: &mut Frames,
    mut stream: RecvStream,
    messages: &mpsc::Sender<Buf>,
) -> Result<(), StreamError> {
    while let Some(chunk) = stream.read_chunk(READ, true).await.map_err(StreamError::Read)? {
        let mut bytes = &chunk.bytes[..];
        while let Some(message) = frames.take(&mut bytes).map_err(StreamError::TooLarge)? {
            let closed = pin!(shared.reached(Phase::Closed));
            let kept = pin!(messages.send(message));
            if let Either::Left(_) = select(closed, kept).await {
                shared.after_end.add(1);
            }
        }
    }
    Ok(())
}

/// The code for a connection that was dropped without a close: messages may be missing.
pub(super) const DROPPED: VarInt = VarInt::from_u32(4);

/// The kind and the text of the error that the end of a QUIC connection is to the application.
pub(super) fn failure(error: &ConnectionError) -> (ErrorKind, String) {
    let kind = match error {
        ConnectionError::ApplicationClosed(close) if close.error_code == DONE => ErrorKind::Closed,
        ConnectionError::ApplicationClosed(close)
            if [OTHER_AGREEMENT, NOT_ACCEPTED].contains(&close.error_code) =>
        {
            ErrorKind::Unauthenticated
        }
        ConnectionError::LocallyClosed => ErrorKind::Closed,
        ConnectionError::TimedOut => ErrorKind::TimedOut,
        ConnectionError::VersionMismatch => ErrorKind::Version,
        ConnectionError::CidsExhausted => ErrorKind::Exhausted,
        ConnectionError::TransportError(error) if is_about_tls(error.code) => ErrorKind::Unauthenticated,
        ConnectionError::ConnectionClosed(close) if is_about_tls(close.error_code) => {
            ErrorKind::Unauthenticated
        }
        // The connection below has ended. Its own error is reported instead.
        ConnectionError::TransportError(error) if error.code == TransportErrorCode::INTERNAL_ERROR => {
            ErrorKind::Io
        }
        ConnectionError::TransportError(_) => ErrorKind::Malformed,
        ConnectionError::ConnectionClosed(_)
        | ConnectionError::ApplicationClosed(_)
        | ConnectionError::Reset => ErrorKind::Reset,
    };
    let what = match error {
        ConnectionError::ApplicationClosed(close) if close.error_code == OTHER_AGREEMENT => {
            "the other end has another agreement: the negotiation was altered on its way".into()
        }
        ConnectionError::ApplicationClosed(close) if close.error_code == NOT_ACCEPTED => {
            "the other end accepts this end's identity no more; renew it, and connect again".into()
        }
        ConnectionError::ApplicationClosed(close) if close.error_code == DROPPED => {
            "the peer dropped the connection without closing it, so messages may be missing".into()
        }
        _ => error.to_string(),
    };
    (kind, what)
}

/// Returns true for the 256 codes of TLS alerts (RFC 9001, section 4.8).
fn is_about_tls(code: TransportErrorCode) -> bool {
    (0x100..0x200).contains(&u64::from(code))
}
