//! A cache of the last decision.
//!
//! The clients of a server mostly run one program, and so offer one stack. A decision depends only on the
//! stack of an offer. So an offer whose stack equals the stack of the last offer, byte by byte, is neither
//! read nor matched again.

use super::capabilities::Capabilities;
use super::matching::Match;
use super::requirements::Requirements;
use crate::auth::claim;
use crate::wire::{self, CLAIM, Tag, VERSION};
use bertha_core::Node;
use parking_lot::Mutex;
use std::sync::Arc;

/// A server's decision about an offered stack.
#[derive(Debug)]
pub(crate) struct Found {
    pub(super) picks: Match,
    /// The layers that the picks leave.
    pub(super) layers: Vec<Node>,
    /// The layers as a text for people.
    pub(super) text: String,
    pub(super) capabilities: Capabilities,
}

impl Found {
    /// Returns the claim of a client that expects these picks and this idle time-out.
    pub(super) fn claim(&self, idle_ms: u32) -> [u8; CLAIM] {
        let Match { client_picks, server_picks, .. } = &self.picks;
        claim(client_picks, server_picks, idle_ms, &self.capabilities.server)
    }
}

/// The last stack for which there was a counterpart. It is a single stack, so that unknown senders can't fill
/// memory. A client that offers another stack costs the next client no more than it would have cost without
/// the cache.
#[derive(Debug, Default)]
pub(crate) struct DecisionCache(Mutex<Option<CachedDecision>>);

#[derive(Debug)]
struct CachedDecision {
    /// The bytes of the offer from its third field on.
    stack: Vec<u8>,
    requirements: Requirements,
    found: Arc<Found>,
}

/// The connection's fields in an offer without a proof, and its stack as it is encoded.
pub(crate) struct Stated<'o> {
    pub(super) id: u64,
    pub(super) idle_ms: u32,
    stack: &'o [u8],
}

impl<'o> Stated<'o> {
    /// Reads these fields of an offer. Returns `None` if the offer is damaged, of another version or
    /// connection, or has a proof.
    pub(super) fn read(offer: &'o [u8], tag: Tag) -> Option<Self> {
        let (VERSION, body) = wire::open(offer).ok()? else { return None };
        let ((id, idle_ms), stack) = postcard::take_from_bytes(body).ok()?;
        (Tag::of(id) == tag).then_some(Self { id, idle_ms, stack })
    }
}

impl DecisionCache {
    pub(super) fn find(&self, stated: &Stated<'_>, requirements: Requirements) -> Option<Arc<Found>> {
        let last = self.0.lock();
        let last =
            last.as_ref().filter(|last| last.stack == stated.stack && last.requirements == requirements)?;
        Some(last.found.clone())
    }

    pub(super) fn remember(&self, stated: &Stated<'_>, requirements: Requirements, found: &Arc<Found>) {
        let decision_cache =
            CachedDecision { stack: stated.stack.to_vec(), requirements, found: found.clone() };
        *self.0.lock() = Some(decision_cache);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Credentials;
    use crate::auth::offer_hash;
    use crate::handshake::{AmplificationLimit, Decision, EarlyData, Terms, Tickets};
    use crate::wire::{Kind, Offer, encode};
    use bertha_core::LayerInfo;
    use std::time::{Duration, Instant};

    fn layer(name: &'static str) -> Node {
        Node::Layer(LayerInfo::plain(name, 1))
    }

    fn either(first: &'static str, second: &'static str) -> Node {
        Node::Select { branches: [vec![layer(first)], vec![layer(second)]], prefer: 0.into() }
    }

    /// The reply of a server of `a::Zip | a::Lz` to an offer.
    fn decide(id: u64, nodes: &[Node], decisions: &DecisionCache, early_data: EarlyData) -> String {
        let (credentials, start) = (Credentials::default(), Instant::now());
        let tickets = Tickets::new([1; 32], start);
        let terms = Terms {
            idle_timeout: Duration::from_secs(id % 100),
            credentials: &credentials,
            fresh: None,
            requirements: Requirements::OPEN,
            path: b"path",
            early_data,
            tickets: Some(&tickets),
            now: start,
            amplification_limit: AmplificationLimit::UNLIMITED,
        };
        let offer = encode(Kind::Offer, Tag::of(id), &Offer::new(id, nodes).unwrap()).unwrap();
        let nodes = [either("a::Zip", "a::Lz")];
        match super::super::decide_hashed(&offer, Some(offer_hash(&offer)), &nodes, decisions, &terms) {
            Decision::Accept(accepted) => format!("{:?} {:?}", accepted.reply, accepted.answer),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn decisions_are_the_same_with_and_without_one() {
        let decisions = DecisionCache::default();
        let stacks = [
            vec![layer("a::Zip")],
            vec![layer("a::Lz")],
            vec![either("a::Lz", "a::Zip")],
            vec![layer("a::Other")],
            vec![],
        ];
        for id in 0..200 {
            let stack = &stacks[(id * id + id / 7) as usize % stacks.len()];
            for early_data in [EarlyData::AtOnce, EarlyData::Spent] {
                let known = decide(id, stack, &decisions, early_data);
                assert_eq!(known, decide(id, stack, &DecisionCache::default(), early_data), "{id}");
            }
        }
    }

    #[test]
    fn the_last_stack_is_found_within_its_frame_alone() {
        let decisions = DecisionCache::default();
        let offer =
            |id| encode(Kind::Offer, Tag::of(id), &Offer::new(id, &[layer("a::Lz")]).unwrap()).unwrap();
        decide(1, &[layer("a::Lz")], &decisions, EarlyData::AtOnce);
        let (other, damaged) = (offer(2), [&offer(2)[..], b"x"].concat());
        let stated = Stated::read(&other, Tag::of(2)).unwrap();
        assert!(decisions.find(&stated, Requirements::OPEN).is_some());
        let elsewhere =
            Requirements::new(bertha_core::guarantee::Set::ALL, bertha_core::Properties::DATAGRAM);
        assert!(decisions.find(&stated, elsewhere).is_none());
        assert!(Stated::read(&other, Tag::of(3)).is_none() && Stated::read(&damaged, Tag::of(2)).is_none());
        decide(4, &[layer("a::Zip")], &decisions, EarlyData::AtOnce);
        assert!(decisions.find(&stated, Requirements::OPEN).is_none());
    }
}
