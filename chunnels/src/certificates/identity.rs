//! The identity of this end.

use super::expiry::Expiry;
use super::pem::{self, read};
use super::{invalid, provider};
use bertha_core::{Error, ErrorKind};
use parking_lot::RwLock;
#[cfg(feature = "quic")]
use ring::hkdf::{HKDF_SHA256, Prk, Salt};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::sign::CertifiedKey;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The identity that this end proves in TLS: a chain of certificates with the private key of the first, or a raw public key
/// (RFC 7250).
///
/// Clones share the identity, so one [`reload`](Self::reload) serves every Chunnel that has it. Keys are RSA,
/// ECDSA on P-256 or P-384, or Ed25519.
#[derive(Clone)]
pub struct TlsIdentity {
    shared: Arc<IdentityShared>,
}

struct IdentityShared {
    /// The paths of the certificates and the key, if they came from files.
    files: Option<[PathBuf; 2]>,
    is_raw: bool,
    /// Locked for a copy of the pointer.
    current: RwLock<Current>,
}

/// The part of an identity that a reload replaces.
struct Current {
    key: Arc<CertifiedKey>,
    /// The expiry of the certificates; `None` for a raw key.
    expiry: Option<Expiry>,
    /// A secret from which further keys are derived (RFC 5869).
    #[cfg(feature = "quic")]
    secret: Prk,
}

impl Current {
    /// `private` is the encoded private key of `key`.
    fn new(key: CertifiedKey, private: &[u8]) -> Self {
        #[cfg(not(feature = "quic"))]
        let _ = private;
        Self {
            expiry: Expiry::of(&key.cert),
            key: Arc::new(key),
            #[cfg(feature = "quic")]
            secret: Salt::new(HKDF_SHA256, b"bertha identity").extract(private),
        }
    }
}

impl TlsIdentity {
    /// Reads a chain of certificates, this end's own certificate first, and its private key (PKCS #8, PKCS #1
    /// or SEC 1), from files in PEM (RFC 7468).
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid), which names the file, if it is missing, its content can't be
    /// used, or the key belongs to another certificate.
    pub fn from_pem_files(certificates: impl AsRef<Path>, key: impl AsRef<Path>) -> Result<Self, Error> {
        let files = [certificates.as_ref().to_owned(), key.as_ref().to_owned()];
        let current = from_files(&files)?;
        Ok(Self::new(Some(files), false, current))
    }

    /// Works as [`from_pem_files`](Self::from_pem_files), with bytes in place of files.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the bytes can't be used, or the key belongs to another certificate.
    pub fn from_pem(certificates: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Result<Self, Error> {
        let current = from_bytes(certificates.as_ref(), key.as_ref(), &["the PEM given"; 2])?;
        Ok(Self::new(None, false, current))
    }

    /// Makes an identity from a raw public key, without certificates: the public part of this private key
    /// (PKCS #8 in DER). The other end has to [trust](super::Trust::raw_public_keys) it.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the key can't be used.
    pub fn raw_public_key(pkcs8: impl AsRef<[u8]>) -> Result<Self, Error> {
        let private = pkcs8.as_ref();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(private.to_vec()));
        let key = provider().key_provider.load_private_key(key);
        let key = key.map_err(|error| invalid("the private key can't be used", error))?;
        let public = key.public_key().ok_or_else(|| {
            Error::new(ErrorKind::Invalid, "a key of this type has no raw public key; use Ed25519 or ECDSA")
        })?;
        let public = CertificateDer::from(public.to_vec());
        Ok(Self::new(None, true, Current::new(CertifiedKey::new(vec![public], key), private)))
    }

    /// Reads the files again. Connections made from then on show the new certificates, and none of them
    /// resumes an earlier session; connections in use go on.
    ///
    /// # Errors
    /// The errors of [`from_pem_files`](Self::from_pem_files), and [`Invalid`](ErrorKind::Invalid) if the
    /// identity did not come from files. The identity then stays as it was.
    pub fn reload(&self) -> Result<(), Error> {
        let Some(files) = &self.shared.files else {
            let what =
                "the identity was made from bytes, so there is no file to read again; use from_pem_files";
            return Err(Error::new(ErrorKind::Invalid, what));
        };
        let new = from_files(files)?;
        *self.shared.current.write() = new;
        Ok(())
    }

    fn new(files: Option<[PathBuf; 2]>, is_raw: bool, current: Current) -> Self {
        Self { shared: Arc::new(IdentityShared { files, is_raw, current: RwLock::new(current) }) }
    }

    /// Returns the certificates and the key of the connections that begin now.
    pub(super) fn current(&self) -> Arc<CertifiedKey> {
        self.shared.current.read().key.clone()
    }

    /// Returns the secret from which keys for other purposes than TLS are derived. The private key alone determines it.
    #[cfg(feature = "quic")]
    pub(super) fn secret(&self) -> Prk {
        self.shared.current.read().secret.clone()
    }

    /// Warns if the certificates expire soon, once per certificate and process.
    pub(super) fn warn_of_expiry(&self) {
        let current = self.shared.current.read();
        current.expiry.iter().for_each(|expiry| expiry.warn(&current.key.cert, UnixTime::now()));
    }

    pub(super) fn is_raw(&self) -> bool {
        self.shared.is_raw
    }
}

/// The output omits the private key.
impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsIdentity")
            .field("files", &self.shared.files)
            .field("is_raw", &self.shared.is_raw)
            .finish_non_exhaustive()
    }
}

fn from_files(files: &[PathBuf; 2]) -> Result<Current, Error> {
    let [certificates, key] = files;
    let names = [certificates.display().to_string(), key.display().to_string()];
    from_bytes(&read(certificates)?, &read(key)?, &[&names[0], &names[1]])
}

fn from_bytes(certificates: &[u8], key: &[u8], sources: &[&str; 2]) -> Result<Current, Error> {
    let [certificates_from, key_from] = sources;
    let chain = pem::certificates(certificates, certificates_from)?;
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| invalid(&format!("there is no private key in {key_from}"), error))?;
    let private = key.clone_key();
    // The call also compares the keys.
    let key = CertifiedKey::from_der(chain, key, &provider()).map_err(|error| {
        let what =
            format!("the private key in {key_from} can't be used for the certificate in {certificates_from}");
        invalid(&what, error)
    })?;
    Ok(Current::new(key, private.secret_der()))
}
