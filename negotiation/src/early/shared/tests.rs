//! Messages that are kept, sent again and reported while the server has not answered.

use super::*;
use crate::early::{Early, HandshakeGuard};
use crate::handshake::CurrentAgreement;
use crate::observing::EntryGuard;
use crate::{Agreement, Session};
use bertha_core::ConnectContext;
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
        _entry: EntryGuard::default(),
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
        fill(&second.connection).await;
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

/// Returns the outcome of a burst of at most `limit` messages, and the messages; `None` if there are none.
fn received(early: &Early<Stack>, limit: usize) -> Option<(usize, Vec<&'static [u8]>)> {
    let mut into = Vec::new();
    let count = early.recv_batch(&mut into, limit).now_or_never()?.unwrap();
    Some((count, into))
}

#[test]
fn a_burst_before_the_answer_is_one_message_and_none_at_a_limit_of_zero() {
    let mut sim = Sim::new(6);
    let runtime = sim.runtime();
    sim.run(async {
        let (shared, first) = waiting(&runtime, 10);
        let early = Early::new(shared.clone(), None);
        assert_eq!(received(&early, 0), Some((0, vec![])));
        assert_eq!(received(&early, 5), None);
        first.send(b"one").await.unwrap();
        first.send(b"two").await.unwrap();
        assert_eq!(received(&early, 5), Some((1, vec![&b"one"[..]])));
        shared.agreed();
        assert_eq!(received(&early, 5), Some((1, vec![&b"two"[..]])));
        assert!(early.mtu() > 1 && early.mtu() == shared.first().mtu());
    });
}

/// Returns the agreement of an answer, with this number of forged messages.
fn agreement(forged: u64) -> Agreement {
    let agreement = Agreement::expected(Vec::new(), Vec::new()).with(Some(ZeroRtt::Taken(1)));
    agreement.session().add_forged(forged);
    agreement
}

#[test]
fn counters_are_those_of_the_link_and_of_the_session_of_the_answer() {
    let mut sim = Sim::new(7);
    let runtime = sim.runtime();
    sim.run(async {
        let (shared, _first) = waiting(&runtime, 10);
        let early = Early::new(shared.clone(), None);
        shared.latest().dropped.store(5, Relaxed);
        assert_eq!((early.dropped(), early.forged(), early.drops().total()), (5, 0, 5));
        assert_eq!(early.explain().zero_rtt(), Some(&ZeroRtt::Unanswered));
        shared.agreed_to(agreement(3));
        shared.agreed();
        assert_eq!((early.dropped(), early.forged(), early.drops().total()), (5, 3, 5));
        assert_eq!(early.agreed().await.unwrap().zero_rtt(), Some(&ZeroRtt::Taken(1)));
        assert!(format!("{early:?}").starts_with("Early { agreement: "), "{early:?}");
    });
}

#[test]
fn drops_of_the_stack_count_once_with_and_without_a_session_of_the_answer() {
    for is_answered in [false, true] {
        let mut sim = Sim::new(8);
        let runtime = sim.runtime();
        sim.run(async {
            let (mut first, _server) = built(&runtime);
            let agreed = agreement(0);
            if !is_answered {
                first.session = agreed.session().clone();
            }
            let context = ConnectContext::<()>::none().with_registry(first.session.registry());
            let counter = context.counts_drops("Stack", "malformed");
            let shared = Arc::new(EarlyState::new(first, 1, Span::none()));
            let early = Early::new(shared.clone(), None);
            counter.add(4);
            shared.agreed_to(agreed);
            assert_eq!(early.drops().total(), 4);
        });
    }
}

/// Fills the connection of a stack, so that each further message waits.
async fn fill(stack: &Stack) {
    for _ in 0..1024 {
        stack.inner.send(b"zero").await.unwrap();
    }
}

#[test]
fn a_failure_comes_to_every_call_with_the_number_of_messages_in_doubt() {
    for kept in [0, 2] {
        let mut sim = Sim::new(9);
        let runtime = sim.runtime();
        sim.run(async {
            let (shared, _first) = waiting(&runtime, 10);
            let early = Early::new(shared.clone(), None);
            let text = match kept {
                0 => "no answer".to_owned(),
                _ => format!(
                    "no answer; sent before the server agreed, and not known to be accepted: {kept} messages"
                ),
            };
            fill(shared.first()).await;
            let mut sending = pin!(early.send(b"one"));
            let mut burst = pin!(early.send_batch([&b"two"[..]].into_iter()));
            if kept > 0 {
                assert!(poll!(sending.as_mut()).is_pending());
                assert!(poll!(burst.as_mut()).is_pending());
            }
            let mut receiving = pin!(early.recv());
            let mut agreed = pin!(early.agreed());
            let mut closing = pin!(early.close());
            let mut draining = pin!(early.drain());
            assert!(poll!(receiving.as_mut()).is_pending());
            assert!(poll!(agreed.as_mut()).is_pending());
            assert!(poll!(closing.as_mut()).is_pending());
            assert!(poll!(draining.as_mut()).is_pending());
            shared.failed(&Error::new(ErrorKind::TimedOut, "no answer"));
            for error in [
                sending.await.unwrap_err(),
                burst.await.unwrap_err(),
                receiving.await.unwrap_err(),
                agreed.await.unwrap_err(),
                closing.await.unwrap_err(),
                draining.await.unwrap_err(),
            ] {
                assert_eq!((error.kind(), error.context()), (ErrorKind::TimedOut, &text[..]));
                assert!(error.ends_connection());
            }
        });
    }
}

#[test]
fn sends_that_wait_for_room_below_go_on_after_the_answer() {
    let mut sim = Sim::new(10);
    let runtime = sim.runtime();
    sim.run(async {
        let (shared, first) = waiting(&runtime, 10);
        let early = Early::new(shared.clone(), None);
        fill(shared.first()).await;
        let mut sending = pin!(early.send(b"one"));
        let mut burst = pin!(early.send_batch([&b"two"[..], b"three"].into_iter()));
        assert!(poll!(sending.as_mut()).is_pending());
        assert!(poll!(burst.as_mut()).is_pending());
        shared.agreed();
        assert!(poll!(sending.as_mut()).is_pending(), "there is no room yet");
        assert!(poll!(burst.as_mut()).is_pending(), "there is no room yet");
        assert_eq!(arrived(&first).len(), 1024);
        sending.await.unwrap();
        burst.await.unwrap();
        assert_eq!(arrived(&first), [&b"one"[..], b"two", b"three"]);
    });
}

/// The stack that was expected ends, and it is the stack to which the server agreed.
#[test]
fn the_end_of_a_stack_that_stays_is_an_error_once_the_answer_is_known() {
    let mut sim = Sim::new(11);
    let runtime = sim.runtime();
    sim.run(async {
        let (shared, first) = waiting(&runtime, 10);
        let early = Early::new(shared.clone(), None);
        shared.first().is_gone.store(true, Relaxed);
        drop(first);
        let mut sending = pin!(early.send(b"one"));
        let mut receiving = pin!(early.recv());
        assert!(poll!(sending.as_mut()).is_pending());
        assert!(poll!(receiving.as_mut()).is_pending());
        shared.agreed();
        assert_eq!(sending.await.unwrap_err().context(), "the server agreed to another stack");
        assert!(receiving.await.unwrap_err().ends_connection());
    });
}

#[test]
fn a_second_stack_receives_before_all_messages_were_sent_over_it_and_its_end_leaves_the_rest_in_doubt() {
    let mut sim = Sim::new(12);
    let runtime = sim.runtime();
    sim.run(async {
        let (shared, _first) = waiting(&runtime, 10);
        let early = Early::new(shared.clone(), None);
        for message in [&b"one"[..], b"two", b"three"] {
            early.send(message).await.unwrap();
        }
        let mut receiving = pin!(early.recv());
        assert!(poll!(receiving.as_mut()).is_pending());
        let (second, server) = built(&runtime);
        fill(&second.connection).await;
        let mut replacing = pin!(shared.replace(second, LIMIT));
        assert!(poll!(replacing.as_mut()).is_pending());
        assert_eq!(early.explain().zero_rtt(), Some(&ZeroRtt::Resent(3)));
        assert!(poll!(receiving.as_mut()).is_pending());
        server.send(b"reply").await.unwrap();
        assert_eq!(receiving.await.unwrap(), b"reply");
        shared.latest().connection.is_gone.store(true, Relaxed);
        assert_eq!(arrived(&server).len(), 1024);
        replacing.await;
        assert_eq!(arrived(&server), [b"one"]);
        let error = early.recv().await.unwrap_err();
        assert!(error.context().ends_with("not known to be accepted: 2 messages"), "{error}");
    });
}

#[test]
fn a_handshake_that_is_dropped_fails_the_calls_unless_its_outcome_is_known() {
    for is_known in [false, true] {
        let mut sim = Sim::new(13);
        let runtime = sim.runtime();
        sim.run(async {
            let (shared, _first) = waiting(&runtime, 10);
            let guard = HandshakeGuard::new(shared.clone());
            if is_known {
                guard.agreed();
            }
            drop(guard);
            let kind = shared.current().unwrap().err().map(|error| error.kind());
            assert_eq!(kind, (!is_known).then_some(ErrorKind::Closed));
        });
    }
}

#[test]
fn a_handshake_ends_by_a_waiting_call_by_its_task_or_with_the_connection() {
    let mut sim = Sim::new(14);
    let runtime = sim.runtime();
    sim.run(async {
        let begin = || {
            let (shared, server) = waiting(&runtime, 10);
            let handshake = HandshakeGuard::new(shared.clone());
            shared.drive_by(async move { handshake.agreed() });
            (shared, server)
        };
        let (shared, _server) = begin();
        shared.drive().await;
        assert!(shared.current().is_some_and(|current| current.is_ok()));
        let (shared, _server) = begin();
        Early::new(shared.clone(), None).agreed().await.unwrap();
        let (shared, _server) = begin();
        drop(Early::new(shared.clone(), None));
        assert!(shared.current().is_some_and(|current| current.is_err()));
        assert_eq!(Arc::strong_count(&shared), 1);
    });
}
