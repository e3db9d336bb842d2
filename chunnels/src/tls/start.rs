//! The handshake, and the proofs of the agreement.

use super::machine::Machine;
use super::pieces::Pieces;
use super::statistics::Handshaken;
use super::{TARGET, TlsConnection, lingering};
use crate::arrived::Arrived;
use crate::certificates::binding::PROOF;
use crate::certificates::refusal;
use crate::certificates::side::Side;
use bertha_core::{Base, Buf, ConnectContext, Connection, Error, ErrorKind, Octets, Role, Runtime, Secured};
use futures_util::future::{Either, select};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// The time-out of the handshake.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Time for which an end that has refused the other end waits until the other end knows it.
const ALERT_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection whose handshake is under way.
struct Handshake<'a, Inner> {
    side: &'a Side,
    inner: &'a Inner,
    pieces: Pieces,
    machine: Machine,
    /// The bytes that have arrived and are not taken yet.
    arrived: VecDeque<Buf>,
    /// True if the other end has announced its end behind its part of the handshake.
    has_closed: bool,
}

pub(super) async fn start<Inner: Connection<Data: Octets>>(
    side: &Side,
    largest: usize,
    inner: Inner,
    context: ConnectContext<'_, Inner>,
) -> Result<TlsConnection<Inner>, Error> {
    let transcript = context.transcript();
    // Without negotiation each end has the client's role in the stack.
    if transcript.is_some() && side.is_client() != (context.role() == Role::Client) {
        let what = format!(
            "this Tls is for a {side}, and this end is the other; make clients with Tls::client and servers with Tls::server"
        );
        return Err(Error::new(ErrorKind::Invalid, what));
    }
    let config = side.config()?;
    let machine = refusal::step(side, || Machine::new(config, largest))?;
    let pieces = Pieces::new(&inner);
    let arrived = VecDeque::new();
    let mut handshake = Handshake { side, inner: &inner, pieces, machine, arrived, has_closed: false };
    let runtime = inner.base().runtime().clone();
    let timeout = pin!(runtime.sleep_until(runtime.now() + TIMEOUT));
    let completed = match select(pin!(handshake.complete(transcript.as_ref())), timeout).await {
        Either::Left((completed, _)) => completed,
        Either::Right(_) => {
            let what = format!("the other end did not complete the TLS handshake within {TIMEOUT:?}");
            Err(Error::new(ErrorKind::TimedOut, what))
        }
    };
    let secured = match completed {
        Ok(secured) => secured,
        Err(error) => {
            // The alert tells the other end the reason.
            let alert = async {
                if handshake.flush().await.is_ok() {
                    let _ = inner.drain().await;
                }
            };
            let timeout = pin!(runtime.sleep_until(runtime.now() + ALERT_TIMEOUT));
            select(pin!(alert), timeout).await;
            return Err(error);
        }
    };
    context.secured(secured);
    let Handshake { pieces, machine, mut arrived, has_closed, .. } = handshake;
    if has_closed {
        // With a piece, if an empty one, the connection asks the machine for the messages before the end.
        arrived.push_back(Buf::new(0, 0)?);
    }
    let peer = inner.base().peer_addr();
    side.warn_of_peer(machine.shown(), &peer);
    let is_resumed = machine.is_resumed();
    side.handshakes().done(is_resumed);
    tracing::debug!(target: TARGET, %peer, resumed = is_resumed, "the handshake is done");
    let handshaken = Arc::new(Handshaken { side: side.clone(), is_resumed });
    context.observes(&handshaken);
    let lingers = lingering::is_needed(&inner, transcript.is_some());
    Ok(TlsConnection::new(handshaken, inner, pieces, machine, arrived, lingers))
}

impl<Inner: Connection<Data: Octets>> Handshake<'_, Inner> {
    /// Completes the handshake; then, with a transcript, exchanges the proofs of it.
    async fn complete(&mut self, transcript: Option<&[u8; 32]>) -> Result<Secured, Error> {
        loop {
            self.flush().await?;
            if !self.machine.is_handshaking() {
                break;
            }
            self.take().await?;
        }
        if !self.machine.has_agreed_on(self.side.protocol()) {
            return Err(self.side.no_protocol());
        }
        if self.machine.is_resumed() && self.side.identifies_peer() {
            refusal::step(self.side, || self.side.check_again(self.machine.shown()))?;
        }
        if let Some(transcript) = transcript {
            self.prove(transcript).await?;
        }
        let secured = Secured::new(self.machine.control_key(transcript)?);
        Ok(match self.side.peer(self.machine.shown()) {
            Some(peer) => secured.with_peer(peer),
            None => secured,
        })
    }

    /// Sends the proof of this end, and waits for the proof of the other end.
    async fn prove(&mut self, transcript: &[u8; 32]) -> Result<(), Error> {
        let proofs = self.machine.proofs(transcript, self.side)?;
        self.machine.write(&[IoSlice::new(&proofs.ours())])?;
        self.flush().await?;
        let mut proof = [0; PROOF];
        let mut known = 0;
        loop {
            known = self.machine.take_proof(&mut proof, known);
            if known == PROOF {
                break;
            }
            self.take().await?;
        }
        if proofs.is_theirs(&proof) {
            return Ok(());
        }
        let what = "the other end proved another agreement: the negotiation was altered on its way";
        Err(Error::new(ErrorKind::Unauthenticated, what))
    }

    /// Takes the next bytes that arrive.
    async fn take(&mut self) -> Result<(), Error> {
        if self.has_closed {
            return Err(closed());
        }
        if self.arrived.is_empty() {
            let mut arrived = Arrived::<Inner::Data>::new(&mut self.arrived);
            self.inner.recv_batch(&mut arrived, 1).await.map_err(|error| {
                if error.kind() != ErrorKind::Closed {
                    return error;
                }
                ended().because(error)
            })?;
            if arrived.has_ended {
                return Err(ended());
            }
        }
        let Some(piece) = self.arrived.front_mut() else { return Ok(()) };
        let mut bytes = &piece[..];
        let has_closed = refusal::step(self.side, || self.machine.take(&mut bytes))?;
        let taken = piece.len() - bytes.len();
        piece.advance(taken)?;
        if piece.is_empty() {
            self.arrived.pop_front();
        }
        if has_closed && self.machine.is_handshaking() {
            return Err(closed());
        }
        self.has_closed = has_closed;
        Ok(())
    }

    /// Sends the waiting records.
    async fn flush(&mut self) -> Result<(), Error> {
        let mut records = Vec::new();
        self.pieces.fill(&mut self.machine, self.inner, &mut records)?;
        if records.is_empty() {
            return Ok(());
        }
        match self.inner.send_batch(records.into_iter().map(Into::into)).await {
            // The other end may have said why.
            Err(error) if error.ends_connection() => loop {
                self.take().await?;
            },
            sent => sent,
        }
    }
}

#[cold]
fn closed() -> Error {
    Error::new(ErrorKind::Reset, "the other end closed during the TLS handshake")
}

#[cold]
fn ended() -> Error {
    Error::new(ErrorKind::Reset, "the other end ended the stream during the TLS handshake")
}
