//! Clients that shake hands by `tokio-rustls` over the kernel's TCP, with the session of an earlier connection or without.

use super::{Connect, MESSAGE, Trial, since};
use crate::harness::Certificate;
use crate::{Error, ErrorKind};
use std::error::Error as StdError;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, HandshakeKind, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

type Outcome<T> = Result<T, Box<dyn StdError + Send + Sync>>;

/// A client that shakes hands by `tokio-rustls`.
pub(super) struct Client {
    server: SocketAddr,
    root: CertificateDer<'static>,
    /// Settings of all connections, whose sessions are resumed; without them, each connection has new
    /// settings.
    resuming: Option<Arc<ClientConfig>>,
}

impl Client {
    pub(super) async fn new(is_resuming: bool) -> Result<Self, Error> {
        let certificate = Certificate::new()?;
        let root = certificate.root();
        let starting = async {
            let config = ServerConfig::builder().with_no_client_auth();
            let mut config = config.with_single_cert(vec![root.clone()], certificate.key().into())?;
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

impl Connect for Client {
    async fn connect(&mut self) -> Result<Trial, Error> {
        let trial = async {
            let started = Instant::now();
            let config = match &self.resuming {
                Some(config) => config.clone(),
                None => configured(&self.root)?,
            };
            let stream = TcpStream::connect(self.server).await?;
            stream.set_nodelay(true)?;
            let mut stream =
                TlsConnector::from(config).connect(ServerName::try_from(Certificate::NAME)?, stream).await?;
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
