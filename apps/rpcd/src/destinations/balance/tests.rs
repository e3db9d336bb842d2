//! Tests of the choice, in which time and calls are numbers.

use super::*;

const NOW: Duration = Duration::from_secs(1000);

/// Returns the balance over peers that are connected.
fn connected(peers: usize) -> Balance {
    let mut balance = Balance::new(peers, 7);
    while let Some(peer) = balance.connect(NOW) {
        balance.opened(peer, NOW);
    }
    balance
}

/// Returns the peers that get calls, of which none ends.
fn chosen(balance: &mut Balance, now: Duration, count: usize) -> Vec<usize> {
    let mut calls = vec![0; balance.pauses.len()];
    for _ in 0..count {
        let peer = balance.choose(now, |peer| calls[peer]);
        calls[peer] += 1;
    }
    calls
}

#[test]
fn calls_that_last_are_shared_equally() {
    for peers in [1, 2, 3, 63, 64] {
        let calls = chosen(&mut connected(peers), NOW, 100 * peers);
        assert!(calls.iter().all(|count| (90..=110).contains(count)), "{peers}: {calls:?}");
    }
}

#[test]
fn calls_that_end_at_once_are_shared_too() {
    let (mut balance, mut calls) = (connected(4), [0; 4]);
    for _ in 0..4000 {
        calls[balance.choose(NOW, |_| 0)] += 1;
    }
    assert!(calls.iter().all(|count| (800..=1200).contains(count)), "{calls:?}");
}

#[test]
fn a_peer_with_more_calls_than_all_others_gets_none() {
    let mut balance = connected(5);
    assert!((0..1000).all(|_| balance.choose(NOW, |peer| usize::from(peer == 3)) != 3));
}

#[test]
fn a_peer_that_has_come_back_gets_no_more_than_its_two_draws() {
    let mut balance = connected(10);
    let count = (0..1000).filter(|_| balance.choose(NOW, |peer| 100 * usize::from(peer != 4)) == 4).count();
    assert!((150..=250).contains(&count), "{count} of 1000");
}

#[test]
fn calls_wait_for_no_connection_while_another_is_there() {
    let mut balance = Balance::new(3, 7);
    assert_eq!([(); 4].map(|()| balance.connect(NOW)), [Some(0), Some(1), Some(2), None]);
    assert!(chosen(&mut balance, NOW, 300).iter().all(|count| *count > 0), "all are being connected");
    balance.opened(1, NOW);
    assert_eq!(chosen(&mut balance, NOW, 10), [0, 10, 0]);
    balance.opened(2, NOW);
    assert_eq!(chosen(&mut balance, NOW, 300)[0], 0);
    balance.closed(2, NOW);
    assert_eq!(balance.connect(NOW), Some(2));
    assert_eq!(chosen(&mut balance, NOW, 10), [0, 10, 0]);
}

/// Lets a peer fail, and returns the time for which it is passed over.
fn pause(balance: &mut Balance, peer: usize, now: Duration) -> Duration {
    balance.failed(peer, now);
    let all = LONGEST.as_millis() as u64 + 1;
    let after = |millis| Duration::from_millis(millis);
    let over = (0..all).find(|millis| !balance.passes_over(peer, now + after(*millis))).unwrap();
    after(over)
}

#[test]
fn a_peer_that_fails_is_passed_over_for_a_time_that_doubles_to_a_bound() {
    let (mut balance, mut now, mut pauses) = (connected(2), NOW, Vec::new());
    balance.closed(1, now);
    for _ in 0..8 {
        assert_eq!(balance.connect(now), Some(1));
        let length = pause(&mut balance, 1, now);
        balance.closed(1, now);
        now += length;
        assert_eq!(balance.connect(now - Duration::from_millis(1)), None);
        assert_eq!(chosen(&mut balance, now, 10), [10, 0]);
        pauses.push(length.as_millis());
    }
    assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    // One that is well for as long begins anew, and no other does.
    assert_eq!(balance.connect(now), Some(1));
    balance.opened(1, now);
    assert_eq!(pause(&mut balance, 1, now + LONGEST / 2), LONGEST);
    now += 2 * LONGEST;
    assert_eq!(pause(&mut balance, 1, now + LONGEST), FIRST);
}

#[test]
fn failures_while_a_peer_is_passed_over_are_one() {
    let mut balance = connected(2);
    for _ in 0..100 {
        balance.failed(0, NOW);
    }
    assert_eq!(chosen(&mut balance, NOW + FIRST / 2, 10), [0, 10]);
    assert!(chosen(&mut balance, NOW + FIRST, 100)[0] > 0, "the peer gets calls again");
}

#[test]
fn peers_that_are_all_passed_over_are_all_tried() {
    let mut balance = connected(3);
    assert!(balance.has_any(NOW));
    (0..3).for_each(|peer| balance.failed(peer, NOW));
    assert!(!balance.has_any(NOW) && balance.connect(NOW).is_none());
    assert!(chosen(&mut balance, NOW, 300).iter().all(|count| *count > 0));
    assert!(balance.has_any(NOW + FIRST));
}

#[test]
fn a_peer_that_is_connected_in_its_pause_is_passed_over_no_more() {
    let mut balance = connected(2);
    balance.failed(0, NOW);
    balance.closed(0, NOW);
    balance.connects(0);
    balance.opened(0, NOW);
    assert!(chosen(&mut balance, NOW, 100)[0] > 0);
}
