//! Calls from an application to another of a machine with a daemon of its own.

use crate::from_address;
use crate::hotel::{Empty, Hotel, OtherHotel, Ping, Reserve, Running, answer, request, serve};
use bertha::chunnels::{Tls, TlsIdentity, Trust};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::application::Client;
use bertha_managed::engines::built_in;
use bertha_rpcd::{Change, PeerTls, Peers, Settings};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const SOON: Duration = Duration::from_secs(20);

fn acl(settings: &str) -> Change {
    let kind = built_in().into_iter().find(|kind| kind.name() == "acl").unwrap();
    Change::Add { name: "acl".into(), kind, settings: settings.parse().unwrap() }
}

#[tokio::test]
async fn a_call_reaches_the_server_of_another_machine_and_its_response_the_caller() {
    let [near, far] = Running::pair(None);
    let _serving = serve(far.server().await);
    let client = near.client().await;
    for nights in 1..=100 {
        let asked = request(&client.heap(), "ada", nights, &["grace", "edsger"]);
        let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
        assert_eq!((response.room.as_str(), response.price), ("ada: grace, edsger", 100 * nights));
    }
    client.call::<Ping>(Empty {}, None).await.unwrap();
}

#[tokio::test]
async fn messages_of_all_sizes_pass() {
    let [near, far] = Running::pair(None);
    let _serving = serve(far.server().await);
    let client = near.client().await;
    for length in [1, 1 << 10, 1 << 16, 3 << 20, 60 << 20, 100] {
        let long = "x".repeat(length);
        let asked = request(&client.heap(), "ada", 1, &[&long]);
        let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
        assert!(response.room.as_str() == format!("ada: {long}"), "{length}");
    }
}

#[tokio::test]
async fn calls_that_end_leave_no_memory_taken() {
    let [near, far] = Running::pair(None);
    let _serving = serve(far.server().await);
    let client = near.client().await;
    let long = "x".repeat(25 << 20);
    for number in 0..16 {
        let asked = request(&client.heap(), "ada", 1, &[&long]);
        let call = client.call::<Reserve>(asked, Some(SOON));
        if number % 2 == 0 {
            // The future is dropped at any point of the call.
            let _ended = tokio::time::timeout(Duration::from_millis(number), call).await;
        } else {
            call.await.unwrap();
        }
    }
}

#[tokio::test]
async fn many_calls_are_under_way_at_once() {
    let [near, far] = Running::pair(None);
    let _serving = serve(far.server().await);
    let client = Arc::new(near.client().await);
    let calls: Vec<_> = (0..2000)
        .map(|nights| {
            let client = Arc::clone(&client);
            tokio::spawn(async move {
                let asked = request(&client.heap(), "ada", nights, &[]);
                client.call::<Reserve>(asked, Some(SOON)).await.unwrap().price
            })
        })
        .collect();
    for (nights, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), 100 * nights as i32);
    }
}

/// Returns the number of connections to an address that are established.
fn connections_to(addr: &str) -> usize {
    let port: u16 = addr.rsplit_once(':').unwrap().1.parse().unwrap();
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let is_to = |line: &str| {
        let mut columns = line.split_whitespace().skip(2);
        columns.next().is_some_and(|peer| peer.ends_with(&format!(":{port:04X}")))
            && columns.next() == Some("01")
    };
    sockets.lines().filter(|line| is_to(line)).count()
}

#[tokio::test]
async fn a_connection_ends_when_a_route_leads_elsewhere_and_its_calls_have_ended() {
    let [near, far] = Running::pair(None);
    let _serving = serve(far.server().await);
    let client = near.client().await;
    let route = bertha_rpcd::Route::Daemon(far.peer_addr.clone().unwrap());
    for nights in 0..30 {
        let asked = request(&client.heap(), "ada", nights, &[]);
        let call = client.call::<Reserve>(asked, Some(SOON));
        let changed = async { near.operator.lead("hotel", Some(route.clone().into())) };
        let (response, _nights) = tokio::join!(call, changed);
        assert_eq!(response.unwrap().price, 100 * nights);
    }
    client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    let ended = async {
        while connections_to(&far.peer_addr.as_ref().unwrap().to_string()) > 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(SOON, ended).await.unwrap();
}

#[tokio::test]
async fn the_policies_of_both_machines_hold() {
    let [near, far] = Running::pair(None);
    let _serving = serve(far.server().await);
    near.operator.change("hotel", &acl("field=customer deny=eve")).unwrap();
    far.operator.change("hotel", &acl("field=customer deny=mallory")).unwrap();
    let client = near.client().await;
    for (customer, expected) in
        [("ada", None), ("eve", Some(FailureKind::Denied)), ("mallory", Some(FailureKind::Denied))]
    {
        let asked = request(&client.heap(), customer, 1, &[]);
        let response = client.call::<Reserve>(asked, Some(SOON)).await;
        let failure = response.err();
        assert_eq!(
            failure.as_ref().map(bertha_chunnels::rpc::Failure::kind),
            expected,
            "{customer}: {failure:?}"
        );
    }
}

#[tokio::test]
async fn a_server_of_another_schema_is_refused_with_the_first_difference() {
    let [near, far] = Running::pair(None);
    let _other = far.attach().server::<OtherHotel>("hotel").await.unwrap();
    let client = near.client().await;
    let asked = request(&client.heap(), "ada", 1, &[]);
    let failure = client.call::<Reserve>(asked, Some(SOON)).await.err().unwrap();
    assert_eq!(failure.kind(), FailureKind::Malformed);
    assert!(failure.to_string().contains("customer"), "{failure}");
}

#[tokio::test]
async fn a_daemon_that_is_not_there_fails_calls_and_takes_them_when_it_has_come() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let routes = vec![("hotel".into(), addr.into())];
    let near = Running::with(Settings { peers: Peers { routes, ..Peers::default() }, ..Settings::default() });
    let client = near.client().await;
    let ping = async || client.call::<Ping>(Empty {}, Some(SOON)).await;
    for _ in 0..3 {
        let failure = ping().await.err().unwrap();
        assert_eq!(failure.kind(), FailureKind::Unavailable);
        assert!(
            !failure.may_have_run() && failure.to_string().contains("takes no calls of hotel"),
            "{failure}"
        );
    }
    let peers = Peers { listen: Some(addr.into()), ..Peers::default() };
    let far = Running::with(Settings { peers, ..Settings::default() });
    let failure = ping().await.err().unwrap();
    assert!(failure.to_string().contains("no application serves hotel"), "{failure}");
    let mut server = far.server().await;
    // A call under way has one outcome when the other daemon ends; a later one finds the next daemon.
    let (outcome, call) = tokio::join!(ping(), async {
        let call = server.next().await.unwrap();
        tokio::task::spawn_blocking(move || drop(far)).await.unwrap();
        call
    });
    let failure = outcome.err().unwrap();
    assert!(failure.may_have_run() && failure.kind() == FailureKind::Unavailable, "{failure}");
    drop((call, server));
    let peers = Peers { listen: Some(addr.into()), ..Peers::default() };
    let far = Running::with(Settings { peers, ..Settings::default() });
    let mut server = far.server().await;
    let (response, _nights) = tokio::join!(ping(), async { answer(server.next().await.unwrap()).await });
    response.unwrap();
}

#[tokio::test]
async fn the_late_response_to_a_call_that_its_caller_gave_up_disturbs_no_other() {
    let [near, far] = Running::pair(None);
    let mut server = far.server().await;
    let client = near.client().await;
    let (failure, call) =
        tokio::join!(client.call::<Ping>(Empty {}, Some(Duration::from_millis(300))), async {
            server.next().await.unwrap()
        },);
    assert_eq!(failure.err().unwrap().kind(), FailureKind::TimedOut);
    call.respond::<Ping>(Empty {}).await.unwrap();
    let call = client.call::<Ping>(Empty {}, Some(SOON));
    let (response, _nights) = tokio::join!(call, async { answer(server.next().await.unwrap()).await });
    response.unwrap();
}

/// Returns the TLS of daemons with one certificate, which they trust.
fn certified(name: &str) -> PeerTls {
    let certified = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let identity =
        || TlsIdentity::from_pem(certified.cert.pem(), certified.signing_key.serialize_pem()).unwrap();
    let trust = || Trust::ca_pem(certified.cert.pem()).unwrap();
    let server = Tls::server(identity()).unwrap().require_clients(trust());
    let client = Tls::client(name, trust()).unwrap().identity(identity());
    PeerTls { server, client }
}

#[tokio::test]
async fn daemons_with_certificates_call_each_other_and_no_others() {
    let tls = certified("daemons");
    let [near, far] = Running::pair(Some(tls));
    let _serving = serve(far.server().await);
    let client = near.client().await;
    let long = "x".repeat(3 << 20);
    let asked = request(&client.heap(), "ada", 1, &[&long]);
    let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
    assert!(response.room.as_str() == format!("ada: {long}"));
    for tls in [None, Some(certified("daemons"))] {
        let routes =
            vec![("hotel".into(), bertha_rpcd::Route::Daemon(far.peer_addr.clone().unwrap()).into())];
        let stranger = Running::with(Settings {
            peers: Peers { routes, tls, ..Peers::default() },
            ..Settings::default()
        });
        let client = stranger.client().await;
        let failure = client.call::<Ping>(Empty {}, Some(SOON)).await.err().unwrap();
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Unavailable, false), "{failure}");
    }
}

/// Starts a daemon that leads the calls of these services to another.
fn leading(services: &[&str], to: &SocketAddr) -> Running {
    let routes = services.iter().map(|service| ((*service).into(), (*to).into())).collect();
    Running::with(Settings { peers: Peers { routes, ..Peers::default() }, ..Settings::default() })
}

#[tokio::test]
async fn an_address_with_its_part_of_the_connections_keeps_no_other_out() {
    let peers = Peers { listen: Some("127.0.0.1:0".parse().unwrap()), per_address: 2, ..Peers::default() };
    let far = Running::with(Settings { peers, ..Settings::default() });
    let to: SocketAddr = far.peer_addr.as_ref().unwrap().to_string().parse().unwrap();
    let services = ["one", "two", "three"];
    for service in services {
        serve(far.attach().server(service).await.unwrap());
    }
    let (near, other) =
        (leading(&services, &to), leading(&services, &from_address::lead("127.0.0.2", to).await));
    let call = async |daemon: &Running, service: &str| {
        let client: Client<Hotel> = daemon.attach().client(service).await.unwrap();
        client.call::<Ping>(Empty {}, Some(SOON)).await.err().map(|failure| failure.kind())
    };
    for service in ["one", "two", "one"] {
        assert_eq!(call(&near, service).await, None, "{service}");
    }
    assert_eq!(call(&near, "three").await, Some(FailureKind::Unavailable));
    assert_eq!(call(&other, "three").await, None);
    // A place that is left is there for the next.
    near.operator.lead("one", None);
    let taken = async {
        while call(&near, "three").await.is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(SOON, taken).await.unwrap();
}

#[tokio::test]
async fn what_is_no_daemon_disturbs_nobody() {
    let [near, far] = Running::pair(None);
    let _serving = serve(far.server().await);
    let client = near.client().await;
    let addr: SocketAddr = far.peer_addr.as_ref().unwrap().to_string().parse().unwrap();
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 4096], &[0; 64], b""] {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        stream.write_all(garbage).await.unwrap();
        let mut end = [0; 256];
        let _answered = tokio::time::timeout(Duration::from_millis(100), stream.read(&mut end)).await;
        client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    }
}
