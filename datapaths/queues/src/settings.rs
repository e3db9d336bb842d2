//! The settings of queue connections.

use std::time::Duration;

/// The settings of a [`QueueConnection`](crate::QueueConnection).
///
/// ```
/// # use bertha_queues::QueueSettings;
/// # use std::time::Duration;
/// let settings = QueueSettings::default().prefetch(10).retry_for(Duration::from_secs(120));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueSettings {
    /// Number of messages that `recv` asks the service for in a call. The additional messages wait in memory
    /// for the next `recv`, and no other receiver gets them meanwhile. Messages that nobody asked for until the end
    /// of the connection are given back; only Redis and the service in memory don't count that as one of the
    /// deliveries after which a message is put aside. At most
    /// [`receive_batch`](crate::Abilities::receive_batch); 1 by default.
    pub prefetch: usize,
    /// Time for which an acknowledgement waits for others, so that a single call carries them, if the
    /// receiver asks for several messages at once. If the receiver dies meanwhile, messages that it had
    /// finished with are delivered again. Where other messages [wait](crate::Abilities::one_by_one) at the
    /// service for the acknowledgement, the time is a tenth, and ends once all messages of a burst are
    /// finished. 100 milliseconds by default.
    pub ack_delay: Duration,
    /// True if a received message is acknowledged when its buffer is dropped, unless the thread panics: a receiver
    /// that fails, is cancelled or returns early while it works on a message then loses the message. False by
    /// default: a message is acknowledged by [`Buf::done`](bertha_core::Buf::done).
    pub acknowledge_by_dropping: bool,
    /// Time after which a message that was dropped without an acknowledgement is given back to the service. It
    /// doubles with each such message until a message is done. 100 milliseconds by default.
    pub give_back_pause: Duration,
    /// Longest time after which a dropped message is given back. 10 seconds by default.
    pub max_give_back_pause: Duration,
    /// Time that a call waits at the service for messages, if the service can wait. 20 seconds by default.
    pub long_poll: Duration,
    /// Longest pause between two looks into an empty queue of a service that can't wait. Pauses begin at 10
    /// milliseconds and double; 500 milliseconds by default.
    pub idle_pause: Duration,
    /// Pause before a call is repeated for the first time; each further pause is twice as long. A random part
    /// of up to a half is subtracted, so that ends which failed together don't return together. 50
    /// milliseconds by default.
    pub retry_pause: Duration,
    /// Longest pause before a call is repeated. 5 seconds by default.
    pub max_retry_pause: Duration,
    /// Time for which a call that meets a temporary error is repeated, before the error goes to the
    /// application. 30 seconds by default.
    pub retry_for: Duration,
    /// Time for which `close` waits until the service has accepted the last acknowledgements, and for which a
    /// dropped connection goes on giving messages back. 5 seconds by default.
    pub close_timeout: Duration,
}

bertha_core::setters!(QueueSettings {
    prefetch: usize,
    ack_delay: Duration,
    acknowledge_by_dropping: bool,
    give_back_pause: Duration,
    max_give_back_pause: Duration,
    long_poll: Duration,
    idle_pause: Duration,
    retry_pause: Duration,
    max_retry_pause: Duration,
    retry_for: Duration,
    close_timeout: Duration,
});

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            prefetch: 1,
            ack_delay: Duration::from_millis(100),
            acknowledge_by_dropping: false,
            give_back_pause: Duration::from_millis(100),
            max_give_back_pause: Duration::from_secs(10),
            long_poll: Duration::from_secs(20),
            idle_pause: Duration::from_millis(500),
            retry_pause: Duration::from_millis(50),
            max_retry_pause: Duration::from_secs(5),
            retry_for: Duration::from_secs(30),
            close_timeout: Duration::from_secs(5),
        }
    }
}
