//! TCP: the kernel at the other end of a wire, and processes that end without a word.

use super::child::{Child, Role, say};
use super::has_dpdk;
use super::namespaces::Namespaces;
use bertha_core::{Addr, Base, Buf, Connection, Datapath, ErrorKind, Listener};
use bertha_datapath_dpdk as dpdk;
use bertha_datapath_kernel as kernel;
use futures_util::future::join_all;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Lengths of messages, in addition to the number at the beginning of each message.
const LENGTHS: [usize; 8] = [0, 1, 1000, 1452, 1460, 9000, 65_536, 300_000];

/// Number of connections that a client has at once.
const CONNECTIONS: usize = 8;

/// Plays a child's role.
pub(crate) async fn play(role: &str, about: &str, count: usize) {
    match role {
        "tcp-serve" => serve(&dpdk::Tcp::new(), about).await,
        "tcp-ask" => ask(&dpdk::Tcp::new(), about, count).await,
        "kernel-tcp-serve" => serve(&kernel::Tcp::new(), about).await,
        "kernel-tcp-ask" => ask(&kernel::Tcp::new(), about, count).await,
        "plain-tcp-ask" => plain_ask(about, count),
        "kernel-tcp-outlive" => outlive(about).await,
        "kernel-tcp-pour" => pour(&kernel::Tcp::new(), about).await,
        "tcp-pour" => pour(&dpdk::Tcp::new(), about).await,
        _ => panic!("{role}"),
    }
}

/// Echoes to every client.
async fn serve<D: Datapath>(datapath: &D, at: &str) {
    let listener = datapath.listen(at.parse().unwrap()).await.unwrap();
    say("ready");
    loop {
        let connection = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut messages = Vec::new();
            while connection.recv_batch(&mut messages, 64).await.is_ok() {
                if connection.send_batch(messages.drain(..)).await.is_err() {
                    return;
                }
            }
        });
    }
}

fn bytes(number: usize) -> Vec<u8> {
    let mut bytes = vec![number as u8; 8 + LENGTHS[number % LENGTHS.len()]];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn message<C: Connection<Data = Buf>>(connection: &C, number: usize) -> Buf {
    let bytes = bytes(number);
    let mut message = connection.base().buffer(bytes.len()).unwrap();
    message.copy_from_slice(&bytes);
    message
}

/// Sends messages to be echoed over several connections at once, and then larger messages.
async fn ask<D: Datapath>(datapath: &D, to: &str, count: usize) {
    let to: Addr = to.parse().unwrap();
    let one = async |first: usize| {
        let connection = datapath.connect(to.clone()).await.unwrap();
        for number in first..first + count {
            connection.send(message(&connection, number)).await.unwrap();
            let echo = tokio::time::timeout(Duration::from_secs(20), connection.recv()).await;
            let echo = echo.unwrap_or_else(|_| panic!("echo {number} is missing"));
            assert!(*echo.unwrap() == *bytes(number), "echo {number}");
        }
        let large = vec![7; 4 << 20];
        let mut message = connection.base().buffer(large.len()).unwrap();
        message.copy_from_slice(&large);
        connection.send(message).await.unwrap();
        assert!(*connection.recv().await.unwrap() == *large, "a large message");
        connection.close().await.unwrap();
    };
    join_all((0..CONNECTIONS).map(|number| one(number * 10_000))).await;
    say("done");
}

/// Sends as `ask` does, over a single connection without any part of Bertha.
fn plain_ask(to: &str, count: usize) {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for number in 0..count {
        let bytes = bytes(number);
        let framed = [&(bytes.len() as u32).to_be_bytes()[..], &bytes].concat();
        stream.write_all(&framed).unwrap();
        let mut echo = vec![0; framed.len()];
        stream.read_exact(&mut echo).unwrap();
        assert!(echo == framed, "echo {number}");
    }
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    // The server has no more to send, and closes as well.
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    // No server listens there.
    let closed = to.replace(":9", ":77");
    assert_eq!(TcpStream::connect(closed).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
    say("done");
}

/// Stays connected while the server is killed and restarted: the client then learns that the connection is
/// gone.
async fn outlive(to: &str) {
    let connection = kernel::Tcp::new().connect(to.parse().unwrap()).await.unwrap();
    connection.send(message(&connection, 1)).await.unwrap();
    assert!(*connection.recv().await.unwrap() == *bytes(1));
    say("connected");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let echo = async {
        connection.send(message(&connection, 2)).await?;
        connection.recv().await
    };
    let echo = tokio::time::timeout(Duration::from_secs(60), echo).await;
    let error = echo.expect("the new server says nothing").expect_err("it has forgotten us");
    assert_eq!(error.kind(), ErrorKind::Reset, "{error}");
    say("done");
}

/// Sends and receives without end.
async fn pour<D: Datapath>(datapath: &D, to: &str) {
    let connection = datapath.connect(to.parse().unwrap()).await.unwrap();
    for number in 0.. {
        connection.send(message(&connection, number)).await.unwrap();
        connection.recv().await.unwrap();
        if number == 20 {
            say("pouring");
        }
    }
}

#[test]
fn the_kernel_talks_tcp_to_a_server_over_dpdk() {
    let Some(namespaces) = Namespaces::new("bta") else { return };
    let addresses = "10.99.0.1/24,10.99.0.3/24,fd99::1/64,fd99::3/64";
    let settings = [("DEVICE", "net_af_packet0,iface=va"), ("ADDRESS", addresses)];
    let mut server = namespaces.child("a", "tcp-serve", "[::]:9", 0, &settings);
    assert_eq!(server.says(), "ready");
    for to in ["10.99.0.1:9", "10.99.0.3:9", "[fd99::1]:9", "[fd99::3]:9"] {
        for role in ["plain-tcp-ask", "kernel-tcp-ask"] {
            let mut client = namespaces.start("b", role, to, 64);
            assert_eq!(client.says(), "done");
        }
    }
}

#[test]
fn tcp_over_dpdk_talks_to_a_server_of_the_kernels() {
    let Some(namespaces) = Namespaces::new("btb") else { return };
    for (at, to) in [("0.0.0.0:7", "10.99.0.2:7"), ("[::]:8", "[fd99::2]:8")] {
        let mut server = namespaces.start("b", "kernel-tcp-serve", at, 0);
        assert_eq!(server.says(), "ready");
        let mut client = namespaces.start("a", "tcp-ask", to, 64);
        assert_eq!(client.says(), "done");
    }
}

#[test]
fn a_client_that_is_killed_ends_its_own_connection_alone() {
    let Some(namespaces) = Namespaces::new("btc") else { return };
    let mut server = namespaces.start("a", "tcp-serve", "0.0.0.0:9", 0);
    assert_eq!(server.says(), "ready");
    for _ in 0..3 {
        let mut victim = namespaces.start("b", "kernel-tcp-pour", "10.99.0.1:9", 0);
        assert_eq!(victim.says(), "pouring");
        victim.kill();
        let mut client = namespaces.start("b", "plain-tcp-ask", "10.99.0.1:9", 16);
        assert_eq!(client.says(), "done");
    }
}

#[test]
fn a_server_that_is_killed_and_started_again_knows_no_old_connection() {
    let Some(namespaces) = Namespaces::new("btd") else { return };
    let mut server = namespaces.start("a", "tcp-serve", "0.0.0.0:9", 0);
    assert_eq!(server.says(), "ready");
    let mut client = namespaces.start("b", "kernel-tcp-outlive", "10.99.0.1:9", 0);
    assert_eq!(client.says(), "connected");
    server.kill();
    let mut server = namespaces.start("a", "tcp-serve", "0.0.0.0:9", 0);
    assert_eq!(server.says(), "ready");
    client.hears("\n");
    assert_eq!(client.says(), "done");
}

#[test]
fn two_processes_talk_tcp_over_shared_memory() {
    if !has_dpdk() {
        return;
    }
    let socket = std::env::temp_dir().join(format!("bertha-tcp-{}", std::process::id()));
    let _ = std::fs::remove_file(&socket);
    let device =
        |role: &str| format!("net_memif0,role={role},socket={},socket-abstract=no", socket.display());
    let start = |role: &str, side: &str, address: &str| {
        let settings = [("DEVICE", device(side)), ("ADDRESS", address.to_owned())];
        let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, &**value)).collect();
        let role = Role {
            role,
            about: "10.0.0.1:9",
            count: 64,
            settings: &settings,
            within: &[],
            unprivileged: true,
        };
        Child::start(&role)
    };
    let mut server = start("tcp-serve", "server", "10.0.0.1/24");
    assert_eq!(server.says(), "ready");
    // The victim is killed: its successor has the victim's address, and begins anew.
    let mut victim = start("tcp-pour", "client", "10.0.0.2/24");
    assert_eq!(victim.says(), "pouring");
    victim.kill();
    let mut client = start("tcp-ask", "client", "10.0.0.2/24");
    assert_eq!(client.says(), "done");
}
