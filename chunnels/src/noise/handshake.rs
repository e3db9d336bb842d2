//! The handshake of each side, without I/O, clock or randomness.

use super::configuration::{Configuration, Side};
use super::primitives::Ephemeral;
use super::session::Session;
use super::wire::{self, Arrived, HEADER, RESPONSE, Refusal};
use bertha_core::{Buf, Error, ErrorKind};
use snow::HandshakeState;

/// Number of handshakes that a responder keeps at once. Without a transcript more than one initiation may
/// arrive: from an initiator that began anew, or recorded in an earlier connection.
const CANDIDATES: usize = 4;

/// The initiator's handshake.
pub(super) struct Initiator {
    state: HandshakeState,
    /// The initiation on the wire.
    pub(super) initiation: Vec<u8>,
}

/// The meaning of a message for the initiator.
pub(super) enum Answer {
    /// A genuine message from the responder.
    Response(Box<Session>),
    /// A useless message, perhaps forged.
    Doubtful(Refusal),
}

impl Initiator {
    /// # Errors
    /// None in practice; see [`Configuration::handshake`].
    pub(super) fn new(
        configuration: &Configuration,
        transcript: Option<[u8; 32]>,
        ephemeral: Ephemeral,
    ) -> Result<Self, Error> {
        let state = configuration.handshake(Side::Initiator, transcript, ephemeral);
        let mut message = [0; wire::STATIC_INITIATION];
        let written = state.and_then(|mut state| Ok((state.write_message(&[], &mut message)?, state)));
        let (length, state) = written.map_err(impossible)?;
        Ok(Self { state, initiation: wire::initiation(&message[..length]) })
    }

    /// Handles a message from the other end; `None` for a message that is no answer.
    pub(super) fn handle(&mut self, message: &[u8]) -> Result<Option<Answer>, Error> {
        let response = match wire::decode(message) {
            Some(Arrived::Response(response)) => response,
            Some(Arrived::Refusal(reason)) => return Ok(Some(Answer::Doubtful(reason))),
            _ => return Ok(None),
        };
        if self.state.read_message(response, &mut []).is_err() {
            return Ok(Some(Answer::Doubtful(Refusal::Unreadable)));
        }
        Session::of(&mut self.state, Side::Initiator).map(|session| Some(Answer::Response(session)))
    }
}

/// The responder's handshake.
pub(super) struct Responder<'a> {
    configuration: &'a Configuration,
    transcript: Option<[u8; 32]>,
    /// The handshakes, oldest first.
    candidates: Vec<Candidate>,
}

/// A handshake that the initiator has not confirmed. Its initiation may be a replay.
struct Candidate {
    initiation: Vec<u8>,
    /// The response on the wire.
    response: Vec<u8>,
    session: Box<Session>,
}

/// The meaning of a message for the responder.
pub(super) enum HandshakeRequest {
    /// An initiation, to be answered with this response.
    Respond(Vec<u8>),
    /// An initiation that is not accepted, and perhaps forged.
    Refuse(Refusal),
    /// The initiator has the keys of this session. Its first message may have shown it.
    Confirmed(Box<Session>, Option<First>),
}

/// A message that arrived before the initiator's confirmation.
pub(super) struct First {
    pub(super) number: u64,
    pub(super) message: Buf,
}

impl<'a> Responder<'a> {
    pub(super) fn new(configuration: &'a Configuration, transcript: Option<[u8; 32]>) -> Self {
        Self { configuration, transcript, candidates: Vec::new() }
    }

    /// Handles a message from the other end; `None` for a message that changes nothing.
    ///
    /// # Errors
    /// [`Exhausted`](ErrorKind::Exhausted) without a buffer for the first message.
    pub(super) fn handle(
        &mut self,
        message: &[u8],
        random: impl FnMut() -> u64,
    ) -> Result<Option<HandshakeRequest>, Error> {
        match wire::decode(message) {
            Some(Arrived::Initiation(initiation)) => self.on_initiation(initiation, random).map(Some),
            Some(Arrived::Transport(header)) => self.on_transport(header, &message[HEADER..]),
            _ => Ok(None),
        }
    }

    fn on_initiation(
        &mut self,
        initiation: &[u8],
        random: impl FnMut() -> u64,
    ) -> Result<HandshakeRequest, Error> {
        let known = self.candidates.iter().find(|candidate| candidate.initiation == initiation);
        if let Some(known) = known {
            return Ok(HandshakeRequest::Respond(known.response.clone()));
        }
        let ephemeral = Ephemeral::draw(random);
        let state = self.configuration.handshake(Side::Responder, self.transcript, ephemeral);
        let mut state = state.map_err(impossible)?;
        if state.read_message(initiation, &mut []).is_err() {
            return Ok(HandshakeRequest::Refuse(Refusal::Unreadable));
        }
        if !state.get_remote_static().is_none_or(|key| self.configuration.trusts(key)) {
            return Ok(HandshakeRequest::Refuse(Refusal::Untrusted));
        }
        let mut response = [0; RESPONSE];
        // The call fails if the initiator's ephemeral key is of small order.
        if state.write_message(&[], &mut response).is_err() {
            return Ok(HandshakeRequest::Refuse(Refusal::Unreadable));
        }
        if self.candidates.len() == CANDIDATES {
            self.candidates.remove(0);
        }
        let initiation = initiation.to_vec();
        let response = wire::response(&response);
        let session = Session::of(&mut state, Side::Responder)?;
        self.candidates.push(Candidate { initiation, response: response.clone(), session });
        Ok(HandshakeRequest::Respond(response))
    }

    fn on_transport(
        &mut self,
        header: wire::Header,
        encrypted: &[u8],
    ) -> Result<Option<HandshakeRequest>, Error> {
        for at in 0..self.candidates.len() {
            // Each attempt gets a copy, since a failed decryption destroys the message.
            let mut message = Buf::copy_of(encrypted, 0)?;
            if self.candidates[at].session.receiving.decrypt(header, &mut message) {
                let Candidate { session, .. } = self.candidates.swap_remove(at);
                let number = header.number;
                let first = (number != wire::CONFIRMATION).then_some(First { number, message });
                return Ok(Some(HandshakeRequest::Confirmed(session, first)));
            }
        }
        Ok(None)
    }
}

fn impossible(error: snow::Error) -> Error {
    Error::new(ErrorKind::Invalid, format!("the handshake can't begin: {error}")).because(error)
}
