//! The check of the other end's certificates or raw public key.

use super::believed::Believed;
use super::noted::note;
use super::{invalid, provider};
use bertha_core::Error;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, verify_tls13_signature, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// The verifier of proofs, for either end. It [notes](super::noted) the proofs that it refuses.
#[derive(Debug)]
pub(super) struct Verifier {
    accepted: Accepted,
    algorithms: WebPkiSupportedAlgorithms,
}

#[derive(Debug)]
enum Accepted {
    Certificates {
        /// The check of issued certificates; `None` without authorities.
        issued: Option<Issued>,
        pinned: Vec<(CertificateDer<'static>, Issued)>,
        /// The names of the authorities, for clients that choose among several certificates.
        hints: Vec<DistinguishedName>,
    },
    RawKeys(Vec<SubjectPublicKeyInfoDer<'static>>),
}

/// The check of a chain that has to end in certain certificates.
#[derive(Debug)]
struct Issued {
    server: Arc<dyn ServerCertVerifier>,
    client: Arc<dyn ClientCertVerifier>,
}

impl Issued {
    fn by(
        roots: Arc<RootCertStore>,
        revoked: &[CertificateRevocationListDer<'static>],
    ) -> Result<Self, Error> {
        let unusable = |error| invalid("the trusted certificates or a revocation list can't be used", error);
        let server = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider())
            .with_crls(revoked.iter().cloned())
            .allow_unknown_revocation_status();
        let client = WebPkiClientVerifier::builder_with_provider(roots, provider())
            .with_crls(revoked.iter().cloned())
            .allow_unknown_revocation_status();
        Ok(Self { server: server.build().map_err(unusable)?, client: client.build().map_err(unusable)? })
    }
}

impl Verifier {
    pub(super) fn new(believed: &Believed) -> Result<Self, Error> {
        let accepted = match believed {
            Believed::RawKeys(keys) => Accepted::RawKeys(keys.clone()),
            Believed::Certificates { authorities, pinned, revoked } => {
                let issued = (!authorities.is_empty()).then(|| Issued::by(authorities.clone(), revoked));
                let alone = |certificate: &CertificateDer<'static>| {
                    let mut root = RootCertStore::empty();
                    root.add(certificate.clone())
                        .map_err(|error| invalid("a trusted certificate can't be used", error))?;
                    Ok((certificate.clone(), Issued::by(Arc::new(root), revoked)?))
                };
                let pinned = pinned.iter().map(alone).collect::<Result<_, Error>>()?;
                Accepted::Certificates { issued: issued.transpose()?, pinned, hints: authorities.subjects() }
            }
        };
        Ok(Self { accepted, algorithms: provider().signature_verification_algorithms })
    }

    /// Checks the proof of a server, or, without a name, of a client.
    pub(super) fn check(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: Option<&ServerName<'_>>,
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let checked = self.checked(shown, intermediates, server, now);
        checked.inspect_err(|reason| note(shown, reason))
    }

    fn checked(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: Option<&ServerName<'_>>,
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let (issued, intermediates) = match &self.accepted {
            Accepted::RawKeys(keys) => {
                return match keys.iter().any(|key| key.as_ref() == shown.as_ref()) {
                    true => Ok(()),
                    false => Err(CertificateError::ApplicationVerificationFailure.into()),
                };
            }
            Accepted::Certificates { issued, pinned, .. } => {
                // A pinned certificate is accepted for itself, and issues no other certificate.
                match pinned.iter().find(|(certificate, _)| certificate == shown) {
                    Some((_, alone)) => (Some(alone), &[][..]),
                    None => (issued.as_ref(), intermediates),
                }
            }
        };
        let issued = issued.ok_or(CertificateError::UnknownIssuer)?;
        match server {
            Some(name) => issued.server.verify_server_cert(shown, intermediates, name, &[], now).map(drop),
            None => issued.client.verify_client_cert(shown, intermediates, now).map(drop),
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match self.accepted {
            Accepted::Certificates { .. } => verify_tls13_signature(message, shown, signed, &self.algorithms),
            Accepted::RawKeys(_) => {
                let key = SubjectPublicKeyInfoDer::from(shown.as_ref());
                verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
            }
        }
    }

    pub(super) fn is_of_raw_keys(&self) -> bool {
        matches!(self.accepted, Accepted::RawKeys(_))
    }
}

/// Returns the error for TLS 1.2, which is not supported.
fn too_old() -> rustls::Error {
    rustls::PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig.into()
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.check(shown, intermediates, Some(name), now).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check_signature(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        self.is_of_raw_keys()
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        match &self.accepted {
            Accepted::Certificates { hints, .. } => hints,
            Accepted::RawKeys(_) => &[],
        }
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.check(shown, intermediates, None, now).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check_signature(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        self.is_of_raw_keys()
    }
}
