//! The link below the stacks of a connection, as a change of stacks needs it.

use bertha_core::{Base, Error};
use std::sync::Arc;

/// The link below the stacks of a connection, which sorts arriving messages into a queue for each epoch.
pub(crate) trait LinkHandle: Send + Sync + 'static {
    /// The messages of one epoch.
    type Queue: Send + Sync + 'static;

    /// The transport below the link.
    type Base: Base;

    /// Returns the transport.
    fn base(&self) -> &Self::Base;

    /// Returns the runtime of the transport.
    fn runtime(&self) -> &<Self::Base as Base>::Runtime {
        self.base().runtime()
    }

    /// Returns true if the link has ended, so that messages of a next epoch may be the last. It is false for
    /// a link of many participants, whose stacks end by themselves.
    fn has_ended(&self) -> bool {
        false
    }

    /// Returns true if the link has ended, or ends once the messages that have arrived are received.
    fn is_ending(&self) -> bool {
        self.has_ended()
    }

    /// Handles that no message of the old epoch comes behind the messages in its queue, since the link is
    /// [ending](Self::is_ending). Receptions from the queue fail once it is empty.
    fn finish(&self, _old: &Self::Queue) {}

    /// Makes the close of a stack above this queue notify the peer, or not. A group's participants are
    /// notified otherwise.
    fn set_active(&self, _queue: &Self::Queue, _is_active: bool) {}

    /// Returns true if the end of a stack ends the link soon, so that a stack whose peer has closed is no
    /// loss. A link of many participants goes on.
    fn ends_with_stack(&self) -> bool {
        false
    }

    /// Ends the link, since a stack that was changed has failed with `error` and could not deliver its
    /// messages: a later close must not hide that. A link of many participants goes on.
    fn messages_lost(&self, _error: &Error) {}

    /// Reads one message and puts it into its queue. It may run only while no call receives.
    /// Cancellation-safe.
    fn read_for_others(&self) -> impl Future<Output = Result<(), Error>> + Send;

    /// Handles that all messages to this end in the old epoch have arrived. Returns true if the old stack has
    /// to give out the messages that it holds, which it does if receptions from the link fail once its queue
    /// is empty.
    fn complete(&self, old: &Self::Queue, new: &Self::Queue) -> bool;

    /// Makes the receivers of `new`, in place of the receivers of `old`, read from the transport.
    fn read_through(&self, old: &Self::Queue, new: &Self::Queue);

    /// Ends an epoch: messages of it that still arrive are dropped and counted.
    fn forget(&self, queue: &Arc<Self::Queue>);
}
