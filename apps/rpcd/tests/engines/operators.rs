//! Orders of operators to a daemon that runs.

use crate::hotel::{Empty, Hotel, OtherHotel, Ping, Reserve, Running, request, serve};
use bertha_chunnels::rpc::FailureKind;
use bertha_core::{Addr, ErrorKind};
use bertha_managed::{Order, Service};
use bertha_rpcd::{Daemon, PeerAddr, Peers, Settings};
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

const SOON: Duration = Duration::from_secs(20);

fn add(name: &str, kind: &str, settings: &str) -> Order {
    let [service, name, kind, settings] = ["hotel", name, kind, settings].map(Into::into);
    Order::Add { service, name, kind, settings }
}

/// Returns the answer to bytes that are no order.
async fn answer(path: &Path, bytes: &[u8]) -> String {
    let mut socket = UnixStream::connect(Order::socket(path)).await.unwrap();
    // The daemon may have answered before it has read all.
    let _written = socket.write_all(bytes).await;
    let mut answer = String::new();
    let _end = socket.read_to_string(&mut answer).await;
    answer
}

#[tokio::test]
async fn orders_change_the_calls_of_clients_that_are_there() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let client = daemon.client().await;
    let reserve = async |customer: &str| {
        let asked = request(&client.heap(), customer, 1, &[]);
        client.call::<Reserve>(asked, Some(SOON)).await.err().map(|failure| failure.kind())
    };
    add("list", "acl", "field=customer deny=eve").give(&daemon.path).await.unwrap();
    assert_eq!((reserve("eve").await, reserve("ada").await), (Some(FailureKind::Denied), None));
    let (service, name) = (|| "hotel".to_owned(), || "list".to_owned());
    let configure = Order::Configure { service: service(), name: name(), settings: "deny=ada".into() };
    configure.give(&daemon.path).await.unwrap();
    assert_eq!((reserve("eve").await, reserve("ada").await), (None, Some(FailureKind::Denied)));
    let listed = Order::List.give(&daemon.path).await.unwrap();
    assert_eq!(listed, "hotel\ttest\t1\tlist (acl deny=ada field=customer)\n");
    Order::Remove { service: service(), name: name() }.give(&daemon.path).await.unwrap();
    assert_eq!(reserve("ada").await, None);
}

#[tokio::test]
async fn what_cannot_be_done_is_told_and_changes_nothing() {
    let daemon = Running::start();
    let _client = daemon.client().await;
    let refusal = async |order: Order| {
        let error = order.give(&daemon.path).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        error.to_string()
    };
    assert!(refusal(add("a", "alc", "")).await.contains("no engine alc; those that are built in are acl"));
    assert!(refusal(add("a", "acl", "field=guest deny=x")).await.contains("guest"));
    assert!(refusal(add("a", "rate-limit", "per-second")).await.contains("per-second=10"));
    let missing = Order::Remove { service: "hotel".into(), name: "b".into() };
    assert!(refusal(missing).await.contains("no engine b"));
    let nowhere = Order::Route { service: "hotel".into(), to: "there".into() };
    assert!(refusal(nowhere).await.contains("neither IP:PORT"));
    let others = || "(others)".to_owned();
    for (order, of) in [
        (add("(others)", "null", ""), "an engine"),
        (
            Order::Add { service: others(), name: "a".into(), kind: "null".into(), settings: String::new() },
            "a service",
        ),
        (Order::Route { service: others(), to: "127.0.0.1:9".into() }, "a service"),
        (Order::Send { service: others(), by: "write".into() }, "a service"),
    ] {
        let expected = format!(
            "the name of {of} may not be \"(others)\": names in parentheses are the daemon's own; choose another"
        );
        let reason = refusal(order).await;
        assert!(reason.contains(&expected), "{reason}");
    }
    assert_eq!(Order::List.give(&daemon.path).await.unwrap(), "hotel\tnone\t1\t\n");
}

/// A setting that is taken, and refused to each application that comes later, is an outage of which its author does not hear.
#[tokio::test]
async fn settings_that_no_application_could_have_are_refused_before_one_comes() {
    let daemon = Running::start();
    let configure = |name: &str, settings: &str| {
        let [service, name, settings] = ["hotel", name, settings].map(Into::into);
        Order::Configure { service, name, settings }
    };
    for (kind, wrong) in [
        ("quota", "calls=-1"),
        ("quota", "calls=0"),
        ("rate-limit", "per-second=nan"),
        ("rate-limit", "per-second=0"),
        ("rate-limit", "per-second=10 burst=0"),
        ("qos", "hold=99999999999999"),
        ("acl", "field=customer dney=eve"),
    ] {
        let refused = add("wrong", kind, wrong).give(&daemon.path).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused, "{kind} {wrong}: {refused}");
    }
    add("list", "acl", "field=customer deny=eve").give(&daemon.path).await.unwrap();
    add("few", "quota", "calls=9").give(&daemon.path).await.unwrap();
    let refusal = async |name: &str, settings: &str| {
        let listed = Order::List.give(&daemon.path).await.unwrap();
        let refused = configure(name, settings).give(&daemon.path).await.unwrap_err();
        assert_eq!(Order::List.give(&daemon.path).await.unwrap(), listed);
        refused.to_string()
    };
    assert!(refusal("few", "calls=-1").await.contains("calls=-1"));
    assert!(
        refusal("few", "calls=0").await.contains("calls=0 of quota lets no call pass; take calls=1 or more")
    );
    add("slow", "rate-limit", "per-second=9").give(&daemon.path).await.unwrap();
    for wrong in ["per-second=0", "burst=0"] {
        let text = refusal("slow", wrong).await;
        assert!(text.contains(&format!("{wrong} of rate-limit lets no call pass; take")), "{text}");
    }
    Order::Remove { service: "hotel".into(), name: "slow".into() }.give(&daemon.path).await.unwrap();
    assert!(refusal("list", "fild=guest").await.contains("fild=guest is unknown"));
    let server = daemon.server().await;
    assert!(refusal("list", "fild=guest").await.contains("fild=guest is unknown"), "beside a server");
    Order::Remove { service: "hotel".into(), name: "list".into() }.give(&daemon.path).await.unwrap();
    assert!(
        add("list", "acl", "field=guest deny=eve").give(&daemon.path).await.is_err(),
        "its schema is known"
    );
    add("list", "acl", "field=nights deny=3").give(&daemon.path).await.unwrap();
    let refused = configure("list", "deny=many").give(&daemon.path).await.unwrap_err();
    assert!(refused.to_string().contains("is never many"), "{refused}");
    let _serving = serve(server);
    daemon.client().await.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
}

#[tokio::test]
async fn what_is_no_order_is_refused_and_silence_ends() {
    let daemon = Running::start();
    for wrong in [&b"\n"[..], b"list", b"lst\n", b"list\tx\n", &[0xff, b'\n'], &[b'x'; 100_000]] {
        let answer = answer(&daemon.path, wrong).await;
        assert!(!answer.starts_with("done"), "{answer}");
    }
    let silent = silent_operators(&daemon.path, 100).await;
    // Operators that say nothing give their places to others.
    assert_eq!(Order::List.give(&daemon.path).await.unwrap(), "");
    drop(silent);
}

async fn silent_operators(path: &Path, count: usize) -> Vec<UnixStream> {
    let mut sockets = Vec::new();
    for _ in 0..count {
        sockets.push(UnixStream::connect(Order::socket(path)).await.unwrap());
    }
    sockets
}

#[tokio::test]
async fn calls_go_where_an_operator_leads_them() {
    let [near, far] = Running::pair(None);
    let _serving = serve(far.server().await);
    let client = near.client().await;
    let ping = async || client.call::<Ping>(Empty {}, Some(SOON)).await.err().map(|failure| failure.kind());
    let lead = async |to: String| {
        Order::Route { service: "hotel".into(), to }.give(&near.path).await.unwrap();
    };
    assert_eq!(ping().await, None);
    lead(String::new()).await;
    assert_eq!(ping().await, Some(FailureKind::Unavailable));
    lead(far.peer_addr.as_ref().unwrap().to_string()).await;
    assert_eq!(ping().await, None);
    let _here = serve(near.server().await);
    assert_eq!(Order::List.give(&near.path).await.unwrap(), "hotel\ttest\t1\t\n");
    assert_eq!(ping().await, None);
}

#[tokio::test]
async fn a_daemon_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = Order::List.give(&folder.path().join("rpcd")).await.unwrap_err();
    assert!(error.to_string().contains("rpcd.operators"), "{error}");
}

/// The schema of services is submitted before their applications start, which are then taken without a look into theirs.
#[tokio::test]
async fn a_schema_that_is_bound_is_read_once() {
    let daemon = Running::start();
    let bind = async |descriptors: &[u8]| {
        Order::Bind { bytes: descriptors.len() as u32 }.give_with(&daemon.path, descriptors).await
    };
    let bound = bind(Hotel::descriptors()).await.unwrap();
    let parts: Vec<_> = bound.trim_end().split('\t').collect();
    assert_eq!((parts[0], parts[1].len(), &parts[2..]), ("hotel.Hotel", 64, &["2", "3"][..]), "{bound}");
    assert_eq!(daemon.operator.schemas_read(), 1);
    let _serving = serve(daemon.server().await);
    for _ in 0..3 {
        daemon.client().await.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    }
    assert_eq!(daemon.operator.schemas_read(), 1);
    let _other = daemon.attach().client::<OtherHotel>("hotel").await.unwrap();
    assert_eq!(daemon.operator.schemas_read(), 2);
    let refused = bind(b"no schema").await.unwrap_err();
    assert!(refused.to_string().contains("no descriptor set"), "{refused}");
    let wrong = Order::Bind { bytes: 1 }.give(&daemon.path).await.unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn what_follows_an_order_is_bounded_and_has_to_come() {
    let daemon = Running::start();
    let long = [b"bind\t1048577\n".as_slice(), &[0; 100]].concat();
    assert!(answer(&daemon.path, &long).await.contains("longer than 1 MiB"));
    // What was announced does not come, and is waited for like an order.
    assert_eq!(answer(&daemon.path, b"bind\t1000\nxyz").await, "");
    assert!(answer(&daemon.path, b"bind\t0\n").await.contains("no service"));
}

/// An operator finds the door that another daemon has by the error alone.
#[tokio::test]
async fn a_daemon_that_cannot_listen_names_the_address() {
    let free = || Some("127.0.0.1:0".parse().unwrap());
    let peers = Peers { listen: free().map(PeerAddr::from), grpc: free(), ..Peers::default() };
    let daemon = Running::with(Settings { peers, ..Settings::default() });
    let folder = tempfile::tempdir().unwrap();
    let (path, own) = (daemon.path.clone(), folder.path().join("own"));
    let (listen, grpc) = (daemon.peer_addr.clone(), daemon.grpc_addr.clone());
    let Some(Addr::Ip(at)) = grpc else { panic!("no port") };
    let cases = [
        (path.clone(), Peers::default(), path.display().to_string()),
        (own.clone(), Peers { grpc: Some(at), ..Peers::default() }, at.to_string()),
        (own, Peers { listen: listen.clone(), ..Peers::default() }, listen.unwrap().to_string()),
    ];
    for (path, peers, named) in cases {
        let error = Daemon::listen(&path, Settings { peers, ..Settings::default() }).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(error.to_string().contains(&format!("cannot listen on {named}: ")), "{error}");
    }
}
