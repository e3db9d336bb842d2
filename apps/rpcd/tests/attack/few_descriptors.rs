//! Daemons that may have few descriptors.

use super::*;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// Starts a daemon under a limit of the shell.
fn start(limit: &str, arguments: &[&str]) -> Process {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Process::at(folder.path().join("rpcd"), arguments, None, Some(limit));
    process.folder = Some(folder);
    process
}

#[test]
fn the_limit_is_raised_as_far_as_it_may_be() {
    let daemon = start("-S -n 64", &[]);
    let limits = std::fs::read_to_string(daemon.of("limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<_> = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok()).collect();
    assert_eq!(numbers[0], numbers[1], "{line}");
}

/// An address that connects as often as there are descriptors takes none from applications, nor all places of the port.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_with_many_connections_leaves_descriptors_to_applications() {
    let addr: SocketAddr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let daemon = start("-n 256", &["--grpc", &addr.to_string()]);
    let connect = || {
        let mut connection = TcpStream::connect(addr).ok()?;
        // One beyond the part of the address is closed.
        let _sent = connection.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
        Some(connection)
    };
    assert!(becomes(|| connect().is_some()));
    let connections: Vec<_> = (0..256).filter_map(|_| connect()).collect();
    assert!(becomes(|| daemon.log().contains("(--per-address)")), "{}", daemon.log());
    // Those whose places are given up are closed by tasks of their own.
    assert!(becomes(|| daemon.files() <= 128), "{} descriptors", daemon.files());
    let _serving = serve(server(&daemon.path).await);
    let mut applications = Vec::new();
    for _ in 0..10 {
        let application = client(&daemon.path).await;
        works(&application, 1).await;
        applications.push(application);
    }
    assert!(!daemon.log().contains("no connection is taken"), "{}", daemon.log());
    drop(connections);
}

/// The log of a daemon that can't accept has a line a second, with the number of failures since the last.
#[tokio::test]
async fn failures_to_accept_fill_no_log_and_operators_are_served() {
    let daemon = start("-n 64", &[]);
    let hello = hello(Role::Caller, "hotel", Hotel::descriptors());
    let attached: Vec<_> =
        std::iter::from_fn(|| Attacker::try_attach(&daemon.path, &hello)).take(64).collect();
    assert!((4..64).contains(&attached.len()), "{} applications", attached.len());
    let connect = || UnixStream::connect(&daemon.path).unwrap();
    let _silent: Vec<_> = (0..100).map(|_| connect()).collect();
    let told = |log: &str| {
        let lines = log.lines().filter(|line| line.contains("no connection is taken"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(becomes(|| connect().peer_addr().is_ok() && !told(&daemon.log()).is_empty()), "{}", daemon.log());
    // A descriptor is kept for them.
    let listed = bertha_managed::Order::List.give(&daemon.path).await.unwrap();
    assert!(listed.contains("hotel"), "{listed}");
    // The first failure has its line at once. How many follow depends on who gives a descriptor up in time.
    let lines = told(&daemon.log());
    assert!(lines[0].ends_with(" count=1") && lines.len() < 6, "{}", daemon.log());
}

/// Those who say nothing give their places to newcomers, and take no descriptors that others need.
#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_keep_nobody_out() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let daemon = start("-n 64", &[]);
    let silent = [daemon.path.clone(), bertha_managed::Order::socket(&daemon.path)].map(|path| {
        let connections = (0..300).map(|_| UnixStream::connect(&path).unwrap());
        connections.collect::<Vec<_>>()
    });
    let _serving = serve(server(&daemon.path).await);
    works(&client(&daemon.path).await, 3).await;
    let listed = bertha_managed::Order::List.give(&daemon.path).await.unwrap();
    assert!(listed.contains("hotel\thonest"), "{listed}");
    drop(silent);
}
