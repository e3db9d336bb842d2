//! The work of each service.

mod cached;
mod front;
mod geo;
mod profile;
mod rate;
mod search;

pub use front::{Found, Front};
pub use geo::Nearest;
pub use profile::Described;
pub use rate::Priced;
pub use search::Searched;
