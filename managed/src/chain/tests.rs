use super::*;
use crate::described::RESERVE;
use crate::described::{Heap, about, binding, request};
use crate::engines::{Acl, Null, Qos, Quota, RateLimit};
use bertha_schemas::{PrivateMemory, Room};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A chain whose peer answers when it is told to.
struct Path {
    chain: Chain,
    heap: Heap,
    now: Duration,
    burst: Burst,
    /// The calls that have reached the peer, in order.
    passed: Vec<u64>,
    /// The calls that were refused, or answered.
    outcomes: Vec<u64>,
    cancelled: BTreeSet<u64>,
}

impl Path {
    fn new() -> Self {
        Self {
            chain: Chain::new(binding()),
            heap: Heap::default(),
            now: Duration::ZERO,
            burst: Burst::new(),
            passed: Vec::new(),
            outcomes: Vec::new(),
            cancelled: BTreeSet::new(),
        }
    }

    fn add(&mut self, behind: usize, name: &str, kind: impl EngineKind + 'static, settings: &str) {
        self.chain.add(behind, name, Arc::new(kind), settings.parse().unwrap()).unwrap();
    }

    fn send(&mut self, messages: impl IntoIterator<Item = Message>) {
        for message in messages {
            self.burst.push(message).unwrap();
        }
        self.turn();
    }

    fn turn(&mut self) {
        self.chain.requests(&mut self.burst, &mut self.heap, self.now);
        let requests = self.burst.drain().filter(|message| message.kind == Kind::Request);
        self.passed.extend(requests.map(|message| message.call));
        self.outcomes.extend(self.chain.take_outcomes().map(|message| message.call));
        let ended: Vec<_> = self.burst.take_ended().collect();
        assert!(ended.len().is_multiple_of(2), "a request ends with its cancellation");
    }

    /// Lets time pass until nothing waits.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            let Some(due) = self.chain.due() else { return };
            self.now = self.now.max(due);
            self.turn();
        }
        panic!("the chain is due for ever: {:?}", self.chain);
    }

    fn answer(&mut self, call: u64) {
        self.burst.push(about(call, Kind::Response)).unwrap();
        self.chain.responses(&mut self.burst, self.now);
        self.outcomes.extend(self.burst.drain().map(|message| message.call));
    }
}

#[test]
fn a_limiter_that_is_removed_gives_out_its_whole_queue_before_later_calls() {
    let mut path = Path::new();
    path.add(0, "limit", RateLimit, "per-second=1 burst=1 queue=1000");
    path.add(9, "null", Null, "");
    for first in (0..500).step_by(50) {
        path.send((first..first + 50).map(request));
    }
    assert_eq!(path.passed, [0]);
    path.chain.remove("limit").unwrap();
    assert_eq!(path.chain.due(), Some(Duration::ZERO));
    path.send((500..550).map(request));
    path.settle();
    assert_eq!(path.passed, (0..550).collect::<Vec<_>>());
}

#[test]
fn a_limiter_that_is_the_last_gives_out_its_queue_too() {
    let mut path = Path::new();
    path.add(0, "limit", RateLimit, "per-second=1 burst=1");
    path.send((0..50).map(request));
    path.chain.remove("limit").unwrap();
    path.send([request(50)]);
    path.settle();
    assert_eq!(path.passed, (0..51).collect::<Vec<_>>());
}

#[test]
fn an_upgraded_limiter_goes_on_with_its_queue() {
    let mut path = Path::new();
    path.add(0, "limit", RateLimit, "per-second=10 burst=1");
    path.send((0..21).map(request));
    path.chain.upgrade("limit", Arc::new(RateLimit)).unwrap();
    path.turn();
    assert_eq!(path.passed, [0]);
    path.now = Duration::from_millis(1_050);
    path.turn();
    path.turn();
    assert_eq!(path.passed.len(), 2, "the burst is one call");
    path.settle();
    assert_eq!(path.passed, (0..21).collect::<Vec<_>>());
    assert!(path.now >= Duration::from_secs(2), "{:?}", path.now);
}

/// A later version of the limiter, which may understand no state, and may lose the requests that were held.
#[derive(Debug)]
struct Later {
    understands: bool,
}

impl EngineKind for Later {
    fn name(&self) -> &str {
        "rate-limit"
    }

    fn make(&self, settings: Settings, binding: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        RateLimit.make(settings, binding)
    }

    fn restore(&self, parts: &mut Parts, _: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        // What was held is left in the parts.
        assert_eq!(parts.held.len(), 2);
        if self.understands { Ok(Box::new(Null)) } else { Err(Unsuitable::new("a state of another time")) }
    }
}

#[test]
fn an_upgrade_that_fails_changes_nothing() {
    let mut path = Path::new();
    path.add(0, "limit", RateLimit, "per-second=10 burst=1");
    path.send((0..3).map(request));
    let refused = path.chain.upgrade("limit", Arc::new(Acl)).unwrap_err();
    assert_eq!(refused.to_string(), "the engine is of the kind rate-limit, and an upgrade keeps the kind");
    let refused = path.chain.upgrade("limit", Arc::new(Later { understands: false })).unwrap_err();
    assert_eq!(refused.to_string(), "a state of another time");
    path.turn();
    assert_eq!(path.passed, [0]);
    path.settle();
    assert_eq!(path.passed, [0, 1, 2]);
    assert_eq!(path.chain.engines().collect::<Vec<_>>(), [("limit", "rate-limit")]);
}

#[test]
fn what_an_upgraded_engine_leaves_goes_on() {
    let mut path = Path::new();
    path.add(0, "limit", RateLimit, "per-second=10 burst=1");
    path.send((0..3).map(request));
    path.chain.upgrade("limit", Arc::new(Later { understands: true })).unwrap();
    path.send([request(3)]);
    assert_eq!(path.passed, [0, 1, 2, 3]);
}

#[test]
fn what_engines_hold_is_released_in_order_and_they_stay() {
    let mut path = Path::new();
    path.add(0, "first", RateLimit, "per-second=1000 burst=1");
    path.add(1, "second", RateLimit, "per-second=1 burst=1");
    path.send((0..4).map(request));
    path.now = Duration::from_millis(2);
    path.turn();
    // The second holds what the first has let go on.
    assert_eq!(path.passed, [0]);
    path.chain.release();
    path.turn();
    assert_eq!(path.passed, [0, 1], "the second holds what the first held");
    path.chain.release();
    path.turn();
    assert_eq!(path.passed, [0, 1, 2, 3]);
    path.send([request(4)]);
    assert_eq!(path.passed, [0, 1, 2, 3]);
}

#[test]
fn changes_are_refused_by_name() {
    let mut chain = Chain::new(binding());
    let none = || Settings::default();
    chain.add(0, "a", Arc::new(Null), none()).unwrap();
    assert_eq!(
        chain.add(0, "a", Arc::new(Null), none()).unwrap_err().to_string(),
        "there is an engine a already"
    );
    assert_eq!(chain.remove("b").unwrap_err().to_string(), "there is no engine b");
    assert!(matches!(chain.configure("b", none()), Err(Unchanged::NoEngine(_))));
    assert!(matches!(chain.upgrade("b", Arc::new(Null)), Err(Unchanged::NoEngine(_))));
    let unknown = chain.configure("a", "x=1".parse().unwrap()).unwrap_err();
    assert_eq!(unknown.to_string(), "the setting x=1 is unknown");
    assert_eq!(chain.engines().count(), 1);
}

#[test]
fn an_engine_sees_one_outcome_of_each_call_that_it_let_pass() {
    let mut path = Path::new();
    path.add(0, "quota", Quota, "calls=2");
    path.add(1, "limit", RateLimit, "per-second=1 burst=1 queue=0");
    // The first passes, the second finds no room behind the quota, which gets to know it, and so the third has a place.
    path.send([request(0), request(1)]);
    assert_eq!((path.passed.as_slice(), path.outcomes.as_slice()), ([0].as_slice(), [1].as_slice()));
    path.now = Duration::from_secs(1);
    path.send([request(2)]);
    assert_eq!(path.passed, [0, 2]);
    path.now = Duration::from_secs(2);
    path.send([request(3)]);
    assert_eq!(path.outcomes, [1, 3]);
    path.answer(0);
    path.send([request(4)]);
    path.send([about(4, Kind::Cancellation)]);
    path.now = Duration::from_secs(3);
    path.send([request(5)]);
    assert_eq!(path.passed, [0, 2, 4, 5]);
}

#[test]
fn requests_are_copied_for_an_engine_that_reads_them_also_if_it_came_later() {
    let mut path = Path::new();
    path.add(0, "limit", RateLimit, "per-second=1 burst=1");
    let held = ["eve", "ann"].map(|name| [b"\x0a\x03", name.as_bytes()].concat());
    let requests: Vec<_> =
        (1..).zip(held).map(|(call, encoded)| path.heap.reservation(call, &encoded)).collect();
    path.send([request(0)]);
    path.send(requests);
    assert_eq!(path.heap.copies, 0);
    path.add(1, "acl", Acl, "field=customer deny=eve");
    path.settle();
    assert_eq!((path.heap.copies, path.passed, path.outcomes), (2, vec![0, 2], vec![1]));
}

/// The contents of requests of which the fields alone are copied that are asked for.
#[derive(Default)]
struct Asked(Vec<bool>);

impl Contents for Asked {
    fn copy(&mut self, request: &mut Message, fields: Option<&Fields>) -> Result<(), Fault> {
        self.0.push(fields.is_none());
        let mut memory = Box::new(PrivateMemory::of(1 << 10));
        request.at = memory.reserve(64)?;
        request.content = Some(memory);
        Ok(())
    }

    fn measure(&mut self, request: &Message, _: u32) -> u32 {
        request.bytes
    }
}

#[test]
fn a_request_is_copied_once_for_all_engines_and_whole_for_one_that_came_later() {
    let (mut chain, mut asked, mut burst) = (Chain::new(binding()), Asked::default(), Burst::new());
    let acl = |field: &str| format!("field={field} deny=1").parse().unwrap();
    chain.add(0, "customer", Arc::new(Acl), acl("customer")).unwrap();
    chain.add(1, "limit", Arc::new(RateLimit), "per-second=1 burst=1".parse().unwrap()).unwrap();
    chain.add(2, "guests", Arc::new(Acl), acl("guests")).unwrap();
    let reserve = |call| Message { method: RESERVE, ..request(call) };
    (0..2).for_each(|call| burst.push(reserve(call)).unwrap());
    chain.requests(&mut burst, &mut asked, Duration::ZERO);
    assert_eq!((burst.drain().count(), &asked.0), (1, &vec![false, false]));
    chain.add(3, "room", Arc::new(Acl), acl("room")).unwrap();
    chain.requests(&mut burst, &mut asked, Duration::from_secs(1));
    assert_eq!((burst.drain().count(), &asked.0), (1, &vec![false, false, true]), "one was held");
}

#[test]
fn a_malformed_request_is_refused_where_it_is_read() {
    let mut path = Path::new();
    path.add(0, "acl", Acl, "field=customer deny=eve");
    let malformed = path.heap.reservation(7, b"\x0a\x03");
    path.send([malformed]);
    assert_eq!((path.passed, path.outcomes), (vec![], vec![7]));
}

#[derive(Debug, Clone)]
enum Step {
    Send(u64),
    Cancel,
    Answer,
    Pass(u64),
    Add(usize, usize),
    Remove(usize),
    Upgrade(usize),
    Limit(usize, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..40_u64).prop_map(Step::Send),
        1 => Just(Step::Cancel),
        3 => Just(Step::Answer),
        3 => (0..500_u64).prop_map(Step::Pass),
        2 => (0..4_usize, 0..4_usize).prop_map(|(behind, kind)| Step::Add(behind, kind)),
        1 => (0..4_usize).prop_map(Step::Remove),
        1 => (0..4_usize).prop_map(Step::Upgrade),
        1 => (0..4_usize, 1..200_u64).prop_map(|(engine, rate)| Step::Limit(engine, rate)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// Whatever engines come, go and change, each call reaches the peer once, in order, or has one outcome, or was cancelled.
    #[test]
    fn changes_lose_repeat_and_swap_nothing(steps in proptest::collection::vec(step(), 1..120)) {
        let mut path = Path::new();
        let (mut next, mut name) = (0, 0);
        let mut answered = BTreeSet::new();
        for step in steps {
            let names: Vec<_> = path.chain.engines().map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect();
            let at = |place: usize| names.get(place % names.len().max(1)).cloned();
            match step {
                Step::Send(count) => {
                    path.send((next..next + count).map(request));
                    next += count;
                }
                Step::Cancel => {
                    // The last call is likely to be held; it has had no outcome.
                    let Some(last) = next.checked_sub(1) else { continue };
                    if !path.outcomes.contains(&last) && path.cancelled.insert(last) {
                        path.send([about(last, Kind::Cancellation)]);
                    }
                }
                Step::Answer => {
                    let open = |call: &&u64| !answered.contains(*call) && !path.cancelled.contains(*call);
                    if let Some(call) = path.passed.iter().find(open).copied() {
                        answered.insert(call);
                        path.answer(call);
                    }
                }
                Step::Pass(millis) => {
                    path.now += Duration::from_millis(millis);
                    path.turn();
                }
                Step::Add(behind, kind) => {
                    name += 1;
                    let name = name.to_string();
                    match kind {
                        0 => path.add(behind, &name, Null, ""),
                        1 => path.add(behind, &name, RateLimit, "per-second=100 burst=3 queue=60"),
                        2 => path.add(behind, &name, Qos, "small=0 bulk=16"),
                        _ => path.add(behind, &name, Quota, "calls=50"),
                    }
                }
                Step::Remove(place) => {
                    if let Some((name, _)) = at(place) { path.chain.remove(&name).unwrap() }
                }
                Step::Upgrade(place) => {
                    let Some((name, kind)) = at(place) else { continue };
                    let kind = crate::engines::built_in().into_iter().find(|known| known.name() == kind);
                    path.chain.upgrade(&name, kind.unwrap()).unwrap();
                }
                Step::Limit(place, rate) => {
                    let Some((name, kind)) = at(place) else { continue };
                    if kind == "rate-limit" {
                        path.chain.configure(&name, format!("per-second={rate}").parse().unwrap()).unwrap();
                    }
                }
            }
        }
        path.settle();
        prop_assert!(path.passed.is_sorted(), "{:?}", path.passed);
        let passed: BTreeSet<_> = path.passed.iter().copied().collect();
        prop_assert_eq!(passed.len(), path.passed.len());
        let outcomes: BTreeSet<_> = path.outcomes.iter().copied().collect();
        prop_assert_eq!(outcomes.len(), path.outcomes.len());
        for call in 0..next {
            let refused = outcomes.contains(&call) && !answered.contains(&call);
            let ends = [passed.contains(&call), refused, path.cancelled.contains(&call) && !passed.contains(&call)];
            prop_assert_eq!(ends.iter().filter(|end| **end).count(), 1, "call {}: {:?}", call, ends);
        }
    }
}
