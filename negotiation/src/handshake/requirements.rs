//! The guarantees that a stack must give, to the application and to its own Chunnels, whatever the other end says.

use super::wants::can_hold;
use bertha_core::check_needs;
use bertha_core::guarantee::Set;
use bertha_core::{Error, ErrorKind, Node, Picks, Properties, Situation, preferred, resolve};

/// The guarantees required at the top of a stack, and those given at its bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirements {
    /// The guarantees that the layers have to give together, beyond those of the transport.
    pub(super) floor: Set,
    /// The guarantees that the transport gives to all stacks on it.
    pub(super) transport: Set,
}

impl Requirements {
    /// Any stack holds in it: no guarantee is asked for, and all needs of Chunnels are met.
    pub const OPEN: Self = Self { floor: Set::NONE, transport: Set::ALL };

    /// For a stack that has to guarantee `floor`, over a transport with these properties.
    pub fn new(floor: Set, transport: Properties) -> Self {
        let transport = transport.guarantees();
        Self { floor: floor.without(transport), transport }
    }

    /// The same, for a stack that takes the place of the one with these picks: it also has to keep the guarantees of that one, all but
    /// those in `may_lose`.
    #[must_use]
    pub fn keeping(self, nodes: &[Node], picks: &[u8], may_lose: Set) -> Self {
        let in_use = guarantees_of(nodes, picks);
        Self { floor: self.floor | in_use.without(may_lose).without(self.transport), ..self }
    }

    /// The guarantees of the floor that the stack with these picks lacks.
    pub fn missing(self, nodes: &[Node], picks: &[u8]) -> Set {
        self.floor.without(guarantees_of(nodes, picks))
    }
}

/// The guarantees of the layers that are picked.
fn guarantees_of(nodes: &[Node], picks: &[u8]) -> Set {
    most(&resolve(nodes, Picks::new(picks)))
}

/// Fails if no pick of the alternatives in `nodes` holds within `requirements`.
pub fn check_possible(nodes: &[Node], requirements: Requirements) -> Result<(), Error> {
    let Requirements { floor, transport } = requirements;
    // Mostly nothing is asked for.
    if (floor.is_empty() && !need_anything(nodes)) || can_hold(nodes, floor, transport) {
        return Ok(());
    }
    let missing = floor.without(most(nodes));
    if !missing.is_empty() {
        let what = format!("the stack has to be {floor}, and no alternative of it is {missing}");
        return Err(Error::new(ErrorKind::Invalid, what).at("negotiation"));
    }
    // Each alternative lacks something. The error names the need of the preferred picks.
    check_needs(&resolve(nodes, Picks::new(&preferred(nodes, &Situation::TWO_ENDS))), transport)?;
    let what = format!(
        "the stack has to be {floor}, and with each alternative that is, a Chunnel lacks what it needs below it"
    );
    Err(Error::new(ErrorKind::Invalid, what).at("negotiation"))
}

/// Fails if the layers of `nodes` that are picked don't hold within `requirements`.
///
/// # Errors
/// [`Refused`](ErrorKind::Refused): they are not the guarantees that this end asked for.
pub fn check_picks(nodes: &[Node], picks: &[u8], requirements: Requirements) -> Result<(), Error> {
    check_layers(&resolve(nodes, Picks::new(picks)), requirements)
}

/// As [`check_picks`], for the layers that are picked.
pub(crate) fn check_layers(layers: &[Node], requirements: Requirements) -> Result<(), Error> {
    check_needs(layers, requirements.transport).map_err(|unmet| {
        let what = format!("the other end picked what can't hold: {}", unmet.context());
        Error::new(ErrorKind::Refused, what).at(unmet.chunnel().unwrap_or("negotiation"))
    })?;
    let floor = requirements.floor;
    let missing = floor.without(most(layers));
    if missing.is_empty() {
        return Ok(());
    }
    let names = layers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" / ");
    let what = format!("the stack has to be {floor}; the other end picked [{names}], which is not {missing}");
    Err(Error::new(ErrorKind::Refused, what).at("negotiation"))
}

/// Whether there is a layer in `nodes`, picked or not, that needs a guarantee below it.
fn need_anything(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Layer(layer) => !layer.needs().is_empty(),
        Node::Select { branches, .. } => branches.iter().any(|branch| need_anything(branch)),
    })
}

/// The guarantees of all of `nodes` together with the best picks.
fn most(nodes: &[Node]) -> Set {
    nodes.iter().map(most_of).fold(Set::NONE, |all, set| all | set)
}

fn most_of(node: &Node) -> Set {
    match node {
        Node::Layer(layer) => layer.guarantees(),
        Node::Select { branches: [first, second], .. } => most(first) | most(second),
    }
}
