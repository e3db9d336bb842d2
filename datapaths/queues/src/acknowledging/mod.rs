//! Acknowledging: by an act, or by dropping.
//!
//! The buffer of a message has a receipt ([`Buf::from_receipt`](bertha_core::Buf::from_receipt)), which learns whether the
//! application has finished with the message, dropped it, or gave it back. A dropped message is given back to the
//! service after a pause, which grows as long as no message is done; so is every message that is held at the end of
//! the connection, without a pause.
//!
//! A connection that [acknowledges by dropping](crate::QueueSettings::acknowledge_by_dropping) takes the drop of a
//! message's buffer for the end of the work, except in a thread that panics.
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
