use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const LIMITS: PageLimits = PageLimits { records: 5, bytes: 200 };

fn record(key: &str, value: usize) -> Record {
    Record { key: key.into(), value: vec![7; value].into() }
}

/// Returns the page that a shard makes of its records from `from` on.
fn page(shard: &Model, from: &[u8], limits: PageLimits) -> Page {
    let mut page = Filling::new(limits);
    for (key, value) in shard.range(from.to_vec()..) {
        if !page.add(Record { key: key.as_slice().into(), value: value.as_slice().into() }) {
            break;
        }
    }
    page.finish()
}

#[test]
fn a_page_ends_at_each_of_its_bounds() {
    let mut of_count = Filling::new(LIMITS);
    for key in ["a", "b", "c", "d", "e"] {
        assert!(of_count.add(record(key, 1)));
    }
    assert!(!of_count.add(record("f", 1)));
    let page = of_count.finish();
    assert_eq!((page.records.len(), page.next), (5, Some("f".into())));

    // Each record takes its key, its value and 16 bytes.
    let mut of_bytes = Filling::new(LIMITS);
    assert!(of_bytes.add(record("a", 83)) && of_bytes.add(record("b", 83)));
    assert!(!of_bytes.add(record("c", 0)));
    assert_eq!(of_bytes.finish().next, Some("c".into()));
}

#[test]
fn a_single_record_has_room_unless_it_fits_no_message() {
    let mut page = Filling::new(LIMITS);
    assert!(page.add(record("a", MAX_VALUE)));
    assert!(!page.add(record("b", 0)));
    let mut page = Filling::new(LIMITS);
    assert!(!page.add(record("a", MAX_VALUE + 1)));
    assert_eq!(page.finish(), Page { records: vec![], next: Some("a".into()) });
}

#[test]
fn the_longest_page_fits_a_datagram_in_both_codecs() {
    let limits = PageLimits::new(u32::MAX, u32::MAX);
    for value in [0, 1, 900, 1000, MAX_VALUE] {
        let mut filling = Filling::new(limits);
        let long = "k".repeat(MAX_KEY - 6);
        while filling.add(record(&format!("{long}{:06}", filling.page.records.len()), value)) {}
        let page = filling.finish();
        let key = "k".repeat(MAX_KEY);
        let message =
            crate::Message::scan(u64::MAX, key.as_str(), 1).reply(crate::Body::Records(page.into()));
        let fixed = bincode::config::standard().with_fixed_int_encoding();
        let bincode = bincode::serde::encode_to_vec(&message, fixed).unwrap().len();
        let postcard = postcard::to_allocvec(&message).unwrap().len();
        assert!(bincode <= MAX_VALUE + 1024 && postcard <= bincode, "{value}: {bincode}, {postcard}");
        assert!(value == MAX_VALUE || bincode <= MAX_VALUE + REPLY_HEADERS, "{value}: {bincode}");
    }
}

#[test]
fn a_reply_takes_no_more_than_the_room_of_the_scan() {
    for room in [400, 1472, 9000] {
        let mut filling = Filling::new(PageLimits::new(1000, room));
        while filling.add(record(&format!("user{:020}", filling.page.records.len()), 30)) {}
        let message =
            crate::Message::scan(u64::MAX, "user", 1).reply(crate::Body::Records(filling.finish().into()));
        let fixed = bincode::config::standard().with_fixed_int_encoding();
        let length = bincode::serde::encode_to_vec(&message, fixed).unwrap().len();
        assert!(length <= room as usize && length > room as usize - 400, "{length} of {room}");
    }
}

#[test]
fn more_records_than_a_scan_may_have_are_no_page() {
    let page = |count| Page { records: vec![record("a", 0); count], next: None };
    let decoded = |count| postcard::from_bytes::<Page>(&postcard::to_allocvec(&page(count)).unwrap());
    assert_eq!(decoded(MAX_SCAN).unwrap(), page(MAX_SCAN));
    assert!(decoded(MAX_SCAN + 1).is_err());
    // A length without the records behind it.
    assert!(postcard::from_bytes::<Page>(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0]).is_err());
}

#[test]
fn of_two_records_with_one_key_the_one_at_home_counts() {
    for home in [0, 1] {
        let pages = [0, 1].map(|shard| (shard, Page { records: vec![record("a", shard)], next: None }));
        let merged = Page::merged(pages, LIMITS, |_| home);
        assert_eq!(merged.records, [record("a", home)]);
    }
}

#[test]
fn an_even_share_is_almost_always_enough_and_never_more_than_everything() {
    let share = |records, shards| PageLimits { records, bytes: 1 }.share(shards).records;
    assert_eq!([share(100, 1), share(100, 2), share(100, 16), share(1, 8)], [100, 82, 19, 1]);
}

proptest! {
    /// Pages of shards, merged one after another, are all records in order, whatever the bounds.
    #[test]
    fn merged_pages_are_the_records_of_all_shards(
        shards in proptest::collection::vec(
            proptest::collection::btree_map(
                proptest::collection::vec(any::<u8>(), 0..3),
                proptest::collection::vec(any::<u8>(), 0..60),
                0..40,
            ),
            1..5,
        ),
        records in 1_usize..12,
        bytes in 0_usize..300,
        share in 1_usize..12,
    ) {
        let limits = PageLimits { records, bytes };
        let part = PageLimits { records: share, ..limits };
        // A key belongs to the first shard that has it.
        let home = |key: &Key| shards.iter().position(|shard| shard.contains_key(key.as_bytes())).unwrap();
        let mut all = Model::new();
        shards.iter().rev().for_each(|shard| all.extend(shard.clone()));
        let (mut seen, mut from) = (Model::new(), Some(Key::from("")));
        while let Some(key) = from {
            let pages = shards.iter().map(|shard| page(shard, &key, part)).enumerate();
            let merged = Page::merged(pages, limits, home);
            prop_assert!(!merged.records.is_empty() || merged.next.is_none(), "no progress");
            prop_assert!(merged.records.len() <= records);
            for record in merged.records {
                prop_assert!(seen.last_key_value().is_none_or(|(last, _)| **last < *record.key));
                seen.insert(record.key.to_vec(), record.value.to_vec());
            }
            from = merged.next;
        }
        prop_assert_eq!(seen, all);
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(page) = postcard::from_bytes::<Page>(&bytes) {
            prop_assert!(page.records.len() <= MAX_SCAN);
        }
    }
}
