//! Strangers over HTTP/2 who take what they can, and those who come meanwhile.

use crate::from_address;
use crate::hotel::{self, Hotel, Ping, Running, serve};
use crate::stranger::Stranger;
use bertha_managed::Method;
use bertha_managed::application::{Handle, Incoming};
use bertha_rpcd::{Peers, Settings};
use bytes::Bytes;
use h2::client::SendRequest;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(20);

/// Codes of gRPC.
const DEADLINE_EXCEEDED: &str = "4";
const RESOURCE_EXHAUSTED: &str = "8";

/// Starts a daemon that takes calls of gRPC.
fn listening() -> (Running, SocketAddr) {
    let peers = Peers { grpc: Some("127.0.0.1:0".parse().unwrap()), ..Peers::default() };
    let daemon = Running::with(Settings { peers, ..Settings::default() });
    let to = daemon.grpc_addr.as_ref().unwrap().to_string().parse().unwrap();
    (daemon, to)
}

/// A connection that says what it is told to.
struct Raw {
    sender: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
}

impl Raw {
    async fn connect(from: &str, to: SocketAddr) -> Self {
        let (sender, connection) =
            h2::client::handshake(from_address::connect(from, to).await).await.unwrap();
        Self { sender, connection: tokio::spawn(connection) }
    }

    /// Sends a request, whose body ends only if it has a deadline. Returns the status when it comes.
    fn begin(
        &self,
        path: &str,
        deadline: Option<&str>,
        body: Vec<u8>,
    ) -> impl Future<Output = String> + use<> {
        let mut request = http::Request::post(format!("http://daemon{path}"));
        request = request.header("content-type", "application/grpc");
        if let Some(deadline) = deadline {
            request = request.header("grpc-timeout", deadline);
        }
        let is_last = deadline.is_some();
        let (request, sender) = (request.body(()).unwrap(), self.sender.clone());
        async move {
            let (response, mut stream) = sender.ready().await.unwrap().send_request(request, false).unwrap();
            stream.send_data(body.into(), is_last).unwrap();
            let head = response.await.unwrap();
            let status = head.headers().get("grpc-status");
            status.map_or("in the trailers", |status| status.to_str().unwrap()).to_owned()
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// Returns the beginning of a message that announces so many bytes, and has so many.
fn message(announced: u32, has: usize) -> Vec<u8> {
    [&[0][..], &announced.to_be_bytes(), &vec![0; has]].concat()
}

#[tokio::test]
async fn requests_of_an_address_that_never_come_whole_leave_room_to_others() {
    let (daemon, to) = listening();
    let _serving = serve(daemon.server().await);
    let (mut begun, mut connections) = (JoinSet::new(), Vec::new());
    for _ in 0..3 {
        let connection = Raw::connect("127.0.0.1", to).await;
        for _ in 0..40 {
            begun.spawn(connection.begin("/hotel.Hotel/Reserve", None, message(4 << 20, 1 << 20)));
        }
        connections.push(connection);
    }
    // Three connections have room for 48 such requests, and the address for less than 32.
    for _ in 0..120 - 32 {
        let status = timeout(SOON, begun.join_next()).await.unwrap().unwrap().unwrap();
        assert_eq!(status, RESOURCE_EXHAUSTED);
    }
    let other = Stranger::connect_from("127.0.0.2".parse().unwrap(), &to.to_string()).await;
    let long = "x".repeat(3 << 20);
    assert_eq!(other.reserve("ada", 1, &[&long]).await.unwrap().price, 100);
    begun.abort_all();
    drop(connections);
    let again = Stranger::connect(&to.to_string()).await;
    let served = async { while again.reserve("ada", 1, &[&long]).await.is_err() {} };
    timeout(SOON, served).await.unwrap();
}

#[tokio::test]
async fn a_message_that_is_announced_as_too_long_is_refused_before_it_comes() {
    let (daemon, to) = listening();
    let _serving = serve(daemon.server().await);
    let connection = Raw::connect("127.0.0.1", to).await;
    for announced in [(4 << 20) + 1, u32::MAX] {
        let status = connection.begin("/hotel.Hotel/Reserve", None, message(announced, 0));
        assert_eq!(timeout(SOON, status).await.unwrap(), RESOURCE_EXHAUSTED);
    }
}

/// A hotel that counts calls.
struct Counting(Arc<AtomicUsize>);

impl Handle<Hotel> for Counting {
    async fn handle(&self, call: Incoming<Hotel>) {
        assert_eq!(call.method(), Ping::NUMBER);
        self.0.fetch_add(1, Relaxed);
        hotel::answer(call).await;
    }
}

#[tokio::test]
async fn a_call_whose_deadline_has_passed_does_not_run() {
    let (daemon, to) = listening();
    let run = Arc::new(AtomicUsize::new(0));
    let _serving = tokio::spawn(daemon.server().await.serve(Counting(Arc::clone(&run))));
    let connection = Raw::connect("127.0.0.1", to).await;
    for deadline in ["0n", "0m", "00000000H"] {
        let status = connection.begin("/hotel.Hotel/Ping", Some(deadline), message(0, 0));
        assert_eq!(timeout(SOON, status).await.unwrap(), DEADLINE_EXCEEDED, "{deadline}");
    }
    assert_eq!(run.load(Relaxed), 0);
}

#[tokio::test]
async fn those_who_hold_all_places_and_say_nothing_keep_nobody_out() {
    // Both ends are in this process.
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let (daemon, to) = listening();
    let _serving = serve(daemon.server().await);
    let mut held = Vec::new();
    for host in 10..14 {
        for _ in 0..256 {
            held.push(Raw::connect(&format!("127.0.0.{host}"), to).await);
        }
    }
    let mut newcomers = Vec::new();
    for host in 20..24 {
        let (from, to) = (format!("127.0.0.{host}").parse().unwrap(), to.to_string());
        let newcomer = timeout(SOON, Stranger::connect_from(from, &to)).await.unwrap();
        assert_eq!(timeout(SOON, newcomer.reserve("ada", 1, &[])).await.unwrap().unwrap().price, 100);
        newcomers.push(newcomer);
    }
    // Those who came last stay, though they are idle.
    for newcomer in newcomers {
        assert_eq!(newcomer.reserve("ada", 2, &[]).await.unwrap().price, 200);
    }
    let gone = async {
        while held.iter().filter(|held| held.connection.is_finished()).count() < 4 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, gone).await.unwrap();
    let (at, gone) = held.iter_mut().enumerate().find(|(_, held)| held.connection.is_finished()).unwrap();
    assert_eq!(at, 0, "the first was idle for longest");
    let told = (&mut gone.connection).await.unwrap();
    assert!(told.is_ok(), "a goodbye without an error: {told:?}");
}

#[tokio::test]
async fn requests_that_are_no_calls_end_a_connection_that_goes_on_with_them() {
    let (daemon, to) = listening();
    let _serving = serve(daemon.server().await);
    let mut connection = Raw::connect("127.0.0.1", to).await;
    let mut calling = JoinSet::new();
    for _ in 0..16 {
        let sender = connection.sender.clone();
        // Each request ends with its headers, so that HTTP/2 itself has nothing against it.
        calling.spawn(async move {
            let request = || http::Request::post("http://daemon/hotel.Motel/Reserve");
            while let Ok(mut sender) = sender.clone().ready().await {
                let request = request().header("content-type", "application/grpc").body(()).unwrap();
                let Ok((response, _)) = sender.send_request(request, true) else { break };
                if response.await.is_err() {
                    break;
                }
            }
        });
    }
    let ended = timeout(SOON, &mut connection.connection).await.unwrap().unwrap().unwrap_err();
    assert_eq!(ended.reason(), Some(h2::Reason::ENHANCE_YOUR_CALM));
}

#[tokio::test]
async fn frames_that_belong_to_no_call_end_a_connection_that_goes_on_with_them() {
    let (_daemon, to) = listening();
    let mut socket = from_address::connect("127.0.0.1", to).await;
    socket.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    // An unknown kind of frame is passed over.
    let frame = [&[0, 64, 0, 0xee, 0, 0, 0, 0, 0][..], &[0; 16 << 10]].concat();
    let going_on = async { while socket.write_all(&frame).await.is_ok() {} };
    timeout(SOON, going_on).await.unwrap();
}
