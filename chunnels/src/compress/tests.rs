use super::Compress;
use super::frame::{Bounds, Refused, pack, unpack};
use bertha_core::{Buf, Connection, Wrap};
use bertha_datapath_sim::pair_of;
use bertha_runtime::tokio::TokioRuntime;
use proptest::prelude::*;

const BOUNDS: Bounds = Bounds { min: 64, limit: 100_000 };

fn buf(bytes: &[u8]) -> Buf {
    Buf::copy_of(bytes, 8).unwrap()
}

fn packed(bytes: &[u8]) -> Buf {
    pack(buf(bytes), BOUNDS, 8).unwrap()
}

#[test]
fn text_gets_smaller_and_noise_costs_one_byte() {
    let text = b"Chunnels compose. ".repeat(100);
    assert!(packed(&text).len() < text.len() / 10);
    assert_eq!(*unpack(packed(&text), BOUNDS).unwrap(), *text);

    let mut dice = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 56) as u8
    })
    .take(1_000)
    .collect();
    assert_eq!(packed(&noise).len(), 1_001);
    assert_eq!(*unpack(packed(&noise), BOUNDS).unwrap(), *noise);
}

#[test]
fn what_is_too_short_or_too_long_is_stored() {
    for len in [0, 1, 63] {
        assert_eq!(packed(&vec![7; len]).len(), len + 1, "{len}");
    }
    assert!(packed(&[7; 64]).len() < 64);
    assert!(packed(&vec![7; 100_000]).len() < 1_000);
    assert_eq!(packed(&vec![7; 100_001]).len(), 100_002);
    assert_eq!(unpack(packed(&vec![7; 100_001]), BOUNDS).unwrap().len(), 100_001);
}

/// A compressed message has headroom for the layers below.
#[test]
fn there_is_headroom_for_the_layers_below() {
    for bytes in [&[7; 500][..], &[1, 2, 3]] {
        assert!(pack(Buf::copy_of(bytes, 0).unwrap(), BOUNDS, 40).unwrap().headroom() >= 40);
    }
}

#[test]
fn bombs_are_refused_before_there_is_memory_for_them() {
    let claim = |len: u32, block: &[u8]| {
        unpack(buf(&[&[1][..], &len.to_le_bytes(), block].concat()), BOUNDS).map(|message| message.to_vec())
    };
    assert_eq!(claim(100_001, &[0; 9_000]), Err(Refused::Bomb));
    assert_eq!(claim(u32::MAX, &[]), Err(Refused::Bomb));
    assert_eq!(claim(10 * 255 + 1, &[0; 10]), Err(Refused::Bomb));
    // A block that decompresses to more or less than its stated length.
    let bytes = packed(&[7; 5_000]);
    let block = &bytes[5..];
    assert_eq!(claim(4_999, block), Err(Refused::Malformed));
    assert_eq!(claim(5_001, block), Err(Refused::Malformed));
    assert_eq!(claim(5_000, &block[1..]), Err(Refused::Malformed));
    assert_eq!(claim(5_000, block), Ok(vec![7; 5_000]));
    for bytes in [&[][..], &[1], &[1, 0, 0, 0], &[2, 0]] {
        assert_eq!(unpack(buf(bytes), BOUNDS).err(), Some(Refused::Malformed), "{bytes:?}");
    }
}

/// A block at the largest ratio is no bomb.
#[test]
fn the_best_compressible_message_arrives() {
    for len in [64, 300, 5_000, 65_536, 100_000] {
        assert_eq!(unpack(packed(&vec![0; len]), BOUNDS).unwrap().len(), len);
    }
}

#[tokio::test]
async fn garbage_is_dropped_and_counted() {
    let (wire, there) = pair_of::<_, Buf>(TokioRuntime);
    let there = Compress::new().wrap(there).await.unwrap();
    wire.send(buf(b"\x07what is this")).await.unwrap();
    wire.send(buf(b"\x01\xff\xff\xff\xff a bomb")).await.unwrap();
    wire.send(buf(b"\x00stored")).await.unwrap();
    assert_eq!(*there.recv().await.unwrap(), *b"stored");
    assert_eq!(there.refused(), 2);
    let mut burst = Vec::new();
    wire.send(buf(b"")).await.unwrap();
    wire.send(buf(b"\x00again")).await.unwrap();
    while burst.is_empty() {
        there.recv_batch(&mut burst, 8).await.unwrap();
    }
    assert_eq!((burst.len(), &*burst[0], there.refused()), (1, &b"again"[..], 3));
}

#[tokio::test]
async fn messages_and_bursts_pass_unchanged() {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let (here, there) =
        (Compress::new().wrap(here).await.unwrap(), Compress::new().wrap(there).await.unwrap());
    let long = vec![3; 60_000];
    here.send(buf(&long)).await.unwrap();
    assert_eq!(*there.recv().await.unwrap(), *long);
    there.send_batch([buf(b"a"), buf(&long), buf(b"")].into_iter()).await.unwrap();
    let mut burst = Vec::new();
    while burst.len() < 3 {
        here.recv_batch(&mut burst, 9).await.unwrap();
    }
    assert!(burst.iter().map(|message| message.len()).eq([1, 60_000, 0]));
}

/// Generates alternating repetitive and random stretches.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let stretch = prop_oneof![
        (any::<u8>(), 0..400_usize).prop_map(|(byte, len)| vec![byte; len]),
        prop::collection::vec(any::<u8>(), 0..200),
        (prop::collection::vec(any::<u8>(), 1..9), 0..60_usize).prop_map(|(word, times)| word.repeat(times)),
    ];
    prop::collection::vec(stretch, 0..6).prop_map(|stretches| stretches.concat())
}

proptest! {
    #[test]
    fn every_message_comes_back_and_none_grows_by_more_than_a_byte(bytes in message(), min in 0..300_usize) {
        let bounds = Bounds { min, ..BOUNDS };
        let packed = pack(buf(&bytes), bounds, 8).unwrap();
        prop_assert!(packed.len() <= bytes.len() + 1);
        // The receiver accepts every message that the sender compresses.
        prop_assert_eq!(unpack(packed, BOUNDS).unwrap().to_vec(), bytes);
    }

    #[test]
    fn damage_never_becomes_larger_than_the_limit(bytes in message(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut packed = pack(buf(&bytes), BOUNDS, 8).unwrap();
        let at = at.index(packed.len());
        packed[at] = byte;
        let len = packed.len();
        if let Ok(message) = unpack(packed, BOUNDS) {
            prop_assert!(message.len() <= BOUNDS.limit as usize && message.len() <= len * 255);
        }
    }
}
