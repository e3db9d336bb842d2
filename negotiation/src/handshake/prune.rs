//! A stack without the alternatives that can't hold.

use super::requirements::Requirements;
use super::wants::Wants;
use bertha_core::Node;
use std::borrow::Cow;

/// A stack without the alternatives that can't hold, so that the other end does not pick them.
#[derive(Debug, Default)]
pub(crate) struct Pruned<'n> {
    pub(crate) nodes: Cow<'n, [Node]>,
    pub(crate) choices: Choices,
}

/// The choices of a stack, with the branches that were taken by pruning.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choices {
    /// The branch taken of each choice of the whole stack, in pre-order; `None` for a choice that is left to
    /// the other end.
    taken: Vec<Option<u8>>,
}

impl<'n> Pruned<'n> {
    /// Returns `nodes` without the alternatives that don't hold within `requirements`, with any picks of
    /// other choices.
    pub(crate) fn new(nodes: &'n [Node], requirements: Requirements) -> Self {
        if !nodes.iter().any(|node| matches!(node, Node::Select { .. })) {
            return Self { nodes: nodes.into(), choices: Choices::default() };
        }
        let mut taken = Vec::new();
        let wanted = Wants::one(requirements.floor);
        let given = Wants::given_by(requirements.transport);
        let nodes = prune(nodes, wanted, given, &mut taken).into();
        Self { nodes, choices: Choices { taken } }
    }
}

impl Choices {
    /// Returns the number of choices that are left.
    pub(crate) fn left(&self) -> usize {
        self.taken.iter().filter(|taken| taken.is_none()).count()
    }

    /// Returns the picks of the whole stack for the picks of the choices that are left.
    pub(crate) fn expand(&self, picks: &[u8]) -> Vec<u8> {
        let mut picks = picks.iter().copied();
        self.taken.iter().map(|taken| taken.unwrap_or_else(|| picks.next().unwrap_or_default())).collect()
    }

    /// Returns the picks of the choices that are left for the picks of the whole stack.
    pub(crate) fn contract(&self, picks: &[u8]) -> Vec<u8> {
        let left = picks.iter().zip(&self.taken).filter(|(_, taken)| taken.is_none());
        left.map(|(&pick, _)| pick).collect()
    }
}

/// Prunes `nodes`, above which the guarantees `wanted` are wanted, and below which the guarantees `given` are
/// available.
fn prune(nodes: &[Node], mut wanted: Wants, given: Wants, taken: &mut Vec<Option<u8>>) -> Vec<Node> {
    // The demands that can be met below each node.
    let mut below: Vec<Wants> = nodes
        .iter()
        .rev()
        .scan(given, |given, node| Some(std::mem::replace(given, given.above(node))))
        .collect();
    below.reverse();
    let mut pruned = Vec::new();
    for (node, given) in nodes.iter().zip(below) {
        if let Node::Select { branches: [first, second], prefer } = node {
            let holds = |branch: &[Node]| branch.iter().rev().fold(given, Wants::above).meets(wanted);
            match (holds(first), holds(second)) {
                (true, false) => {
                    taken.push(Some(0));
                    pruned.extend(prune(first, wanted, given, taken));
                    drop_choices(second, taken);
                }
                (false, true) => {
                    taken.push(Some(1));
                    drop_choices(first, taken);
                    pruned.extend(prune(second, wanted, given, taken));
                }
                _ => {
                    taken.push(None);
                    let branches = [prune(first, wanted, given, taken), prune(second, wanted, given, taken)];
                    pruned.push(Node::Select { branches, prefer: prefer.clone() });
                }
            }
        } else {
            pruned.push(node.clone());
        }
        wanted = wanted.below(node);
    }
    pruned
}

/// Adds the choices of a branch that is not taken.
fn drop_choices(branch: &[Node], taken: &mut Vec<Option<u8>>) {
    let count = taken.len() + branch.iter().map(Node::selects).sum::<usize>();
    taken.resize(count, Some(0));
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::super::requirements::{check_picks, check_possible};
    use super::super::wants::can_hold;
    use super::*;
    use bertha_core::guarantee::{Encrypted, Guarantees, Reliable, Set};
    use bertha_core::{LayerInfo, Picks, Properties, resolve};
    use proptest::prelude::*;

    fn layer<G: Guarantees>(name: &'static str) -> Node {
        Node::Layer(LayerInfo::plain(name, 1).guaranteeing(Set::of::<G>()))
    }

    fn needy<N: Guarantees>(name: &'static str) -> Node {
        Node::Layer(LayerInfo::plain(name, 1).needing(Set::of::<N>()))
    }

    fn taking<W: Guarantees>(name: &'static str) -> Node {
        Node::Layer(LayerInfo::plain(name, 1).withdrawing(Set::of::<W>()))
    }

    fn either(first: Vec<Node>, second: Vec<Node>) -> Node {
        Node::Select { branches: [first, second], prefer: 0.into() }
    }

    fn above<G: Guarantees>() -> Requirements {
        Requirements::new(Set::of::<G>(), Properties::DATAGRAM)
    }

    fn written(nodes: &[Node]) -> Vec<String> {
        nodes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_can_not_reach_the_floor_is_not_offered() {
        let inner = either(vec![layer::<()>("open")], vec![layer::<Encrypted>("tls")]);
        let stack = [
            either(vec![layer::<()>("a")], vec![layer::<Reliable>("b")]),
            either(vec![layer::<()>("plain"), either(vec![], vec![])], vec![inner]),
        ];
        let pruned = Pruned::new(&stack, above::<Encrypted>());
        assert_eq!(pruned.choices.left(), 1);
        assert_eq!(written(&pruned.nodes), ["(a | b)", "tls"]);
        assert_eq!(pruned.choices.expand(&[1]), [1, 1, 0, 1]);
        assert!(check_picks(&stack, &[1, 1, 0, 1], above::<Encrypted>()).is_ok());
        let error = check_picks(&stack, &[1, 1, 0, 0], above::<Encrypted>()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "negotiation: refused: the stack has to be encrypted; the other end picked [b / open], which is not encrypted"
        );
    }

    #[test]
    fn what_lacks_something_below_it_is_not_offered() {
        let sort = || needy::<Reliable>("sort");
        let stack =
            [either(vec![sort()], vec![layer::<()>("gaps")]), either(vec![layer::<()>("raw")], vec![])];
        let pruned = Pruned::new(&stack, above::<()>());
        assert_eq!(written(&pruned.nodes), ["gaps", "(raw | nothing)"]);
        let over_streams = Pruned::new(&stack, Requirements::new(Set::NONE, Properties::STREAM));
        assert_eq!(written(&over_streams.nodes), ["(sort | gaps)", "(raw | nothing)"]);

        // A layer above takes away the alternatives that don't give the guarantees it needs.
        let stack = [sort(), either(vec![layer::<()>("raw")], vec![layer::<Reliable>("repeat")])];
        assert_eq!(written(&Pruned::new(&stack, above::<()>()).nodes), ["sort", "repeat"]);
        let error = check_picks(&stack, &[0], above::<()>()).unwrap_err();
        assert!(
            error.to_string().starts_with("sort: refused: the other end picked what can't hold: "),
            "{error}"
        );

        let error = check_possible(&[sort(), either(vec![], vec![layer::<()>("raw")])], above::<()>());
        assert!(
            error.unwrap_err().to_string().starts_with("sort: invalid: what is below it has to be reliable")
        );
    }

    fn tree() -> impl Strategy<Value = Vec<Node>> {
        let leaf = prop_oneof![
            Just(layer::<()>("n")),
            Just(layer::<Encrypted>("e")),
            Just(layer::<Reliable>("r")),
            Just(needy::<Reliable>("R")),
            Just(needy::<Encrypted>("E")),
            Just(taking::<Reliable>("-r")),
            Just(taking::<Encrypted>("-e")),
        ];
        let node = leaf.prop_recursive(3, 12, 3, |inner| {
            let branch = || proptest::collection::vec(inner.clone(), 0..3);
            (branch(), branch()).prop_map(|(first, second)| either(first, second))
        });
        proptest::collection::vec(node, 0..4)
    }

    proptest! {
        /// Every pick that holds is still there, picks of what is left mean the same layers, and no
        /// alternative is left with which nothing holds.
        #[test]
        fn trimming_loses_what_can_not_hold_and_nothing_else(nodes in tree(), streams in any::<bool>()) {
            let properties = if streams { Properties::STREAM } else { Properties::DATAGRAM };
            let requirements = Requirements::new(Set::of::<(Encrypted, Reliable)>(), properties);
            let choices: usize = nodes.iter().map(Node::selects).sum();
            prop_assume!(choices <= 10);
            let all = |choices: usize| {
                (0..1u32 << choices).map(move |bits| (0..choices).map(|at| (bits >> at & 1) as u8).collect::<Vec<_>>())
            };
            let holding: Vec<_> = all(choices).filter(|picks| check_picks(&nodes, picks, requirements).is_ok()).collect();
            prop_assert_eq!(can_hold(&nodes, requirements.floor, requirements.transport), !holding.is_empty());
            prop_assert_eq!(check_possible(&nodes, requirements).is_ok(), !holding.is_empty());
            if holding.is_empty() {
                return Ok(());
            }
            let pruned = Pruned::new(&nodes, requirements);
            let names = |nodes: &[Node], picks: &[u8]| written(&resolve(nodes, Picks::new(picks)));
            let mut left = Vec::new();
            let mut useful = vec![[false; 2]; pruned.choices.left()];
            for picks in all(pruned.choices.left()) {
                let whole = pruned.choices.expand(&picks);
                prop_assert_eq!(whole.len(), choices);
                prop_assert_eq!(pruned.choices.contract(&whole), picks.clone());
                prop_assert_eq!(names(&pruned.nodes, &picks), names(&nodes, &whole));
                if check_picks(&nodes, &whole, requirements).is_ok() {
                    picks.iter().zip(&mut useful).for_each(|(&pick, useful)| useful[usize::from(pick)] = true);
                }
                left.push(names(&pruned.nodes, &picks));
            }
            for picks in holding {
                prop_assert!(left.contains(&names(&nodes, &picks)));
            }
            prop_assert!(useful.iter().all(|useful| *useful == [true; 2]), "{useful:?}");
        }
    }
}
