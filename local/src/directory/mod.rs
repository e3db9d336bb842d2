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
//! * A name or address that is taken is refused, and so is a name that the [`Rules`] keep for another user. The kernel vouches for
//!   users; the rights of the socket's folder say who may ask at all.
//! * A client does not connect to a service's own socket, which might be in another file system or network namespace. It hands one
//!   end of a new socket to the directory, which hands it to the service. So the directory's socket is the one file that
//!   containers share.
//! * [`server`]: the server. [`Directory`]: its client. [`entries`]: its state, without I/O.

mod client;
pub mod entries;
mod packets;
mod protocol;
mod registration;
pub mod server;
mod visitors;

pub use client::{Directory, Found};
pub use entries::Rules;
pub use protocol::{Key, Refusal};
pub use registration::Registration;
