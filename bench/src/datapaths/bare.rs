//! Neither negotiation nor Chunnels: the datapath's own connections, and messages that are encoded by hand.

use super::{across_cores, failed};
use crate::baseline::kv_raw::{Sample, Setup};
use crate::closed_loop::{ClosedLoop, Due, PATIENCE};
use crate::codec::{Bincode, Codec};
use crate::latency::Recorder;
use crate::workload::{Phase, Script};
use crate::{Error, ErrorKind};
use bertha_core::{Addr, Base, Buf, Connection, Datapath, Listener};
use bertha_kvstore::Store;
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
            super::until(over, serve(&connection)).await
        },
        async move || {
            let addr =
                is_listening.recv().map_err(Error::while_doing(ErrorKind::Core, "waiting for the store"))?;
            let connection = client.connect(addr).await.map_err(failed("connecting"))?;
            let mut client = Client { connection, window: ClosedLoop::new(setup.outstanding) };
            let Some((_, mut script)) = setup.workload.scripts(1).pop() else {
                return Err(Error::new(ErrorKind::Probe, "the workload has no records"));
            };
            client.measure(setup, &mut script).await
        },
    )
}

/// Answers until it is dropped, or the connection fails. What is no message gets no answer.
async fn serve<C: Connection<Data = Buf>>(connection: &C) -> Result<(), Error> {
    let (mut store, mut arrived, mut leaving) = (Store::default(), Vec::new(), Vec::new());
    loop {
        connection.recv_batch(&mut arrived, BURST).await.map_err(failed("receiving"))?;
        for bytes in arrived.drain(..) {
            if let Ok(request) = Bincode.decode(&bytes) {
                leaving.push(encode(connection, &store.handle(request))?);
            }
        }
        connection.send_batch(leaving.drain(..)).await.map_err(failed("sending"))?;
    }
}

fn encode<C: Connection<Data = Buf>>(
    connection: &C,
    message: &bertha_kvstore::Message,
) -> Result<Buf, Error> {
    let mut space = [0; LONGEST];
    let len = Bincode.encode(message, &mut space)?;
    let mut buffer = connection.base().buffer(len).map_err(failed("making a buffer"))?;
    buffer.copy_from_slice(&space[..len]);
    Ok(buffer)
}

struct Client<C> {
    connection: C,
    window: ClosedLoop,
}

impl<C: Connection<Data = Buf>> Client<C> {
    async fn measure(&mut self, setup: &Setup, script: &mut Script) -> Result<Sample, Error> {
        let records = script.records();
        self.ask(script, Phase::Load, records, &mut Recorder::new()?).await?;
        let (mut latency, started) = (Recorder::new()?, Instant::now());
        self.ask(script, Phase::Mix, setup.requests, &mut latency).await?;
        let elapsed = started.elapsed();
        Ok(Sample {
            requests_per_second: latency.count() as f64 / elapsed.as_secs_f64(),
            latency: latency.summary(),
            resent: self.window.resent(),
        })
    }

    /// Makes this many requests of the script and records how long each took, from its first sending.
    async fn ask(
        &mut self,
        script: &mut Script,
        phase: Phase,
        requests: u64,
        latency: &mut Recorder,
    ) -> Result<(), Error> {
        let Self { connection, window } = self;
        let mut request = |due: Due| {
            let request = script.request(phase, due.position);
            request.id = due.id;
            encode(connection, request)
        };
        let (mut arrived, mut leaving) = (Vec::new(), Vec::new());
        window.begin(requests);
        let now = Instant::now();
        while let Some(due) = window.fill(now) {
            leaving.push(request(due)?);
        }
        let mut patience = pin!(sleep(PATIENCE));
        loop {
            connection.send_batch(leaving.drain(..)).await.map_err(failed("sending"))?;
            if window.is_over() {
                return Ok(());
            }
            tokio::select! {
                biased;
                received = connection.recv_batch(&mut arrived, BURST) => {
                    received.map_err(failed("receiving"))?;
                    let now = Instant::now();
                    for bytes in arrived.drain(..) {
                        let Ok(reply) = Bincode.decode(&bytes) else { continue };
                        if let Some(due) = window.reply(&reply, now, latency)? {
                            leaving.push(request(due)?);
                        }
                    }
                }
                () = &mut patience => {
                    patience.as_mut().reset(tokio::time::Instant::now() + PATIENCE);
                    for due in window.lost()? {
                        leaving.push(request(due)?);
                    }
                }
            }
        }
    }
}
