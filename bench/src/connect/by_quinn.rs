//! Clients that shake hands by `quinn`, with the session of an earlier connection or without. They share an
//! endpoint and so a socket, as `quinn` advises: a new endpoint sets up buffers of megabytes.

use super::{Connect, MESSAGE, Trial, since};
use crate::harness::Certificate;
use crate::{Error, ErrorKind};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::rustls::pki_types::CertificateDer;
use quinn::rustls::{self, RootCertStore};
use quinn::{ClientConfig, Endpoint, ServerConfig, VarInt};
use std::error::Error as StdError;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn StdError + Send + Sync>>;

/// A client that shakes hands by `quinn`.
pub(super) struct Client {
    endpoint: Endpoint,
    server: SocketAddr,
    root: CertificateDer<'static>,
    /// Settings of all connections, whose sessions are resumed; without them, each connection has new
    /// settings.
    resuming: Option<ClientConfig>,
}

impl Client {
    pub(super) async fn new(is_resuming: bool) -> Result<Self, Error> {
        let certificate = Certificate::new()?;
        let root = certificate.root();
        let starting = || {
            let config = rustls::ServerConfig::builder().with_no_client_auth();
            let mut config = config.with_single_cert(vec![root.clone()], certificate.key().into())?;
            config.ticketer = rustls::crypto::ring::Ticketer::new()?;
            let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(config)?));
            let endpoint = Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into())?;
            let server = endpoint.local_addr()?;
            tokio::spawn(echo_all(endpoint));
            let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into())?;
            let resuming = if is_resuming { Some(configured(&root)?) } else { None };
            Outcome::Ok((endpoint, server, resuming))
        };
        let (endpoint, server, resuming) = starting().map_err(not_connected)?;
        Ok(Self { endpoint, server, root, resuming })
    }
}

fn configured(root: &CertificateDer<'static>) -> Outcome<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone())?;
    Ok(ClientConfig::with_root_certificates(Arc::new(roots))?)
}

/// Echoes the messages of each client, until it has finished its stream.
async fn echo_all(endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = incoming.await?;
            let (mut sending, mut receiving) = connection.accept_bi().await?;
            let mut message = MESSAGE;
            while receiving.read_exact(&mut message).await.is_ok() {
                sending.write_all(&message).await?;
            }
            connection.close(VarInt::from_u32(0), b"");
            Outcome::Ok(())
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
            let connection = self.endpoint.connect_with(config, self.server, Certificate::NAME)?.await?;
            let (mut sending, mut receiving) = connection.open_bi().await?;
            let mut message = MESSAGE;
            sending.write_all(&message).await?;
            receiving.read_exact(&mut message).await?;
            let set_up = since(started);
            let started = Instant::now();
            sending.write_all(&message).await?;
            receiving.read_exact(&mut message).await?;
            let round_trip = since(started);
            sending.finish()?;
            connection.closed().await;
            Outcome::Ok(Trial { set_up, round_trip })
        };
        trial.await.map_err(not_connected)
    }
}

fn not_connected(error: Box<dyn StdError + Send + Sync>) -> Error {
    Error::while_doing(ErrorKind::Socket, "setting up a connection of quinn")(error)
}
