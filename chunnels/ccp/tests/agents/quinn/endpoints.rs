//! Two endpoints, and a transfer between them.

use quinn::congestion::ControllerFactory;
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Sends `bytes` bytes from a client, whose connection is controlled by `congestion`, to a server. Returns
/// the client's window at the end.
pub(super) async fn transfer(
    congestion: Arc<dyn ControllerFactory + Send + Sync + 'static>,
    bytes: usize,
) -> u64 {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = certified.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).unwrap();
    let any_port = (Ipv4Addr::LOCALHOST, 0).into();
    let server = Endpoint::server(config, any_port).unwrap();
    let to = server.local_addr().unwrap();

    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(congestion);
    config.transport_config(Arc::new(transport));
    let mut client = Endpoint::client(any_port).unwrap();
    client.set_default_client_config(config);

    let receiving = async {
        let connection = server.accept().await.unwrap().await.unwrap();
        let received = connection.accept_uni().await.unwrap().read_to_end(bytes + 1).await.unwrap();
        (connection, received.len())
    };
    let sending = async {
        let connection = client.connect(to, "localhost").unwrap().await.unwrap();
        let mut stream = connection.open_uni().await.unwrap();
        stream.write_all(&vec![7; bytes]).await.unwrap();
        stream.finish().unwrap();
        // The wait ends when all bytes are acknowledged.
        stream.stopped().await.unwrap();
        connection
    };
    let ((_open, received), connection) = tokio::join!(receiving, sending);
    assert_eq!(received, bytes);
    connection.stats().path.cwnd
}
