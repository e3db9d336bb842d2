//! The client's side of the handshake.

use super::expected::Expected;
use super::idle_timeout;
use super::prune::{Choices, Pruned};
use super::requirements::Requirements;
use crate::auth::{Offering, with_early};
use crate::wire::{
    self, Answer, CLAIM, ENVELOPE, Kind, LARGEST, Offer, PresentedTicket, Refusal, RefusalKind, Retry, Tag,
    Unreadable, VERSION, envelop,
};
use crate::{Session, Settings};
use bertha_core::guarantee::{Reliable, Set};
use bertha_core::{Error, ErrorKind, Node, Role};
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum pause between two offers.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Maximum number of cookies that are returned at once. Later cookies are returned when the offer is due, so
/// that no attacker makes the client send at will.
const PROMPT_RETURNS: u32 = 4;

/// Time for which a client waits for an authentic reply after a refusal that it can't believe. So an attacker
/// that only adds messages can't keep client and server apart, and a client that asks the wrong server soon
/// gets the refusal.
const GRACE: Duration = Duration::from_secs(1);

/// The offer of a client: its stack without the alternatives that can't hold.
#[derive(Debug, Clone)]
pub(crate) struct Proposal {
    pub(crate) choices: Choices,
    /// The offer without a connection id.
    offer: Offer,
    /// The encoded stack of the offer.
    pub(crate) stack: Vec<u8>,
    /// True if only the server can send to this end, as over a stream.
    is_certain: bool,
}

impl Proposal {
    /// Makes the offer of a client whose stack describes itself as `nodes`, and has to hold within
    /// `requirements`.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the stack can't be offered.
    pub(crate) fn new(nodes: &[Node], requirements: Requirements) -> Result<Self, Error> {
        let Pruned { nodes, choices } = Pruned::new(nodes, requirements);
        let offer = Offer::new(0, &nodes).map_err(|mismatch| unoffered(mismatch.to_string()))?;
        let stack = offer.stack().map_err(unencoded)?;
        let is_certain = requirements.transport.includes(Set::of::<Reliable>());
        Ok(Self { choices, offer, stack, is_certain })
    }
}

fn unencoded(error: impl Display) -> Error {
    unoffered(format!("the offer can't be encoded: {error}"))
}

fn unoffered(reason: String) -> Error {
    Error::new(ErrorKind::Invalid, reason).at("negotiation")
}

/// A client that has proposed its stack and waits for the answer.
///
/// `poll_transmit` gives the message to be sent now, `poll_timeout` the time of its next call, `handle` takes
/// arriving messages. The offer is repeated, with growing pauses, until there is an answer or time is up.
#[derive(Debug)]
pub struct Handshake {
    offering: Offering,
    returned: Option<Vec<u8>>,
    prompt_returns: u32,
    repeat_after: Duration,
    id: u64,
    choices: Choices,
    /// True if only the server can send to this end.
    is_certain: bool,
    pause: Duration,
    next: Option<Instant>,
    deadline: Instant,
    doubt: Option<Doubt>,
    forged: u64,
}

/// A reply that the client can't believe.
#[derive(Debug)]
struct Doubt {
    text: String,
    has_grace: bool,
}

/// The effect of a message on a waiting client.
#[derive(Debug)]
pub enum Progress {
    /// The message is damaged, late, forged, or of another connection. It is to be dropped and counted.
    Ignored,
    /// The server asks for the offer once more: call [`poll_transmit`](Handshake::poll_transmit).
    Again,
    /// The message is data of this connection that overtook the answer, and is to be kept.
    Early,
    /// The server has picked a stack. The client's picks are the picks of the whole stack.
    Agreed(Answer, Arc<Session>),
}

impl Handshake {
    /// Makes a handshake for a stack that describes itself as `nodes`, of which the alternatives that can't
    /// hold within `requirements` are not offered. `random` gives unpredictable bits: the first 64 are the
    /// connection id, and more are drawn only with credentials.
    ///
    /// # Errors
    /// [`TooLarge`](ErrorKind::TooLarge) if the offer doesn't fit into a message of `mtu` bytes, or not with
    /// a cookie; [`Invalid`](ErrorKind::Invalid) if the credentials can't tell a server from another host.
    pub fn new(
        nodes: &[Node],
        requirements: Requirements,
        random: impl FnMut() -> u64,
        mtu: usize,
        now: Instant,
        settings: &Settings,
    ) -> Result<Self, Error> {
        Self::proposing(Proposal::new(nodes, requirements)?, random, mtu, now, settings)
    }

    /// Works as [`new`](Self::new), for this proposal.
    pub(crate) fn proposing(
        Proposal { choices, mut offer, stack, is_certain }: Proposal,
        mut random: impl FnMut() -> u64,
        mtu: usize,
        now: Instant,
        settings: &Settings,
    ) -> Result<Self, Error> {
        settings.credentials.check(Role::Client)?;
        let id = random();
        offer.id = id;
        offer.idle_ms = idle_timeout::to_millis(settings.idle_timeout);
        let offering = Offering::new(&offer, &stack, &settings.credentials, random).map_err(unencoded)?;
        let len = offering.message().len() + ENVELOPE;
        let most = mtu.min(LARGEST);
        if len > most {
            let what = format!(
                "the offer takes {len} bytes, at most {most} fit into one message; use fewer alternatives or smaller capabilities"
            );
            return Err(Error::new(ErrorKind::TooLarge, what).at("negotiation"));
        }
        Ok(Self {
            offering,
            returned: None,
            prompt_returns: 0,
            repeat_after: settings.repeat_after,
            id,
            choices,
            is_certain,
            pause: settings.repeat_after,
            next: None,
            deadline: now + settings.handshake_timeout,
            doubt: None,
            forged: 0,
        })
    }

    /// Returns the connection id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the offer, without a cookie.
    pub(super) fn offer(&self) -> &[u8] {
        self.offering.message()
    }

    /// Returns the expectation that the server repeats this answer. The answer's picks are the picks of the
    /// whole stack.
    pub(super) fn expectation(&self, answer: &Answer) -> Expected {
        Expected {
            client_picks: self.choices.contract(&answer.client_picks),
            server_picks: answer.server_picks.clone(),
            idle_ms: answer.idle_ms,
            capabilities: answer.capabilities.clone(),
        }
    }

    /// Returns true if a key proves the origin of messages that go with the offer.
    pub(super) fn seals_early(&self) -> bool {
        self.offering.early_key().is_some()
    }

    /// Returns the offer, with a cookie if the server wants a cookie, and with the early messages behind it.
    pub(super) fn with_early<'m>(
        &self,
        offer: &[u8],
        claim: &[u8; CLAIM],
        presented: PresentedTicket,
        messages: impl ExactSizeIterator<Item = &'m [u8]>,
    ) -> Vec<u8> {
        if messages.len() == 0 {
            return offer.to_vec();
        }
        let key = self.offering.early_key();
        with_early(offer, claim, presented, messages, key.as_ref()).unwrap_or_else(|| offer.to_vec())
    }

    /// Returns the offer, with the cookie that the server wants.
    pub(crate) fn current(&self) -> &[u8] {
        self.returned.as_deref().unwrap_or(self.offering.message())
    }

    /// Returns the number of forged messages in the server's name.
    pub fn forged(&self) -> u64 {
        self.forged
    }

    /// Returns the time for the next call of [`poll_transmit`](Self::poll_transmit).
    pub fn poll_timeout(&self) -> Instant {
        self.next.map_or(self.deadline, |next| next.min(self.deadline))
    }

    /// Returns the offer, if it is to be sent now.
    ///
    /// # Errors
    /// [`TimedOut`](ErrorKind::TimedOut) once there was no answer for too long, with the text of a reply that
    /// can't be believed, if there was such a reply.
    pub fn poll_transmit(&mut self, now: Instant) -> Result<Option<&[u8]>, Error> {
        if let Some(doubt) = self.doubt.as_mut().filter(|doubt| !doubt.has_grace) {
            doubt.has_grace = true;
            self.deadline = self.deadline.min(now + GRACE);
        }
        if now >= self.deadline {
            return Err(self.gave_up());
        }
        if self.next.is_some_and(|next| now < next) {
            return Ok(None);
        }
        self.next = Some(now + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(Some(self.current()))
    }

    /// Returns the error for a reply without a proof, which decides only the text of the error. Otherwise an
    /// attacker could make an application fall back to weaker demands after a refusal.
    fn gave_up(&self) -> Error {
        let (kind, what) = match &self.doubt {
            None => (
                ErrorKind::TimedOut,
                "the server did not answer the offer; is it running, and is it a Bertha server?".into(),
            ),
            Some(doubt) => (
                ErrorKind::Unauthenticated,
                format!("no authentic reply came, but one that says: {}", doubt.text),
            ),
        };
        Error::new(kind, what).at("negotiation")
    }

    /// Handles a received message.
    ///
    /// # Errors
    /// The server's refusal, with its reason.
    pub fn handle(&mut self, message: &[u8]) -> Result<Progress, Error> {
        let Some((kind, tag)) = wire::header(message) else { return Ok(Progress::Ignored) };
        if tag != Tag::of(self.id) {
            return self.turned_away(kind, tag, message);
        }
        match kind {
            Kind::Data => Ok(Progress::Early),
            Kind::Answer => match self.offering.answer(message) {
                Ok((mut answer, session))
                    if answer.id == self.id && answer.client_picks.len() == self.choices.left() =>
                {
                    answer.client_picks = self.choices.expand(&answer.client_picks);
                    Ok(Progress::Agreed(answer, Arc::new(session)))
                }
                Err(unreadable) => self.unread(unreadable, message),
                Ok(_) => Ok(Progress::Ignored),
            },
            Kind::Refusal => match self.offering.refusal(message) {
                Ok(Refusal { id, kind, text }) if id == self.id || id == 0 => {
                    Err(Error::new(kind.error_kind(), text).at("negotiation"))
                }
                Err(unreadable) => self.unread(unreadable, message),
                Ok(_) => Ok(Progress::Ignored),
            },
            Kind::Retry => Ok(self.return_cookie(message)),
            _ => Ok(Progress::Ignored),
        }
    }

    /// Handles a message without the tag of this connection. Over a stream, a server that has no room refuses
    /// before it has read the offer. Elsewhere any host could send such a refusal.
    fn turned_away(&self, kind: Kind, tag: Tag, message: &[u8]) -> Result<Progress, Error> {
        if !self.is_certain || kind != Kind::Refusal || tag != Tag::of(0) {
            return Ok(Progress::Ignored);
        }
        match wire::decode::<Refusal>(message) {
            Ok(Refusal { id: 0, kind: RefusalKind::Busy, text }) => {
                Err(Error::new(RefusalKind::Busy.error_kind(), text).at("negotiation"))
            }
            _ => Ok(Progress::Ignored),
        }
    }

    /// Handles a reply that can't be read, or can't be believed.
    fn unread(&mut self, unreadable: Unreadable, message: &[u8]) -> Result<Progress, Error> {
        let text = match unreadable {
            Unreadable::Version(version) => {
                let text = format!(
                    "the server speaks version {version} of the negotiation protocol, this client version {VERSION}"
                );
                if !self.offering.is_authenticated() {
                    return Err(Error::new(ErrorKind::Version, text).at("negotiation"));
                }
                text
            }
            Unreadable::Unproven => match wire::decode::<Refusal>(message) {
                Ok(refusal) => refusal.text,
                Err(_) => "nothing that shows the key that this client asks for".into(),
            },
            _ => return Ok(Progress::Ignored),
        };
        self.forged += 1;
        self.doubt.get_or_insert(Doubt { text, has_grace: false });
        Ok(Progress::Ignored)
    }

    fn return_cookie(&mut self, message: &[u8]) -> Progress {
        let Ok(Retry { id, cookie }) = wire::decode(message) else { return Progress::Ignored };
        let returned = envelop(&cookie, self.offering.message()).filter(|_| id == self.id);
        if returned.is_none() || returned == self.returned {
            return Progress::Ignored;
        }
        self.returned = returned;
        if self.prompt_returns < PROMPT_RETURNS {
            self.prompt_returns += 1;
            self.next = None;
            // There is a server, and it has one more message to get through.
            self.pause = self.repeat_after;
        }
        Progress::Again
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use crate::wire::HEADER;
    use bertha_core::Properties;

    /// A sender that has not seen the offer knows no id, and so refuses none.
    #[test]
    fn guessed_refusals_are_not_believed() {
        const ID: u64 = 0x0123_4567_89ab_cdef;
        let now = Instant::now();
        let settings = Settings::default();
        let mut handshake = Handshake::new(&[], Requirements::OPEN, || ID, 1200, now, &settings).unwrap();
        let text = "try something weaker".into();
        let refusal = Refusal { id: 0, kind: RefusalKind::Incompatible, text };
        let mut message = wire::encode(Kind::Refusal, Tag::of(0), &refusal).unwrap();
        let mut refuses = |guess: u64| {
            message[..HEADER].copy_from_slice(&Tag::of(guess).header(Kind::Refusal));
            let end = message.len() - 4;
            let check = crc32fast::hash(&message[..end]);
            message[end..].copy_from_slice(&check.to_le_bytes());
            handshake.handle(&message).is_err()
        };
        assert!((0..1 << 24).all(|guess| !refuses(guess)));
        assert!(refuses(ID), "the tag is right");
    }

    /// Over a stream only the server can say that it has no room, and it may not know the client's id.
    #[test]
    fn a_server_without_room_is_believed_over_a_stream_alone() {
        let now = Instant::now();
        let settings = Settings::default();
        let text = "come back later".into();
        let busy = Refusal { id: 0, kind: RefusalKind::Busy, text };
        let message = wire::encode(Kind::Refusal, Tag::of(0), &busy).unwrap();
        for (transport, is_believed) in [(Properties::STREAM, true), (Properties::DATAGRAM, false)] {
            let requirements = Requirements::new(Set::NONE, transport);
            let mut handshake = Handshake::new(&[], requirements, || 7, 1200, now, &settings).unwrap();
            let refused = handshake.handle(&message).err().map(|error| error.kind());
            assert_eq!(refused, is_believed.then_some(ErrorKind::Exhausted));
        }
    }
}
