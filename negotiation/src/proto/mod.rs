//! The protocol without its I/O: bytes, time and randomness come in as arguments.

mod client;
mod cookie;
mod credit;
mod floor;
mod gate;
mod idle;
mod limiter;
mod matching;
mod pending;
mod server;
mod upgrade;

pub use client::{Handshake, Progress};
pub use cookie::Cookies;
pub use credit::Credit;
pub use floor::check_floor;
pub(crate) use floor::{check_possible, of_transport};
pub(crate) use gate::name;
pub use gate::{Admission, Gate};
pub(crate) use idle::agreed as agreed_idle_timeout;
pub use idle::{Idle, TICKS, Verdict};
pub use matching::{Match, Rejected, find, find_above, find_wished};
pub use pending::{Pending, Step};
pub use server::{Accepted, Decision, Terms, decide};
pub(crate) use server::{FAREWELL, unknown};
pub use upgrade::{Act, Terms as UpgradeTerms, Upgrades};
