//! The description of a peer's certificate for a person: its names, and the fingerprint by which a person compares it.

use super::certificate::{Certificate, SHOWN};
use super::der::next;
use ring::digest::{SHA256, digest};
use std::fmt::Write;
use std::net::IpAddr;

/// Maximum number of names that are shown.
const NAMES: usize = 8;

/// The tags of a GeneralName (RFC 5280, section 4.2.1.6): a mail address, a host's name, a URI, and an address.
const MAIL: u8 = 0x81;
const HOST: u8 = 0x82;
const URI: u8 = 0x86;
const ADDRESS: u8 = 0x87;

/// Describes a certificate in DER: `CN=store (serial 01ab, issued by CN=CA), names store.example, 10.0.0.1, SHA-256 5f3a..`.
pub(super) fn described(der: &[u8]) -> String {
    let mut text = String::new();
    if let Some(certificate) = Certificate::parse(der) {
        text = certificate.to_string();
        let names = names(certificate.alternative_names());
        if !names.is_empty() {
            text = format!("{text}, names {}", names.join(", "));
        }
        text.push_str(", ");
    }
    text.push_str("SHA-256 ");
    for byte in digest(&SHA256, der).as_ref() {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the first names in this list of GeneralNames.
fn names(mut list: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    while names.len() < NAMES
        && let Some((tag, content)) = next(&mut list)
    {
        names.extend(match tag {
            // The issuer chose these characters, perhaps as the subject wished.
            MAIL | HOST | URI => {
                let text = String::from_utf8_lossy(content);
                Some(text.chars().take(SHOWN).flat_map(char::escape_debug).collect())
            }
            ADDRESS => address(content).map(|address| address.to_string()),
            _ => None,
        });
    }
    names
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rcgen::{CertificateParams, DnType, KeyPair};

    fn made(names: &[&str]) -> Vec<u8> {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "Store");
        params.serial_number = Some(vec![1, 0xab].into());
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn a_certificate_is_described_by_its_names_and_its_fingerprint() {
        let der = made(&["store.example", "10.0.0.1", "::1"]);
        let text = described(&der);
        let (names, fingerprint) = text.split_once(", SHA-256 ").unwrap();
        assert_eq!(names, "CN=Store (serial 01ab, issued by itself), names store.example, 10.0.0.1, ::1");
        let digits = fingerprint.bytes().all(|digit| digit.is_ascii_hexdigit());
        assert!(fingerprint.len() == 64 && digits, "{fingerprint}");
        assert!(described(&made(&[])).contains("issued by itself), SHA-256 "));
        assert!(described(b"no certificate").starts_with("SHA-256 "));
    }

    #[test]
    fn a_long_list_of_names_is_cut() {
        let names: Vec<String> = (0..20).map(|number| format!("host{number}.example")).collect();
        let text = described(&made(&names.iter().map(String::as_str).collect::<Vec<_>>()));
        assert!(text.contains("host7.example, SHA-256") && !text.contains("host8"), "{text}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_described(bytes: Vec<u8>) {
            prop_assert!(names(&bytes).len() <= NAMES);
            prop_assert!(described(&bytes).contains("SHA-256 "));
        }
    }
}
