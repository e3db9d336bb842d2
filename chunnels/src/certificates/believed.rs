//! The two kinds of accepted proofs.

use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, SubjectPublicKeyInfoDer};
use std::sync::Arc;

/// The proofs that are accepted.
pub(super) enum Believed {
    /// Certificates that lead to an authority, or are pinned.
    Certificates {
        authorities: Arc<RootCertStore>,
        pinned: Vec<CertificateDer<'static>>,
        revoked: Vec<CertificateRevocationListDer<'static>>,
    },
    /// Raw public keys (RFC 7250).
    RawKeys(Vec<SubjectPublicKeyInfoDer<'static>>),
}
