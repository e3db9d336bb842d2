//! Certificates and keys in PEM (RFC 7468), from files or bytes.

use super::invalid;
use bertha_core::{Error, ErrorKind};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::path::Path;

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| Error::of_file(format_args!("cannot read {}", path.display()), error))
}

/// Reads the certificates in a PEM, at least one. `source` names the PEM in errors.
pub(super) fn certificates(pem: &[u8], source: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let certificates =
        certificates.map_err(|error| invalid(&format!("{source} can't be read as PEM"), error))?;
    if certificates.is_empty() {
        return Err(Error::new(ErrorKind::Invalid, format!("there is no certificate in {source}")));
    }
    Ok(certificates)
}
