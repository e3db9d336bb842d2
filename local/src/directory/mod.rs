//! The directory of a machine: a small server that knows the services of this machine, by name and by address.
//!
//! ```text
//!  service -- register "cart", 10.0.0.7:4000 -->  directory  <-- visit 10.0.0.7:4000, one end of a socket -- client
//!     ^                                              |
//!     +---------- visitor, that end -----------------+
//! ```
//!
//! * An entry belongs to the connection that registered it, and vanishes with it: when the process ends, or drops its
//!   [`Registration`].
//! * A name or address that is taken is refused, and so is one that the [`Rules`] keep for another user. The kernel vouches for
//!   users; the rights of the socket's folder say who may ask at all.
//! * An address is entered for a process that listens there, which shows its socket. In another network namespace a process may have
//!   any address, so where strangers run containers, the rules have to keep the addresses that matter.
//! * A client does not connect to a service's own socket, which might be in another file system or network namespace. It hands one
//!   end of a new socket to the directory, which hands it to the service. So the directory's socket is the one file that
//!   containers share.
//! * Each registration has a random number, which the directory tells to the service and to each client that visits it. The service says
//!   the number over the connection that it has with the client, so a process that registered what belongs to the service is found out.
//! * A client that says nothing, or a user with many connections, keeps nobody out: the connections of the user with the most make room.
//!   A user gets at most a third of the places for services that are free, so some are left for others.
//! * A service that does not read what it is handed has no further visitors, and neither has a user with many such services.
//! * A directory that refuses a service, or is silent, stops no service: [`Directory::register`] warns, and tries again.
//! * [`server`]: the server. [`Directory`]: its client. `entries`, `rules` and `places`: its state, without I/O.

mod client;
mod counts;
mod entries;
mod key;
mod own_sockets;
mod packets;
mod places;
mod proof;
mod protocol;
mod registration;
mod requests;
mod rules;
pub mod server;
mod shares;
mod state;
mod unread;
mod visitors;

pub use client::{Directory, Found};
pub use counts::DirectoryStatistics;
pub use key::{Key, Transport};
pub use protocol::Refusal;
pub(crate) use protocol::{RegistrationId, Token};
pub use registration::Registration;
pub use rules::Rules;
