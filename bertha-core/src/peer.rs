//! The capabilities that the peer declared for the layers of an agreed stack.

use crate::guarantee::Set;
use crate::guaranteed::effects_of;
use crate::{Capability, Node};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A capability whose encoding differs between the two ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DifferingCapability {
    /// The index of its layer among the layers of the agreed stack that are not one-sided, counted from 0 at
    /// the top.
    pub layer: u16,
    /// The encoding at the other end.
    pub encoding: Vec<u8>,
}

/// The layers of an agreed stack, with the capabilities of the other end. The driver of a stack [passes
/// it](crate::ConnectContext::with_peer) to the Chunnels; a test of a Chunnel can pass it too.
///
/// Each value serves to build one connection: it counts the layers that were built, from the bottom up.
#[derive(Debug)]
pub struct PeerLayers {
    /// The layers, top first.
    layers: Vec<Node>,
    differing: Vec<DifferingCapability>,
    built: AtomicUsize,
}

impl PeerLayers {
    /// Makes the other end's view of `layers`, which are top first and have their alternatives picked. The
    /// other end's capabilities equal the capabilities of `layers`, except for `differing`.
    pub fn new(layers: Vec<Node>, differing: Vec<DifferingCapability>) -> Self {
        Self { layers, differing, built: AtomicUsize::new(0) }
    }

    /// Takes the next `count` layers, counted from the bottom, for the Chunnel that is being built.
    pub(crate) fn take(&self, count: usize) -> Range<usize> {
        let below = self.built.fetch_add(count, Ordering::Relaxed);
        let end = self.layers.len().saturating_sub(below);
        end.saturating_sub(count)..end
    }

    /// Returns the guarantees that hold above the layers from `end` on. Only layers that both ends have
    /// count.
    pub(crate) fn guaranteed_below(&self, end: usize) -> Set {
        let below = self.layers.get(end..).unwrap_or_default().iter();
        effects_of(below.filter(|node| is_two_sided(node))).gives()
    }

    /// Returns the name of the highest layer from `end` on that does not carry each message by itself.
    pub(crate) fn joins_messages_below(&self, end: usize) -> Option<&'static str> {
        self.layers.get(end..)?.iter().find_map(|node| match node {
            Node::Layer(layer) if layer.front().is_none() => Some(layer.name()),
            _ => None,
        })
    }

    /// Returns the other end's capability of this type: the capability of the first of these layers that has
    /// such a capability.
    pub(crate) fn capability<C: Capability>(&self, layers: Range<usize>) -> Option<C> {
        let (at, layer) = layers.clone().zip(self.layers.get(layers)?).find_map(|(at, node)| match node {
            Node::Layer(layer) if layer.capability().id() == C::ID && !layer.is_one_sided() => {
                Some((at, layer))
            }
            _ => None,
        })?;
        let number = self.layers.get(..at)?.iter().filter(|node| is_two_sided(node)).count();
        let differing = self.differing.iter().find(|differing| usize::from(differing.layer) == number);
        match differing {
            Some(differing) => postcard::from_bytes(&differing.encoding).ok(),
            None => postcard::from_bytes(&layer.capability().encode().ok()?).ok(),
        }
    }
}

fn is_two_sided(node: &Node) -> bool {
    matches!(node, Node::Layer(layer) if !layer.is_one_sided())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LayerInfo;
    use crate::capability::{Mismatch, exact};
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Rate(u32);

    impl Capability for Rate {
        const ID: &'static str = "test::Rate";

        fn compatible(&self, other: &Self) -> Result<(), Mismatch> {
            exact(self, other)
        }
    }

    #[test]
    fn each_layer_has_its_own() {
        let rate = |rate| Node::Layer(LayerInfo::with("test::Pace", Rate(rate)));
        let plain = |name| Node::Layer(LayerInfo::plain(name, 1));
        let aside = Node::Layer(LayerInfo::plain("test::Aside", 1).one_sided());
        let differing = |(layer, byte)| DifferingCapability { layer, encoding: vec![byte] };
        let layers = vec![aside, rate(1), plain("test::Plain"), rate(2), rate(3)];
        let peer = PeerLayers::new(layers, [(2, 20), (9, 90)].map(differing).into());
        let capability = |count| peer.capability::<Rate>(peer.take(count));
        assert_eq!(capability(1), Some(Rate(3)), "the same as here");
        assert_eq!(capability(2), Some(Rate(20)), "one Chunnel for two layers");
        assert_eq!(capability(1), Some(Rate(1)));
        assert_eq!(capability(1), None, "one-sided");
        assert_eq!(capability(1), None, "more than there are");
    }

    #[test]
    fn guarantees_are_those_of_the_layers_below_that_both_ends_have() {
        use crate::guarantee::{IntegrityChecked, Ordered, Reliable};
        let layer = |set| LayerInfo::plain("test::Layer", 1).guaranteeing(set);
        let layers = [
            layer(Set::of::<Ordered>()),
            layer(Set::NONE),
            layer(Set::of::<Reliable>()).one_sided(),
            layer(Set::of::<IntegrityChecked>()),
            layer(Set::of::<Reliable>()),
        ];
        let layers = layers.map(|layer| match layer.guarantees() == Set::of::<IntegrityChecked>() {
            true => layer.withdrawing(Set::of::<Reliable>()),
            false => layer,
        });
        let peer = PeerLayers::new(layers.map(Node::Layer).into(), Vec::new());
        let below = |count| peer.guaranteed_below(peer.take(count).end);
        assert!(below(1).is_empty(), "not its own");
        assert_eq!(below(1), Set::of::<Reliable>());
        assert_eq!(below(1), Set::of::<IntegrityChecked>(), "the layer withdraws another guarantee");
        assert_eq!(below(2), Set::of::<IntegrityChecked>());
        assert_eq!(PeerLayers::new(Vec::new(), Vec::new()).guaranteed_below(7), Set::NONE);
    }
}
