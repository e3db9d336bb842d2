//! Responses that nobody takes.

use super::*;
use crate::rpc::client::calls::waiting::COUNTED;

/// The bytes that may wait.
const LIMIT: usize = 100;

/// A client with a bound of its own.
fn bounded() -> (Calls, WaitingBytes) {
    let (mut calls, waiting) = (Calls::new(4), WaitingBytes::new(LIMIT));
    calls.wait_with(&waiting);
    (calls, waiting)
}

/// Takes in a message of this many bytes, and returns the number of tasks that are woken.
fn arrive(calls: &mut Calls, call: CallId, content: Content, length: usize) -> usize {
    let body = Some(Buf::copy_of(&vec![0; length], 0).unwrap());
    let mut woken = Vec::new();
    calls.on_message(Message { call, content, has_metadata: false, body }, &mut woken);
    woken.len()
}

fn part(calls: &mut Calls, call: CallId, index: u32, length: usize) -> usize {
    arrive(calls, call, Content::Part { index }, length)
}

/// Returns the length of the next response of a stream, or its failure; `None` for a stream that is over.
fn next(calls: &mut Calls, call: CallId) -> Option<Result<usize, Failure>> {
    match calls.poll_part(call, Waker::noop(), &mut Metadata::new()) {
        Poll::Ready(part) => part.map(|part| part.map(|part| part.len())),
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn a_stream_beyond_the_bytes_that_may_wait_at_a_client_fails_and_others_go_on() {
    let (mut calls, waiting) = bounded();
    let [hostile, kept] = [(); 2].map(|()| calls.begin(Streams::Responses, None).unwrap());
    part(&mut calls, hostile, 0, LIMIT - 10);
    part(&mut calls, hostile, 1, 10);
    assert_eq!(waiting.bytes(), LIMIT);
    // The first of another stream is taken, and counts.
    part(&mut calls, kept, 0, 50);
    assert_eq!((waiting.bytes(), sent(&mut calls)), (LIMIT + 50, Vec::new()));

    part(&mut calls, hostile, 2, 1);
    assert_eq!((waiting.bytes(), sent(&mut calls)), (50, vec![(hostile, Content::Cancel)]));
    // On their way as the stream failed.
    part(&mut calls, hostile, 3, 1);
    arrive(&mut calls, hostile, Content::End { parts: 0 }, 0);
    assert_eq!((waiting.bytes(), calls.unexpected(), sent(&mut calls)), (50, 2, Vec::new()));
    let failure = next(&mut calls, hostile).unwrap().unwrap_err();
    assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Overloaded, true));
    assert!(failure.text().contains("100 bytes together; `Multiplexer::waiting_with` sets"), "{failure}");
    assert!(next(&mut calls, hostile).is_none());

    part(&mut calls, kept, 1, 50);
    assert_eq!([(); 2].map(|()| next(&mut calls, kept).unwrap().unwrap()), [50, 50]);
    assert_eq!((waiting.bytes(), calls.in_flight(), calls.over()), (0, 1, (1, 1)));
}

#[test]
fn a_stream_that_is_read_goes_on_whatever_others_hold() {
    let (mut calls, waiting) = bounded();
    waiting.add_anyway(LIMIT);
    let read = calls.begin(Streams::Responses, None).unwrap();
    for index in 0..1_000 {
        part(&mut calls, read, index, LIMIT);
        assert_eq!((waiting.bytes(), next(&mut calls, read).unwrap().unwrap()), (2 * LIMIT, LIMIT));
    }
}

#[test]
fn tasks_of_a_stream_without_room_are_woken_and_an_earlier_failure_stays() {
    let start = Instant::now();
    let (mut calls, waiting) = bounded();
    let both = calls.begin(Streams::Both, None).unwrap();
    let late = calls.begin(Streams::Responses, Some(start + SECOND)).unwrap();
    part(&mut calls, late, 0, LIMIT);
    calls.expire(start + SECOND, &mut Vec::new());
    assert_eq!(sent(&mut calls), [(late, Content::Cancel)]);
    // On its way at the deadline.
    part(&mut calls, late, 1, 1);
    assert_eq!((waiting.bytes(), sent(&mut calls)), (0, Vec::new()));
    assert_eq!(next(&mut calls, late).unwrap().unwrap_err().kind(), FailureKind::TimedOut);

    assert!(calls.poll_room_for_request(both, Waker::noop()).is_pending());
    assert!(calls.poll_part(both, Waker::noop(), &mut Metadata::new()).is_pending());
    // The second response has come before the first.
    assert_eq!(part(&mut calls, both, 1, LIMIT), 1);
    assert!(calls.poll_part(both, Waker::noop(), &mut Metadata::new()).is_pending());
    assert_eq!(part(&mut calls, both, 0, 1), 2);
    assert!(matches!(calls.poll_room_for_request(both, Waker::noop()), Poll::Ready(false)));
    assert_eq!(next(&mut calls, both).unwrap().unwrap_err().kind(), FailureKind::Overloaded);
}

#[test]
fn single_responses_count_from_a_length_on_until_they_are_taken_or_dropped() {
    let (mut calls, waiting) = bounded();
    for (streams, length, counted) in [
        (Streams::Neither, COUNTED, COUNTED),
        (Streams::Neither, COUNTED - 1, 0),
        (Streams::Requests, COUNTED, COUNTED),
        (Streams::Requests, 1, 1),
    ] {
        let [taken, dropped] = [(); 2].map(|()| calls.begin(streams, None).unwrap());
        for call in [taken, dropped] {
            arrive(&mut calls, call, Content::Response, length);
        }
        assert_eq!(waiting.bytes(), 2 * counted, "{streams:?} {length}");
        calls.cancel(dropped);
        assert_eq!(waiting.bytes(), counted, "{streams:?} {length}");
        if streams == Streams::Neither {
            assert_eq!(answer(&mut calls, taken), Some(Ok(0)));
        } else {
            assert_eq!(next(&mut calls, taken).unwrap().unwrap(), length);
            assert!(next(&mut calls, taken).is_none());
        }
        assert_eq!((waiting.bytes(), calls.in_flight(), calls.unexpected()), (0, 0, 0));
    }
}

#[test]
fn responses_that_wait_are_given_back_with_their_client_and_follow_it_to_another_bound() {
    let (mut calls, waiting) = bounded();
    let [single, stream] = [Streams::Neither, Streams::Responses].map(|it| calls.begin(it, None).unwrap());
    arrive(&mut calls, single, Content::Response, COUNTED);
    part(&mut calls, stream, 0, 7);
    assert_eq!(waiting.bytes(), COUNTED + 7);
    let other = WaitingBytes::new(LIMIT);
    calls.wait_with(&other);
    assert_eq!((waiting.bytes(), other.bytes()), (7, COUNTED));
    drop(calls);
    assert_eq!((waiting.bytes(), other.bytes()), (0, 0));
}

#[test]
fn responses_of_a_stream_that_breaks_the_protocol_are_dropped_and_given_back() {
    let (mut calls, waiting) = bounded();
    let stream = calls.begin(Streams::Responses, None).unwrap();
    part(&mut calls, stream, 0, 1);
    // The same one again, with another length.
    part(&mut calls, stream, 0, LIMIT);
    assert_eq!((waiting.bytes(), calls.unexpected()), (0, 1));
    assert_eq!(next(&mut calls, stream).unwrap().unwrap_err().kind(), FailureKind::Malformed);
    assert_eq!((next(&mut calls, stream).is_none(), calls.in_flight()), (true, 0));
}
