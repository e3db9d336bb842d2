//! The handshake over a connection that loses, repeats and reorders its messages.

use super::TARGET;
use super::configuration::Configuration;
use super::handshake::{Answer, First, HandshakeRequest, Initiator, Responder};
use super::primitives::Ephemeral;
use super::session::Session;
use super::wire::{self, CONFIRMATION, HEADER, Header, Refusal};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::{Duration, Instant};

/// Time after which a message of the initiator is repeated at first; it doubles each time.
pub(super) const REPEAT: Duration = Duration::from_millis(50);

/// The time-out of the handshake.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// Time-out after a useless message that may be forged, so that this end still waits for a genuine message.
const DOUBT_TIMEOUT: Duration = Duration::from_secs(1);

/// The pause after an error that passes.
const PAUSE: Duration = Duration::from_millis(1);

/// The result of a handshake.
pub(super) struct Established {
    pub(super) session: Box<Session>,
    /// The confirmation, which the initiator repeats until the responder has shown that it has the keys in use.
    pub(super) confirmation: Option<[u8; HEADER]>,
    /// The initiator's first message, if it arrived before the confirmation.
    pub(super) first: Option<First>,
}

/// Repeats the initiation until the responder has answered, and confirms.
pub(super) async fn initiate<C: Connection<Data = Buf>>(
    inner: &C,
    below: usize,
    configuration: &Configuration,
    transcript: Option<[u8; 32]>,
) -> Result<Established, Error> {
    let runtime = inner.base().runtime();
    let ephemeral = Ephemeral::draw(|| runtime.random());
    let mut initiator = Initiator::new(configuration, transcript, ephemeral)?;
    let mut limit = TimeLimit::from(runtime.now());
    let mut pause = REPEAT;
    let mut repeat_at = runtime.now();
    loop {
        let now = runtime.now();
        limit.check(now)?;
        if now >= repeat_at {
            send(inner, below, &initiator.initiation).await?;
            (repeat_at, pause) = (now + pause, pause * 2);
        }
        let Some(message) = recv(inner, repeat_at.min(limit.deadline)).await? else { continue };
        match initiator.handle(&message)? {
            Some(Answer::Response(session)) => {
                let tag = session.sending.encrypt(CONFIRMATION, &mut []);
                let confirmation = tag.map(|tag| Header { number: CONFIRMATION, tag }.encode());
                if let Some(confirmation) = &confirmation {
                    send(inner, below, confirmation).await?;
                }
                return Ok(Established { session, confirmation, first: None });
            }
            // Little time is left for a genuine answer.
            Some(Answer::Doubtful(reason)) if limit.doubt(reason, now) => {
                (repeat_at, pause) = (now + REPEAT, 2 * REPEAT);
            }
            _ => {}
        }
    }
}

/// Answers each initiation until the initiator has confirmed. Sends nothing unasked.
pub(super) async fn respond<C: Connection<Data = Buf>>(
    inner: &C,
    below: usize,
    configuration: &Configuration,
    transcript: Option<[u8; 32]>,
) -> Result<Established, Error> {
    let runtime = inner.base().runtime();
    let mut responder = Responder::new(configuration, transcript);
    let mut limit = TimeLimit::from(runtime.now());
    loop {
        limit.check(runtime.now())?;
        let Some(message) = recv(inner, limit.deadline).await? else { continue };
        match responder.handle(&message, || runtime.random())? {
            Some(HandshakeRequest::Respond(response)) => {
                limit.trust();
                send(inner, below, &response).await?;
            }
            Some(HandshakeRequest::Refuse(reason)) => {
                let peer = inner.base().peer_addr();
                tracing::debug!(target: TARGET, %peer, ?reason, "an initiation is not accepted");
                limit.doubt(reason, runtime.now());
                send(inner, below, &wire::refusal(reason)).await?;
            }
            Some(HandshakeRequest::Confirmed(session, first)) => {
                return Ok(Established { session, confirmation: None, first });
            }
            None => {}
        }
    }
}

/// The time limit of a handshake.
struct TimeLimit {
    start: Instant,
    deadline: Instant,
    /// The reason of the first useless message.
    doubt: Option<Refusal>,
    has_genuine: bool,
}

impl TimeLimit {
    fn from(start: Instant) -> Self {
        Self { start, deadline: start + TIMEOUT, doubt: None, has_genuine: false }
    }

    /// Shortens the limit to a second for a genuine message, unless a genuine message has arrived. Returns
    /// true if this is new.
    fn doubt(&mut self, reason: Refusal, now: Instant) -> bool {
        let is_new = self.doubt.is_none() && !self.has_genuine;
        if is_new {
            (self.doubt, self.deadline) = (Some(reason), self.deadline.min(now + DOUBT_TIMEOUT));
        }
        is_new
    }

    /// Records that a genuine message has arrived, so that all other messages were forged.
    fn trust(&mut self) {
        (self.has_genuine, self.doubt, self.deadline) = (true, None, self.start + TIMEOUT);
    }

    fn check(&self, now: Instant) -> Result<(), Error> {
        if now < self.deadline {
            return Ok(());
        }
        let (kind, what) = match self.doubt {
            None => (ErrorKind::TimedOut, format!("the other end did not answer for {TIMEOUT:?}")),
            Some(Refusal::Unreadable) => {
                let what = "the other end has another key, or another transcript: the negotiation was altered on its way";
                (ErrorKind::Unauthenticated, what.into())
            }
            Some(Refusal::Untrusted) => {
                let what = "the server does not trust the client's key; add its public key to Noise::server";
                (ErrorKind::Unauthenticated, what.into())
            }
        };
        Err(Error::new(kind, what))
    }
}

/// Waits for a message until `deadline`.
async fn recv<C: Connection<Data = Buf>>(inner: &C, deadline: Instant) -> Result<Option<Buf>, Error> {
    let waiting = pin!(inner.base().runtime().sleep_until(deadline));
    match select(pin!(inner.recv()), waiting).await {
        Either::Left((Err(error), waiting)) if passes(&error) => {
            tracing::debug!(target: TARGET, peer = %inner.base().peer_addr(), %error, "nothing can be received for a moment");
            let pause = pin!(inner.base().runtime().sleep_until(inner.base().runtime().now() + PAUSE));
            select(pause, waiting).await;
            Ok(None)
        }
        Either::Left((message, _)) => message.map(Some),
        Either::Right(_) => Ok(None),
    }
}

/// Returns true if the message of a call that failed so is lost, as one that the network drops, and is repeated in its time.
fn passes(error: &Error) -> bool {
    let passing = [ErrorKind::Exhausted, ErrorKind::NotSent, ErrorKind::Unreachable];
    passing.contains(&error.kind()) && !error.ends_connection()
}

/// Sends a message of the handshake, or loses it, without the headroom that layers above may have reserved.
pub(super) async fn send<C>(inner: &C, below: usize, message: &[u8]) -> Result<(), Error>
where
    C: Connection<Data = Buf>,
{
    match inner.send(Buf::copy_of(message, below)?).await {
        Err(error) if passes(&error) => {
            tracing::debug!(target: TARGET, peer = %inner.base().peer_addr(), %error, "a message of the handshake was not sent");
            Ok(())
        }
        sent => sent,
    }
}
