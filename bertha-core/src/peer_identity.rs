//! The identity that a peer has proved.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The identity that the other end of a connection has proved.
///
/// `{}` and `{:?}` show it to a person: a certificate by its names and its fingerprint, a key in hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerIdentity {
    /// An Ed25519 key (RFC 8032), proved with the credentials of the agreement.
    Key([u8; 32]),
    /// A verified chain of X.509 certificates.
    Certificates(CertificateChain),
    /// A raw public key (RFC 7250): a SubjectPublicKeyInfo in DER.
    RawPublicKey(Arc<[u8]>),
    /// The static X25519 key of a Noise handshake.
    NoiseKey([u8; 32]),
    /// The owner of the peer process, for whom the kernel of this machine vouches (`SO_PEERCRED`).
    Process {
        /// The effective user id.
        user: u32,
        /// The effective group id.
        group: u32,
    },
}

/// A verified chain of X.509 certificates. Two chains are equal if their bytes are.
#[derive(Clone)]
pub struct CertificateChain {
    der: Arc<[Vec<u8>]>,
    describe: fn(&[u8]) -> String,
}

impl CertificateChain {
    /// Makes a chain of certificates in DER, the peer's own certificate first. `describe` describes a certificate to a
    /// person, by its names and its fingerprint: the maker of the chain has a parser for certificates, and this crate
    /// has none.
    pub fn new(der: impl Into<Arc<[Vec<u8>]>>, describe: fn(&[u8]) -> String) -> Self {
        Self { der: der.into(), describe }
    }

    /// Returns the certificates in DER, the peer's own certificate first.
    pub fn der(&self) -> &[Vec<u8>] {
        &self.der
    }
}

impl PartialEq for CertificateChain {
    fn eq(&self, other: &Self) -> bool {
        self.der == other.der
    }
}

impl Eq for CertificateChain {}

impl Hash for CertificateChain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.der.hash(state);
    }
}

impl fmt::Display for CertificateChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.der.first() {
            Some(own) => f.write_str(&(self.describe)(own)),
            None => f.write_str("none"),
        }
    }
}

impl fmt::Debug for CertificateChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CertificateChain({self})")
    }
}

impl fmt::Display for PeerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, key) = match self {
            Self::Certificates(chain) => return write!(f, "certificate {chain}"),
            Self::Process { user, group } => return write!(f, "process of user {user}, group {group}"),
            Self::Key(key) => ("Ed25519 key", &key[..]),
            Self::RawPublicKey(key) => ("raw public key", &key[..]),
            Self::NoiseKey(key) => ("Noise key", &key[..]),
        };
        write!(f, "{kind} ")?;
        key.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PeerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerIdentity({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_shown_for_a_person_to_read() {
        let chain = |describe| CertificateChain::new([vec![1; 450], vec![2; 450]], describe);
        let shown = PeerIdentity::Certificates(chain(|own| format!("{} {}", own.len(), own[0]))).to_string();
        assert_eq!(shown, "certificate 450 1");
        let key = PeerIdentity::RawPublicKey([0x30, 0x2a, 0x05].into());
        assert_eq!(format!("{key} {key:?}"), "raw public key 302a05 PeerIdentity(raw public key 302a05)");
        assert!(PeerIdentity::NoiseKey([0xab; 32]).to_string().starts_with("Noise key abab"));
        let process = PeerIdentity::Process { user: 1000, group: 100 };
        assert_eq!(process.to_string(), "process of user 1000, group 100");
        assert_eq!(chain(|_| "a".into()), chain(|_| "b".into()), "the bytes count");
    }
}
