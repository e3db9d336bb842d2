//! Messages are acknowledged when the application lets go of them.

mod gathering;
mod held;
mod ledger;
mod task;

pub(crate) use gathering::AckDelay;
pub(crate) use held::hold;
pub(crate) use ledger::Ledger;
pub(crate) use task::run;
