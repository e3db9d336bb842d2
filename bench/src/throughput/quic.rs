//! The transfer over `quinn`, with its own sockets.

use super::{CHUNK, REQUEST, Setup, file};
use crate::harness::{Certificate, ETHERNET, Placement, meet};
use crate::{Error, ErrorKind};
use futures_util::future::try_join_all;
use quinn::congestion::CubicConfig;
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::CertificateDer;
use quinn::{ClientConfig, Connection, Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt};
use std::error::Error as StdError;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

/// Number of bytes in flight: as many as `Reliable` has, and as its sockets ask for.
const WINDOW: usize = 4 << 20;

type Outcome<T> = Result<T, Box<dyn StdError + Send + Sync>>;

fn transport(setup: &Setup) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    // The initial window follows RFC 9002, section 7.2. Quinn's own does not grow with the datagrams, and
    // would block the larger datagrams.
    let mut congestion = CubicConfig::default();
    congestion.initial_window((2 * setup.datagram).max(14_720) as u64);
    transport
        .congestion_controller_factory(Arc::new(congestion))
        .initial_mtu(setup.datagram as u16)
        .mtu_discovery_config(None)
        // Several of the larger datagrams exceed the kernel's limit for a call, which stops quinn for good.
        .enable_segmentation_offload(setup.datagram <= ETHERNET)
        .stream_receive_window(VarInt::from_u32(WINDOW as u32))
        .receive_window(VarInt::from_u32(WINDOW as u32))
        .send_window(WINDOW as u64);
    Arc::new(transport)
}

fn endpoint(setup: &Setup, server: Option<ServerConfig>) -> Outcome<Endpoint> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let options = socket2::SockRef::from(&socket);
    options.set_recv_buffer_size(WINDOW)?;
    options.set_send_buffer_size(WINDOW)?;
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(setup.datagram as u16)?;
    Ok(Endpoint::new(config, server, socket, Arc::new(quinn::TokioRuntime))?)
}

pub(super) fn run(setup: &Setup) -> Result<f64, Error> {
    let certificate = Certificate::new()?;
    let file = file(setup);
    let (tell, told) = tokio::sync::oneshot::channel();
    meet(
        Placement::AcrossCores,
        || async {
            let serving = async {
                let mut config =
                    ServerConfig::with_single_cert(vec![certificate.root()], certificate.key().into())?;
                config.transport_config(transport(setup));
                let endpoint = endpoint(setup, Some(config))?;
                // A client that has given up reports an error of its own.
                let _ = tell.send(endpoint.local_addr()?);
                let mut clients = Vec::new();
                for _ in 0..setup.connections {
                    let Some(incoming) = endpoint.accept().await else { break };
                    let connection = incoming.await?;
                    let file = file.clone();
                    clients.push(tokio::spawn(serve(connection, file)));
                }
                for client in clients {
                    client.await??;
                }
                Ok(())
            };
            serving.await.map_err(failed)
        },
        || async {
            let server =
                told.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the server"))?;
            measure(setup, server, certificate.root()).await.map_err(failed)
        },
    )
}

async fn serve(connection: Connection, file: Arc<[u8]>) -> Outcome<()> {
    let (mut sending, mut receiving) = connection.accept_bi().await?;
    receiving.read_exact(&mut [0; REQUEST.len()]).await?;
    sending.write_all(&file).await?;
    sending.finish()?;
    // The client closes once it has everything.
    connection.closed().await;
    Ok(())
}

async fn measure(setup: &Setup, server: SocketAddr, root: CertificateDer<'static>) -> Outcome<f64> {
    let mut roots = RootCertStore::empty();
    roots.add(root)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport(setup));
    // Each client has a socket, as each client of the other contenders has.
    let endpoints: Vec<_> = (0..setup.connections).map(|_| endpoint(setup, None)).collect::<Outcome<_>>()?;
    let connecting = endpoints.iter().map(async |endpoint| {
        let connecting = endpoint.connect_with(config.clone(), server, Certificate::NAME)?;
        Ok::<_, Box<dyn StdError + Send + Sync>>(connecting.await?)
    });
    let connections: Vec<Connection> = try_join_all(connecting).await?;
    let start = Instant::now();
    try_join_all(connections.iter().map(|connection| receive(connection, setup.bytes))).await?;
    let elapsed = start.elapsed();
    connections.iter().for_each(|connection| connection.close(VarInt::from_u32(0), b""));
    for endpoint in &endpoints {
        endpoint.wait_idle().await;
    }
    Ok((setup.connections * setup.bytes) as f64 / elapsed.as_secs_f64())
}

async fn receive(connection: &Connection, bytes: usize) -> Outcome<()> {
    let (mut sending, mut receiving) = connection.open_bi().await?;
    sending.write_all(REQUEST).await?;
    let mut received = 0;
    while received < bytes {
        match receiving.read_chunk(CHUNK, true).await? {
            Some(chunk) => received += chunk.bytes.len(),
            None => return Err("the stream ended early".into()),
        }
    }
    Ok(())
}

fn failed(error: Box<dyn StdError + Send + Sync>) -> Error {
    Error::while_doing(ErrorKind::Socket, "moving files over quinn")(error)
}
