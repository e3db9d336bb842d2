//! A stack as the store records it.

use crate::handshake as matching;
use crate::wire::{Offer, OfferedNode};
use bertha_core::{Error, ErrorKind, Node, Picks, resolve};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Maximum length of a description, in bytes: a record with two descriptions fits into one entry of a store.
const MAX_LEN: usize = 7 * 1024;

/// The layers of a stack without alternatives, as an encoded [`Offer`]: from it each participant decides
/// whether it can run that stack, and with which alternatives of its own stack.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Description(Vec<u8>);

impl Description {
    /// Describes the stack that is left of `nodes` once the alternatives are picked.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the stack can't be offered, [`TooLarge`](ErrorKind::TooLarge) if
    /// its description is longer than 7 KiB.
    pub fn of(nodes: &[Node], picks: &[u8]) -> Result<Self, Error> {
        let invalid = |reason: String| Error::new(ErrorKind::Invalid, reason).at("rendezvous");
        let layers = resolve(nodes, Picks::new(picks));
        let offer = Offer::new(0, &layers).map_err(|mismatch| invalid(mismatch.to_string()))?;
        let bytes = postcard::to_allocvec(&offer)
            .map_err(|error| invalid(format!("the stack can't be described: {error}")))?;
        if bytes.len() > MAX_LEN {
            let what = format!(
                "the stack's description takes {} bytes, at most {MAX_LEN} are possible; use smaller capabilities",
                bytes.len()
            );
            return Err(Error::new(ErrorKind::TooLarge, what).at("rendezvous"));
        }
        Ok(Self(bytes))
    }

    /// Returns the layers; `None` if the description is malformed or still has alternatives.
    pub fn layers(&self) -> Option<Vec<OfferedNode>> {
        if self.0.len() > MAX_LEN {
            return None;
        }
        let (offer, []) = postcard::take_from_bytes::<Offer>(&self.0).ok()? else { return None };
        let layers = offer.nodes()?;
        layers.iter().all(|node| matches!(node, OfferedNode::Layer(_))).then_some(layers)
    }

    /// Returns a checksum that detects mistakes; an attacker can make two descriptions with the same
    /// checksum.
    pub(super) fn check(&self) -> u32 {
        crc32fast::hash(&self.0)
    }

    /// Returns the alternatives of `nodes` that make this stack.
    ///
    /// # Errors
    /// The Chunnel that does not fit, and the reason.
    pub fn picks_of(&self, nodes: &[Node]) -> Result<Vec<u8>, String> {
        let layers = self.layers().ok_or("the stack's description is malformed")?;
        match matching::find(&layers, nodes) {
            Ok(found) => Ok(found.server_picks),
            Err(rejected) => Err(rejected.reason),
        }
    }
}

/// Shows the names of the Chunnels, top first.
impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(layers) = self.layers() else { return f.write_str("malformed") };
        let names = layers.iter().filter_map(|node| match node {
            OfferedNode::Layer(layer) => Some(layer.short_name()),
            OfferedNode::Select { .. } => None,
        });
        let names: Vec<&str> = names.collect();
        f.write_str(if names.is_empty() { "nothing" } else { return f.write_str(&names.join(" / ")) })
    }
}

impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use bertha_core::LayerInfo;

    /// Describes a stack of this number of layers, and of a layer with a name of `rest` bytes and this version.
    fn of_length(layers: usize, rest: usize, version: u16) -> Result<Description, Error> {
        let layer = |number: usize, len: usize, version| {
            Node::Layer(LayerInfo::plain(format!("{number:0>len$}").leak(), version))
        };
        let layers: Vec<_> =
            (1..=layers).map(|number| layer(number, 100, 1)).chain([layer(0, rest, version)]).collect();
        Description::of(&layers, &[])
    }

    #[test]
    fn a_description_of_the_largest_length_is_read() {
        let most = (1..200).find(|layers| of_length(*layers, 128, 1).is_err()).unwrap();
        // A name may count twice, and a higher version takes a byte more.
        let all = (1..=128).flat_map(|rest| [1, 1000].map(|version| of_length(most, rest, version)));
        let mut lengths = Vec::new();
        for description in all.flatten() {
            assert_eq!(description.layers().map(|layers| layers.len()), Some(most + 1));
            lengths.push(description.0.len());
        }
        assert_eq!(lengths.iter().max(), Some(&MAX_LEN));
        assert_eq!(of_length(most, 128, 1).unwrap_err().kind(), ErrorKind::TooLarge);
    }
}
