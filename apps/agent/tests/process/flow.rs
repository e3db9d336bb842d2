//! Transfers over UDP of this machine.

use bertha::ccp::Ccp;
use bertha::chunnels::congestion::Algorithm;
use bertha::chunnels::{Fault, Ordered, Reliable};
use bertha::prelude::*;
use bertha::{Base, Buf, Negotiated};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Length of a message. A packet of `Reliable` holds one.
const LENGTH: usize = 1_000;

/// Number of messages between two pauses.
const BURST: u64 = 32;

/// A transfer of numbered messages that goes on until it is stopped.
pub(crate) struct Transfer {
    is_over: Arc<AtomicBool>,
    /// Number of messages that have arrived, all of them in order.
    arrived: Arc<AtomicU64>,
    sending: tokio::task::JoinHandle<u64>,
    receiving: tokio::task::JoinHandle<()>,
}

impl Transfer {
    /// Begins a transfer that `control` controls, over a path of ten milliseconds.
    pub(crate) async fn begin(control: impl Algorithm) -> Self {
        Self::begin_paced(control, Duration::from_millis(1)).await
    }

    /// Begins a transfer that sends some messages, and pauses for this time, and so on.
    pub(crate) async fn begin_paced(control: impl Algorithm, pause: Duration) -> Self {
        let server = make_stack!(Ordered::new(), Reliable::new());
        let path = Fault::new(1).delay(Duration::from_millis(10));
        let client = make_stack!(Ordered::new(), Reliable::new().with(control), path);
        let mut incoming =
            make_stack!(server, Fault::new(2)).listen(bertha::datapath(), "127.0.0.1:0").await.unwrap();
        let to = incoming.local_addr();
        let (connected, accepted) = tokio::join!(client.connect(bertha::datapath(), to), incoming.next());
        let (client, server) = (connected.unwrap(), accepted.unwrap());
        let is_over = Arc::new(AtomicBool::new(false));
        let arrived = Arc::new(AtomicU64::new(0));
        let sending = tokio::spawn(send(client, pause, is_over.clone()));
        let receiving = tokio::spawn(receive(server, arrived.clone()));
        Self { is_over, arrived, sending, receiving }
    }

    /// Waits until this many more messages have arrived, for twenty seconds at most.
    pub(crate) async fn continues(&self, messages: u64) {
        let goal = self.arrived.load(Ordering::Relaxed) + messages;
        until("messages", || self.arrived.load(Ordering::Relaxed) >= goal).await;
    }

    /// Ends the transfer, and checks that all that was sent has arrived.
    pub(crate) async fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        let sent = self.sending.await.unwrap();
        self.receiving.await.unwrap();
        assert_eq!(self.arrived.load(Ordering::Relaxed), sent);
    }
}

async fn send(
    client: Negotiated<impl Connection<Data = Buf>>,
    pause: Duration,
    is_over: Arc<AtomicBool>,
) -> u64 {
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        let mut message = Buf::new(LENGTH, client.base().reserved()).unwrap();
        message[..8].copy_from_slice(&u64::to_le_bytes(number));
        client.send(message).await.unwrap();
        number += 1;
        if number % BURST == 0 {
            tokio::time::sleep(pause).await;
        }
    }
    client.close().await.unwrap();
    number
}

async fn receive(server: Negotiated<impl Connection<Data = Buf>>, arrived: Arc<AtomicU64>) {
    while let Ok(message) = server.recv().await {
        let number = u64::from_le_bytes(message[..8].try_into().unwrap());
        assert_eq!(number, arrived.fetch_add(1, Ordering::Relaxed));
    }
}

/// Waits until the agent controls this many flows.
pub(crate) async fn until_by_agent(control: &Ccp, flows: usize) {
    until("the number of flows of the agent", || control.statistics().by_agent == flows).await;
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}: nothing happened");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
