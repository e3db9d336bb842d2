//! Servers of gRPC that take no more calls on a connection.

use crate::hotel::{Empty, Ping, Running};
use bertha_chunnels::rpc::FailureKind;
use bertha_rpcd::{Peers, Route, Settings};
use bytes::Bytes;
use h2::Reason;
use h2::server::{Connection, SendResponse};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const SOON: Duration = Duration::from_secs(20);

/// Starts a daemon that leads the calls of the hotel to a server of gRPC, which the test is.
async fn leading() -> (Running, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let routes = vec![("hotel".into(), Route::Grpc(listener.local_addr().unwrap()).into())];
    let daemon =
        Running::with(Settings { peers: Peers { routes, ..Peers::default() }, ..Settings::default() });
    (daemon, listener)
}

async fn accept(listener: &TcpListener) -> Connection<TcpStream, Bytes> {
    h2::server::handshake(listener.accept().await.unwrap().0).await.unwrap()
}

/// Answers a call.
fn answer(mut respond: SendResponse<Bytes>) {
    let head = http::Response::builder().header("content-type", "application/grpc").body(()).unwrap();
    let mut response = respond.send_response(head, false).unwrap();
    response.send_data(Bytes::from_static(&[0; 5]), false).unwrap();
    let status = [("grpc-status".parse().unwrap(), "0".parse().unwrap())];
    response.send_trailers(status.into_iter().collect()).unwrap();
}

/// Answers the first call of a connection.
async fn answer_first(connection: &mut Connection<TcpStream, Bytes>) {
    let (_request, respond) = connection.accept().await.unwrap().unwrap();
    answer(respond);
}

#[tokio::test]
async fn calls_after_a_goodbye_go_to_another_connection_and_those_before_have_their_responses() {
    let (daemon, listener) = leading().await;
    let client = daemon.client().await;
    let ping = || client.call::<Ping>(Empty {}, Some(SOON));
    let serving = async {
        let mut first = accept(&listener).await;
        let (_request, under_way) = first.accept().await.unwrap().unwrap();
        first.graceful_shutdown();
        // The client has heard the goodbye when its answer to the ping behind it has come, which ends no connection with a call.
        let polled = async { first.accept().await.is_none() };
        assert!(tokio::time::timeout(Duration::from_millis(200), polled).await.is_err());
        let later = async {
            for _ in 0..3 {
                ping().await.unwrap();
            }
        };
        let second = async {
            let mut second = accept(&listener).await;
            loop {
                answer_first(&mut second).await;
            }
        };
        tokio::select! {
            () = later => {}
            () = second => unreachable!("it goes on"),
            call = first.accept() => panic!("a call comes behind the goodbye, or the connection ends: {call:?}"),
        }
        answer(under_way);
        while first.accept().await.is_some() {}
    };
    let (outcome, ()) = tokio::join!(ping(), serving);
    outcome.unwrap();
}

/// Answers the ping of a connection, hears the beginning of a call, and says goodbye as a server that takes none: GOAWAY behind stream 0.
async fn refuse_all(listener: &TcpListener) -> TcpStream {
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut heard = Vec::new();
    let payload = loop {
        assert!(socket.read_buf(&mut heard).await.unwrap() > 0);
        let ping = heard.windows(17).find(|bytes| bytes.starts_with(b"\0\0\x08\x06\0\0\0\0\0"));
        if let Some(ping) = ping {
            break ping[9..].to_vec();
        }
    };
    socket.write_all(b"\0\0\0\x04\0\0\0\0\0").await.unwrap();
    socket.write_all(&[&b"\0\0\x08\x06\x01\0\0\0\0"[..], &payload].concat()).await.unwrap();
    heard.clear();
    // A frame HEADERS, which is whole.
    while !heard.windows(2).any(|bytes| bytes == [1, 4]) {
        assert!(socket.read_buf(&mut heard).await.unwrap() > 0);
    }
    socket.write_all(b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0").await.unwrap();
    socket
}

#[tokio::test]
async fn a_call_behind_the_last_that_a_server_takes_did_not_run_and_the_next_finds_another_connection() {
    let (daemon, listener) = leading().await;
    let client = daemon.client().await;
    let (outcome, _socket) = tokio::join!(client.call::<Ping>(Empty {}, Some(SOON)), refuse_all(&listener));
    let failure = outcome.err().unwrap();
    assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Unavailable, false), "{failure}");
    let serving = async {
        let mut connection = accept(&listener).await;
        answer_first(&mut connection).await;
        let _next = tokio::time::timeout(Duration::from_millis(100), connection.accept()).await;
    };
    let (outcome, ()) = tokio::join!(client.call::<Ping>(Empty {}, Some(SOON)), serving);
    outcome.unwrap();
}

#[tokio::test]
async fn a_call_whose_stream_is_refused_did_not_run_and_others_may_have() {
    let (daemon, listener) = leading().await;
    let client = daemon.client().await;
    let serving = async {
        let mut connection = accept(&listener).await;
        for reason in [Reason::REFUSED_STREAM, Reason::INTERNAL_ERROR] {
            let (_request, mut respond) = connection.accept().await.unwrap().unwrap();
            respond.send_reset(reason);
        }
        while connection.accept().await.is_some() {}
    };
    let calling = async {
        for (may_have_run, text) in [(false, "refused"), (true, "internal")] {
            let failure = client.call::<Ping>(Empty {}, Some(SOON)).await.err().unwrap();
            assert_eq!(
                (failure.kind(), failure.may_have_run()),
                (FailureKind::Unavailable, may_have_run),
                "{failure}"
            );
            assert!(failure.to_string().contains(text), "{failure}");
        }
    };
    tokio::select! {
        () = serving => unreachable!("the connection stays"),
        () = calling => {}
    }
}
