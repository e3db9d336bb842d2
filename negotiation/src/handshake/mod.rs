//! The protocol without its I/O: bytes, time and randomness come in as arguments.

mod admission;
mod agreement;
mod amplification;
mod capabilities;
mod client;
mod confirmation;
mod cookie;
mod decision_cache;
mod expected;
mod first_flight;
mod idle_timeout;
mod matching;
mod overtaken;
mod prune;
mod rate_limiter;
mod replay_filter;
mod requirements;
mod server;
mod stack_names;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests;
mod ticket;
mod unknown_connection;
mod wants;

pub(crate) use admission::path;
pub use admission::{Admission, AdmissionControl};
pub use agreement::{Agreement, ZeroRtt};
pub(crate) use agreement::{CurrentAgreement, binding};
pub use amplification::AmplificationLimit;
pub(crate) use capabilities::Capabilities;
pub(crate) use client::Proposal;
pub use client::{Handshake, Progress};
pub(crate) use confirmation::{CANDIDATES, ConfirmationWait, Step};
#[cfg(test)]
pub(crate) use cookie::Cookies;
pub(crate) use decision_cache::DecisionCache;
pub use expected::Expected;
pub(crate) use first_flight::Claim;
pub use first_flight::{FirstFlight, Flight};
pub(crate) use idle_timeout::agreed as agreed_idle_timeout;
pub use matching::find;
pub(crate) use matching::{Match, find_for_proposer};
pub(crate) use overtaken::Overtaken;
pub(crate) use prune::{Choices, Pruned};
pub use replay_filter::{Freshness, ReplayFilter};
pub use requirements::Requirements;
pub(crate) use requirements::{check_layers, check_picks, check_possible};
pub use server::{Accepted, Decision, EarlyData, Terms, decide};
pub(crate) use server::{CLOSE_ALLOWANCE, decide_hashed, is_flight, takes_early_data};
pub use ticket::{HeldTicket, Tickets};
pub(crate) use unknown_connection::{ResetMeaning, are_you_there, reply_to_unknown};
