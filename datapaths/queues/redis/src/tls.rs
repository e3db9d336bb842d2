//! TLS to the server.

use rustls::{AlertDescription, CertificateError, Error as Tls};
use std::error::Error;
use std::io;
use std::sync::Arc;

/// Returns advice for a failure of TLS among the causes of `error`, if there is one.
pub(crate) fn advice(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(failure) = error.downcast_ref() {
            return Some(advice_on(failure));
        }
        // These two error types give the source of their content as their own source.
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
    match failure {
        Tls::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "none of the trusted authorities has signed the server's certificate; give the one that has by `RedisStreams::with_client`"
        }
        Tls::InvalidCertificate(_) => "the server's certificate is not valid for this address or time",
        Tls::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::DecryptError,
        ) => {
            "the server wants a certificate of this end that it trusts; give one by `RedisStreams::with_client`"
        }
        Tls::InvalidMessage(_) => "the server does not speak TLS there",
        _ => "TLS to the server fails",
    }
}

/// Chooses an implementation of cryptography, unless the program has made a choice.
pub(crate) fn choose_cryptography() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // The call fails only if another thread was faster.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}
