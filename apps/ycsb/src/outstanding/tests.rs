use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;

use super::*;
use bertha_kvstore::Record;

const MS: Duration = Duration::from_millis(1);

fn read(key: &str) -> Request {
    Request { kind: Kind::Read, inserts: None, key: key.into(), first: Body::Get, then: None }
}

fn read_modify_write(key: &str) -> Request {
    let then = Some(Body::Update { offset: 0, bytes: [1].into() });
    Request { kind: Kind::ReadModifyWrite, then, ..read(key) }
}

fn found(request: &Message) -> Message {
    request.clone().reply(Body::Found([0].into()))
}

fn poll(outstanding: &mut Outstanding, now: Duration) -> (Vec<Message>, Vec<Finished>) {
    let (mut send, mut finished) = (Vec::new(), Vec::new());
    outstanding.poll_retransmit(now, &mut send, &mut finished);
    (send, finished)
}

#[test]
fn latency_counts_from_the_intended_time() {
    let mut outstanding = Outstanding::new(Limits::default(), 5);
    let request = outstanding.on_send(read("a"), 2 * MS, 10 * MS);
    assert_eq!(request, Message::get(5, "a"));
    let Progress::Finished(finished) = outstanding.on_reply(found(&request), 11 * MS) else { panic!() };
    assert_eq!((finished.latency, finished.outcome), (9 * MS, Outcome::Completed));
    assert!(outstanding.is_empty());
    assert_eq!(outstanding.next_deadline(), None);
}

#[test]
fn what_answers_nothing_is_ignored_and_counted() {
    let mut outstanding = Outstanding::new(Limits::default(), 0);
    let request = outstanding.on_send(read("a"), MS, MS);
    let other_key = Message { key: "b".into(), ..found(&request) };
    let other_id = Message { id: 77, ..found(&request) };
    let wrong_kind = request.clone().reply(Body::Stored);
    for stray in [other_key, other_id, wrong_kind, request.clone()] {
        assert_eq!(outstanding.on_reply(stray, 2 * MS), Progress::Ignored);
    }
    assert!(matches!(outstanding.on_reply(found(&request), 2 * MS), Progress::Finished(_)));
    assert_eq!(outstanding.on_reply(found(&request), 2 * MS), Progress::Ignored);
    assert_eq!(outstanding.ignored(), 5);
}

#[test]
fn a_read_modify_write_is_two_requests_and_one_operation() {
    let mut outstanding = Outstanding::new(Limits::default(), 0);
    let first = outstanding.on_send(read_modify_write("a"), MS, MS);
    let Progress::Continues(second) = outstanding.on_reply(found(&first), 3 * MS) else { panic!() };
    assert_eq!(second, Message::update(1, "a", 0, vec![1]));
    let Progress::Finished(finished) = outstanding.on_reply(second.reply(Body::Stored), 7 * MS) else {
        panic!()
    };
    assert_eq!((finished.kind, finished.latency), (Kind::ReadModifyWrite, 6 * MS));

    let first = outstanding.on_send(read_modify_write("b"), MS, MS);
    let Progress::Finished(finished) = outstanding.on_reply(first.reply(Body::Missing), 3 * MS) else {
        panic!()
    };
    assert_eq!(finished.outcome, Outcome::Missing);
}

fn scan(key: &str, count: u32) -> Request {
    let first = Body::Scan { count, room: 1000 };
    Request { kind: Kind::Scan, inserts: None, key: key.into(), first, then: None }
}

/// Returns a reply with these records, and the key at which the scan goes on.
fn records(request: &Message, keys: &[&str], next: Option<&str>) -> Message {
    let record = |key: &&str| Record { key: (*key).into(), value: [1].into() };
    let page = Page { records: keys.iter().map(record).collect(), next: next.map(Key::from) };
    request.clone().reply(Body::Records(page.into()))
}

#[test]
fn a_scan_goes_on_until_it_has_its_records_or_there_are_no_more() {
    for (rest, next, scanned) in [(&["d", "e"][..], Some("f"), 5), (&["d"], None, 4), (&[], None, 3)] {
        let mut outstanding = Outstanding::new(Limits::default(), 0);
        let first = outstanding.on_send(scan("a", 5), MS, MS);
        assert_eq!(first.body, Body::Scan { count: 5, room: 1000 });
        let reply = records(&first, &["a", "b", "c"], Some("cc"));
        let Progress::Continues(second) = outstanding.on_reply(reply.clone(), 3 * MS) else { panic!() };
        assert_eq!(second, Message { key: "cc".into(), id: 1, body: Body::Scan { count: 2, room: 1000 } });
        assert_eq!(outstanding.on_reply(reply, 4 * MS), Progress::Ignored, "a second reply");
        // The second page is lost, and the scan goes on where it was.
        assert_eq!(poll(&mut outstanding, 103 * MS), (vec![second.clone()], vec![]));
        let Progress::Finished(finished) = outstanding.on_reply(records(&second, rest, next), 104 * MS)
        else {
            panic!()
        };
        assert_eq!((finished.kind, finished.scanned, finished.latency), (Kind::Scan, scanned, 103 * MS));
        assert_eq!(finished.outcome, Outcome::Completed);
    }
}

#[test]
fn a_page_may_be_empty_and_neither_larger_than_asked_nor_without_progress() {
    let mut outstanding = Outstanding::new(Limits::default(), 0);
    let request = outstanding.on_send(scan("b", 2), MS, MS);
    for stray in [
        records(&request, &["b", "c", "d"], None),
        records(&request, &["b"], Some("b")),
        records(&request, &[], Some("a")),
        found(&request),
        request.clone().reply(Body::Stored),
        request.clone().reply(Body::Missing),
    ] {
        assert_eq!(outstanding.on_reply(stray, 2 * MS), Progress::Ignored);
    }
    let Progress::Continues(next) = outstanding.on_reply(records(&request, &[], Some("c")), 2 * MS) else {
        panic!()
    };
    let refused = next.reply(Body::Failed(Reason::ValueTooLong));
    let Progress::Finished(finished) = outstanding.on_reply(refused, 3 * MS) else { panic!() };
    assert_eq!(finished.outcome, Outcome::Refused(Reason::ValueTooLong));
}

#[test]
fn a_lost_request_is_repeated_ever_more_rarely_and_then_given_up() {
    let limits = Limits { attempts: 3, ..Limits::default() };
    let mut outstanding = Outstanding::new(limits, 0);
    let request = outstanding.on_send(read("a"), Duration::ZERO, Duration::ZERO);
    assert_eq!(poll(&mut outstanding, 99 * MS), (vec![], vec![]));
    assert_eq!(poll(&mut outstanding, 100 * MS), (vec![request.clone()], vec![]));
    assert_eq!(outstanding.next_deadline(), Some(300 * MS));
    assert_eq!(poll(&mut outstanding, 300 * MS), (vec![request.clone()], vec![]));
    assert_eq!(outstanding.next_deadline(), Some(700 * MS));
    let (send, finished) = poll(&mut outstanding, 700 * MS);
    assert!(send.is_empty());
    assert_eq!((finished.len(), finished[0].outcome), (1, Outcome::GivenUp));
    assert_eq!(outstanding.on_reply(found(&request), 701 * MS), Progress::Ignored);
}

#[test]
fn a_repeated_request_is_no_sample_of_the_round_trip_time() {
    let mut outstanding = Outstanding::new(Limits::default(), 0);
    let request = outstanding.on_send(read("a"), Duration::ZERO, Duration::ZERO);
    poll(&mut outstanding, 100 * MS);
    outstanding.on_reply(found(&request), 101 * MS);
    assert_eq!(outstanding.requests.round_trip(), None);
}

/// The round trip drifts between 12 and 28 ms, faster than the time-out of its own smoothed value follows,
/// and no message is lost.
#[test]
fn a_drifting_round_trip_is_not_a_loss() {
    let limits = Limits { min_timeout: MS, window: 1000, ..Limits::default() };
    let mut outstanding = Outstanding::new(limits, 0);
    let round_trip = |sent: Duration| {
        let seconds = 0.020 + 0.008 * (sent.as_secs_f64() * std::f64::consts::TAU).sin();
        Duration::from_secs_f64(seconds)
    };
    let mut replies: BTreeSet<(Duration, u64)> = BTreeSet::new();
    for tick in 1..40_000 {
        let now = tick * MS / 10;
        while let Some(&(at, id)) = replies.first().filter(|(at, _)| *at <= now) {
            replies.pop_first();
            outstanding.on_reply(found(&Message::get(id, "a")), at);
        }
        assert_eq!(poll(&mut outstanding, now), (vec![], vec![]), "sent again after {now:?}");
        if tick % 3 == 0 && outstanding.room() > 0 {
            let request = outstanding.on_send(read("a"), now, now);
            replies.insert((now + round_trip(now), request.id));
        }
    }
    assert_eq!(outstanding.retransmissions(), 0);
    assert!(outstanding.requests.window() > 60, "{}", outstanding.requests.window());
}

#[test]
fn an_unanswering_store_is_asked_less_and_less() {
    let mut outstanding = Outstanding::new(Limits::default(), 0);
    let began = outstanding.room();
    assert_eq!(began, 10);
    for _ in 0..began {
        outstanding.on_send(read("a"), Duration::ZERO, Duration::ZERO);
    }
    assert_eq!(outstanding.room(), 0);
    let (send, _) = poll(&mut outstanding, 100 * MS);
    assert_eq!(send.len(), 5, "half of the window");
    assert_eq!(outstanding.room(), 0, "what is lost goes before what is new");
    let deadline = outstanding.next_deadline().unwrap();
    let (send, _) = poll(&mut outstanding, deadline);
    assert_eq!(send.len(), 2);
}

#[test]
fn a_late_reply_ends_what_waits_to_be_repeated() {
    let mut outstanding = Outstanding::new(Limits { window: 2, ..Limits::default() }, 0);
    let requests = [0, 1].map(|_| outstanding.on_send(read("a"), Duration::ZERO, Duration::ZERO));
    let (send, _) = poll(&mut outstanding, 100 * MS);
    assert_eq!(send.len(), 1, "the window is 1");
    for request in &requests {
        assert!(matches!(outstanding.on_reply(found(request), 101 * MS), Progress::Finished(_)));
    }
    assert_eq!(poll(&mut outstanding, 101 * MS), (vec![], vec![]));
    assert!(outstanding.room() > 0);
}

/// The fate of a message in the network.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Lost,
    Answered { after: u32, copies: usize },
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        1 => Just(Fate::Lost),
        2 => (0_u32..400, 1_usize..4).prop_map(|(after, copies)| Fate::Answered { after, copies }),
    ]
}

proptest! {
    #[test]
    fn every_operation_ends_exactly_once(
        fates in proptest::collection::vec(fate(), 1..50),
        chains in proptest::collection::vec(any::<bool>(), 1..60),
        attempts in 1_u32..6,
        window in 1_usize..20,
    ) {
        let mut outstanding = Outstanding::new(Limits { attempts, window, ..Limits::default() }, 0);
        let mut fates = fates.iter().cycle();
        let mut replies: BTreeSet<(Duration, usize)> = BTreeSet::new();
        let mut sent: Vec<Message> = Vec::new();
        let mut chains = chains.into_iter().enumerate().peekable();
        let (mut now, mut begun) = (Duration::ZERO, 0_u64);
        let mut ends: HashMap<u64, usize> = HashMap::new();
        loop {
            let (mut send, mut finished) = poll(&mut outstanding, now);
            while outstanding.room() > 0 && let Some((i, chain)) = chains.next() {
                let request = if chain { read_modify_write("k") } else { read("k") };
                // The number to insert serves to tell operations apart.
                let request = Request { inserts: Some(i as u64), ..request };
                send.push(outstanding.on_send(request, now, now));
                begun += 1;
            }
            prop_assert!(outstanding.len() <= window);
            for message in send.drain(..) {
                if let Some(Fate::Answered { after, copies }) = fates.next() {
                    for copy in 0..*copies {
                        replies.insert((now + MS * (*after + copy as u32), sent.len()));
                    }
                }
                sent.push(message);
            }
            for end in finished.drain(..) {
                *ends.entry(end.inserts.unwrap()).or_default() += 1;
            }
            let reply = replies.first().copied();
            match (outstanding.next_deadline(), reply) {
                (None, None) => break,
                (Some(deadline), Some((at, _))) if deadline < at => now = now.max(deadline),
                (Some(deadline), None) => now = now.max(deadline),
                (_, Some((at, which))) => {
                    replies.pop_first();
                    now = now.max(at);
                    let request = sent[which].clone();
                    let body = if request.body == Body::Get { Body::Found([].into()) } else { Body::Stored };
                    match outstanding.on_reply(request.reply(body), now) {
                        Progress::Ignored => {}
                        Progress::Finished(end) => *ends.entry(end.inserts.unwrap()).or_default() += 1,
                        Progress::Continues(message) => {
                            if let Some(Fate::Answered { after, .. }) = fates.next() {
                                replies.insert((now + MS * *after, sent.len()));
                            }
                            sent.push(message);
                        }
                    }
                }
            }
        }
        prop_assert!(chains.peek().is_none(), "all have begun");
        prop_assert!(outstanding.is_empty());
        prop_assert_eq!(ends.len() as u64, begun);
        prop_assert!(ends.values().all(|count| *count == 1), "{:?}", ends);
    }
}
