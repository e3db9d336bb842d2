//! Valid certificates, and certificates with faults.

use crate::{TlsIdentity, Trust};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertificateRevocationListParams, CertifiedIssuer,
    DnType, ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevocationReason,
    RevokedCertParams, SerialNumber, date_time_ymd,
};

pub(super) const NAME: &str = "store.example";

/// An issuer of certificates.
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// The certificate of an end, and its key.
pub(super) struct Issued {
    certificate: Certificate,
    key: KeyPair,
}

/// Returns the parameters of a certificate of an end.
pub(super) fn end(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.serial_number = Some(SerialNumber::from(vec![0x0b, 0xad]));
    params
}

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    /// Makes an end's certificate that was used to sign other certificates.
    pub(super) fn of(params: CertificateParams) -> Self {
        Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    pub(super) fn issue(&self, params: CertificateParams) -> Issued {
        let key = KeyPair::generate().unwrap();
        Issued { certificate: params.signed_by(&key, &self.issuer).unwrap(), key }
    }

    /// Returns an identity for [`NAME`].
    pub(super) fn identity(&self) -> TlsIdentity {
        self.issue(end(NAME)).identity()
    }

    pub(super) fn trust(&self) -> Trust {
        Trust::ca_pem(self.issuer.pem()).unwrap()
    }

    /// Returns a list that revokes the certificates of [`end`].
    pub(super) fn revocations(&self) -> String {
        let revoked = RevokedCertParams {
            serial_number: SerialNumber::from(vec![0x0b, 0xad]),
            revocation_time: date_time_ymd(2026, 1, 1),
            reason_code: Some(RevocationReason::KeyCompromise),
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2026, 1, 1),
            next_update: date_time_ymd(2036, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.issuer).unwrap().pem().unwrap()
    }
}

impl Issued {
    /// Returns the certificate and the key.
    pub(super) fn pem(&self) -> [String; 2] {
        [self.certificate.pem(), self.key.serialize_pem()]
    }

    pub(super) fn identity(&self) -> TlsIdentity {
        TlsIdentity::from_pem(self.certificate.pem(), self.key.serialize_pem()).unwrap()
    }
}

/// Returns a raw public key, and the trust in it.
pub(super) fn raw_key() -> (TlsIdentity, Trust) {
    let key = KeyPair::generate().unwrap();
    let identity = TlsIdentity::raw_public_key(key.serialize_der()).unwrap();
    (identity, Trust::raw_public_keys([rcgen::PublicKeyData::subject_public_key_info(&key)]))
}
