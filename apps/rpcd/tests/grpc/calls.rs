//! Strangers that speak gRPC, on both sides of a daemon. tonic is the judge.

use crate::hotel::{self, Empty, Hotel, Ping, Reserve, Running, request, serve};
use crate::stranger::{self, Asked, Stranger};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::application::{Handle, Incoming};
use bertha_managed::{Method, Order};
use bertha_rpcd::{Peers, Route, Settings};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::{Code, Request};

const SOON: Duration = Duration::from_secs(20);

/// Starts a daemon that takes calls of gRPC.
fn listening() -> Running {
    let peers = Peers { grpc: Some("127.0.0.1:0".parse().unwrap()), ..Peers::default() };
    Running::with(Settings { peers, ..Settings::default() })
}

/// Starts a daemon that leads the calls of the hotel to a server of gRPC.
fn leading(to: SocketAddr) -> Running {
    let peers = Peers { routes: vec![("hotel".into(), Route::Grpc(to).into())], ..Peers::default() };
    Running::with(Settings { peers, ..Settings::default() })
}

async fn stranger(daemon: &Running) -> Stranger {
    Stranger::connect(&daemon.grpc_addr.as_ref().unwrap().to_string()).await
}

#[tokio::test]
async fn a_stranger_calls_a_server_of_the_machine() {
    let daemon = listening();
    let _serving = serve(daemon.server().await);
    let stranger = stranger(&daemon).await;
    for nights in 1..=50 {
        let answered = stranger.reserve("ada", nights, &["grace", "edsger"]).await.unwrap();
        assert_eq!((answered.room.as_str(), answered.price), ("ada: grace, edsger", 100 * nights));
    }
    for length in [1 << 10, 100 << 10, 3 << 20] {
        let long = "x".repeat(length);
        assert!(stranger.reserve("ada", 1, &[&long]).await.unwrap().room == format!("ada: {long}"));
    }
}

#[tokio::test]
async fn many_strangers_call_at_once() {
    let daemon = listening();
    let _serving = serve(daemon.server().await);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let stranger = stranger(&daemon).await;
        for nights in 0..300 {
            let stranger = stranger.clone();
            calls.spawn(async move { (nights, stranger.reserve("ada", nights, &[]).await.unwrap().price) });
        }
    }
    while let Some(call) = calls.join_next().await {
        let (nights, price) = call.unwrap();
        assert_eq!(price, 100 * nights);
    }
}

/// Returns true if a connection hears the settings of HTTP/2, and is not closed before.
async fn is_taken(to: &str) -> bool {
    let heard = async {
        let mut connection = TcpStream::connect(to).await?;
        connection.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await?;
        connection.read(&mut [0; 64]).await
    };
    heard.await.is_ok_and(|heard| heard > 0)
}

#[tokio::test]
async fn an_address_with_its_part_of_the_connections_keeps_no_other_out() {
    let peers = Peers { grpc: Some("127.0.0.1:0".parse().unwrap()), per_address: 2, ..Peers::default() };
    let daemon = Running::with(Settings { peers, ..Settings::default() });
    let _serving = serve(daemon.server().await);
    let strangers = [stranger(&daemon).await, stranger(&daemon).await];
    for stranger in &strangers {
        stranger.reserve("ada", 1, &[]).await.unwrap();
    }
    let to = daemon.grpc_addr.as_ref().unwrap().to_string();
    assert!(!is_taken(&to).await);
    let other = Stranger::connect_from("127.0.0.2".parse().unwrap(), &to).await;
    assert_eq!(other.reserve("ada", 1, &[]).await.unwrap().price, 100);
    // A place that is left is there for the next.
    drop(strangers);
    let next = async {
        while !is_taken(&to).await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(SOON, next).await.unwrap();
}

/// A hotel that never answers `Ping`, and counts these calls.
struct Sleepy(Arc<AtomicUsize>);

impl Handle<Hotel> for Sleepy {
    async fn handle(&self, call: Incoming<Hotel>) {
        if call.method() == Ping::NUMBER {
            self.0.fetch_add(1, Relaxed);
            std::future::pending::<()>().await;
        }
        hotel::answer(call).await;
    }
}

#[tokio::test]
async fn a_peer_whose_calls_sleep_leaves_places_at_the_server_to_others() {
    let daemon = listening();
    let asleep = Arc::new(AtomicUsize::new(0));
    let _serving = tokio::spawn(daemon.server().await.serve(Sleepy(Arc::clone(&asleep))));
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let stranger = stranger(&daemon).await;
        for _ in 0..550 {
            let stranger = stranger.clone();
            calls.spawn(
                async move { stranger.call("/hotel.Hotel/Ping", Request::new(Asked::default())).await },
            );
        }
    }
    let sleeping = async {
        while asleep.load(Relaxed) < 512 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(SOON, sleeping).await.unwrap();
    let client = daemon.client().await;
    let to = daemon.grpc_addr.as_ref().unwrap().to_string();
    let other = Stranger::connect_from("127.0.0.2".parse().unwrap(), &to).await;
    for nights in 1..=20 {
        let asked = request(&client.heap(), "ada", nights, &[]);
        assert_eq!(client.call::<Reserve>(asked, Some(SOON)).await.unwrap().price, 100 * nights);
        let answered = tokio::time::timeout(SOON, other.reserve("ada", nights, &[])).await.unwrap();
        assert_eq!(answered.unwrap().price, 100 * nights);
    }
    assert_eq!(asleep.load(Relaxed), 512, "both connections of the peer have one part");
    // Those who go leave their places to those who wait.
    calls.abort_all();
    let stranger = stranger(&daemon).await;
    tokio::time::timeout(SOON, stranger.reserve("ada", 1, &[])).await.unwrap().unwrap();
}

#[tokio::test]
async fn policies_hold_for_strangers() {
    let daemon = listening();
    let _serving = serve(daemon.server().await);
    let stranger = stranger(&daemon).await;
    stranger.reserve("eve", 1, &[]).await.unwrap();
    let [service, name, kind] = ["hotel", "acl", "acl"].map(Into::into);
    let order = Order::Add { service, name, kind, settings: "field=customer deny=eve".into() };
    order.give(&daemon.path).await.unwrap();
    let status = stranger.reserve("eve", 1, &[]).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied, "{status}");
    stranger.reserve("ada", 1, &[]).await.unwrap();
}

#[tokio::test]
async fn a_newcomer_takes_no_calls_of_strangers_away_nor_their_policies() {
    let daemon = listening();
    let _serving = serve(daemon.attach().server("middle").await.unwrap());
    let stranger = stranger(&daemon).await;
    let [service, name, kind] = ["middle", "acl", "acl"].map(Into::into);
    let order = Order::Add { service, name, kind, settings: "field=customer deny=eve".into() };
    order.give(&daemon.path).await.unwrap();
    for newcomer in ["aaa", "zzz", "hotel.Hotel"] {
        let _serving = serve(daemon.attach().server(newcomer).await.unwrap());
        let status = stranger.reserve("eve", 1, &[]).await.unwrap_err();
        assert_eq!(status.code(), Code::PermissionDenied, "{newcomer}: {status}");
    }
}

#[tokio::test]
async fn calls_of_strangers_wait_for_a_limit_and_go_on() {
    let daemon = listening();
    let _serving = serve(daemon.server().await);
    let stranger = stranger(&daemon).await;
    stranger.reserve("ada", 1, &[]).await.unwrap();
    let [service, name, kind] = ["hotel", "limit", "rate-limit"].map(Into::into);
    let order = Order::Add { service, name, kind, settings: "per-second=20 burst=1".into() };
    order.give(&daemon.path).await.unwrap();
    // Each but the first is held, and nobody says anything meanwhile.
    for nights in 1..=5 {
        assert_eq!(stranger.reserve("ada", nights, &[]).await.unwrap().price, 100 * nights);
    }
}

#[tokio::test]
async fn what_goes_wrong_has_the_code_of_grpc() {
    let daemon = listening();
    let stranger = stranger(&daemon).await;
    let code =
        |outcome: Result<_, tonic::Status>| outcome.map(|_: stranger::Answered| ()).unwrap_err().code();
    assert_eq!(code(stranger.reserve("ada", 1, &[]).await), Code::Unimplemented);
    let server = daemon.server().await;
    let asked = || Request::new(Asked::default());
    assert_eq!(code(stranger.call("/hotel.Hotel/Leave", asked()).await), Code::Unimplemented);
    assert_eq!(code(stranger.call("/hotel.Motel/Reserve", asked()).await), Code::Unimplemented);
    let long = "x".repeat(5 << 20);
    assert_eq!(code(stranger.reserve("ada", 1, &[&long]).await), Code::ResourceExhausted);
    let mut late = asked();
    late.set_timeout(Duration::from_millis(100));
    // tonic, too, ends the call by then.
    let late = code(stranger.call("/hotel.Hotel/Reserve", late).await);
    assert!(matches!(late, Code::DeadlineExceeded | Code::Cancelled), "{late:?}");
    drop(server);
    // A server that has gone comes back.
    let gone = async {
        loop {
            match code(stranger.reserve("ada", 1, &[]).await) {
                Code::Unavailable => break,
                // The daemon has not noticed yet, or has failed the call with the server.
                other => assert!(matches!(other, Code::Unknown | Code::Cancelled), "{other:?}"),
            }
        }
    };
    tokio::time::timeout(SOON, gone).await.unwrap();
    let mut server = daemon.server().await;
    let (outcome, ()) = tokio::join!(stranger.reserve("ada", 1, &[]), async {
        // The call whose deadline passed may come first.
        drop(server.next().await.unwrap());
    });
    assert_eq!(code(outcome), Code::Unknown);
}

#[tokio::test]
async fn a_stranger_that_takes_no_responses_holds_a_bounded_memory() {
    let daemon = listening();
    let _serving = serve(daemon.server().await);
    let to = daemon.grpc_addr.as_ref().unwrap().to_string();
    let socket = TcpStream::connect(&to).await.unwrap();
    let (sender, connection) = h2::client::Builder::new()
        .initial_window_size(0)
        .handshake::<_, prost::bytes::Bytes>(socket)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let guests = vec!["x".repeat(3 << 20)];
    let asked = prost::Message::encode_to_vec(&Asked { customer: "ada".into(), nights: 1, guests });
    let body = [&[0][..], &(asked.len() as u32).to_be_bytes(), &asked].concat();
    let (head, mut heads) = tokio::sync::mpsc::unbounded_channel();
    let mut sent = 0;
    for _ in 0..10 {
        let request = http::Request::post(format!("http://{to}/hotel.Hotel/Reserve"));
        let request = request.header("content-type", "application/grpc").body(()).unwrap();
        let mut sender = sender.clone().ready().await.unwrap();
        let (response, mut stream) = sender.send_request(request, false).unwrap();
        stream.send_data(body.clone().into(), true).unwrap();
        let head = head.clone();
        tokio::spawn(async move {
            let response = response.await.unwrap();
            // A call that fails for want of room has its status in the head.
            let is_sent = !response.headers().contains_key("grpc-status");
            head.send(is_sent).unwrap();
            if is_sent {
                std::future::pending::<()>().await;
            }
            drop(response);
        });
        // One request after another has room to be read. The heads of the first responses come, and those of the others wait.
        let head = tokio::time::timeout(Duration::from_secs(1), heads.recv()).await;
        sent += u32::from(matches!(head, Ok(Some(true))));
    }
    assert!((1..=5).contains(&sent), "{sent} responses are being sent");
    let stranger = stranger(&daemon).await;
    assert_eq!(stranger.reserve("ada", 1, &[]).await.unwrap().price, 100);
    connection.abort();
}

#[tokio::test]
async fn the_daemon_tells_of_its_services() {
    let daemon = listening();
    let _serving = serve(daemon.server().await);
    let to = daemon.grpc_addr.as_ref().unwrap().to_string();
    let health = stranger::ask(&to, "/grpc.health.v1.Health/Check", &text(1, b"hotel.Hotel")).await.unwrap();
    assert_eq!(health, [8, 1]);
    let unknown = stranger::ask(&to, "/grpc.health.v1.Health/Check", &text(1, b"motel")).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    for version in ["v1", "v1alpha"] {
        let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
        let services = stranger::ask(&to, &path, &text(7, b"")).await.unwrap();
        let names = [&b"grpc.health.v1.Health"[..], b"hotel.Hotel"].map(|name| text(1, &text(1, name)));
        assert!(services.ends_with(&text(6, &names.concat())), "{services:?}");
        let files = stranger::ask(&to, &path, &text(4, b"hotel.Hotel.Reserve")).await.unwrap();
        assert!(files.windows(11).any(|part| part == b"hotel.proto"), "{files:?}");
        let missing = stranger::ask(&to, &path, &text(3, b"motel.proto")).await.unwrap();
        assert!(missing.windows(8).any(|part| part == b"nothing "), "{missing:?}");
    }
}

/// Returns a field of a message in protobuf, whose content is this.
fn text(field: u8, content: &[u8]) -> Vec<u8> {
    [&[field << 3 | 2, content.len() as u8], content].concat()
}

#[tokio::test]
async fn a_call_that_a_stranger_gives_up_leaves_nothing() {
    let daemon = listening();
    let mut server = daemon.server().await;
    let stranger = stranger(&daemon).await;
    for _ in 0..50 {
        let call = tokio::time::timeout(Duration::from_millis(5), stranger.reserve("ada", 1, &["guest"]));
        assert!(call.await.is_err());
    }
    let _serving = tokio::spawn(async move {
        while let Ok(call) = server.next().await {
            hotel::answer(call).await;
        }
    });
    assert_eq!(stranger.reserve("ada", 2, &[]).await.unwrap().price, 200);
}

#[tokio::test]
async fn an_application_calls_a_stranger() {
    let daemon = leading(stranger::serve().await);
    let client = daemon.client().await;
    for nights in 1..=50 {
        let asked = request(&client.heap(), "ada", nights, &["grace", "edsger"]);
        let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
        assert_eq!((response.room.as_str(), response.price), ("ada: grace, edsger", 100 * nights));
    }
    for length in [100 << 10, 3 << 20] {
        let long = "x".repeat(length);
        let response =
            client.call::<Reserve>(request(&client.heap(), "ada", 1, &[&long]), Some(SOON)).await.unwrap();
        assert!(response.room.as_str() == format!("ada: {long}"));
    }
    let failure =
        client.call::<Reserve>(request(&client.heap(), "eve", 1, &[]), Some(SOON)).await.err().unwrap();
    assert_eq!((failure.kind(), failure.text()), (FailureKind::Denied, "no room for eve, 100 % sure"));
    let failure =
        client.call::<Reserve>(request(&client.heap(), "long", 1, &[]), Some(SOON)).await.err().unwrap();
    assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::TooLarge, true), "{failure}");
    let within = Some(Duration::from_millis(200));
    let failure =
        client.call::<Reserve>(request(&client.heap(), "slow", 1, &[]), within).await.err().unwrap();
    assert_eq!(failure.kind(), FailureKind::TimedOut);
    let failure = client.call::<Ping>(Empty {}, Some(SOON)).await.err().unwrap();
    assert_eq!(failure.kind(), FailureKind::UnknownMethod);
}

#[tokio::test]
async fn two_daemons_speak_grpc_to_each_other() {
    let far = listening();
    let _serving = serve(far.server().await);
    let near = leading(far.grpc_addr.as_ref().unwrap().to_string().parse().unwrap());
    let client = near.client().await;
    client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    let asked = request(&client.heap(), "ada", 3, &["grace"]);
    let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
    assert_eq!((response.room.as_str(), response.price), ("ada: grace", 300));
}

/// Answers the first call of a connection, and closes it.
async fn answer_once(socket: TcpStream) {
    let mut connection = h2::server::handshake(socket).await.unwrap();
    let (_request, mut respond) = connection.accept().await.unwrap().unwrap();
    let head = http::Response::builder().header("content-type", "application/grpc").body(()).unwrap();
    let mut response = respond.send_response(head, false).unwrap();
    response.send_data(bytes::Bytes::from_static(&[0; 5]), false).unwrap();
    let status = [("grpc-status".parse().unwrap(), "0".parse().unwrap())];
    response.send_trailers(status.into_iter().collect()).unwrap();
    connection.graceful_shutdown();
    while connection.accept().await.is_some() {}
}

#[tokio::test]
async fn an_answer_counts_that_came_before_its_connection_ended() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let daemon = leading(listener.local_addr().unwrap());
    let client = daemon.client().await;
    for _ in 0..20 {
        let answering = async { answer_once(listener.accept().await.unwrap().0).await };
        let (outcome, ()) = tokio::join!(client.call::<Ping>(Empty {}, Some(SOON)), answering);
        outcome.unwrap();
        // The daemon has seen the end, and connects again for the next call.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_server_that_is_no_server_of_grpc_fails_calls() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let daemon = leading(listener.local_addr().unwrap());
    let client = daemon.client().await;
    let answering = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        socket
    };
    let (outcome, _socket) = tokio::join!(client.call::<Ping>(Empty {}, Some(SOON)), answering);
    assert_eq!(outcome.err().unwrap().kind(), FailureKind::Unavailable);
}

#[tokio::test]
async fn what_is_no_call_of_grpc_disturbs_nobody() {
    let daemon = listening();
    let _serving = serve(daemon.server().await);
    let stranger = stranger(&daemon).await;
    let to = daemon.grpc_addr.as_ref().unwrap().to_string();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let settings_then_garbage = [&preface[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0], &[0xff; 64]].concat();
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 4096], preface, &settings_then_garbage, b""] {
        let mut stream = TcpStream::connect(&to).await.unwrap();
        stream.write_all(garbage).await.unwrap();
        let mut end = [0; 256];
        let _answered = tokio::time::timeout(Duration::from_millis(50), stream.read(&mut end)).await;
        assert_eq!(stranger.reserve("ada", 1, &[]).await.unwrap().price, 100);
    }
}
