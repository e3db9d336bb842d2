//! The alternatives of `select!`s that a connection uses.

use crate::describe::count_selects;
use crate::{Node, Situation};

/// The picks of one connection, seen from one place in the stack.
///
/// The `select!`s of a stack are numbered in pre-order, outer before inner and top before bottom; a pick is 0
/// for the first alternative and 1 for the second. A stack of more than two alternatives is a `select!`
/// within a `select!`.
#[derive(Debug, Clone, Copy)]
pub struct Picks<'a> {
    picks: &'a [u8],
    offset: usize,
}

impl<'a> Picks<'a> {
    /// Returns the picks of a whole stack.
    pub fn new(picks: &'a [u8]) -> Self {
        Self { picks, offset: 0 }
    }

    /// Returns the view behind the next `selects` alternatives.
    pub(crate) fn skip(self, selects: usize) -> Self {
        Self { offset: self.offset + selects, ..self }
    }

    /// Returns the pick of the `select!` at this place.
    pub(crate) fn here(self) -> Option<u8> {
        self.picks.get(self.offset).copied()
    }
}

/// Returns the picks of the preferred alternative of every `select!` in this situation.
pub fn preferred(nodes: &[Node], situation: &Situation) -> Vec<u8> {
    fn visit(nodes: &[Node], situation: &Situation, picks: &mut Vec<u8>) {
        for node in nodes {
            if let Node::Select { branches, prefer } = node {
                picks.push(prefer.in_situation(situation));
                branches.iter().for_each(|branch| visit(branch, situation, picks));
            }
        }
    }
    let mut picks = Vec::new();
    visit(nodes, situation, &mut picks);
    picks
}

/// Returns the layers of `nodes` with each choice replaced by its picked alternative.
pub fn resolve(nodes: &[Node], picks: Picks<'_>) -> Vec<Node> {
    let mut resolved = Vec::with_capacity(nodes.len());
    walk(nodes, picks, &mut resolved);
    resolved
}

fn walk(nodes: &[Node], mut picks: Picks<'_>, resolved: &mut Vec<Node>) {
    for node in nodes {
        if let Node::Select { branches: [first, second], .. } = node {
            let inside = picks.skip(1);
            match picks.here() {
                Some(0) => walk(first, inside, resolved),
                _ => walk(second, inside.skip(count_selects(first)), resolved),
            }
        } else {
            resolved.push(node.clone());
        }
        picks = picks.skip(node.selects());
    }
}
