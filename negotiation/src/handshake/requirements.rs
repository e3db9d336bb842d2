//! The guarantees that a stack must give, to the application and to its own Chunnels, whatever the other end
//! says.

use super::wants::can_hold;
use bertha_core::guarantee::Set;
use bertha_core::{
    Error, ErrorKind, Node, Picks, Properties, Situation, check_needs, guaranteed_above, preferred, resolve,
    unmet_need, withdrawing,
};

/// Maximum number of choices whose alternatives an error explains.
const EXPLAINED_CHOICES: usize = 6;

/// The guarantees required at the top of a stack, and the guarantees given at its bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirements {
    /// The guarantees that have to hold above all layers.
    pub(super) floor: Set,
    /// The guarantees that the transport gives to all stacks on it.
    pub(super) transport: Set,
}

impl Requirements {
    /// No guarantee is asked for, and the transport gives all of them, so that a Chunnel lacks only what a
    /// Chunnel below it withdraws.
    pub const OPEN: Self = Self { floor: Set::NONE, transport: Set::ALL };

    /// Makes the requirements for a stack that has to guarantee `floor`, over a transport with these
    /// properties.
    pub fn new(floor: Set, transport: Properties) -> Self {
        Self { floor, transport: transport.guarantees() }
    }

    /// Returns the requirements for a stack that replaces the stack with these picks. The new stack also has
    /// to keep the guarantees of the old stack, except the guarantees in `may_lose`.
    #[must_use]
    pub fn keeping(self, nodes: &[Node], picks: &[u8], may_lose: Set) -> Self {
        let in_use = self.guaranteed(nodes, picks);
        Self { floor: self.floor | in_use.without(may_lose), ..self }
    }

    /// Returns the guarantees of the floor that the stack with these picks lacks.
    pub fn missing(self, nodes: &[Node], picks: &[u8]) -> Set {
        self.floor.without(self.guaranteed(nodes, picks))
    }

    /// Returns the guarantees that hold above the layers that are picked.
    fn guaranteed(self, nodes: &[Node], picks: &[u8]) -> Set {
        guaranteed_above(&resolve(nodes, Picks::new(picks)), self.transport)
    }
}

/// Fails if no pick of the alternatives in `nodes` holds within `requirements`.
pub(crate) fn check_possible(nodes: &[Node], requirements: Requirements) -> Result<(), Error> {
    let Requirements { floor, transport } = requirements;
    // Mostly nothing is asked for.
    if (floor.is_empty() && !need_anything(nodes)) || can_hold(nodes, floor, transport) {
        return Ok(());
    }
    let missing = floor.without(guaranteed_above(nodes, transport));
    if !missing.is_empty() {
        let reason = withdrawal(nodes, missing, transport);
        let what = format!("the stack has to be {floor}, and no alternative of it is {missing}{reason}");
        return Err(Error::new(ErrorKind::Invalid, what).at("negotiation"));
    }
    // Each alternative lacks something. The error names the need of the preferred picks, with the remedy, and then the
    // needs of the other picks.
    let first = preferred(nodes, &Situation::TWO_ENDS);
    check_needs(&resolve(nodes, Picks::new(&first)), transport).map_err(|error| {
        let others = needs_of_others(nodes, &first, transport);
        if others.is_empty() {
            return error;
        }
        let what = format!("{}; the other alternatives are no help: {}", error.context(), others.join(", "));
        Error::new(error.kind(), what).at(error.chunnel().unwrap_or("negotiation"))
    })?;
    let what = format!(
        "the stack has to be {floor}, and with each alternative that is, a Chunnel lacks what it needs below it"
    );
    Err(Error::new(ErrorKind::Invalid, what).at("negotiation"))
}

/// Returns the unmet needs that other picks than `first` have, each once.
fn needs_of_others(nodes: &[Node], first: &[u8], transport: Set) -> Vec<String> {
    let need = |picks: &[u8]| unmet_need(&resolve(nodes, Picks::new(picks)), transport);
    let mut seen = vec![need(first)];
    let choices = first.len().min(EXPLAINED_CHOICES);
    for number in 0..1u32 << choices {
        let picks: Vec<u8> = (0..first.len())
            .map(|at| if at < choices { u8::from(number >> at & 1 == 1) } else { first[at] })
            .collect();
        let need = need(&picks);
        if !seen.contains(&need) {
            seen.push(need);
        }
    }
    let others = seen.into_iter().skip(1).flatten();
    others.map(|(name, missing)| format!("{name} needs what is below it to be {missing}")).collect()
}

/// Checks that the layers of `nodes` that are picked hold within `requirements`.
///
/// # Errors
/// [`Refused`](ErrorKind::Refused): they are not the guarantees that this end asked for.
pub(crate) fn check_picks(nodes: &[Node], picks: &[u8], requirements: Requirements) -> Result<(), Error> {
    check_layers(&resolve(nodes, Picks::new(picks)), requirements)
}

/// Works as [`check_picks`], for the layers that are picked.
pub(crate) fn check_layers(layers: &[Node], requirements: Requirements) -> Result<(), Error> {
    let Requirements { floor, transport } = requirements;
    check_needs(layers, transport).map_err(|unmet| {
        let what = format!("the other end picked what can't hold: {}", unmet.context());
        Error::new(ErrorKind::Refused, what).at(unmet.chunnel().unwrap_or("negotiation"))
    })?;
    let missing = floor.without(guaranteed_above(layers, transport));
    if missing.is_empty() {
        return Ok(());
    }
    let names = layers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" / ");
    let reason = withdrawal(layers, missing, transport);
    let what = format!(
        "the stack has to be {floor}; the other end picked [{names}], which is not {missing}{reason}"
    );
    Err(Error::new(ErrorKind::Refused, what).at("negotiation"))
}

/// Returns the end of a sentence that names the layer which withdraws a guarantee of `missing`; empty if no
/// layer does.
fn withdrawal(nodes: &[Node], missing: Set, transport: Set) -> String {
    let layer = withdrawing(nodes, missing, transport);
    layer.map_or_else(String::new, |layer| format!(", since {layer} withdraws what is below it"))
}

/// Returns true if a layer in `nodes`, picked or not, needs a guarantee below it.
fn need_anything(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Layer(layer) => !layer.needs().is_empty(),
        Node::Select { branches, .. } => branches.iter().any(|branch| need_anything(branch)),
    })
}
