//! The protocol without its I/O: bytes, time and randomness come in as arguments.

mod client;
mod cookie;
mod credit;
mod first_flight;
mod floor;
mod gate;
mod idle;
mod limiter;
mod matching;
mod pending;
mod precedent;
mod server;
mod strikes;
mod trim;
mod upgrade;

pub(crate) use client::Proposal;
pub use client::{Handshake, Progress};
pub use cookie::Cookies;
pub use credit::Credit;
pub use first_flight::{Expected, FirstFlight, Flight};
pub(crate) use floor::check_layers;
pub use floor::{Frame, check_picks, check_possible};
pub(crate) use gate::name;
pub use gate::{Admission, Gate};
pub(crate) use idle::agreed as agreed_idle_timeout;
pub use idle::{Idle, TICKS, Verdict};
pub use matching::{Match, Rejected, find, find_wished, find_within};
pub use pending::{Pending, Step};
pub(crate) use precedent::Precedents;
pub use server::{Accepted, Decision, EarlyData, Terms, decide};
pub(crate) use server::{FAREWELL, decide_hashed, is_flight, takes_early_data, unknown};
pub use strikes::{Memory, Strikes};
pub(crate) use trim::Choices;
pub use upgrade::{Act, Terms as UpgradeTerms, Upgrades};
