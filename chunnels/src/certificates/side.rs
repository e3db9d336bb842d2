//! The configuration of `rustls` for one end, which all its connections share.

use super::accepted::AcceptedChains;
use super::description::described;
#[cfg(feature = "tls")]
use super::handshakes::HandshakeCount;
use super::own_keys::OwnKeys;
use super::peer_expiry::PeerWarnings;
use super::verifier::Verifier;
use super::{TlsIdentity, Trust, invalid, provider};
use bertha_core::{Addr, CertificateChain, Error, ErrorKind, PeerIdentity};
use parking_lot::Mutex;
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::ring::Ticketer;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, KeyLogFile, ServerConfig};
use std::fmt;
use std::sync::Arc;

/// The name of the protocol in TLS (ALPN, RFC 7301), unless the application chooses another.
const PROTOCOL: &str = "bertha/3";

/// Number of sessions that a client keeps: the sessions of its last connections to its server name.
const SESSIONS: usize = 8;

/// The TLS configuration of an end. Clones share configuration and sessions.
#[derive(Clone)]
pub(crate) struct Side {
    shared: Arc<SideShared>,
}

struct SideShared {
    settings: SideSettings,
    /// The configuration. It is built by the first connection, and again after the identity was reloaded.
    /// Locked for a copy, and while it is built.
    built: Mutex<Option<Built>>,
    peer_warnings: PeerWarnings,
    #[cfg(feature = "tls")]
    handshakes: HandshakeCount,
}

/// The choices of the application.
#[derive(Debug, Clone)]
struct SideSettings {
    role: RoleInTls,
    /// The identities of this end. A server shows the identity that has the name that the client wants, else the
    /// first.
    identities: Vec<TlsIdentity>,
    /// The accepted proofs of the other end; `None` at a server that asks for none.
    trust: Option<Trust>,
    protocol: Arc<str>,
    logs_keys: bool,
}

/// The role of an end in the handshake.
#[derive(Debug, Clone)]
enum RoleInTls {
    /// A client, which expects a server of this name.
    Client(ServerName<'static>),
    Server,
}

/// A configuration, and the identities that it contains.
#[derive(Clone)]
struct Built {
    keys: Vec<Arc<CertifiedKey>>,
    verifier: Option<Arc<Verifier>>,
    /// The chains that the configuration's verifier has accepted.
    accepted: Arc<AcceptedChains>,
    config: Config,
}

/// The configuration of an end.
#[derive(Clone)]
pub(crate) enum Config {
    /// The configuration for connections to the server of this name.
    Client(Arc<ClientConfig>, ServerName<'static>),
    Server(Arc<ServerConfig>),
}

impl Side {
    /// Makes the configuration of a client that expects a server of this name (DNS or IP address).
    pub(crate) fn client(name: &str, trust: Trust) -> Result<Self, Error> {
        let name = ServerName::try_from(name.to_owned())
            .map_err(|error| invalid(&format!("{name:?} is neither a DNS name nor an IP address"), error))?;
        Self::of(RoleInTls::Client(name), Vec::new(), Some(trust))
    }

    /// Makes the configuration of a server that does not ask its clients for an identity.
    pub(crate) fn server(identity: TlsIdentity) -> Result<Self, Error> {
        Self::of(RoleInTls::Server, vec![identity], None)
    }

    /// Returns a copy without sessions that shows this identity.
    pub(crate) fn with_identity(&self, identity: TlsIdentity) -> Self {
        Self::new(SideSettings { identities: vec![identity], ..self.shared.settings.clone() })
    }

    /// Returns a copy without sessions that shows this identity to clients that want one of its names.
    pub(crate) fn with_further_identity(&self, identity: TlsIdentity) -> Self {
        let mut settings = self.shared.settings.clone();
        settings.identities.push(identity);
        Self::new(settings)
    }

    /// Returns a copy without sessions that has this trust.
    pub(crate) fn with_trust(&self, trust: Trust) -> Self {
        Self::new(SideSettings { trust: Some(trust), ..self.shared.settings.clone() })
    }

    /// Returns a copy without sessions that names this protocol in the place of [`PROTOCOL`].
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the name is empty, or longer than 255 bytes.
    pub(crate) fn with_protocol(&self, protocol: &str) -> Result<Self, Error> {
        if !(1..=255).contains(&protocol.len()) {
            let what =
                format!("the name of a protocol has 1 to 255 bytes in TLS, and not {}", protocol.len());
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        Ok(Self::new(SideSettings { protocol: protocol.into(), ..self.shared.settings.clone() }))
    }

    /// Returns a copy without sessions whose secrets go to the file that `SSLKEYLOGFILE` names.
    pub(crate) fn with_key_log(&self) -> Self {
        Self::new(SideSettings { logs_keys: true, ..self.shared.settings.clone() })
    }

    fn of(role: RoleInTls, identities: Vec<TlsIdentity>, trust: Option<Trust>) -> Result<Self, Error> {
        let protocol = PROTOCOL.into();
        let side = Self::new(SideSettings { role, identities, trust, protocol, logs_keys: false });
        side.config()?;
        Ok(side)
    }

    fn new(settings: SideSettings) -> Self {
        Self {
            shared: Arc::new(SideShared {
                settings,
                built: Mutex::new(None),
                peer_warnings: PeerWarnings::default(),
                #[cfg(feature = "tls")]
                handshakes: HandshakeCount::default(),
            }),
        }
    }

    /// Returns a copy that names these protocols in the place of its own.
    #[cfg(test)]
    pub(crate) fn speaking(&self, protocols: &[&[u8]]) -> Self {
        let mut built = self.built().unwrap();
        built.config.name_protocols(protocols.iter().map(|protocol| protocol.to_vec()).collect());
        let other = Self::new(self.shared.settings.clone());
        *other.shared.built.lock() = Some(built);
        other
    }

    /// The handshakes of all connections that share this configuration.
    #[cfg(feature = "tls")]
    pub(crate) fn handshakes(&self) -> &HandshakeCount {
        &self.shared.handshakes
    }

    pub(crate) fn is_client(&self) -> bool {
        matches!(self.shared.settings.role, RoleInTls::Client(_))
    }

    /// Returns the name of the protocol that both ends have to name.
    pub(crate) fn protocol(&self) -> &str {
        &self.shared.settings.protocol
    }

    /// Returns the error for an end that has named no protocol.
    pub(crate) fn no_protocol(&self) -> Error {
        let protocol = self.protocol();
        let what =
            format!("the other end did not confirm the protocol {protocol} (ALPN), so it speaks another");
        Error::new(ErrorKind::Refused, what)
    }

    /// Returns true if the other end has to prove an identity.
    pub(crate) fn identifies_peer(&self) -> bool {
        self.shared.settings.trust.is_some()
    }

    /// Returns the name of the other end's role, for texts.
    pub(super) fn other(&self) -> &'static str {
        if self.is_client() { "server" } else { "client" }
    }

    /// Returns the certificate or raw public key of this end, if it has a single identity.
    pub(super) fn own_proof(&self) -> Option<CertificateDer<'static>> {
        let [identity] = &self.shared.settings.identities[..] else { return None };
        identity.current().cert.first().cloned()
    }

    /// Returns the secret that a server's identity gives for other keys than those of TLS.
    #[cfg(feature = "quic")]
    pub(crate) fn secret(&self) -> Option<ring::hkdf::Prk> {
        let identity = self.shared.settings.identities.first().filter(|_| !self.is_client())?;
        Some(identity.secret())
    }

    /// Returns the configuration of connections that begin now.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the configuration can't be used.
    pub(crate) fn config(&self) -> Result<Config, Error> {
        let config = self.built()?.config;
        self.shared.settings.identities.iter().for_each(TlsIdentity::warn_of_expiry);
        Ok(config)
    }

    /// Checks the proof that the other end gave in an earlier connection whose session was resumed, since
    /// `rustls` does not.
    ///
    /// # Errors
    /// The errors of a handshake.
    pub(crate) fn check_again(&self, chain: &[CertificateDer<'_>]) -> Result<(), rustls::Error> {
        let built = self.built().map_err(|error| rustls::Error::General(error.to_string()))?;
        let (Some(verifier), [first, rest @ ..]) = (built.verifier, chain) else {
            return Err(rustls::Error::NoCertificatesPresented);
        };
        let name = match &self.shared.settings.role {
            RoleInTls::Client(name) => Some(name),
            RoleInTls::Server => None,
        };
        let now = UnixTime::now();
        if built.accepted.are_still_accepted(chain, now) {
            return Ok(());
        }
        verifier.check(first, rest, name, now)?;
        built.accepted.remember(chain);
        Ok(())
    }

    /// Returns the identity of the other end, from the certificates that a verified handshake has shown; a
    /// raw public key takes the place of the first certificate.
    pub(crate) fn peer(&self, shown: &[CertificateDer<'_>]) -> Option<PeerIdentity> {
        let first = shown.first()?;
        Some(match self.shared.settings.trust.as_ref()?.is_in_raw_keys() {
            true => PeerIdentity::RawPublicKey(first.as_ref().into()),
            false => {
                let chain: Vec<_> = shown.iter().map(|shown| shown.to_vec()).collect();
                PeerIdentity::Certificates(CertificateChain::new(chain, described))
            }
        })
    }

    /// Warns if the certificates that the other end has proven expire soon, seldom.
    pub(crate) fn warn_of_peer(&self, shown: &[CertificateDer<'_>], peer: &Addr) {
        if self.identifies_peer() {
            self.shared.peer_warnings.consider(shown, peer, UnixTime::now());
        }
    }

    fn built(&self) -> Result<Built, Error> {
        let keys: Vec<_> = self.shared.settings.identities.iter().map(TlsIdentity::current).collect();
        let mut built = self.shared.built.lock();
        if let Some(built) = &*built
            && built.keys.iter().map(Arc::as_ptr).eq(keys.iter().map(Arc::as_ptr))
        {
            return Ok(built.clone());
        }
        let new = self.build(keys)?;
        *built = Some(new.clone());
        Ok(new)
    }

    fn build(&self, keys: Vec<Arc<CertifiedKey>>) -> Result<Built, Error> {
        let SideSettings { role, identities, trust, protocol, logs_keys } = &self.shared.settings;
        let verifier = trust.as_ref().map(Trust::verifier).transpose()?;
        let is_raw = identities.first().is_some_and(TlsIdentity::is_raw);
        if identities.iter().any(|identity| identity.is_raw() != is_raw) {
            let what = "a server shows raw public keys or certificates, and not both";
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        let mut config = match (role, &verifier) {
            (RoleInTls::Client(name), Some(verifier)) => {
                let config = client(verifier.clone(), keys.first().cloned(), is_raw)?;
                Config::Client(Arc::new(config), name.clone())
            }
            (RoleInTls::Server, verifier) if !keys.is_empty() => {
                let keys = OwnKeys::new(keys.clone(), is_raw);
                Config::Server(Arc::new(server(verifier.clone(), keys)?))
            }
            _ => {
                let what = "a client needs to trust something, and a server needs an identity";
                return Err(Error::new(ErrorKind::Invalid, what));
            }
        };
        config.name_protocols(vec![protocol.as_bytes().to_vec()]);
        if *logs_keys {
            config.log_keys();
        }
        Ok(Built { keys, verifier, accepted: Arc::default(), config })
    }
}

impl Config {
    fn name_protocols(&mut self, protocols: Vec<Vec<u8>>) {
        match self {
            Self::Client(config, _) => Arc::make_mut(config).alpn_protocols = protocols,
            Self::Server(config) => Arc::make_mut(config).alpn_protocols = protocols,
        }
    }

    /// Appends the secrets of each connection to the file that `SSLKEYLOGFILE` names, if the variable is set.
    fn log_keys(&mut self) {
        let log = Arc::new(KeyLogFile::new());
        match self {
            Self::Client(config, _) => Arc::make_mut(config).key_log = log,
            Self::Server(config) => Arc::make_mut(config).key_log = log,
        }
    }
}

/// Shows the role, for texts.
impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_client() { "client" } else { "server" })
    }
}

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.settings.fmt(f)
    }
}

fn client(
    verifier: Arc<Verifier>,
    key: Option<Arc<CertifiedKey>>,
    is_raw: bool,
) -> Result<ClientConfig, Error> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| invalid("this build has no TLS 1.3", error))?;
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = match key {
        None => builder.with_no_client_auth(),
        Some(key) if is_raw => {
            builder.with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(key)))
        }
        Some(key) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(key))),
    };
    // The sessions have a store of their own, so that no other trust and no other name resumes them.
    config.resumption = Resumption::in_memory_sessions(SESSIONS);
    Ok(config)
}

fn server(verifier: Option<Arc<Verifier>>, keys: OwnKeys) -> Result<ServerConfig, Error> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| invalid("this build has no TLS 1.3", error))?;
    let builder = match verifier {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(Arc::new(keys));
    // Tickets are encrypted with a key of this configuration, which changes every six hours; the server keeps
    // no state for each client.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer =
        Ticketer::new().map_err(|error| invalid("the system gives no random numbers", error))?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> TlsIdentity {
        let made = rcgen::generate_simple_self_signed(["store.example".to_owned()]).unwrap();
        TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap()
    }

    fn server_config(side: &Side) -> Arc<ServerConfig> {
        match side.config().unwrap() {
            Config::Server(config) => config,
            Config::Client(..) => panic!("a client"),
        }
    }

    #[test]
    fn connections_share_a_configuration_until_the_identity_changes() {
        let [certificate, key] = ["certificate.pem", "key.pem"];
        let folder = std::env::temp_dir().join(format!("bertha-side-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (certificate, key) = (folder.join(certificate), folder.join(key));
        let write = || {
            let made = rcgen::generate_simple_self_signed(["store.example".to_owned()]).unwrap();
            std::fs::write(&certificate, made.cert.pem()).unwrap();
            std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        };
        write();
        let identity = TlsIdentity::from_pem_files(&certificate, &key).unwrap();
        let side = Side::server(identity.clone()).unwrap();
        let first = server_config(&side);
        assert!(Arc::ptr_eq(&first, &server_config(&side.clone())), "nothing is parsed again");
        // A reload that fails changes nothing.
        std::fs::write(&key, "no key").unwrap();
        let error = identity.reload().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("key.pem"), "{error}");
        assert!(Arc::ptr_eq(&first, &server_config(&side)));
        write();
        identity.reload().unwrap();
        assert!(!Arc::ptr_eq(&first, &server_config(&side)));
        std::fs::remove_dir_all(&folder).unwrap();
        let error = identity.reload().unwrap_err();
        assert!(
            error.to_string().contains("cannot read") && error.to_string().contains("certificate.pem"),
            "{error}"
        );
    }

    #[test]
    fn what_can_not_be_used_is_invalid_and_says_why() {
        let said = |error: Error, text: &str| {
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(text), "{error}");
        };
        let [one, other] = [(); 2].map(|()| rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap());
        said(
            TlsIdentity::from_pem(one.cert.pem(), other.signing_key.serialize_pem()).unwrap_err(),
            "can't be used for the certificate",
        );
        said(TlsIdentity::from_pem("", one.signing_key.serialize_pem()).unwrap_err(), "no certificate in");
        said(TlsIdentity::from_pem(one.cert.pem(), one.cert.pem()).unwrap_err(), "no private key in");
        said(TlsIdentity::raw_public_key([1, 2, 3]).unwrap_err(), "private key");
        said(identity().reload().unwrap_err(), "from_pem_files");
        said(Trust::ca_pem("").unwrap_err(), "no certificate in");
        said(Trust::raw_public_keys([[1, 2]]).revoked_by("").unwrap_err(), "raw public keys");
        let trust = Trust::ca_pem(one.cert.pem()).unwrap();
        said(trust.revoked_by(one.cert.pem()).unwrap_err(), "no revocation list");
        said(Side::client("no name", trust).unwrap_err(), "neither a DNS name");
    }
}
