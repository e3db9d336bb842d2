//! The part of a stack that the other end sees.

use crate::{LayerInfo, Node};

/// Returns true if two lists of layers differ for the other end: in their two-sided Chunnels, their
/// capabilities or their order.
pub(super) fn differs(before: &[Node], after: &[Node]) -> bool {
    let before = two_sided(before);
    let after = two_sided(after);
    before.len() != after.len() || before.iter().zip(after).any(|(before, after)| node_differs(before, after))
}

fn two_sided(nodes: &[Node]) -> Vec<&Node> {
    let is_two_sided = |node: &&Node| match node {
        Node::Layer(layer) => !layer.is_one_sided(),
        Node::Select { .. } => true,
    };
    nodes.iter().filter(is_two_sided).collect()
}

fn node_differs(before: &Node, after: &Node) -> bool {
    match (before, after) {
        (Node::Layer(before), Node::Layer(after)) => layer_differs(before, after),
        (
            Node::Select { branches: [first, second], prefer },
            Node::Select { branches: [new_first, new_second], prefer: new_prefer },
        ) => prefer != new_prefer || differs(first, new_first) || differs(second, new_second),
        _ => true,
    }
}

fn layer_differs(before: &LayerInfo, after: &LayerInfo) -> bool {
    let before = before.capability();
    let after = after.capability();
    before.id() != after.id()
        || before.version() != after.version()
        || before.encode().ok() != after.encode().ok()
}
