//! The log of handshakes that have failed.

use bertha_core::Error;
use bertha_core::log_pause::LogPause;
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::time::Instant;

/// The log of handshakes that have failed: an error a second at most, since strangers cause them.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    pause: Mutex<LogPause>,
}

impl Refusals {
    /// Tells why the handshake with a peer has failed.
    #[cold]
    pub(crate) fn tell(&self, peer: SocketAddr, error: &Error) {
        if self.pause.lock().is_over(Some(Instant::now())) {
            tracing::error!(%peer, %error, "a handshake of TLS with a caller or a server of gRPC has failed");
        } else {
            tracing::debug!(%peer, %error, "a handshake of TLS with a caller or a server of gRPC has failed");
        }
    }
}
