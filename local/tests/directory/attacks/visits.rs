//! Clients that visit a service and never talk to it.

use crate::attacks::packets::{REFUSED, Raw, VISITING, started};
use bertha_local::Directory;
use bertha_local::directory::Rules;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::unix::net::UnixStream;

/// Visits until the visit arrives: on a busy machine the service may not have read the visits before it.
fn visit(visitor: &Raw, number: u8, socket: &UnixStream) {
    loop {
        visitor.visit("cart", [number; 32], &[socket]).unwrap();
        match visitor.recv().0.first() {
            Some(&VISITING) => return,
            Some(&REFUSED) => {}
            other => panic!("visit {number} does not arrive: {other:?}"),
        }
    }
}

/// The sockets whose other end the service has dropped.
fn dropped(sockets: &[UnixStream]) -> usize {
    let mut polled: Vec<_> = sockets.iter().map(|it| PollFd::new(it, PollFlags::empty())).collect();
    poll(&mut polled, Some(&Timespec::default())).unwrap();
    polled.iter().filter(|it| it.revents().contains(PollFlags::HUP)).count()
}

// The service reads on another thread than that of the visits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn visits_do_not_fill_a_service() {
    let (_folder, path) = started(Rules::new());
    let service = Directory::at(&path);
    let _registration = service.try_register("cart", &[]).await.unwrap();
    let visitor = Raw::connect(&path);
    let sockets = (0..200).map(|number: u8| {
        let (own, others) = UnixStream::pair().unwrap();
        visit(&visitor, number, &others);
        own
    });
    let sockets: Vec<_> = sockets.collect();
    // A service keeps 64 visitors, and those only for a while.
    for _ in 0..3_000 {
        if dropped(&sockets) == sockets.len() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{} of {} visitors are still kept", sockets.len() - dropped(&sockets), sockets.len());
}
