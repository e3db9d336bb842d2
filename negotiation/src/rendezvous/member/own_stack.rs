//! A participant's own stack, and its preferences.

use super::description::Description;
use bertha_core::{Error, ErrorKind, Node, Situation, preferred};
use std::hash::{Hash, Hasher};

/// A participant's own stack, with its alternatives and the conditions of its preferences.
#[derive(Debug, Clone)]
pub struct OwnStack {
    nodes: Vec<Node>,
}

impl OwnStack {
    /// Makes the stack that `nodes` describe.
    ///
    /// # Errors
    /// The errors of [`Description::of`], for the preferred alternatives.
    pub fn new(nodes: Vec<Node>) -> Result<Self, Error> {
        let own = Self { nodes };
        own.describe(&own.preferred(1))?;
        Ok(own)
    }

    /// Returns the alternatives of this stack that make `stack`.
    ///
    /// # Errors
    /// The Chunnel that does not fit, and the reason.
    pub fn picks_for(&self, stack: &Description) -> Result<Vec<u8>, String> {
        stack.picks_of(&self.nodes)
    }

    /// Describes the stack with these alternatives.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the stack has another number of `select!`s; the errors of
    /// [`Description::of`].
    pub fn describe(&self, picks: &[u8]) -> Result<Description, Error> {
        let choices: usize = self.nodes.iter().map(Node::selects).sum();
        if picks.len() != choices || picks.iter().any(|pick| *pick > 1) {
            let what = format!("{picks:?} does not pick an alternative of each of {choices} choices");
            return Err(Error::new(ErrorKind::Invalid, what).at("rendezvous"));
        }
        Description::of(&self.nodes, picks)
    }

    /// Returns the alternatives that are preferred among this number of participants.
    pub fn preferred(&self, participants: usize) -> Vec<u8> {
        preferred(&self.nodes, &Situation::among(participants))
    }

    /// Returns the picks that the stack prefers to `picks` among this number of participants, as far as its
    /// preferences depend on the number; `None` if it prefers no others. An unconditional preference is no
    /// reason to change a stack that is in use.
    pub fn improvement(&self, picks: &[u8], participants: usize) -> Option<Vec<u8>> {
        let mut wanted = picks.to_vec();
        apply_conditions(&self.nodes, &mut wanted, &Situation::among(participants));
        (wanted != picks).then_some(wanted)
    }
}

// A participant's own stack never changes, so two states of the participant, which a model checker compares,
// never differ in it.
impl PartialEq for OwnStack {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OwnStack {}

impl Hash for OwnStack {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// Changes `picks`, one for each choice in `nodes`, to the preferred picks in this situation wherever the
/// preference depends on the situation.
fn apply_conditions(nodes: &[Node], mut picks: &mut [u8], situation: &Situation) {
    for node in nodes {
        let (here, behind) = picks.split_at_mut(node.selects());
        picks = behind;
        let Node::Select { branches: [first, second], prefer } = node else { continue };
        let [pick, inside @ ..] = here else { continue };
        let (in_first, in_second) = inside.split_at_mut(first.iter().map(Node::selects).sum());
        let wanted = if prefer.is_conditional() { prefer.in_situation(situation) } else { *pick };
        let (branch, inside) = if wanted == 0 { (first, in_first) } else { (second, in_second) };
        // Choices within a newly picked alternative get their preferred pick.
        if std::mem::replace(pick, wanted) != wanted {
            inside.copy_from_slice(&preferred(branch, situation));
        } else {
            apply_conditions(branch, inside, situation);
        }
    }
}
