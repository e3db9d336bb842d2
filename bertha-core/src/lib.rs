//! The traits and types behind Chunnels, Chunnel stacks and datapaths.
//!
//! A **Chunnel** is one communication function: serialise, shard, encrypt, order. It is a value that holds its
//! configuration. Wrapped around a connection it makes another **connection**, which sends and receives typed
//! messages. A **Chunnel stack** is a list of Chunnels, top first, and a **datapath** gives the connection at the
//! bottom, whose messages are [`Buf`]s.
//!
//! ```text
//!  application      send(request)             recv() -> reply
//!      |                 |                         ^
//!  ClientShard      picks a connection        hands it up
//!      |                 v                         |
//!  Serialize        request -> Buf            Buf -> reply
//!      |                 v                         |
//!  datapath         Buf -> wire               wire -> Buf
//! ```
//!
//! # Use
//!
//! Authors of Chunnels and datapaths need this crate alone. An application depends on `bertha`, which re-exports the
//! items that applications use.
//!
//! * A Chunnel implements [`Chunnel`] and, for the connection that it makes, [`Connection`]. `#[derive(Identity)]`
//!   gives it a name and a description for the other end.
//! * A datapath implements [`Datapath`] and [`Listener`], and for its base connections [`Connection`] and [`Base`].
//!
//! The crate does no I/O, starts no task and reads no clock: code that needs a runtime gets it from [`Base::runtime`].

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
// In another crate, which has passes or not, the compiler does not look into the imports of `make_stack!`.
#![cfg_attr(
    test,
    allow(unused_imports, reason = "make_stack! imports the passes of the crate, and there are none")
)]

// The derives name this crate from outside, so its own tests and examples have to name it in the same way.
extern crate self as bertha_core;

mod addr;
mod any_base;
pub mod backoff;
mod base;
pub mod buf;
mod by_key;
pub mod capability;
mod carries;
mod chunk;
mod chunnel;
mod connection;
mod datapath;
mod debug_fields;
mod describe;
mod destination;
mod ecn_marks;
mod erased;
mod error;
mod forward;
pub mod framing;
mod gather;
mod group;
pub mod guarantee;
mod guaranteed;
mod headroom;
pub mod identity;
pub mod log_pause;
mod make_stack;
mod map_output;
mod name;
mod needs;
mod network;
mod notes;
pub mod pass;
mod peer;
mod peer_identity;
mod picks;
mod policy;
mod preference;
pub mod replay_window;
mod resolver;
mod roaming;
pub mod rtt;
mod runtime;
mod secured;
mod select;
mod setters;
mod stack;
pub mod statistics;
mod steering;
pub mod token_bucket;
mod truth;
mod wrap;

pub use addr::Addr;
pub use any_base::{AnyBase, AnyBaseConnection, AnyBaseListener, OverAnyBase};
pub use base::{Base, Properties};
pub use bertha_macros::{Capability, Identity, subst};
pub use buf::{Buf, WithReceipt};
pub use by_key::OrdersByKey;
pub use capability::{Capability, Mismatch};
pub use carries::{Carries, Fits};
pub use chunk::{Chunk, Octets};
pub use chunnel::{Chunnel, ConnectContext, Connected, Connector, Role};
pub use connection::Connection;
pub use datapath::{Datapath, Listener};
pub use describe::{Describe, Explanation, LayerInfo, Node};
pub use destination::Destination;
pub use ecn_marks::EcnMarks;
pub use erased::{BoxConnection, BoxStack, Boxed};
pub use error::{Error, ErrorKind};
pub use gather::{Gather, Gathered};
pub use group::{Delivery, Group};
pub use guaranteed::{guaranteed_above, withdrawing};
pub use headroom::Headroom;
pub use identity::Identity;
pub use map_output::map_output;
pub use name::Name;
pub use needs::check_needs;
#[doc(hidden)]
pub use needs::unmet_need;
pub use network::Network;
pub use notes::Note;
#[doc(hidden)]
pub use notes::NotePlace;
pub use pass::{Optimized, Pass};
pub use peer::{DifferingCapability, PeerLayers};
pub use peer_identity::{CertificateChain, PeerIdentity};
pub use picks::{Picks, preferred, resolve};
pub use policy::{NumParticipantsAtMost, Policy, Situation};
pub use preference::Preference;
pub use resolver::{MAX_ADDRESSES, Resolver};
#[doc(hidden)]
pub use roaming::Roaming;
pub use runtime::Runtime;
pub use secured::Secured;
#[doc(hidden)]
pub use secured::SecuredCell;
pub use select::{Either, Select, SelectConnection};
pub use stack::{Bottom, Stack};
#[doc(hidden)]
pub use statistics::LayerRegistry;
pub use statistics::{DropCounter, Dropped, Drops, Statistics};
pub use steering::{Route, STEERED_PREFIX, Siblings, Steering};
pub use wrap::{Supports, Wrap};

/// A boxed, sendable future, for the recursion over a stack on the control path.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
