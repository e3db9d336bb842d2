//! The steering of messages to shards, for a stack with a Chunnel that asks for it.

use crate::wire::HEADER;
use bertha_core::{Error, ErrorKind, LayerInfo, Node, Steering};

/// Has the listener steer messages, by its function `steer`, if a layer of `nodes` asks for it. Returns the
/// nodes, in which layers that can't have it are marked with the reason.
///
/// # Errors
/// [`Unavailable`](ErrorKind::Unavailable) if no stack is left without such a layer.
pub(super) fn steered(
    mut nodes: Vec<Node>,
    steer: impl FnMut(&Steering) -> Result<(), Error>,
) -> Result<Vec<Node>, Error> {
    let _ = Preparation { steer, by: None }.visit(&mut nodes, Ok(HEADER));
    match lacking(&nodes) {
        None => Ok(nodes),
        Some(layer) => {
            let reason = layer.missing_reason().unwrap_or_default();
            Err(Error::new(ErrorKind::Unavailable, reason.to_owned()).at(layer.name()))
        }
    }
}

/// The number of bytes in front of each message, or the reason why messages have no place of their own.
type Front = Result<usize, String>;

struct Preparation<F> {
    steer: F,
    /// The first rule, and the outcome: a listener has one rule.
    by: Option<(Steering, Result<(), String>)>,
}

impl<F: FnMut(&Steering) -> Result<(), Error>> Preparation<F> {
    /// Visits `nodes` from the lowest to the highest, over layers with this front. Returns the front above.
    fn visit(&mut self, nodes: &mut [Node], below: Front) -> Front {
        nodes.iter_mut().rev().fold(below, |below, node| match node {
            Node::Layer(layer) => {
                if let Some(by) = layer.steering().filter(|_| layer.missing_reason().is_none())
                    && let Err(reason) = below.clone().and_then(|front| self.prepare(by.behind(front)))
                {
                    *layer = layer.clone().missing(reason);
                }
                let name = layer.name();
                let own =
                    layer.front().ok_or_else(|| format!("{name} below it does not carry each message apart"));
                below.and_then(|front| Ok(front + own?))
            }
            Node::Select { branches: [first, second], .. } => {
                match (self.visit(first, below.clone()), self.visit(second, below)) {
                    (Ok(first), Ok(second)) if first != second => {
                        Err("the alternatives below it put different numbers of bytes in front".into())
                    }
                    (Ok(front), Ok(_)) => Ok(front),
                    (Err(reason), _) | (_, Err(reason)) => Err(reason),
                }
            }
        })
    }

    fn prepare(&mut self, by: Steering) -> Result<(), String> {
        let (first, outcome) = self
            .by
            .get_or_insert_with(|| (by, (self.steer)(&by).map_err(|error| error.context().to_owned())));
        if *first == by { outcome.clone() } else { Err("the listener steers by another rule".into()) }
    }
}

/// Returns a layer that every stack of `nodes` has, and that lacks what it needs.
fn lacking(nodes: &[Node]) -> Option<&LayerInfo> {
    nodes.iter().find_map(|node| match node {
        Node::Layer(layer) => layer.missing_reason().is_some().then_some(layer),
        Node::Select { branches: [first, second], .. } => lacking(first).and(lacking(second)),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use std::num::NonZero;

    const SHARDS: NonZero<usize> = NonZero::new(6).unwrap();

    fn apart(name: &'static str, front: usize) -> Node {
        LayerInfo::plain(name, 1).apart(front).into()
    }

    fn shard(key_at: usize) -> Node {
        LayerInfo::plain("shard", 1).steered(Steering::new(key_at, 4, SHARDS)).into()
    }

    fn either(first: Vec<Node>, second: Vec<Node>) -> Node {
        Node::Select { branches: [first, second], prefer: 0.into() }
    }

    /// Returns the offsets for which the listener was asked, and the reasons of the layers that lack it.
    fn prepared(nodes: Vec<Node>, outcome: Result<(), Error>) -> (Vec<usize>, Result<Vec<String>, String>) {
        let mut asked = Vec::new();
        let outcome = outcome.map_err(|error| error.context().to_owned());
        let nodes = steered(nodes, |by| {
            asked.push(by.key_at());
            outcome.clone().map_err(|what| Error::new(ErrorKind::Unavailable, what))
        });
        fn reasons(nodes: &[Node], into: &mut Vec<String>) {
            for node in nodes {
                match node {
                    Node::Layer(layer) => into.extend(layer.missing_reason().map(str::to_owned)),
                    Node::Select { branches, .. } => branches.iter().for_each(|branch| reasons(branch, into)),
                }
            }
        }
        let missing = nodes.map(|nodes| {
            let mut into = Vec::new();
            reasons(&nodes, &mut into);
            into
        });
        (asked, missing.map_err(|error| error.to_string()))
    }

    #[test]
    fn the_rule_counts_all_bytes_in_front() {
        let stack = |key_at| vec![either(vec![shard(key_at)], vec![]), apart("encode", 0), apart("check", 4)];
        assert_eq!(prepared(stack(0), Ok(())), (vec![HEADER + 4], Ok(vec![])));
        assert_eq!(prepared(stack(3), Ok(())), (vec![HEADER + 7], Ok(vec![])));
        let twice =
            vec![either(vec![shard(0)], vec![shard(0)]), either(vec![apart("a", 2)], vec![apart("b", 2)])];
        assert_eq!(prepared(twice, Ok(())), (vec![HEADER + 2], Ok(vec![])), "the listener is asked once");
        assert_eq!(prepared(vec![apart("check", 4)], Ok(())), (vec![], Ok(vec![])));
    }

    #[test]
    fn a_layer_that_can_not_have_it_gets_the_reason() {
        let choice = || either(vec![shard(0)], vec![apart("other", 0)]);
        let encrypted = vec![choice(), LayerInfo::plain("noise", 1).into()];
        let reason = "noise below it does not carry each message apart".to_owned();
        assert_eq!(prepared(encrypted, Ok(())), (vec![], Ok(vec![reason])));
        let uneven = vec![choice(), either(vec![apart("a", 2)], vec![])];
        let reason = "the alternatives below it put different numbers of bytes in front".to_owned();
        assert_eq!(prepared(uneven, Ok(())), (vec![], Ok(vec![reason])));
        let refused = || Err(Error::new(ErrorKind::Unavailable, "no CAP_BPF"));
        assert_eq!(prepared(vec![choice()], refused()), (vec![HEADER], Ok(vec!["no CAP_BPF".into()])));
        let two_rules = vec![either(vec![shard(0)], vec![shard(1)])];
        let (asked, missing) = prepared(two_rules, Ok(()));
        assert_eq!((asked, missing), (vec![HEADER], Ok(vec!["the listener steers by another rule".into()])));
        let own = vec![Node::from(
            LayerInfo::plain("shard", 1).steered(Steering::new(0, 0, SHARDS)).missing("mine"),
        )];
        assert_eq!(prepared(vec![either(own, vec![])], Ok(())), (vec![], Ok(vec!["mine".into()])));
    }

    #[test]
    fn a_stack_that_is_nothing_without_it_is_refused() {
        let refused = || Err(Error::new(ErrorKind::Unavailable, "no CAP_BPF"));
        let (_, error) = prepared(vec![shard(0)], refused());
        assert_eq!(error.unwrap_err(), "shard: unavailable: no CAP_BPF");
        let (_, error) = prepared(vec![either(vec![shard(0)], vec![shard(0)])], refused());
        assert!(error.is_err());
    }
}
