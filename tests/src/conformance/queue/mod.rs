//! The conformance suite of queues: the promises of [`Service`] and [`QueueConnection`], as checks that every service passes, and the
//! service in memory.
//!
//! A service's test implements [`QueueSite`] and calls [`queue`]. The checks run one after another, since one
//! check counts the processor time of the process, and another restarts the server.
//!
//! [`QueueConnection`]: bertha_queues::QueueConnection

mod acts;
mod cancellation;
mod crash;
mod credentials;
mod duplex;
mod idleness;
mod large;
mod loss;
mod multicast;
mod order;
mod poison;
mod redelivery;
mod restart;
mod scene;
mod sharing;
mod throttling;

pub use acts::*;
pub use cancellation::*;
pub use crash::Receiver;
pub use credentials::*;
pub use duplex::{Duplex, connections_keep_their_promises};
pub use idleness::*;
pub use large::*;
pub use loss::*;
pub use multicast::*;
pub use order::*;
pub use poison::*;
pub use redelivery::*;
pub use restart::*;
pub use sharing::*;
pub use throttling::*;

use bertha_core::Error;
use bertha_queues::{Ordering, QueueSettings, Service};
use std::fmt;
use std::time::Duration;

/// A service to check: how to reach it, and what tests can do to it.
pub trait QueueSite {
    /// The service.
    type Service: Service;

    /// Returns the orders that the service's topics can keep.
    fn orders(&self) -> &[Ordering];

    /// Returns a new client, whose topics keep `ordering`, which is one of [`orders`](Self::orders).
    fn service(&self, ordering: Ordering) -> impl Future<Output = Self::Service>;

    /// Returns a client whose topics deliver a message again as soon as the service can, and put it aside
    /// after as few deliveries, if [`dead_letters`](Self::dead_letters) finds it there. The default is a
    /// usual client.
    fn impatient(&self) -> impl Future<Output = Self::Service> {
        self.service(self.orders()[0])
    }

    /// Makes a process receive `messages` messages of a subscription of such an impatient client's topic, and
    /// kills it before it acknowledges them. [`Receiver`] does so.
    fn kill_a_receiver(&self, topic: &str, subscription: &str, messages: usize) -> impl Future<Output = ()>;

    /// Returns the messages of an impatient client's topic that were put aside. The suite calls it only if
    /// the service puts messages aside.
    fn dead_letters(&self, _topic: &str) -> impl Future<Output = Vec<Vec<u8>>> {
        async { Vec::new() }
    }

    /// Ends the server without notice and starts it again, if the test can.
    fn restart(&self) -> impl Future<Output = Restarted> {
        async { Restarted::Not }
    }

    /// Returns a client with credentials that the server refuses, or the error of making this client. `None`
    /// if the server accepts every client.
    fn refused(&self) -> impl Future<Output = Option<Result<Self::Service, Error>>> {
        async { None }
    }

    /// Returns a client that can be throttled, if the test can throttle.
    fn throttled(&self) -> impl Future<Output = Option<Throttled<Self::Service>>> {
        async { None }
    }

    /// Returns the sizes of the checks.
    fn sizes(&self) -> Sizes {
        Sizes::default()
    }

    /// Returns the settings of the service's connections, of which most checks' receivers acknowledge by dropping.
    fn settings(&self) -> QueueSettings {
        QueueSettings::default().acknowledge_by_dropping(true)
    }
}

/// The sizes of the checks. Slow emulators need fewer messages.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Sizes {
    /// Number of messages of which none may be lost: 10,000.
    pub messages: u64,
    /// Number of messages of each other check: 100.
    pub few: u64,
    /// Time for which a queue is empty: 3 seconds.
    pub idle: Duration,
    /// Time after which an expected event counts as missing: 60 seconds.
    pub patience: Duration,
    /// True if the checks of every connection are made as well.
    pub connections: bool,
}

impl Default for Sizes {
    fn default() -> Self {
        let (idle, patience) = (Duration::from_secs(3), Duration::from_secs(60));
        Self { messages: 10_000, few: 100, idle, patience, connections: true }
    }
}

/// A client that can be throttled.
pub struct Throttled<S> {
    /// The client.
    pub service: S,
    /// Makes the next calls, or the requests that they make, fail as throttled.
    pub throttle: Box<dyn Fn(usize)>,
}

impl<S> fmt::Debug for Throttled<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Throttled").finish_non_exhaustive()
    }
}

/// The fate of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restarted {
    /// The server was not restarted.
    Not,
    /// The server has its topics and messages again.
    WithData,
    /// The server is empty.
    Empty,
}

/// Runs all checks that every service must pass.
pub async fn queue<Q: QueueSite>(site: &Q) {
    macro_rules! each {
        ($($check:ident)*) => {$( Box::pin($check(site)).await; )*};
    }
    each! {
        every_byte_survives
        an_empty_queue_is_waited_for
        messages_with_a_key_stay_in_order
        messages_to_one_receiver_stay_in_order
        a_stack_gets_the_order_that_is_kept
        no_message_is_lost
        competing_receivers_share
        every_subscription_gets_all
        a_message_that_is_held_comes_to_nobody_else
        a_message_whose_work_fails_comes_again
        messages_of_a_closed_receiver_come_again
        messages_of_a_killed_receiver_come_again
        work_that_is_given_up_loses_nothing
        a_message_that_always_fails_is_put_aside
        a_cancelled_recv_loses_nothing
        too_large_a_message_is_named
        refused_credentials_are_named
        throttling_is_met_with_pauses
        connections_keep_their_promises
        a_restart_is_survived
    }
}
