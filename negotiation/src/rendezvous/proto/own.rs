//! What a participant itself can run, and would like to.

use super::{Description, Policy};
use bertha_core::{Error, ErrorKind, Node};
use std::hash::{Hash, Hasher};

/// A participant's own stack with its alternatives, and what it prefers when.
#[derive(Debug, Clone)]
pub struct OwnStack {
    nodes: Vec<Node>,
    policies: Vec<Policy>,
}

impl OwnStack {
    /// A stack that describes itself as `nodes`.
    ///
    /// # Errors
    /// Those of [`Description::of`], for the stack as it is preferred.
    pub fn new(nodes: Vec<Node>, policies: Vec<Policy>) -> Result<Self, Error> {
        let own = Self { nodes, policies };
        own.describe(&own.preferred(1))?;
        Ok(own)
    }

    /// Which alternatives of this stack make that one.
    ///
    /// # Errors
    /// Which Chunnel does not suit, and why.
    pub fn picks_for(&self, stack: &Description) -> Result<Vec<u8>, String> {
        stack.picks_of(&self.nodes)
    }

    /// The stack with these alternatives.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the stack has another number of `select!`s; those of [`Description::of`].
    pub fn describe(&self, picks: &[u8]) -> Result<Description, Error> {
        let choices: usize = self.nodes.iter().map(Node::selects).sum();
        if picks.len() != choices || picks.iter().any(|pick| *pick > 1) {
            let what = format!("{picks:?} does not pick an alternative of each of {choices} choices");
            return Err(Error::new(ErrorKind::Invalid, what).at("rendezvous"));
        }
        Description::of(&self.nodes, picks)
    }

    /// The alternatives that are preferred among so many participants.
    pub fn preferred(&self, participants: usize) -> Vec<u8> {
        let mut picks = Vec::new();
        push_preferred(&self.nodes, &mut picks);
        self.policies.iter().for_each(|policy| policy.apply(&self.nodes, &mut picks, participants));
        picks
    }

    /// What the policies would rather have than `picks` among so many participants, if there is any such thing.
    pub fn wish(&self, picks: &[u8], participants: usize) -> Option<Vec<u8>> {
        let mut wished = picks.to_vec();
        self.policies.iter().for_each(|policy| policy.apply(&self.nodes, &mut wished, participants));
        (wished != picks).then_some(wished)
    }
}

// A participant's own stack never changes, so it does not tell two states of the participant apart. This is what a model
// checker compares states with.
impl PartialEq for OwnStack {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OwnStack {}

impl Hash for OwnStack {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

fn push_preferred(nodes: &[Node], picks: &mut Vec<u8>) {
    for node in nodes {
        if let Node::Select { branches, prefer } = node {
            picks.push(*prefer);
            branches.iter().for_each(|branch| push_preferred(branch, picks));
        }
    }
}

/// Picks the alternative with this number, or the last one, of the choice with that number, in pre-order.
///
/// More than two alternatives are choices nested in the second branch. Choices within the alternative that is new get
/// their preferred one.
pub(super) fn set_alternative(nodes: &[Node], choice: usize, alternative: usize, picks: &mut [u8]) {
    let mut first = 0;
    for node in nodes {
        let choices = node.selects();
        if choice < first + choices {
            return set_within(node, choice - first, alternative, &mut picks[first..first + choices]);
        }
        first += choices;
    }
}

/// The same within one node, whose choices `picks` are.
fn set_within(node: &Node, choice: usize, alternative: usize, picks: &mut [u8]) {
    let Node::Select { branches: [first, second], .. } = node else { return };
    let Some((pick, inside)) = picks.split_first_mut() else { return };
    let in_first = first.iter().map(Node::selects).sum();
    let (in_first, in_second) = inside.split_at_mut(in_first);
    if let Some(choice) = choice.checked_sub(1) {
        return match choice.checked_sub(in_first.len()) {
            None => set_alternative(first, choice, alternative, in_first),
            Some(choice) => set_alternative(second, choice, alternative, in_second),
        };
    }
    let picked = u8::from(alternative > 0);
    let (branch, inside) = if picked == 0 { (first, in_first) } else { (second, in_second) };
    if *pick != picked {
        *pick = picked;
        let mut preferred = Vec::new();
        push_preferred(branch, &mut preferred);
        inside.copy_from_slice(&preferred);
    }
    if picked == 1
        && let [nested @ Node::Select { .. }] = &branch[..]
    {
        set_within(nested, 0, alternative - 1, inside);
    }
}
