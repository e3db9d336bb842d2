//! A certificate that its own key has signed, for servers and the clients that trust it.

use crate::{Error, ErrorKind};
use bertha_chunnels::{TlsIdentity, Trust};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

/// A new certificate with its key.
pub(crate) struct Certificate(rcgen::CertifiedKey<rcgen::KeyPair>);

impl Certificate {
    /// Name that the certificate certifies.
    pub(crate) const NAME: &str = "localhost";

    pub(crate) fn new() -> Result<Self, Error> {
        let made = rcgen::generate_simple_self_signed([Self::NAME.to_owned()]);
        made.map(Self).map_err(Error::while_doing(ErrorKind::Socket, "making a certificate"))
    }

    /// Returns the identity of a server of Bertha.
    pub(crate) fn identity(&self) -> Result<TlsIdentity, bertha_core::Error> {
        TlsIdentity::from_pem(self.0.cert.pem(), self.0.signing_key.serialize_pem())
    }

    /// Returns the trust of a client of Bertha.
    pub(crate) fn trust(&self) -> Result<Trust, bertha_core::Error> {
        Trust::ca_pem(self.0.cert.pem())
    }

    /// Returns the certificate for `rustls`, at both ends.
    pub(crate) fn root(&self) -> CertificateDer<'static> {
        self.0.cert.der().clone()
    }

    /// Returns the key for a server of `rustls`.
    pub(crate) fn key(&self) -> PrivatePkcs8KeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.0.signing_key.serialize_der())
    }
}
