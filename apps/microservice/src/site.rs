//! The resources that services share on a machine.

use bertha_chunnels::Tls;
use bertha_chunnels::{TlsIdentity, Trust};
use bertha_core::{Error, ErrorKind};
use bertha_local::Directory;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Name in the certificate.
const NAME: &str = "microservice";

/// A folder with the directory's socket, a certificate and its key. It serves for demonstration: real
/// services have certificates of their own.
#[derive(Debug, Clone)]
pub struct Site {
    folder: PathBuf,
    directory: Directory,
}

impl Site {
    /// Creates the site of this folder, which has to exist.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        let directory = Directory::at(folder.join("directory.sock"));
        Self { folder, directory }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the directory of the machine.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Returns TLS for a server. Creates the certificate if there is none yet.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) if the folder can't be written to, [`Invalid`](ErrorKind::Invalid) if the files
    /// are no certificate and key.
    pub fn server(&self) -> Result<Tls, Error> {
        let certificate = self.certificate();
        let key = self.folder.join("key.pem");
        if !certificate.exists() {
            let made = rcgen::generate_simple_self_signed([NAME.to_owned()])
                .map_err(|error| Error::new(ErrorKind::Io, format!("no certificate: {error}")))?;
            // Nobody but this user may read the key.
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&key)?;
            file.write_all(made.signing_key.serialize_pem().as_bytes())?;
            // The certificate is written last, as its presence says that both files are there.
            let unfinished = self.folder.join("certificate.new");
            fs::write(&unfinished, made.cert.pem())?;
            fs::rename(unfinished, &certificate)?;
        }
        Tls::server(TlsIdentity::from_pem_files(certificate, key)?)
    }

    /// Returns TLS for a client that trusts the site's certificate.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if there is no certificate yet.
    pub fn client(&self) -> Result<Tls, Error> {
        Tls::client(NAME, Trust::ca_file(self.certificate())?)
    }

    fn certificate(&self) -> PathBuf {
        self.folder.join("certificate.pem")
    }
}
