//! Envoy between a stranger and the daemon, in both directions.

use crate::authority::Authority;
use crate::envoy::{Envoy, Way};
use crate::hotel::{self, Empty, Hotel, Ping, Reserve, Running, request, serve};
use crate::stranger::{self, Answered, Asked, Stranger};
use bertha_chunnels::rpc::{Failure, FailureKind};
use bertha_managed::Method;
use bertha_managed::application::{Handle, Incoming};
use bertha_rpcd::{GrpcTls, Peers, Route, Settings};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tonic::{Code, Request, Status};

const SOON: Duration = Duration::from_secs(30);

const NAME: &str = "hotel.example";

/// Starts a daemon that takes calls of gRPC at an address.
fn listening(at: &str, grpc_tls: GrpcTls) -> (Running, SocketAddr) {
    let peers = Peers { grpc: Some(at.parse().unwrap()), grpc_tls, ..Peers::default() };
    let daemon = Running::with(Settings { peers, ..Settings::default() });
    let addr = daemon.grpc_addr.as_ref().unwrap().to_string().parse().unwrap();
    (daemon, addr)
}

fn anywhere() -> (Running, SocketAddr) {
    listening("127.0.0.1:0", GrpcTls::default())
}

async fn through(envoy: &Envoy) -> Stranger {
    Stranger::connect(&envoy.addr.to_string()).await
}

fn code(outcome: Result<Answered, Status>) -> Code {
    outcome.map(drop).unwrap_err().code()
}

async fn calls_pass(stranger: &Stranger) {
    for nights in 1..=50 {
        let answered = stranger.reserve("ada", nights, &["grace", "edsger"]).await.unwrap();
        assert_eq!((answered.room.as_str(), answered.price), ("ada: grace, edsger", 100 * nights));
    }
    let long = "x".repeat(3 << 20);
    assert!(stranger.reserve("ada", 1, &[&long]).await.unwrap().room == format!("ada: {long}"));
    // It is refused before it has come whole, and the connection goes on.
    let longer = "x".repeat(8 << 20);
    assert_eq!(code(stranger.reserve("ada", 1, &[&longer]).await), Code::ResourceExhausted);
    assert_eq!(stranger.reserve("ada", 2, &[]).await.unwrap().price, 200);
}

#[tokio::test]
async fn calls_pass_through_envoy() {
    let (daemon, addr) = anywhere();
    let _serving = serve(daemon.server().await);
    let Some(envoy) = Envoy::start(addr, Way::default()).await else { return };
    calls_pass(&through(&envoy).await).await;
}

#[tokio::test]
async fn calls_pass_through_envoy_that_calls_by_tls() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, authority.pem()).unwrap();
    let identity = Some(authority.issue(NAME).identity());
    let (daemon, addr) = listening("127.0.0.1:0", GrpcTls { identity, ..GrpcTls::default() });
    let _serving = serve(daemon.server().await);
    let tls = Some((NAME, file.as_path()));
    let Some(envoy) = Envoy::start(addr, Way { tls, ..Way::default() }).await else { return };
    calls_pass(&through(&envoy).await).await;
}

#[tokio::test]
async fn many_calls_pass_at_once() {
    let (daemon, addr) = anywhere();
    let _serving = serve(daemon.server().await);
    let Some(envoy) = Envoy::start(addr, Way::default()).await else { return };
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let stranger = through(&envoy).await;
        for nights in 0..200 {
            let stranger = stranger.clone();
            calls.spawn(async move { (nights, stranger.reserve("ada", nights, &[]).await.unwrap().price) });
        }
    }
    while let Some(call) = calls.join_next().await {
        let (nights, price) = call.unwrap();
        assert_eq!(price, 100 * nights);
    }
}

/// A hotel that refuses `eve`, tells `late` how many seconds are left, and never answers `Ping`.
struct Strict {
    asleep: Arc<AtomicUsize>,
    woken: Arc<AtomicUsize>,
}

/// Counts when a call is dropped.
struct Woken(Arc<AtomicUsize>);

impl Drop for Woken {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

impl Handle<Hotel> for Strict {
    async fn handle(&self, mut call: Incoming<Hotel>) {
        if call.method() == Ping::NUMBER {
            let _woken = Woken(Arc::clone(&self.woken));
            self.asleep.fetch_add(1, Relaxed);
            return std::future::pending().await;
        }
        let asked = call.request::<Reserve>().unwrap();
        match asked.customer.as_str() {
            "eve" => {
                let failure = Failure::of(FailureKind::Denied, "no room for Zoë,\u{a0}100 % sure");
                call.fail(&failure).await.unwrap();
            }
            _ => {
                let price = call.within().map_or(-1, |within| within.as_secs() as i32);
                let response =
                    hotel::Response { room: bertha_managed::heap::String::new_in(call.heap()), price };
                call.respond::<Reserve>(response).await.unwrap();
            }
        }
    }
}

/// Waits until a count is so high.
async fn reaches(count: &AtomicUsize, expected: usize) {
    let reaching = async {
        while count.load(Relaxed) < expected {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(SOON, reaching).await.unwrap();
}

#[tokio::test]
async fn failures_deadlines_and_cancellations_pass_through_envoy() {
    let (daemon, addr) = anywhere();
    let [asleep, woken] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let strict = Strict { asleep: Arc::clone(&asleep), woken: Arc::clone(&woken) };
    let _serving = tokio::spawn(daemon.server().await.serve(strict));
    let Some(envoy) = Envoy::start(addr, Way::default()).await else { return };
    let stranger = through(&envoy).await;
    let status = stranger.reserve("eve", 1, &[]).await.unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (Code::PermissionDenied, "no room for Zoë,\u{a0}100 % sure")
    );
    assert_eq!(stranger.reserve("ada", 1, &[]).await.unwrap().price, -1);
    let mut timed = Request::new(Asked::default());
    timed.set_timeout(Duration::from_secs(3600));
    let left = stranger.call("/hotel.Hotel/Reserve", timed).await.unwrap().price;
    assert!((3000..=3600).contains(&left), "{left} seconds are left");

    let mut late = Request::new(Asked::default());
    late.set_timeout(Duration::from_millis(500));
    let late = code(stranger.call("/hotel.Hotel/Ping", late).await);
    // tonic, too, ends the call by then.
    assert!(matches!(late, Code::DeadlineExceeded | Code::Cancelled), "{late:?}");
    reaches(&woken, 1).await;
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let stranger = stranger.clone();
            tokio::spawn(
                async move { stranger.call("/hotel.Hotel/Ping", Request::new(Asked::default())).await },
            )
        })
        .collect();
    reaches(&asleep, 21).await;
    assert_eq!(woken.load(Relaxed), 1);
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    reaches(&woken, 21).await;
}

#[tokio::test]
async fn envoy_leads_calls_to_daemons_whose_service_is_healthy() {
    let (daemon, addr) = anywhere();
    let way = Way { checks: Some("hotel.Hotel"), ..Way::default() };
    let Some(envoy) = Envoy::start(addr, way).await else { return };
    let stranger = through(&envoy).await;
    envoy.finds(false).await;
    let status = stranger.reserve("ada", 1, &[]).await.unwrap_err();
    // The daemon itself would say that nobody serves.
    assert_eq!((status.code(), status.message()), (Code::Unavailable, "no healthy upstream"));
    for _ in 0..2 {
        let serving = serve(daemon.server().await);
        envoy.finds(true).await;
        assert_eq!(stranger.reserve("ada", 1, &[]).await.unwrap().price, 100);
        serving.abort();
        envoy.finds(false).await;
    }
}

#[tokio::test]
async fn a_daemon_that_comes_back_is_found_again() {
    let (daemon, addr) = anywhere();
    let serving = serve(daemon.server().await);
    let Some(envoy) = Envoy::start(addr, Way::default()).await else { return };
    let stranger = through(&envoy).await;
    assert_eq!(stranger.reserve("ada", 1, &[]).await.unwrap().price, 100);
    drop((serving, daemon));
    assert_eq!(code(stranger.reserve("ada", 1, &[]).await), Code::Unavailable);
    let (daemon, _) = listening(&addr.to_string(), GrpcTls::default());
    let _serving = serve(daemon.server().await);
    for nights in 1..=50 {
        assert_eq!(stranger.reserve("ada", nights, &[]).await.unwrap().price, 100 * nights);
    }
}

#[tokio::test]
async fn an_application_calls_a_stranger_behind_envoy() {
    let Some(envoy) = Envoy::start(stranger::serve().await, Way::default()).await else { return };
    let peers = Peers { routes: vec![("hotel".into(), Route::Grpc(envoy.addr).into())], ..Peers::default() };
    let daemon = Running::with(Settings { peers, ..Settings::default() });
    let client = daemon.client().await;
    let reserve = async |customer, nights, guests: &[&str], within| {
        client.call::<Reserve>(request(&client.heap(), customer, nights, guests), Some(within)).await
    };
    for nights in 1..=50 {
        let response = reserve("ada", nights, &["grace"], SOON).await.unwrap();
        assert_eq!((response.room.as_str(), response.price), ("ada: grace", 100 * nights));
    }
    let long = "x".repeat(3 << 20);
    assert!(reserve("ada", 1, &[&long], SOON).await.unwrap().room.as_str() == format!("ada: {long}"));
    let failure = reserve("eve", 1, &[], SOON).await.err().unwrap();
    assert_eq!((failure.kind(), failure.text()), (FailureKind::Denied, "no room for eve, 100 % sure"));
    let failure = reserve("slow", 1, &[], Duration::from_millis(200)).await.err().unwrap();
    assert_eq!(failure.kind(), FailureKind::TimedOut);
    let failure = client.call::<Ping>(Empty {}, Some(SOON)).await.err().unwrap();
    assert_eq!(failure.kind(), FailureKind::UnknownMethod);
    drop(envoy);
    let failure = reserve("ada", 1, &[], SOON).await.err().unwrap();
    assert_eq!(failure.kind(), FailureKind::Unavailable);
}
