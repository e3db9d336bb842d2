//! The server's side of the handshake: a function from an offer to an answer. The server remembers nothing of a
//! client that it did not accept.

use super::idle;
use super::matching::{self, Match};
use crate::wire::{self, Answer, Kind, Offer, OfferedNode, Refusal, RefusalKind, Tag, Unreadable, VERSION};
use bertha_core::{Error, Node, Picks, resolve};
use std::time::Duration;

/// What a server asks of a client, besides the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The server's idle time-out.
    pub idle_timeout: Duration,
    /// [`Answer::confirm`].
    pub confirm: Option<u64>,
}

/// What to do with the first message of an unknown client.
#[derive(Debug)]
pub enum Decision {
    /// Nothing: it is no message of this protocol. Drop and count it.
    Ignore,
    /// It belongs to a connection that this server doesn't know, since it restarted or gave it up: send the reply.
    Unknown {
        /// What to send.
        reply: Vec<u8>,
    },
    /// Send the reply, and report the error.
    Refuse {
        /// The connection id; 0 if it could not be read.
        id: u64,
        /// What to send.
        reply: Vec<u8>,
        /// What to tell the server's application.
        error: Error,
    },
    /// Send the reply, and instantiate the stack.
    Accept {
        /// The connection id.
        id: u64,
        /// The encoded answer: to be sent now, and again whenever the offer is repeated.
        reply: Vec<u8>,
        /// What was agreed.
        answer: Answer,
    },
}

/// Decides about `message`, the first from an address, for a server whose stack describes itself as `nodes`.
///
pub fn decide(message: &[u8], nodes: &[Node], terms: &Terms) -> Decision {
    match wire::header(message) {
        Some((Kind::Offer, tag)) => decide_offer(message, tag, nodes, terms),
        // Replies of four bytes to messages of at least four: a spoofed address is never answered with more than was sent.
        Some((Kind::Data | Kind::KeepAlive, tag)) => {
            Decision::Unknown { reply: tag.header(Kind::Reset).into() }
        }
        Some((Kind::Close, tag)) => Decision::Unknown { reply: tag.header(Kind::CloseSeen).into() },
        _ => Decision::Ignore,
    }
}

fn decide_offer(message: &[u8], tag: Tag, nodes: &[Node], terms: &Terms) -> Decision {
    let offer = match wire::decode::<Offer>(message) {
        Ok(offer) if Tag::of(offer.id) == tag => offer,
        Ok(_) | Err(Unreadable::Damaged) => return Decision::Ignore,
        Err(Unreadable::Malformed) => {
            return refuse(0, tag, RefusalKind::Malformed, "the offer does not follow the format".into());
        }
        Err(Unreadable::Version(version)) => {
            let text = format!(
                "the client speaks version {version} of the negotiation protocol, the server version {VERSION}"
            );
            return refuse(0, tag, RefusalKind::Version, text);
        }
    };
    let Some(offered) = offer.nodes() else {
        return refuse(offer.id, tag, RefusalKind::Malformed, "the offer contradicts itself".into());
    };
    match matching::find(&offered, nodes) {
        Ok(found) => accept(&offer, tag, &offered, nodes, found, terms),
        Err(rejected) => {
            let text = format!(
                "no stack suits both ends: {}; the client offers [{}], the server [{}]",
                rejected.reason,
                names(&offered),
                nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" / "),
            );
            refuse(offer.id, tag, RefusalKind::Incompatible, text)
        }
    }
}

fn accept(
    offer: &Offer,
    tag: Tag,
    offered: &[OfferedNode],
    nodes: &[Node],
    found: Match,
    terms: &Terms,
) -> Decision {
    let layers = resolve(nodes, Picks::new(&found.server_picks));
    let answer = Answer {
        id: offer.id,
        client_picks: found.client_picks,
        server_picks: found.server_picks,
        idle_ms: idle::to_millis(idle::agreed(terms.idle_timeout, offer.idle_ms)),
        confirm: terms.confirm,
        stack: wire::cut(layers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" / ")),
        reasons: wire::cut(found.reasons.join("; ")),
    };
    match wire::encode(Kind::Answer, tag, &answer) {
        Ok(reply) => Decision::Accept { id: offer.id, reply, answer },
        Err(error) => {
            let text = format!("no answer to [{}] can be encoded: {error}", names(offered));
            refuse(offer.id, tag, RefusalKind::Malformed, text)
        }
    }
}

fn refuse(id: u64, tag: Tag, kind: RefusalKind, text: String) -> Decision {
    let refusal = Refusal { id, kind, text: wire::cut(text) };
    let error = Error::new(kind.error_kind(), refusal.text.clone()).at("negotiation");
    match wire::encode(Kind::Refusal, tag, &refusal) {
        Ok(reply) => Decision::Refuse { id, reply, error },
        Err(_) => Decision::Ignore,
    }
}

/// The offered nodes for a person to read.
fn names(nodes: &[OfferedNode]) -> String {
    let name = |node: &OfferedNode| match node {
        OfferedNode::Layer(layer) => layer.short_name().to_owned(),
        OfferedNode::Select { branches: [first, second], .. } => {
            format!("({} | {})", names(first), names(second))
        }
    };
    nodes.iter().map(name).collect::<Vec<_>>().join(" / ")
}
