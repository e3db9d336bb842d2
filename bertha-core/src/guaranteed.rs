//! The guarantees that hold above a list of layers.
//!
//! A layer gives a guarantee, passes it on or withdraws it, and so does a list of layers: a guarantee holds
//! above a list if a layer gives it and no higher layer withdraws it. With alternatives, the stronger effect
//! of two counts, since it is picked where the guarantee is wanted. This result is exact for each guarantee
//! alone: no pick elsewhere makes a stronger effect worse. Two guarantees may need different picks of a
//! choice, so only a search over all picks finds out if a stack can have both at once.

use crate::Node;
use crate::guarantee::{Effects, Set};

/// Returns the effects of layers, top first, with the best picks for each guarantee.
pub(crate) fn effects_of<'n>(nodes: impl IntoIterator<Item = &'n Node>) -> Effects {
    nodes.into_iter().fold(Effects::NONE, |above, node| above.over(effects_of_node(node)))
}

fn effects_of_node(node: &Node) -> Effects {
    match node {
        Node::Layer(layer) => layer.effects(),
        Node::Select { branches: [first, second], .. } => effects_of(first).or(effects_of(second)),
    }
}

/// Returns the guarantees that hold above `nodes`, top first, over a datapath with the guarantees `datapath`.
/// Where there are alternatives, a guarantee counts if it holds with any pick.
pub fn guaranteed_above(nodes: &[Node], datapath: Set) -> Set {
    effects_of(nodes).above(datapath)
}

/// Returns the highest layer, or choice, of `nodes` that withdraws a guarantee of `missing` which holds below
/// it.
pub fn withdrawing(nodes: &[Node], missing: Set, datapath: Set) -> Option<&Node> {
    let mut holding = datapath;
    let withdraws = |node: &&Node| {
        let below = holding;
        holding = effects_of_node(node).above(below);
        !below.without(holding).common(missing).is_empty()
    };
    nodes.iter().rev().filter(withdraws).last()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guarantee::{Encrypted, Ordered};
    use crate::{Describe, Identity, make_stack, select};

    #[derive(Identity)]
    #[chunnel(guarantees(Encrypted))]
    struct Veil;

    #[derive(Identity)]
    #[chunnel(withdraws(Encrypted))]
    struct Bypass;

    #[derive(Identity)]
    #[chunnel(guarantees(Ordered), withdraws(Ordered, Encrypted))]
    struct Sort;

    fn encrypted() -> Set {
        Set::of::<Encrypted>()
    }

    #[test]
    fn only_what_stands_below_is_withdrawn() {
        let holds = |stack: &dyn Describe| guaranteed_above(&stack.nodes(), Set::NONE);
        assert_eq!(holds(&make_stack!(Veil, Bypass)), encrypted());
        assert_eq!(holds(&make_stack!(Bypass, Veil)), Set::NONE);
        assert_eq!(holds(&make_stack!(Veil, Bypass, Veil)), encrypted());
        assert_eq!(holds(&make_stack!(Sort, Veil)), Set::of::<Ordered>(), "its own guarantees hold");
        assert_eq!(guaranteed_above(&Bypass.nodes(), encrypted()), Set::NONE, "the datapath is below it");
        assert_eq!(holds(&make_stack!(select!(Bypass, make_stack!()), Veil)), encrypted());
        assert_eq!(holds(&make_stack!(select!(Bypass, Sort), Veil)), Set::of::<Ordered>());
    }

    #[test]
    fn the_highest_layer_that_takes_it_away_is_found() {
        let name = |stack: &dyn Describe| {
            withdrawing(&stack.nodes(), encrypted(), Set::NONE).map(ToString::to_string)
        };
        assert_eq!(name(&make_stack!(Bypass, Veil)).as_deref(), Some("Bypass"));
        assert_eq!(name(&make_stack!(Sort, Veil, Bypass, Veil)).as_deref(), Some("Sort"));
        assert_eq!(name(&make_stack!(select!(Bypass, Sort), Veil)).as_deref(), Some("(Bypass | Sort)"));
        assert_eq!(name(&make_stack!(Bypass)), None, "there was nothing to withdraw");
    }
}
