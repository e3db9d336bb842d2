//! The link below the stacks of a connection, as a change of stacks needs it.

use bertha_core::{Base, Error};
use std::sync::Arc;

/// The link below the stacks of a connection, which sorts what arrives into a queue for each epoch.
pub trait Bottom: Send + Sync + 'static {
    /// The messages of one epoch.
    type Queue: Send + Sync + 'static;

    /// The transport below the link.
    type Base: Base;

    /// The transport.
    fn base(&self) -> &Self::Base;

    /// Its runtime.
    fn runtime(&self) -> &<Self::Base as Base>::Runtime {
        self.base().runtime()
    }

    /// Reads one message and puts it where it belongs. Only while no call receives. Cancellation-safe.
    fn read_for_others(&self) -> impl Future<Output = Result<(), Error>> + Send;

    /// All that was sent to this end in the old epoch is here. Returns whether the old stack has to give out what it holds, which it
    /// does if receptions at the bottom fail once its queue is empty.
    fn complete(&self, old: &Self::Queue, new: &Self::Queue) -> bool;

    /// From now on the receivers of `new` read from the transport, and no longer those of `old`.
    fn read_through(&self, old: &Self::Queue, new: &Self::Queue);

    /// Ends an epoch: messages of it that still arrive are dropped and counted.
    fn forget(&self, queue: &Arc<Self::Queue>);
}
