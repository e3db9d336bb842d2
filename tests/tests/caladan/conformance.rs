//! The conformance suites over UDP and TCP.

use crate::assume_send::assume_send;
use crate::beside::{is_beside, run_beside};
use crate::running::{config, run};
use bertha_chunnels::{Nothing, Ordered, Reliable};
use bertha_conformance::{self as conformance, Bufs, Site};
use bertha_core::{Addr, Base, Connection, Datapath, ErrorKind, Listener, Runtime, make_stack};
use bertha_datapath_caladan::{Caladan, CaladanRuntime, Tcp, TcpConnection};
use bertha_tests::conformance::negotiated_ends;
use futures_util::future::{Either, join, select};
use std::pin::pin;

fn on() -> Addr {
    "10.77.0.2:0".parse().unwrap()
}

async fn datagrams() {
    let caladan = Caladan::new();
    let site = Site { server: &caladan, client: &caladan, on: &on };
    conformance::datapath(&site).await;
    conformance::a_dropped_connection_forgets_its_address(&site).await;
}

async fn streams() {
    let tcp = Tcp::new();
    let site = Site { server: &tcp, client: &tcp, on: &on };
    conformance::datapath(&site).await;
    let (a, b) = site.connected().await;
    conformance::the_peer_hears_of_a_close(&a, &b, &Bufs).await;
    let (a, b) = site.connected().await;
    empty_messages(&a, &b).await;
    connects(&site).await;
    negotiated_ends(&tcp, &tcp, on, make_stack!(Nothing)).await;
    negotiated_ends(&tcp, &tcp, on, make_stack!(Ordered::new(), Reliable::new())).await;
    // The kernel's ports are closed.
    let error = tcp.connect("10.77.0.1:1".parse().unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    let nobody = tcp.connect("10.77.0.99:1".parse().unwrap()).await.unwrap_err();
    assert!(matches!(nobody.kind(), ErrorKind::Unreachable | ErrorKind::TimedOut), "{nobody}");
}

/// Sends messages that consist of a header alone, without further bytes that would wake their receiver.
async fn empty_messages(a: &TcpConnection, b: &TcpConnection) {
    let all = async {
        for _ in 0..20 {
            let (received, sent) = join(b.recv(), a.send(a.base().buffer(0).unwrap())).await;
            sent.unwrap();
            assert!(received.unwrap().is_empty());
        }
    };
    in_time("empty messages", all).await;
}

/// Makes many connections in turn. The kernel thread that gets the peer's answer establishes the connection,
/// while another kernel thread may poll the waiting task.
async fn connects(site: &Site<'_, Tcp, Tcp>) {
    let listener = site.listen().await;
    for _ in 0..300 {
        let both = async {
            let (_client, accepted) = join(site.connect(&listener), listener.accept()).await;
            accepted.unwrap();
        };
        in_time("a connection", both).await;
    }
}

async fn in_time(what: &str, done: impl Future<Output = ()>) {
    let late = CaladanRuntime.sleep_until(CaladanRuntime.now() + conformance::TIMEOUT);
    let (done, late) = (pin!(done), pin!(late));
    let outcome = select(done, late).await;
    assert!(matches!(outcome, Either::Left(_)), "{what}: not done in {:?}", conformance::TIMEOUT);
}

/// Tries a port that is in use, and addresses that do not belong to this process.
async fn addresses() {
    let caladan = Caladan::new();
    let listener = caladan.listen(on()).await.unwrap();
    let again = listener.local_addr();
    assert_eq!(caladan.listen(again.clone()).await.unwrap_err().kind(), ErrorKind::AddrInUse);
    drop(listener);
    drop(caladan.listen(again).await.unwrap());
    for elsewhere in ["10.77.0.9:1", "[::1]:1"] {
        let error = caladan.listen(elsewhere.parse().unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        let error = Tcp::new().listen(elsewhere.parse().unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    for nobody in ["0.0.0.0:1", "10.77.0.2:0", "224.0.0.1:1", "[::1]:1"] {
        let error = caladan.connect(nobody.parse().unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
}

/// Takes all ports that there are for connections to a listener of this process, whose own port is one of them.
async fn no_end_is_its_own_peer() {
    /// Number of ports from which Caladan chooses.
    const PORTS: usize = 65_536 - 49_152;

    let caladan = Caladan::new();
    let listener = caladan.listen(on()).await.unwrap();
    let mut connections = Vec::new();
    for _ in 1..PORTS {
        let connection = caladan.connect(listener.local_addr()).await.unwrap();
        assert_ne!(connection.base().local_addr(), connection.base().peer_addr());
        connections.push(connection);
    }
    assert!(caladan.connect(listener.local_addr()).await.is_err(), "the port of the listener is left alone");
}

#[test]
fn udp_and_tcp() {
    run_beside("conformance::inside", "simple", &[]);
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn inside() {
    if is_beside() {
        run(&config(2), assume_send(datagrams()));
        run(&config(2), assume_send(streams()));
        run(&config(2), addresses());
        run(&config(2), no_end_is_its_own_peer());
    }
}

#[test]
fn with_one_thread_that_is_preempted() {
    run_beside("conformance::inside_with_one_thread", "ias", &[]);
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn inside_with_one_thread() {
    if is_beside() {
        run(&config(1), assume_send(datagrams()));
        run(&config(1), assume_send(streams()));
    }
}
