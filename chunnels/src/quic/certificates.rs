//! The identities of the ends.

use std::fmt;

/// The certificate of this end, and the certificates that it trusts. All in DER.
///
/// A trusted certificate is the root of those that it has signed, or, if it is self-signed, the certificate that the
/// peer has to show; so a single one can be pinned.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Certificates {
    pub(super) chain: Vec<Vec<u8>>,
    pub(super) key: Vec<u8>,
    pub(super) trusted: Vec<Vec<u8>>,
    pub(super) name: String,
}

impl Certificates {
    /// Shows no certificate and trusts none: the start of the builder.
    pub fn none() -> Self {
        Self::default()
    }

    /// Shows this certificate, followed by those that lead to its root, and proves possession of its private key (PKCS #8). A server
    /// needs one; a client where servers require it.
    #[must_use]
    pub fn showing(mut self, chain: impl IntoIterator<Item = Vec<u8>>, key: Vec<u8>) -> Self {
        (self.chain, self.key) = (chain.into_iter().collect(), key);
        self
    }

    /// Also accepts peers whose certificate leads to this one. A client needs one; a server that has one refuses clients without a
    /// certificate.
    #[must_use]
    pub fn trusting(mut self, certificate: Vec<u8>) -> Self {
        self.trusted.push(certificate);
        self
    }

    /// Refuses servers whose certificate is not for this name or IP address.
    #[must_use]
    pub fn expecting(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
}

/// Omits the private key.
impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates")
            .field("chain", &self.chain.len())
            .field("trusted", &self.trusted.len())
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
