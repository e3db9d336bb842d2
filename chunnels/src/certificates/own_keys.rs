//! The identities of a server.

use rustls::client::verify_server_name;
use rustls::pki_types::ServerName;
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::sync::Arc;

/// The identities of a server, for clients that name a protocol: `rustls` refuses clients that name another
/// protocol, but not clients that name none.
#[derive(Debug)]
pub(super) struct OwnKeys {
    /// At least one.
    keys: Vec<Arc<CertifiedKey>>,
    is_raw: bool,
}

impl OwnKeys {
    pub(super) fn new(keys: Vec<Arc<CertifiedKey>>, is_raw: bool) -> Self {
        Self { keys, is_raw }
    }

    /// Returns the first identity whose certificate has the name that the client wants (RFC 6066, section 3), else
    /// the first of all.
    fn named(&self, wanted: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let first = self.keys.first()?;
        if self.keys.len() == 1 {
            return Some(first.clone());
        }
        let wanted = wanted.and_then(|name| ServerName::try_from(name).ok());
        let named = wanted.and_then(|name| self.keys.iter().find(|key| has_name(key, &name)));
        Some(named.unwrap_or(first).clone())
    }
}

fn has_name(key: &CertifiedKey, name: &ServerName<'_>) -> bool {
    let certificate = key.cert.first().and_then(|certificate| ParsedCertificate::try_from(certificate).ok());
    certificate.is_some_and(|certificate| verify_server_name(&certificate, name).is_ok())
}

impl ResolvesServerCert for OwnKeys {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        hello.alpn().and_then(|_| self.named(hello.server_name()))
    }

    fn only_raw_public_keys(&self) -> bool {
        self.is_raw
    }
}
