//! The client's side of the handshake.

use super::idle;
use crate::Settings;
use crate::wire::{self, Answer, Kind, LARGEST, Offer, Refusal, Tag, Unreadable, VERSION};
use bertha_core::{Error, ErrorKind, Node};
use std::time::{Duration, Instant};

/// The longest pause between two offers.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A client that has proposed its stack and waits for the answer.
///
/// `poll_transmit` gives what is to be sent now, `poll_timeout` says when to call it again, `handle` takes what
/// arrives. The offer is repeated, with growing pauses, until there is an answer or time is up.
#[derive(Debug)]
pub struct Handshake {
    offer: Vec<u8>,
    id: u64,
    choices: usize,
    pause: Duration,
    next: Instant,
    deadline: Instant,
}

/// What a message meant to a waiting client.
#[derive(Debug)]
pub enum Progress {
    /// Nothing: damaged, late, or of another connection. It is dropped and counted.
    Ignored,
    /// Data of this connection that overtook the answer; keep it.
    Early,
    /// The server picked a stack.
    Agreed(Answer),
}

impl Handshake {
    /// A handshake for a stack that describes itself as `nodes`, with a connection id made of random bits.
    ///
    /// # Errors
    /// [`TooLarge`](ErrorKind::TooLarge) if the offer doesn't fit into a message of `mtu` bytes.
    pub fn new(
        nodes: &[Node],
        id: u64,
        mtu: usize,
        now: Instant,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let unoffered = |reason: String| Error::new(ErrorKind::Invalid, reason).at("negotiation");
        let mut offer = Offer::new(id, nodes).map_err(|mismatch| unoffered(mismatch.to_string()))?;
        offer.idle_ms = idle::to_millis(settings.idle_timeout);
        let offer = wire::encode(Kind::Offer, Tag::of(id), &offer)
            .map_err(|error| unoffered(format!("the offer can't be encoded: {error}")))?;
        let most = mtu.min(LARGEST);
        if offer.len() > most {
            let what = format!(
                "the offer takes {} bytes, at most {most} fit into one message; use fewer alternatives or smaller capabilities",
                offer.len()
            );
            return Err(Error::new(ErrorKind::TooLarge, what).at("negotiation"));
        }
        let choices = nodes.iter().map(Node::selects).sum();
        let deadline = now + settings.handshake_timeout;
        Ok(Self { offer, id, choices, pause: settings.repeat_after, next: now, deadline })
    }

    /// The connection id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// When to call [`poll_transmit`](Self::poll_transmit) next.
    pub fn poll_timeout(&self) -> Instant {
        self.next.min(self.deadline)
    }

    /// The offer, if it is to be sent now.
    ///
    /// # Errors
    /// [`TimedOut`](ErrorKind::TimedOut) once there was no answer for too long.
    pub fn poll_transmit(&mut self, now: Instant) -> Result<Option<&[u8]>, Error> {
        if now >= self.deadline {
            let what = "the server did not answer the offer; is it running, and is it a Bertha server?";
            return Err(Error::new(ErrorKind::TimedOut, what).at("negotiation"));
        }
        if now < self.next {
            return Ok(None);
        }
        self.next = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(Some(&self.offer))
    }

    /// Takes a message that arrived.
    ///
    /// # Errors
    /// The server's refusal, with its reason.
    pub fn handle(&mut self, message: &[u8]) -> Result<Progress, Error> {
        let Some((kind, tag)) = wire::header(message) else { return Ok(Progress::Ignored) };
        if tag != Tag::of(self.id) {
            return Ok(Progress::Ignored);
        }
        match kind {
            Kind::Data => Ok(Progress::Early),
            Kind::Answer => match wire::decode::<Answer>(message) {
                Ok(answer) if answer.id == self.id && answer.client_picks.len() == self.choices => {
                    Ok(Progress::Agreed(answer))
                }
                Err(Unreadable::Version(version)) => Err(other_version(version)),
                _ => Ok(Progress::Ignored),
            },
            Kind::Refusal => match wire::decode::<Refusal>(message) {
                Ok(refusal) if refusal.id == self.id || refusal.id == 0 => {
                    Err(Error::new(refusal.kind.error_kind(), refusal.text).at("negotiation"))
                }
                Err(Unreadable::Version(version)) => Err(other_version(version)),
                _ => Ok(Progress::Ignored),
            },
            _ => Ok(Progress::Ignored),
        }
    }
}

fn other_version(version: u8) -> Error {
    let what = format!(
        "the server speaks version {version} of the negotiation protocol, this client version {VERSION}"
    );
    Error::new(ErrorKind::Version, what).at("negotiation")
}
