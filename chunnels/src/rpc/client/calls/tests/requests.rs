//! Streams of requests.

use super::*;
use crate::rpc::parts::WINDOW;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Wake;

/// Counts how often a task is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn signal(calls: &mut Calls, id: CallId, content: Content) {
    let mut woken = Vec::new();
    calls.on_message(Message::signal(id, content), &mut woken);
    woken.into_iter().for_each(Waker::wake);
}

fn room(calls: &mut Calls, id: CallId) -> Option<bool> {
    match calls.poll_room_for_request(id, Waker::noop()) {
        Poll::Ready(room) => Some(room),
        Poll::Pending => None,
    }
}

fn next(calls: &mut Calls, id: CallId) -> Option<u8> {
    match calls.poll_part(id, Waker::noop(), &mut Metadata::new()) {
        Poll::Ready(part) => part.map(|part| part.unwrap()[0]),
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn requests_are_sent_as_the_server_takes_them_and_one_response_ends_the_call() {
    let mut calls = Calls::new(1);
    let id = calls.begin(Streams::Requests, None).unwrap();
    assert_eq!(room(&mut calls, id), None, "the call may not have arrived");
    signal(&mut calls, id, Content::Credit { parts: 2 });
    for index in 0..2 {
        assert_eq!(room(&mut calls, id), Some(true));
        let request = calls.request(id, bytes(7)).unwrap();
        assert_eq!((request.call, request.content), (id, Content::Part { index }));
    }
    assert_eq!(room(&mut calls, id), None);
    assert_eq!(calls.end_of_requests(id).map(|end| end.content), Some(Content::End { parts: 2 }));
    calls.finish_requests(id);
    assert_eq!((room(&mut calls, id), calls.end_of_requests(id).is_none()), (Some(false), true));
    calls.on_message(response(id, 9), &mut Vec::new());
    assert_eq!([next(&mut calls, id), next(&mut calls, id)], [Some(9), None]);
    assert_eq!((calls.in_flight(), calls.unexpected(), sent(&mut calls)), (0, 0, Vec::new()));
}

#[test]
fn however_much_is_granted_a_window_of_requests_is_sent() {
    let mut calls = Calls::new(1);
    let id = calls.begin(Streams::Both, None).unwrap();
    signal(&mut calls, id, Content::Credit { parts: u32::MAX });
    let mut requests = 0;
    while room(&mut calls, id) == Some(true) {
        calls.request(id, bytes(0)).unwrap();
        requests += 1;
    }
    assert_eq!(requests, WINDOW);
}

#[test]
fn whatever_ends_the_requests_wakes_the_task_that_sends_them() {
    let failure = Content::Failure { kind: FailureKind::Denied, may_have_run: true };
    for (streams, content) in [
        (Streams::Requests, Content::Credit { parts: 1 }),
        (Streams::Requests, Content::Cancel),
        (Streams::Requests, Content::Response),
        (Streams::Requests, failure),
        (Streams::Both, Content::End { parts: 0 }),
        (Streams::Both, failure),
    ] {
        let mut calls = Calls::new(1);
        let id = calls.begin(streams, None).unwrap();
        let woken = Arc::<Woken>::default();
        let waker = Waker::from(woken.clone());
        assert!(calls.poll_room_for_request(id, &waker).is_pending());
        let mut wakers = Vec::new();
        calls.on_message(Message { content, ..response(id, 0) }, &mut wakers);
        wakers.into_iter().for_each(Waker::wake);
        assert_eq!(woken.0.load(SeqCst), 1, "{content:?}");
        let goes_on = matches!(content, Content::Credit { .. });
        assert_eq!(room(&mut calls, id), Some(goes_on), "{content:?}");
        assert_eq!(calls.unexpected(), 0, "{content:?}");
    }
}

#[test]
fn a_server_that_wants_requests_of_a_call_without_them_breaks_the_protocol() {
    for (streams, content) in [
        (Streams::Neither, Content::Credit { parts: 64 }),
        (Streams::Responses, Content::Credit { parts: 64 }),
        (Streams::Responses, Content::Cancel),
        (Streams::Requests, Content::Part { index: 0 }),
        (Streams::Requests, Content::End { parts: 0 }),
        (Streams::Both, Content::Response),
    ] {
        let mut calls = Calls::new(1);
        let id = calls.begin(streams, None).unwrap();
        calls.on_message(Message { content, ..response(id, 0) }, &mut Vec::new());
        let failure = match streams {
            Streams::Neither => calls.poll_answer(id, Waker::noop()).map(Result::unwrap_err),
            _ => calls
                .poll_part(id, Waker::noop(), &mut Metadata::new())
                .map(|part| part.unwrap().unwrap_err()),
        };
        let Poll::Ready(failure) = failure else { panic!("{streams:?} waits after {content:?}") };
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Malformed, true));
        assert_eq!((calls.unexpected(), sent(&mut calls)), (1, vec![(id, Content::Cancel)]));
    }
}

#[test]
fn requests_that_cannot_go_on_fail_their_call_once_and_the_server_learns_it() {
    let failure = || Failure::new("the stream was dropped").after_running();
    let mut calls = Calls::new(1);
    let id = calls.begin(Streams::Requests, None).unwrap();
    calls.break_off(id, failure(), &mut Vec::new());
    calls.break_off(id, failure(), &mut Vec::new());
    assert_eq!((room(&mut calls, id), sent(&mut calls)), (Some(false), vec![(id, Content::Cancel)]));
    calls.cancel(id);
    assert!(sent(&mut calls).is_empty());
    let id = calls.begin(Streams::Requests, None).unwrap();
    calls.end_of_requests(id).unwrap();
    calls.finish_requests(id);
    calls.break_off(id, failure(), &mut Vec::new());
    calls.on_message(response(id, 3), &mut Vec::new());
    assert_eq!((next(&mut calls, id), sent(&mut calls)), (Some(3), Vec::new()), "its end was sent");
}
