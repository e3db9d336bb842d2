use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{MAX_KEY, MAX_VALUE};

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

#[test]
fn a_value_too_long_for_a_datagram_is_no_reply() {
    let mut store = Store::default();
    store.insert(&Key::from("a"), vec![0; MAX_VALUE + 1].into(), Lifetime::Unlimited).unwrap();
    assert_eq!(store.handle(Message::get(1, "a")).body, Body::Failed(Reason::ValueTooLong));
}
