//! The accepted proofs of the other end's identity.

use super::believed::Believed;
use super::certificate::Certificate;
use super::invalid;
use super::pem::{certificates, read};
use super::verifier::Verifier;
use bertha_core::{Error, ErrorKind};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateRevocationListDer, SubjectPublicKeyInfoDer};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The proofs of identity that this end accepts from the other end.
///
/// A value never changes. To withdraw trust, give new Chunnels a new value: they start without sessions to resume.
#[derive(Clone)]
pub struct Trust {
    believed: Arc<Believed>,
}

impl Trust {
    /// Works as [`ca_pem`](Self::ca_pem), with a file.
    ///
    /// # Errors
    /// The errors of [`ca_pem`](Self::ca_pem); [`Invalid`](ErrorKind::Invalid), too, if the file is missing.
    pub fn ca_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::from_bytes(&read(path)?, &path.display().to_string())
    }

    /// Trusts the certificates in this PEM (RFC 7468), one or more. The certificate of an authority (RFC
    /// 5280, section 4.2.1.9) is the root of the certificates that it has issued. A self-signed certificate
    /// of an end is pinned: the other end has to show this certificate, and certificates that it may have
    /// signed do not count.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if there is no certificate, a certificate can't be read, or a
    /// certificate is of neither kind.
    pub fn ca_pem(certificates: impl AsRef<[u8]>) -> Result<Self, Error> {
        Self::from_bytes(certificates.as_ref(), "the PEM given")
    }

    /// Trusts ends that have one of these raw public keys (RFC 7250), each a SubjectPublicKeyInfo in DER: the
    /// output of `openssl pkey -pubout -outform DER`. Names are then ignored.
    pub fn raw_public_keys<K: Into<Vec<u8>>>(keys: impl IntoIterator<Item = K>) -> Self {
        let keys = keys.into_iter().map(|key| SubjectPublicKeyInfoDer::from(key.into())).collect();
        Self { believed: Arc::new(Believed::RawKeys(keys)) }
    }

    /// Returns this trust without the certificates that are revoked by these lists (RFC 5280, section 5), one
    /// or more in PEM. A list counts for its issuer; certificates of other issuers are not checked for
    /// revocation. A list whose next update is overdue still counts.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if there is no list or a list can't be read, and for raw public keys.
    pub fn revoked_by(&self, lists: impl AsRef<[u8]>) -> Result<Self, Error> {
        let Believed::Certificates { authorities, pinned, revoked } = &*self.believed else {
            let what =
                "raw public keys can't be revoked by a list; leave those out that are no longer trusted";
            return Err(Error::new(ErrorKind::Invalid, what));
        };
        let lists =
            CertificateRevocationListDer::pem_slice_iter(lists.as_ref()).collect::<Result<Vec<_>, _>>();
        let lists = lists.map_err(|error| invalid("a revocation list can't be read", error))?;
        if lists.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "there is no revocation list in the PEM given"));
        }
        let authorities = authorities.clone();
        let pinned = pinned.clone();
        let revoked = revoked.iter().cloned().chain(lists).collect();
        let trust = Self { believed: Arc::new(Believed::Certificates { authorities, pinned, revoked }) };
        // Making the verifier parses the lists.
        trust.verifier()?;
        Ok(trust)
    }

    fn from_bytes(bytes: &[u8], source: &str) -> Result<Self, Error> {
        let mut authorities = RootCertStore::empty();
        let mut pinned = Vec::new();
        for der in certificates(bytes, source)? {
            let Some(certificate) = Certificate::parse(&der) else {
                let what = format!("a certificate in {source} can't be read");
                return Err(Error::new(ErrorKind::Invalid, what));
            };
            if certificate.is_authority() {
                let added = authorities.add(der.clone());
                added.map_err(|error| invalid(&format!("{certificate} in {source} can't be used"), error))?;
            } else if certificate.is_self_issued() {
                pinned.push(der);
            } else {
                let what = format!(
                    "{certificate} in {source} is no authority, and has not signed itself; trust its issuer instead, or \
                     its key with Trust::raw_public_keys"
                );
                return Err(Error::new(ErrorKind::Invalid, what));
            }
        }
        let authorities = Arc::new(authorities);
        let revoked = Vec::new();
        Ok(Self { believed: Arc::new(Believed::Certificates { authorities, pinned, revoked }) })
    }

    /// Returns true if the accepted proofs are raw public keys.
    pub(super) fn is_in_raw_keys(&self) -> bool {
        matches!(*self.believed, Believed::RawKeys(_))
    }

    /// Returns the verifier of the other end's proofs.
    pub(super) fn verifier(&self) -> Result<Arc<Verifier>, Error> {
        Verifier::new(&self.believed).map(Arc::new)
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.believed {
            Believed::Certificates { authorities, pinned, revoked } => f
                .debug_struct("Trust")
                .field("authorities", &authorities.len())
                .field("pinned", &pinned.len())
                .field("revocation_lists", &revoked.len())
                .finish(),
            Believed::RawKeys(keys) => f.debug_struct("Trust").field("raw_public_keys", &keys.len()).finish(),
        }
    }
}
