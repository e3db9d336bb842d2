//! TLS to the server.

use crate::causes;
use rustls::{AlertDescription, CertificateError, Error as Tls};
use std::error::Error;

/// Returns advice for a failure of TLS among the causes of `error`, if there is one.
pub(crate) fn advice(error: &(dyn Error + 'static)) -> Option<&'static str> {
    causes::find(error).map(advice_on)
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
