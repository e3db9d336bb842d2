//! Participants that talk to each other.

use crate::multi_endpoint::history::{History, LEN, of_bytes, to_bytes};
use bertha_core::{Buf, Connection, Error, Runtime};
use bertha_datapath_sim::{Limits, Network, SimGroup, SimRuntime, SimTask};
use bertha_negotiation::rendezvous::{
    MemoryStore, MultiEndpoint, Name, Rendezvous, RendezvousSettings, RunsAmong,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) const GROUP: ([u8; 4], u16) = ([239, 1, 2, 3], 4242);

/// Random numbers for the shape of a test.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn roll(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// The network and the store in which participants meet.
#[derive(Clone)]
pub(crate) struct Crowd {
    pub(crate) network: Network,
    pub(crate) store: MemoryStore<SimRuntime>,
    pub(crate) settings: RendezvousSettings,
    pub(crate) history: History,
}

/// A participant, with a task that receives and a task that sends.
pub(crate) struct Member<C: Connection> {
    pub(crate) number: u32,
    pub(crate) connection: Arc<MultiEndpoint<C>>,
    is_quiet: Arc<AtomicBool>,
    tasks: Vec<SimTask>,
}

impl Crowd {
    pub(crate) fn new(network: Network) -> Self {
        let mut settings = RendezvousSettings::default();
        settings.lease = Duration::from_millis(500);
        settings.staging_timeout = Duration::from_secs(4);
        // The network loses only the messages that a test has it lose.
        network.set_limits(Limits { queue: 1 << 20, ..Limits::default() });
        let store = MemoryStore::new(network.runtime().clone());
        Self { network, store, settings, history: History::default() }
    }

    pub(crate) async fn pause(&self, duration: Duration) {
        self.network.runtime().sleep(duration).await;
    }

    pub(crate) fn ip(number: u32) -> [u8; 4] {
        [10, 0, 1, number as u8]
    }

    pub(crate) fn group(&self, number: u32) -> SimGroup {
        self.network.host(Self::ip(number)).group(SocketAddr::from(GROUP)).unwrap()
    }

    pub(crate) async fn join<S>(
        &self,
        number: u32,
        stack: S,
    ) -> Result<MultiEndpoint<<SimGroup as RunsAmong<S>>::Out>, Error>
    where
        S: Rendezvous + 'static,
        SimGroup: RunsAmong<S>,
    {
        let name = Name::new("crowd")?;
        stack.rendezvous(self.group(number), self.store.clone(), name).settings(self.settings.clone()).await
    }

    /// Joins a participant that talks, at this pace, and listens.
    pub(crate) async fn enter<S, C>(&self, number: u32, stack: S, pace: Duration) -> Member<C>
    where
        S: Rendezvous + 'static,
        SimGroup: RunsAmong<S, Out = C>,
        C: Connection<Data = Buf>,
    {
        let connection = Arc::new(self.join(number, stack).await.unwrap());
        let is_quiet = Arc::new(AtomicBool::new(false));
        let runtime = self.network.runtime();
        let talking = talk(number, connection.clone(), self.clone(), pace, is_quiet.clone());
        let listening = listen(number, connection.clone(), self.clone());
        let tasks = vec![runtime.spawn(talking), runtime.spawn(listening)];
        Member { number, connection, is_quiet, tasks }
    }
}

async fn talk<C: Connection<Data = Buf>>(
    number: u32,
    connection: Arc<MultiEndpoint<C>>,
    crowd: Crowd,
    pace: Duration,
    is_quiet: Arc<AtomicBool>,
) {
    let mut dice = Dice::new(crowd.network.runtime().random());
    while !is_quiet.load(Ordering::Relaxed) {
        let burst = 1 + dice.roll(4) as u32;
        let first = crowd.history.change(number, |record| {
            record.sent += burst;
            record.sent - burst
        });
        let messages = (first..first + burst).map(|it| Buf::copy_of(&to_bytes((number, it)), 40).unwrap());
        let sent = match dice.roll(2) {
            0 => connection.send_batch(messages).await,
            _ => {
                let mut sent = Ok(());
                for message in messages {
                    sent = sent.and(connection.send(message).await);
                }
                sent
            }
        };
        if sent.is_err() {
            return;
        }
        crowd.pause(Duration::from_micros(dice.roll(2 * pace.as_micros() as u64 + 1))).await;
    }
}

/// Receives, and cancels many of its calls.
async fn listen<C: Connection<Data = Buf>>(number: u32, connection: Arc<MultiEndpoint<C>>, crowd: Crowd) {
    let mut dice = Dice::new(crowd.network.runtime().random());
    let mut got: Vec<Buf> = Vec::new();
    loop {
        let patience = match dice.roll(3) {
            0 => Duration::from_micros(dice.roll(500)),
            _ => Duration::from_secs(60),
        };
        let timer = std::pin::pin!(crowd.pause(patience));
        let limit = 1 + dice.roll(10) as usize;
        let receiving = async {
            match dice.roll(2) {
                0 => connection.recv_batch(&mut got, limit).await.map(drop),
                _ => connection.recv().await.map(|message| got.push(message)),
            }
        };
        if let futures_util::future::Either::Left((Err(_), _)) =
            futures_util::future::select(std::pin::pin!(receiving), timer).await
        {
            return;
        }
        for message in got.drain(..) {
            assert_eq!(message.len(), LEN);
            crowd.history.change(number, |record| record.received.push(of_bytes(&message)));
        }
    }
}

impl<C: Connection<Data = Buf>> Member<C> {
    /// Stops talking, and goes on listening.
    pub(crate) fn hush(&self) {
        self.is_quiet.store(true, Ordering::Relaxed);
    }

    /// Leaves in good order.
    pub(crate) async fn leave(self, crowd: &Crowd) {
        self.hush();
        crowd.pause(Duration::from_millis(50)).await;
        crowd.history.change(self.number, |record| record.is_gone = true);
        drop(self.tasks);
        self.connection.close().await.unwrap();
    }

    /// Vanishes without a message.
    pub(crate) fn crash(self, crowd: &Crowd) {
        crowd.history.change(self.number, |record| record.is_gone = true);
        drop(self.tasks);
        drop(self.connection);
        crowd.network.restart(Crowd::ip(self.number));
    }
}
