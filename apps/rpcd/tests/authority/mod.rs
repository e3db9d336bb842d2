//! An issuer of certificates.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]
#![allow(dead_code, reason = "no test uses all of it")]

use bertha::chunnels::{TlsIdentity, Trust};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};

/// An issuer of certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// The certificate of an end and its key, in PEM.
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Issues a certificate for this name.
    pub(crate) fn issue(&self, name: &str) -> Issued {
        let (key, params) =
            (KeyPair::generate().unwrap(), CertificateParams::new([name.to_owned()]).unwrap());
        let certificate = params.signed_by(&key, &self.0).unwrap().pem();
        Issued { certificate, key: key.serialize_pem() }
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn trust(&self) -> Trust {
        Trust::ca_pem(self.pem()).unwrap()
    }
}

impl Issued {
    pub(crate) fn identity(&self) -> TlsIdentity {
        TlsIdentity::from_pem(&self.certificate, &self.key).unwrap()
    }
}
