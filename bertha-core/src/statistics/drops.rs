//! Dropped messages, by layer and reason.

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A counter of the messages that one layer of one connection drops for one reason: made by
/// [`ConnectContext::counts_drops`](crate::ConnectContext::counts_drops). Clones share the count.
///
/// Each dropped message costs one atomic addition; a message that passes costs nothing.
#[derive(Debug, Clone, Default)]
pub struct DropCounter(Arc<AtomicU64>);

impl DropCounter {
    /// Adds `messages` to the count.
    pub fn add(&self, messages: u64) {
        self.0.fetch_add(messages, Relaxed);
    }

    /// Returns the number of messages that were counted so far.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Returns true if a layer still counts, and not the registry alone.
    pub(super) fn is_live(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

/// The messages that a layer has dropped for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// The Chunnel, or the part of the connection below the stack.
    pub layer: &'static str,
    /// The reason, in a few words.
    pub reason: &'static str,
    /// The number of messages.
    pub messages: u64,
}

/// The messages that a connection has dropped, by layer and reason. The reports of several connections add
/// up.
///
/// Reasons that never occurred are listed with zero. Losses in the network are not included, since no end
/// sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drops(Vec<Dropped>);

impl Drops {
    pub(super) const NONE: Self = Self(Vec::new());

    /// Adds `messages` to the count of this layer and reason.
    pub fn add(&mut self, layer: &'static str, reason: &'static str, messages: u64) {
        match self.0.iter_mut().find(|known| known.layer == layer && known.reason == reason) {
            Some(known) => known.messages += messages,
            None => self.0.push(Dropped { layer, reason, messages }),
        }
    }

    /// Iterates over the layers and reasons, in the order in which the layers were built, from the bottom up.
    pub fn iter(&self) -> impl Iterator<Item = &Dropped> {
        self.0.iter()
    }

    /// Returns the number of all dropped messages.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|dropped| dropped.messages).sum()
    }
}

impl AddAssign<&Drops> for Drops {
    fn add_assign(&mut self, other: &Drops) {
        other.0.iter().for_each(|dropped| self.add(dropped.layer, dropped.reason, dropped.messages));
    }
}

/// Shows the counts in one line, without the reasons that never occurred.
impl fmt::Display for Drops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for Dropped { layer, reason, messages } in self.0.iter().filter(|dropped| dropped.messages > 0) {
            write!(f, "{separator}{layer}: {messages} {reason}")?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_several_connections_add_up() {
        let mut all = Drops::default();
        assert_eq!(all.to_string(), "none");
        let mut one = Drops::default();
        one.add("Link", "forged", 1);
        one.add("Link", "late", 0);
        all += &one;
        all += &one;
        assert_eq!((all.to_string(), all.iter().count()), ("Link: 2 forged".into(), 2));
    }
}
