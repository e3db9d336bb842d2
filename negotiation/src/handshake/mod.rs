//! The protocol without its I/O: bytes, time and randomness come in as arguments.

mod admission;
mod agreement;
mod amplification;
mod capabilities;
mod client;
mod confirmation;
mod cookie;
mod decision_cache;
mod first_flight;
mod idle_timeout;
mod matching;
mod prune;
mod rate_limiter;
mod replay_filter;
mod requirements;
mod server;

pub use crate::auth::claim;
pub(crate) use admission::name;
pub use admission::{Admission, AdmissionControl};
pub use agreement::{Agreement, ZeroRtt};
pub(crate) use agreement::{CurrentAgreement, binding};
pub use amplification::Credit;
pub(crate) use client::Proposal;
pub use client::{Handshake, Progress};
pub use confirmation::{ConfirmationWait, Step};
pub use cookie::Cookies;
pub(crate) use decision_cache::DecisionCache;
pub use first_flight::{Expected, FirstFlight, Flight};
pub(crate) use idle_timeout::agreed as agreed_idle_timeout;
pub use matching::{Match, Rejected, find, find_wished, find_within};
pub(crate) use prune::Choices;
pub use replay_filter::{Freshness, ReplayFilter};
pub(crate) use requirements::check_layers;
pub use requirements::{Requirements, check_picks, check_possible};
pub use server::{Accepted, Decision, EarlyData, Terms, decide};
pub(crate) use server::{FAREWELL, decide_hashed, is_flight, takes_early_data, unknown};
