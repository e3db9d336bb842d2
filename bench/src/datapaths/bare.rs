//! Neither negotiation nor Chunnels: the datapath's own connections, and messages that are encoded by hand.

use super::lockstep::{Answer, Ask};
use super::{across_cores, failed};
use crate::baseline::kv_raw::{Sample, Setup};
use crate::closed_loop::{ClosedLoop, Due, PATIENCE};
use crate::codec::{Bincode, Codec};
use crate::latency::Recorder;
use crate::workload::{Phase, Script};
use crate::{Error, ErrorKind};
use bertha_core::{Addr, Base, Buf, Connection, Datapath, Listener};
use bertha_kvstore::{Message, Store};
use std::pin::pin;
use std::sync::mpsc;
use std::time::Instant;
use tokio::time::sleep;

/// The most messages that are taken at once.
const BURST: usize = 256;

/// The longest message of the workloads.
const LONGEST: usize = 4096;

/// The store over `server`'s datapath at `addr`, and a client over `client`'s.
///
/// # Errors
/// As those of [`run`](super::run).
pub fn run<D: Datapath>(server: D, client: D, addr: Addr, setup: &Setup) -> Result<Sample, Error> {
    let (listening, is_listening) = mpsc::sync_channel(1);
    across_cores(
        async move |over| {
            let listener = server.listen(addr).await.map_err(failed("listening"))?;
            let _ = listening.send(listener.local_addr());
            let connection = listener.accept().await.map_err(failed("accepting"))?;
            let mut server = Server::new(connection);
            super::until(over, async {
                loop {
                    server.answer().await?;
                }
            })
            .await
        },
        async move || {
            let addr =
                is_listening.recv().map_err(Error::while_doing(ErrorKind::Core, "waiting for the store"))?;
            let connection = client.connect(addr).await.map_err(failed("connecting"))?;
            Client::new(connection, setup.outstanding).measure(setup, &mut super::script(setup)?).await
        },
    )
}

/// Where messages are encoded, before their length is known.
struct Space(Box<[u8]>);

impl Space {
    fn new() -> Self {
        Self(vec![0; LONGEST].into())
    }

    fn encode<C: Connection<Data = Buf>>(&mut self, connection: &C, message: &Message) -> Result<Buf, Error> {
        let len = Bincode.encode(message, &mut self.0)?;
        let mut buffer = connection.base().buffer(len).map_err(failed("making a buffer"))?;
        buffer.copy_from_slice(&self.0[..len]);
        Ok(buffer)
    }
}

/// The store.
pub(super) struct Server<C> {
    connection: C,
    store: Store,
    arrived: Vec<Buf>,
    leaving: Vec<Buf>,
    space: Space,
}

impl<C: Connection<Data = Buf>> Server<C> {
    pub(super) fn new(connection: C) -> Self {
        let (arrived, leaving) = (Vec::with_capacity(BURST), Vec::with_capacity(BURST));
        Self { connection, store: Store::default(), arrived, leaving, space: Space::new() }
    }
}

impl<C: Connection<Data = Buf>> Answer for Server<C> {
    /// What is no message gets no answer.
    async fn answer(&mut self) -> Result<usize, Error> {
        let Self { connection, store, arrived, leaving, space } = self;
        let received = connection.recv_batch(arrived, BURST).await.map_err(failed("receiving"))?;
        for bytes in arrived.drain(..) {
            if let Ok(request) = Bincode.decode(&bytes) {
                leaving.push(space.encode(connection, &store.handle(request))?);
            }
        }
        connection.send_batch(leaving.drain(..)).await.map_err(failed("sending"))?;
        Ok(received)
    }
}

/// Who asks it.
pub(super) struct Client<C> {
    connection: C,
    window: ClosedLoop,
    arrived: Vec<Buf>,
    leaving: Vec<Buf>,
    space: Space,
}

impl<C: Connection<Data = Buf>> Client<C> {
    pub(super) fn new(connection: C, outstanding: usize) -> Self {
        let (arrived, leaving) = (Vec::with_capacity(BURST), Vec::with_capacity(BURST));
        Self { connection, window: ClosedLoop::new(outstanding), arrived, leaving, space: Space::new() }
    }

    async fn measure(&mut self, setup: &Setup, script: &mut Script) -> Result<Sample, Error> {
        let records = script.records();
        self.run(script, Phase::Load, records, &mut Recorder::new()?).await?;
        let (mut latency, started) = (Recorder::new()?, Instant::now());
        self.run(script, Phase::Mix, setup.requests, &mut latency).await?;
        let elapsed = started.elapsed();
        Ok(Sample {
            requests_per_second: latency.count() as f64 / elapsed.as_secs_f64(),
            latency: latency.summary(),
            resent: self.window.resent(),
        })
    }

    /// Makes this many requests of the script and records how long each took, from its first sending.
    async fn run(
        &mut self,
        script: &mut Script,
        phase: Phase,
        requests: u64,
        latency: &mut Recorder,
    ) -> Result<(), Error> {
        self.begin(script, phase, requests).await?;
        let mut patience = pin!(sleep(PATIENCE));
        while !self.window.is_over() {
            tokio::select! {
                biased;
                received = self.connection.recv_batch(&mut self.arrived, BURST) => {
                    received.map_err(failed("receiving"))?;
                    self.renew(script, phase, latency)?;
                }
                () = &mut patience => {
                    patience.as_mut().reset(tokio::time::Instant::now() + PATIENCE);
                    for due in self.window.lost()? {
                        self.leaving.push(self.space.encode(&self.connection, request(script, phase, due))?);
                    }
                }
            }
            self.send().await?;
        }
        Ok(())
    }

    /// Puts the next requests in the place of the replies that have arrived.
    fn renew(&mut self, script: &mut Script, phase: Phase, latency: &mut Recorder) -> Result<(), Error> {
        let now = Instant::now();
        for bytes in self.arrived.drain(..) {
            let Ok(reply) = Bincode.decode(&bytes) else { continue };
            if let Some(due) = self.window.reply(&reply, now, latency)? {
                self.leaving.push(self.space.encode(&self.connection, request(script, phase, due))?);
            }
        }
        Ok(())
    }

    async fn send(&mut self) -> Result<(), Error> {
        self.connection.send_batch(self.leaving.drain(..)).await.map_err(failed("sending"))
    }
}

impl<C: Connection<Data = Buf>> Ask for Client<C> {
    async fn begin(&mut self, script: &mut Script, phase: Phase, requests: u64) -> Result<(), Error> {
        self.window.begin(requests);
        let now = Instant::now();
        while let Some(due) = self.window.fill(now) {
            self.leaving.push(self.space.encode(&self.connection, request(script, phase, due))?);
        }
        self.send().await
    }

    async fn exchange(
        &mut self,
        script: &mut Script,
        phase: Phase,
        latency: &mut Recorder,
    ) -> Result<usize, Error> {
        let received =
            self.connection.recv_batch(&mut self.arrived, BURST).await.map_err(failed("receiving"))?;
        self.renew(script, phase, latency)?;
        self.send().await?;
        Ok(received)
    }

    fn on_the_way(&self) -> u64 {
        self.window.on_the_way()
    }
}

fn request(script: &mut Script, phase: Phase, due: Due) -> &Message {
    let request = script.request(phase, due.position);
    request.id = due.id;
    request
}
