use super::*;
use bertha_core::EcnMarks;
use proptest::prelude::*;

fn encode(draft: &Draft, messages: &[Vec<u8>], check: Check) -> Vec<u8> {
    let len = check.len()
        + draft.size()
        + messages.iter().map(|message| size(message.len() as u64) + message.len()).sum::<usize>();
    let mut packet = vec![0; len];
    write(draft, messages.iter().map(Vec::as_slice), check, &mut packet);
    packet
}

fn any_ranges() -> impl Strategy<Value = Ranges> {
    prop::collection::vec(0..VARINT_MAX, 1..40).prop_map(|numbers| {
        let mut ranges = Ranges::NONE;
        for number in numbers {
            ranges.insert(number);
            ranges.insert(number / 2);
            ranges.insert(number / 2 + 1);
        }
        ranges
    })
}

fn any_draft() -> impl Strategy<Value = Draft> {
    let number = || prop::option::of(0..VARINT_MAX);
    let ack =
        (0..VARINT_MAX, any_ranges()).prop_map(|(delay_us, ranges)| Acknowledgement { delay_us, ranges });
    let grant = (0..VARINT_MAX, 0..VARINT_MAX).prop_map(|(messages, bytes)| Grant { messages, bytes });
    let abort = prop::option::of(Just(Fault::ExceededGrant));
    let marks = (0..VARINT_MAX, 0..VARINT_MAX).prop_map(|(datagrams, bytes)| EcnMarks { datagrams, bytes });
    (number(), prop::option::of(ack), prop::option::of(grant), number(), abort, prop::option::of(marks))
        .prop_map(|(number, ack, grant, last, abort, marks)| Draft {
            number,
            ack,
            grant,
            last,
            abort,
            marks,
            first: None,
        })
}

proptest! {
    #[test]
    fn every_packet_survives(
        mut draft in any_draft(),
        first in 0..VARINT_MAX - 100,
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..9),
        check in prop::sample::select(&[Check::Crc, Check::Below]),
    ) {
        if !messages.is_empty() {
            draft.first = Some(first);
            draft.number = draft.number.or(Some(7));
        }
        let packet = encode(&draft, &messages, check);
        let header = decode(&packet, check).unwrap();
        prop_assert_eq!(header.number, draft.number);
        prop_assert_eq!(header.ack, draft.ack);
        prop_assert_eq!(header.grant, draft.grant);
        prop_assert_eq!(header.last, draft.last);
        prop_assert_eq!(header.abort, draft.abort);
        prop_assert_eq!(header.marks, draft.marks);
        let read = header.messages.into_iter().flat_map(|messages| messages.iter(&packet));
        let read: Vec<Message> = read.collect();
        prop_assert!(read.iter().map(|message| message.number).eq(first..first + messages.len() as u64));
        let contents: Vec<Vec<u8>> = read.into_iter().map(|message| packet[message.bytes].to_vec()).collect();
        prop_assert_eq!(contents, messages);
    }

    #[test]
    fn no_damage_goes_unnoticed(draft in any_draft(), at: usize, bit in 0..8_u32, cut: usize) {
        let mut packet = encode(&draft, &[], Check::Crc);
        prop_assert!(decode(&packet[..cut % packet.len()], Check::Crc).is_none());
        let at = at % packet.len();
        packet[at] ^= 1 << bit;
        prop_assert!(decode(&packet, Check::Crc).is_none());
    }

    #[test]
    fn no_bytes_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        for check in [Check::Crc, Check::Below] {
            if let Some(header) = decode(&bytes, check) {
                header.messages.into_iter().flat_map(|messages| messages.iter(&bytes)).for_each(drop);
            }
        }
        if let Some((check, rest)) = bytes.split_first_chunk_mut::<4>() {
            *check = crc32fast::hash(rest).to_le_bytes();
        }
        if let Some(header) = decode(&bytes, Check::Crc) {
            header.messages.into_iter().flat_map(|messages| messages.iter(&bytes)).for_each(drop);
        }
    }
}

#[test]
fn a_message_fits_beside_the_overhead() {
    let draft = Draft { number: Some(VARINT_MAX), first: Some(VARINT_MAX - 9), ..Draft::default() };
    assert_eq!(Check::Crc.len() + draft.size() + size((1 << 30) - 1), OVERHEAD);
}

#[test]
fn messages_without_a_number_are_of_another_format() {
    let draft = Draft { first: Some(1), ..Draft::default() };
    assert_eq!(decode(&encode(&draft, &[vec![1]], Check::Crc), Check::Crc), None);
}
