use super::*;
use bertha_core::{LayerInfo, Node};
use proptest::prelude::*;

fn offer() -> Vec<u8> {
    let nodes = [Node::Layer(LayerInfo::plain("test::Zip", 3))];
    encode(Kind::Offer, Tag::of(0x1122_3344_5566_7788), &Offer::new(0x1122_3344_5566_7788, &nodes).unwrap())
        .unwrap()
}

#[test]
fn header_bytes_are_fixed() {
    let tag = Tag::of(0x1122_3344_5566_7788);
    assert_eq!(tag.header(Kind::Data), [0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22]);
    assert_eq!(tag.header(Kind::Reset), [7, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22]);
    assert_eq!(tag.data_header(0), tag.header(Kind::Data));
    assert_eq!(tag.data_header(129), [0x81, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22]);
    assert_eq!(header(&tag.data_header(129)), Some((Kind::Data, tag)));
    assert_eq!(header(&[17, 0, 0, 0, 0, 0, 0, 0]), None);
    assert_eq!(header(&[0; HEADER - 1]), None);
}

#[test]
fn messages_about_a_connection_name_their_sender() {
    let tag = Tag::of(7);
    for kind in (0..16).map(|byte| Kind::from_byte(byte).unwrap()) {
        let about = matches!(kind as u8, 4..=8 | 11);
        for sender in [Role::Client, Role::Server] {
            let message = tag.header_from(sender, kind);
            assert_eq!(header(&message), Some((kind, tag)));
            assert_eq!(super::sender(&message), about.then_some(sender));
        }
        // Messages of all other kinds leave the bit to future kinds.
        let mut marked = tag.header(kind);
        marked[0] |= 0x40;
        assert_eq!(header(&marked), about.then_some((kind, tag)));
    }
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    let whole = offer();
    for bit in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(decode::<Offer>(&damaged).unwrap_err(), Unreadable::Damaged, "bit {bit}");
    }
    for len in 0..whole.len() {
        assert!(decode::<Offer>(&whole[..len]).is_err(), "{len} bytes");
    }
}

#[test]
fn another_version_is_told_from_damage() {
    let mut other = offer();
    other[HEADER] = 9;
    let end = other.len() - 4;
    let check = crc32fast::hash(&other[..end]);
    other[end..].copy_from_slice(&check.to_le_bytes());
    assert_eq!(decode::<Offer>(&other).unwrap_err(), Unreadable::Version(9));
}

#[test]
fn texts_are_cut_at_a_characters_edge() {
    assert_eq!(cut("ä".repeat(TEXT_LIMIT)).len(), TEXT_LIMIT);
    assert_eq!(cut("aä".repeat(TEXT_LIMIT)).len(), TEXT_LIMIT);
    assert_eq!(cut("short".into()), "short");
}

#[test]
fn long_names_are_neither_offered_nor_read() {
    let named = |len: usize| {
        let name: &'static str = format!("test::{}", "x".repeat(len)).leak();
        [Node::Layer(LayerInfo::plain(name, 1))]
    };
    let offer = Offer::new(1, &named(NAME_LIMIT)).unwrap();
    assert_eq!(offer.nodes().unwrap().len(), 1);
    let error = Offer::new(1, &named(NAME_LIMIT + 1)).unwrap_err();
    assert!(error.to_string().ends_with("has 129 bytes, at most 128 can be offered"), "{error}");
    // The offer with one character more.
    let mut body = encode(Kind::Offer, Tag::of(1), &offer).unwrap()[HEADER + 1..].to_vec();
    body.truncate(body.len() - 4);
    let at = body.windows(3).position(|bytes| bytes == [0x80, 0x01, b'x']).unwrap();
    body[at] += 1;
    body.insert(at + 2, b'x');
    let longer = decode::<Offer>(&sealed(&body)).unwrap();
    assert_eq!(longer.nodes(), None);
}

/// Returns a body that passes the check, so that its parser is reached.
fn sealed(body: &[u8]) -> Vec<u8> {
    let mut bytes = Tag::of(1).header(Kind::Offer).to_vec();
    bytes.push(VERSION);
    bytes.extend(body);
    let check = crc32fast::hash(&bytes);
    bytes.extend(check.to_le_bytes());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn hostile_bodies_are_read_without_panic(body in proptest::collection::vec(any::<u8>(), 0..300)) {
        let bytes = sealed(&body);
        if let Ok(offer) = decode::<Offer>(&bytes) {
            let _ = offer.nodes();
        }
        let _ = decode::<Answer>(&bytes);
        let _ = decode::<Refusal>(&bytes);
        let _ = decode::<Close>(&bytes);
        if let Ok(Upgrade { step: UpgradeStep::Propose { offer }, .. }) = decode(&bytes) {
            let _ = offer.nodes();
        }
    }
}
