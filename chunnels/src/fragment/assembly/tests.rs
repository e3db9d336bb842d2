//! Reassembly of arbitrary pieces, and under an attack.

use super::super::settings::ASSEMBLY;
use super::*;
use crate::fragment::age::COMPARED;
use proptest::prelude::*;

/// Returns a connection with a budget of its own.
fn assembly(limit: u32, spare: usize) -> Arc<Mutex<Assembly>> {
    Assembly::new(settings(limit, spare), &Arc::new(SharedBudget::new(1 << 30)), DropCounter::default())
}

fn settings(limit: u32, assembly: usize) -> FragmentSettings {
    FragmentSettings { limit, assembly, ..FragmentSettings::default() }
}

/// Inserts a piece while time stands still.
fn insert(assembly: &Mutex<Assembly>, piece: Piece, bytes: &[u8]) -> Result<Option<Buf>, Contradiction> {
    thread_local!(static NOW: Instant = Instant::now());
    Assembly::insert(assembly, piece, Buf::copy_of(bytes, 0).unwrap(), || NOW.with(|now| *now))
}

fn held(assembly: &Mutex<Assembly>) -> usize {
    let assembly = assembly.lock();
    assert_eq!(
        assembly.messages.values().map(|partial| partial.cost).sum::<usize>(),
        assembly.account.bytes()
    );
    assert_eq!(assembly.messages.len(), assembly.by_age.len());
    assembly.account.bytes()
}

fn pieces(message: u32, bytes: &[u8], size: u16) -> Vec<(Piece, Vec<u8>)> {
    let of = |index| Piece { message, length: bytes.len() as u32, index, size };
    (0..of(0).count()).map(|index| (of(index), bytes[of(index).range().unwrap()].to_vec())).collect()
}

proptest! {
    #[test]
    fn pieces_in_any_order_and_number_make_the_message_once(
        bytes in prop::collection::vec(any::<u8>(), 1..2000),
        // Long messages get their memory late.
        repeated in prop_oneof![Just(1), 50..150_usize],
        size in prop_oneof![64..500_u16, 500..20_000_u16],
        dice in prop::collection::vec(any::<prop::sample::Index>(), 0..200),
    ) {
        let bytes = bytes.repeat(repeated);
        let pieces = pieces(7, &bytes, size);
        let assembly = assembly(300_000, 0);
        let mut made = Vec::new();
        // All pieces but the last, in any order and number, then all pieces in order.
        let some = dice.iter().map(|at| &pieces[at.index(pieces.len())]).filter(|(piece, _)| piece.index > 0);
        for (piece, content) in some.chain(&pieces) {
            if made.is_empty() {
                made.extend(insert(&assembly, *piece, content).unwrap());
            }
        }
        prop_assert_eq!(made.len(), 1);
        prop_assert_eq!(&made[0][..], &bytes[..]);
        prop_assert_eq!(held(&assembly), 0);
    }

    #[test]
    fn no_piece_panics_and_memory_is_bounded(
        hostile in prop::collection::vec(
            (0..9_u32, any::<u32>(), any::<u32>(), any::<u16>(), 0..300_usize), 0..200),
        (limit, sizes) in prop_oneof![Just((10_000, 300)), Just((200_000, 30_000))],
        connections in 1..4_usize,
        spare in prop_oneof![Just(5_000), Just(1 << 20)],
    ) {
        let total = 3 * limit as usize;
        let budget = Arc::new(SharedBudget::new(total));
        let of_budget = || Assembly::new(settings(limit, spare), &budget, DropCounter::default());
        let all: Vec<_> = std::iter::repeat_with(of_budget).take(connections).collect();
        for (at, (message, length, index, size, len)) in hostile.into_iter().enumerate() {
            let assembly = &all[at % connections];
            let (length, index) = (length % (limit + limit / 5), index % 80);
            let piece = Piece { message, length, index, size: size % sizes };
            let len = piece.range().map_or(len, |range| range.len());
            let _ = insert(assembly, piece, &vec![0; len]);
            prop_assert!(held(assembly) <= assembly.lock().max_bytes);
            prop_assert_eq!(all.iter().map(|assembly| held(assembly)).sum::<usize>(), budget.held());
            prop_assert!(budget.held() <= total);
        }
    }
}

#[test]
fn contradictions_are_found_and_repetitions_are_none() {
    let assembly = assembly(1000, 0);
    let piece = Piece { message: 1, length: 300, index: 1, size: 100 };
    assert!(insert(&assembly, piece, &[1; 100]).unwrap().is_none());
    assert!(insert(&assembly, piece, &[1; 100]).unwrap().is_none());
    let cases: [(Piece, &[u8], Contradiction); 6] = [
        (piece, &[2; 100], Contradiction::Content),
        (Piece { length: 301, ..piece }, &[1; 100], Contradiction::Shape),
        (Piece { size: 110, ..piece }, &[1; 110], Contradiction::Shape),
        (piece, &[1; 99], Contradiction::Extent),
        (Piece { index: 3, ..piece }, &[], Contradiction::Extent),
        (Piece { length: 1001, ..piece }, &[1; 100], Contradiction::Limit),
    ];
    for (piece, bytes, expected) in cases {
        assert_eq!(insert(&assembly, piece, bytes).unwrap_err(), expected, "{piece:?}");
    }
    // Pieces that are too short would need more records than bytes.
    let tiny = Piece { message: 2, length: 300, index: 0, size: 1 };
    assert_eq!(insert(&assembly, tiny, &[1]).unwrap_err(), Contradiction::Extent);
}

#[cfg(feature = "reliable")]
#[test]
fn what_lacks_a_piece_is_kept_until_all_that_may_overtake_it_has_come() {
    // As above, a `Reliable` repeats the first piece of each message once its buffer is full of later pieces.
    let max = crate::reliable::settings::ReliableSettings::default().messages;
    for length in [65_000, 1_301] {
        let each = pieces(0, &vec![7; length], 1_300);
        let assembly = assembly(65_000, ASSEMBLY);
        let messages = (max / (each.len() - 1)) as u32;
        for message in 0..messages {
            for (piece, bytes) in &each[1..] {
                assert!(insert(&assembly, Piece { message, ..*piece }, bytes).unwrap().is_none());
            }
        }
        let (piece, bytes) = &each[0];
        for message in 0..messages {
            assert!(insert(&assembly, Piece { message, ..*piece }, bytes).unwrap().is_some(), "{message}");
        }
        assert_eq!(held(&assembly), 0);
        assert_eq!(assembly.lock().abandoned.get(), 0);
    }
}

#[test]
fn the_oldest_makes_room() {
    let assembly = assembly(100_000, 0);
    for message in 0..10 {
        let piece = Piece { message, length: 100_000, index: 0, size: 10_000 };
        assert!(insert(&assembly, piece, &[0; 10_000]).unwrap().is_none());
    }
    let assembly = assembly.lock();
    assert_eq!((assembly.abandoned.get(), assembly.messages.len()), (7, 3));
    assert!(assembly.messages.keys().eq(&[7, 8, 9]));
}

/// Returns the first of two pieces, which has 79 bytes with its header.
fn hostile(message: u32, length: u32) -> Piece {
    Piece { message, length, index: 0, size: 64 }
}

#[test]
fn no_hostile_piece_makes_the_receiver_look_at_many_messages() {
    let assembly = assembly(64 << 20, ASSEMBLY);
    for message in 0..500_000 {
        let before = COMPARED.get();
        insert(&assembly, hostile(message, 65), &[0; 64]).unwrap();
        assert!(COMPARED.get() - before < 200, "{} comparisons, message {message}", COMPARED.get() - before);
    }
    let held = assembly.lock();
    assert_eq!((held.messages.len(), held.abandoned.get()), (8_192, 500_000 - 8_192));
}

#[test]
fn a_claim_gets_no_memory_until_a_sixteenth_of_it_has_arrived() {
    let assembly = assembly(64 << 20, ASSEMBLY);
    let piece = Piece { size: 1 << 15, ..hostile(1, 64 << 20) };
    let bytes = vec![0; 1 << 15];
    for index in 0..128 {
        assert!(held(&assembly) < 9 << 20, "after {index} pieces");
        insert(&assembly, Piece { index, ..piece }, &bytes).unwrap();
    }
    assert!(held(&assembly) > 64 << 20);
}

#[test]
fn hostile_connections_stay_within_one_budget_and_others_get_through() {
    let settings = settings(64 << 20, ASSEMBLY);
    let total = 256 << 20;
    let budget = Arc::new(SharedBudget::new(total));
    let connections: Vec<_> =
        (0..1_000).map(|_| Assembly::new(settings, &budget, DropCounter::default())).collect();
    let honest = Assembly::new(settings, &budget, DropCounter::default());
    let message = pieces(0, &[7; 100_000], 1_300);
    let mut arrived = 0;
    for round in 0..400 {
        for (at, connection) in connections.iter().enumerate() {
            // There are many small messages, and large messages.
            let length = if at % 2 == 0 { 65 } else { 64 << 20 };
            insert(connection, hostile(round, length), &[0; 64]).unwrap();
            assert!(budget.held() <= total);
        }
        let (piece, bytes) = &message[round as usize % message.len()];
        let piece = Piece { message: round / message.len() as u32, ..*piece };
        arrived += usize::from(insert(&honest, piece, bytes).unwrap().is_some());
    }
    assert_eq!((arrived, honest.lock().abandoned.get()), (400 / message.len(), 0));
    drop(connections);
    assert_eq!(budget.held(), held(&honest));
}

#[test]
fn what_waits_too_long_expires_and_what_goes_on_does_not() {
    let assembly = assembly(1 << 20, 0);
    let (start, second) = (Instant::now(), Duration::from_secs(1));
    let at = |now: u32, piece, bytes: &[u8]| {
        Assembly::insert(&assembly, piece, Buf::copy_of(bytes, 0).unwrap(), || start + now * second)
    };
    let slow = pieces(0, &[7; 640], 64);
    for message in [1, 2] {
        at(0, hostile(message, 65), &[0; 64]).unwrap();
    }
    for (index, (piece, bytes)) in slow.iter().enumerate() {
        // A piece of the message arrives every 30 seconds, with the beginning of another message.
        let now = 30 * index as u32;
        assert_eq!(at(now, *piece, bytes).unwrap().is_some(), index + 1 == slow.len(), "after {now} s");
        at(now, hostile(10 + index as u32, 65), &[0; 64]).unwrap();
    }
    let (first, one_more) = (hostile(1, 65), hostile(100, 65));
    assert!(at(270, Piece { index: 1, ..first }, &[0]).unwrap().is_none(), "it had expired");
    at(400, one_more, &[0; 64]).unwrap();
    let assembly = assembly.lock();
    assert!(assembly.messages.keys().eq(&[100]), "{:?}", assembly.messages.keys());
    assert_eq!(assembly.abandoned.get(), 2 + 10 + 1);
}

#[test]
fn a_message_of_one_piece_expires_at_its_time_and_not_before() {
    let start = Instant::now();
    for (waited, is_kept) in
        [(Duration::from_secs(60) - Duration::from_nanos(1), true), (Duration::from_secs(60), false)]
    {
        let assembly = assembly(1 << 20, 0);
        Assembly::insert(&assembly, hostile(1, 65), Buf::copy_of(&[0; 64], 0).unwrap(), || start).unwrap();
        Assembly::insert(&assembly, hostile(2, 65), Buf::copy_of(&[0; 64], 0).unwrap(), || start + waited)
            .unwrap();
        assert_eq!(assembly.lock().messages.contains_key(&1), is_kept, "after {waited:?}");
    }
}

#[test]
fn messages_fill_their_memory_to_the_last_byte() {
    let piece = hostile(0, 65);
    let cost = Partial::first_cost(piece);
    let settings = settings(1_000, 0);
    let all = settings.memory_of_one() / cost;
    for (bytes, kept) in [(all * cost, all), (all * cost - 1, all - 1)] {
        let assembly = assembly(1_000, 0);
        assembly.lock().max_bytes = bytes;
        for message in 0..all as u32 {
            insert(&assembly, Piece { message, ..piece }, &[0; 64]).unwrap();
        }
        assert_eq!(held(&assembly), kept * cost);
        assert_eq!(assembly.lock().messages.len(), kept);
    }
}

#[test]
fn a_single_message_is_carried_whatever_the_budget_is() {
    for length in [60_000, 200_000] {
        let budget = Arc::new(SharedBudget::new(1_000));
        let assembly = Assembly::new(settings(1 << 20, 0), &budget, DropCounter::default());
        let mut made = None;
        for (piece, bytes) in pieces(1, &vec![7; length], 1_300) {
            made = insert(&assembly, piece, &bytes).unwrap();
        }
        assert_eq!(made.map(|message| message.len()), Some(length));
        assert_eq!((assembly.lock().abandoned.get(), budget.held()), (0, 0));
    }
}
