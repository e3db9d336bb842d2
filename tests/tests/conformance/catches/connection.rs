//! Faulty connections.

use bertha_conformance::Bufs;
use bertha_core::{Base, Buf, Connection, Error};
use bertha_datapath_sim::{PairBase, PairConnection, SimRuntime, pair};
use futures_util::lock::Mutex;
use futures_util::task::AtomicWaker;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

/// The fault of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Sound,
    LosesEveryTenth,
    Repeats,
    Truncates,
    Reorders,
    LosesDroppedRecv,
    LosesDroppedBatch,
    IgnoresLimit,
    WaitsToFill,
    WaitsAtZero,
    Miscounts,
    LocksOutSenders,
    ForgetsFirstWaiter,
    StaysOpen,
    LeavesWaiting,
    EndsAtOversize,
    SendsOversizeInPieces,
    DropsTheRest,
}

use Fault::*;

struct Faulty {
    inner: PairConnection<SimRuntime>,
    fault: Fault,
    count: AtomicU64,
    turn: Mutex<()>,
    held: Mutex<Option<Buf>>,
    last: Arc<LastWaiter>,
}

fn faulty(runtime: &SimRuntime, fault: Fault) -> (Faulty, Faulty) {
    let (here, there) = pair(runtime.clone());
    let end = |inner| Faulty {
        inner,
        fault,
        count: AtomicU64::new(0),
        turn: Mutex::new(()),
        held: Mutex::new(None),
        last: Arc::default(),
    };
    (end(here), end(there))
}

/// Remembers only the last of several waiting tasks.
#[derive(Default)]
struct LastWaiter(AtomicWaker);

impl Wake for LastWaiter {
    fn wake(self: Arc<Self>) {
        self.0.wake();
    }
}

impl Faulty {
    async fn recv_with_one_waker(&self) -> Result<Buf, Error> {
        let waker = Waker::from(self.last.clone());
        let mut inner = pin!(self.inner.recv());
        poll_fn(|context| {
            self.last.0.register(context.waker());
            inner.as_mut().poll(&mut Context::from_waker(&waker))
        })
        .await
    }
}

impl Connection for Faulty {
    type Data = Buf;
    type Base = PairBase<SimRuntime>;

    fn base(&self) -> &Self::Base {
        self.inner.base()
    }

    async fn send(&self, mut message: Buf) -> Result<(), Error> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            LosesEveryTenth if number % 10 == 9 => return Ok(()),
            Repeats if number % 10 == 9 => self.inner.send(Buf::copy_of(&message, 0)?).await?,
            Truncates if message.len() > 50 => message.truncate(50),
            Reorders if number % 10 == 8 => {
                *self.held.lock().await = Some(message);
                return Ok(());
            }
            EndsAtOversize if message.len() > self.base().mtu() => self.inner.close().await?,
            SendsOversizeInPieces if message.len() > self.base().mtu() => {
                return self.inner.send(message.split_to(100)?).await;
            }
            LocksOutSenders => {
                let _turn = self.turn.lock().await;
                return self.inner.send(message).await;
            }
            _ => {}
        }
        self.inner.send(message).await?;
        match self.held.lock().await.take() {
            Some(held) => self.inner.send(held).await,
            None => Ok(()),
        }
    }

    async fn recv(&self) -> Result<Buf, Error> {
        match self.fault {
            LosesDroppedRecv => {
                let message = self.inner.recv().await;
                // The future holds the message over a suspension.
                self.base().runtime().sleep(Duration::from_micros(1)).await;
                message
            }
            LocksOutSenders => {
                let _turn = self.turn.lock().await;
                self.inner.recv().await
            }
            LeavesWaiting => match self.inner.recv().await {
                Err(error) if self.count.fetch_add(1, Ordering::Relaxed) == 0 => {
                    drop(error);
                    std::future::pending().await
                }
                other => other,
            },
            ForgetsFirstWaiter => self.recv_with_one_waker().await,
            _ => self.inner.recv().await,
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        if self.fault == DropsTheRest {
            let messages: Vec<_> = messages.collect();
            return self.inner.send_batch(messages.into_iter()).await;
        }
        for message in messages {
            self.send(message).await?;
        }
        Ok(())
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        match self.fault {
            IgnoresLimit if limit > 0 => self.inner.recv_batch(into, usize::MAX).await,
            WaitsToFill => {
                for _ in 0..limit {
                    into.extend([self.inner.recv().await?]);
                }
                Ok(limit)
            }
            WaitsAtZero => self.inner.recv_batch(into, limit.max(1)).await,
            Miscounts => self.inner.recv_batch(into, limit).await.map(|count| count + usize::from(count > 1)),
            LosesDroppedBatch => {
                let mut burst = Vec::new();
                let count = self.inner.recv_batch(&mut burst, limit).await?;
                self.base().runtime().sleep(Duration::from_micros(1)).await;
                into.extend(burst);
                Ok(count)
            }
            _ => self.inner.recv_batch(into, limit).await,
        }
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    async fn close(&self) -> Result<(), Error> {
        match self.fault {
            StaysOpen => Ok(()),
            _ => self.inner.close().await,
        }
    }
}

macro_rules! run {
    ($sim:ident, $fault:ident, $check:path) => {{
        let (a, b) = faulty(&$sim.runtime(), $fault);
        $sim.run($check(&a, &b, &Bufs))
    }};
}

crate::catches::catches! { run:
    messages_arrive_both_ways: LosesEveryTenth "nothing happened", Truncates "cut", Reorders "nothing happened";
    bursts_arrive_whole: LosesEveryTenth "nothing happened", Reorders "order", Repeats "order", Miscounts "appends";
    the_limit_is_respected: IgnoresLimit "limit of 1", WaitsToFill "nothing happened";
    a_limit_of_zero_returns_at_once: WaitsAtZero "recv_batch of none";
    a_burst_is_not_waited_for: WaitsToFill "nothing happened";
    sends_go_on_while_a_recv_waits: LocksOutSenders "send while a recv waits";
    each_message_goes_to_one_receiver: ForgetsFirstWaiter "nothing happened", Repeats "order";
    several_senders_lose_nothing: LosesEveryTenth "nothing happened";
    a_dropped_recv_loses_nothing: LosesDroppedRecv "nothing happened";
    a_dropped_recv_batch_loses_nothing: LosesDroppedBatch "nothing happened";
    a_dropped_receiver_leaves_its_message_to_another: ForgetsFirstWaiter "nothing happened";
    a_dropped_send_is_whole_or_nothing: LosesEveryTenth "lost", Repeats "twice";
    an_oversize_message_fails_alone: EndsAtOversize "closed", SendsOversizeInPieces "Ok";
    an_error_in_a_burst_keeps_the_rest: DropsTheRest "nothing happened";
    close_wakes_who_waits: StaysOpen "nothing happened", LeavesWaiting "nothing happened";
    calls_after_close_fail: StaysOpen "succeeded";
    the_peer_hears_of_a_close: StaysOpen "nothing happened";
}
