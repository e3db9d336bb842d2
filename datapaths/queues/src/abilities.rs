//! The promises of a service, as data.

use std::fmt;
use std::time::Duration;

/// The abilities of a service for a topic (thesis, Table 3.2, extended).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Name of the service in errors and reports.
    pub service: &'static str,
    /// The order that the service keeps on this topic.
    pub ordering: Ordering,
    /// True if a topic can have several subscriptions, each of which gets all messages.
    pub multicast: bool,
    /// Length of the longest message in bytes, as passed to `send`: the service's limit less what its
    /// encoding adds.
    pub max_message: usize,
    /// Largest number of messages in a call that publishes.
    pub publish_batch: usize,
    /// Largest number of bytes in a call that publishes: the sum of its messages as passed to `send`. It is
    /// at least `max_message`.
    pub publish_bytes: usize,
    /// Largest number of messages in a call that receives.
    pub receive_batch: usize,
    /// Largest number of messages in a call that acknowledges.
    pub acknowledge_batch: usize,
    /// Time for which a message is kept for receivers that are away; `None` means until it is acknowledged.
    pub retention: Option<Duration>,
    /// Time after which a message that was not acknowledged is delivered again, for certain once its receiver
    /// has gone.
    pub redelivery: Duration,
    /// True if messages that fail again and again are put aside.
    pub dead_letters: bool,
    /// True if a message waits at the service until the delivered messages with its key are acknowledged, as
    /// in a service that delivers a single message of each key at a time.
    pub one_by_one: bool,
}

/// The order that a service keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordering {
    /// The service keeps no order.
    None,
    /// Messages with equal keys stay in order, for any number of receivers that share a subscription.
    ByKey,
    /// All messages stay in order, as long as a subscription has a single receiver.
    OneReceiver,
}

/// The use that an end makes of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The end publishes.
    Publisher,
    /// The end receives.
    Receiver,
    /// The end publishes and receives.
    Both,
}

impl fmt::Display for Ordering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no order",
            Self::ByKey => "order by key",
            Self::OneReceiver => "order at a single receiver",
        })
    }
}
