//! What wakes an end.

use bertha_datapath_shm::Shm;
use std::fs;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

/// `EPOLLIN` and `EPOLLOUT`.
const READABLE: u32 = 1;
const WRITABLE: u32 = 4;

/// Returns the events for which reactors of this process wait at a descriptor, as the kernel shows them.
fn awaited(descriptor: RawFd) -> Vec<u32> {
    let mut found = Vec::new();
    for info in fs::read_dir("/proc/self/fdinfo").unwrap().flatten() {
        let Ok(text) = fs::read_to_string(info.path()) else { continue };
        for line in text.lines() {
            if let ["tfd:", number, "events:", events, ..] = line.split_whitespace().collect::<Vec<_>>()[..]
                && number.parse() == Ok(descriptor)
            {
                found.push(u32::from_str_radix(events, 16).unwrap());
            }
        }
    }
    found
}

/// A peer that takes the byte of a wake-up makes room to write, with each message. An end that waits for room would wake then, beside the
/// wake-up of the answer.
#[tokio::test]
async fn an_end_does_not_wait_for_room_to_wake_its_peer() {
    let (client, server) = UnixStream::pair().unwrap();
    let ends = [client.as_raw_fd(), server.as_raw_fd()];
    let shm = Shm::new();
    let _connections = tokio::try_join!(shm.offer(client), shm.take(server)).unwrap();
    for end in ends {
        let awaited = awaited(end);
        assert!(!awaited.is_empty(), "no reactor has the socket");
        for events in awaited {
            assert_eq!(events & (READABLE | WRITABLE), READABLE, "{events:x}");
        }
    }
}
