//! The server's side of the handshake: a function from an offer to an answer. The server remembers nothing of
//! a client that it did not accept.

use super::amplification::AmplificationLimit;
use super::capabilities::Capabilities;
use super::decision_cache::{DecisionCache, Found, Stated};
use super::idle_timeout;
use super::matching;
use super::requirements::Requirements;
use super::stack_names;
use super::ticket::Tickets;
use super::unknown_connection::reply_to_unknown;
use crate::auth::HandshakeNonce;
use crate::auth::{Answering, Unanswerable, offer_hash};
use crate::wire::{
    self, Answer, Early, HEADER, Kind, LARGEST, Refusal, RefusalKind, TEXT_LIMIT, TICKET, Tag, Unreadable,
    VERSION,
};
use crate::{Credentials, Session};
use bertha_core::{Buf, DifferingCapability, Error, Node, Picks, resolve};
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A server's demands on a client, besides the stack.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'t> {
    /// The server's idle time-out.
    pub idle_timeout: Duration,
    /// The server's own proofs, and the proofs that it asks of the client.
    pub credentials: &'t Credentials,
    /// The random values of an answer that the client has to confirm; `None` if the client need not confirm.
    /// They are required with credentials, without which there is no answer, and for an address that is not
    /// proven.
    pub fresh: Option<&'t HandshakeNonce>,
    /// The guarantees required of the stack, and the guarantees of the transport.
    pub requirements: Requirements,
    /// The addresses of both ends, as bytes.
    pub path: &'t [u8],
    /// The treatment of messages that come with the offer.
    pub early_data: EarlyData,
    /// The tickets for clients that send messages with their next offer; `None` if the server takes no such
    /// messages.
    pub tickets: Option<&'t Tickets>,
    /// The time.
    pub now: Instant,
    /// The limit of the reply's length.
    pub amplification_limit: AmplificationLimit,
}

/// A server's treatment of messages that come with an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyData {
    /// The server drops them, and the client sends them again after the answer.
    Refused,
    /// The server made a connection of this offer before, and may have taken the messages then. It refuses
    /// the offer, since the client would repeat messages that a connection which is gone has received.
    Spent,
    /// The server takes them once the client has confirmed.
    Confirmed,
    /// The server takes them at once, and asks for no confirmation of this offer if the address is proven.
    AtOnce,
}

/// Number of bytes of the limit that an answer leaves for keep-alives, and for the close of a connection that
/// the application does not take.
pub(crate) const CLOSE_ALLOWANCE: usize = 64;

/// The reaction to the first message of an unknown client.
#[derive(Debug)]
pub enum Decision {
    /// The message is not of this protocol: drop and count it.
    Ignore,
    /// The message belongs to a connection that this server does not know, since the server restarted or gave
    /// the connection up: send the reply.
    Unknown {
        /// The message to send.
        reply: Vec<u8>,
    },
    /// The reply exceeds the limit of an address that may not be the sender's: ask for a proof of the address
    /// first.
    Retry,
    /// Send the reply, and report the error.
    Refuse {
        /// The connection id; 0 if it could not be read.
        id: u64,
        /// The message to send.
        reply: Vec<u8>,
        /// The error for the server's application.
        error: Error,
    },
    /// The offer is accepted: send the reply, and build the stack. With credentials, and on a busy server,
    /// the stack is built once the client has confirmed.
    Accept(Box<Accepted>),
}

/// The agreement at the server.
#[derive(Debug)]
pub struct Accepted {
    /// The connection id.
    pub id: u64,
    /// The hash of the offer, by which its repetitions are recognised.
    pub offer: [u8; 32],
    /// The encoded answer, which is sent now and whenever the offer is repeated.
    pub reply: Vec<u8>,
    /// The answer to the client.
    pub answer: Answer,
    /// The keys for later messages about the connection.
    pub session: Session,
    /// The client's capabilities that differ from the server's.
    pub capabilities: Vec<DifferingCapability>,
    /// The messages that came with the offer and were taken: the first messages of the connection.
    pub early: VecDeque<Buf>,
    /// True if messages came with the offer, taken or not.
    pub is_flight: bool,
}

/// Decides about `message`, the first from an address, for a server whose stack describes itself as `nodes`.
pub fn decide(message: &[u8], nodes: &[Node], terms: &Terms<'_>) -> Decision {
    let hash = wire::offer_in(message).map(|(offer, _)| offer_hash(offer));
    decide_hashed(message, hash, nodes, &DecisionCache::default(), terms)
}

/// Works as [`decide`], with the hash of the offer in the message, if there is one, and with earlier
/// decisions.
pub(crate) fn decide_hashed(
    message: &[u8],
    hash: Option<[u8; 32]>,
    nodes: &[Node],
    decisions: &DecisionCache,
    terms: &Terms<'_>,
) -> Decision {
    if let (Some((offer, _)), Some(hash)) = (wire::offer_in(message), hash) {
        return decide_offer(offer, hash, message, nodes, decisions, terms);
    }
    match reply_to_unknown(message, terms.credentials, terms.path) {
        Some(reply) => Decision::Unknown { reply },
        None => Decision::Ignore,
    }
}

/// Decides about the offer `message`. `whole` is the received message: the offer itself, or a message around
/// the offer.
fn decide_offer(
    message: &[u8],
    hash: [u8; 32],
    whole: &[u8],
    nodes: &[Node],
    decisions: &DecisionCache,
    terms: &Terms<'_>,
) -> Decision {
    let Some((_, tag)) = wire::header(message) else { return Decision::Ignore };
    if is_flight(whole) && wire::unchecked(whole).is_err() {
        return Decision::Ignore;
    }
    let stated = if terms.credentials.is_some() { None } else { Stated::read(message, tag) };
    if let Some(stated) = &stated
        && terms.early_data != EarlyData::Spent
        && let Some(found) = decisions.find(stated, terms.requirements)
    {
        let answering = Answering::unproven(terms.credentials, message, hash);
        return accept(&answering, stated.id, stated.idle_ms, whole, &found, terms);
    }
    let (offer, answering) = match Answering::open(terms.credentials, message, hash) {
        Ok((offer, answering)) if Tag::of(offer.id) == tag => (offer, answering),
        Err(Unanswerable::Unauthenticated(id, what)) => {
            return refuse_openly(id, tag, RefusalKind::Unauthenticated, what.into(), terms);
        }
        Err(Unanswerable::Unreadable(Unreadable::Version(version))) => {
            let text = format!(
                "the client speaks version {version} of the negotiation protocol, the server version {VERSION}"
            );
            return refuse_openly(0, tag, RefusalKind::Version, text, terms);
        }
        Err(Unanswerable::Unreadable(Unreadable::Malformed)) => {
            let text = "the offer does not follow the format".into();
            return refuse_openly(0, tag, RefusalKind::Malformed, text, terms);
        }
        Ok(_) | Err(Unanswerable::Unreadable(_)) => return Decision::Ignore,
    };
    let Some(offered) = offer.nodes() else {
        return refuse(
            &answering,
            offer.id,
            tag,
            RefusalKind::Malformed,
            "the offer contradicts itself".into(),
            terms,
        );
    };
    if terms.early_data == EarlyData::Spent {
        let text = "this offer has made a connection before, which is gone; connect again".into();
        return refuse(&answering, offer.id, tag, RefusalKind::Spent, text, terms);
    }
    match matching::find_within(&offered, nodes, terms.requirements) {
        Ok(picks) => {
            let layers = resolve(nodes, Picks::new(&picks.server_picks));
            let text = wire::cut(described(&layers));
            let capabilities = Capabilities::new(&offered, &picks.client_picks, &layers);
            let found = Arc::new(Found { picks, layers, text, capabilities });
            if let Some(stated) = stated {
                decisions.remember(&stated, terms.requirements, &found);
            }
            accept(&answering, offer.id, offer.idle_ms, whole, &found, terms)
        }
        Err(rejected) => {
            let text = format!(
                "no stack suits both ends: {}; the client offers [{}], the server [{}]",
                rejected.reason,
                stack_names::of_offered(&offered),
                stack_names::of_own(nodes),
            );
            refuse(&answering, offer.id, tag, RefusalKind::Incompatible, text, terms)
        }
    }
}

fn accept(
    answering: &Answering<'_>,
    id: u64,
    idle_ms: u32,
    whole: &[u8],
    found: &Found,
    terms: &Terms<'_>,
) -> Decision {
    let picks = &found.picks;
    let mut answer = Answer {
        id,
        client_picks: picks.client_picks.clone(),
        server_picks: picks.server_picks.clone(),
        idle_ms: idle_timeout::to_millis(idle_timeout::agreed(terms.idle_timeout, idle_ms)),
        confirm: terms.fresh.map(|fresh| fresh.number),
        early: 0,
        ticket: ticket(found, terms),
        stack: found.text.clone(),
        reasons: wire::cut(picks.reasons.join("; ")),
        capabilities: found.capabilities.server.clone(),
    };
    let early = early_messages(answering, whole, found, answer.idle_ms, terms);
    answer.early = u16::try_from(early.len()).unwrap_or_default();
    if !early.is_empty()
        && terms.early_data == EarlyData::AtOnce
        && terms.amplification_limit == AmplificationLimit::UNLIMITED
    {
        answer.confirm = None;
    }
    let Some((mut reply, mut session)) = answering.answer(&answer, terms.fresh, terms.path) else {
        return Decision::Ignore;
    };
    // Texts for people are cut before the client is asked for another round trip.
    let over =
        reply.len().saturating_sub(limit_of_texts(whole, terms).left().saturating_sub(CLOSE_ALLOWANCE));
    if over > 0 && over <= answer.stack.len() + answer.reasons.len() {
        let left = (answer.stack.len() + answer.reasons.len()) - over;
        answer.stack.clear();
        answer.reasons = wire::cut_to(answer.reasons, left);
        let Some(shorter) = answering.answer(&answer, terms.fresh, terms.path) else {
            return Decision::Ignore;
        };
        (reply, session) = shorter;
    }
    if reply.len() > terms.amplification_limit.left().saturating_sub(CLOSE_ALLOWANCE) {
        return Decision::Retry;
    }
    if reply.len() > LARGEST {
        let text = "the server's capabilities do not fit into one message".into();
        return refuse(answering, id, Tag::of(id), RefusalKind::Incompatible, text, terms);
    }
    Decision::Accept(Box::new(Accepted {
        id,
        offer: answering.hash(),
        reply,
        answer,
        session,
        capabilities: found.capabilities.client.clone(),
        early,
        is_flight: is_flight(whole),
    }))
}

/// Returns the maximum length of the answer to a message before its texts are cut.
///
/// With credentials the keys follow from the answer. A server that had to forget the offer has to give an
/// identical answer when the offer comes again, for example with a cookie or with messages. So the offer
/// alone decides then, unless its address is certain.
fn limit_of_texts(whole: &[u8], terms: &Terms<'_>) -> AmplificationLimit {
    match wire::offer_in(whole) {
        Some((offer, cookie))
            if terms.credentials.is_some()
                && (cookie.is_some() || terms.amplification_limit != AmplificationLimit::UNLIMITED) =>
        {
            AmplificationLimit::of(offer.len())
        }
        _ => terms.amplification_limit,
    }
}

/// Returns the layers as a text for people.
fn described(layers: &[Node]) -> String {
    let mut text = String::with_capacity(64);
    for (place, layer) in layers.iter().enumerate() {
        let separator = if place > 0 { " / " } else { "" };
        // Writing to a string does not fail.
        let _ = write!(text, "{separator}{layer}");
    }
    text
}

/// Returns the ticket for an answer, if the server takes messages with the next offer, and could take them
/// over this stack.
fn ticket(found: &Found, terms: &Terms<'_>) -> Option<[u8; TICKET]> {
    let tickets = terms.tickets.filter(|_| terms.credentials.can_send_early())?;
    let time = terms.fresh.and_then(|fresh| fresh.time).unwrap_or(terms.now);
    takes_early_data(&found.layers).then(|| tickets.issue(time))
}

/// Returns the messages that came with the offer, all or none of them. They can be taken if they were sent
/// just now with a ticket of this server, the client expects exactly this answer, and all layers accept
/// messages that may be replayed.
fn early_messages(
    answering: &Answering<'_>,
    whole: &[u8],
    found: &Found,
    idle_ms: u32,
    terms: &Terms<'_>,
) -> VecDeque<Buf> {
    if terms.early_data == EarlyData::Refused || !takes_early_data(&found.layers) {
        return VecDeque::new();
    }
    let is_fresh = |early: &Early<'_>| {
        terms.tickets.is_some_and(|tickets| tickets.is_fresh(terms.now, &early.presented))
    };
    let is_expected = |early: &Early<'_>| *early.claim == found.claim(idle_ms);
    let early = answering.early(whole).filter(|early| is_expected(early) && is_fresh(early));
    let copies =
        early.map(|early| early.messages.into_iter().map(|message| Buf::copy_of(message, 0)).collect());
    match copies {
        Some(Ok(messages)) => messages,
        _ => VecDeque::new(),
    }
}

/// Returns true if messages may have come with the offer in this message.
pub(crate) fn is_flight(message: &[u8]) -> bool {
    matches!(wire::header(message), Some((Kind::Early, _)))
}

/// Returns true if all layers accept messages from before the answer.
pub(crate) fn takes_early_data(layers: &[Node]) -> bool {
    layers.iter().all(|node| !matches!(node, Node::Layer(layer) if !layer.takes_early_data()))
}

/// Returns a refusal that the client can believe.
fn refuse(
    answering: &Answering<'_>,
    id: u64,
    tag: Tag,
    kind: RefusalKind,
    text: String,
    terms: &Terms<'_>,
) -> Decision {
    let refusal = Refusal { id, kind, text: wire::cut(text) };
    match answering.refuse(tag, &refusal) {
        Some(reply) if reply.len() > terms.amplification_limit.left() => Decision::Retry,
        Some(reply) => Decision::Refuse { id, reply, error: error(refusal) },
        None => Decision::Ignore,
    }
}

/// Returns a refusal without a proof, since the ends share no key. Its text is cut to the anti-amplification
/// limit, since a proof of its address would not make the client recognisable.
fn refuse_openly(id: u64, tag: Tag, kind: RefusalKind, text: String, terms: &Terms<'_>) -> Decision {
    /// Header, version, id, kind, length of the text, check.
    const REST: usize = HEADER + 1 + 10 + 1 + 2 + 4;
    let error = error(Refusal { id, kind, text: text.clone() });
    let most = terms.amplification_limit.left().saturating_sub(REST).min(TEXT_LIMIT);
    let refusal = Refusal { id, kind, text: wire::cut_to(text, most) };
    match wire::encode(Kind::Refusal, tag, &refusal) {
        Ok(reply) if reply.len() <= terms.amplification_limit.left() => Decision::Refuse { id, reply, error },
        _ => Decision::Ignore,
    }
}

fn error(refusal: Refusal) -> Error {
    Error::new(refusal.kind.error_kind(), refusal.text).at("negotiation")
}
