//! The reasons why a handshake fails, as errors that name the certificate, the reason and the remedy, at both
//! ends.

use super::certificate::Certificate;
use super::date::Date;
use super::noted;
use super::side::Side;
use bertha_core::{Error, ErrorKind};
use ring::digest::{SHA256, digest};
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, PeerIncompatible};
use std::fmt::Write;

/// Runs a step of TLS, in which the other end may be refused. Converts an error for the application.
pub(crate) fn step<T>(side: &Side, step: impl FnOnce() -> Result<T, rustls::Error>) -> Result<T, Error> {
    noted::take();
    step().map_err(|error| explain(error, side, noted::take().as_ref().map(|refused| &*refused.shown)))
}

/// Returns the error of this end for an error of TLS. `shown` is the certificate or raw key that it refused,
/// if it is known.
#[cold]
pub(crate) fn explain(error: rustls::Error, side: &Side, shown: Option<&[u8]>) -> Error {
    use rustls::Error as Tls;
    let other = side.other();
    let (kind, what) = match &error {
        Tls::InvalidCertificate(reason) => (ErrorKind::Unauthenticated, refused(reason, side, shown)),
        Tls::NoCertificatesPresented => {
            let what = format!(
                "the {other} showed no certificate, and this {side} requires one; give it an identity, as with Tls::identity"
            );
            (ErrorKind::Unauthenticated, what)
        }
        Tls::AlertReceived(alert) => return refused_by_peer(*alert, side).because(error),
        Tls::NoApplicationProtocol => (ErrorKind::Refused, other_protocol(side)),
        Tls::General(text) if text.ends_with(NO_CERTIFICATE_RESOLVED) => {
            (ErrorKind::Refused, format!("{}, and named none (ALPN)", other_protocol(side)))
        }
        Tls::PeerIncompatible(
            PeerIncompatible::IncorrectCertificateTypeExtension
            | PeerIncompatible::UnsolicitedCertificateTypeExtension,
        ) => (ErrorKind::Unauthenticated, other_kind_of_proof()),
        Tls::PeerIncompatible(reason) => (
            ErrorKind::Refused,
            format!("the {other}'s TLS is incompatible: {reason:?}; both ends need TLS 1.3"),
        ),
        Tls::DecryptError => {
            (ErrorKind::Unauthenticated, "bytes from the other end were altered on their way".to_owned())
        }
        _ => (ErrorKind::Refused, format!("the {other} does not follow TLS 1.3: {error}")),
    };
    Error::new(kind, what).because(error)
}

/// The text of `rustls` for a [certificate resolver](super::side) that offers no certificate. `quinn` keeps
/// texts alone, with a prefix.
const NO_CERTIFICATE_RESOLVED: &str = "no server certificate chain resolved";

fn other_protocol(side: &Side) -> String {
    format!("the {} speaks TLS for another protocol than {}", side.other(), side.protocol())
}

fn other_kind_of_proof() -> String {
    "one end has certificates and the other expects raw public keys (RFC 7250), or the reverse; use the same at both".into()
}

/// Returns the reason why this end refused the other end's certificate or raw key.
fn refused(reason: &CertificateError, side: &Side, shown: Option<&[u8]>) -> String {
    let other = side.other();
    let subject = match shown.map(described) {
        Some(shown) => format!("the {other}'s {shown}"),
        None => format!("the {other}'s certificate"),
    };
    use CertificateError as Reason;
    match reason {
        Reason::ExpiredContext { not_after, .. } => format!(
            "{subject}, or one that leads to its authority, expired on {}; renew it, or set this machine's clock",
            Date(*not_after)
        ),
        Reason::NotValidYetContext { not_before, .. } => format!(
            "{subject}, or one that leads to its authority, is not valid before {}; set this machine's clock, or wait",
            Date(*not_before)
        ),
        Reason::NotValidForNameContext { expected, presented } => format!(
            "{subject} is for other names: this end wants {}, and it has {}; connect by one of its names, or have it \
             issued for this one",
            name(expected),
            list(presented)
        ),
        Reason::UnknownIssuer => format!(
            "{subject} leads to no certificate that this end trusts; add that of its authority to Trust::ca_pem, or let the \
             {other} show the certificates between"
        ),
        Reason::Revoked => {
            format!("{subject}, or one that leads to its authority, was revoked; the {other} needs a new one")
        }
        Reason::InvalidPurposeContext { required, presented } => format!(
            "{subject} may not be used for this: its extended key usage has to allow {required:?}, and allows {presented:?}; \
             have it issued for the use by a {other}"
        ),
        Reason::ApplicationVerificationFailure => {
            format!("{subject} is not one that this end trusts; add it to Trust::raw_public_keys")
        }
        // The signature is part of the handshake, or an authority's: `rustls` does not distinguish them.
        Reason::BadSignature => format!(
            "a signature is wrong: the {other} does not have the private key of {subject}, or the trusted authority of that name has another key"
        ),
        _ => format!("{subject} can't be accepted: {reason}"),
    }
}

/// Returns the error of this end for an alert (RFC 8446, section 6.2) with which the other end refused it.
pub(crate) fn refused_by_peer(alert: AlertDescription, side: &Side) -> Error {
    use AlertDescription as Alert;
    let other = side.other();
    let own = match side.own_proof() {
        Some(der) => format!("this {side}'s {}", described(&der)),
        None => format!("this {side}'s certificate"),
    };
    let (kind, what) = match alert {
        Alert::CertificateRequired => (
            ErrorKind::Unauthenticated,
            format!(
                "the {other} requires a certificate, and this {side} showed none; give it an identity, as with Tls::identity"
            ),
        ),
        Alert::CertificateExpired => (
            ErrorKind::Unauthenticated,
            format!(
                "the {other} refused {own}: it has expired or is not valid yet; renew it, or set the clocks"
            ),
        ),
        Alert::CertificateRevoked => {
            (ErrorKind::Unauthenticated, format!("the {other} refused {own}: it was revoked; use a new one"))
        }
        Alert::UnknownCA => (
            ErrorKind::Unauthenticated,
            format!(
                "the {other} refused {own}: it does not trust the issuer; add that to the trust of the {other}"
            ),
        ),
        Alert::BadCertificate => (
            ErrorKind::Unauthenticated,
            format!("the {other} refused {own}: it is malformed, or for other names than the {other} wants"),
        ),
        Alert::UnsupportedCertificate => (
            ErrorKind::Unauthenticated,
            format!(
                "the {other} refused {own}: its type or its extended key usage does not fit the use by a {side}"
            ),
        ),
        Alert::AccessDenied if side.own_proof().is_some() => (
            ErrorKind::Unauthenticated,
            format!(
                "the {other} refused {own}: the {other} does not trust it; add it to the trust of the {other}"
            ),
        ),
        Alert::CertificateUnknown
        | Alert::AccessDenied
        | Alert::DecryptError
        | Alert::InsufficientSecurity => {
            (ErrorKind::Unauthenticated, format!("the {other} refused {own}, with the alert {alert:?}"))
        }
        Alert::NoApplicationProtocol => (ErrorKind::Refused, other_protocol(side)),
        Alert::HandshakeFailure => (
            ErrorKind::Refused,
            format!(
                "the {other} found nothing in common in TLS: key exchange, cipher, or kind of certificate"
            ),
        ),
        _ => (ErrorKind::Refused, format!("the {other} ended TLS with the alert {alert:?}")),
    };
    Error::new(kind, what)
}

/// Describes a certificate or a raw public key in words.
fn described(der: &[u8]) -> String {
    match Certificate::parse(der) {
        Some(certificate) => format!("certificate {certificate}"),
        None => {
            let mut text = "raw public key with SHA-256 ".to_owned();
            for byte in digest(&SHA256, der).as_ref() {
                // Writing to a String does not fail.
                let _ = write!(text, "{byte:02x}");
            }
            text
        }
    }
}

fn name(expected: &ServerName<'_>) -> String {
    expected.to_str().into_owned()
}

/// Lists at most eight names, which the other end chose.
fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = names.iter().take(8).map(|name| name.chars().take(128).collect()).collect();
    shown.join(", ")
}
