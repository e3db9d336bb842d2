//! TLS by tokio-rustls, client and server, over Bertha's connections.

use crate::byte_streams::place::{datagrams, dpdk, over_dpdk, tcp, unix};
use bertha_core::{Chunk, Connection};
use bertha_io::ByteStream;
use std::io::ErrorKind;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig, version::TLS13};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

/// Number of bytes that fills several records and chunks, and is no multiple of their sizes.
const LARGE: usize = (1 << 20) + 7;

fn client_and_server() -> (TlsConnector, TlsAcceptor) {
    let made = rcgen::generate_simple_self_signed(["store.example".to_owned()]).unwrap();
    let certificate: CertificateDer<'static> = made.cert.into();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let mut trusted = RootCertStore::empty();
    trusted.add(certificate.clone()).unwrap();
    let client = ClientConfig::builder_with_protocol_versions(&[&TLS13])
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let server = ServerConfig::builder_with_protocol_versions(&[&TLS13])
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    (Arc::new(client).into(), Arc::new(server).into())
}

/// Returns both ends after the handshake.
async fn secured<A, B>(
    connected: impl Future<Output = (A, B)>,
) -> (TlsStream<ByteStream<A>>, TlsStream<ByteStream<B>>)
where
    A: Connection<Data = Chunk>,
    B: Connection<Data = Chunk>,
{
    let (connector, acceptor) = client_and_server();
    let (client, server) = connected.await;
    let name = ServerName::try_from("store.example").unwrap();
    let client = connector.connect(name, ByteStream::new(client));
    let server = acceptor.accept(ByteStream::new(server));
    let (client, server) = futures_util::future::try_join(client, server).await.unwrap();
    (client.into(), server.into())
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 256 + len) as u8).collect()
}

/// Writes `LARGE` bytes, in pieces from one byte to several records, and reads as many from the peer meanwhile.
async fn exchange(stream: impl AsyncRead + AsyncWrite) {
    let (mut reading, mut writing) = tokio::io::split(stream);
    let sending = async {
        let all = bytes(LARGE);
        let mut left = &all[..];
        for len in [1, 2, 16_383, 16_385, 100_000].into_iter().cycle() {
            let (piece, behind) = left.split_at(len.min(left.len()));
            writing.write_all(piece).await.unwrap();
            writing.flush().await.unwrap();
            left = behind;
            if left.is_empty() {
                break;
            }
        }
    };
    let receiving = async {
        let mut all = vec![0; LARGE];
        reading.read_exact(&mut all).await.unwrap();
        assert!(all == bytes(LARGE), "the bytes are other ones");
    };
    futures_util::future::join(sending, receiving).await;
}

/// Checks the handshake, data in both directions at once, and the end of one half after the other, each
/// announced by `close_notify`.
async fn ends_in_order<A, B>(connected: impl Future<Output = (A, B)>)
where
    A: Connection<Data = Chunk>,
    B: Connection<Data = Chunk>,
{
    let (mut client, mut server) = secured(connected).await;
    let server = tokio::spawn(async move {
        exchange(&mut server).await;
        let mut rest = Vec::new();
        server.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"the client's last");
        // The client has ended its own half alone.
        server.write_all(b"the server's last").await.unwrap();
        server.shutdown().await.unwrap();
        server
    });
    exchange(&mut client).await;
    client.write_all(b"the client's last").await.unwrap();
    client.shutdown().await.unwrap();
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"the server's last");
    server.await.unwrap();
}

/// Checks that TLS tells a stream below that is cut off, without `close_notify`, from an orderly end.
async fn tells_a_cut_from_an_end<A, B>(connected: impl Future<Output = (A, B)>)
where
    A: Connection<Data = Chunk>,
    B: Connection<Data = Chunk>,
{
    let (mut client, mut server) = secured(connected).await;
    client.write_all(b"half of it").await.unwrap();
    client.flush().await.unwrap();
    let (below, _) = client.get_mut();
    below.shutdown().await.unwrap();
    let mut read = Vec::new();
    let error = server.read_to_end(&mut read).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{error}");
    assert_eq!(read, b"half of it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_kernel_tcp() {
    ends_in_order(tcp()).await;
    tells_a_cut_from_an_end(tcp()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_unix_sockets() {
    ends_in_order(unix()).await;
    tells_a_cut_from_an_end(unix()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_datagrams() {
    ends_in_order(datagrams()).await;
    tells_a_cut_from_an_end(datagrams()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_dpdk_tcp() {
    let Some(ports) = dpdk() else { return };
    ends_in_order(over_dpdk(&ports)).await;
    tells_a_cut_from_an_end(over_dpdk(&ports)).await;
}
