//! Messages that are kept, sent again and reported while the server has not answered.

use super::*;
use crate::early::Early;
use crate::handshake::CurrentAgreement;
use crate::{Agreement, Session};
use bertha_datapath_sim::{PairConnection, Sim, SimRuntime, pair_of};
use futures_util::{FutureExt, poll};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

type Pair = PairConnection<SimRuntime, &'static [u8]>;

/// A stack whose connection takes messages of at most [`LARGEST`] bytes, until it fails.
struct Stack {
    inner: Pair,
    /// Set once the server has picked another stack.
    is_gone: AtomicBool,
}

const LARGEST: usize = 8;

impl Stack {
    fn check(&self, len: usize) -> Result<(), Error> {
        if self.is_gone.load(Relaxed) {
            return Err(Error::new(ErrorKind::Closed, "the server agreed to another stack"));
        }
        if len > LARGEST { Err(Error::new(ErrorKind::TooLarge, "a message too large")) } else { Ok(()) }
    }
}

impl Connection for Stack {
    type Data = &'static [u8];
    type Base = <Pair as Connection>::Base;

    fn base(&self) -> &Self::Base {
        self.inner.base()
    }

    async fn send(&self, message: &'static [u8]) -> Result<(), Error> {
        self.check(message.len())?;
        self.inner.send(message).await
    }

    fn recv(&self) -> impl Future<Output = Result<&'static [u8], Error>> + Send {
        self.inner.recv()
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

/// A stack, and the server's end of its connection.
fn built(runtime: &SimRuntime) -> (Built<Stack>, Pair) {
    let (inner, server) = pair_of(runtime.clone());
    let connection = Stack { inner, is_gone: AtomicBool::new(false) };
    let built = Built {
        connection,
        agreement: CurrentAgreement::new(Agreement::expected(Vec::new(), Vec::new())),
        dropped: Arc::default(),
        session: Arc::new(Session::unknown()),
    };
    (built, server)
}

/// A client that has sent its offer, with room for so many messages, and the server's end.
fn waiting(runtime: &SimRuntime, room: usize) -> (Arc<EarlyState<Stack>>, Pair) {
    let (first, server) = built(runtime);
    (Arc::new(EarlyState::new(first, room, Span::none())), server)
}

/// The messages that have arrived at a server.
fn arrived(server: &Pair) -> Vec<&'static [u8]> {
    std::iter::from_fn(|| server.recv().now_or_never()?.ok()).collect()
}

const LIMIT: Duration = Duration::from_secs(1);

/// A message that is kept when the others are sent again already would be sent by nobody.
#[test]
fn nothing_is_kept_while_messages_are_sent_again() {
    let mut sim = Sim::new(1);
    let runtime = sim.runtime();
    sim.run(async {
        let (shared, _first) = waiting(&runtime, 10);
        let early = Early::new(shared.clone(), None);
        early.send(b"one").await.unwrap();
        let (second, server) = built(&runtime);
        // Its connection is full.
        for _ in 0..1024 {
            second.connection.inner.send(b"zero").await.unwrap();
        }
        let mut replacing = pin!(shared.replace(second, LIMIT));
        assert!(poll!(replacing.as_mut()).is_pending());
        let mut sending = pin!(early.send(b"two"));
        assert!(poll!(sending.as_mut()).is_pending());
        assert_eq!(arrived(&server).len(), 1024);
        replacing.await;
        sending.await.unwrap();
        assert_eq!(arrived(&server), [&b"one"[..], b"two"]);
    });
}

#[test]
fn a_message_that_failed_is_not_sent_again() {
    let mut sim = Sim::new(2);
    let runtime = sim.runtime();
    sim.run(async {
        let (shared, _first) = waiting(&runtime, 10);
        let early = Early::new(shared.clone(), None);
        early.send(b"one").await.unwrap();
        let error = early.send(b"much too large").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        early.send(b"two").await.unwrap();
        let (second, server) = built(&runtime);
        shared.replace(second, LIMIT).await;
        early.send(b"three").await.unwrap();
        assert_eq!(arrived(&server), [&b"one"[..], b"two", b"three"]);
    });
}

#[test]
fn a_burst_with_a_message_too_large_leaves_the_others_alone() {
    let mut sim = Sim::new(3);
    let runtime = sim.runtime();
    sim.run(async {
        let (shared, first) = waiting(&runtime, 10);
        let early = Early::new(shared.clone(), None);
        let burst = [&b"one"[..], b"much too large", b"two", b"three"];
        let mut burst = burst.into_iter();
        let error = early.send_batch(&mut burst).await.unwrap_err();
        assert_eq!((error.kind(), burst.len()), (ErrorKind::TooLarge, 2));
        early.send_batch(burst).await.unwrap();
        assert_eq!(arrived(&first), [&b"one"[..], b"two", b"three"]);
        let (second, server) = built(&runtime);
        shared.replace(second, LIMIT).await;
        early.send(b"four").await.unwrap();
        assert_eq!(arrived(&server), [&b"one"[..], b"two", b"three", b"four"]);
    });
}

/// The stack that was expected ends because the server has picked another one, over which the burst goes.
#[test]
fn a_burst_over_a_stack_that_is_gone_goes_over_the_next() {
    let mut sim = Sim::new(4);
    let runtime = sim.runtime();
    sim.run(async {
        let (shared, _first) = waiting(&runtime, 2);
        let early = Early::new(shared.clone(), None);
        shared.first().is_gone.store(true, Relaxed);
        let burst = [&b"one"[..], b"two", b"three", b"four"];
        let mut sending = pin!(early.send_batch(burst.into_iter()));
        assert!(poll!(sending.as_mut()).is_pending(), "nobody knows yet why the stack is gone");
        let (second, server) = built(&runtime);
        shared.replace(second, LIMIT).await;
        sending.await.unwrap();
        assert_eq!(arrived(&server), [&b"one"[..], b"two", b"three", b"four"]);
    });
}

/// A burst with more messages than are kept waits for the answer with the first one that is not.
#[test]
fn a_burst_beyond_the_room_waits_for_the_answer() {
    let mut sim = Sim::new(5);
    let runtime = sim.runtime();
    sim.run(async {
        let (shared, first) = waiting(&runtime, 2);
        let early = Early::new(shared.clone(), None);
        let burst = [&b"one"[..], b"two", b"three", b"four"];
        let mut sending = pin!(early.send_batch(burst.into_iter()));
        assert!(poll!(sending.as_mut()).is_pending());
        assert_eq!(arrived(&first), [&b"one"[..], b"two"]);
        shared.agreed();
        sending.await.unwrap();
        assert_eq!(arrived(&first), [&b"three"[..], b"four"]);
    });
}
