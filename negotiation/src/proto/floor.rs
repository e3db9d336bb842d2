//! What a stack must guarantee, whatever the other end says.

use bertha_core::guarantee::Set;
use bertha_core::{Error, ErrorKind, Node, Picks, Properties, guarantee, resolve};

/// What the transport guarantees to all stacks that stand on it.
pub(crate) fn of_transport(properties: Properties) -> Set {
    let reliable = if properties.reliable { Set::of::<guarantee::Reliable>() } else { Set::NONE };
    let ordered = if properties.ordered { Set::of::<guarantee::Ordered>() } else { Set::NONE };
    reliable | ordered
}

/// Fails if no pick of the alternatives in `nodes` guarantees all of `floor`.
pub(crate) fn check_possible(nodes: &[Node], floor: Set) -> Result<(), Error> {
    let missing = floor.without(most(nodes));
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!("the stack has to be {floor}, and no alternative of it is {missing}");
    Err(Error::new(ErrorKind::Invalid, what).at("negotiation"))
}

/// Fails if the layers of `nodes` that are picked don't guarantee all of `floor` together.
pub fn check_floor(nodes: &[Node], picks: &[u8], floor: Set) -> Result<(), Error> {
    let layers = resolve(nodes, Picks::new(picks));
    let missing = floor.without(most(&layers));
    if missing.is_empty() {
        return Ok(());
    }
    let names = layers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" / ");
    let what = format!("the stack has to be {floor}; the other end picked [{names}], which is not {missing}");
    Err(Error::new(ErrorKind::Refused, what).at("negotiation"))
}

/// What all of `nodes` together guarantee with the best picks.
fn most(nodes: &[Node]) -> Set {
    nodes.iter().map(most_of).fold(Set::NONE, |all, set| all | set)
}

fn most_of(node: &Node) -> Set {
    match node {
        Node::Layer(layer) => layer.guarantees(),
        Node::Select { branches: [first, second], .. } => most(first) | most(second),
    }
}

/// A stack without the alternatives that can't reach a floor, so that the other end does not pick them.
#[derive(Debug, Default)]
pub(crate) struct Trimmed {
    pub(crate) nodes: Vec<Node>,
    /// For each choice of the whole stack in pre-order what was taken, or nothing if it is left to the other end.
    taken: Vec<Option<u8>>,
}

impl Trimmed {
    /// `nodes` without the alternatives with which `floor` can't be reached, whatever else is picked.
    pub(crate) fn new(nodes: &[Node], floor: Set) -> Self {
        let mut taken = Vec::new();
        let nodes = trim(nodes, floor, &mut taken);
        Self { nodes, taken }
    }

    /// How many choices are left.
    pub(crate) fn choices(&self) -> usize {
        self.taken.iter().filter(|taken| taken.is_none()).count()
    }

    /// The picks of the whole stack, given those of the choices that were left.
    pub(crate) fn expand(&self, picks: &[u8]) -> Vec<u8> {
        let mut picks = picks.iter().copied();
        self.taken.iter().map(|taken| taken.unwrap_or_else(|| picks.next().unwrap_or_default())).collect()
    }

    /// The picks of the choices that were left, given those of the whole stack.
    pub(crate) fn contract(&self, picks: &[u8]) -> Vec<u8> {
        let left = picks.iter().zip(&self.taken).filter(|(_, taken)| taken.is_none());
        left.map(|(&pick, _)| pick).collect()
    }
}

fn trim(nodes: &[Node], floor: Set, taken: &mut Vec<Option<u8>>) -> Vec<Node> {
    let mut trimmed = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let Node::Select { branches: [first, second], prefer } = node else {
            trimmed.push(node.clone());
            continue;
        };
        let elsewhere = most(&nodes[..at]) | most(&nodes[at + 1..]);
        let needed = floor.without(elsewhere);
        match (most(first).includes(needed), most(second).includes(needed)) {
            (true, false) => {
                taken.push(Some(0));
                trimmed.extend(trim(first, needed, taken));
                drop_choices(second, taken);
            }
            (false, true) => {
                taken.push(Some(1));
                drop_choices(first, taken);
                trimmed.extend(trim(second, needed, taken));
            }
            _ => {
                taken.push(None);
                let branches = [trim(first, needed, taken), trim(second, needed, taken)];
                trimmed.push(Node::Select { branches, prefer: *prefer });
            }
        }
    }
    trimmed
}

/// The choices of a branch that is not taken.
fn drop_choices(branch: &[Node], taken: &mut Vec<Option<u8>>) {
    let count = taken.len() + branch.iter().map(Node::selects).sum::<usize>();
    taken.resize(count, Some(0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_core::Layer;
    use bertha_core::guarantee::{Encrypted, Guarantees, Reliable};
    use proptest::prelude::*;

    fn layer<G: Guarantees>(name: &'static str) -> Node {
        Node::Layer(Layer::plain(name, 1).guaranteeing(Set::of::<G>()))
    }

    fn either(first: Vec<Node>, second: Vec<Node>) -> Node {
        Node::Select { branches: [first, second], prefer: 0.into() }
    }

    #[test]
    fn what_can_not_reach_the_floor_is_not_offered() {
        let inner = either(vec![layer::<()>("open")], vec![layer::<Encrypted>("tls")]);
        let stack = [
            either(vec![layer::<()>("a")], vec![layer::<Reliable>("b")]),
            either(vec![layer::<()>("plain"), either(vec![], vec![])], vec![inner]),
        ];
        let trimmed = Trimmed::new(&stack, Set::of::<Encrypted>());
        assert_eq!(trimmed.choices(), 1);
        assert_eq!(trimmed.nodes.iter().map(ToString::to_string).collect::<Vec<_>>(), ["(a | b)", "tls"]);
        assert_eq!(trimmed.expand(&[1]), [1, 1, 0, 1]);
        assert!(check_floor(&stack, &[1, 1, 0, 1], Set::of::<Encrypted>()).is_ok());
        let error = check_floor(&stack, &[1, 1, 0, 0], Set::of::<Encrypted>()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "negotiation: refused: the stack has to be encrypted; the other end picked [b / open], which is not encrypted"
        );
    }

    fn tree() -> impl Strategy<Value = Vec<Node>> {
        let leaf =
            prop_oneof![Just(layer::<()>("n")), Just(layer::<Encrypted>("e")), Just(layer::<Reliable>("r")),];
        let node = leaf.prop_recursive(3, 12, 3, |inner| {
            let branch = || proptest::collection::vec(inner.clone(), 0..3);
            (branch(), branch()).prop_map(|(first, second)| either(first, second))
        });
        proptest::collection::vec(node, 0..4)
    }

    proptest! {
        /// Every pick that reaches the floor is still there, and picks of what is left mean the same layers.
        #[test]
        fn trimming_loses_nothing_that_reaches_the_floor(nodes in tree()) {
            let floor = Set::of::<(Encrypted, Reliable)>();
            let choices: usize = nodes.iter().map(Node::selects).sum();
            prop_assume!(choices <= 10);
            let trimmed = Trimmed::new(&nodes, floor);
            let names = |nodes: &[Node], picks: &[u8]| {
                resolve(nodes, Picks::new(picks)).iter().map(ToString::to_string).collect::<Vec<_>>()
            };
            let all = |choices: usize| {
                (0..1u32 << choices).map(move |bits| (0..choices).map(|at| (bits >> at & 1) as u8).collect::<Vec<_>>())
            };
            let mut left = Vec::new();
            for picks in all(trimmed.choices()) {
                let whole = trimmed.expand(&picks);
                prop_assert_eq!(whole.len(), choices);
                prop_assert_eq!(trimmed.contract(&whole), picks.clone());
                prop_assert_eq!(names(&trimmed.nodes, &picks), names(&nodes, &whole));
                left.push(names(&trimmed.nodes, &picks));
            }
            for picks in all(choices).filter(|picks| check_floor(&nodes, picks, floor).is_ok()) {
                prop_assert!(left.contains(&names(&nodes, &picks)));
            }
        }
    }
}
