//! tonic's health service, asked and watched over kernel TCP and over TLS that is negotiated.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha::chunnels::{Bytes, Tls, TlsIdentity, Trust};
use bertha::core::{Chunk, Datapath, Listener};
use bertha::kernel::Tcp;
use bertha::prelude::*;
use bertha::{Addr, Error};
use futures_util::stream::{Stream, unfold};
use std::time::Duration;
use tonic::Request;
use tonic::transport::{Channel, Server};
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_over_bertha::{Transport, channel};

const SERVICE: &str = "store.Store";

/// Serves the health of [`SERVICE`] to all clients that come.
async fn serve<C: Connection<Data = Chunk>>(
    incoming: impl Stream<Item = Result<Transport<C>, Error>> + Send + 'static,
) -> tonic_health::server::HealthReporter {
    let (reporter, service) = tonic_health::server::health_reporter();
    reporter.set_service_status(SERVICE, ServingStatus::Serving).await;
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
    reporter
}

/// Asks, and then watches a change of the service's health.
async fn check(channel: Channel, reporter: tonic_health::server::HealthReporter) {
    let mut client = HealthClient::new(channel);
    let request = || {
        let mut request = Request::new(HealthCheckRequest { service: SERVICE.into() });
        request.set_timeout(Duration::from_secs(30));
        request
    };
    for _ in 0..10 {
        let health = client.check(request()).await.unwrap().into_inner();
        assert_eq!(health.status, ServingStatus::Serving as i32);
    }
    let unknown = Request::new(HealthCheckRequest { service: "nobody".into() });
    assert_eq!(client.check(unknown).await.unwrap_err().code(), tonic::Code::NotFound);
    let mut watched = client.watch(request()).await.unwrap().into_inner();
    assert_eq!(watched.message().await.unwrap().unwrap().status, ServingStatus::Serving as i32);
    reporter.set_service_status(SERVICE, ServingStatus::NotServing).await;
    assert_eq!(watched.message().await.unwrap().unwrap().status, ServingStatus::NotServing as i32);
}

#[tokio::test]
async fn over_kernel_tcp() {
    let listener = Tcp::new().bytes().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let to: Addr = listener.local_addr();
    let incoming = unfold(listener, |listener| async move {
        Some((listener.accept().await.map(Transport::new), listener))
    });
    let reporter = serve(incoming).await;
    let connect = move || {
        let to = to.clone();
        async move { Tcp::new().bytes().connect(to).await }
    };
    check(channel(connect).await.unwrap(), reporter).await;
}

#[tokio::test]
async fn over_tls() {
    let made = rcgen::generate_simple_self_signed(["store.example".to_owned()]).unwrap();
    let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap();
    let client = Tls::client("store.example", Trust::ca_pem(made.cert.pem()).unwrap()).unwrap();
    let server = make_stack!(Bytes, Tls::server(identity).unwrap());
    let incoming = server.listen(Tcp::new(), ([127, 0, 0, 1], 0)).await.unwrap();
    let to = incoming.local_addr();
    let incoming = unfold(incoming, |mut incoming| async move {
        let client = incoming.next().await?;
        Some((client.map(Transport::new), incoming))
    });
    let reporter = serve(incoming).await;
    let connect = move || {
        let (stack, to) = (make_stack!(Bytes, client.clone()), to.clone());
        async move { stack.connect(Tcp::new(), to).await }
    };
    check(channel(connect).await.unwrap(), reporter).await;
}
