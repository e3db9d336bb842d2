use super::*;
use crate::call_counts::Status;
use crate::described::{Heap, RESERVE, about, binding, request};
use crate::{Binding, Burst, Chain, Engine, EngineKind, Kind, Message, Refusal};
use bertha_chunnels::rpc::FailureKind;
use std::time::Duration;

fn made(kind: impl EngineKind, settings: &str) -> Box<dyn Engine> {
    kind.make(settings.parse().unwrap(), &binding()).unwrap()
}

fn refusal(kind: impl EngineKind, settings: &str) -> String {
    kind.make(settings.parse().unwrap(), &binding()).unwrap_err().to_string()
}

/// Returns the calls that pass.
fn passing(engine: &mut dyn Engine, messages: impl IntoIterator<Item = Message>, now: Duration) -> Vec<u64> {
    let mut burst = Burst::new();
    messages.into_iter().for_each(|message| burst.push(message).unwrap());
    engine.requests(&mut burst, now);
    burst.drain().map(|message| message.call).collect()
}

#[test]
fn a_limiter_passes_calls_at_its_rate() {
    let mut limiter = made(RateLimit, "per-second=100 burst=5");
    assert_eq!(passing(limiter.as_mut(), (0..20).map(request), Duration::ZERO), [0, 1, 2, 3, 4]);
    let mut passed = 5;
    for millis in 1..=2_000 {
        let now = Duration::from_millis(millis);
        let more = passing(limiter.as_mut(), (0..1).map(|_| request(1_000 + millis)), now).len() as u64;
        passed += more;
        assert!(passed <= 5 + millis / 10 + 1, "{passed} calls within {millis} ms");
    }
    assert!(passed >= 200, "{passed}");
    let due = limiter.due().unwrap();
    assert!(due > Duration::from_secs(2) && due <= Duration::from_millis(2_011), "{due:?}");
}

#[test]
fn a_limiter_passes_no_more_than_its_burst_and_what_a_time_earns() {
    let pass = |limiter: &mut dyn Engine, millis| passing(limiter, [], Duration::from_millis(millis)).len();
    let mut limiter = made(RateLimit, "per-second=1 burst=2");
    assert_eq!(passing(limiter.as_mut(), (0..5).map(request), Duration::ZERO), [0, 1]);
    assert_eq!([999, 1_000, 1_999, 2_000].map(|millis| pass(limiter.as_mut(), millis)), [0, 1, 0, 1]);
    let mut restored = RateLimit.restore(&mut limiter.take_apart(), &binding()).unwrap();
    assert_eq!([3_000, 3_999, 4_001].map(|millis| pass(restored.as_mut(), millis)), [0, 0, 1]);
}

#[test]
fn a_limit_that_is_lifted_holds_nothing() {
    let mut limiter = made(RateLimit, "per-second=1 burst=1");
    assert_eq!(passing(limiter.as_mut(), (0..60).map(request), Duration::ZERO), [0]);
    limiter.configure("per-second=infinite".parse().unwrap()).unwrap();
    assert_eq!(limiter.due(), Some(Duration::ZERO));
    assert_eq!(passing(limiter.as_mut(), (60..70).map(request), Duration::ZERO), (1..65).collect::<Vec<_>>());
    assert_eq!(passing(limiter.as_mut(), [], Duration::ZERO), (65..70).collect::<Vec<_>>());
    assert_eq!(limiter.due(), None);
}

#[test]
fn a_request_beyond_the_queue_is_refused() {
    let mut limiter = made(RateLimit, "per-second=1 burst=1 queue=2");
    let mut burst = Burst::new();
    (0..5).for_each(|call| burst.push(request(call)).unwrap());
    limiter.requests(&mut burst, Duration::ZERO);
    let mut refused: Vec<_> = burst.take_refused().collect();
    refused.sort_by_key(|message| message.call);
    assert_eq!(refused.iter().map(|message| message.call).collect::<Vec<_>>(), [3, 4]);
    assert!(matches!(&refused[0].kind, Kind::Failure(refusal) if refusal.kind == FailureKind::Overloaded));
}

#[test]
fn a_cancellation_takes_its_request_out_of_the_queue_and_passes_others() {
    let mut limiter = made(RateLimit, "per-second=1 burst=1");
    passing(limiter.as_mut(), (0..4).map(request), Duration::ZERO);
    // The request of the first has passed.
    let cancellations = [0, 2].map(|call| about(call, Kind::Cancellation));
    assert_eq!(passing(limiter.as_mut(), cancellations, Duration::ZERO), [0]);
    assert_eq!(passing(limiter.as_mut(), [], Duration::from_secs(1)), [1]);
    assert_eq!(passing(limiter.as_mut(), [], Duration::from_secs(2)), [3]);
}

#[test]
fn wrong_settings_are_refused_by_name() {
    assert_eq!(
        refusal(RateLimit, "per-second=fast"),
        "the setting per-second=fast is not understood: a number of calls or `infinite` is expected"
    );
    for wrong in ["per-second=0", "per-second=9 burst=0"] {
        let setting = wrong.split_whitespace().last().unwrap();
        let expected = format!("the setting {setting} of rate-limit lets no call pass; take ");
        assert!(refusal(RateLimit, wrong).starts_with(&expected), "{wrong}");
    }
    assert_eq!(refusal(Quota, "call=1"), "the setting call=1 is unknown");
    assert_eq!(refusal(Null, "x=1"), "the setting x=1 is unknown");
    assert_eq!(refusal(Acl, "deny=eve"), "acl lacks a field, as in field=customer.name deny=eve");
    assert_eq!(refusal(Acl, "field=customer"), "acl lacks a list: deny=a,b or allow=a,b");
    assert_eq!(refusal(Acl, "field=customer deny=a allow=b"), "acl takes one list: deny or allow");
    assert_eq!(refusal(Acl, "field=name deny=a"), "no method takes a request with a field name of a value");
    assert_eq!(refusal(Acl, "field=price deny=1"), "the field price has fractions, which no list can name");
    assert_eq!(refusal(Acl, "field=room deny=1,eve,-2,ann"), "the field room has no text, and is never ann");
    let mut acl = made(Acl, "field=room deny=1");
    let unsuitable = acl.configure("allow=2,ground".parse().unwrap()).unwrap_err();
    assert_eq!(unsuitable.to_string(), "the field room has no text, and is never ground");
    assert_eq!(acl.take_apart().state, b"room\ndeny\n1\n", "the list is as it was");
    let mut limiter = made(RateLimit, "per-second=1 burst=1");
    assert!(limiter.configure("per-second=9 x=1".parse().unwrap()).is_err());
    assert_eq!(passing(limiter.as_mut(), (0..9).map(request), Duration::ZERO), [0]);
}

/// Returns true if a reservation with this encoding passes.
fn is_permitted(settings: &str, encoded: &[u8]) -> bool {
    let mut chain = Chain::new(binding());
    chain.add(0, "acl", std::sync::Arc::new(Acl), settings.parse().unwrap()).unwrap();
    let (mut heap, mut burst) = (Heap::default(), Burst::new());
    burst.push(heap.reservation(0, encoded)).unwrap();
    chain.requests(&mut burst, &mut heap, Duration::ZERO);
    let outcomes: Vec<_> = chain.take_outcomes().map(|message| message.kind).collect();
    match outcomes.as_slice() {
        [] => assert_eq!(burst.messages().len(), 1),
        [Kind::Failure(refusal)] => assert_eq!(refusal.kind, FailureKind::Denied),
        other => panic!("{other:?}"),
    }
    outcomes.is_empty()
}

#[test]
fn a_list_denies_by_the_value_of_a_field() {
    let (eve, ann) = (b"\x0a\x03eve", b"\x0a\x03ann");
    assert!(!is_permitted("field=customer deny=bob,eve", eve));
    assert!(is_permitted("field=customer deny=bob,eve", ann));
    assert!(is_permitted("field=customer deny=bob,eve", b""));
    assert!(!is_permitted("field=guests deny=eve", b"\x12\x03ann\x12\x03eve"));
    assert!(!is_permitted("field=room deny=-1", b"\x18\x01"));
    assert!(is_permitted("field=room deny=-1", b"\x18\x02"));
}

#[test]
fn a_list_allows_nothing_but_its_values() {
    assert!(is_permitted("field=customer allow=ann,bob", b"\x0a\x03ann"));
    assert!(!is_permitted("field=customer allow=ann,bob", b"\x0a\x03eve"));
    assert!(!is_permitted("field=customer allow=ann,bob", b""));
    assert!(is_permitted("field=guests allow=ann,bob", b"\x12\x03ann\x12\x03bob"));
    assert!(!is_permitted("field=guests allow=ann,bob", b"\x12\x03ann\x12\x03eve"));
    assert!(!is_permitted("field=guests allow=ann,bob", b""));
}

#[test]
fn a_list_judges_methods_that_have_the_field_and_nothing_unread() {
    let mut acl = made(Acl, "field=customer deny=eve");
    assert_eq!((acl.reads(0).len(), acl.reads(RESERVE).len(), acl.reads(99).len()), (0, 1, 0));
    let unread = Message { method: RESERVE, ..request(1) };
    assert_eq!(passing(acl.as_mut(), [request(0), unread], Duration::ZERO), [0]);
    acl.configure("allow=eve".parse().unwrap()).unwrap();
    assert!(acl.configure("field=guests".parse().unwrap()).is_err());
}

#[test]
fn engines_are_restored_from_their_own_state() {
    let binding: Binding = binding();
    let settings = [
        "field=customer deny=eve,bob",
        "",
        "",
        "small=1 bulk=2 hold=3",
        "calls=7",
        "per-second=3 burst=2 queue=1",
        "sample=4 per-second=9",
    ]
    .map(|text| text.parse().unwrap());
    for (kind, settings) in built_in().into_iter().zip(settings) {
        let engine = kind.make(settings, &binding).unwrap();
        let mut before = engine.take_apart();
        let after = kind.restore(&mut before, &binding).unwrap().take_apart();
        let sorted = |state: &[u8]| {
            let mut lines: Vec<_> = state.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&before.state), sorted(&after.state), "{}", kind.name());
        if !before.state.is_empty() {
            before.version = 99;
            let name = kind.name();
            let expected = format!("state of {name} of version 99 is not understood");
            assert_eq!(kind.restore(&mut before, &binding).unwrap_err().to_string(), expected);
        }
    }
}

/// Leads an outcome of a call through an engine.
fn answer(engine: &mut dyn Engine, call: u64, kind: Kind, now: Duration) {
    let mut burst = Burst::new();
    burst.push(about(call, kind)).unwrap();
    engine.responses(&mut burst, now);
}

#[test]
fn calls_are_counted_by_their_outcomes_and_times_and_across_an_upgrade() {
    let (binding, second) = (binding(), Duration::from_secs(1));
    let mut metrics = Metrics.make("".parse().unwrap(), &binding).unwrap();
    passing(metrics.as_mut(), (0..4).map(request), Duration::ZERO);
    passing(metrics.as_mut(), [about(0, Kind::Cancellation)], second);
    let denied = Refusal { kind: FailureKind::Denied, reason: "no".into() };
    answer(metrics.as_mut(), 1, Kind::Failure(denied), second);
    let mut metrics = Metrics.restore(&mut metrics.take_apart(), &binding).unwrap();
    answer(metrics.as_mut(), 2, Kind::Response, second);
    // A call that began before the engine was there.
    answer(metrics.as_mut(), 99, Kind::Response, second);
    let counted = binding.counts.read();
    let [counted] = counted.as_slice() else { panic!("{counted:?}") };
    let names = (&*counted.caller, &*counted.service, &*counted.method);
    assert_eq!(names, ("desk", "hotel", "hotel.Hotel/Ping"));
    let expected = [Status::Done, Status::Cancelled, Status::Failed(FailureKind::Denied)];
    assert_eq!(counted.calls, expected.map(|status| (status, 1)));
    assert_eq!((counted.times.count(), counted.times.sum()), (3, 3 * second));
}
