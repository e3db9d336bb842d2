//! More messages on their way than a DPDK port has buffers.

use bertha_chunnels::{Fragment, Ordered, Reliable};
use bertha_core::{Addr, Buf, Connection, Datapath, Error, ErrorKind, Listener, make_stack};
use bertha_datapath_dpdk::{Config, Dpdk};
use bertha_negotiation::Negotiate;
use bertha_tests::skip;
use futures_util::future::{join_all, try_join_all};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// Number of simultaneous connections.
const CONNECTIONS: usize = 16;

/// Number of messages of each connection, each of many pieces.
const MESSAGES: usize = 40;
const LEN: usize = 60_000;

/// Number of messages that a plain connection echoes. For each of them, 32 messages go to another connection.
const ECHOES: usize = 128;

/// Number of buffers of a port. Each connection keeps 256 KiB or more, in pieces of an Ethernet frame, which
/// takes far more buffers.
const BUFFERS: u32 = 1023;

/// Time after which an end counts as hanging, whatever else the machine does.
const TIMEOUT: Duration = Duration::from_secs(120);

type Sent = Result<(), Error>;

fn message(connection: usize, number: usize) -> Vec<u8> {
    (0..LEN).map(|place| (place / 251 + 7 * number + 31 * connection) as u8).collect()
}

/// Opens one of two ports that share memory. Without DPDK, reports that the test is skipped, and returns
/// `None`.
fn open(number: u32, role: &str, address: &str) -> Option<Dpdk> {
    let socket =
        std::env::temp_dir().join(format!("bertha-few-buffers-{}-{}", std::process::id(), number / 2));
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

/// Makes the transport, whose messages wait in it until they are acknowledged.
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
        let connection = incoming.next().await.unwrap();
        serving.spawn(async move {
            let connecting = usize::from(connection.recv().await?[0]);
            for number in 0..MESSAGES {
                connection.send(Buf::copy_of(&message(connecting, number), 64)?).await?;
            }
            // The client leaves once it has heard of the close, perhaps before it has confirmed the close.
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

/// Receives all messages over all connections at once. The first `late` connections receive no message until
/// the other connections are done.
async fn ask(dpdk: Dpdk, to: Addr, late: usize) -> Sent {
    let stack = transport!();
    let connecting = (0..CONNECTIONS).map(|_| stack.connect(dpdk.clone(), to.clone()).into_future());
    let connections = try_join_all(connecting).await?;
    let start = connections.iter().enumerate().map(|(number, connection)| async move {
        let mut request = Buf::new(1, 64)?;
        request[0] = number as u8;
        connection.send(request).await
    });
    try_join_all(start).await?;
    let (first, others) = connections.split_at(late);
    for (before, some) in [(late, others), (0, first)] {
        let asking = some.iter().enumerate().map(async |(number, connection)| {
            for expected in 0..MESSAGES {
                let got = connection.recv().await?;
                assert!(*got == message(before + number, expected), "{expected} of {}", before + number);
            }
            Sent::Ok(())
        });
        try_join_all(asking).await?;
    }
    // The server closes, and waits for these ends meanwhile. An end that is dropped without a close is cut.
    let closing = connections.iter().map(async |connection| {
        connection.recv().await.err();
        let _ = connection.close().await;
    });
    join_all(closing).await;
    Ok(())
}

fn run(work: impl Future<Output = Sent>) -> Sent {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(TIMEOUT, work).await.unwrap() })
}

/// Moves all messages between two ports of these numbers, whose pools are full again afterwards.
fn transfer(number: u32, late: usize) {
    let Some(server) = open(number, "server", "10.0.0.1/24") else { return };
    let client = open(number + 1, "client", "10.0.0.2/24").unwrap();
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| run(serve(server.clone(), "10.0.0.1:0".parse().unwrap(), tell)));
        let asked = run(ask(client.clone(), told.recv().unwrap(), late));
        let served = serving.join().unwrap();
        assert!(served.is_ok() && asked.is_ok(), "{served:?} {asked:?} {:?}", server.counters());
    });
    for side in [&server, &client] {
        // A single count without buffers in use is enough: an ARP request or a late frame uses a buffer for a
        // moment.
        let deadline = Instant::now() + TIMEOUT;
        let kept = loop {
            let kept = side.buffers_in_use().unwrap();
            if kept == 0 || Instant::now() >= deadline {
                break kept;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(kept, 0, "buffers were kept: {:?}", side.counters());
    }
    // The ports stay open until the process ends: DPDK 22.11 reports `Invalid memory` where both ends of a
    // memif close at once in one process.
    std::mem::forget((server, client));
}

/// Each connection keeps messages until they are acknowledged. All connections together have more bytes to
/// keep than the port has buffers for, and each connection still has a buffer for sending and receiving.
#[test]
fn many_connections_share_few_buffers() {
    transfer(0, 0);
}

/// Messages that wait in a connection for an application that does not receive yet take no buffers from other
/// connections.
#[test]
fn a_connection_that_is_not_received_from_keeps_no_buffers_from_others() {
    transfer(2, CONNECTIONS / 2);
}

/// The application never receives from a connection without a Chunnel, and the peer sends more messages to it
/// than there are buffers. Another connection goes on.
#[test]
fn a_connection_that_is_never_received_from_leaves_buffers_to_others() {
    let Some(server) = open(4, "server", "10.0.0.1/24") else { return };
    let client = open(5, "client", "10.0.0.2/24").unwrap();
    let message = || Buf::copy_of(&[7; 64], 64);
    let (tell, told) = channel();
    let serve = async {
        let listener = server.listen("10.0.0.1:0".parse().unwrap()).await?;
        tell.send(listener.local_addr()).unwrap();
        let _silent = listener.accept().await?;
        let echoing = listener.accept().await?;
        for _ in 0..=ECHOES {
            echoing.send(echoing.recv().await?).await?;
        }
        Sent::Ok(())
    };
    let ask = async {
        let to: Addr = told.recv().unwrap();
        let (silent, echoed) = (client.connect(to.clone()).await?, client.connect(to).await?);
        silent.send(message()?).await?;
        for round in 0..=ECHOES {
            echoed.send(message()?).await?;
            echoed.recv().await?;
            if round < ECHOES {
                let flood: Vec<_> = (0..32).map(|_| message()).collect::<Result<_, _>>()?;
                silent.send_batch(flood.into_iter()).await?;
            }
        }
        Sent::Ok(())
    };
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| run(serve));
        let asked = run(ask);
        let served = serving.join().unwrap();
        assert!(served.is_ok() && asked.is_ok(), "{served:?} {asked:?} {:?}", server.counters());
    });
    assert!(server.counters().unwrap().overflow > 0, "{:?}", server.counters());
    std::mem::forget((server, client));
}
