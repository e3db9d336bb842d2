//! Methods with streams of messages, which callers of gRPC can't call.

use crate::hotel::{self, ReserveBesideStreams, Running, StreamingHotel};
use crate::stranger::{self, Asked, Stranger};
use bertha_rpcd::{Peers, Settings};
use tonic::{Code, Request};

/// A hotel with methods that have streams. It answers `Reserve`, and gets no other call.
async fn serve(daemon: &Running) -> tokio::task::JoinHandle<()> {
    let mut server = daemon.attach().server::<StreamingHotel>("hotel").await.unwrap();
    tokio::spawn(async move {
        while let Ok(mut call) = server.next().await {
            assert_eq!(call.method(), 1, "a method with streams is called");
            let price = 100 * call.request::<ReserveBesideStreams>().unwrap().nights;
            let room = bertha_managed::heap::String::from_str_in("one", call.heap());
            call.respond::<ReserveBesideStreams>(hotel::Response { room, price }).await.unwrap();
        }
    })
}

#[tokio::test]
async fn methods_with_streams_are_unimplemented_and_others_are_called() {
    let peers = Peers { grpc: Some("127.0.0.1:0".parse().unwrap()), ..Peers::default() };
    let daemon = Running::with(Settings { peers, ..Settings::default() });
    let serving = serve(&daemon).await;
    let addr = daemon.grpc_addr.as_ref().unwrap().to_string();
    let stranger = Stranger::connect(&addr).await;
    for path in ["/hotel.Hotel/Watch", "/hotel.Hotel/Upload", "/hotel.Hotel/Talk"] {
        let name = path.rsplit_once('/').unwrap().1;
        let is_right = |status: &tonic::Status| {
            let expected = format!("hotel.Hotel has no method {name} without streams");
            assert_eq!((status.code(), status.message()), (Code::Unimplemented, expected.as_str()));
        };
        // A caller with one message, and one with streams.
        is_right(&stranger.call(path, Request::new(Asked::default())).await.unwrap_err());
        is_right(&stranger::ask(&addr, path, &[]).await.unwrap_err());
        assert_eq!(stranger.reserve("ada", 2, &[]).await.unwrap().price, 200);
    }
    assert!(!serving.is_finished());
}
