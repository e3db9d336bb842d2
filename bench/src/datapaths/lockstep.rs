//! Client and store in turn, in one thread: for counters of instructions, and to see what their own work is.
//!
//! Each waits only for what the other has sent already. So nobody polls in vain, bursts are the same in every run, and
//! with them the count.

use super::bare;
use super::{Bytes, failed, script, stack};
use crate::baseline::kv_raw::Setup;
use crate::kv_bertha::client::Client;
use crate::latency::Recorder;
use crate::workload::{Phase, Script};
use crate::{Error, ErrorKind, stepping};
use bertha::prelude::*;
use bertha_core::{Addr, Base, Datapath, Listener, Wrap};
use bertha_datapath_kernel::TokioRuntime;
use bertha_kvstore::{Message, Store};
use std::time::{Duration, Instant};

/// Rounds that come before those that are counted: all lists have grown by then.
const WARM_UP: usize = 16;

/// The most messages that are taken at once.
const BURST: usize = 256;

/// How long the two took for the requests that were counted, each with its half of the datapath. In memory that is next to
/// nothing, so what is left is their own work: requests made, encoded and decoded, looked up and timed.
#[derive(Debug, Clone, Copy)]
pub struct OwnWork {
    /// The client.
    pub client: Duration,
    /// The store.
    pub store: Duration,
}

/// Asks a store.
pub(super) trait Ask {
    /// Sends the first requests.
    async fn begin(&mut self, script: &mut Script, phase: Phase, requests: u64) -> Result<(), Error>;

    /// Takes a burst of replies, sends the requests that take their place, and returns how many came.
    async fn exchange(
        &mut self,
        script: &mut Script,
        phase: Phase,
        latency: &mut Recorder,
    ) -> Result<usize, Error>;

    /// How many requests have no reply yet.
    fn on_the_way(&self) -> u64;
}

/// Answers requests.
pub(super) trait Answer {
    /// Answers a burst of requests, and returns how many came.
    async fn answer(&mut self) -> Result<usize, Error>;
}

/// The store over `server`'s datapath at `addr`, and a client over `client`'s, each with the stack that the two negotiate.
///
/// # Errors
/// As those of [`run`](super::run).
pub fn negotiated<D>(server: D, client: D, addr: Addr, setup: &Setup) -> Result<OwnWork, Error>
where
    D: Runs<Bytes, Out: Connection<Data = Message>>,
{
    on_this_thread(async {
        let mut incoming = stack().listen(server, addr).await.map_err(failed("listening"))?;
        let at = incoming.local_addr();
        let accepting = async { incoming.next().await.transpose().map_err(failed("accepting")) };
        let connecting = async { stack().connect(client, at).await.map_err(failed("connecting")) };
        let (accepted, connected) = futures_util::try_join!(accepting, connecting)?;
        let accepted = accepted.ok_or_else(|| Error::new(ErrorKind::Bertha, "the listener ended"))?;
        both(Client::new(connected, setup.outstanding), Server::new(accepted), setup).await
    })
}

/// The same without negotiation or Chunnels.
///
/// # Errors
/// As those of [`run`](super::run).
pub fn by_hand<D: Datapath>(server: D, client: D, addr: Addr, setup: &Setup) -> Result<OwnWork, Error> {
    on_this_thread(async {
        let listener = server.listen(addr).await.map_err(failed("listening"))?;
        let at = listener.local_addr();
        let connected = client.connect(at).await.map_err(failed("connecting"))?;
        // A datapath without a handshake hears of the client by its first message.
        let mut hello = connected.base().buffer(1).map_err(failed("making a buffer"))?;
        hello.fill(0);
        connected.send(hello).await.map_err(failed("sending"))?;
        let accepted = listener.accept().await.map_err(failed("accepting"))?;
        accepted.recv().await.map_err(failed("receiving"))?;
        both(bare::Client::new(connected, setup.outstanding), bare::Server::new(accepted), setup).await
    })
}

/// The stack at both ends of a queue in memory.
///
/// # Errors
/// As those of [`run`](super::run).
pub fn in_memory(setup: &Setup) -> Result<OwnWork, Error> {
    on_this_thread(async {
        let (here, there) = bertha_datapath_sim::pair(TokioRuntime);
        let connected = stack().wrap(here).await.map_err(failed("making the client's stack"))?;
        let accepted = stack().wrap(there).await.map_err(failed("making the store's stack"))?;
        both(Client::new(connected, setup.outstanding), Server::new(accepted), setup).await
    })
}

/// The same without Chunnels.
///
/// # Errors
/// As those of [`run`](super::run).
pub fn by_hand_in_memory(setup: &Setup) -> Result<OwnWork, Error> {
    on_this_thread(async {
        let (here, there) = bertha_datapath_sim::pair(TokioRuntime);
        both(bare::Client::new(here, setup.outstanding), bare::Server::new(there), setup).await
    })
}

fn on_this_thread(work: impl Future<Output = Result<OwnWork, Error>>) -> Result<OwnWork, Error> {
    // Its turns don't end before a burst does.
    super::runtime()?.block_on(tokio::task::unconstrained(work))
}

/// Loads the store and has the two go on for a while; then come the rounds that are counted and timed. At the end of each, as
/// many requests are on the way as at its beginning.
async fn both(mut client: impl Ask, mut server: impl Answer, setup: &Setup) -> Result<OwnWork, Error> {
    let (mut script, mut latency) = (script(setup)?, Recorder::new()?);
    let records = script.records();
    client.begin(&mut script, Phase::Load, records).await?;
    while client.on_the_way() > 0 {
        let requests = client.on_the_way();
        answer(&mut server, requests).await?;
        exchange(&mut client, requests, &mut script, Phase::Load, &mut latency).await?;
    }
    client.begin(&mut script, Phase::Mix, u64::MAX).await?;
    let (requests, phase) = (client.on_the_way(), Phase::Mix);
    for _ in 0..WARM_UP {
        answer(&mut server, requests).await?;
        exchange(&mut client, requests, &mut script, phase, &mut latency).await?;
    }
    let mut own = OwnWork { client: Duration::ZERO, store: Duration::ZERO };
    stepping::begin()?;
    for _ in 0..setup.requests.div_ceil(requests) {
        let began = Instant::now();
        answer(&mut server, requests).await?;
        let answered = Instant::now();
        exchange(&mut client, requests, &mut script, phase, &mut latency).await?;
        own.store += answered - began;
        own.client += answered.elapsed();
    }
    stepping::end()?;
    Ok(own)
}

/// Has so many requests answered.
async fn answer(server: &mut impl Answer, requests: u64) -> Result<(), Error> {
    let mut answered = 0;
    while answered < requests {
        answered += server.answer().await? as u64;
    }
    Ok(())
}

/// Has so many replies taken, and others asked in their place.
async fn exchange(
    client: &mut impl Ask,
    replies: u64,
    script: &mut Script,
    phase: Phase,
    latency: &mut Recorder,
) -> Result<(), Error> {
    let mut taken = 0;
    while taken < replies {
        taken += client.exchange(script, phase, latency).await? as u64;
    }
    Ok(())
}

/// Answers as a [`Shard`](bertha_kvstore::server::Shard) does, a burst at a time.
struct Server<C> {
    connection: C,
    store: Store,
    messages: Vec<Message>,
}

impl<C> Server<C> {
    fn new(connection: C) -> Self {
        Self { connection, store: Store::default(), messages: Vec::with_capacity(BURST) }
    }
}

impl<C: Connection<Data = Message>> Answer for Server<C> {
    async fn answer(&mut self) -> Result<usize, Error> {
        let Self { connection, store, messages } = self;
        let received = connection.recv_batch(messages, BURST).await.map_err(failed("receiving"))?;
        messages.iter_mut().for_each(|message| store.answer(message));
        connection.send_batch(messages.drain(..)).await.map_err(failed("sending"))?;
        Ok(received)
    }
}

impl<C: Connection<Data = Message>> Ask for Client<C> {
    async fn begin(&mut self, script: &mut Script, phase: Phase, requests: u64) -> Result<(), Error> {
        Self::begin(self, script, phase, requests).await
    }

    async fn exchange(
        &mut self,
        script: &mut Script,
        phase: Phase,
        latency: &mut Recorder,
    ) -> Result<usize, Error> {
        Self::exchange(self, script, phase, latency).await
    }

    fn on_the_way(&self) -> u64 {
        Self::on_the_way(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;

    #[test]
    fn both_ends_make_progress_in_turn() {
        let workload = Workload { records: 50, value_bytes: 10, reads: 0.5, seed: 3 };
        for outstanding in [1, 8, 300] {
            let setup = Setup { shards: 1, outstanding, requests: 501, workload };
            for run in [in_memory, by_hand_in_memory] {
                let own = run(&setup).unwrap();
                assert!(own.client > Duration::ZERO && own.store > Duration::ZERO, "{own:?}");
            }
        }
    }
}
