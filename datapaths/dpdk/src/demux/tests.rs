use super::*;
use std::task::Waker;

const LIMITS: Limits = Limits { backlog: 2, queue: 40, shared: 1000 };

fn flow(peer_port: u16, local_port: u16) -> Flow {
    Flow::new(([10, 0, 0, 2], peer_port).into(), local_port)
}

/// A datagram of `flow` arrives.
fn arrive(demux: &mut Demux, flow: Flow, byte: u8) -> Result<(), Undelivered> {
    let connection = demux.find(flow)?;
    demux.deliver(connection, Buf::copy_of(&[byte], 0).map_err(|_| Undelivered::Overflow)?)
}

fn next(demux: &mut Demux, connection: usize) -> Option<u8> {
    demux.take(connection, 1).next().map(|message| message[0])
}

#[test]
fn strangers_become_connections_as_far_as_the_backlog_goes() {
    let mut demux = Demux::new(LIMITS);
    assert_eq!(arrive(&mut demux, flow(1, 9), 1), Err(Undelivered::Closed));
    let (acceptor, port) = demux.listen(9, 0).unwrap();
    assert_eq!((port, demux.listen(9, 0)), (9, None));
    for (peer, delivered) in [(1, Ok(())), (2, Ok(())), (3, Err(Undelivered::Unknown)), (1, Ok(()))] {
        assert_eq!(arrive(&mut demux, flow(peer, 9), peer as u8), delivered);
    }
    let (first, peer) = demux.accept(acceptor).unwrap();
    assert_eq!((peer.port(), next(&mut demux, first), next(&mut demux, first)), (1, Some(1), Some(1)));
    assert_eq!(arrive(&mut demux, flow(3, 9), 3), Ok(()));
    // The listener's end forgets those that wait, and nobody new comes; the port is in use as long as a connection lives.
    demux.stop_listening(acceptor);
    assert_eq!(arrive(&mut demux, flow(2, 9), 2), Err(Undelivered::Unknown));
    assert_eq!(arrive(&mut demux, flow(1, 9), 4), Ok(()));
    demux.remove(first);
    assert_eq!(arrive(&mut demux, flow(1, 9), 1), Err(Undelivered::Closed));
    assert!(demux.listen(9, 0).is_some());
}

#[test]
fn queues_are_bounded_and_shorter_for_strangers() {
    let mut demux = Demux::new(LIMITS);
    let (acceptor, _) = demux.listen(9, 0).unwrap();
    let fits = |demux: &mut Demux| (0..100).filter(|_| arrive(demux, flow(1, 9), 1).is_ok()).count();
    assert_eq!(fits(&mut demux), UNACCEPTED);
    let (connection, _) = demux.accept(acceptor).unwrap();
    assert_eq!(fits(&mut demux), LIMITS.queue - UNACCEPTED);
    demux.close(connection);
    assert_eq!(fits(&mut demux), 0);
    assert_eq!(demux.ending(connection), Some(Ending::Closed));
}

#[test]
fn who_does_not_receive_leaves_as_much_as_it_takes_to_others() {
    let mut demux = Demux::new(Limits { shared: 60, ..LIMITS });
    let (_, first) = demux.connect(flow(1, 0).peer(), 1, |_| true).unwrap();
    let (other, second) = demux.connect(flow(2, 0).peer(), 2, |_| true).unwrap();
    let fits = |demux: &mut Demux, flow| (0..100).filter(|_| arrive(demux, flow, 1).is_ok()).count();
    assert_eq!((fits(&mut demux, flow(1, first)), fits(&mut demux, flow(2, second))), (30, 15));
    // Who receives goes on, and gets the room of who is gone.
    assert_eq!(demux.take(other, 10).count(), 10);
    assert_eq!(fits(&mut demux, flow(2, second)), 10);
    let silent = demux.find(flow(1, first)).unwrap();
    demux.close(silent);
    assert_eq!(fits(&mut demux, flow(2, second)), 15);
    demux.remove(other);
    assert_eq!(demux.queued, 0);
}

#[test]
fn that_nobody_is_there_is_told_once_and_to_who_connected() {
    let mut demux = Demux::new(LIMITS);
    let (connection, port) = demux.connect(flow(7, 0).peer(), 3, |_| true).unwrap();
    demux.fail(flow(7, port));
    assert_eq!(demux.ending(connection), Some(Ending::Unreachable));
    assert!(demux.ending(connection).is_none());
    let (acceptor, _) = demux.listen(9, 0).unwrap();
    arrive(&mut demux, flow(1, 9), 1).unwrap();
    let (accepted, _) = demux.accept(acceptor).unwrap();
    demux.fail(flow(1, 9));
    assert_eq!((next(&mut demux, accepted), next(&mut demux, accepted)), (Some(1), None));
}

#[test]
fn the_last_to_wait_leads_and_the_keeper_sees_to_another() {
    let mut demux = Demux::new(LIMITS);
    let [(one, port), (two, _)] =
        [1, 2].map(|peer| demux.connect(flow(peer, 0).peer(), 5, |_| true).unwrap());
    let [mut a, mut b] = [one, two].map(|connection| Ticket::new(Owner::Connection(connection)));
    assert!(demux.wait(&mut a, Waker::noop(), true));
    assert!(demux.wait(&mut b, Waker::noop(), true));
    assert!(!demux.wait(&mut a, Waker::noop(), true), "it follows");
    assert!(demux.follows(&a) && !demux.follows(&b));
    // Whoever leads finds its message by itself, whoever follows is woken.
    arrive(&mut demux, flow(2, port + 1), 1).unwrap();
    assert!(!demux.wakes());
    arrive(&mut demux, flow(1, port), 1).unwrap();
    assert_eq!(demux.take_woken().len(), 1);
    demux.leave(&mut b);
    assert!(!demux.wakes(), "nobody is woken for the lead alone");
    assert!(demux.promote());
    assert!(demux.wakes() && demux.wait(&mut a, Waker::noop(), true));
    demux.leave(&mut a);
    assert!(!demux.promote());
    // With a thread that polls, nobody leads.
    let mut c = Ticket::new(Owner::Connection(one));
    assert!(!demux.wait(&mut c, Waker::noop(), false));
    // Nor is such a one asked to.
    assert!(!demux.promote());
    demux.leave(&mut c);
}
