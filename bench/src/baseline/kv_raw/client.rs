//! The closed loop of one client socket: a fixed number of requests is always on the way.

use super::inbox::Inbox;
use super::outbox::Outbox;
use super::socket::BatchSocket;
use crate::codec::Codec;
use crate::latency::Recorder;
use crate::workload::{Phase, Script};
use crate::{Error, ErrorKind};
use bertha_kvstore::{Body, Message};
use std::net::SocketAddr;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// After this long without a single reply, everything on the way counts as lost and is sent again.
const PATIENCE: Duration = Duration::from_millis(200);

/// So many times in a row; then the server counts as gone.
const ATTEMPTS: u32 = 25;

/// A client of one shard.
#[derive(Debug)]
pub(super) struct Client<C> {
    codec: C,
    socket: BatchSocket,
    server: SocketAddr,
    inbox: Inbox,
    outbox: Outbox,
    /// What is on the way. The request in slot `s` has an id that is `s` modulo the number of slots.
    slots: Vec<Slot>,
    resent: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    id: u64,
    position: u64,
    sent: Instant,
    waiting: bool,
}

impl<C: Codec> Client<C> {
    /// A client that keeps `outstanding` requests on the way to the shard at `server`, at least one.
    pub(super) fn new(codec: C, server: SocketAddr, outstanding: usize) -> Result<Self, Error> {
        let socket = BatchSocket::open()?;
        let sent = Instant::now();
        let slots = (0..outstanding.max(1) as u64).map(|id| Slot { id, position: 0, sent, waiting: false });
        let outbox = socket.outbox();
        Ok(Self { codec, socket, server, inbox: Inbox::new(), outbox, slots: slots.collect(), resent: 0 })
    }

    /// How many requests were sent again.
    pub(super) fn resent(&self) -> u64 {
        self.resent
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
        let Self { codec, socket, server, inbox, outbox, slots, resent } = self;
        let (codec, server) = (*codec, *server);
        let (mut issued, mut completed) = (0, 0);
        let step = slots.len() as u64;

        let now = Instant::now();
        for slot in slots.iter_mut() {
            slot.waiting = issued < requests;
            if slot.waiting {
                slot.renew(step, issued, now);
                issued += 1;
                if outbox.is_full() {
                    socket.flush(outbox).await?;
                }
                slot.send(codec, server, script.request(phase, slot.position), outbox)?;
            }
        }
        socket.flush(outbox).await?;

        let mut patience = pin!(sleep(PATIENCE));
        let (mut completed_before, mut silent) = (0, 0);
        while completed < requests {
            tokio::select! {
                biased;
                received = socket.recv(inbox) => received?,
                () = &mut patience => {
                    patience.as_mut().reset(tokio::time::Instant::now() + PATIENCE);
                    silent = if completed == completed_before { silent + 1 } else { 0 };
                    completed_before = completed;
                    if silent == ATTEMPTS {
                        let what = format!("the key-value store at {server} stopped answering");
                        return Err(Error::new(ErrorKind::Stalled, what));
                    }
                    for slot in slots.iter().filter(|slot| silent > 0 && slot.waiting) {
                        if outbox.is_full() {
                            socket.flush(outbox).await?;
                        }
                        slot.send(codec, server, script.request(phase, slot.position), outbox)?;
                        *resent += 1;
                    }
                    socket.flush(outbox).await?;
                    continue;
                }
            }

            let now = Instant::now();
            for (_, datagram) in inbox.datagrams() {
                let Ok(reply) = codec.decode(datagram) else { continue };
                let slot = &mut slots[(reply.id % step) as usize];
                if !slot.waiting || slot.id != reply.id {
                    continue;
                }
                if !matches!(reply.body, Body::Found(_) | Body::Stored) {
                    let what = format!("the store answered {:?} for key {}", reply.body, reply.key);
                    return Err(Error::new(ErrorKind::Codec, what));
                }
                latency.record(now - slot.sent);
                completed += 1;
                slot.waiting = issued < requests;
                if slot.waiting {
                    slot.renew(step, issued, now);
                    issued += 1;
                    if outbox.is_full() {
                        socket.flush(outbox).await?;
                    }
                    slot.send(codec, server, script.request(phase, slot.position), outbox)?;
                }
            }
            socket.flush(outbox).await?;
        }
        Ok(())
    }
}

impl Slot {
    /// Takes the next id of this slot for the request at `position`.
    fn renew(&mut self, step: u64, position: u64, now: Instant) {
        self.id += step;
        self.position = position;
        self.sent = now;
    }

    /// Adds the slot's request to the outbox.
    fn send(
        &self,
        codec: impl Codec,
        server: SocketAddr,
        request: &mut Message,
        outbox: &mut Outbox,
    ) -> Result<(), Error> {
        request.id = self.id;
        outbox.push(server, |space| codec.encode(request, space))
    }
}
