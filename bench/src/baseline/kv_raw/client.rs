//! The client of one shard: one socket, and a closed loop over it.

use super::inbox::Inbox;
use super::outbox::Outbox;
use super::socket::BatchSocket;
use crate::Error;
use crate::closed_loop::{ClosedLoop, Due, PATIENCE};
use crate::codec::Codec;
use crate::latency::Recorder;
use crate::workload::{Phase, Script};
use bertha_kvstore::Message;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Instant;
use tokio::time::sleep;

/// A client of one shard.
#[derive(Debug)]
pub(super) struct Client<C> {
    codec: C,
    socket: BatchSocket,
    server: SocketAddr,
    inbox: Inbox,
    outbox: Outbox,
    window: ClosedLoop,
}

impl<C: Codec> Client<C> {
    /// A client that keeps `outstanding` requests on the way to the shard at `server`, at least one.
    pub(super) fn new(codec: C, server: SocketAddr, outstanding: usize) -> Result<Self, Error> {
        let socket = BatchSocket::open()?;
        let outbox = socket.outbox();
        Ok(Self { codec, socket, server, inbox: Inbox::new(), outbox, window: ClosedLoop::new(outstanding) })
    }

    /// How many requests were sent again.
    pub(super) fn resent(&self) -> u64 {
        self.window.resent()
    }

    /// Makes this many requests of the script and records how long each took, from its first sending.
    ///
    /// Cancelling it leaves requests on the way, whose replies a later run ignores.
    pub(super) async fn run(
        &mut self,
        script: &mut Script,
        phase: Phase,
        requests: u64,
        latency: &mut Recorder,
    ) -> Result<(), Error> {
        let Self { codec, socket, server, inbox, outbox, window } = self;
        let (codec, server) = (*codec, *server);
        let mut encode = |due: Due, outbox: &mut Outbox| {
            let request: &mut Message = script.request(phase, due.position);
            request.id = due.id;
            outbox.push(server, |space| codec.encode(request, space))
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

        let mut patience = pin!(sleep(PATIENCE));
        while !window.is_over() {
            tokio::select! {
                biased;
                received = socket.recv(inbox) => received?,
                () = &mut patience => {
                    patience.as_mut().reset(tokio::time::Instant::now() + PATIENCE);
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
            let now = Instant::now();
            for (_, datagram) in inbox.datagrams() {
                let Ok(reply) = codec.decode(datagram) else { continue };
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
