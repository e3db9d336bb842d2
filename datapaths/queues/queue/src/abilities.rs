//! The promises of a service, as data.

use std::fmt;
use std::time::Duration;

/// The abilities of a service for a topic (thesis, Table 3.2, extended).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// The name of the service in errors and reports.
    pub service: &'static str,
    /// The order that it keeps on this topic.
    pub ordering: Ordering,
    /// Whether a topic can have several subscriptions, each of which gets all messages.
    pub multicast: bool,
    /// The longest message in bytes, as handed to `send`: the service's limit less what its encoding adds.
    pub max_message: usize,
    /// The most messages in one call that publishes.
    pub publish_batch: usize,
    /// The most bytes in one call that publishes, the sum of its messages as handed to `send`. At least `max_message`.
    pub publish_bytes: usize,
    /// The most messages in one call that receives.
    pub receive_batch: usize,
    /// The most messages in one call that acknowledges.
    pub acknowledge_batch: usize,
    /// The time for which a message is kept for receivers that are away. `None`: until it is acknowledged.
    pub retention: Option<Duration>,
    /// The time after which a message that was not acknowledged is delivered again, for certain once its receiver has gone.
    pub redelivery: Duration,
    /// Whether messages that fail again and again are put aside.
    pub dead_letters: bool,
    /// Whether a message waits at the service until those with the same key that were delivered are acknowledged, as where one of each key is
    /// delivered at a time.
    pub one_by_one: bool,
}

/// The order that a service keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordering {
    /// None.
    None,
    /// Messages with the same key stay in order, however many receivers share a subscription.
    ByKey,
    /// All messages stay in order, as long as a subscription has one receiver.
    OneReceiver,
}

/// The use that one end makes of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It publishes.
    Publisher,
    /// It receives.
    Receiver,
    /// Both.
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
