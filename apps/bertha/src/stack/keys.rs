//! The keys and certificates of the Chunnels that encrypt.

use bertha::ccp::Choice;
use bertha::chunnels::reliable::Qlog;
use bertha::chunnels::{Noise, Reliable, Tls, TlsIdentity, Trust};
use bertha::local::{Directory, Registration};
use bertha::{Addr, Error, ErrorKind};
use bertha_program::exposure;
use clap::Args;
use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

/// Files with keys and certificates, the congestion control, the folder of qlogs and the directory, used only if the stack has a Chunnel that needs them.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Keys and services of Chunnels")]
pub(crate) struct Keys {
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
    #[arg(long, value_name = "FILE", default_value = "/run/bertha/directory.sock", value_parser = directory)]
    pub(super) directory: Directory,
}

/// This end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Side<'a> {
    Client {
        /// Name of the server.
        host: &'a str,
    },
    Server,
}

/// Clones of the directory are one client of it, so the option is read once.
fn directory(path: &str) -> Result<Directory, Infallible> {
    Ok(Directory::at(path))
}

impl Keys {
    /// Enters a server at `addr` in the directory, or warns that the directory does not take it.
    pub(crate) async fn register(&self, addr: &Addr) -> Registration {
        self.directory.register(&format!("bertha-perf-{}", std::process::id()), from_ref(addr)).await
    }

    pub(crate) fn congestion(&self) -> Option<&Choice> {
        self.congestion.as_ref()
    }

    /// Returns the Chunnel with this congestion control, or else with that of the options.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the folder of qlogs is no folder or can't be made;
    /// [`Io`](ErrorKind::Io) if there can be no socket to an agent.
    pub(super) fn reliable(&self, congestion: Option<&Choice>) -> Result<Reliable, Error> {
        let reliable = match congestion.or(self.congestion.as_ref()) {
            Some(congestion) => Reliable::new().with(congestion.open()?),
            None => Reliable::new(),
        };
        Ok(match &self.qlog {
            Some(folder) => reliable.qlog(Qlog::folder(folder)?),
            None => reliable,
        })
    }

    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if files are missing or have the wrong content; and errors of reading
    /// them.
    pub(super) fn tls(&self, side: Side<'_>) -> Result<Tls, Error> {
        let identity = self.identity()?;
        let trust = self.trust()?;
        match side {
            Side::Server => {
                let tls = Tls::server(identity.ok_or_else(|| missing("tls", "--tls-cert and --tls-key"))?)?;
                Ok(trust.into_iter().fold(tls, Tls::require_clients))
            }
            Side::Client { host } => {
                let trust = trust.ok_or_else(|| missing("tls", "--tls-ca"))?;
                let tls = Tls::client(self.tls_name.as_deref().unwrap_or(host), trust)?;
                Ok(identity.into_iter().fold(tls, Tls::identity))
            }
        }
    }

    /// # Errors
    /// Errors of [`tls`](Self::tls).
    #[cfg(feature = "quic")]
    pub(super) fn quic(&self, side: Side<'_>) -> Result<bertha::chunnels::Quic, Error> {
        use bertha::chunnels::Quic;
        let identity = self.identity()?;
        let trust = self.trust()?;
        match side {
            Side::Server => {
                let quic =
                    Quic::server(identity.ok_or_else(|| missing("quic", "--tls-cert and --tls-key"))?)?;
                Ok(trust.into_iter().fold(quic, Quic::require_clients))
            }
            Side::Client { host } => {
                let trust = trust.ok_or_else(|| missing("quic", "--tls-ca"))?;
                let quic = Quic::client(self.tls_name.as_deref().unwrap_or(host), trust)?;
                Ok(identity.into_iter().fold(quic, Quic::identity))
            }
        }
    }

    /// # Errors
    /// Errors of [`tls`](Self::tls).
    pub(super) fn noise(&self) -> Result<Noise, Error> {
        let file = self.key_file.as_deref().ok_or_else(|| missing("noise", "--key-file"))?;
        Ok(Noise::shared(&shared_key(file)?))
    }

    fn identity(&self) -> Result<Option<TlsIdentity>, Error> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(certificates), Some(key)) => {
                exposure::warn_of_file(key);
                TlsIdentity::from_pem_files(certificates, key).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn trust(&self) -> Result<Option<Trust>, Error> {
        self.tls_ca.as_ref().map(Trust::ca_file).transpose()
    }
}

fn missing(chunnel: &str, options: &str) -> Error {
    Error::new(ErrorKind::Invalid, format!("`{chunnel}` in the stack needs {options}"))
}

fn shared_key(file: &Path) -> Result<[u8; 32], Error> {
    exposure::warn_of_file(file);
    let text = fs::read_to_string(file)
        .map_err(|error| Error::new(ErrorKind::Invalid, format!("{}: {error}", file.display())))?;
    key_of(text.trim()).ok_or_else(|| {
        Error::new(ErrorKind::Invalid, format!("{} does not hold 64 hexadecimal digits", file.display()))
    })
}

fn key_of(digits: &str) -> Option<[u8; 32]> {
    if digits.len() != 64 {
        return None;
    }
    let mut key = [0; 32];
    for (byte, pair) in key.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
        *byte = u8::try_from(high? << 4 | low?).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sixty_four_hexadecimal_digits() {
        assert_eq!(key_of(&"0f".repeat(32)), Some([15; 32]));
        assert_eq!(key_of(&"F0".repeat(32)), Some([240; 32]));
        for text in ["0f".repeat(31), "0g".repeat(32), "+f".repeat(32), String::new()] {
            assert_eq!(key_of(&text), None, "{text}");
        }
    }
}
