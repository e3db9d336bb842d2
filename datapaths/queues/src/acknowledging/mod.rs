//! Acknowledging: a message is acknowledged when the application drops it.
//!
//! The drop of a message's buffer says that the application has let go of the message, whatever the layers
//! between do. A layer that holds received messages drops them after the connection below. A buffer that is
//! dropped by a panic, or after the connection, gives the message back to the service.
//!
//! Acknowledgements of receivers of bursts wait for further acknowledgements, for at most
//! [`ack_delay`](crate::QueueSettings::ack_delay), except where the service holds messages back until they
//! are acknowledged ([`one_by_one`](crate::Abilities::one_by_one)).
//!
//! Services bill calls, so each call is counted. Therefore the SDKs' own retries are off, since an SDK does
//! not report them, and Pub/Sub is called through generated stubs: Google's client batches in the background.

mod gathering;
mod held;
mod ledger;
mod task;

pub(crate) use gathering::AckDelay;
pub(crate) use held::hold;
pub(crate) use ledger::Ledger;
pub(crate) use task::run;
