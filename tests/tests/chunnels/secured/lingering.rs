//! A TLS client of another project that ends its half before it has read the response, over plain TCP.

use bertha_chunnels::{Tls, TlsIdentity};
use bertha_core::{Addr, Base, Buf, Connection, Datapath, Listener, Wrap};
use bertha_datapath_kernel::Tcp;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, version::TLS13};

const NAME: &str = "store.example";

/// Size of the response. The system's buffer at the server holds it, and the buffer at the client does not.
const RESPONSE: usize = 192 << 10;

const AT_CLIENT: u32 = 16 << 10;

fn framed(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
}

fn connector(certificate: CertificateDer<'static>) -> TlsConnector {
    let mut trusted = RootCertStore::empty();
    trusted.add(certificate).unwrap();
    let mut client = ClientConfig::builder_with_protocol_versions(&[&TLS13])
        .with_root_certificates(trusted)
        .with_no_client_auth();
    client.alpn_protocols = vec![b"bertha/3".to_vec()];
    Arc::new(client).into()
}

/// The part of the response that the client has read when it ends its half.
#[derive(Debug, Clone, Copy)]
enum Read {
    Nothing,
    First,
}

async fn gets_the_whole_response(ends_behind: Read) {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
    let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap();
    let server = Tls::server(identity).unwrap();
    let listener = Tcp::new().bytes().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let Addr::Ip(address) = listener.local_addr() else { panic!("not an IP address") };
    let mut serving = tokio::spawn(async move {
        let connection = server.wrap(listener.accept().await.unwrap()).await.unwrap();
        assert_eq!(&*connection.recv().await.unwrap(), b"give me all");
        let mut response: Buf = connection.base().buffer(RESPONSE).unwrap();
        response.fill(7);
        connection.send(response).await.unwrap();
        connection.close().await.unwrap();
    });
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(AT_CLIENT).unwrap();
    let stream = socket.connect(address).await.unwrap();
    let name = ServerName::try_from(NAME).unwrap();
    let mut client = connector(made.cert.into()).connect(name, stream).await.unwrap();
    client.write_all(&framed(b"give me all")).await.unwrap();
    let mut read = Vec::new();
    if let Read::First = ends_behind {
        client.flush().await.unwrap();
        read.push(client.read_u8().await.unwrap());
    }
    client.shutdown().await.unwrap();
    // A server that does not wait for the client is done by then, and has let go of the socket.
    let served = tokio::time::timeout(Duration::from_millis(500), &mut serving).await;
    let end = client.read_to_end(&mut read).await;
    assert!(end.is_ok() && read == framed(&[7; RESPONSE]), "{ends_behind:?}: {} bytes, {end:?}", read.len());
    match served {
        Ok(served) => served.unwrap(),
        Err(_) => serving.await.unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_ends_with_its_request_gets_the_whole_response() {
    gets_the_whole_response(Read::Nothing).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_ends_before_it_has_read_gets_the_whole_response() {
    gets_the_whole_response(Read::First).await;
}
