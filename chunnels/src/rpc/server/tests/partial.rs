//! Bursts that are sent in part, since the connection has an error that it survives.

use super::*;
use bertha_core::{Error, ErrorKind, forward};
use futures_util::FutureExt;
use std::sync::atomic::AtomicBool;

/// A connection whose next burst of several messages fails behind its first message, and two sends after it as well.
struct Failing<Inner> {
    inner: Inner,
    is_armed: Arc<AtomicBool>,
    failures: AtomicUsize,
}

impl<Inner> Failing<Inner> {
    fn new(inner: Inner) -> (Self, Arc<AtomicBool>) {
        let is_armed = Arc::<AtomicBool>::default();
        (Self { inner, is_armed: is_armed.clone(), failures: AtomicUsize::new(0) }, is_armed)
    }

    fn check(&self) -> Result<(), Error> {
        let left = self.failures.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        if left.is_ok() { Err(Error::new(ErrorKind::Exhausted, "no buffer")) } else { Ok(()) }
    }
}

impl<Inner: Connection<Data = Message>> Connection for Failing<Inner> {
    type Data = Message;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, recv, recv_batch, drain, close);

    async fn send(&self, message: Message) -> Result<(), Error> {
        self.check()?;
        self.inner.send(message).await
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Message> + Send) -> Result<(), Error> {
        for (at, message) in messages.enumerate() {
            if at == 1 && self.is_armed.swap(false, SeqCst) {
                self.failures.store(3, SeqCst);
            }
            self.send(message).await?;
        }
        Ok(())
    }
}

#[test]
fn calls_of_a_burst_that_left_in_part_fail_and_leave_no_handler_behind() {
    let mut sim = Sim::new(5);
    let runtime = sim.runtime();
    sim.run(async {
        let (here, there) = pair_of(runtime.clone());
        let (here, is_armed) = Failing::new(here);
        let service = Lengths::new(runtime.clone());
        let serving = serve(there, service.clone()).into_future();
        let _server = runtime.spawn(async move { serving.await.unwrap() });
        let caller = Multiplexer::new(here);
        let first = Box::pin(ask(&caller, NEVER, 0, None));
        let Either::Right(((), first)) = select(first, runtime.sleep_until(runtime.now() + MS)).await else {
            panic!("a call that is never answered was answered");
        };
        assert_eq!(service.running.load(SeqCst), 1);
        is_armed.store(true, SeqCst);
        for failure in join_all((0..4).map(|_| ask(&caller, NEVER, 0, None))).await {
            let failure = failure.unwrap_err();
            assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Overloaded, true));
        }
        // The cancellations fail twice.
        runtime.sleep_until(runtime.now() + 200 * MS).await;
        assert_eq!((service.running.load(SeqCst), caller.in_flight()), (1, 1));
        assert_eq!(ask(&caller, LENGTH, 3, None).await.unwrap().len(), 3);
        drop(first);
        runtime.sleep_until(runtime.now() + MS).await;
        assert_eq!(service.running.load(SeqCst), 0);
    });
}

#[test]
fn answers_that_left_in_part_fail_their_calls_and_end_their_streams() {
    let mut sim = Sim::new(6);
    let runtime = sim.runtime();
    sim.run(async {
        let (here, there) = pair_of(runtime.clone());
        let (there, is_armed) = Failing::new(there);
        is_armed.store(true, SeqCst);
        let service = Lengths::new(runtime.clone());
        let calls = ServedCalls::default();
        let serving = serve(there, service.clone()).counted_by(&calls).into_future();
        let _server = runtime.spawn(async move { serving.await.unwrap() });
        for slot in 0..3 {
            here.send(call(slot, STREAM, 1, 0)).await.unwrap();
        }
        runtime.sleep_until(runtime.now() + 200 * MS).await;
        let mut failed: Vec<_> = std::iter::from_fn(|| here.recv().now_or_never())
            .map(Result::unwrap)
            .filter(|message| matches!(message.content, Content::Failure { .. }))
            .map(|message| message.call.slot)
            .collect();
        failed.dedup();
        assert_eq!((failed, service.running.load(SeqCst)), (vec![0, 1, 2], 0));
        let statistics = calls.statistics();
        assert_eq!((statistics.failed, statistics.under_way), (vec![(FailureKind::Overloaded, 3)], 0));
    });
}
