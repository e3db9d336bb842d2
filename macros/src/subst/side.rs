//! The two lists of a rule: the Chunnels to look for, and the Chunnels that replace them.

use proc_macro2::Span;
use syn::Type;

/// A list of a rule, without the `*` at its ends.
pub(super) struct Side {
    /// True if the list begins with `*`.
    pub(super) open_above: bool,
    pub(super) items: Vec<Item>,
    /// True if the list ends with `*`.
    pub(super) open_below: bool,
    pub(super) span: Span,
}

pub(super) enum Item {
    /// A Chunnel.
    Chunnel(Box<Type>),
    /// `*` between two Chunnels.
    Gap,
}

impl Side {
    pub(super) fn chunnels(&self) -> impl Iterator<Item = &Type> {
        self.items.iter().filter_map(|item| match item {
            Item::Chunnel(chunnel) => Some(&**chunnel),
            Item::Gap => None,
        })
    }

    pub(super) fn gaps(&self) -> usize {
        self.items.iter().filter(|item| matches!(item, Item::Gap)).count()
    }
}
