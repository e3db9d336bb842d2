//! gRPC by [tonic](https://docs.rs/tonic) over any carrier of bytes: a datapath such as `Tcp::new().bytes()`,
//! or a stack that ends in [`Bytes`](bertha::chunnels::Bytes).
//!
//! | | over a datapath | over a stack that is negotiated |
//! |---|---|---|
//! | server | `Server::builder()..serve_with_incoming(`[`accepted(listener)`](accepted)`)` | [`agreed(incoming)`](agreed) in its place |
//! | client | [`channel(async move || datapath.connect(to).await)`](channel) | `stack.connect(datapath, to)` in its place |

#![forbid(unsafe_code)]

mod channel;
mod incoming;
mod io;

pub use channel::channel;
pub use incoming::{accepted, agreed};
pub use io::Io;
