//! The capabilities of an agreed stack that differ between its ends.

use crate::wire::OfferedNode;
use bertha_core::{DifferingCapability, LayerInfo, Node};
use std::slice::Iter;

/// The capabilities of two ends, in the layers that both use, whose encodings differ.
#[derive(Debug, Default)]
pub(crate) struct Capabilities {
    /// The client's capabilities, for the server.
    pub(crate) client: Vec<DifferingCapability>,
    /// The server's capabilities, for the client.
    pub(crate) server: Vec<DifferingCapability>,
}

impl Capabilities {
    /// Compares the capabilities of a matched stack: of the offered nodes with the client's picks, and of the
    /// layers that the server's picks leave.
    pub(crate) fn new(offered: &[OfferedNode], client_picks: &[u8], server: &[Node]) -> Self {
        let mut theirs = Vec::new();
        encodings(offered, &mut client_picks.iter(), true, &mut theirs);
        let ours = server.iter().filter_map(two_sided);
        let mut capabilities = Self::default();
        for ((layer, theirs), ours) in (0..).zip(theirs).zip(ours) {
            let Ok(ours) = ours.capability().encode() else { continue };
            if ours != theirs {
                capabilities.client.push(DifferingCapability { layer, encoding: theirs.to_vec() });
                capabilities.server.push(DifferingCapability { layer, encoding: ours });
            }
        }
        capabilities
    }
}

fn two_sided(node: &Node) -> Option<&LayerInfo> {
    match node {
        Node::Layer(layer) if !layer.is_one_sided() => Some(layer),
        _ => None,
    }
}

/// The encodings of the picked layers that are not one-sided, top first. Takes the picks of branches that are
/// not used, too.
fn encodings<'o>(
    nodes: &'o [OfferedNode],
    picks: &mut Iter<'_, u8>,
    is_used: bool,
    into: &mut Vec<&'o [u8]>,
) {
    for node in nodes {
        match node {
            OfferedNode::Layer(layer) if is_used && !layer.one_sided => into.push(&layer.encoding),
            OfferedNode::Layer(_) => {}
            OfferedNode::Select { branches: [first, second], .. } => {
                let pick = picks.next().copied().unwrap_or_default();
                for (branch, number) in [(first, 0), (second, 1)] {
                    encodings(branch, picks, is_used && pick == number, into);
                }
            }
        }
    }
}
