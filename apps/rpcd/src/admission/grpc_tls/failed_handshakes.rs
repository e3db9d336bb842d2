//! The log of handshakes that have failed.

use crate::admission::refusals::Refusals;
use bertha_core::Error;
use std::net::SocketAddr;
use std::time::Instant;

/// The log of handshakes that have failed: an error a second at most, since strangers cause them.
#[derive(Debug, Default)]
pub(crate) struct FailedHandshakes(Refusals);

impl FailedHandshakes {
    /// Tells why the handshake with a peer has failed.
    #[cold]
    pub(crate) fn tell(&self, peer: SocketAddr, error: &Error) {
        if let Some(count) = self.0.due(Instant::now()) {
            tracing::error!(%peer, %error, count, "a handshake of TLS with a caller or a server of gRPC has failed");
        }
    }
}
