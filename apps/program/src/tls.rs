//! The options `--tls-cert`, `--tls-key`, `--tls-ca`, `--tls-name` and `--require-encryption` of the programs.
//!
//! | | server | client |
//! |---|---|---|
//! | `--tls-cert`, `--tls-key` | its identity; TLS is offered | its identity, for servers that ask for one |
//! | `--tls-ca` | clients have to show a certificate of these authorities | TLS is offered, to servers with a certificate of these authorities |
//! | `--tls-name` | | the name in the server's certificate |
//! | `--require-encryption` | plaintext is refused | plaintext is refused |
//!
//! Without `--require-encryption` the two ends may still agree on plaintext, and an attacker between them can
//! bring this about.

use crate::exposure;
use bertha::chunnels::{Checksum, Ordered, Reliable, Tls, TlsIdentity, Trust};
use bertha::guarantee::{Encrypted, Set};
use bertha::prelude::*;
use bertha::{BoxedStack, Buf, DefaultDatapath, Error, ErrorKind, Settings};
use std::path::{Path, PathBuf};

/// The options of a server.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Encryption")]
pub struct ServerOptions {
    #[command(flatten)]
    identity: Identity,
    /// Accepts only clients with a certificate of these authorities, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_ca: Option<PathBuf>,
    /// Refuses clients that do not encrypt
    #[arg(long, requires = "tls_cert")]
    require_encryption: bool,
}

/// The options of a client.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Encryption")]
pub struct ClientOptions {
    /// The authorities that may have signed the server's certificate, in PEM
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The name in the server's certificate, if it is not the server's address
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    tls_name: Option<String>,
    #[command(flatten)]
    identity: Identity,
    /// Refuses servers that do not encrypt
    #[arg(long)]
    require_encryption: bool,
}

/// The options of a program whose instances connect to each other, and demand TLS of each other.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Encryption")]
pub struct PeerOptions {
    #[command(flatten)]
    identity: Identity,
    /// The authorities that may have signed the certificates of the others, in PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "tls_name"])]
    tls_ca: Option<PathBuf>,
    /// The name in the certificates of the others
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    tls_name: Option<String>,
}

#[derive(Clone, Debug, Default, clap::Args)]
struct Identity {
    /// The certificates that this end shows, its own first, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of this end's certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// The use of TLS that the options require.
#[derive(Clone, Debug)]
pub struct Encryption {
    tls: Tls,
    is_required: bool,
}

/// TLS over the datapath of this build, type-erased: options choose it at run time, at the price of an
/// allocation for each burst.
pub type Wire = BoxedStack<DefaultDatapath, Buf>;

impl ServerOptions {
    /// Returns TLS as a server; `None` without `--tls-cert`.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid), which names the file, if a file can't be used; and errors of reading
    /// it.
    pub fn encryption(&self) -> Result<Option<Encryption>, Error> {
        let Some(identity) = self.identity.read()? else { return Ok(None) };
        let mut tls = Tls::server(identity)?;
        if let Some(authorities) = &self.tls_ca {
            tls = tls.require_clients(Trust::ca_file(authorities)?);
        }
        Ok(Some(Encryption { tls, is_required: self.require_encryption }))
    }
}

impl ClientOptions {
    /// Returns TLS as a client of the server at `host`; `None` without `--tls-ca`.
    ///
    /// # Errors
    /// Errors of [`ServerOptions::encryption`]; [`Invalid`](ErrorKind::Invalid) if encryption is required and
    /// there are no authorities by which to recognise the server.
    pub fn encryption(&self, host: impl ToString) -> Result<Option<Encryption>, Error> {
        let Some(authorities) = &self.tls_ca else {
            if self.require_encryption {
                let what = "--require-encryption needs --tls-ca: without an authority the server can't be recognised";
                return Err(Error::new(ErrorKind::Invalid, what));
            }
            return Ok(None);
        };
        let name = self.tls_name.clone().unwrap_or_else(|| host.to_string());
        let mut tls = Tls::client(&name, Trust::ca_file(authorities)?)?;
        if let Some(identity) = self.identity.read()? {
            tls = tls.identity(identity);
        }
        Ok(Some(Encryption { tls, is_required: self.require_encryption }))
    }
}

impl PeerOptions {
    /// Returns TLS as a server and as a client; `None` without the options.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid), which names the file, if a file can't be used, and if there is a certificate and no authority;
    /// and errors of reading files.
    pub fn tls(&self) -> Result<Option<(Tls, Tls)>, Error> {
        match (self.identity.read()?, &self.tls_ca, &self.tls_name) {
            (Some(identity), Some(authorities), Some(name)) => {
                let trust = Trust::ca_file(authorities)?;
                let server = Tls::server(identity.clone())?.require_clients(trust.clone());
                Ok(Some((server, Tls::client(name, trust)?.identity(identity))))
            }
            (None, None, None) => Ok(None),
            _ => Err(Error::new(
                ErrorKind::Invalid,
                "--tls-cert needs --tls-ca, by which others are recognised",
            )),
        }
    }
}

impl Identity {
    fn read(&self) -> Result<Option<TlsIdentity>, Error> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(certificates), Some(key)) => identity(certificates, key).map(Some),
            _ => Ok(None),
        }
    }
}

/// Reads an identity from files in PEM, and warns in the log if others can read the key.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid), which names the file, if a file can't be used; and errors of reading it.
pub fn identity(certificates: &Path, key: &Path) -> Result<TlsIdentity, Error> {
    exposure::warn_of_file(key);
    TlsIdentity::from_pem_files(certificates, key)
}

impl Encryption {
    /// Returns the Chunnel, for a stack of the caller's own.
    pub fn tls(&self) -> Tls {
        self.tls.clone()
    }

    /// Returns true if plaintext is refused.
    pub fn is_required(&self) -> bool {
        self.is_required
    }

    /// Returns the lower part of a stack over datagrams: TLS, or, unless encryption is required, either TLS
    /// or a [`Checksum`]. So damaged messages are lost in either case.
    pub fn wire(&self) -> Wire {
        let datapath = bertha::datapath();
        let tls = make_stack!(self.tls(), Ordered::new(), Reliable::new());
        match self.is_required {
            true => tls.boxed(&datapath),
            false => make_stack!(select!(tls, Checksum::new())).boxed(&datapath),
        }
    }

    /// Returns the settings with a floor, if encryption is required.
    pub fn settings(&self, mut settings: Settings) -> Settings {
        if self.is_required {
            settings.floor = settings.floor | Set::of::<Encrypted>();
        }
        settings
    }
}
