//! TLS as QUIC needs it, from [`Certificates`].

use super::Certificates;
use bertha_core::{Error, ErrorKind};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::rustls;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;

/// The protocol's name in TLS, up to the transcript.
const PROTOCOL: &[u8] = b"bertha quic 3 ";

/// The protocol in TLS (ALPN, RFC 7301), whose name contains the transcript. A peer with another is refused.
///
/// So TLS compares the transcripts, under the protection of the certificates (RFC 8446, section 4.4.4), before either end sends
/// any message, without a further round trip.
fn protocol(transcript: Option<[u8; 32]>) -> Vec<u8> {
    [PROTOCOL, transcript.as_ref().map_or(&[][..], |transcript| transcript)].concat()
}

impl Certificates {
    pub(super) fn client(&self, transcript: Option<[u8; 32]>) -> Result<QuicClientConfig, Error> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(unusable)?;
        let builder = builder.with_root_certificates(self.roots()?);
        let mut config = match self.chain[..] {
            [] => builder.with_no_client_auth(),
            _ => builder.with_client_auth_cert(self.own_chain(), self.own_key()).map_err(unusable)?,
        };
        config.alpn_protocols = vec![protocol(transcript)];
        QuicClientConfig::try_from(config).map_err(unusable)
    }

    pub(super) fn server(&self, transcript: Option<[u8; 32]>) -> Result<QuicServerConfig, Error> {
        if self.chain.is_empty() {
            let what = "a server has to show a certificate; add one with Certificates::showing";
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(unusable)?;
        let builder = match self.trusted[..] {
            [] => builder.with_no_client_auth(),
            _ => {
                let roots = Arc::new(self.roots()?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
                builder.with_client_cert_verifier(verifier.build().map_err(unusable)?)
            }
        };
        let mut config = builder.with_single_cert(self.own_chain(), self.own_key()).map_err(unusable)?;
        config.alpn_protocols = vec![protocol(transcript)];
        QuicServerConfig::try_from(config).map_err(unusable)
    }

    fn roots(&self) -> Result<RootCertStore, Error> {
        if self.trusted.is_empty() {
            let what = "a client has to trust some certificate; add one with Certificates::trusting";
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        let mut roots = RootCertStore::empty();
        for certificate in &self.trusted {
            roots.add(CertificateDer::from(certificate.clone())).map_err(unusable)?;
        }
        Ok(roots)
    }

    fn own_chain(&self) -> Vec<CertificateDer<'static>> {
        self.chain.iter().cloned().map(CertificateDer::from).collect()
    }

    fn own_key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.clone()).into()
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Invalid, format!("a certificate or key can't be used: {error}")).because(error)
}
