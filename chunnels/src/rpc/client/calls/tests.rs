mod requests;
mod responses;

use super::*;
use crate::rpc::FailureKind;
use proptest::prelude::*;

const METHOD: Method = Method::new("test");
const SECOND: Duration = Duration::from_secs(1);

fn bytes(number: u8) -> Buf {
    Buf::copy_of(&[number], 0).unwrap()
}

fn response(call: CallId, number: u8) -> Message {
    Message { call, content: Content::Response, has_metadata: false, body: Some(bytes(number)) }
}

fn answer(calls: &mut Calls, id: CallId) -> Option<Result<u8, FailureKind>> {
    match calls.poll_answer(id, Waker::noop()) {
        Poll::Ready(answer) => {
            Some(answer.map(|answer| answer.response[0]).map_err(|failure| failure.kind()))
        }
        Poll::Pending => None,
    }
}

fn begin(calls: &mut Calls) -> CallId {
    calls.begin(Streams::Neither, None).unwrap()
}

fn sent(calls: &mut Calls) -> Vec<(CallId, Content)> {
    let mut messages = Vec::new();
    calls.swap_outgoing(&mut messages);
    messages.iter().map(|message| (message.call, message.content)).collect()
}

#[test]
fn answers_in_any_order_reach_their_calls() {
    let mut calls = Calls::new(10);
    let [first, second] = [begin(&mut calls), begin(&mut calls)];
    calls.on_message(response(second, 2), &mut Vec::new());
    assert_eq!([answer(&mut calls, first), answer(&mut calls, second)], [None, Some(Ok(2))]);
    calls.on_message(response(first, 1), &mut Vec::new());
    assert_eq!(answer(&mut calls, first), Some(Ok(1)));
    assert_eq!((calls.in_flight(), calls.unexpected()), (0, 0));
}

#[test]
fn a_call_beyond_the_limit_is_refused_and_a_slot_is_free_at_once() {
    let mut calls = Calls::new(2);
    let [first, _] = [begin(&mut calls), begin(&mut calls)];
    let refused = calls.begin(Streams::Neither, None).unwrap_err();
    assert_eq!((refused.kind(), refused.may_have_run()), (FailureKind::Overloaded, false));
    calls.cancel(first);
    let next = begin(&mut calls);
    assert_eq!(next.slot, first.slot);
    // The answer to the call before.
    calls.on_message(response(first, 1), &mut Vec::new());
    assert_eq!((answer(&mut calls, next), calls.unexpected()), (None, 1));
    assert_eq!(sent(&mut calls), [(first, Content::Cancel)]);
}

#[test]
fn a_deadline_fails_the_call_and_tells_the_server() {
    let start = Instant::now();
    let mut calls = Calls::new(10);
    let soon = calls.begin(Streams::Neither, Some(start + SECOND)).unwrap();
    let late = calls.begin(Streams::Neither, Some(start + 3 * SECOND)).unwrap();
    assert_eq!(calls.earliest(), Some(start + SECOND));
    calls.expire(start + SECOND - Duration::from_nanos(1), &mut Vec::new());
    assert_eq!(answer(&mut calls, soon), None);
    let mut woken = Vec::new();
    calls.expire(start + SECOND, &mut woken);
    assert_eq!(woken.len(), 1);
    assert_eq!(calls.earliest(), Some(start + 3 * SECOND));
    calls.on_message(response(soon, 1), &mut Vec::new());
    assert_eq!(answer(&mut calls, soon), Some(Err(FailureKind::TimedOut)));
    assert_eq!(sent(&mut calls), [(soon, Content::Cancel)]);
    assert_eq!(answer(&mut calls, late), None);
}

#[test]
fn the_server_learns_at_least_how_long_the_client_waits() {
    let id = CallId { slot: 0, generation: 0 };
    for (within, expected) in [
        (None, 0),
        (Some(Duration::ZERO), 1),
        (Some(Duration::from_micros(1_001)), 2),
        (Some(Duration::from_secs(1 << 40)), u32::MAX),
    ] {
        let message = Calls::message(id, METHOD, within, bytes(0), false, false);
        assert_eq!(
            message.content,
            Content::Call { method: METHOD.id(), milliseconds: expected, is_traced: false }
        );
    }
}

#[test]
fn the_end_of_the_connection_fails_all_calls_and_later_ones() {
    let mut calls = Calls::new(10);
    let [waiting, answered] = [begin(&mut calls), begin(&mut calls)];
    calls.on_message(response(answered, 1), &mut Vec::new());
    let failure = Failure::of(FailureKind::Disconnected, "gone");
    calls.end(&failure, &mut Vec::new());
    let Poll::Ready(Err(in_doubt)) = calls.poll_answer(waiting, Waker::noop()) else {
        panic!("it has failed")
    };
    assert_eq!((in_doubt.kind(), in_doubt.may_have_run()), (FailureKind::Disconnected, true));
    assert_eq!(answer(&mut calls, answered), Some(Ok(1)));
    let refused = calls.begin(Streams::Neither, None).unwrap_err();
    assert_eq!((refused.kind(), refused.may_have_run()), (FailureKind::Disconnected, false));
}

#[test]
fn one_response_where_several_are_expected_is_malformed_and_so_is_the_reverse() {
    let mut calls = Calls::new(10);
    let one = begin(&mut calls);
    let several = calls.begin(Streams::Responses, None).unwrap();
    calls.on_message(Message { content: Content::Part { index: 0 }, ..response(one, 1) }, &mut Vec::new());
    calls.on_message(response(several, 1), &mut Vec::new());
    assert_eq!(answer(&mut calls, one), Some(Err(FailureKind::Malformed)));
    let Poll::Ready(Some(Err(failure))) = calls.poll_part(several, Waker::noop(), &mut Metadata::new())
    else {
        panic!("it has failed")
    };
    assert_eq!(failure.kind(), FailureKind::Malformed);
    assert_eq!(sent(&mut calls), [(one, Content::Cancel), (several, Content::Cancel)]);
    assert_eq!(calls.in_flight(), 0);
}

#[test]
fn calls_that_are_begun_and_given_up_while_nothing_is_sent_are_bounded() {
    let mut calls = Calls::new(4);
    for _ in 0..100 {
        if let Ok(id) = calls.begin(Streams::Neither, None) {
            calls.enqueue(Calls::message(id, METHOD, None, bytes(0), false, false));
            calls.cancel(id);
        }
    }
    assert!(sent(&mut calls).len() <= 2 * 4 + 2);
    begin(&mut calls);
}

/// A step of a test; numbers are those of calls, from the first.
#[derive(Debug, Clone)]
enum Step {
    Begin {
        streams: Streams,
        seconds: Option<u64>,
    },
    /// The server takes this many requests.
    Credit(usize, u32),
    /// The server takes no further requests.
    Leave(usize),
    Request(usize),
    EndRequests(usize),
    Respond(usize),
    Fail(usize),
    Part(usize, u32),
    End(usize, u32),
    Poll(usize),
    Cancel(usize),
    Pass(u64),
    Disconnect,
}

fn streams() -> impl Strategy<Value = Streams> {
    let all = [Streams::Neither, Streams::Responses, Streams::Requests, Streams::Both];
    (0..all.len()).prop_map(move |at| all[at])
}

fn step() -> impl Strategy<Value = Step> {
    let call = 0..30_usize;
    prop_oneof![
        8 => (streams(), prop::option::of(1..5_u64))
            .prop_map(|(streams, seconds)| Step::Begin { streams, seconds }),
        4 => (call.clone(), 0..6_u32).prop_map(|(call, parts)| Step::Credit(call, parts)),
        1 => call.clone().prop_map(Step::Leave),
        6 => call.clone().prop_map(Step::Request),
        2 => call.clone().prop_map(Step::EndRequests),
        6 => call.clone().prop_map(Step::Respond),
        2 => call.clone().prop_map(Step::Fail),
        6 => (call.clone(), 0..4_u32).prop_map(|(call, index)| Step::Part(call, index)),
        3 => (call.clone(), 0..4_u32).prop_map(|(call, parts)| Step::End(call, parts)),
        12 => call.clone().prop_map(Step::Poll),
        3 => call.prop_map(Step::Cancel),
        2 => (1..3_u64).prop_map(Step::Pass),
        1 => Just(Step::Disconnect),
    ]
}

/// The history of a call, as its caller sees it.
struct Seen {
    id: CallId,
    streams: Streams,
    /// The outcome was taken, or the call was cancelled.
    is_over: bool,
    parts: u32,
    /// Number of requests that the server takes.
    granted: u32,
    requests: u32,
    /// The end of the requests was sent, or the server takes no more.
    requests_are_over: bool,
}

impl Seen {
    fn new(id: CallId, streams: Streams) -> Self {
        let (is_over, parts, granted, requests, requests_are_over) = Default::default();
        Self { id, streams, is_over, parts, granted, requests, requests_are_over }
    }
}

/// Polls as a caller does, which polls no more once it has an outcome.
fn poll(calls: &mut Calls, call: &mut Seen) {
    if call.is_over {
        return;
    }
    if call.streams == Streams::Neither {
        call.is_over = calls.poll_answer(call.id, Waker::noop()).is_ready();
        return;
    }
    match calls.poll_part(call.id, Waker::noop(), &mut Metadata::new()) {
        Poll::Ready(Some(Ok(part))) => {
            assert_eq!(u32::from(part[0]), call.parts, "parts are in order, each once");
            call.parts += 1;
        }
        Poll::Ready(_) => call.is_over = true,
        Poll::Pending => {}
    }
}

proptest! {
    /// Whatever the server sends and whenever callers give up: no slot leaks, and in the end each call has one outcome.
    #[test]
    fn each_call_has_one_outcome_and_leaves_its_slot(steps in prop::collection::vec(step(), 0..120)) {
        let mut now = Instant::now();
        let mut calls = Calls::new(5);
        let mut seen: Vec<Seen> = Vec::new();
        for step in steps {
            let mut woken = Vec::new();
            match step {
                Step::Begin { streams, seconds } => {
                    if let Ok(id) = calls.begin(streams, seconds.map(|it| now + SECOND * it as u32)) {
                        prop_assert!(seen.iter().all(|call| call.id != id), "ids are not used again");
                        seen.push(Seen::new(id, streams));
                    }
                }
                Step::Request(call) => {
                    let Some(call) = seen.get_mut(call) else { continue };
                    if let Poll::Ready(true) = calls.poll_room_for_request(call.id, Waker::noop()) {
                        let request = calls.request(call.id, bytes(0)).unwrap();
                        prop_assert_eq!(request.content, Content::Part { index: call.requests });
                        call.requests += 1;
                        prop_assert!(!call.is_over && !call.requests_are_over);
                        prop_assert!(call.requests <= call.granted, "a request was not granted");
                    }
                }
                Step::EndRequests(call) => {
                    let Some(call) = seen.get_mut(call) else { continue };
                    if let Some(end) = calls.end_of_requests(call.id) {
                        calls.finish_requests(call.id);
                        prop_assert_eq!(end.content, Content::End { parts: call.requests });
                        prop_assert!(!call.is_over && !call.requests_are_over, "a second end");
                        call.requests_are_over = true;
                    }
                }
                Step::Pass(seconds) => {
                    now += SECOND * seconds as u32;
                    calls.expire(now, &mut woken);
                    prop_assert!(calls.earliest().is_none_or(|earliest| earliest > now));
                }
                Step::Disconnect => calls.end(&Failure::of(FailureKind::Disconnected, ""), &mut woken),
                Step::Poll(call) => seen.get_mut(call).into_iter().for_each(|call| poll(&mut calls, call)),
                Step::Cancel(call) => {
                    if let Some(call) = seen.get_mut(call).filter(|call| !call.is_over) {
                        calls.cancel(call.id);
                        call.is_over = true;
                    }
                }
                Step::Respond(call)
                | Step::Fail(call)
                | Step::Part(call, _)
                | Step::End(call, _)
                | Step::Credit(call, _)
                | Step::Leave(call) => {
                    let Some(seen) = seen.get_mut(call) else { continue };
                    let call = seen.id;
                    match step {
                        Step::Credit(_, parts) => seen.granted = seen.granted.max(parts),
                        Step::Leave(_) => seen.requests_are_over = true,
                        _ => {}
                    }
                    let (content, body) = match step {
                        Step::Respond(_) => (Content::Response, 0),
                        Step::Fail(_) => (Content::Failure { kind: FailureKind::Failed, may_have_run: true }, 0),
                        Step::Part(_, index) => (Content::Part { index }, index as u8),
                        Step::End(_, parts) => (Content::End { parts }, 0),
                        Step::Credit(_, parts) => (Content::Credit { parts }, 0),
                        Step::Leave(_) => (Content::Cancel, 0),
                        _ => unreachable!("the others send nothing"),
                    };
                    calls.on_message(Message { call, content, has_metadata: false, body: Some(bytes(body)) }, &mut woken);
                }
            }
            let live = seen.iter().filter(|call| !call.is_over).count();
            prop_assert_eq!(calls.in_flight(), live);
            sent(&mut calls);
        }
        calls.end(&Failure::of(FailureKind::Disconnected, ""), &mut Vec::new());
        for call in &mut seen {
            for _ in 0..=5 {
                poll(&mut calls, call);
            }
            prop_assert!(call.is_over, "the end of the connection is an outcome");
        }
        prop_assert_eq!(calls.in_flight(), 0);
    }
}

#[test]
fn twice_as_many_messages_as_calls_may_wait() {
    let mut calls = Calls::new(2);
    for _ in 0..5 {
        let id = begin(&mut calls);
        calls.cancel(id);
    }
    assert_eq!(calls.begin(Streams::Neither, None).unwrap_err().kind(), FailureKind::Overloaded);
    assert!(calls.has_outgoing());
    assert_eq!(sent(&mut calls).len(), 5);
    assert!(!calls.has_outgoing());
    begin(&mut calls);
    assert_eq!(calls.in_flight(), 1);
}

#[test]
fn a_call_that_was_never_sent_is_forgotten_and_the_server_hears_nothing() {
    let mut calls = Calls::new(1);
    let id = begin(&mut calls);
    calls.forget(id);
    calls.forget(id);
    assert_eq!((calls.in_flight(), sent(&mut calls)), (0, Vec::new()));
    assert_eq!(answer(&mut calls, id), Some(Err(FailureKind::Failed)), "there is no such call");
}

#[test]
fn the_lowest_limit_that_a_server_has_told_is_taken_once() {
    let mut calls = Calls::new(3);
    let ids = [(); 3].map(|()| begin(&mut calls));
    for (id, limit) in ids.into_iter().zip([5, 2, 4]) {
        let full = Message::signal(id, Content::Full { calls: limit });
        calls.on_message(full, &mut Vec::new());
    }
    assert_eq!((calls.take_full_at(), calls.take_full_at()), (Some(2), None));
    for id in ids {
        assert!(matches!(
            calls.poll_answer(id, Waker::noop()),
            Poll::Ready(Err(failure)) if failure.is_refusal()
        ));
    }
}

#[test]
fn a_failure_that_the_server_reports_says_whether_the_call_may_have_run() {
    for may_have_run in [false, true] {
        let mut calls = Calls::new(1);
        let call = begin(&mut calls);
        let content = Content::Failure { kind: FailureKind::Malformed, may_have_run };
        calls.on_message(
            Message { call, content, has_metadata: false, body: Some(Buf::copy_of(b"why", 0).unwrap()) },
            &mut Vec::new(),
        );
        let Poll::Ready(Err(failure)) = calls.poll_answer(call, Waker::noop()) else { panic!("no failure") };
        assert_eq!((failure.kind(), failure.text()), (FailureKind::Malformed, "why"));
        assert_eq!(failure.may_have_run(), may_have_run);
    }
}

#[test]
fn a_deadline_of_a_stream_passes_once_and_the_next_one_is_the_earliest() {
    let start = Instant::now();
    let mut calls = Calls::new(4);
    let stream = calls.begin(Streams::Responses, Some(start + SECOND)).unwrap();
    let later = calls.begin(Streams::Responses, Some(start + 3 * SECOND)).unwrap();
    let late = calls.begin(Streams::Neither, Some(start + 2 * SECOND)).unwrap();
    calls.expire(start + SECOND, &mut Vec::new());
    assert_eq!(calls.earliest(), Some(start + 2 * SECOND));
    assert_eq!(sent(&mut calls), [(stream, Content::Cancel)]);
    calls.expire(start + 2 * SECOND, &mut Vec::new());
    assert_eq!(
        (calls.earliest(), sent(&mut calls)),
        (Some(start + 3 * SECOND), vec![(late, Content::Cancel)])
    );
    // A stream that has failed is over for the server already.
    calls.cancel(stream);
    assert!(sent(&mut calls).is_empty());
    calls.cancel(later);
    assert_eq!(sent(&mut calls), [(later, Content::Cancel)]);
}
