//! The options with the keys and services of Chunnels.

use bertha::ccp::Choice;
use bertha::local::Directory;
use bertha_named::Keys;
use clap::Args;
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;

/// The options of which [`Keys`] are made.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Keys and services of Chunnels")]
pub(crate) struct KeyOptions {
    /// The shared key of `noise`, in 64 hexadecimal digits.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The certificates of this end for `tls` and `quic`, its own first, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of its certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// The authorities that may have signed the peer's certificate, in PEM. A server with authorities refuses
    /// clients without a certificate.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Name in the server's certificate, if it is not the host's.
    #[arg(long, value_name = "NAME")]
    tls_name: Option<String>,
    /// The congestion control of `reliable` at this end: newreno, cubic, bbr (the default), or an agent: agent,
    /// agent:ALGORITHM, agent:SOCKET or agent:ALGORITHM@SOCKET, where SOCKET is a path, or shm: and a path.
    #[arg(long, value_name = "CONTROL")]
    congestion: Option<Choice>,
    /// The folder for qlogs of `reliable`: a file for each connection, with its packets, losses and windows.
    #[arg(long, value_name = "FOLDER")]
    qlog: Option<PathBuf>,
    /// The socket of this machine's directory for `maybe-local`; a server registers its address there.
    #[arg(long, value_name = "FILE", default_value = Keys::DIRECTORY, value_parser = directory)]
    directory: Directory,
}

/// Clones of the directory are one client of it, so the option is read once.
fn directory(path: &str) -> Result<Directory, Infallible> {
    Ok(Directory::at(path))
}

impl KeyOptions {
    /// Returns the congestion control of the options.
    pub(crate) fn congestion(&self) -> Option<&Choice> {
        self.congestion.as_ref()
    }

    /// Returns the names and values of the settings that were given, with whole paths, for another program that reads them.
    pub(crate) fn given(&self) -> io::Result<Vec<(&'static str, String)>> {
        let path = |path: &PathBuf| {
            let path = std::path::absolute(path)?.into_os_string();
            path.into_string().map_err(|_| io::Error::from(io::ErrorKind::InvalidFilename))
        };
        let paths = [
            ("key-file", &self.key_file),
            ("tls-cert", &self.tls_cert),
            ("tls-key", &self.tls_key),
            ("tls-ca", &self.tls_ca),
            ("qlog", &self.qlog),
        ];
        let mut given = Vec::new();
        for (name, value) in paths {
            if let Some(value) = value {
                given.push((name, path(value)?));
            }
        }
        given.extend(self.tls_name.iter().map(|name| ("tls-name", name.clone())));
        given.extend(self.congestion.iter().map(|choice| ("congestion", choice.to_string())));
        Ok(given)
    }

    pub(crate) fn keys(&self) -> Keys {
        Keys::default()
            .key_file(self.key_file.clone())
            .tls_cert(self.tls_cert.clone())
            .tls_key(self.tls_key.clone())
            .tls_ca(self.tls_ca.clone())
            .tls_name(self.tls_name.clone())
            .congestion(self.congestion.clone())
            .qlog(self.qlog.clone())
            .directory(self.directory.clone())
            .prefix("--")
    }
}
