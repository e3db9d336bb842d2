//! More messages on their way than a DPDK port has buffers.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_chunnels::{Fragment, Ordered, Reliable};
use bertha_core::{Addr, Buf, Connection, Error, ErrorKind, make_stack};
use bertha_datapath_dpdk::{Config, Dpdk};
use bertha_negotiation::Negotiate;
use bertha_tests::skip;
use futures_util::future::{join_all, try_join_all};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// Connections at once.
const CONNECTIONS: usize = 16;

/// Messages of each, each of many pieces.
const MESSAGES: usize = 40;
const LEN: usize = 60_000;

/// Far fewer than the 256 KiB or more that each connection keeps, in pieces of an Ethernet frame.
const BUFFERS: u32 = 1023;

/// No end takes longer, whatever else the machine does.
const PATIENCE: Duration = Duration::from_secs(120);

type Sent = Result<(), Error>;

fn message(connection: usize, number: usize) -> Vec<u8> {
    (0..LEN).map(|place| (place / 251 + 7 * number + 31 * connection) as u8).collect()
}

/// One of two ports that share memory, unless there is no DPDK, which is said loudly.
fn open(number: u32, role: &str, address: &str) -> Option<Dpdk> {
    let socket = std::env::temp_dir().join(format!("bertha-few-buffers-{}", std::process::id()));
    let device = format!("net_memif{number},role={role},id=0,socket={},socket-abstract=no", socket.display());
    match Dpdk::open(&Config { buffers: BUFFERS, ..Config::new(device, address) }) {
        Ok(dpdk) => Some(dpdk),
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            skip(&format!("few buffers: {error}"));
            None
        }
        Err(error) => panic!("{error:?}"),
    }
}

/// The transport, whose messages wait in it until they are acknowledged.
macro_rules! transport {
    () => {
        make_stack!(Ordered::new(), Fragment::new().piece(1400), Reliable::new().packet(1440))
    };
}

/// Sends all messages to each of the clients.
async fn serve(dpdk: Dpdk, at: Addr, tell: Sender<Addr>) -> Sent {
    let mut incoming = transport!().listen(dpdk, at).await?;
    tell.send(incoming.local_addr()).unwrap();
    let mut serving = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let connection = incoming.next().await.unwrap()?;
        serving.spawn(async move {
            let connecting = usize::from(connection.recv().await?[0]);
            for number in 0..MESSAGES {
                connection.send(Buf::copy_of(&message(connecting, number), 64)?).await?;
            }
            // The client leaves once it has heard that there is no more, perhaps before it has said so.
            connection.close().await.or_else(|error| match error.kind() {
                ErrorKind::Closed => Ok(()),
                _ => Err(error),
            })
        });
    }
    while let Some(served) = serving.join_next().await {
        served.unwrap()?;
    }
    Ok(())
}

/// Receives all messages over all connections at once.
async fn ask(dpdk: Dpdk, to: Addr) -> Sent {
    let stack = transport!();
    let connecting = (0..CONNECTIONS).map(|_| stack.connect(dpdk.clone(), to.clone()));
    let connections = try_join_all(connecting).await?;
    let asking = connections.iter().enumerate().map(async |(number, connection)| {
        connection.send(Buf::copy_of(&[number as u8], 64)?).await?;
        for expected in 0..MESSAGES {
            let got = connection.recv().await?;
            assert!(*got == message(number, expected), "message {expected} of connection {number}");
        }
        Sent::Ok(())
    });
    try_join_all(asking).await?;
    // The server closes, and waits for these ends meanwhile.
    join_all(connections.iter().map(async |connection| connection.recv().await.err())).await;
    Ok(())
}

fn run(work: impl Future<Output = Sent>) -> Sent {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.unwrap() })
}

/// Each connection keeps what is not acknowledged; all of them together have more to keep than the port has buffers, and none is
/// without one for what it has to send and to receive.
#[test]
fn many_connections_share_few_buffers() {
    let Some(server) = open(0, "server", "10.0.0.1/24") else { return };
    let client = open(1, "client", "10.0.0.2/24").unwrap();
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| run(serve(server.clone(), "10.0.0.1:0".parse().unwrap(), tell)));
        let asked = run(ask(client.clone(), told.recv().unwrap()));
        let served = serving.join().unwrap();
        assert!(served.is_ok() && asked.is_ok(), "{served:?} {asked:?} {:?}", server.counters());
    });
    for side in [&server, &client] {
        let deadline = Instant::now() + PATIENCE;
        while side.buffers_in_use().unwrap() > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(side.buffers_in_use().unwrap(), 0, "buffers were kept: {:?}", side.counters());
    }
}
