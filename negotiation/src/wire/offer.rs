//! The offer: an AND of ORs in stack order, linear in the number of alternatives.
//!
//! A tree would let a hostile offer choose the depth of our recursion, so the nodes are a flat list: a choice
//! says how many of the following entries belong to each of its branches. Each name stands in a table once,
//! split into crate and type, since most of an offer's Chunnels come from few crates.

use super::early::offer_before;
use super::retry::{COOKIE, opened};
use super::{Kind, Tag, USUAL, VERSION, begin, checked, header};
use bertha_core::{LayerInfo, Mismatch, Node, Situation};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Maximum length of an offer's node list.
pub const NODES: usize = 512;

/// Maximum length of a crate or type name, in bytes. Names stand in the table once but are used as often as
/// there are entries, so a few long names would make a small offer expensive to read.
pub(crate) const NAME_LIMIT: usize = 128;

/// Maximum nesting of choices that is read.
const DEPTH: usize = 64;

/// The proposal of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The connection id, chosen at random by the client.
    pub id: u64,
    /// The client's idle time-out in milliseconds; the smaller time-out of both ends counts.
    pub idle_ms: u32,
    /// Each distinct crate and type name, once.
    strings: Vec<Cow<'static, str>>,
    /// Layers and choices in pre-order.
    entries: Vec<Entry>,
}

/// A name as two indices into the table: crate and type.
type Name = (u16, u16);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Entry {
    /// A Chunnel without a capability of its own: only name and version are compared.
    Plain { name: Name, one_sided: bool, version: u16 },
    /// A Chunnel with a capability of its own.
    Capable { name: Name, one_sided: bool, capability: Name, version: u16, encoding: Vec<u8> },
    /// A choice; the next `first` entries are one branch, the `second` entries after them the other branch.
    Select { first: u16, second: u16, prefer: u8 },
}

impl Offer {
    /// Makes the offer of a stack that describes itself as `nodes`, by a client that accepts any idle
    /// time-out.
    ///
    /// # Errors
    /// A [`Mismatch`] if a capability can't be encoded, a name is too long, or the stack has too many Chunnels.
    pub fn new(id: u64, nodes: &[Node]) -> Result<Self, Mismatch> {
        // Each Chunnel needs two strings for its name, and two for the name of its capability.
        let strings = Vec::with_capacity(4 * nodes.len());
        let entries = Vec::with_capacity(nodes.len());
        let mut offer = Self { id, idle_ms: u32::MAX, strings, entries };
        offer.push_all(nodes)?;
        if offer.entries.len() > NODES {
            let found = offer.entries.len();
            return Err(Mismatch::new(format!(
                "a stack of {found} Chunnels and choices, at most {NODES} can be offered"
            )));
        }
        match offer.strings.iter().find(|name| name.len() > NAME_LIMIT) {
            Some(name) => Err(Mismatch::new(format!(
                "the name {name} has {} bytes, at most {NAME_LIMIT} can be offered",
                name.len()
            ))),
            None => Ok(offer),
        }
    }

    /// Returns the stack as it is encoded in the offer: its last two fields.
    ///
    /// # Errors
    /// The error of postcard, if the stack can't be encoded.
    pub(crate) fn stack(&self) -> Result<Vec<u8>, postcard::Error> {
        postcard::to_extend(&(&self.strings, &self.entries), Vec::with_capacity(USUAL))
    }

    /// Returns the offer as a message without a proof; `stack` is its [stack](Self::stack).
    ///
    /// # Errors
    /// The error of postcard, if the offer can't be encoded.
    pub(crate) fn encode(&self, stack: &[u8]) -> Result<Vec<u8>, postcard::Error> {
        let mut bytes = begin(Tag::of(self.id).header(Kind::Offer), VERSION, &(self.id, self.idle_ms))?;
        bytes.extend_from_slice(stack);
        Ok(checked(bytes))
    }

    fn push_all(&mut self, nodes: &[Node]) -> Result<(), Mismatch> {
        nodes.iter().try_for_each(|node| match node {
            Node::Layer(layer) => self.push_layer(layer),
            Node::Select { branches: [first, second], prefer } => {
                let at = self.entries.len();
                // The reader of an offer is the second participant.
                let prefer = prefer.in_situation(&Situation::TWO_ENDS);
                self.entries.push(Entry::Select { first: 0, second: 0, prefer });
                self.push_all(first)?;
                let middle = self.entries.len();
                self.push_all(second)?;
                let lengths = (u16::try_from(middle - at - 1), u16::try_from(self.entries.len() - middle));
                let (Ok(first), Ok(second)) = lengths else {
                    return Err(Mismatch::new("an alternative with more than 65,535 Chunnels"));
                };
                self.entries[at] = Entry::Select { first, second, prefer };
                Ok(())
            }
        })
    }

    fn push_layer(&mut self, layer: &LayerInfo) -> Result<(), Mismatch> {
        let name = self.name(layer.full_name());
        let one_sided = layer.is_one_sided();
        let version = layer.capability().version();
        let encoding = layer.capability().encode()?;
        let entry = if layer.capability().id() == layer.full_name() && encoding.is_empty() {
            Entry::Plain { name, one_sided, version }
        } else {
            let capability = self.name(layer.capability().id());
            Entry::Capable { name, one_sided, capability, version, encoding }
        };
        self.entries.push(entry);
        Ok(())
    }

    fn name(&mut self, full: &'static str) -> Name {
        let (package, ident) = parts(full);
        (self.string(package), self.string(ident))
    }

    fn string(&mut self, text: &'static str) -> u16 {
        let known = self.strings.iter().position(|string| string == text);
        known.unwrap_or_else(|| {
            self.strings.push(Cow::Borrowed(text));
            self.strings.len() - 1
        }) as u16
    }

    /// Returns the offered nodes as a tree, or `None` if the list contradicts itself.
    pub fn nodes(&self) -> Option<Vec<OfferedNode>> {
        if self.entries.len() > NODES || self.strings.iter().any(|name| name.len() > NAME_LIMIT) {
            return None;
        }
        self.read(&self.entries, DEPTH)
    }

    fn read(&self, mut entries: &[Entry], depth: usize) -> Option<Vec<OfferedNode>> {
        let depth = depth.checked_sub(1)?;
        let mut nodes = Vec::with_capacity(entries.len());
        while let Some((entry, rest)) = entries.split_first() {
            entries = rest;
            nodes.push(match entry {
                &Entry::Plain { name, one_sided, version } => {
                    let name = self.full_name(name)?;
                    OfferedNode::Layer(OfferedLayer {
                        capability: name.clone(),
                        name,
                        one_sided,
                        version,
                        encoding: Vec::new(),
                    })
                }
                Entry::Capable { name, one_sided, capability, version, encoding } => {
                    OfferedNode::Layer(OfferedLayer {
                        name: self.full_name(*name)?,
                        one_sided: *one_sided,
                        capability: self.full_name(*capability)?,
                        version: *version,
                        encoding: encoding.clone(),
                    })
                }
                &Entry::Select { first, second, prefer } => {
                    let (first, rest) = entries.split_at_checked(first.into())?;
                    let (second, rest) = rest.split_at_checked(second.into())?;
                    entries = rest;
                    let branches = [self.read(first, depth)?, self.read(second, depth)?];
                    OfferedNode::Select { branches, prefer: prefer.min(1) }
                }
            });
        }
        Some(nodes)
    }

    fn full_name(&self, (package, ident): Name) -> Option<String> {
        let (package, ident) =
            (self.strings.get(usize::from(package))?, self.strings.get(usize::from(ident))?);
        Some(if package.is_empty() { ident.to_string() } else { [package, "::", ident].concat() })
    }
}

/// Splits a name into crate and type. Names are short: a search for a pattern would spend more time on
/// preparing the pattern.
fn parts(full: &'static str) -> (&'static str, &'static str) {
    let colons = full.as_bytes().windows(2).rposition(|two| two == b"::");
    colons.and_then(|at| Some((full.get(..at)?, full.get(at + 2..)?))).unwrap_or(("", full))
}

/// A layer or choice of the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfferedNode {
    /// A Chunnel.
    Layer(OfferedLayer),
    /// A choice between two lists.
    Select {
        /// The alternatives.
        branches: [Vec<OfferedNode>; 2],
        /// The preferred branch: 0 or 1.
        prefer: u8,
    },
}

/// A Chunnel of the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedLayer {
    /// Crate and type name.
    pub name: String,
    /// True if the Chunnel needs no counterpart.
    pub one_sided: bool,
    /// The capability's identity.
    pub capability: String,
    /// The capability's version.
    pub version: u16,
    /// The capability's encoding.
    pub encoding: Vec<u8>,
}

impl OfferedLayer {
    /// Returns the name without its crate.
    pub fn short_name(&self) -> &str {
        self.name.rsplit("::").next().unwrap_or(&self.name)
    }
}

/// Returns the offer in a message, with its cookie, if any; `None` if the message is no offer.
pub fn offer_in(message: &[u8]) -> Option<(&[u8], Option<&[u8; COOKIE]>)> {
    match header(message)? {
        (Kind::Offer, _) => Some((message, None)),
        (Kind::Returned, tag) => opened(message, tag).map(|(offer, cookie)| (offer, Some(cookie))),
        (Kind::Early, _) => offer_in(offer_before(message)?),
        _ => None,
    }
}
