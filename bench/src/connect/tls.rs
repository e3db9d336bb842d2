//! Clients that shake hands in TLS 1.3 over the kernel's TCP, with the handshake of an earlier connection or without.

use super::{Connect, MESSAGE, Message, Trial, echo, failed, since};
use crate::{Error, ErrorKind};
use bertha_chunnels::{Serialize, Tls, TlsIdentity, Trust};
use bertha_core::{Addr, Bottom, Connection, Stack, make_stack};
use bertha_datapath_kernel::Tcp;
use bertha_negotiation::{Negotiate, Settings};
use std::error::Error as StdError;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, HandshakeKind, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

const NAME: &str = "localhost";

type Layers = Stack<Serialize<Message>, Stack<Tls, Bottom>>;

type Outcome<T> = Result<T, Box<dyn StdError + Send + Sync>>;

/// A certificate that its own key has signed.
fn certificate() -> Result<rcgen::CertifiedKey<rcgen::KeyPair>, Error> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()]);
    made.map_err(Error::while_doing(ErrorKind::Socket, "making a certificate"))
}

/// Negotiates, and shakes hands by `Tls`.
pub(super) struct Client {
    server: Addr,
    trust: Trust,
    /// The Chunnel of all connections, whose sessions are resumed; a new one for each otherwise.
    resuming: Option<Tls>,
}

impl Client {
    pub(super) async fn new(is_resuming: bool) -> Result<Self, Error> {
        let made = certificate()?;
        let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem());
        let server = Tls::server(identity.map_err(failed)?).map_err(failed)?;
        let trust = Trust::ca_pem(made.cert.pem()).map_err(failed)?;
        let resuming =
            if is_resuming { Some(Tls::client(NAME, trust.clone()).map_err(failed)?) } else { None };
        Ok(Self { server: serve(make_stack!(Serialize::<Message>::new(), server)).await?, trust, resuming })
    }
}

/// Starts a server that echoes the messages of each client.
async fn serve(stack: Layers) -> Result<Addr, Error> {
    let mut settings = Settings::default();
    // One after the other, clients arrive faster than a server accepts them from one network by default.
    settings.offers_per_second = u32::MAX;
    let incoming = stack.listen(Tcp::new(), (Ipv4Addr::LOCALHOST, 0)).settings(settings).await;
    let mut incoming = incoming.map_err(Error::while_doing(ErrorKind::Socket, "opening the echo server"))?;
    let addr = incoming.local_addr();
    tokio::spawn(async move {
        while let Some(accepted) = incoming.next().await {
            // A client notices by itself that there is no echo.
            let Ok(connection) = accepted else { continue };
            tokio::spawn(async move {
                while let Ok(message) = connection.recv().await {
                    if connection.send(message).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    Ok(addr)
}

impl Connect for Client {
    async fn connect(&mut self) -> Result<Trial, Error> {
        let started = Instant::now();
        let tls = match &self.resuming {
            Some(tls) => tls.clone(),
            None => Tls::client(NAME, self.trust.clone()).map_err(failed)?,
        };
        let stack = make_stack!(Serialize::<Message>::new(), tls);
        let connection = stack.connect(Tcp::new(), self.server.clone()).await.map_err(failed)?;
        echo(&connection).await.map_err(failed)?;
        let set_up = since(started);
        let started = Instant::now();
        echo(&connection).await.map_err(failed)?;
        let round_trip = since(started);
        connection.close().await.map_err(failed)?;
        Ok(Trial { set_up, round_trip })
    }
}

/// Shakes hands by `tokio-rustls`.
pub(super) struct ByHand {
    server: SocketAddr,
    root: CertificateDer<'static>,
    /// As in [`Client`].
    resuming: Option<Arc<ClientConfig>>,
}

impl ByHand {
    pub(super) async fn new(is_resuming: bool) -> Result<Self, Error> {
        let made = certificate()?;
        let root = made.cert.der().clone();
        let starting = async {
            let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
            let config = ServerConfig::builder().with_no_client_auth();
            let mut config = config.with_single_cert(vec![root.clone()], key.into())?;
            config.ticketer = tokio_rustls::rustls::crypto::ring::Ticketer::new()?;
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let server = listener.local_addr()?;
            tokio::spawn(echo_all(listener, TlsAcceptor::from(Arc::new(config))));
            let resuming = if is_resuming { Some(configured(&root)?) } else { None };
            Outcome::Ok((server, resuming))
        };
        let (server, resuming) = starting.await.map_err(not_connected)?;
        Ok(Self { server, root, resuming })
    }
}

fn configured(root: &CertificateDer<'static>) -> Outcome<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone())?;
    Ok(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
}

/// Echoes the messages of each client.
async fn echo_all(listener: TcpListener, acceptor: TlsAcceptor) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            stream.set_nodelay(true)?;
            let mut stream = acceptor.accept(stream).await?;
            let mut message = MESSAGE;
            while stream.read_exact(&mut message).await.is_ok() {
                stream.write_all(&message).await?;
            }
            stream.shutdown().await
        });
    }
}

impl Connect for ByHand {
    async fn connect(&mut self) -> Result<Trial, Error> {
        let trial = async {
            let started = Instant::now();
            let config = match &self.resuming {
                Some(config) => config.clone(),
                None => configured(&self.root)?,
            };
            let stream = TcpStream::connect(self.server).await?;
            stream.set_nodelay(true)?;
            let mut stream = TlsConnector::from(config).connect(ServerName::try_from(NAME)?, stream).await?;
            let mut message = MESSAGE;
            stream.write_all(&message).await?;
            stream.read_exact(&mut message).await?;
            let set_up = since(started);
            let started = Instant::now();
            stream.write_all(&message).await?;
            stream.read_exact(&mut message).await?;
            let round_trip = since(started);
            let is_resumed = stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed);
            stream.shutdown().await?;
            Outcome::Ok((Trial { set_up, round_trip }, is_resumed))
        };
        let (trial, is_resumed) = trial.await.map_err(not_connected)?;
        if is_resumed && self.resuming.is_none() {
            return Err(Error::new(ErrorKind::Socket, "a session was resumed"));
        }
        Ok(trial)
    }
}

fn not_connected(error: Box<dyn StdError + Send + Sync>) -> Error {
    Error::while_doing(ErrorKind::Socket, "setting up a connection of tokio-rustls")(error)
}
