//! What a stack says of itself: to the other end, and to a person.

use crate::capability::{Declared, Plain};
use crate::{Capability, NumParticipantsAtMost, Preference, guarantee};
use std::fmt;
use std::sync::Arc;

/// What a Chunnel, or a whole stack, tells of itself. `#[derive(Identity)]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a Chunnel",
    label = "not a Chunnel, and not a stack of Chunnels",
    note = "a Chunnel implements `Chunnel<Inner>` and has `#[derive(Identity)]`; a stack is made with `make_stack!`"
)]
pub trait Describe {
    /// Appends what this is, top first: one layer for a Chunnel, all of them for a stack.
    fn describe(&self, into: &mut Vec<Node>);

    /// The number of `select!`s in it, nested ones included. Zero for a Chunnel.
    #[doc(hidden)]
    fn selects(&self) -> usize {
        0
    }

    /// How many layers a Chunnel does the work of: those that it [describes](Self::describe).
    #[doc(hidden)]
    fn layers(&self) -> usize {
        self.nodes().len()
    }

    /// Marks the alternative with this number as the preferred one, while `condition` holds if there is any. Only `select!` has any.
    #[doc(hidden)]
    fn prefer_alternative(&mut self, _number: usize, _condition: Option<NumParticipantsAtMost>) {}

    /// Appends what else a person should know, a line each. Only stacks that passes rewrote have any.
    #[doc(hidden)]
    fn notes(&self, _into: &mut Vec<String>) {}

    /// The layers and alternatives, top first.
    fn nodes(&self) -> Vec<Node> {
        let mut nodes = Vec::new();
        self.describe(&mut nodes);
        nodes
    }

    /// The stack for a person to read: Chunnels and alternatives, top first.
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
    /// A choice between two lists of nodes. More than two are nested in the second.
    Select {
        /// The alternatives.
        branches: [Vec<Node>; 2],
        /// Which is preferred, and when.
        prefer: Preference,
    },
}

impl Node {
    /// The number of `select!`s in it, itself included.
    pub fn selects(&self) -> usize {
        match self {
            Self::Layer(_) => 0,
            Self::Select { branches: [first, second], .. } => {
                1 + count_selects(first) + count_selects(second)
            }
        }
    }

    /// Says that another Chunnel, of this full name, does the work of this layer. No effect on a choice.
    #[must_use]
    pub fn done_by(self, chunnel: &'static str) -> Self {
        match self {
            Self::Layer(layer) => Self::Layer(layer.done_by(chunnel)),
            select @ Self::Select { .. } => select,
        }
    }
}

/// The number of `select!`s in `nodes`, nested ones included.
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

/// The alternatives behind the first: a choice of three is a choice whose second branch is a choice of two, and reads as
/// three. What is preferred stands behind them all, once.
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
    // Layers that one Chunnel does the work of stand behind its name.
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

/// One Chunnel as the other end sees it: its name, and a capability that says what it is compatible with.
#[derive(Debug, Clone)]
pub struct LayerInfo {
    name: &'static str,
    one_sided: bool,
    no_early_data: bool,
    done_by: Option<&'static str>,
    guarantees: guarantee::Set,
    needs: guarantee::Set,
    capability: Arc<dyn Declared>,
}

impl LayerInfo {
    /// A Chunnel that is compatible with Chunnels of the same name and version.
    pub fn plain(name: &'static str, version: u16) -> Self {
        Self::declaring(name, Arc::new(Plain { id: name, version }))
    }

    /// A Chunnel that is compatible with those whose capability is of the same type and compares as compatible.
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
            needs: guarantee::Set::NONE,
            capability,
        }
    }

    /// Says that the Chunnel needs no counterpart, since it changes nothing that the peer could see.
    #[must_use]
    pub fn one_sided(self) -> Self {
        Self { one_sided: true, ..self }
    }

    /// Says that the Chunnel takes no message that may be a replay of one from an earlier connection: what clients send
    /// before they are answered is put off until then.
    #[must_use]
    pub fn without_early_data(self) -> Self {
        Self { no_early_data: true, ..self }
    }

    /// Says that another Chunnel, of this full name, does the work of this layer.
    #[must_use]
    pub fn done_by(self, chunnel: &'static str) -> Self {
        Self { done_by: Some(chunnel), ..self }
    }

    /// Says what the Chunnel promises.
    #[must_use]
    pub fn guaranteeing(self, guarantees: guarantee::Set) -> Self {
        Self { guarantees, ..self }
    }

    /// Says what has to be guaranteed below the Chunnel; see [`guarantee`].
    #[must_use]
    pub fn needing(self, needs: guarantee::Set) -> Self {
        Self { needs, ..self }
    }

    /// The Chunnel's name: crate and type, as in `bertha-chunnels::Serialize`.
    pub fn full_name(&self) -> &'static str {
        self.name
    }

    /// The Chunnel's name without its crate.
    pub fn name(&self) -> &'static str {
        short(self.name)
    }

    /// Whether it needs no counterpart.
    pub fn is_one_sided(&self) -> bool {
        self.one_sided
    }

    /// Whether it takes messages that a client sent before it was answered, and that an attacker may replay.
    pub fn takes_early_data(&self) -> bool {
        !self.no_early_data
    }

    /// What it promises.
    pub fn guarantees(&self) -> guarantee::Set {
        self.guarantees
    }

    /// What has to be guaranteed below it.
    pub fn needs(&self) -> guarantee::Set {
        self.needs
    }

    /// What the other end compares.
    pub fn capability(&self) -> &dyn Declared {
        &*self.capability
    }
}

/// The name, and what tells it from others of its type.
impl fmt::Display for LayerInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.capability.label() {
            Some(label) => write!(f, "{}[{label}]", self.name()),
            None => f.write_str(self.name()),
        }
    }
}

/// A stack for a person to read; see [`Describe::explain`].
#[derive(Debug, Clone)]
pub struct Explanation {
    nodes: Vec<Node>,
    notes: Vec<String>,
}

impl Explanation {
    /// Of layers and alternatives, top first.
    pub fn of(nodes: &[Node]) -> Self {
        Self { nodes: nodes.to_vec(), notes: Vec::new() }
    }
}

/// The stack in one line, then what each pass did, indented, a line each.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_stack(f, &self.nodes)?;
        self.notes.iter().try_for_each(|note| write!(f, "\n  {note}"))
    }
}
