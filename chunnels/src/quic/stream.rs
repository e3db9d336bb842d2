//! The two streams of a connection, one in each direction, and the task of each.

use super::frame::{Frames, TooLarge};
use bertha_core::{Buf, ErrorKind};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use quinn::{Connection, ConnectionError, ReadError, TransportErrorCode, VarInt, WriteError};
use std::ops::ControlFlow;
use std::pin::pin;
use tokio::sync::{mpsc, watch};

/// How many messages wait in each direction.
pub(super) const QUEUE: usize = 256;

/// How much is read at a time.
const READ: usize = 64 * 1024;

/// The code with which an end closes that has said all. Others mean that it gave up.
pub(super) const DONE: VarInt = VarInt::from_u32(0);

/// The code for a peer that breaks this Chunnel's own rules.
const BROKEN: VarInt = VarInt::from_u32(1);

/// TLS found no common protocol, of whose name the agreement is a part: alert 120 (RFC 7301, section 3.2).
const OTHER_AGREEMENT: u64 = 0x178;

/// How far the end of a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// It is used.
    Open,
    /// The peer has said all, or the connection has failed. What has arrived can still be received.
    PeerGone,
    /// This end has closed.
    Closed,
}

/// What the tasks of the two streams and the connection share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) phase: watch::Sender<Phase>,
    /// How many of the two tasks are under way.
    pub(super) running: watch::Sender<u8>,
    /// Why nothing more will come.
    end: Mutex<Option<(ErrorKind, String)>>,
}

impl Shared {
    pub(super) fn new() -> Self {
        let (phase, running) = (watch::Sender::new(Phase::Open), watch::Sender::new(2));
        Self { phase, running, end: Mutex::new(None) }
    }

    pub(super) fn end(&self) -> Option<(ErrorKind, String)> {
        self.end.lock().clone()
    }

    pub(super) fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let is_later = to > *phase;
            *phase = to.max(*phase);
            is_later
        });
    }

    fn ended(&self, kind: ErrorKind, what: String) {
        self.end.lock().get_or_insert((kind, what));
        self.advance(Phase::PeerGone);
    }

    /// Waits until the connection has come so far.
    async fn reached(&self, at_least: Phase) {
        // Fails only without a sender, which is here.
        let _ = self.phase.subscribe().wait_for(|phase| *phase >= at_least).await;
    }
}

/// Sends messages until an end closes, and then those that wait; returns when the peer has them.
pub(super) async fn write(shared: &Shared, connection: &Connection, messages: mpsc::Receiver<Buf>) {
    if let Err(error) = try_write(shared, connection, messages).await {
        let (kind, what) = match error {
            WriteError::ConnectionLost(error) => failure(&error),
            other => (ErrorKind::Reset, other.to_string()),
        };
        shared.ended(kind, what);
    }
    shared.running.send_modify(|running| *running -= 1);
}

async fn try_write(
    shared: &Shared,
    connection: &Connection,
    mut messages: mpsc::Receiver<Buf>,
) -> Result<(), WriteError> {
    let mut stream = connection.open_uni().await?;
    loop {
        let Some(message) = next(shared, &mut messages).await else { break };
        stream.write_all(&(message.len() as u32).to_be_bytes()).await?;
        stream.write_all(&message).await?;
    }
    // Fails only if the peer wants no more, and then there is nothing to wait for.
    if stream.finish().is_ok() {
        let _ = stream.stopped().await;
    }
    Ok(())
}

/// The next message to send; none once an end has closed and what waited then was taken.
async fn next(shared: &Shared, messages: &mut mpsc::Receiver<Buf>) -> Option<Buf> {
    if !messages.is_closed() {
        let ending = pin!(shared.reached(Phase::PeerGone));
        if let Either::Left((message, _)) = select(pin!(messages.recv()), ending).await {
            return message;
        }
        messages.close();
    }
    messages.recv().await
}

/// Receives messages until the peer has said all, or the connection fails.
pub(super) async fn read(shared: &Shared, connection: &Connection, messages: mpsc::Sender<Buf>) {
    let (kind, what) = try_read(shared, connection, &messages).await;
    shared.ended(kind, what);
    shared.running.send_modify(|running| *running -= 1);
}

async fn try_read(
    shared: &Shared,
    connection: &Connection,
    messages: &mpsc::Sender<Buf>,
) -> (ErrorKind, String) {
    let mut stream = match connection.accept_uni().await {
        Ok(stream) => stream,
        Err(error) => return failure(&error),
    };
    let mut frames = Frames::default();
    loop {
        match stream.read_chunk(READ, true).await {
            Ok(Some(chunk)) => match hand_on(shared, &mut frames, &chunk.bytes, messages).await {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(TooLarge(len)) => {
                    connection.close(BROKEN, b"a message is larger than any may be");
                    let what = format!("the peer announced a message of {len} bytes");
                    return (ErrorKind::Malformed, what);
                }
            },
            Ok(None) if frames.is_between() => {
                return (ErrorKind::Closed, "the peer closed the connection".into());
            }
            Ok(None) => {
                connection.close(BROKEN, b"the stream ended within a message");
                return (ErrorKind::Malformed, "the peer's stream ended within a message".into());
            }
            Err(ReadError::ConnectionLost(error)) => return failure(&error),
            Err(other) => return (ErrorKind::Reset, other.to_string()),
        }
    }
}

async fn hand_on(
    shared: &Shared,
    frames: &mut Frames,
    mut bytes: &[u8],
    messages: &mpsc::Sender<Buf>,
) -> ControlFlow<TooLarge> {
    loop {
        match frames.take(&mut bytes) {
            // Once this end has closed nobody will receive it.
            Ok(Some(message)) => {
                select(pin!(shared.reached(Phase::Closed)), pin!(messages.send(message))).await;
            }
            Ok(None) => return ControlFlow::Continue(()),
            Err(too_large) => return ControlFlow::Break(too_large),
        }
    }
}

/// What the end of a QUIC connection means.
pub(super) fn failure(error: &ConnectionError) -> (ErrorKind, String) {
    let kind = match error {
        ConnectionError::ApplicationClosed(close) if close.error_code == DONE => ErrorKind::Closed,
        ConnectionError::LocallyClosed => ErrorKind::Closed,
        ConnectionError::TimedOut => ErrorKind::TimedOut,
        ConnectionError::VersionMismatch => ErrorKind::Version,
        ConnectionError::CidsExhausted => ErrorKind::Exhausted,
        ConnectionError::TransportError(error) if is_about_tls(error.code) => ErrorKind::Unauthenticated,
        ConnectionError::ConnectionClosed(close) if is_about_tls(close.error_code) => {
            ErrorKind::Unauthenticated
        }
        // The connection below has ended, and can say why.
        ConnectionError::TransportError(error) if error.code == TransportErrorCode::INTERNAL_ERROR => {
            ErrorKind::Io
        }
        ConnectionError::TransportError(_) => ErrorKind::Malformed,
        ConnectionError::ConnectionClosed(_)
        | ConnectionError::ApplicationClosed(_)
        | ConnectionError::Reset => ErrorKind::Reset,
    };
    let code = match error {
        ConnectionError::TransportError(error) => Some(error.code),
        ConnectionError::ConnectionClosed(close) => Some(close.error_code),
        _ => None,
    };
    if code.is_some_and(|code| u64::from(code) == OTHER_AGREEMENT) {
        let what = "the other end has agreed on something else: the agreement was altered on its way";
        return (kind, what.into());
    }
    (kind, error.to_string())
}

/// TLS alerts are 256 codes of their own (RFC 9001, section 4.8).
fn is_about_tls(code: TransportErrorCode) -> bool {
    (0x100..0x200).contains(&u64::from(code))
}
