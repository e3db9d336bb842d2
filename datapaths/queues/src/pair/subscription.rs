//! The receiving end of both services.

use crate::{Incoming, Subscription};
use bertha_core::{Error, Runtime};
use bertha_runtime::tokio::{Task, TokioRuntime};
use futures_util::future::{Either, join, select};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, oneshot};
use tokio::time::{Instant, timeout_at};

/// An end that receives from a [`Pair`](crate::Pair).
pub struct PairSubscription<A: Subscription, B: Subscription> {
    without_key: Arc<A>,
    with_key: Arc<B>,
    arrivals: Mutex<Arrivals<A::Receipt, B::Receipt>>,
}

/// The handle of a message at one of the two services.
#[derive(Debug)]
pub enum PairReceipt<A, B> {
    /// Handle at the service for messages without a key.
    WithoutKey(A),
    /// Handle at the service for messages with a key.
    WithKey(B),
}

struct Arrivals<A, B> {
    /// Messages that came with others, or beyond the requested number.
    kept: VecDeque<Incoming<PairReceipt<A, B>>>,
    without_key: Option<Call<A>>,
    with_key: Option<Call<B>>,
}

/// A call that waits at the service. Dropping it abandons the call.
struct Call<R> {
    outcome: oneshot::Receiver<Result<Vec<Incoming<R>>, Error>>,
    _task: Task,
}

impl<R: Send + 'static> Call<R> {
    fn make<S: Subscription<Receipt = R>>(subscription: Arc<S>, limit: usize, wait: Duration) -> Self {
        let (answer, outcome) = oneshot::channel();
        let _task = TokioRuntime.spawn(async move {
            // If the subscription is closed, no task listens; then the messages are delivered again.
            let _ = answer.send(subscription.receive(limit, wait).await);
        });
        Self { outcome, _task }
    }

    /// Waits until the call has ended. The future is cancellation-safe.
    async fn ended(call: &mut Option<Self>) -> Result<Vec<Incoming<R>>, Error> {
        let Some(under_way) = call else { return std::future::pending().await };
        let outcome = (&mut under_way.outcome).await;
        *call = None;
        // The error means that the runtime is being shut down.
        outcome.unwrap_or_else(|_| Ok(Vec::new()))
    }
}

impl<A: Subscription, B: Subscription> PairSubscription<A, B> {
    pub(super) fn new(without_key: A, with_key: B) -> Self {
        let arrivals = Arrivals { kept: VecDeque::new(), without_key: None, with_key: None };
        let without_key = Arc::new(without_key);
        let with_key = Arc::new(with_key);
        Self { without_key, with_key, arrivals: Mutex::new(arrivals) }
    }
}

impl<A, B> Arrivals<A, B> {
    /// Keeps the messages that came. Returns true if there were any.
    fn keep<R>(&mut self, came: Vec<Incoming<R>>, receipt: impl Fn(R) -> PairReceipt<A, B>) -> bool {
        let is_any = !came.is_empty();
        let came = came.into_iter();
        self.kept.extend(came.map(|it| Incoming { payload: it.payload, receipt: receipt(it.receipt) }));
        is_any
    }

    fn take(&mut self, limit: usize) -> Vec<Incoming<PairReceipt<A, B>>> {
        self.kept.drain(..limit.min(self.kept.len())).collect()
    }
}

/// Sorts handles by their service.
fn sort<A: Clone, B: Clone>(receipts: &[PairReceipt<A, B>]) -> (Vec<A>, Vec<B>) {
    let mut without_key = Vec::new();
    let mut with_key = Vec::new();
    for receipt in receipts {
        match receipt {
            PairReceipt::WithoutKey(receipt) => without_key.push(receipt.clone()),
            PairReceipt::WithKey(receipt) => with_key.push(receipt.clone()),
        }
    }
    (without_key, with_key)
}

impl<A, B> Subscription for PairSubscription<A, B>
where
    A: Subscription<Receipt: Clone>,
    B: Subscription<Receipt: Clone>,
{
    type Receipt = PairReceipt<A::Receipt, B::Receipt>;

    async fn receive(&self, limit: usize, wait: Duration) -> Result<Vec<Incoming<Self::Receipt>>, Error> {
        let mut arrivals = self.arrivals.lock().await;
        let arrivals = &mut *arrivals;
        if !arrivals.kept.is_empty() {
            return Ok(arrivals.take(limit));
        }
        let deadline = Instant::now() + wait;
        arrivals.without_key.get_or_insert_with(|| Call::make(self.without_key.clone(), limit, wait));
        arrivals.with_key.get_or_insert_with(|| Call::make(self.with_key.clone(), limit, wait));
        while arrivals.without_key.is_some() || arrivals.with_key.is_some() {
            let came = {
                let Arrivals { without_key, with_key, .. } = &mut *arrivals;
                let one = pin!(Call::ended(without_key));
                let other = pin!(Call::ended(with_key));
                match timeout_at(deadline, select(one, other)).await {
                    Ok(Either::Left((came, _))) => Either::Left(came?),
                    Ok(Either::Right((came, _))) => Either::Right(came?),
                    // A call that still waits serves the next receive.
                    Err(_) => break,
                }
            };
            let is_any = match came {
                Either::Left(came) => arrivals.keep(came, PairReceipt::WithoutKey),
                Either::Right(came) => arrivals.keep(came, PairReceipt::WithKey),
            };
            if is_any {
                break;
            }
        }
        Ok(arrivals.take(limit))
    }

    async fn acknowledge(&self, receipts: &[Self::Receipt]) -> Result<(), Error> {
        let (without_key, with_key) = sort(receipts);
        let one = async {
            if without_key.is_empty() { Ok(()) } else { self.without_key.acknowledge(&without_key).await }
        };
        let other =
            async { if with_key.is_empty() { Ok(()) } else { self.with_key.acknowledge(&with_key).await } };
        let (one, other) = join(one, other).await;
        one.and(other)
    }

    async fn give_back(&self, receipts: &[Self::Receipt]) -> Result<(), Error> {
        let (without_key, with_key) = sort(receipts);
        let one = async {
            if without_key.is_empty() { Ok(()) } else { self.without_key.give_back(&without_key).await }
        };
        let other =
            async { if with_key.is_empty() { Ok(()) } else { self.with_key.give_back(&with_key).await } };
        let (one, other) = join(one, other).await;
        one.and(other)
    }

    async fn give_back_unseen(&self, receipts: &[Self::Receipt]) -> Result<(), Error> {
        let (without_key, with_key) = sort(receipts);
        let one = async {
            if without_key.is_empty() {
                Ok(())
            } else {
                self.without_key.give_back_unseen(&without_key).await
            }
        };
        let other = async {
            if with_key.is_empty() { Ok(()) } else { self.with_key.give_back_unseen(&with_key).await }
        };
        let (one, other) = join(one, other).await;
        one.and(other)
    }

    /// Gives back messages that have arrived and were not received.
    async fn close(&self) -> Result<(), Error> {
        let kept = {
            let mut arrivals = self.arrivals.lock().await;
            if let Some(came) = take_outcome(&mut arrivals.without_key) {
                arrivals.keep(came, PairReceipt::WithoutKey);
            }
            if let Some(came) = take_outcome(&mut arrivals.with_key) {
                arrivals.keep(came, PairReceipt::WithKey);
            }
            arrivals.take(usize::MAX)
        };
        let receipts: Vec<_> = kept.into_iter().map(|message| message.receipt).collect();
        let given_back = self.give_back_unseen(&receipts).await;
        let (one, other) = join(self.without_key.close(), self.with_key.close()).await;
        given_back.and(one).and(other)
    }
}

/// Returns the result of a call that no caller has seen; a call that still waits is abandoned.
fn take_outcome<R>(call: &mut Option<Call<R>>) -> Option<Vec<Incoming<R>>> {
    call.take()?.outcome.try_recv().ok()?.ok()
}

bertha_core::debug_fields!(PairSubscription<A: Subscription, B: Subscription> {});
