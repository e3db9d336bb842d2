//! The keys, certificates and services of Chunnels.

use crate::{Layer, Stack, Unknown};
use bertha::ccp::Choice;
use bertha::chunnels::reliable::Qlog;
use bertha::chunnels::{Noise, Reliable, Tls, TlsIdentity, Trust};
use bertha::core::setters;
use bertha::local::{Directory, Registration};
use bertha::{Addr, Error, ErrorKind};
use std::fs;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

/// Files with keys and certificates, the congestion control, the folder of qlogs and the directory, used only if the stack has
/// a Chunnel that needs them. Each has a name as well, for [`set`](Self::set).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Keys {
    /// The shared key of `noise`, in 64 hexadecimal digits.
    pub key_file: Option<PathBuf>,
    /// The certificates of this end for `tls` and `quic`, its own first, in PEM.
    pub tls_cert: Option<PathBuf>,
    /// The private key of its certificate, in PEM.
    pub tls_key: Option<PathBuf>,
    /// The authorities that may have signed the peer's certificate, in PEM. A server with authorities refuses
    /// clients without a certificate.
    pub tls_ca: Option<PathBuf>,
    /// Name in the server's certificate, if it is not the host's.
    pub tls_name: Option<String>,
    /// The congestion control of `reliable` at this end, if it is not BBR.
    pub congestion: Option<Choice>,
    /// The folder for qlogs of `reliable`.
    pub qlog: Option<PathBuf>,
    /// This machine's directory for `maybe-local`. Clones of it are one client of the directory.
    pub directory: Directory,
    /// The text in front of the name of a setting in an error: `--` for a command line.
    pub prefix: &'static str,
}

setters!(Keys {
    key_file: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls_ca: Option<PathBuf>,
    tls_name: Option<String>,
    congestion: Option<Choice>,
    qlog: Option<PathBuf>,
    directory: Directory,
    prefix: &'static str,
});

impl Default for Keys {
    fn default() -> Self {
        Self {
            key_file: None,
            tls_cert: None,
            tls_key: None,
            tls_ca: None,
            tls_name: None,
            congestion: None,
            qlog: None,
            directory: Directory::at(Self::DIRECTORY),
            prefix: "",
        }
    }
}

/// This end of a connection.
#[derive(Debug, Clone, Copy)]
pub enum Side<'a> {
    /// The end that connects.
    Client {
        /// Name of the server.
        host: &'a str,
    },
    /// The end that listens.
    Server,
}

impl Keys {
    /// The socket of the directory, unless another one is set.
    pub const DIRECTORY: &str = "/run/bertha/directory.sock";

    /// The names that [`set`](Self::set) takes.
    pub const NAMES: &[&str] =
        &["key-file", "tls-cert", "tls-key", "tls-ca", "tls-name", "congestion", "qlog", "directory"];

    /// Sets what has this name. An empty value stands for the default.
    ///
    /// # Errors
    /// [`Unknown`] if nothing has this name, with the names that there are, or if it does not take the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Unknown> {
        let given = (!value.is_empty()).then_some(value);
        let path = given.map(PathBuf::from);
        match name {
            "key-file" => self.key_file = path,
            "tls-cert" => self.tls_cert = path,
            "tls-key" => self.tls_key = path,
            "tls-ca" => self.tls_ca = path,
            "tls-name" => self.tls_name = given.map(str::to_owned),
            "congestion" => {
                let congestion = given.map(str::parse).transpose();
                self.congestion = congestion.map_err(|error: Error| Unknown::new(error.to_string()))?;
            }
            "qlog" => self.qlog = path,
            "directory" => self.directory = Directory::at(given.unwrap_or(Self::DIRECTORY)),
            _ => {
                let known = Self::NAMES.join(", ");
                return Err(Unknown::new(format!("`{name}` is no setting of keys, which are {known}")));
            }
        }
        Ok(())
    }

    /// Enters a server at `addr` in the directory under this name, or warns in the log that the directory does
    /// not take it, if the stack looks for peers there. Dropping the registration takes the entry back.
    pub async fn register(&self, stack: &Stack, name: &str, addr: &Addr) -> Option<Registration> {
        match stack.has(&Layer::MaybeLocal) {
            true => Some(self.directory.register(name, from_ref(addr)).await),
            false => None,
        }
    }

    /// Iterates over the files with secrets that a stack reads when it is built, so that a program can warn of files that
    /// others may read.
    pub fn secret_files(&self, stack: &Stack) -> impl Iterator<Item = &Path> {
        let encrypts = |layer: &Layer| stack.has(layer);
        #[cfg(feature = "quic")]
        let has_certificate = encrypts(&Layer::Tls) || encrypts(&Layer::Quic);
        #[cfg(not(feature = "quic"))]
        let has_certificate = encrypts(&Layer::Tls);
        let key = self.tls_key.as_deref().filter(|_| has_certificate && self.tls_cert.is_some());
        let shared = self.key_file.as_deref().filter(|_| encrypts(&Layer::Noise));
        key.into_iter().chain(shared)
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
                let tls =
                    Tls::server(identity.ok_or_else(|| self.missing("tls", &["tls-cert", "tls-key"]))?)?;
                Ok(trust.into_iter().fold(tls, Tls::require_clients))
            }
            Side::Client { host } => {
                let trust = trust.ok_or_else(|| self.missing("tls", &["tls-ca"]))?;
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
                    Quic::server(identity.ok_or_else(|| self.missing("quic", &["tls-cert", "tls-key"]))?)?;
                Ok(trust.into_iter().fold(quic, Quic::require_clients))
            }
            Side::Client { host } => {
                let trust = trust.ok_or_else(|| self.missing("quic", &["tls-ca"]))?;
                let quic = Quic::client(self.tls_name.as_deref().unwrap_or(host), trust)?;
                Ok(identity.into_iter().fold(quic, Quic::identity))
            }
        }
    }

    /// # Errors
    /// Errors of [`tls`](Self::tls).
    pub(super) fn noise(&self) -> Result<Noise, Error> {
        let file = self.key_file.as_deref().ok_or_else(|| self.missing("noise", &["key-file"]))?;
        Ok(Noise::shared(&shared_key(file)?))
    }

    fn identity(&self) -> Result<Option<TlsIdentity>, Error> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(certificates), Some(key)) => TlsIdentity::from_pem_files(certificates, key).map(Some),
            (None, None) => Ok(None),
            _ => {
                let prefix = self.prefix;
                let what = format!("{prefix}tls-cert and {prefix}tls-key need each other");
                Err(Error::new(ErrorKind::Invalid, what))
            }
        }
    }

    fn trust(&self) -> Result<Option<Trust>, Error> {
        self.tls_ca.as_ref().map(Trust::ca_file).transpose()
    }

    fn missing(&self, chunnel: &str, names: &[&str]) -> Error {
        let names: Vec<_> = names.iter().map(|name| format!("{}{name}", self.prefix)).collect();
        let what = format!("`{chunnel}` in the stack needs {}", names.join(" and "));
        Error::new(ErrorKind::Invalid, what)
    }
}

fn shared_key(file: &Path) -> Result<[u8; 32], Error> {
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
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    #[test]
    fn each_setting_is_set_by_its_name() {
        let mut keys = Keys::default();
        for name in Keys::NAMES {
            let before = format!("{keys:?}");
            keys.set(name, if *name == "congestion" { "cubic" } else { "/a" }).unwrap();
            assert_ne!(format!("{keys:?}"), before, "{name}");
        }
        assert_eq!(keys.tls_ca.as_deref(), Some(Path::new("/a")));
        for name in Keys::NAMES {
            keys.set(name, "").unwrap();
        }
        assert_eq!(format!("{keys:?}"), format!("{:?}", Keys::default()));
        let refusal = keys.set("tls-cart", "a").unwrap_err().to_string();
        assert!(refusal.contains("key-file, tls-cert, tls-key"), "{refusal}");
        assert!(keys.set("congestion", "cubik").is_err());
    }

    #[test]
    fn what_a_stack_needs_is_told_as_the_user_writes_it() {
        let tls = |keys: &Keys| keys.tls(Side::Server).map(drop).unwrap_err().to_string();
        assert!(tls(&Keys::default()).contains("needs tls-cert and tls-key"));
        assert!(tls(&Keys::default().prefix("--")).contains("needs --tls-cert and --tls-key"));
        assert!(tls(&Keys::default().tls_key(Some("/key".into()))).contains("need each other"));
    }

    #[test]
    fn secrets_are_the_files_that_the_stack_reads() {
        let mut keys = Keys::default();
        for name in ["key-file", "tls-cert", "tls-key", "tls-ca"] {
            keys.set(name, name).unwrap();
        }
        let files = |keys: &Keys, stack: &str| -> Vec<_> {
            keys.secret_files(&stack.parse().unwrap()).map(Path::to_owned).collect()
        };
        assert_eq!(files(&keys, "nothing|tls,noise"), [Path::new("tls-key"), Path::new("key-file")]);
        assert_eq!(files(&keys, "ordered"), [""; 0].map(PathBuf::from));
        keys.set("tls-cert", "").unwrap();
        assert_eq!(files(&keys, "tls"), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn a_key_is_sixty_four_hexadecimal_digits() {
        assert_eq!(key_of(&"0f".repeat(32)), Some([15; 32]));
        assert_eq!(key_of(&"F0".repeat(32)), Some([240; 32]));
        for text in ["0f".repeat(31), "0g".repeat(32), "+f".repeat(32), String::new()] {
            assert_eq!(key_of(&text), None, "{text}");
        }
    }
}
