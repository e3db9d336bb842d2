//! The description of a stack, for the other end and for a human reader.

use crate::capability::{Declared, Plain};
use crate::guarantee::{self, Effects};
use crate::{Capability, Policy, Preference, Steering};
use std::fmt;
use std::sync::Arc;

/// The description of a Chunnel or a whole stack. `#[derive(Identity)]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a Chunnel",
    label = "not a Chunnel, and not a stack of Chunnels",
    note = "a Chunnel implements `Chunnel<Inner>` and has `#[derive(Identity)]`; a stack is made with `make_stack!`"
)]
pub trait Describe {
    /// Appends the layers and choices, top first: usually one layer for a Chunnel, all of them for a stack.
    fn describe(&self, into: &mut Vec<Node>);

    /// Returns the number of `select!`s, nested `select!`s included. Zero for a Chunnel.
    #[doc(hidden)]
    fn selects(&self) -> usize {
        0
    }

    /// Returns the number of layers that it [describes](Self::describe), whose work a Chunnel does.
    #[doc(hidden)]
    fn layers(&self) -> usize {
        self.nodes().len()
    }

    /// Marks the alternative with this number as preferred: always or, with a `condition`, while the
    /// condition holds. Only `select!` has alternatives; the default does nothing.
    #[doc(hidden)]
    fn prefer_alternative(&mut self, _number: usize, _condition: Option<&Arc<dyn Policy>>) {}

    /// Appends notes for a human reader, one line each. Only a stack that passes rewrote has any.
    #[doc(hidden)]
    fn notes(&self, _into: &mut Vec<String>) {}

    /// Returns the layers and alternatives, top first.
    fn nodes(&self) -> Vec<Node> {
        let mut nodes = Vec::new();
        self.describe(&mut nodes);
        nodes
    }

    /// Returns the stack in readable form: Chunnels and alternatives, top first.
    ///
    /// ```
    /// # use bertha_core::{Describe, Identity, make_stack, select};
    /// # #[derive(Identity)] struct Tag; #[derive(Identity)] struct Zip; #[derive(Identity)] struct Lz;
    /// let stack = make_stack!(Tag, select!(Zip, Lz));
    /// assert_eq!(stack.explain().to_string(), "Tag / (Zip | Lz)");
    /// ```
    fn explain(&self) -> Explanation {
        let mut notes = Vec::new();
        self.notes(&mut notes);
        Explanation { nodes: self.nodes(), notes }
    }
}

/// A layer or a choice between layers.
#[derive(Debug, Clone)]
pub enum Node {
    /// A Chunnel.
    Layer(LayerInfo),
    /// A choice between two lists of nodes. A choice between more lists has the further lists nested in the
    /// second.
    Select {
        /// The alternatives.
        branches: [Vec<Node>; 2],
        /// The preferred alternative, with its condition.
        prefer: Preference,
    },
}

impl Node {
    /// Returns the number of `select!`s in this node, itself included.
    pub fn selects(&self) -> usize {
        match self {
            Self::Layer(_) => 0,
            Self::Select { branches: [first, second], .. } => {
                1 + count_selects(first) + count_selects(second)
            }
        }
    }

    /// Records that another Chunnel, with this full name, does the work of this layer. It has no effect on a choice.
    #[must_use]
    pub fn done_by(self, chunnel: &'static str) -> Self {
        match self {
            Self::Layer(layer) => Self::Layer(layer.done_by(chunnel)),
            select @ Self::Select { .. } => select,
        }
    }

    /// Marks the layers that need [steering](LayerInfo::steered) as [missing](LayerInfo::missing) it.
    #[doc(hidden)]
    pub fn lack_steering(&mut self, reason: &str) {
        match self {
            Self::Layer(layer) if layer.steering.is_some() => layer.missing = Some(reason.into()),
            Self::Layer(_) => {}
            Self::Select { branches, .. } => {
                branches.iter_mut().flatten().for_each(|node| node.lack_steering(reason));
            }
        }
    }
}

/// Returns the number of `select!`s in `nodes`, nested `select!`s included.
pub(crate) fn count_selects(nodes: &[Node]) -> usize {
    nodes.iter().map(Node::selects).sum()
}

impl From<LayerInfo> for Node {
    fn from(layer: LayerInfo) -> Self {
        Self::Layer(layer)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layer(layer) => layer.fmt(f),
            Self::Select { branches: [first, second], prefer } => {
                f.write_str("(")?;
                write_stack(f, first)?;
                write_others(f, second)?;
                if *prefer != Preference::branch(0) {
                    write!(f, "; prefers {prefer}")?;
                }
                f.write_str(")")
            }
        }
    }
}

/// Writes the alternatives after the first. A choice of three alternatives, whose second branch is a choice
/// of two, is written as three alternatives, with the preferred alternative named once at the end.
fn write_others(f: &mut fmt::Formatter<'_>, second: &[Node]) -> fmt::Result {
    f.write_str(" | ")?;
    match second {
        [Node::Select { branches: [first, second], .. }] => {
            write_stack(f, first)?;
            write_others(f, second)
        }
        branch => write_stack(f, branch),
    }
}

fn write_stack(f: &mut fmt::Formatter<'_>, nodes: &[Node]) -> fmt::Result {
    if nodes.is_empty() {
        return f.write_str("nothing");
    }
    let mut separator = "";
    // Layers whose work one Chunnel does stand in brackets behind its name.
    for group in nodes.chunk_by(|above, below| done_by(above).is_some() && done_by(above) == done_by(below)) {
        f.write_str(separator)?;
        separator = " / ";
        if let Some(chunnel) = group.first().and_then(done_by) {
            write!(f, "{}(", short(chunnel))?;
        }
        for (position, node) in group.iter().enumerate() {
            f.write_str(if position > 0 { " / " } else { "" })?;
            write!(f, "{node}")?;
        }
        if group.first().and_then(done_by).is_some() {
            f.write_str(")")?;
        }
    }
    Ok(())
}

fn done_by(node: &Node) -> Option<&'static str> {
    match node {
        Node::Layer(layer) => layer.done_by,
        Node::Select { .. } => None,
    }
}

fn short(name: &'static str) -> &'static str {
    name.rsplit("::").next().unwrap_or(name)
}

/// One Chunnel as the other end sees it: its name, and a capability that decides compatibility.
#[derive(Debug, Clone)]
pub struct LayerInfo {
    name: &'static str,
    one_sided: bool,
    no_early_data: bool,
    done_by: Option<&'static str>,
    guarantees: guarantee::Set,
    withdraws: guarantee::Set,
    needs: guarantee::Set,
    steering: Option<Steering>,
    apart: Option<usize>,
    missing: Option<Arc<str>>,
    capability: Arc<dyn Declared>,
}

impl LayerInfo {
    /// Describes a Chunnel that is compatible with Chunnels of the same name and version.
    pub fn plain(name: &'static str, version: u16) -> Self {
        Self::declaring(name, Arc::new(Plain { id: name, version }))
    }

    /// Describes a Chunnel that is compatible with Chunnels whose capability has the same type and compares
    /// as compatible.
    pub fn with(name: &'static str, capability: impl Capability) -> Self {
        Self::declaring(name, Arc::new(capability))
    }

    fn declaring(name: &'static str, capability: Arc<dyn Declared>) -> Self {
        Self {
            name,
            one_sided: false,
            no_early_data: false,
            done_by: None,
            guarantees: guarantee::Set::NONE,
            withdraws: guarantee::Set::NONE,
            needs: guarantee::Set::NONE,
            steering: None,
            apart: None,
            missing: None,
            capability,
        }
    }

    /// Declares that the Chunnel needs no counterpart, since the peer can see none of its changes.
    #[must_use]
    pub fn one_sided(self) -> Self {
        Self { one_sided: true, ..self }
    }

    /// Declares that the Chunnel takes no message that may be a replay from an earlier connection: messages that a client
    /// sends before the server has answered wait for the answer.
    #[must_use]
    pub fn without_early_data(self) -> Self {
        Self { no_early_data: true, ..self }
    }

    /// Records that another Chunnel, with this full name, does the work of this layer.
    #[must_use]
    pub fn done_by(self, chunnel: &'static str) -> Self {
        Self { done_by: Some(chunnel), ..self }
    }

    /// Sets the guarantees of the Chunnel.
    #[must_use]
    pub fn guaranteeing(self, guarantees: guarantee::Set) -> Self {
        Self { guarantees, ..self }
    }

    /// Sets the guarantees of the layers below that the Chunnel withdraws; see [`guarantee`]. Its own guarantees hold all the same.
    #[must_use]
    pub fn withdrawing(self, withdraws: guarantee::Set) -> Self {
        Self { withdraws, ..self }
    }

    /// Sets the guarantees that the Chunnel needs below it; see [`guarantee`].
    #[must_use]
    pub fn needing(self, needs: guarantee::Set) -> Self {
        Self { needs, ..self }
    }

    /// Declares that the Chunnel, at the server, has the datapath steer messages by this rule, whose offset
    /// counts from the first byte of a message that is encoded directly below the Chunnel.
    #[must_use]
    pub fn steered(self, by: impl Into<Option<Steering>>) -> Self {
        Self { steering: by.into(), ..self }
    }

    /// Declares that the Chunnel carries each message by itself: whole and unchanged behind `front` bytes, and
    /// without state that leads from one message to the next. So a message may be received by another socket
    /// than the message before it. A Chunnel that encodes messages declares the same of its encoding.
    #[must_use]
    pub fn apart(self, front: usize) -> Self {
        Self { apart: Some(front), ..self }
    }

    /// Records that this end lacks what the Chunnel needs, for this reason: negotiation passes the layer over.
    #[must_use]
    pub fn missing(self, reason: impl Into<Arc<str>>) -> Self {
        Self { missing: Some(reason.into()), ..self }
    }

    /// Returns the Chunnel's name: crate and type, as in `bertha-chunnels::Serialize`.
    pub fn full_name(&self) -> &'static str {
        self.name
    }

    /// Returns the Chunnel's name without its crate.
    pub fn name(&self) -> &'static str {
        short(self.name)
    }

    /// Returns true if the Chunnel needs no counterpart.
    pub fn is_one_sided(&self) -> bool {
        self.one_sided
    }

    /// Returns true if the Chunnel takes messages that a client sent before the server had answered, which an
    /// attacker may replay.
    pub fn takes_early_data(&self) -> bool {
        !self.no_early_data
    }

    /// Returns the guarantees of the Chunnel.
    pub fn guarantees(&self) -> guarantee::Set {
        self.guarantees
    }

    /// Returns the guarantees that the Chunnel needs below it.
    pub fn needs(&self) -> guarantee::Set {
        self.needs
    }

    /// Returns the Chunnel's effects on the guarantees of the layers below.
    pub fn effects(&self) -> Effects {
        Effects::new(self.guarantees, self.withdraws)
    }

    /// Returns the guarantees that have to hold below the Chunnel, so that its needs are met and the
    /// guarantees `wanted` hold above it. Returns `None` if the Chunnel withdraws a wanted guarantee.
    pub fn wanted_below(&self, wanted: guarantee::Set) -> Option<guarantee::Set> {
        let effects = self.effects();
        let is_possible = wanted.common(effects.withdraws()).is_empty();
        is_possible.then(|| wanted.without(effects.gives()) | self.needs)
    }

    /// Returns true if the Chunnel gives, withdraws or needs any guarantee.
    pub fn is_about_guarantees(&self) -> bool {
        !(self.guarantees | self.withdraws | self.needs).is_empty()
    }

    /// Returns the rule by which the datapath has to steer messages for the Chunnel.
    pub fn steering(&self) -> Option<Steering> {
        self.steering
    }

    /// Returns the number of bytes that the Chunnel puts in front of each message; `None` unless it carries
    /// each message [by itself](Self::apart).
    pub fn front(&self) -> Option<usize> {
        self.apart
    }

    /// Returns the reason why the Chunnel can't be used at this end.
    pub fn missing_reason(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// Returns the capability that the other end compares.
    pub fn capability(&self) -> &dyn Declared {
        &*self.capability
    }
}

/// Shows the name, with the label of its capability if there is one.
impl fmt::Display for LayerInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.capability.label() {
            Some(label) => write!(f, "{}[{label}]", self.name()),
            None => f.write_str(self.name()),
        }
    }
}

/// A stack in readable form; see [`Describe::explain`].
#[derive(Debug, Clone)]
pub struct Explanation {
    nodes: Vec<Node>,
    notes: Vec<String>,
}

impl Explanation {
    /// Returns the explanation of these layers and alternatives, top first, without notes.
    pub fn of(nodes: &[Node]) -> Self {
        Self { nodes: nodes.to_vec(), notes: Vec::new() }
    }
}

/// Shows the stack in one line, then the notes, indented, one line each.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_stack(f, &self.nodes)?;
        self.notes.iter().try_for_each(|note| write!(f, "\n  {note}"))
    }
}
