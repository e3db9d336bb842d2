//! No message allocates once the pools have grown. The test has a binary of its own, since it replaces the
//! allocator.

#![allow(clippy::unwrap_used)]

use bertha_allocations::{Counting, OfProcess};
use bertha_core::{Base, Buf, Connection, Datapath, Listener};
use bertha_datapath_kernel::{Tcp, Udp, Unix};

#[global_allocator]
static COUNTING: Counting = Counting;

fn message(connection: &impl Connection, len: usize) -> Buf {
    connection.base().buffer(len).unwrap()
}

/// Exchanges single messages, and bursts of equal and unequal lengths, with a server that waits on a task of
/// its own.
async fn rounds<C: Connection<Data = Buf>>(client: &C, count: usize) {
    let mut received = Vec::with_capacity(64);
    for round in 0..count {
        client.send(message(client, 64)).await.unwrap();
        client.recv().await.unwrap();
        for unequal in [0, 7] {
            let burst = (0..48).map(|n| message(client, 64 + n * unequal + round % 3));
            client.send_batch(burst).await.unwrap();
            let mut left = 48;
            while left > 0 {
                left -= client.recv_batch(&mut received, 48).await.unwrap();
                received.clear();
            }
        }
    }
}

async fn steady_state<D: Datapath>(datapath: D, on: &str) -> u64 {
    let listener = datapath.listen(on.parse().unwrap()).await.unwrap();
    let client = datapath.connect(listener.local_addr()).await.unwrap();
    client.send(message(&client, 1)).await.unwrap();
    let server = listener.accept().await.unwrap();
    server.recv().await.unwrap();
    let echo = tokio::spawn(async move {
        let mut received = Vec::with_capacity(64);
        loop {
            server.recv_batch(&mut received, 64).await.unwrap();
            server.send_batch(received.drain(..)).await.unwrap();
        }
    });
    rounds(&client, 200).await;
    let allocations = OfProcess::from_now();
    rounds(&client, 200).await;
    let allocations = allocations.so_far();
    echo.abort();
    allocations
}

/// Returns true if there was less than one allocation in a thousand messages: a burst that queues up more
/// messages than any before makes a pool grow.
fn is_none(allocations: u64) -> bool {
    allocations * 1000 < 200 * 2 * 97
}

#[tokio::test]
async fn messages_do_not_allocate() {
    assert!(is_none(steady_state(Udp::new(), "127.0.0.1:0").await), "UDP");
    assert!(is_none(steady_state(Unix::new(), "unix:@bertha-test-allocations").await), "Unix");
    assert!(is_none(steady_state(Tcp::new(), "127.0.0.1:0").await), "TCP");
}
