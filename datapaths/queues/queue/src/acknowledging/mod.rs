//! Acknowledging: a message is acknowledged when the application drops it.

mod gathering;
mod held;
mod ledger;
mod task;

pub(crate) use gathering::AckDelay;
pub(crate) use held::hold;
pub(crate) use ledger::Ledger;
pub(crate) use task::run;
