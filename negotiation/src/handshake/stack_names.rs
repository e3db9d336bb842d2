//! The stacks of both ends as a refusal names them.

use crate::wire::OfferedNode;
use bertha_core::Node;

/// Returns the names of the server's own stack. They have no labels such as the `postcard` of `Serialize[postcard]`,
/// which an offer can't name.
pub(super) fn of_own(nodes: &[Node]) -> String {
    written(nodes, |node| match node {
        Node::Layer(layer) => Part::Layer(layer.name()),
        Node::Select { branches, .. } => Part::Select(branches),
    })
}

/// Returns the names of the stack that a client offers.
pub(super) fn of_offered(nodes: &[OfferedNode]) -> String {
    written(nodes, |node| match node {
        OfferedNode::Layer(layer) => Part::Layer(layer.short_name()),
        OfferedNode::Select { branches, .. } => Part::Select(branches),
    })
}

/// A node of either end.
enum Part<'n, N> {
    Layer(&'n str),
    Select(&'n [Vec<N>; 2]),
}

fn written<N>(nodes: &[N], part: fn(&N) -> Part<'_, N>) -> String {
    let one = |node| match part(node) {
        Part::Layer(name) => name.to_owned(),
        Part::Select(branches) => format!("({})", alternatives(branches, part)),
    };
    match nodes {
        [] => "nothing".to_owned(),
        nodes => nodes.iter().map(one).collect::<Vec<_>>().join(" / "),
    }
}

/// Returns the alternatives of a choice. A choice whose second branch is nothing but a choice has three or more.
fn alternatives<N>([first, second]: &[Vec<N>; 2], part: fn(&N) -> Part<'_, N>) -> String {
    let choice = match second.as_slice() {
        [only] => match part(only) {
            Part::Select(branches) => Some(branches),
            Part::Layer(_) => None,
        },
        _ => None,
    };
    let others = choice.map_or_else(|| written(second, part), |branches| alternatives(branches, part));
    format!("{} | {others}", written(first, part))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use crate::wire::Offer;
    use bertha_core::{Capability, LayerInfo, Mismatch};
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Serialize, Deserialize)]
    struct Codec;

    impl Capability for Codec {
        const ID: &'static str = "test::Codec";

        fn label(&self) -> Option<String> {
            Some("postcard".into())
        }

        fn compatible(&self, _: &Self) -> Result<(), Mismatch> {
            Ok(())
        }
    }

    fn layer(name: &'static str) -> Node {
        Node::Layer(LayerInfo::plain(name, 1))
    }

    fn either(first: Vec<Node>, second: Vec<Node>, prefer: u8) -> Node {
        Node::Select { branches: [first, second], prefer: prefer.into() }
    }

    #[test]
    fn a_chunnel_has_one_name_at_both_ends() {
        let few = either(vec![layer("b::Two"), layer("b::Three")], vec![], 0);
        let nodes = [
            Node::Layer(LayerInfo::with("test::Serialize", Codec)),
            either(vec![layer("a::One")], vec![few], 1),
            layer("Four"),
        ];
        assert_eq!(of_own(&nodes), "Serialize / (One | Two / Three | nothing) / Four");
        let offered = Offer::new(7, &nodes).unwrap().nodes().unwrap();
        assert_eq!(of_offered(&offered), of_own(&nodes));
        assert_eq!(of_own(&[]), of_offered(&[]));
    }
}
