//! The guarantees that are wanted at a place of a stack, over all picks of its alternatives.
//!
//! The demand on the layers below some place is a set of guarantees: the needs of the application and of the
//! layers above, without those that a layer in between gives. A layer takes away its guarantees and adds its
//! needs, and nothing below it meets a demand for a guarantee that it withdraws; at the bottom the transport
//! has to give the rest. There are 256 such sets, so all possible demands at a place, over all picks, are 256
//! bits. A walk down and a walk up find the alternatives that can hold.

use bertha_core::Node;
use bertha_core::guarantee::Set;

/// Returns true if `nodes` have a pick that guarantees `floor`, and whose needs are met, over a transport
/// that gives `transport`.
pub(super) fn can_hold(nodes: &[Node], floor: Set, transport: Set) -> bool {
    nodes.iter().rev().fold(Wants::given_by(transport), Wants::above).meets(Wants::one(floor))
}

/// A set of sets of guarantees: a bit for each possible set, in words of 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wants([u64; 4]);

impl Wants {
    const NONE: Self = Self([0; 4]);

    pub(super) fn one(set: Set) -> Self {
        Self::NONE.with(set.bits())
    }

    /// Returns all sets of which `transport` gives every guarantee.
    pub(super) fn given_by(transport: Set) -> Self {
        (0..=u8::MAX)
            .filter(|bits| bits & !transport.bits() == 0)
            .fold(Self::NONE, |all, bits| all.with(bits))
    }

    fn with(mut self, bits: u8) -> Self {
        self.0[usize::from(bits / 64)] |= 1 << (bits % 64);
        self
    }

    fn has(self, bits: u8) -> bool {
        self.0[usize::from(bits / 64)] >> (bits % 64) & 1 == 1
    }

    fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    pub(super) fn meets(self, other: Self) -> bool {
        self.0.iter().zip(other.0).any(|(ours, theirs)| ours & theirs != 0)
    }

    /// Returns the demands below `node` for these demands above it.
    pub(super) fn below(self, node: &Node) -> Self {
        match node {
            Node::Layer(layer) if !layer.is_about_guarantees() => self,
            Node::Layer(layer) => (0..=u8::MAX)
                .filter(|bits| self.has(*bits))
                .filter_map(|bits| layer.wanted_below(Set::from_bits(bits)))
                .fold(Self::NONE, |all, below| all.with(below.bits())),
            Node::Select { branches: [first, second], .. } => {
                let through = |branch: &[Node]| branch.iter().fold(self, Self::below);
                through(first).or(through(second))
            }
        }
    }

    /// Returns the demands above `node` that can be met if these demands can be met below it.
    pub(super) fn above(self, node: &Node) -> Self {
        match node {
            Node::Layer(layer) if !layer.is_about_guarantees() => self,
            Node::Layer(layer) => (0..=u8::MAX)
                .filter(|bits| {
                    layer.wanted_below(Set::from_bits(*bits)).is_some_and(|below| self.has(below.bits()))
                })
                .fold(Self::NONE, |all, bits| all.with(bits)),
            Node::Select { branches: [first, second], .. } => {
                let through = |branch: &[Node]| branch.iter().rev().fold(self, Self::above);
                through(first).or(through(second))
            }
        }
    }
}
