//! Identities in TLS, the trust in identities of peers, and the parts of TLS that `Tls` and `Quic` share.
//!
//! [`TlsIdentity`] is this end's proof; [`Trust`] are the proofs that this end accepts. Both are certificates
//! (RFC 5280) or raw public keys (RFC 7250).
//!
//! # Sessions
//!
//! An end builds its configuration once, from these two values, and all its connections share it. Later
//! connections resume the session of an earlier connection (RFC 8446, section 2.2) with a new key exchange,
//! so resumed connections are forward secret as well. Sessions belong to one value of a Chunnel and its
//! clones: another trust, another name or a [reload](TlsIdentity::reload) begins without sessions. The other
//! end's proof is checked again when a session is resumed, so that a certificate that has expired since is
//! refused; signatures that were verified under the same trust and the same revocation lists are not verified
//! again. No data is sent early.

mod accepted;
mod believed;
pub(crate) mod binding;
mod certificate;
mod date;
mod der;
mod description;
mod expiry;
#[cfg(feature = "tls")]
mod handshakes;
mod identity;
pub(crate) mod noted;
mod own_keys;
mod peer_expiry;
mod pem;
pub(crate) mod refusal;
pub(crate) mod side;
mod trust;
mod validity;
mod verifier;

pub use identity::TlsIdentity;
pub use trust::Trust;

use bertha_core::{Error, ErrorKind};
use rustls::crypto::CryptoProvider;
use std::sync::{Arc, LazyLock};

/// Returns the cryptography: `ring`, as in the rest of the crate.
fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: LazyLock<Arc<CryptoProvider>> =
        LazyLock::new(|| Arc::new(rustls::crypto::ring::default_provider()));
    PROVIDER.clone()
}

#[cold]
fn invalid(what: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Invalid, format!("{what}: {error}")).because(error)
}
