//! Who the ends are.

use std::fmt;

/// The certificate of this end, and whose certificates it accepts. All in DER.
///
/// A certificate that is trusted is the root of those that it has signed, or, if it has signed itself, the very certificate that the
/// peer has to show: so a single one can be pinned.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Certificates {
    pub(super) chain: Vec<Vec<u8>>,
    pub(super) key: Vec<u8>,
    pub(super) trusted: Vec<Vec<u8>>,
    pub(super) name: String,
}

impl Certificates {
    /// Shows nothing and accepts nobody: the beginning.
    pub fn none() -> Self {
        Self::default()
    }

    /// Shows this certificate, followed by those that lead to its root, and proves with the private key (PKCS #8) that it is its
    /// own. A server needs one; a client only where servers ask.
    #[must_use]
    pub fn showing(mut self, chain: impl IntoIterator<Item = Vec<u8>>, key: Vec<u8>) -> Self {
        (self.chain, self.key) = (chain.into_iter().collect(), key);
        self
    }

    /// Accepts peers whose certificate leads to this one, besides others. A client needs one; a server that has one turns clients
    /// away that show none.
    #[must_use]
    pub fn trusting(mut self, certificate: Vec<u8>) -> Self {
        self.trusted.push(certificate);
        self
    }

    /// Connects to servers alone whose certificate is for this name or IP address.
    #[must_use]
    pub fn expecting(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
}

/// Without the private key.
impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates")
            .field("chain", &self.chain.len())
            .field("trusted", &self.trusted.len())
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
