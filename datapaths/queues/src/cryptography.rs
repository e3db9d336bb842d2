//! The implementation of cryptography for TLS.

use rustls::crypto::{CryptoProvider, ring};

/// Installs ring as the process's implementation of cryptography, unless the program has installed another
/// implementation.
pub(crate) fn install() {
    if CryptoProvider::get_default().is_none() {
        // The call fails only if another thread was faster.
        _ = ring::default_provider().install_default();
    }
}
