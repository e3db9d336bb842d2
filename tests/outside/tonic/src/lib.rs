//! gRPC by tonic over any connections of Bertha's that carry bytes: [`channel`] for clients, [`Transport`]s as the incoming of servers.
#![forbid(unsafe_code)]

mod channel;
mod transport;

pub use channel::channel;
pub use transport::Transport;
