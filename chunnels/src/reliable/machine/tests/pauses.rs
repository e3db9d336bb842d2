//! Windows of connections that pause.

use super::*;

/// The length of a message of which a packet holds one.
const LEN: usize = 1_100;

/// A connection under NewReno, which doubles its window each round trip at first.
fn wire() -> Wire {
    let wire = Wire::new(0, Faults::NONE);
    assert_eq!(wire.ends[0].congestion.window(), 10 * 1_200);
    wire
}

/// Sends a flight of messages after a pause, and returns the bytes by which the window has grown once all have arrived.
fn growth(wire: &mut Wire, messages: u64) -> u64 {
    wire.run_for(Duration::from_secs(2));
    let before = wire.ends[0].congestion.window();
    (0..messages).for_each(|message_number| wire.ends[0].send(message(message_number, LEN)));
    wire.run_for(Duration::from_secs(2));
    (0..messages).for_each(|_| assert!(matches!(wire.ends[1].receive(), Received::Message(_))));
    wire.ends[0].congestion.window() - before
}

#[test]
fn a_flight_that_fills_the_window_lets_it_grow_after_a_pause() {
    let mut wire = wire();
    for messages in [10, 20] {
        let bytes = messages * LEN as u64;
        let growth = growth(&mut wire, messages);
        assert!((bytes..bytes + 100 * messages).contains(&growth), "{growth} by {messages} messages");
    }
}

#[test]
fn a_flight_that_does_not_fill_the_window_never_lets_it_grow() {
    let mut wire = wire();
    for _ in 0..10 {
        assert_eq!(growth(&mut wire, 8), 0);
    }
    // What once filled the window says nothing about later flights.
    assert!(growth(&mut wire, 10) > 0);
    for _ in 0..10 {
        assert_eq!(growth(&mut wire, 15), 0);
    }
}
