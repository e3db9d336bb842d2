use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{MAX_KEY, MAX_SCAN, MAX_VALUE, Page, Record};

#[test]
fn answers_with_the_key_and_id_of_the_request() {
    let mut store = Store::default();
    assert_eq!(store.handle(Message::get(7, "a")), Message::get(7, "a").reply(Body::Missing));
    assert_eq!(store.handle(Message::put(8, "a", vec![1, 2])).body, Body::Stored);
    assert_eq!(
        store.handle(Message::get(9, "a")),
        Message::get(9, "a").reply(Body::Found(vec![1, 2].into()))
    );
}

#[test]
fn a_reply_keeps_what_it_found_without_a_copy() {
    let mut store = Store::default();
    store.handle(Message::put(0, "a", vec![1, 2]));
    let mut found = || match store.handle(Message::get(1, "a")).body {
        Body::Found(value) => value,
        other => panic!("{other:?}"),
    };
    let (first, second) = (found(), found());
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(store.handle(Message::update(2, "a", 1, vec![3])).body, Body::Stored);
    assert_eq!(*first, [1, 2]);
    assert_eq!(store.handle(Message::get(3, "a")).body, Body::Found(vec![1, 3].into()));
}

#[test]
fn an_update_stays_within_the_value() {
    let mut store = Store::default();
    store.handle(Message::put(0, "a", vec![0; 4]));
    assert_eq!(store.handle(Message::update(1, "a", 2, vec![7, 8])).body, Body::Stored);
    for (offset, length) in [(3, 2), (5, 0), (u32::MAX, 1), (u32::MAX, 4), (0, 5)] {
        let reply = store.handle(Message::update(2, "a", offset, vec![9; length]));
        assert_eq!(reply.body, Body::Failed(Reason::OutOfRange), "offset {offset}, length {length}");
    }
    assert_eq!(store.handle(Message::update(3, "a", 4, Vec::new())).body, Body::Stored);
    assert_eq!(store.handle(Message::get(4, "a")).body, Body::Found(vec![0, 0, 7, 8].into()));
    assert_eq!(store.handle(Message::update(5, "b", 0, Vec::new())).body, Body::Missing);
}

#[test]
fn a_full_store_refuses_and_recovers() {
    let mut store = Store::new(Capacity { records: 2, bytes: 10 });
    assert_eq!(store.handle(Message::put(0, "a", vec![0; 3])).body, Body::Stored);
    assert_eq!(store.handle(Message::put(1, "b", vec![0; 6])).body, Body::Failed(Reason::TooManyBytes));
    assert_eq!(store.handle(Message::put(2, "b", vec![0; 5])).body, Body::Stored);
    assert_eq!(store.handle(Message::put(3, "c", Vec::new())).body, Body::Failed(Reason::TooManyRecords));
    assert_eq!(store.handle(Message::put(4, "a", vec![0; 4])).body, Body::Failed(Reason::TooManyBytes));
    assert_eq!(store.handle(Message::put(5, "a", Vec::new())).body, Body::Stored);
    assert_eq!(store.handle(Message::delete(6, "b")).body, Body::Stored);
    assert_eq!(store.handle(Message::put(7, "c", vec![0; 8])).body, Body::Stored);
    assert_eq!((store.len(), store.bytes()), (2, 10));
}

#[test]
fn refuses_what_is_oversized_or_no_request() {
    let mut store = Store::default();
    let long = store.handle(Message::get(0, "k".repeat(MAX_KEY + 1)));
    assert_eq!(long.body, Body::Failed(Reason::KeyTooLong));
    let large = store.handle(Message::put(0, "k", vec![0; MAX_VALUE + 1]));
    assert_eq!(large.body, Body::Failed(Reason::ValueTooLong));
    let reply = store.handle(Message::get(0, "k").reply(Body::Stored));
    assert_eq!(reply.body, Body::Failed(Reason::NotARequest));
    assert!(store.is_empty());
}

fn request() -> impl Strategy<Value = Body> {
    prop_oneof![
        2 => Just(Body::Get),
        3 => proptest::collection::vec(any::<u8>(), 0..12).prop_map(|bytes| Body::Put(bytes.into())),
        3 => (0_u32..14, proptest::collection::vec(any::<u8>(), 0..8))
            .prop_map(|(offset, bytes)| Body::Update { offset, bytes: bytes.into() }),
        1 => Just(Body::Delete),
        2 => (1_u32..5, 300_u32..420).prop_map(|(count, room)| Body::Scan { count, room }),
    ]
}

/// Returns the reply that a store must give, computed in the plainest way.
fn expected(model: &mut BTreeMap<String, Vec<u8>>, capacity: Capacity, key: &str, body: &Body) -> Body {
    match body {
        Body::Get => model.get(key).map_or(Body::Missing, |value| Body::Found(value.as_slice().into())),
        Body::Put(value) => {
            let mut after = model.clone();
            after.insert(key.to_owned(), value.to_vec());
            let size =
                |m: &BTreeMap<String, Vec<u8>>| m.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>();
            if after.len() > capacity.records {
                Body::Failed(Reason::TooManyRecords)
            } else if size(&after) > capacity.bytes {
                Body::Failed(Reason::TooManyBytes)
            } else {
                *model = after;
                Body::Stored
            }
        }
        Body::Update { offset, bytes } => match model.get_mut(key) {
            None => Body::Missing,
            Some(value) if *offset as usize + bytes.len() > value.len() => Body::Failed(Reason::OutOfRange),
            Some(value) => {
                for (i, byte) in bytes.iter().enumerate() {
                    value[*offset as usize + i] = *byte;
                }
                Body::Stored
            }
        },
        Body::Scan { count, room } => {
            let mut page = Page::default();
            // Of the room, 318 bytes are for headers, and 16 with each record.
            let (mut left, room) = (*count, room.saturating_sub(318) as usize);
            let mut bytes = 0;
            for (key, value) in model.range(key.to_owned()..) {
                bytes += key.len() + value.len() + 16;
                if left == 0 || bytes > room && !page.records.is_empty() {
                    page.next = Some(key.as_str().into());
                    break;
                }
                left -= 1;
                page.records.push(Record { key: key.as_str().into(), value: value.as_slice().into() });
            }
            Body::Records(page.into())
        }
        Body::Delete => model.remove(key).map_or(Body::Missing, |_| Body::Stored),
        _ => unreachable!("only requests are generated"),
    }
}

proptest! {
    #[test]
    fn agrees_with_a_plain_map(requests in proptest::collection::vec(("[a-f]{1,2}", request()), 0..200)) {
        let capacity = Capacity { records: 12, bytes: 90 };
        let (mut store, mut model) = (Store::new(capacity), BTreeMap::new());
        for (id, (key, body)) in (0..).zip(requests) {
            let want = expected(&mut model, capacity, &key, &body);
            let reply = store.handle(Message { key: key.as_str().into(), id, body });
            prop_assert_eq!(reply, Message { key: key.into(), id, body: want });
            prop_assert_eq!(store.len(), model.len());
            prop_assert_eq!(store.order.len(), model.len());
            prop_assert_eq!(store.bytes(), model.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>());
        }
    }
}

#[test]
fn a_record_expires_when_its_time_has_come_and_its_room_is_free() {
    let second = Duration::from_secs;
    let mut store = Store::new(Capacity { records: 2, bytes: 100 });
    store.advance(second(100));
    store.insert(&Key::from("a"), vec![1].into(), Lifetime::For(second(10))).unwrap();
    store.insert(&Key::from("b"), vec![1].into(), Lifetime::Unlimited).unwrap();
    store.advance(second(109));
    assert_eq!(store.lifetime(b"a"), Some(Lifetime::For(second(1))));
    assert_eq!(store.handle(Message::put(1, "c", vec![])).body, Body::Failed(Reason::TooManyRecords));
    // Time does not go back.
    store.advance(second(5));
    store.advance(second(110));
    assert_eq!(store.lifetime(b"a"), None);
    assert_eq!(store.handle(Message::get(1, "a")).body, Body::Missing);
    assert_eq!((store.len(), store.bytes()), (1, 2));
    assert_eq!(store.handle(Message::put(1, "c", vec![])).body, Body::Stored);
}

#[test]
fn of_many_records_that_expire_at_once_none_is_seen_and_all_are_removed_in_time() {
    let mut store = Store::default();
    let key = |number: u32| Key::from(number.to_string());
    for number in 0..1000 {
        store.insert(&key(number), vec![7].into(), Lifetime::For(Duration::from_secs(1))).unwrap();
    }
    store.advance(Duration::from_secs(1));
    assert!(!store.is_empty(), "so many are not removed at once");
    for number in 0..1000 {
        assert_eq!(store.value(&key(number)), None);
        let update = Message::update(1, key(number), 0, vec![8]);
        assert_eq!(store.handle(update).body, Body::Missing);
        assert!(!store.set_lifetime(&key(number), Lifetime::Unlimited));
    }
    assert!(!store.remove(&key(999)));
    for _ in 0..20 {
        store.advance(Duration::from_secs(1));
    }
    assert_eq!((store.len(), store.bytes(), store.has_expiring()), (0, 0, false));
    assert!(store.order.is_empty());
}

#[test]
fn replacing_a_record_ends_its_lifetime_and_changing_one_moves_it() {
    let (second, key) = (Duration::from_secs, Key::from("a"));
    let mut store = Store::default();
    store.insert(&key, vec![1].into(), Lifetime::For(second(1))).unwrap();
    store.handle(Message::put(1, "a", vec![2]));
    assert_eq!((store.lifetime(b"a"), store.has_expiring()), (Some(Lifetime::Unlimited), false));
    assert!(store.set_lifetime(&key, Lifetime::For(second(1))));
    assert!(store.set_lifetime(&key, Lifetime::For(second(9))));
    store.advance(second(2));
    assert_eq!(store.lifetime(b"a"), Some(Lifetime::For(second(7))));
    assert!(store.remove(&key) && !store.has_expiring());
}

/// Returns the page that answers a scan.
fn scan(store: &mut Store, from: &str, count: u32) -> Page {
    match store.handle(Message::scan(1, from, count)).body {
        Body::Records(page) => *page,
        other => panic!("{other:?}"),
    }
}

fn keys(page: &Page) -> Vec<String> {
    page.records.iter().map(|record| record.key.to_string()).collect()
}

#[test]
fn a_scan_goes_by_the_bytes_of_keys_and_says_where_the_next_one_goes_on() {
    let mut store = Store::default();
    for key in ["b", "a", "a\0", "aa", "B", ""] {
        store.handle(Message::put(0, key, vec![1]));
    }
    let first = scan(&mut store, "", 4);
    assert_eq!(
        (keys(&first), first.next),
        (vec!["".into(), "B".into(), "a".into(), "a\\x00".into()], Some("aa".into()))
    );
    let rest = scan(&mut store, "aa", 4);
    assert_eq!((keys(&rest), rest.next), (vec!["aa".into(), "b".into()], None));
    store.handle(Message::delete(0, "aa"));
    assert_eq!(keys(&scan(&mut store, "a\0\0", 4)), ["b"]);
    assert_eq!(scan(&mut store, "c", 1), Page::default());
}

#[test]
fn a_scan_shows_no_expired_record_and_passes_any_number_of_them() {
    let mut store = Store::default();
    for number in 0..2 * order::VISITED {
        let key = Key::from(format!("{number:05}"));
        store.insert(&key, vec![7].into(), Lifetime::For(Duration::from_secs(1))).unwrap();
    }
    store.insert(&Key::from("00007"), vec![8].into(), Lifetime::For(Duration::from_secs(2))).unwrap();
    store.insert(&Key::from("z"), vec![9].into(), Lifetime::Unlimited).unwrap();
    store.advance(Duration::from_secs(1));
    assert!(store.len() > order::VISITED, "so many are not removed at once");
    let first = scan(&mut store, "", 10);
    assert_eq!(keys(&first), ["00007"]);
    let second = scan(&mut store, &first.next.unwrap().to_string(), 10);
    assert_eq!((keys(&second), second.next), (vec!["z".into()], None));
}

#[test]
fn a_scan_for_no_record_or_too_many_is_refused() {
    let mut store = Store::default();
    for count in [0, MAX_SCAN as u32 + 1, u32::MAX] {
        assert_eq!(store.handle(Message::scan(1, "a", count)).body, Body::Failed(Reason::ScanOutOfRange));
    }
    let reply = Message::scan(1, "k", 1).reply(Body::Records(Page::default().into()));
    assert_eq!(store.handle(reply).body, Body::Failed(Reason::NotARequest));
}

#[test]
fn a_scan_ends_before_a_value_too_long_for_a_message() {
    let mut store = Store::default();
    store.insert(&Key::from("b"), vec![0; MAX_VALUE + 1].into(), Lifetime::Unlimited).unwrap();
    for key in ["a", "c"] {
        store.handle(Message::put(0, key, vec![1]));
    }
    let page = scan(&mut store, "a", 9);
    assert_eq!((keys(&page), page.next), (vec!["a".into()], Some("b".into())));
    let empty = scan(&mut store, "aa", 9);
    assert_eq!((keys(&empty), empty.next), (vec![], Some("b".into())));
    assert_eq!(store.handle(Message::scan(1, "b", 9)).body, Body::Failed(Reason::ValueTooLong));
    assert_eq!(keys(&scan(&mut store, "b\0", 9)), ["c"]);
}

#[test]
fn a_value_too_long_for_a_datagram_is_no_reply() {
    let mut store = Store::default();
    store.insert(&Key::from("a"), vec![0; MAX_VALUE + 1].into(), Lifetime::Unlimited).unwrap();
    assert_eq!(store.handle(Message::get(1, "a")).body, Body::Failed(Reason::ValueTooLong));
}
