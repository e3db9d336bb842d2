//! The agreement of two ends, and the reasons for it.

use super::takes_early_data;
use crate::auth::Session;
use crate::wire::Answer;
use bertha_core::{
    DifferingCapability, Explanation, Node, Note, PeerIdentity, PeerLayers, Picks, Role, resolve,
};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// The stack of a connection, and the reasons for it.
///
/// Displayed, it reads `ClientShard / Serialize, agreed as client; passed over: ...`, followed by the [notes](Self::notes) of its Chunnels.
#[derive(Debug, Clone)]
pub struct Agreement {
    role: Role,
    layers: Vec<Node>,
    picks: Vec<u8>,
    reasons: String,
    round: u64,
    session: Arc<Session>,
    zero_rtt: Option<ZeroRtt>,
    notes: Vec<Note>,
}

/// The outcome of the attempt to use a connection before the server has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ZeroRtt {
    /// There was no such attempt, for this reason.
    NotTried(&'static str),
    /// The server has not answered yet. The stack is the expected stack.
    Unanswered,
    /// The server took this number of messages with the offer.
    Taken(usize),
    /// The server agreed to the expected stack, but took no message with the offer: they were sent after its
    /// answer.
    NotTaken,
    /// The server picked another stack, and this number of messages was sent again over it.
    Resent(usize),
}

impl Agreement {
    pub(crate) fn new(role: Role, nodes: &[Node], answer: Answer, session: Arc<Session>) -> Self {
        let picks = if role == Role::Server { &answer.server_picks } else { &answer.client_picks };
        let layers = resolve(nodes, Picks::new(picks));
        Self::over(layers, role, answer, session)
    }

    /// Works as [`new`](Self::new), with these layers.
    pub(crate) fn over(layers: Vec<Node>, role: Role, answer: Answer, session: Arc<Session>) -> Self {
        let picks = match role {
            Role::Server => answer.server_picks,
            _ => answer.client_picks,
        };
        Self {
            role,
            layers,
            picks,
            reasons: answer.reasons,
            round: 0,
            session,
            zero_rtt: None,
            notes: Vec::new(),
        }
    }

    /// The other end of the layers in use, whose capabilities are the same but for `differing`.
    pub(crate) fn peer_layers(&self, differing: Vec<DifferingCapability>) -> PeerLayers {
        PeerLayers::new(self.layers.clone(), differing)
    }

    /// Makes the agreement that a client expects of the server.
    pub(crate) fn expected(layers: Vec<Node>, picks: Vec<u8>) -> Self {
        let reasons = String::new();
        let session = Arc::new(Session::unknown());
        let zero_rtt = Some(ZeroRtt::Unanswered);
        Self { role: Role::Client, layers, picks, reasons, round: 0, session, zero_rtt, notes: Vec::new() }
    }

    pub(crate) fn with(self, zero_rtt: Option<ZeroRtt>) -> Self {
        Self { zero_rtt, ..self }
    }

    /// Adds what the Chunnels of the stack have noted.
    pub(crate) fn noting(self, notes: Vec<Note>) -> Self {
        Self { notes, ..self }
    }

    /// Of a participant, which has no peer.
    pub(crate) fn among(leads: bool, nodes: &[Node], round: u64, picks: Vec<u8>) -> Self {
        let role = Role::Participant { leads };
        let layers = resolve(nodes, Picks::new(&picks));
        let reasons = String::new();
        let session = Arc::new(Session::unknown());
        Self { role, layers, picks, reasons, round, session, zero_rtt: None, notes: Vec::new() }
    }

    /// Returns the outcome of the first flight; `None` if the client [connected](crate::Negotiate::connect)
    /// without a first flight. A server knows only of first flights of which it took messages.
    pub fn zero_rtt(&self) -> Option<&ZeroRtt> {
        self.zero_rtt.as_ref()
    }

    /// Makes the agreement to which the connection has changed.
    pub(crate) fn renewed(&self, nodes: &[Node], round: u64, picks: Vec<u8>) -> Self {
        let layers = resolve(nodes, Picks::new(&picks));
        let reasons = String::new();
        let zero_rtt = self.zero_rtt.clone();
        let (role, session) = (self.role, self.session.clone());
        Self { role, layers, picks, reasons, round, session, zero_rtt, notes: Vec::new() }
    }

    /// Returns the number of this epoch of the connection: 0 for the stack with which it began, and a higher
    /// number after each [`upgrade`](crate::Negotiated::upgrade).
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Returns the role of this end.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the names of the Chunnels in use, top first.
    pub fn chunnels(&self) -> impl Iterator<Item = &'static str> {
        self.layers.iter().filter_map(|node| match node {
            Node::Layer(layer) => Some(layer.name()),
            Node::Select { .. } => None,
        })
    }

    /// Returns the alternative of each `select!` that is in use, in pre-order: 0 for the first, 1 for the
    /// rest.
    pub fn picks(&self) -> &[u8] {
        &self.picks
    }

    /// Returns SHA-256 over the exact bytes of offer and answer, which is equal on both ends.
    ///
    /// A Chunnel that authenticates the connection by its own means (TLS) [binds itself to
    /// it](bertha_core::ConnectContext::transcript), so that a connection with a forged agreement fails. With
    /// [`Credentials`](crate::Credentials) an attacker without the keys can't forge one in the first place.
    pub fn transcript(&self) -> [u8; 32] {
        self.session.transcript()
    }

    /// Returns the value to which Chunnels may bind themselves. It is `None` if all Chunnels take early data:
    /// a client may have built its stack before it knew the transcript, and both ends have to see equal
    /// values.
    pub(crate) fn binding(&self) -> Option<[u8; 32]> {
        binding(&self.layers, &self.session)
    }

    /// Returns the identity that the peer has proved: to a secure Chunnel of the stack (TLS, QUIC, Noise), or
    /// by [credentials](crate::Credentials::trusting). `None` if this end asked for no identity, or the peer
    /// had only a key that several ends share.
    pub fn peer(&self) -> Option<PeerIdentity> {
        self.session.peer()
    }

    /// Returns true if the agreement, and all later messages about the connection, are authenticated: by
    /// [`Credentials`](crate::Credentials) on both ends, or by a secure Chunnel of the stack (TLS, QUIC,
    /// Noise) whose handshake is over. Certificates alone suffice.
    pub fn is_authenticated(&self) -> bool {
        self.session.is_authenticated()
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Returns the reasons why alternatives were passed over, possibly cut; empty if the first choice was
    /// possible.
    pub fn reasons(&self) -> &str {
        &self.reasons
    }

    /// Returns what the Chunnels of this end have [noted](bertha_core::ConnectContext::note) about the connection while they were
    /// built, the lowest Chunnel first: for example whether messages go through shared memory, and if not, why not. The alternatives
    /// of a [`Fallback`](crate::Fallback) that lost follow.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}

/// The current agreement of a connection.
#[derive(Debug)]
pub(crate) struct CurrentAgreement(Mutex<Arc<Agreement>>);

impl CurrentAgreement {
    pub(crate) fn new(agreement: Agreement) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Arc::new(agreement))))
    }

    pub(crate) fn get(&self) -> Arc<Agreement> {
        self.0.lock().clone()
    }

    pub(crate) fn set(&self, agreement: Agreement) {
        *self.0.lock() = Arc::new(agreement);
    }

    /// Adds what has been noted about the first stack.
    pub(crate) fn note(&self, notes: Vec<Note>) {
        let mut agreement = self.0.lock();
        // A later stack, to which the connection may have changed already, has notes of its own.
        if !notes.is_empty() && agreement.round == 0 {
            Arc::make_mut(&mut agreement).notes.extend(notes);
        }
    }

    pub(crate) fn set_zero_rtt(&self, zero_rtt: ZeroRtt) {
        Arc::make_mut(&mut self.0.lock()).zero_rtt = Some(zero_rtt);
    }
}

/// Returns the value to which Chunnels may bind themselves in a stack of these layers.
pub(crate) fn binding(layers: &[Node], session: &Session) -> Option<[u8; 32]> {
    (!takes_early_data(layers)).then(|| session.transcript())
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.layers[..] {
            [] => f.write_str("no Chunnels")?,
            layers => write!(f, "{}", Explanation::of(layers))?,
        }
        f.write_str(match self.role {
            Role::Server => ", agreed as server",
            Role::Participant { leads: true } => ", agreed among participants, of which this one leads",
            Role::Participant { leads: false } => ", agreed among participants",
            _ => ", agreed as client",
        })?;
        if self.round > 0 {
            write!(f, ", round {}", self.round)?;
        }
        if !self.reasons.is_empty() {
            write!(f, "; passed over: {}", self.reasons)?;
        }
        if let Some(zero_rtt) = &self.zero_rtt {
            write!(f, "; {zero_rtt}")?;
        }
        self.notes.iter().try_for_each(|note| write!(f, "; {note}"))
    }
}

impl fmt::Display for ZeroRtt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTried(why) => write!(f, "no 0-RTT: {why}"),
            Self::Unanswered => f.write_str("0-RTT: the server has not answered yet"),
            Self::Taken(count) => write!(f, "0-RTT: messages taken with the offer: {count}"),
            Self::NotTaken => f.write_str("0-RTT: the server took no message with the offer"),
            Self::Resent(count) => {
                write!(f, "0-RTT: the server picked another stack; messages sent again: {count}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_core::{ConnectContext, NotePlace};

    fn noted(text: &str) -> Vec<Note> {
        let place = NotePlace::default();
        ConnectContext::<()>::none().with_notes(&place).note("A", text);
        place.take()
    }

    #[test]
    fn the_outcome_of_the_first_flight_stays_across_changes() {
        let current = CurrentAgreement::new(Agreement::among(true, &[], 0, Vec::new()));
        assert!(current.get().zero_rtt().is_none());
        current.set_zero_rtt(ZeroRtt::Taken(3));
        assert!(matches!(current.get().zero_rtt(), Some(ZeroRtt::Taken(3))));
        let later = current.get().renewed(&[], 1, Vec::new());
        assert!(matches!(later.zero_rtt(), Some(ZeroRtt::Taken(3))));
    }

    #[test]
    fn notes_are_those_of_the_stack_in_use() {
        let current = CurrentAgreement::new(Agreement::among(true, &[], 0, Vec::new()));
        assert!(current.get().notes().is_empty());
        current.note(noted("first"));
        current.note(Vec::new());
        assert_eq!(current.get().notes(), noted("first"));
        let later = current.get().renewed(&[], 1, Vec::new());
        assert!(later.notes().is_empty());
        current.set(later.noting(noted("second")));
        current.note(noted("late"));
        assert_eq!(current.get().notes(), noted("second"));
    }
}
