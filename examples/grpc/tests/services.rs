//! tonic's health and reflection services over datapaths and stacks.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests panic to fail, and say what they skip")]

use bertha::chunnels::{Bytes, Tls, TlsIdentity, Trust};
use bertha::core::Listener;
use bertha::kernel::{Tcp, UnixStream};
use bertha::prelude::*;
use bertha::{Addr, Chunk, Datapath, ErrorKind};
use bertha_datapath_dpdk::{Config, Dpdk};
use bertha_example_grpc::{Io, accepted, agreed, channel};
use futures_util::Stream;
use futures_util::stream::{self, StreamExt};
use std::sync::Arc;
use tonic::transport::{Channel, Server};
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{self, HealthCheckRequest};
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

async fn serve<C: Connection<Data = Chunk>>(clients: impl Stream<Item = Result<Io<C>, bertha::Error>>) {
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_service_status("example", tonic_health::ServingStatus::Serving).await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .unwrap();
    Server::builder().add_service(health).add_service(reflection).serve_with_incoming(clients).await.unwrap();
}

/// Makes single calls, many calls at a time, and a stream in both directions.
async fn use_services(channel: Channel) {
    let asking =
        (0..100).map(|_| {
            let mut health = HealthClient::new(channel.clone());
            async move {
                health.check(HealthCheckRequest { service: "example".into() }).await.unwrap().into_inner()
            }
        });
    for answer in futures_util::future::join_all(asking).await {
        assert_eq!(answer.status(), pb::health_check_response::ServingStatus::Serving);
    }
    let unknown = HealthCheckRequest { service: "unknown".into() };
    let refused = HealthClient::new(channel.clone()).check(unknown).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::NotFound);
    let ask = |about| ServerReflectionRequest { host: String::new(), message_request: Some(about) };
    let asked = stream::iter([
        ask(MessageRequest::ListServices(String::new())),
        ask(MessageRequest::FileContainingSymbol("grpc.health.v1.Health".into())),
    ]);
    let answers =
        ServerReflectionClient::new(channel).server_reflection_info(asked).await.unwrap().into_inner();
    let answers: Vec<ServerReflectionResponse> = answers.map(Result::unwrap).collect().await;
    let Some(MessageResponse::ListServicesResponse(list)) = &answers[0].message_response else { panic!() };
    assert!(list.service.iter().any(|service| service.name == "grpc.health.v1.Health"));
    assert!(matches!(&answers[1].message_response, Some(MessageResponse::FileDescriptorResponse(_))));
}

async fn over<D: Datapath<Chunk>>(server: D, client: D, on: Addr) {
    let listener = server.listen(on).await.unwrap();
    let to = listener.local_addr();
    let serving = tokio::spawn(serve(accepted(listener)));
    let client = Arc::new(client);
    let connect = move || {
        let (client, to) = (client.clone(), to.clone());
        async move { client.connect(to).await }
    };
    use_services(channel(connect).await.unwrap()).await;
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_kernel_tcp_and_unix_sockets() {
    over(Tcp::new().bytes(), Tcp::new().bytes(), "127.0.0.1:0".parse().unwrap()).await;
    let on = format!("unix:@bertha-grpc-{}", std::process::id()).parse().unwrap();
    over(UnixStream::new().bytes(), UnixStream::new().bytes(), on).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls() {
    let made = rcgen::generate_simple_self_signed(["store.example".to_owned()]).unwrap();
    let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap();
    let client = Tls::client("store.example", Trust::ca_pem(made.cert.pem()).unwrap()).unwrap();
    let server = make_stack!(Bytes, Tls::server(identity).unwrap());
    let incoming = server.listen(Tcp::new(), "127.0.0.1:0".parse::<Addr>().unwrap()).await.unwrap();
    let to = incoming.local_addr();
    let serving = tokio::spawn(serve(agreed(incoming)));
    let connect = move || {
        let (stack, to) = (make_stack!(Bytes, client.clone()), to.clone());
        async move { stack.connect(Tcp::new(), to).await }
    };
    use_services(channel(connect).await.unwrap()).await;
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_dpdk() {
    let socket = std::env::temp_dir().join(format!("bertha-grpc-{}", std::process::id()));
    let open = |number: u32, role: &str, address: &str| {
        let socket = socket.display();
        let device = format!("net_memif{number},role={role},id=0,socket={socket},socket-abstract=no");
        Dpdk::open(&Config { buffers: 2047, ..Config::new(device, address) })
    };
    let server = match open(0, "server", "10.0.0.1/24") {
        Ok(server) => server,
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {error}");
            return eprintln!("SKIPPED: gRPC over DPDK: {error}");
        }
        Err(error) => panic!("{error:?}"),
    };
    let client = open(1, "client", "10.0.0.2/24").unwrap();
    let bytes = |port| bertha_datapath_dpdk::Tcp::over(port).bytes();
    over(bytes(&server), bytes(&client), "10.0.0.1:50051".parse().unwrap()).await;
    // The ports stay open until the process ends: DPDK 22.11 reports `Invalid memory` if both ends of a memif
    // close at once in a process.
    std::mem::forget((server, client));
}
