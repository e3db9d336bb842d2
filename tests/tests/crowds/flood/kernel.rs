//! The flood over the kernel's UDP.

use crate::flood::meter::Meter;
use crate::flood::mutator::Mutator;
use crate::flood::scene::{Outcomes, echo_during, settings, stack};
use bertha_chunnels::Nothing;
use bertha_core::{Addr, Connection, make_stack};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Negotiate, Negotiated};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;
use tokio::time::{sleep, timeout};

const IDLE: Duration = Duration::from_secs(1);
const ROUNDS: usize = 10;
const PER_ROUND: usize = 10_000;
const SOCKETS: usize = 100;
const ATTEMPTS: usize = 200;

/// Records the messages of a client and a server, on a socket between them.
async fn record(server: SocketAddr) -> Vec<Vec<u8>> {
    let between = tokio::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let at = between.local_addr().unwrap();
    let relaying = async {
        let (mut recorded, mut client) = (Vec::new(), None);
        let mut buffer = vec![0; 65_536];
        // The loop ends once both ends have sent all their messages.
        while let Ok(received) = timeout(Duration::from_millis(300), between.recv_from(&mut buffer)).await {
            let (len, from) = received.unwrap();
            recorded.push(buffer[..len].to_vec());
            let to = if from == server { client.unwrap() } else { server };
            if from != server {
                client = Some(from);
            }
            between.send_to(&buffer[..len], to).await.unwrap();
        }
        recorded
    };
    let talking = async {
        let connection = stack().connect(Udp::new(), at).await.unwrap();
        say(&connection, "recorded").await;
        connection.close().await.unwrap();
        drop(connection);
        assert!(make_stack!(Nothing).connect(Udp::new(), at).await.is_err());
    };
    futures_util::join!(relaying, talking).0
}

/// Checks an echo, and repeats a message that was lost in the flood.
async fn say(connection: &Negotiated<impl Connection<Data = String>>, text: &str) {
    for _ in 0..ATTEMPTS {
        connection.send(text.into()).await.unwrap();
        match timeout(Duration::from_millis(100), connection.recv()).await {
            Ok(reply) if reply.as_ref().unwrap() == text => return,
            _ => {}
        }
    }
    panic!("the server does not answer any more");
}

async fn round(
    sockets: &[UdpSocket],
    server: SocketAddr,
    mutator: &mut Mutator,
    connection: &Negotiated<impl Connection<Data = String>>,
    outcomes: &Outcomes,
) {
    for number in 0..PER_ROUND {
        let socket = &sockets[mutator.dice().below(sockets.len())];
        let _ = socket.send_to(&mutator.datagram(), server);
        if number % 20 == 0 {
            tokio::task::yield_now().await;
        }
        if number % 500 == 0 {
            say(connection, &format!("{number}")).await;
        }
    }
    // Half-open connections of strangers are given up.
    for _ in 0..ATTEMPTS {
        if outcomes.open.get() > 1 {
            sleep(IDLE / 4).await;
        }
    }
    assert_eq!(outcomes.open.get(), 1, "strangers are given up");
    say(connection, "still here").await;
}

#[test]
fn memory_stays_and_clients_are_served() {
    let meter = Meter::alone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let local = Addr::from((Ipv4Addr::LOCALHOST, 0));
        let incoming = stack().listen(Udp::new(), local).settings(settings(IDLE)).await.unwrap();
        let Addr::Ip(server) = incoming.local_addr() else { unreachable!() };
        let outcomes = Outcomes::default();
        let grown = echo_during(incoming, &outcomes, async {
            let mut mutator = Mutator::new(record(server).await, 3);
            let sockets: Vec<_> =
                (0..SOCKETS).map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).collect();
            let connection = stack().connect(Udp::new(), server).await.unwrap();
            round(&sockets, server, &mut mutator, &connection, &outcomes).await;
            let before = meter.live();
            for _ in 0..ROUNDS {
                round(&sockets, server, &mut mutator, &connection, &outcomes).await;
            }
            meter.live() - before
        });
        let grown = grown.await;
        assert!(outcomes.accepted.get() > 100 && outcomes.refused.get() > 0, "{outcomes:?}");
        // A leak of four bytes per datagram would reach this bound.
        assert!(grown < 400 << 10, "{grown} bytes more; {outcomes:?}");
    });
}
