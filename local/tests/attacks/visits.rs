//! Clients that visit a service and never talk to it.

use crate::packets::{Raw, started};
use bertha_local::Directory;
use bertha_local::directory::Rules;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::unix::net::UnixStream;

/// The sockets whose other end the service has dropped.
fn dropped(sockets: &[UnixStream]) -> usize {
    let mut polled: Vec<_> = sockets.iter().map(|it| PollFd::new(it, PollFlags::empty())).collect();
    poll(&mut polled, Some(&Timespec::default())).unwrap();
    polled.iter().filter(|it| it.revents().contains(PollFlags::HUP)).count()
}

#[tokio::test]
async fn visits_do_not_fill_a_service() {
    let (_folder, path) = started(Rules::new());
    let service = Directory::at(&path);
    let _registration = service.register("cart", &[]).await.unwrap();
    let visitor = Raw::connect(&path);
    let sockets = (0..200).map(|number: u8| {
        let (own, others) = UnixStream::pair().unwrap();
        visitor.visit("cart", [number; 32], &[others]).unwrap();
        assert_eq!(visitor.recv().0.first(), Some(&4), "visit {number} does not arrive");
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
