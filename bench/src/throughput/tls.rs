//! The transfer over TLS 1.3 above the kernel's TCP: by `Tls`, and by `tokio-rustls` as programs use it.

use super::bertha::{Ends, between, listen, serve};
use super::{CHUNK, REQUEST, Setup, file};
use crate::harness::{Certificate, Placement, meet, runtime};
use crate::{Error, ErrorKind};
use bertha_chunnels::Tls;
use bertha_core::{Bottom, Stack, make_stack};
use bertha_datapath_kernel::Tcp;
use futures_util::future::try_join_all;
use std::error::Error as StdError;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot::{Receiver, Sender};
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

type Layers = Stack<Tls, Bottom>;

type Outcome<T> = Result<T, Box<dyn StdError + Send + Sync>>;

pub(super) fn bertha(setup: &Setup) -> Result<f64, Error> {
    let (server, client) = stacks()?;
    between(&ends(), setup, CHUNK, server, client)
}

fn ends() -> Ends<Tcp> {
    Ends { server: Tcp::new(), client: Tcp::new(), at: (Ipv4Addr::LOCALHOST, 0).into() }
}

/// Returns the stacks of a server and of a client that trusts it.
fn stacks() -> Result<(Layers, Layers), Error> {
    let certificate = Certificate::new()?;
    let stacks = || {
        let client = Tls::client(Certificate::NAME, certificate.trust()?)?;
        Ok((make_stack!(Tls::server(certificate.identity()?)?), make_stack!(client)))
    };
    stacks().map_err(super::bertha::failed)
}

/// Moves the files once by `Tls`, in a single thread.
pub(super) fn bertha_on_one_thread(setup: &Setup) -> Result<(), Error> {
    let ((server, client), ends, file) = (stacks()?, ends(), file(setup));
    runtime()?.block_on(async {
        let incoming = listen(server, &ends).await?;
        let addr = incoming.local_addr();
        let serving = serve(incoming, setup.connections, file, CHUNK);
        let measuring = super::bertha::measure(&client, &ends.client, addr, setup);
        let (served, measured) = futures_util::join!(serving, measuring);
        served.and(measured.map(drop))
    })
}

/// Moves the files once by `tokio-rustls`, in a single thread.
pub(super) fn by_hand_on_one_thread(setup: &Setup) -> Result<(), Error> {
    let server = Server::new(setup)?;
    let root = server.certificate.clone();
    let (tell, told) = tokio::sync::oneshot::channel();
    runtime()?.block_on(async {
        let serving = async { server.serve(tell).await.map_err(failed) };
        let measuring = measured(setup, told, root);
        let (served, measured) = futures_util::join!(serving, measuring);
        served.and(measured.map(drop))
    })
}

pub(super) fn by_hand(setup: &Setup) -> Result<f64, Error> {
    let server = Server::new(setup)?;
    let root = server.certificate.clone();
    let (tell, told) = tokio::sync::oneshot::channel();
    meet(
        Placement::AcrossCores,
        || async { server.serve(tell).await.map_err(failed) },
        || measured(setup, told, root),
    )
}

/// The server by hand.
struct Server {
    connections: usize,
    file: Arc<[u8]>,
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Server {
    fn new(setup: &Setup) -> Result<Self, Error> {
        let certificate = Certificate::new()?;
        Ok(Self {
            connections: setup.connections,
            file: file(setup),
            certificate: certificate.root(),
            key: certificate.key(),
        })
    }

    async fn serve(self, tell: Sender<SocketAddr>) -> Outcome<()> {
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![self.certificate], self.key.into())?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        // A client that has given up reports an error of its own.
        let _ = tell.send(listener.local_addr()?);
        let mut clients = Vec::new();
        for _ in 0..self.connections {
            let ((stream, _), file) = (listener.accept().await?, self.file.clone());
            let acceptor = acceptor.clone();
            clients.push(tokio::spawn(async move {
                stream.set_nodelay(true)?;
                let mut stream = acceptor.accept(stream).await?;
                stream.read_exact(&mut [0; REQUEST.len()]).await?;
                stream.write_all(&file).await?;
                stream.shutdown().await
            }));
        }
        for client in clients {
            client.await??;
        }
        Ok(())
    }
}

async fn measured(
    setup: &Setup,
    told: Receiver<SocketAddr>,
    root: CertificateDer<'static>,
) -> Result<f64, Error> {
    let server = told.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the server"))?;
    measure(setup, server, root).await.map_err(failed)
}

async fn measure(setup: &Setup, server: SocketAddr, root: CertificateDer<'static>) -> Outcome<f64> {
    let mut roots = RootCertStore::empty();
    roots.add(root)?;
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    let connecting = (0..setup.connections).map(async |_| {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        connector.connect(ServerName::try_from(Certificate::NAME)?, stream).await.map_err(Into::into)
    });
    let mut streams: Vec<_> =
        try_join_all(connecting).await.map_err(|error: Box<dyn StdError + Send + Sync>| error)?;
    let start = Instant::now();
    try_join_all(streams.iter_mut().map(|stream| receive(stream, setup.bytes))).await?;
    Ok((setup.connections * setup.bytes) as f64 / start.elapsed().as_secs_f64())
}

async fn receive(stream: &mut TlsStream<TcpStream>, bytes: usize) -> Outcome<()> {
    stream.write_all(REQUEST).await?;
    let mut received = 0;
    let mut chunk = vec![0; CHUNK];
    while received < bytes {
        match stream.read(&mut chunk).await? {
            0 => return Err("the stream ended early".into()),
            read => received += read,
        }
    }
    Ok(())
}

fn failed(error: Box<dyn StdError + Send + Sync>) -> Error {
    Error::while_doing(ErrorKind::Socket, "moving files over tokio-rustls")(error)
}
