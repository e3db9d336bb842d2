//! A certificate (RFC 5280) as a reader of an error message needs it. The crate `rustls` verifies
//! certificates.

use super::der::{INTEGER, OBJECT_ID, SEQUENCE, SET, expect, next};
use std::fmt;

/// The parts of a certificate that describe it, from unverified bytes.
pub(super) struct Certificate<'a> {
    serial: &'a [u8],
    /// The issuer's name: a Name in DER, as are all names here.
    issuer: &'a [u8],
    subject: &'a [u8],
    /// The first and the last moment of its time.
    pub(super) validity: &'a [u8],
    /// The extensions, each a SEQUENCE.
    extensions: &'a [u8],
}

/// The extension of basic constraints: 2.5.29.19.
const BASIC_CONSTRAINTS: [u8; 3] = [0x55, 0x1d, 0x13];

/// The extension of alternative names: 2.5.29.17.
const ALTERNATIVE_NAMES: [u8; 3] = [0x55, 0x1d, 0x11];

/// The tag of the extensions within a certificate.
const EXTENSIONS: u8 = 0xa3;

/// Maximum length of the shown part of a name, in characters.
pub(super) const SHOWN: usize = 64;

impl<'a> Certificate<'a> {
    pub(super) fn parse(mut der: &'a [u8]) -> Option<Self> {
        let mut certificate = expect(&mut der, SEQUENCE)?;
        let mut fields = expect(&mut certificate, SEQUENCE)?;
        // The field is the version, which version 1 omits.
        let _ = expect(&mut fields, 0xa0);
        let serial = expect(&mut fields, INTEGER)?;
        let _algorithm = expect(&mut fields, SEQUENCE)?;
        let issuer = expect(&mut fields, SEQUENCE)?;
        let validity = expect(&mut fields, SEQUENCE)?;
        let subject = expect(&mut fields, SEQUENCE)?;
        let _public_key = expect(&mut fields, SEQUENCE)?;
        let mut extensions = &[][..];
        while let Some((tag, mut content)) = next(&mut fields) {
            if tag == EXTENSIONS {
                extensions = expect(&mut content, SEQUENCE)?;
            }
        }
        Some(Self { serial, issuer, subject, validity, extensions })
    }

    /// Returns true if the certificate may issue certificates (RFC 5280, section 4.2.1.9).
    pub(super) fn is_authority(&self) -> bool {
        // The first part of the content is the flag of authorities.
        expect(&mut self.extension(BASIC_CONSTRAINTS), 0x01) == Some(&[0xff])
    }

    /// Returns the subject's alternative names, each a GeneralName (RFC 5280, section 4.2.1.6).
    pub(super) fn alternative_names(&self) -> &'a [u8] {
        self.extension(ALTERNATIVE_NAMES)
    }

    /// Returns the content of an extension that is a SEQUENCE; empty if the certificate lacks the extension.
    fn extension(&self, id: [u8; 3]) -> &'a [u8] {
        let mut extensions = self.extensions;
        while let Some(mut extension) = expect(&mut extensions, SEQUENCE) {
            if expect(&mut extension, OBJECT_ID) != Some(&id[..]) {
                continue;
            }
            // Before the content stands the flag that the extension is critical.
            let _critical = expect(&mut extension, 0x01);
            let mut content = expect(&mut extension, 0x04).unwrap_or_default();
            return expect(&mut content, SEQUENCE).unwrap_or_default();
        }
        &[]
    }

    /// Returns true if the subject has issued the certificate.
    pub(super) fn is_self_issued(&self) -> bool {
        self.subject == self.issuer
    }
}

/// Shows `CN=store.example (serial 01ab, issued by CN=Example CA)`.
impl fmt::Display for Certificate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (serial ", Name(self.subject))?;
        self.serial.iter().take(SHOWN / 2).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        match self.is_self_issued() {
            true => write!(f, ", issued by itself)"),
            false => write!(f, ", issued by {})", Name(self.issuer)),
        }
    }
}

/// The name of a subject or an issuer, in the form of RFC 4514 but in the order of the certificate.
struct Name<'a>(&'a [u8]);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.0;
        let mut separator = "";
        while let Some(mut part) = expect(&mut parts, SET) {
            while let Some(mut attribute) = expect(&mut part, SEQUENCE) {
                let label = expect(&mut attribute, OBJECT_ID).and_then(label).unwrap_or("?");
                let value = next(&mut attribute).map(|(_, value)| String::from_utf8_lossy(value));
                // The peer chose these characters.
                let value: String =
                    value.unwrap_or_default().chars().take(SHOWN).flat_map(char::escape_debug).collect();
                write!(f, "{separator}{label}={value}")?;
                separator = ", ";
            }
        }
        if separator.is_empty() { f.write_str("a certificate without a subject") } else { Ok(()) }
    }
}

/// Returns the short name of an attribute type (RFC 4514, section 3).
fn label(object_id: &[u8]) -> Option<&'static str> {
    match object_id {
        [0x55, 0x04, 3] => Some("CN"),
        [0x55, 0x04, 6] => Some("C"),
        [0x55, 0x04, 7] => Some("L"),
        [0x55, 0x04, 8] => Some("ST"),
        [0x55, 0x04, 10] => Some("O"),
        [0x55, 0x04, 11] => Some("OU"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

    fn params(name: &str) -> CertificateParams {
        let mut params = CertificateParams::new(["store.example".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.serial_number = Some(vec![1, 0xab].into());
        params
    }

    #[test]
    fn a_certificate_is_described_by_its_names_and_its_number() {
        let mut authority = params("Example CA");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let parsed = Certificate::parse(authority.der()).unwrap();
        assert!(parsed.is_authority() && parsed.is_self_issued());
        assert!(parsed.to_string().ends_with("CN=Example CA (serial 01ab, issued by itself)"), "{parsed}");
        let leaf = params("a\nb").signed_by(&KeyPair::generate().unwrap(), &authority).unwrap();
        let parsed = Certificate::parse(leaf.der()).unwrap();
        assert!(!parsed.is_authority() && !parsed.is_self_issued());
        let shown = parsed.to_string();
        assert!(
            shown.contains("CN=a\\nb (serial 01ab, issued by ") && shown.ends_with("CN=Example CA)"),
            "{shown}"
        );
        let mut explicit = params("leaf");
        explicit.is_ca = IsCa::ExplicitNoCa;
        let explicit = explicit.self_signed(&KeyPair::generate().unwrap()).unwrap();
        assert!(!Certificate::parse(explicit.der()).unwrap().is_authority());
    }

    proptest! {
        #[test]
        fn a_damaged_certificate_is_described_or_refused(cut in 0usize..400, at in 0usize..400, byte: u8) {
            let made = params("leaf").self_signed(&KeyPair::generate().unwrap()).unwrap();
            let mut der = made.der().to_vec();
            der.truncate(cut);
            if let Some(changed) = der.get_mut(at) {
                *changed = byte;
            }
            if let Some(parsed) = Certificate::parse(&der) {
                let _ = (parsed.to_string(), parsed.is_authority());
            }
        }
    }
}
