//! The client: a single socket, and a closed loop over it.

use super::inbox::Inbox;
use super::outbox::Outbox;
use super::socket::BatchSocket;
use crate::Error;
use crate::harness::Recorder;
use crate::kv::BURST;
use crate::kv::closed_loop::{ClosedLoop, Due};
use crate::kv::codec::{Format, decode_checked, encode_checked};
use crate::kv::workload::{Phase, Script};
use bertha_chunnels::ShardMap;
use bertha_kvstore::Message;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// A client of all shards, which routes each request by its key.
#[derive(Debug)]
pub(super) struct Client {
    socket: BatchSocket,
    shards: Shards,
    inbox: Inbox,
    outbox: Outbox,
    window: ClosedLoop,
}

/// Addresses of the shards, in the order of the map.
#[derive(Debug)]
pub(super) struct Shards {
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) map: ShardMap,
}

impl Shards {
    #[inline]
    fn of(&self, key: &[u8]) -> SocketAddr {
        match *self.addresses {
            [only] => only,
            _ => self.addresses[self.map.shard_of(key)],
        }
    }
}

impl Client {
    /// Creates a client that keeps `in_flight` requests in flight, at least one, and sends all of them again
    /// after `timeout` without a reply.
    pub(super) fn new(shards: Shards, in_flight: usize, timeout: Duration) -> Result<Self, Error> {
        let socket = BatchSocket::open()?;
        let outbox = socket.outbox();
        Ok(Self { socket, shards, inbox: Inbox::new(), outbox, window: ClosedLoop::new(in_flight, timeout) })
    }

    /// Returns the number of requests that were sent again.
    pub(super) fn resent(&self) -> u64 {
        self.window.resent()
    }

    /// Makes this many requests of the script, in the format `F`, and records the latency of each, from its first sending.
    ///
    /// Cancelling the run leaves requests in flight; a later run ignores their replies.
    pub(super) async fn run<F: Format>(
        &mut self,
        script: &mut Script,
        phase: Phase,
        requests: u64,
        latency: &mut Recorder,
    ) -> Result<(), Error> {
        let Self { socket, shards, inbox, outbox, window } = self;
        let mut encode = |due: Due, outbox: &mut Outbox| {
            let request: &mut Message = script.request(phase, due.position);
            request.id = due.id;
            outbox.push(shards.of(&request.key), |space| encode_checked::<F>(request, space))
        };

        window.begin(requests);
        let now = Instant::now();
        while let Some(due) = window.fill(now) {
            if outbox.is_full() {
                socket.flush(outbox).await?;
            }
            encode(due, outbox)?;
        }
        socket.flush(outbox).await?;

        let mut timeout = pin!(sleep(window.timeout()));
        while !window.is_over() {
            tokio::select! {
                biased;
                received = socket.recv(inbox) => received?,
                () = &mut timeout => {
                    timeout.as_mut().reset(tokio::time::Instant::now() + window.timeout());
                    for due in window.lost()? {
                        if outbox.is_full() {
                            socket.flush(outbox).await?;
                        }
                        encode(due, outbox)?;
                    }
                    socket.flush(outbox).await?;
                    continue;
                }
            }
            let mut now = Instant::now();
            for (number, (_, datagram)) in inbox.datagrams().enumerate() {
                if number > 0 && number % BURST == 0 {
                    socket.flush(outbox).await?;
                    now = Instant::now();
                }
                let Ok(reply) = decode_checked::<F>(datagram) else { continue };
                let Some(due) = window.reply(&reply, now, latency)? else { continue };
                if outbox.is_full() {
                    socket.flush(outbox).await?;
                }
                encode(due, outbox)?;
            }
            socket.flush(outbox).await?;
        }
        Ok(())
    }
}
