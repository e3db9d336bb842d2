//! The configuration of `rustls` for one end, which all its connections share.

use super::accepted::AcceptedChains;
use super::description::described;
#[cfg(feature = "tls")]
use super::handshakes::HandshakeCount;
use super::peer_expiry::PeerWarnings;
use super::verifier::Verifier;
use super::{TlsIdentity, Trust, invalid, provider};
use bertha_core::{Addr, CertificateChain, Error, ErrorKind, PeerIdentity};
use parking_lot::Mutex;
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::ring::Ticketer;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ServerConfig};
use std::fmt;
use std::sync::Arc;

/// The name of the protocol in TLS (ALPN, RFC 7301).
pub(crate) const PROTOCOL: &[u8] = b"bertha/3";

/// Number of sessions that a client keeps: the sessions of its last connections to its server name.
const SESSIONS: usize = 8;

/// The TLS configuration of an end. Clones share configuration and sessions.
#[derive(Clone)]
pub(crate) struct Side {
    shared: Arc<SideShared>,
}

struct SideShared {
    role: RoleInTls,
    identity: Option<TlsIdentity>,
    /// The accepted proofs of the other end; `None` at a server that asks for none.
    trust: Option<Trust>,
    /// The configuration. It is built by the first connection, and again after the identity was reloaded.
    /// Locked for a copy, and while it is built.
    built: Mutex<Option<Built>>,
    peer_warnings: PeerWarnings,
    #[cfg(feature = "tls")]
    handshakes: HandshakeCount,
}

/// The role of an end in the handshake.
#[derive(Debug, Clone)]
enum RoleInTls {
    /// A client, which expects a server of this name.
    Client(ServerName<'static>),
    Server,
}

/// A configuration, and the identity that it contains.
#[derive(Clone)]
struct Built {
    key: Option<Arc<CertifiedKey>>,
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
        let side = Self::new(RoleInTls::Client(name), None, Some(trust));
        side.config()?;
        Ok(side)
    }

    /// Makes the configuration of a server that does not ask its clients for an identity.
    pub(crate) fn server(identity: TlsIdentity) -> Result<Self, Error> {
        let side = Self::new(RoleInTls::Server, Some(identity), None);
        side.config()?;
        Ok(side)
    }

    /// Returns a copy without sessions that shows this identity.
    pub(crate) fn with_identity(&self, identity: TlsIdentity) -> Self {
        Self::new(self.shared.role.clone(), Some(identity), self.shared.trust.clone())
    }

    /// Returns a copy without sessions that has this trust.
    pub(crate) fn with_trust(&self, trust: Trust) -> Self {
        Self::new(self.shared.role.clone(), self.shared.identity.clone(), Some(trust))
    }

    fn new(role: RoleInTls, identity: Option<TlsIdentity>, trust: Option<Trust>) -> Self {
        Self {
            shared: Arc::new(SideShared {
                role,
                identity,
                trust,
                built: Mutex::new(None),
                peer_warnings: PeerWarnings::default(),
                #[cfg(feature = "tls")]
                handshakes: HandshakeCount::default(),
            }),
        }
    }

    /// Returns a copy that names these protocols in the place of [`PROTOCOL`].
    #[cfg(test)]
    pub(crate) fn speaking(&self, protocols: &[&[u8]]) -> Self {
        let mut built = self.built().unwrap();
        let protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        match &mut built.config {
            Config::Client(config, _) => Arc::make_mut(config).alpn_protocols = protocols,
            Config::Server(config) => Arc::make_mut(config).alpn_protocols = protocols,
        }
        let SideShared { role, identity, trust, .. } = &*self.shared;
        let other = Self::new(role.clone(), identity.clone(), trust.clone());
        *other.shared.built.lock() = Some(built);
        other
    }

    /// The handshakes of all connections that share this configuration.
    #[cfg(feature = "tls")]
    pub(crate) fn handshakes(&self) -> &HandshakeCount {
        &self.shared.handshakes
    }

    pub(crate) fn is_client(&self) -> bool {
        matches!(self.shared.role, RoleInTls::Client(_))
    }

    /// Returns true if the other end has to prove an identity.
    pub(crate) fn identifies_peer(&self) -> bool {
        self.shared.trust.is_some()
    }

    /// Returns the name of the other end's role, for texts.
    pub(super) fn other(&self) -> &'static str {
        if self.is_client() { "server" } else { "client" }
    }

    /// Returns the certificate or raw public key of this end.
    pub(super) fn own_proof(&self) -> Option<CertificateDer<'static>> {
        self.shared.identity.as_ref()?.current().cert.first().cloned()
    }

    /// Returns the secret that a server's identity gives for other keys than those of TLS.
    #[cfg(feature = "quic")]
    pub(crate) fn secret(&self) -> Option<ring::hkdf::Prk> {
        let identity = self.shared.identity.as_ref().filter(|_| !self.is_client())?;
        Some(identity.secret())
    }

    /// Returns the configuration of connections that begin now.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the configuration can't be used.
    pub(crate) fn config(&self) -> Result<Config, Error> {
        let config = self.built()?.config;
        self.shared.identity.iter().for_each(TlsIdentity::warn_of_expiry);
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
        let name = match &self.shared.role {
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
        Some(match self.shared.trust.as_ref()?.is_in_raw_keys() {
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
        let key = self.shared.identity.as_ref().map(TlsIdentity::current);
        let mut built = self.shared.built.lock();
        if let Some(built) = &*built
            && built.key.as_ref().map(Arc::as_ptr) == key.as_ref().map(Arc::as_ptr)
        {
            return Ok(built.clone());
        }
        let new = self.build(key)?;
        *built = Some(new.clone());
        Ok(new)
    }

    fn build(&self, key: Option<Arc<CertifiedKey>>) -> Result<Built, Error> {
        let verifier = self.shared.trust.as_ref().map(Trust::verifier).transpose()?;
        let is_raw = self.shared.identity.as_ref().is_some_and(TlsIdentity::is_raw);
        let config = match (&self.shared.role, &verifier, &key) {
            (RoleInTls::Client(name), Some(verifier), key) => {
                let config = client(verifier.clone(), key.clone(), is_raw)?;
                Config::Client(Arc::new(config), name.clone())
            }
            (RoleInTls::Server, verifier, Some(key)) => {
                Config::Server(Arc::new(server(verifier.clone(), key.clone(), is_raw)?))
            }
            _ => {
                let what = "a client needs to trust something, and a server needs an identity";
                return Err(Error::new(ErrorKind::Invalid, what));
            }
        };
        Ok(Built { key, verifier, accepted: Arc::default(), config })
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
        let SideShared { role, identity, trust, .. } = &*self.shared;
        let mut shown = f.debug_struct("Side");
        shown.field("role", role).field("identity", identity).field("trust", trust).finish()
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
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // The sessions have a store of their own, so that no other trust and no other name resumes them.
    config.resumption = Resumption::in_memory_sessions(SESSIONS);
    Ok(config)
}

fn server(
    verifier: Option<Arc<Verifier>>,
    key: Arc<CertifiedKey>,
    is_raw: bool,
) -> Result<ServerConfig, Error> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| invalid("this build has no TLS 1.3", error))?;
    let builder = match verifier {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(Arc::new(OwnKey { key, is_raw }));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // Tickets are encrypted with a key of this configuration, which changes every six hours; the server keeps
    // no state for each client.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer =
        Ticketer::new().map_err(|error| invalid("the system gives no random numbers", error))?;
    Ok(config)
}

/// The identity of a server, for clients that name a protocol: `rustls` refuses clients that name another
/// protocol, but not clients that name none.
#[derive(Debug)]
struct OwnKey {
    key: Arc<CertifiedKey>,
    is_raw: bool,
}

impl ResolvesServerCert for OwnKey {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        hello.alpn().map(|_| self.key.clone())
    }

    fn only_raw_public_keys(&self) -> bool {
        self.is_raw
    }
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
