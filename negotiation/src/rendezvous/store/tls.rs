//! The reasons for which TLS to a store's server fails.

use rustls::{AlertDescription, CertificateError, Error as Tls};
use std::error::Error;
use std::io;
use std::sync::Arc;

/// Returns advice for a failure of TLS among the causes of `error`, if there is one.
pub(super) fn advice(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(failure) = error.downcast_ref::<Tls>() {
            return Some(advice_on(failure));
        }
        // Neither of these two errors shows its content as its source, but the source of its content.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let shared = error.downcast_ref::<Arc<dyn Error + Send + Sync>>();
        next = match (inner, shared) {
            (Some(inner), _) => Some(inner),
            (_, Some(shared)) => Some(&**shared),
            _ => error.source(),
        };
    }
    None
}

fn advice_on(failure: &Tls) -> &'static str {
    use CertificateError as C;
    match failure {
        Tls::InvalidCertificate(C::UnknownIssuer) => {
            "none of the trusted authorities has signed the server's certificate; give the one that has (`ca`)"
        }
        Tls::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. }) => {
            "the server's certificate is for another name; use one that it names in the address"
        }
        Tls::InvalidCertificate(C::Expired | C::ExpiredContext { .. }) => {
            "the server's certificate has expired; renew it, and compare the clocks"
        }
        Tls::InvalidCertificate(_) => "the server's certificate is not valid",
        Tls::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server wants a certificate of this end; give one that it trusts (`cert` and `key`)"
        }
        Tls::AlertReceived(
            AlertDescription::UnknownCA | AlertDescription::BadCertificate | AlertDescription::DecryptError,
        ) => {
            "the server does not trust this end's certificate; give one of an authority that it trusts (`cert` and `key`)"
        }
        Tls::InvalidMessage(_) => "the server does not speak TLS there",
        _ => "TLS to the server fails",
    }
}

/// Chooses the implementation of cryptography for clients that leave the choice to the process, unless the
/// program has chosen one.
pub(super) fn choose_cryptography() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // The call fails only if another thread was faster.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}
