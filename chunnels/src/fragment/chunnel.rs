//! The Chunnel itself.

use super::FragmentConnection;
use super::assembly::SharedBudget;
use super::connection::Drops;
use super::piece::{MAX_PIECE, MIN_PIECE};
use super::settings::FragmentSettings;
use bertha_core::capability::exact_part;
use bertha_core::{Buf, Capability, Carries, Chunnel, ConnectContext, Error, Identity, Mismatch};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Splits messages that are too large for the connection below. See the [module](crate::fragment).
///
/// The connections that it and its clones make share a budget of [memory](Self::memory).
#[derive(Debug, Clone, Identity)]
#[chunnel(capability = Self::capability)]
pub struct Fragment {
    settings: FragmentSettings,
    budget: Arc<SharedBudget>,
}

/// The capability: the largest message, on which the two ends have to agree.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, Capability)]
#[capability(compare = Self::compare, version = 2)]
pub(super) struct Limit {
    bytes: u32,
}

impl Limit {
    fn compare(&self, other: &Self) -> Result<(), Mismatch> {
        exact_part("limit of a message in bytes", &self.bytes, &other.bytes)
    }
}

impl Fragment {
    /// Makes a Chunnel that carries messages of up to 64 MiB, in pieces of up to 1,300 bytes.
    pub fn new() -> Self {
        let settings = FragmentSettings::default();
        Self { settings, budget: Arc::new(SharedBudget::new(settings.memory)) }
    }

    /// Sets the largest message to `bytes`, at most 127 MiB. Both ends need the same limit.
    #[must_use]
    pub fn limit(mut self, bytes: u32) -> Self {
        self.settings.limit = bytes.clamp(1, 127 * 1024 * 1024);
        self
    }

    /// Sets the largest piece to `bytes`, from 64 to 65,535; pieces are smaller if the connection below carries less. Larger
    /// pieces cost less. A piece that exceeds the MTU of the path is fragmented by the network, and lost with any fragment of it.
    #[must_use]
    pub fn piece(mut self, bytes: usize) -> Self {
        self.settings.piece = bytes.clamp(MIN_PIECE, MAX_PIECE);
        self
    }

    /// Discovers the MTU of the path to the peer, and sends no larger messages: pieces are as large as the
    /// path carries, up to [`piece`](Self::piece) if it is set after this call. See the
    /// [module](crate::fragment). It has no effect over streams.
    #[must_use]
    pub fn discover_path(mut self) -> Self {
        (self.settings.discovers_path, self.settings.piece) = (true, MAX_PIECE);
        self
    }

    /// Sets the memory for incomplete messages of a connection to `bytes`, besides three times the limit. 8 MiB by default.
    ///
    /// When the memory is full, the oldest message is dropped and counted. Above
    /// [`Reliable`](crate::Reliable) this must not happen: a repeated piece may arrive after as many later
    /// pieces as the buffer of `Reliable` holds messages, so `bytes` has to be that number times the sum of
    /// the peer's [`piece`](Self::piece) and 512. The default is enough for the default settings of both
    /// Chunnels.
    #[must_use]
    pub fn assembly(mut self, bytes: usize) -> Self {
        self.settings.assembly = bytes;
        self
    }

    /// Sets the number of messages that may be incomplete at a time on a connection, at least 1. 8,192 by default.
    ///
    /// When there are more, the oldest message is dropped and counted. Above [`Reliable`](crate::Reliable)
    /// the number has to be at least the number of messages in its buffer.
    #[must_use]
    pub fn incomplete(mut self, messages: usize) -> Self {
        self.settings.incomplete = messages.max(1);
        self
    }

    /// Sets the time for which an incomplete message waits for its next piece. 60 seconds by default.
    ///
    /// A message that has waited for this time is dropped and counted when the next message in pieces begins,
    /// at the latest after twice the time. Above [`Reliable`](crate::Reliable) the time has to be longer than
    /// its [`idle_timeout`](crate::Reliable::idle_timeout), or a repeated piece comes too late.
    #[must_use]
    pub fn expiry(mut self, time: Duration) -> Self {
        self.settings.expiry = time;
        self
    }

    /// Sets the memory for incomplete messages of all connections to `bytes`: of the connections that this
    /// value and its clones make from now on, and so of all connections of a listener. 1 GiB by default.
    ///
    /// When it is full, the connection that holds most of it drops its oldest message, so that a connection
    /// that holds no more than any other loses nothing to the others. A single message is always carried,
    /// whatever the budget is.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.settings.memory = bytes;
        self.budget = Arc::new(SharedBudget::new(bytes));
        self
    }

    fn capability(&self) -> Limit {
        Limit { bytes: self.settings.limit }
    }
}

/// Two values are equal if their settings are.
impl PartialEq for Fragment {
    fn eq(&self, other: &Self) -> bool {
        self.settings == other.settings
    }
}

impl Eq for Fragment {}

impl Default for Fragment {
    fn default() -> Self {
        Self::new()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Fragment {
    type Connection = FragmentConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let drops = Drops {
            malformed: context.counts_drops("Fragment", "malformed"),
            abandoned: context.counts_drops("Fragment", "incomplete"),
        };
        let connection = FragmentConnection::new(inner, self.settings, &self.budget, drops);
        context.observes(connection.state());
        Ok(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_kept_within_their_bounds() {
        let most = Fragment::new().limit(u32::MAX).piece(usize::MAX).incomplete(7).memory(9);
        assert_eq!((most.settings.limit, most.settings.piece), (127 << 20, 65_535));
        assert_eq!((most.settings.incomplete, most.settings.memory), (7, 9));
        assert_eq!(most.capability(), Limit { bytes: 127 << 20 });
        let least = Fragment::new().limit(0).piece(0).incomplete(0).assembly(5).expiry(Duration::ZERO);
        assert_eq!((least.settings.limit, least.settings.piece, least.settings.incomplete), (1, 64, 1));
        assert_eq!((least.settings.assembly, least.settings.expiry), (5, Duration::ZERO));
        let discovering = Fragment::new().discover_path();
        assert_eq!((discovering.settings.discovers_path, discovering.settings.piece), (true, 65_535));
        assert_eq!(Fragment::default(), Fragment::new());
        assert_ne!(discovering, Fragment::new());
    }
}
