use super::*;

struct Never;

impl Reactor for Never {
    fn register(&self, _: &Waker) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

fn listening(backlog: usize, queue: usize) -> Demux<u32> {
    Demux::listening(Limits { backlog, queue })
}

fn deliver(demux: &mut Demux<u32>, from: u32, bytes: &[u8], stride: usize) {
    demux.deliver(&from, stride, Buf::copy_of(bytes, 0).unwrap(), Owner::Acceptor);
}

fn queued(demux: &mut Demux<u32>, connection: usize) -> Vec<u8> {
    demux.drain(connection, usize::MAX).flatten().map(|message| message[0]).collect()
}

#[test]
fn the_first_message_makes_a_connection_that_has_it() {
    let mut demux = listening(2, 10);
    deliver(&mut demux, 7, b"a", 1);
    deliver(&mut demux, 7, b"bc", 1);
    let (connection, peer) = demux.accept().unwrap();
    assert_eq!((peer, demux.accept()), (7, None));
    deliver(&mut demux, 7, b"d", 1);
    assert_eq!(queued(&mut demux, connection), b"abcd");
}

#[test]
fn a_flood_of_addresses_takes_no_more_than_the_backlog() {
    let mut demux = listening(8, 10);
    for from in 0..10_000 {
        deliver(&mut demux, from, b"xy", 1);
    }
    assert_eq!(demux.slots.len(), 8);
    assert_eq!(demux.counters().unknown, 2 * (10_000 - 8));
}

#[test]
fn queues_are_bounded_until_accepted_and_after() {
    let mut demux = listening(2, 40);
    deliver(&mut demux, 1, &[0; 100], 1);
    let (connection, _) = demux.accept().unwrap();
    assert_eq!(queued(&mut demux, connection).len(), UNACCEPTED);
    deliver(&mut demux, 1, &[0; 100], 1);
    assert_eq!(queued(&mut demux, connection).len(), 40);
    assert_eq!(demux.counters().overflow, 84 + 60);
    // Whoever receives takes at once, so its own messages are not bounded.
    demux.deliver(&1, 1, Buf::copy_of(&[0; 100], 0).unwrap(), Owner::Connection(connection));
    assert_eq!(queued(&mut demux, connection).len(), 100);
}

#[test]
fn a_removed_connection_leaves_nothing_and_its_number_is_safe_to_reuse() {
    let mut demux = listening(4, 10);
    deliver(&mut demux, 1, b"a", 1);
    let (first, _) = demux.accept().unwrap();
    demux.remove(first);
    deliver(&mut demux, 2, b"b", 1);
    let (second, peer) = demux.accept().unwrap();
    assert_eq!((second, peer), (first, 2));
    deliver(&mut demux, 1, b"c", 1);
    assert_eq!(queued(&mut demux, second), b"b");
    assert_eq!(demux.accept().unwrap().1, 1);
}

#[test]
fn a_closed_connection_swallows_late_messages() {
    let mut demux = listening(4, 10);
    deliver(&mut demux, 1, b"a", 1);
    let (connection, _) = demux.accept().unwrap();
    demux.close(connection);
    deliver(&mut demux, 1, b"late", 1);
    assert!(demux.is_closed(connection));
    assert_eq!((queued(&mut demux, connection), demux.accept()), (vec![], None));
}

#[test]
fn no_connections_are_made_once_accepting_stopped() {
    let mut demux = listening(4, 10);
    deliver(&mut demux, 1, b"a", 1);
    demux.accept().unwrap();
    deliver(&mut demux, 2, b"a", 1);
    demux.stop_accepting();
    deliver(&mut demux, 2, b"a", 1);
    deliver(&mut demux, 3, b"a", 1);
    assert_eq!(demux.slots.len(), 1);
    deliver(&mut demux, 1, b"a", 1);
    assert_eq!(demux.counters().unknown, 2);
}

#[test]
fn a_leader_that_has_to_follow_makes_room_for_another() {
    let mut demux = listening(4, 10);
    let [mut a, mut b] = [Ticket::new(Owner::Acceptor), Ticket::new(Owner::Acceptor)];
    assert!(demux.begin());
    demux.end(1, 0);
    assert!(demux.lead(&mut a, Waker::noop(), &Never).is_pending());
    // Somebody else receives on another thread when the leader is woken.
    assert!(demux.begin());
    assert!(!demux.begin());
    demux.follow(&mut a, Waker::noop());
    assert_eq!(demux.leader, None);
    demux.end(1, 0);
    assert!(demux.lead(&mut b, Waker::noop(), &Never).is_pending());
    assert_eq!(demux.leader, b.token);
    demux.leave(&mut b, &Never);
    assert_eq!(demux.leader, a.token);
    demux.leave(&mut a, &Never);
    assert_eq!((demux.leader, demux.waiters.len(), demux.acceptors.len()), (None, 0, 0));
}

#[test]
fn bursts_widen_the_receive_and_single_messages_narrow_it() {
    let mut demux = listening(4, 10);
    for _ in 0..10 {
        demux.end(2, 2);
        demux.end(2, 1);
    }
    assert_eq!(demux.width(), 2);
    demux.end(2, 2);
    demux.end(2, 2);
    assert_eq!(demux.width(), 8);
    demux.end(8, 8);
    assert_eq!(demux.width(), WINDOW);
    demux.end(WINDOW, 1);
    demux.end(8, 1);
    assert_eq!(demux.width(), 2);
}
