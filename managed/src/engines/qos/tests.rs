use super::*;
use crate::Traffic;
use crate::described::{Heap, about, binding, request};
use crate::{Chain, Refusal};
use bertha_chunnels::rpc::FailureKind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

/// The number of times that a caller was woken.
#[derive(Debug, Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A caller of a daemon, with an engine.
struct Caller {
    engine: Box<dyn Engine>,
    binding: Binding,
    woken: Arc<Woken>,
}

const ZERO: Duration = Duration::ZERO;

fn large(call: u64) -> Message {
    Message { bytes: 100, ..request(call) }
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Returns callers of one daemon, of whose large requests three are on their way at once. A call holds others for ten milliseconds.
fn callers<const N: usize>() -> [Caller; N] {
    let traffic = Arc::<Traffic>::default();
    std::array::from_fn(|_| {
        let woken = Arc::<Woken>::default();
        let waker = Waker::from(Arc::clone(&woken));
        let binding = Binding { traffic: Arc::clone(&traffic), waker, ..binding() };
        let engine = Qos.make("small=50 bulk=300 hold=10".parse().unwrap(), &binding).unwrap();
        Caller { engine, binding, woken }
    })
}

impl Caller {
    /// Returns the calls that pass.
    fn send(&mut self, messages: impl IntoIterator<Item = Message>, now: Duration) -> Vec<u64> {
        let mut burst = Burst::new();
        messages.into_iter().for_each(|message| burst.push(message).unwrap());
        self.engine.requests(&mut burst, now);
        burst.drain().map(|message| message.call).collect()
    }

    fn answer(&mut self, call: u64, now: Duration) {
        let mut burst = Burst::new();
        burst.push(about(call, Kind::Response)).unwrap();
        self.engine.responses(&mut burst, now);
    }

    /// Returns the calls that pass, if the caller was woken since the last look.
    fn woken(&mut self, now: Duration) -> Option<Vec<u64>> {
        (self.woken.0.swap(0, Ordering::Relaxed) > 0).then(|| self.send([], now))
    }
}

#[test]
fn small_requests_go_first_and_large_ones_one_at_a_time_beside_small_calls() {
    let [mut one, mut other] = callers();
    assert_eq!(one.send([large(0), large(2), request(1), large(4), request(3)], ZERO), [1, 3, 0]);
    assert_eq!(other.send([large(0), request(1)], ZERO), [1]);
    one.answer(0, ZERO);
    assert_eq!(other.woken(ZERO), None, "one came before");
    assert_eq!(one.woken(ZERO), Some(vec![2]));
    one.answer(1, ZERO);
    one.answer(3, ZERO);
    assert_eq!((one.woken(ZERO), other.woken(ZERO)), (None, None), "a small call is on its way");
    other.answer(1, ZERO);
    assert_eq!(other.woken(ZERO), Some(vec![0]));
    assert_eq!(one.woken(ZERO), Some(vec![4]));
    assert_eq!((one.engine.due(), other.engine.due()), (None, None));
}

#[test]
fn large_requests_have_the_room_together_and_callers_take_turns() {
    let [mut one, mut other] = callers();
    assert_eq!(one.send((0..6).map(large), ZERO), [0, 1, 2]);
    assert_eq!(other.send((0..2).map(large), ZERO), [0; 0]);
    one.answer(1, ZERO);
    assert_eq!((other.woken(ZERO), one.woken(ZERO)), (None, Some(vec![3])));
    let failure = Refusal { kind: FailureKind::Failed, reason: "no".into() };
    let mut burst = Burst::new();
    [0, 2].into_iter().for_each(|call| burst.push(about(call, Kind::Failure(failure.clone()))).unwrap());
    one.engine.responses(&mut burst, ZERO);
    assert_eq!(one.woken(ZERO), None);
    assert_eq!(other.woken(ZERO), Some(vec![0]), "and the turn goes on");
    assert_eq!(one.woken(ZERO), Some(vec![4]));
    assert_eq!((other.woken(ZERO), one.woken(ZERO)), (None, None), "there is no more room");
    // The end of a call may be that its caller gives it up.
    assert_eq!(one.send([about(3, Kind::Cancellation)], ZERO), [3]);
    assert_eq!(other.woken(ZERO), Some(vec![1]));
}

#[test]
fn a_request_larger_than_all_room_goes_alone() {
    let [mut one, mut other] = callers();
    let huge = |call| Message { bytes: u32::MAX, ..request(call) };
    assert_eq!(one.send([huge(0), large(1)], ZERO), [0]);
    assert_eq!(other.send([huge(0), large(1)], ZERO), [0; 0]);
    one.answer(0, ZERO);
    assert_eq!(one.woken(ZERO), Some(vec![1]));
    one.answer(1, ZERO);
    assert_eq!(other.woken(ZERO), Some(vec![0]));
}

#[test]
fn the_first_that_waits_goes_after_the_hold_whatever_others_do() {
    let [mut one, mut other] = callers();
    let mut passed = Vec::new();
    other.send([request(1_000), large(0)], ZERO);
    one.send((0..5).map(large), ZERO);
    for now in 1..=50 {
        // There are always a small and a large call that began a moment ago.
        other.send([request(1_000 + now)], millis(now));
        other.answer(1_000 + now - 1, millis(now));
        other.binding.traffic.lock(millis(now)).pass(Takes::Room(1), millis(now + 10));
        if one.engine.due().is_some_and(|due| due <= millis(now)) {
            passed.extend(one.send([], millis(now)).into_iter().map(|call| (call, now)));
        }
    }
    assert_eq!(passed, [(0, 10), (1, 20), (2, 30), (3, 40), (4, 50)]);
}

#[test]
fn a_call_that_takes_long_holds_nobody() {
    let [mut one, mut other] = callers();
    other.send([request(0), large(1)], ZERO);
    assert_eq!(one.send([large(0)], millis(9)), [0; 0]);
    assert_eq!(one.send([large(1)], millis(10)), [0, 1], "the calls are their servers'");
    // Late outcomes give nothing back a second time.
    other.answer(0, millis(11));
    other.answer(1, millis(11));
    assert_eq!(other.send((2..5).map(large), millis(11)), [2]);
}

#[test]
fn a_cancellation_takes_its_request_out_of_the_queue() {
    let [mut one, mut other] = callers();
    other.send([request(0), large(1)], ZERO);
    one.send((0..3).map(large), ZERO);
    let mut burst = Burst::new();
    [0, 2].into_iter().for_each(|call| burst.push(about(call, Kind::Cancellation)).unwrap());
    one.engine.requests(&mut burst, ZERO);
    assert!(burst.is_empty());
    assert_eq!(burst.take_ended().count(), 4, "requests and their cancellations");
    assert_eq!(other.send([about(0, Kind::Cancellation)], ZERO), [0]);
    assert_eq!(one.woken(ZERO), Some(vec![1]));
    assert_eq!(one.engine.due(), None);
}

#[test]
fn a_caller_whose_requests_are_all_cancelled_waits_no_more() {
    let [mut one, mut other, mut third] = callers();
    third.send([request(0), large(1)], ZERO);
    assert_eq!((one.send([large(0)], ZERO), other.send([large(0)], ZERO)), (vec![], vec![]));
    one.send([about(0, Kind::Cancellation)], ZERO);
    third.answer(1, ZERO);
    assert_eq!((one.woken(ZERO), other.woken(ZERO)), (None, Some(vec![0])));
}

#[test]
fn an_upgraded_engine_knows_its_calls_and_its_queue() {
    let [mut one, mut other] = callers();
    assert_eq!(one.send([request(0), large(1), large(2)], ZERO), [0, 1]);
    let mut parts = one.engine.take_apart();
    one.engine = Qos.restore(&mut parts, &one.binding).unwrap();
    assert_eq!((parts.held.len(), one.engine.due()), (0, Some(ZERO)), "it looks at once");
    assert_eq!(one.send([large(3)], ZERO), [0; 0]);
    assert_eq!(other.send([large(0)], ZERO), [0; 0], "the calls are still on their way");
    one.answer(0, ZERO);
    assert_eq!(one.woken(ZERO), Some(vec![2]));
    assert_eq!(other.woken(ZERO), Some(vec![0]));
    one.answer(1, ZERO);
    assert_eq!(one.woken(ZERO), Some(vec![3]));
}

#[test]
fn an_engine_that_goes_gives_out_all_in_order_and_its_turn_to_the_next() {
    let [mut one, mut other, mut small] = callers();
    small.send([request(0), large(9)], ZERO);
    one.send((1..4).map(large), ZERO);
    other.send([large(0)], ZERO);
    small.answer(9, ZERO);
    assert_eq!(other.woken(ZERO), None);
    let held = one.engine.take_apart().held;
    assert_eq!(held.iter().map(|message| message.call).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(other.woken(ZERO), Some(vec![0]));
}

#[test]
fn calls_of_an_engine_that_has_gone_hold_nobody_for_long() {
    let [mut one, mut other] = callers();
    one.send([request(0), large(1)], ZERO);
    drop(one);
    assert_eq!(other.send([large(0)], millis(1)), [0; 0]);
    assert_eq!(other.engine.due(), Some(millis(11)));
    assert_eq!(other.send([large(1)], millis(10)), [0, 1]);
}

#[test]
fn a_chain_gives_what_a_removed_engine_held_before_later_requests() {
    let mut chain = Chain::new(binding());
    chain.add(0, "qos", Arc::new(Qos), "small=50".parse().unwrap()).unwrap();
    let mut heap = Heap::default();
    let mut send = |chain: &mut Chain, messages: Vec<Message>| {
        let mut burst = Burst::new();
        messages.into_iter().for_each(|message| burst.push(message).unwrap());
        chain.requests(&mut burst, &mut heap, ZERO);
        burst.drain().map(|message| message.call).collect::<Vec<_>>()
    };
    assert_eq!(send(&mut chain, vec![large(0), request(1), large(2)]), [1, 0]);
    chain.upgrade("qos", Arc::new(Qos)).unwrap();
    assert_eq!(send(&mut chain, vec![large(3)]), [0; 0]);
    chain.remove("qos").unwrap();
    assert_eq!(send(&mut chain, vec![large(4)]), [2, 3, 4]);
    assert_eq!(chain.due(), None);
}

#[test]
fn a_full_burst_leaves_the_rest_its_turn() {
    let [mut one, mut other] = callers();
    other.send([request(0), large(1)], ZERO);
    one.send([large(0)], ZERO);
    other.answer(1, ZERO);
    // The caller was woken, and there is no room for what may go.
    one.woken.0.store(0, Ordering::Relaxed);
    let cancelled = (100..164).map(|call| about(call, Kind::Cancellation));
    assert_eq!(one.send(cancelled, ZERO).len(), 64);
    assert_eq!(one.woken(ZERO), Some(vec![0]));
}

#[test]
fn settings_that_are_wrong_change_nothing() {
    let [mut one] = callers();
    for wrong in ["hold=0", "hold=10001", "small=x", "bulk=1 big=2"] {
        assert!(one.engine.configure(wrong.parse().unwrap()).is_err(), "{wrong}");
    }
    let refusal = Qos.make("hold=0".parse().unwrap(), &binding()).unwrap_err();
    assert_eq!(refusal.to_string(), "hold=0 is not from 1 to 10000");
    let state = [50_u64, 300, 10].map(u64::to_le_bytes).concat();
    assert_eq!(one.engine.take_apart().state, state);
}
