//! A ring read as a stream of bytes.

use super::*;

/// The byte of a stream at a place.
fn byte(place: usize) -> u8 {
    (place * 31 % 251) as u8
}

proptest! {
    /// Bytes come once and in order, whatever the sizes of messages and of reads; a look ahead takes nothing.
    #[test]
    fn the_stream_is_what_was_written(steps in prop::collection::vec((any::<bool>(), 0..700_usize), 1..400)) {
        let memory = memory(layout());
        let ring = layout().ring(&memory, Direction::FromClient);
        let (mut producer, mut consumer) = (Producer::default(), Consumer::new(layout().longest()));
        let (mut written, mut taken) = (0, 0);
        let mut cursor = consumer.cursor();
        for (is_write, bytes) in steps {
            if is_write {
                let room = producer.room(ring, bytes.min(layout().longest())).unwrap();
                let message: Vec<_> = (written..written + room).map(byte).collect();
                if room > 0 {
                    prop_assert!(producer.push(ring, &message).unwrap());
                    let _ = producer.publish(ring);
                    written += room;
                }
            } else {
                let mut into = vec![0; bytes];
                let mut ahead = cursor;
                let seen = ahead.copy(ring, 504, &mut into).unwrap();
                let mut into_again = vec![0; bytes];
                prop_assert_eq!(cursor.copy(ring, 504, &mut into_again).unwrap(), seen);
                prop_assert_eq!(&into, &into_again);
                prop_assert_eq!(seen, bytes.min(written - taken));
                prop_assert!(into[..seen].iter().enumerate().all(|(at, found)| *found == byte(taken + at)));
                taken += seen;
                consumer.take_until(ring, cursor);
                let _ = consumer.release(ring, true);
            }
        }
        prop_assert_eq!(cursor.skip(ring, 504, 1 << 20).unwrap(), written - taken);
    }

    /// Whatever the memory has, reading ends, and gives no more than was asked for.
    #[test]
    fn arbitrary_memory_is_read_within_bounds(
        words in prop::collection::vec(0..600_u64, 512),
        offset in any::<u64>(),
        position in any::<u64>(),
        most in 0..10_000_usize,
    ) {
        let memory = memory(layout());
        for (place, word) in memory[512..].iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        let ring = layout().ring(&memory, Direction::FromClient);
        let mut cursor = Cursor::new(position, offset);
        if let Ok(copied) = cursor.copy(ring, 504, &mut vec![0; most]) {
            prop_assert!(copied <= most);
        }
        let mut consumer = Consumer::new(504);
        consumer.take_until(ring, cursor);
        prop_assert!(consumer.cursor().position() <= ring.capacity());
    }
}

#[test]
fn the_words_beside_rings_are_theirs_alone() {
    let memory = memory(layout());
    let [one, other] = [Direction::FromClient, Direction::FromServer].map(|it| layout().beside(&memory, it));
    assert_eq!((one.len(), other.len()), (192, 192));
    one.iter().chain(other).for_each(|word| word.store(7, Ordering::Relaxed));
    for direction in [Direction::FromClient, Direction::FromServer] {
        let ring = layout().ring(&memory, direction);
        let words = ring.data.iter().chain([ring.released, ring.asleep, ring.wants_room, ring.ended]);
        assert!(words.into_iter().all(|word| word.load(Ordering::Relaxed) == 0));
    }
}
