//! Two ends that exchange messages while they change their stacks, and the history of the messages.

use crate::scene::{SERVER, client, server};
use bertha_core::{Buf, Connection, Describe, Runtime};
use bertha_datapath_sim::{Network, SimConnection, SimDatapath};
use bertha_negotiation::{Negotiate, Negotiated, Pick, Runs, Settings, Switching};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

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

/// Returns both ends of a connection, whose stacks may differ.
pub(crate) async fn connect<A, B>(
    network: &Network,
    here: A,
    there: B,
    settings: Settings,
) -> (Negotiated<<SimDatapath as Runs<A>>::Out>, Negotiated<<SimDatapath as Runs<B>>::Out>)
where
    A: Describe + Send + Sync + 'static,
    B: Describe + Send + Sync + 'static,
    SimDatapath: Runs<A> + Runs<B>,
{
    connect_over(client(network), server(network), here, there, settings).await
}

/// Works as [`connect`], with a given datapath for the client and for the server.
pub(crate) async fn connect_over<A, B>(
    client: SimDatapath,
    server: SimDatapath,
    here: A,
    there: B,
    settings: Settings,
) -> (Negotiated<<SimDatapath as Runs<A>>::Out>, Negotiated<<SimDatapath as Runs<B>>::Out>)
where
    A: Describe + Send + Sync + 'static,
    B: Describe + Send + Sync + 'static,
    SimDatapath: Runs<A> + Runs<B>,
{
    let mut incoming = there.listen(server, (SERVER, 0)).settings(settings.clone()).await.unwrap();
    let connecting = here.connect(client, incoming.local_addr()).settings(settings);
    let (served, connected) = futures_util::join!(incoming.next_or_refusal(), connecting.into_future());
    let ends = (connected.unwrap(), served.unwrap().unwrap());
    // Inline demultiplexing goes on without the listener.
    std::mem::forget(incoming);
    ends
}

/// Sends the numbers below `count`, in bursts and with pauses.
pub(crate) async fn talk(
    connection: &impl Connection<Data = Buf>,
    runtime: &impl Runtime,
    seed: u64,
    count: u32,
) {
    let mut dice = Dice::new(seed);
    let mut next = 0;
    while next < count {
        let burst = 1 + dice.roll(8) as u32;
        let numbers = next..(next + burst).min(count);
        let messages = numbers.clone().map(|number| Buf::copy_of(&number.to_le_bytes(), 32).unwrap());
        if dice.roll(2) == 0 {
            connection.send_batch(messages).await.unwrap();
        } else {
            for message in messages {
                connection.send(message).await.unwrap();
            }
        }
        next = numbers.end;
        if dice.roll(3) == 0 {
            runtime.sleep_until(runtime.now() + Duration::from_micros(dice.roll(1500))).await;
        }
    }
}

/// The progress of two listeners.
#[derive(Default)]
pub(crate) struct Progress {
    complete: AtomicUsize,
    is_over: AtomicBool,
}

/// Receives all messages of [`talk`], and no other messages, each once and in order, until [`talk`] has
/// ended. Cancels many of its calls.
pub(crate) async fn listen(
    connection: &impl Connection<Data = Buf>,
    runtime: &impl Runtime,
    seed: u64,
    count: u32,
    progress: &Progress,
) {
    let mut dice = Dice::new(seed);
    let mut history: Vec<u32> = Vec::new();
    let mut got: Vec<Buf> = Vec::new();
    while !progress.is_over.load(Ordering::Relaxed) {
        let before = history.len();
        let timeout = match dice.roll(3) {
            _ if before == count as usize => Duration::from_millis(5),
            0 => Duration::from_micros(dice.roll(500)),
            _ => Duration::from_secs(60),
        };
        let timer = std::pin::pin!(runtime.sleep_until(runtime.now() + timeout));
        if dice.roll(2) == 0 {
            let limit = 1 + dice.roll(10) as usize;
            let receiving = std::pin::pin!(connection.recv_batch(&mut got, limit));
            if let futures_util::future::Either::Left((received, _)) =
                futures_util::future::select(receiving, timer).await
            {
                received.unwrap();
            }
        } else {
            let receiving = std::pin::pin!(connection.recv());
            if let futures_util::future::Either::Left((received, _)) =
                futures_util::future::select(receiving, timer).await
            {
                got.push(received.unwrap());
            }
        }
        history.extend(got.drain(..).map(|it| u32::from_le_bytes(it[..].try_into().unwrap())));
        let expected = 0..history.len() as u32;
        assert!(history.iter().copied().eq(expected), "lost, repeated or out of order: {history:?}");
        if before < history.len() && history.len() == count as usize {
            progress.complete.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Changes to random alternatives several times.
pub(crate) async fn change<C, B>(
    connection: &Negotiated<Switching<C, B>>,
    runtime: &impl Runtime,
    seed: u64,
    times: u64,
) where
    B: Connection<Data = Buf>,
{
    let mut dice = Dice::new(seed);
    for _ in 0..times {
        runtime.sleep_until(runtime.now() + Duration::from_micros(dice.roll(4000))).await;
        let alternative = dice.roll(2);
        let agreement = connection.upgrade(Pick::alternative(alternative as usize)).await.unwrap();
        assert!(agreement.picks()[0] < 2);
    }
}

/// A connection whose stack can change.
pub(crate) type Live<C> = Negotiated<Switching<C, SimConnection>>;

/// Talks, listens and changes stacks on both ends at once, and then makes a last change that both ends see.
pub(crate) async fn converse<C>(
    network: &Network,
    client: &Live<C>,
    server: &Live<C>,
    seed: u64,
    count: u32,
    times: u64,
) where
    Switching<C, SimConnection>: Connection<Data = Buf>,
{
    let (runtime, progress) = (network.runtime(), Progress::default());
    let talking = async {
        futures_util::join!(
            talk(client, runtime, seed + 1, count),
            talk(server, runtime, seed + 2, count),
            change(client, runtime, seed + 5, times),
            change(server, runtime, seed + 6, times / 2),
        );
        while progress.complete.load(Ordering::Relaxed) < 2 {
            runtime.sleep_until(runtime.now() + Duration::from_millis(1)).await;
        }
        progress.is_over.store(true, Ordering::Relaxed);
    };
    futures_util::join!(
        talking,
        listen(client, runtime, seed + 3, count, &progress),
        listen(server, runtime, seed + 4, count, &progress),
    );
}
