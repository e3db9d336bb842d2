//! Strangers that speak gRPC by TLS, on both sides of a daemon. tonic is the judge.

use crate::authority::{Authority, Issued};
use crate::hotel::{Empty, Ping, Reserve, Running, request, serve};
use crate::stranger::{self, Stranger};
use bertha::chunnels::Tls;
use bertha_chunnels::rpc::FailureKind;
use bertha_core::ErrorKind;
use bertha_managed::Order;
use bertha_rpcd::{GrpcTls, Peers, Route, Settings};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};

const SOON: Duration = Duration::from_secs(30);

/// The name in the certificates of the daemon and of servers.
const NAME: &str = "hotel.example";

/// Starts a daemon that takes calls of gRPC.
fn listening(grpc_tls: GrpcTls) -> Running {
    let peers = Peers { grpc: Some("127.0.0.1:0".parse().unwrap()), grpc_tls, ..Peers::default() };
    Running::with(Settings { peers, ..Settings::default() })
}

/// Starts a daemon that takes calls of gRPC with this certificate.
fn certified(issued: &Issued) -> Running {
    listening(GrpcTls { identity: Some(issued.identity()), ..GrpcTls::default() })
}

/// Starts a daemon that leads the calls of the hotel to a server of gRPC of this name.
fn leading(to: SocketAddr, name: &str, grpc_tls: GrpcTls) -> Running {
    let routes = vec![("hotel".into(), Route::Grpcs(to, name.into()).into())];
    Running::with(Settings { peers: Peers { routes, grpc_tls, ..Peers::default() }, ..Settings::default() })
}

fn trusting(authority: &Authority) -> GrpcTls {
    GrpcTls { servers: Some(authority.trust()), ..GrpcTls::default() }
}

fn addr(daemon: &Running) -> String {
    daemon.grpc_addr.as_ref().unwrap().to_string()
}

fn identity(issued: &Issued) -> Identity {
    Identity::from_pem(&issued.certificate, &issued.key)
}

/// Returns the TLS of a stranger that trusts an authority.
fn client(authority: &Authority) -> ClientTlsConfig {
    ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority.pem())).domain_name(NAME)
}

/// Pings the server of the hotel, and returns the failure.
async fn failure(daemon: &Running) -> bertha_managed::Failure {
    daemon.client().await.call::<Ping>(Empty {}, Some(SOON)).await.err().unwrap()
}

#[tokio::test]
async fn a_stranger_calls_by_tls() {
    let ours = Authority::new("ours");
    let daemon = certified(&ours.issue(NAME));
    let _serving = serve(daemon.server().await);
    let stranger = Stranger::secured(&addr(&daemon), client(&ours));
    for nights in 1..=50 {
        assert_eq!(stranger.reserve("ada", nights, &[]).await.unwrap().price, 100 * nights);
    }
    let long = "x".repeat(3 << 20);
    assert!(stranger.reserve("ada", 1, &[&long]).await.unwrap().room == format!("ada: {long}"));
}

#[tokio::test]
async fn a_stranger_that_trusts_another_authority_does_not_call_and_others_do() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let daemon = certified(&ours.issue(NAME));
    let _serving = serve(daemon.server().await);
    let status = Stranger::secured(&addr(&daemon), client(&theirs)).reserve("ada", 1, &[]).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    Stranger::secured(&addr(&daemon), client(&ours)).reserve("ada", 1, &[]).await.unwrap();
}

#[tokio::test]
async fn strangers_show_a_certificate_where_the_daemon_demands_one() {
    let (ours, callers) = (Authority::new("ours"), Authority::new("callers"));
    let daemon = listening(GrpcTls {
        identity: Some(ours.issue(NAME).identity()),
        callers: Some(callers.trust()),
        ..GrpcTls::default()
    });
    let _serving = serve(daemon.server().await);
    let known = client(&ours).identity(identity(&callers.issue("ada.example")));
    assert_eq!(Stranger::secured(&addr(&daemon), known).reserve("ada", 1, &[]).await.unwrap().price, 100);
    let unknown = client(&ours).identity(identity(&ours.issue("eve.example")));
    for refused in [client(&ours), unknown] {
        let status = Stranger::secured(&addr(&daemon), refused).reserve("eve", 1, &[]).await.unwrap_err();
        assert!(matches!(status.code(), Code::Unavailable | Code::Unknown), "{status}");
    }
}

#[tokio::test]
async fn a_port_with_a_certificate_takes_no_plain_text_and_no_other_protocol() {
    let ours = Authority::new("ours");
    let daemon = certified(&ours.issue(NAME));
    let _serving = serve(daemon.server().await);
    // The preface of HTTP/2 is sent before anything is heard.
    let socket = TcpStream::connect(addr(&daemon)).await.unwrap();
    let (mut sender, connection) = h2::client::handshake(socket).await.unwrap();
    let connection = tokio::spawn(connection);
    let asked = http::Request::post("http://hotel/hotel.Hotel/Ping").body(()).unwrap();
    let outcome = match sender.send_request(asked, true) {
        Ok((response, _)) => response.await.map(drop),
        Err(error) => Err(error),
    };
    outcome.unwrap_err();
    connection.await.unwrap().unwrap_err();
    for (protocol, is_taken) in [("http/1.1", false), ("h2", true)] {
        let tls = Tls::client(NAME, ours.trust()).unwrap().protocol(protocol).unwrap();
        let socket = TcpStream::connect(addr(&daemon)).await.unwrap();
        let peer = socket.peer_addr().unwrap().into();
        let refusal = tls.stream(socket, &peer).await.err().map(|error| error.kind());
        assert_eq!(refusal, (!is_taken).then_some(ErrorKind::Refused), "{protocol}");
    }
    Stranger::secured(&addr(&daemon), client(&ours)).reserve("ada", 1, &[]).await.unwrap();
}

#[tokio::test]
async fn strangers_that_complete_no_handshake_are_given_up() {
    let ours = Authority::new("ours");
    let daemon = certified(&ours.issue(NAME));
    let _serving = serve(daemon.server().await);
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(addr(&daemon)).await.unwrap());
    }
    let stranger = Stranger::secured(&addr(&daemon), client(&ours));
    assert_eq!(stranger.reserve("ada", 1, &[]).await.unwrap().price, 100);
    for mut socket in silent {
        let ended = tokio::time::timeout(SOON, socket.read(&mut [0; 16])).await.unwrap();
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    }
    assert_eq!(stranger.reserve("ada", 2, &[]).await.unwrap().price, 200);
}

#[tokio::test]
async fn an_application_calls_a_stranger_by_tls() {
    let (theirs, callers) = (Authority::new("theirs"), Authority::new("callers"));
    let tls = ServerTlsConfig::new().identity(identity(&theirs.issue(NAME)));
    let demanding = tls.clone().client_ca_root(Certificate::from_pem(callers.pem()));
    let known = GrpcTls { identity: Some(callers.issue("ada.example").identity()), ..trusting(&theirs) };
    for (server, ours) in [(tls, trusting(&theirs)), (demanding, known)] {
        let daemon = leading(stranger::serve_secured(server).await, NAME, ours);
        let client = daemon.client().await;
        for nights in 1..=20 {
            let asked = request(&client.heap(), "ada", nights, &["grace"]);
            let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
            assert_eq!((response.room.as_str(), response.price), ("ada: grace", 100 * nights));
        }
        let long = "x".repeat(3 << 20);
        let asked = request(&client.heap(), "ada", 1, &[&long]);
        let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
        assert!(response.room.as_str() == format!("ada: {long}"));
    }
}

#[tokio::test]
async fn a_server_that_proves_no_trusted_name_gets_no_calls_and_callers_hear_why() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let tls = ServerTlsConfig::new().identity(identity(&theirs.issue(NAME)));
    let to = stranger::serve_secured(tls).await;
    let names = failure(&leading(to, "motel.example", trusting(&theirs))).await;
    assert!(names.to_string().contains("this end wants motel.example"), "{names}");
    let issuers = failure(&leading(to, NAME, trusting(&ours))).await;
    assert!(issuers.to_string().contains("leads to no certificate that this end trusts"), "{issuers}");
    let plain = failure(&leading(stranger::serve().await, NAME, trusting(&theirs))).await;
    for failure in [names, issuers, plain] {
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Unavailable, false), "{failure}");
    }
}

#[tokio::test]
async fn a_server_that_demands_a_certificate_takes_no_calls_without_one() {
    let theirs = Authority::new("theirs");
    let tls = ServerTlsConfig::new().identity(identity(&theirs.issue(NAME)));
    let demanding = tls.client_ca_root(Certificate::from_pem(theirs.pem()));
    let daemon = leading(stranger::serve_secured(demanding).await, NAME, trusting(&theirs));
    let failure = failure(&daemon).await;
    // In TLS 1.3 the server refuses behind the handshake, and its alert may be lost with a connection that it resets.
    assert_eq!(failure.kind(), FailureKind::Unavailable, "{failure}");
}

#[tokio::test]
async fn a_server_that_completes_no_handshake_fails_calls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let daemon = leading(listener.local_addr().unwrap(), NAME, trusting(&Authority::new("theirs")));
    let (failure, _socket) = tokio::join!(failure(&daemon), listener.accept());
    assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Unavailable, false), "{failure}");
}

#[tokio::test]
async fn a_route_by_tls_needs_trust_in_servers() {
    let daemon = listening(GrpcTls::default());
    let order = Order::Route { service: "hotel".into(), to: "grpcs:127.0.0.1:7000".into() };
    let refused = order.give(&daemon.path).await.unwrap_err();
    assert!(refused.to_string().contains("--grpc-server-ca"), "{refused}");
}

#[tokio::test]
async fn two_daemons_speak_grpc_by_tls_to_each_other() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let identity = |authority: &Authority| Some(authority.issue(NAME).identity());
    let far =
        listening(GrpcTls { identity: identity(&theirs), callers: Some(ours.trust()), ..GrpcTls::default() });
    let _serving = serve(far.server().await);
    let tls = GrpcTls { identity: identity(&ours), ..trusting(&theirs) };
    let near = leading(addr(&far).parse().unwrap(), NAME, tls);
    let client = near.client().await;
    let asked = request(&client.heap(), "ada", 3, &["grace"]);
    let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
    assert_eq!((response.room.as_str(), response.price), ("ada: grace", 300));
}
