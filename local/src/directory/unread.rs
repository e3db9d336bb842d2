//! Services that have not read what they were handed.
//!
//! The kernel counts the descriptors that a user has sent and nobody has received, and lets a user without
//! `CAP_SYS_RESOURCE` have no more of them than a process may have descriptors. A service that never reads, and one that hangs up
//! and keeps its socket, would use them up. So a service's socket takes few packets, and few services of a user may have any.

use super::packets::Packets;
use super::rules::ROOT;
use super::shares;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::HashMap;
use std::sync::Arc;

/// The packets that a service's socket takes unread, each of which has a descriptor.
const PACKETS: usize = 4;

/// Services that have not read what they were handed, at most.
const SERVICES: usize = 1024;

/// The services with unread packets, by their users. Connections that have ended stay until nothing is unread.
#[derive(Debug)]
pub(super) struct Unread {
    most: usize,
    count: usize,
    of_users: HashMap<u32, Vec<Arc<Packets>>>,
}

impl Unread {
    /// Makes an empty list for a process that may have this number of descriptors. At most half as many are unread.
    pub(super) fn new(descriptors: usize) -> Self {
        Self { most: Self::most(descriptors), count: 0, of_users: HashMap::new() }
    }

    /// Returns the number of services that are kept at most, each with its descriptor.
    pub(super) fn most(descriptors: usize) -> usize {
        (descriptors / 2 / PACKETS).clamp(1, SERVICES)
    }

    /// Returns true if the service of this user may be handed something.
    pub(super) fn has_room(&mut self, user: u32, service: &Arc<Packets>) -> bool {
        if user == ROOT {
            return true;
        }
        self.forget_read(user);
        if !shares::has_room(self.most, self.count, 0) {
            let users: Vec<_> = self.of_users.keys().copied().collect();
            users.into_iter().for_each(|user| self.forget_read(user));
        }
        let own = self.of_users.get(&user).map_or(&[][..], |own| own);
        // The service's own packets have a bound of their own.
        own.iter().any(|it| Arc::ptr_eq(it, service)) || shares::has_room(self.most, self.count, own.len())
    }

    /// Records that the service of this user was handed something.
    pub(super) fn handed(&mut self, user: u32, service: &Arc<Packets>) {
        if user == ROOT {
            return;
        }
        let own = self.of_users.entry(user).or_default();
        if !own.iter().any(|it| Arc::ptr_eq(it, service)) {
            own.push(service.clone());
            self.count += 1;
        }
    }

    fn forget_read(&mut self, user: u32) {
        let Some(own) = self.of_users.get_mut(&user) else { return };
        let before = own.len();
        let mut have_read = have_read(own).into_iter();
        own.retain(|_| !have_read.next().unwrap_or(false));
        self.count -= before - own.len();
        if own.is_empty() {
            self.of_users.remove(&user);
        }
    }
}

/// For each service true if it has read all its packets, or all its descriptors of the socket are closed.
fn have_read(services: &[Arc<Packets>]) -> Vec<bool> {
    let mut polled: Vec<_> = services.iter().map(|it| PollFd::new(&**it, PollFlags::OUT)).collect();
    if let Err(error) = poll(&mut polled, Some(&Timespec::default())) {
        tracing::debug!(%error, "services are not looked at");
    }
    polled.iter().map(|it| it.revents().contains(PollFlags::OUT)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::packets::{filled, packet_pair};
    use std::os::fd::AsFd;
    use tokio::net::UnixStream;

    fn service() -> (Arc<Packets>, UnixStream) {
        let (own, service) = packet_pair().unwrap();
        (Arc::new(own), service)
    }

    fn hand(service: &Packets) -> bool {
        service.try_send(&filled(b"visitor"), &[std::io::stdin().as_fd()]).is_ok()
    }

    #[tokio::test]
    async fn a_socket_takes_few_packets_and_shows_that_all_are_read() {
        let (own, service) = service();
        own.limit_unread().unwrap();
        let own = [own];
        assert_eq!(have_read(&own), [true]);
        for number in 0..PACKETS {
            assert!(hand(&own[0]), "{number}");
            assert_eq!(have_read(&own), [false]);
        }
        assert!(!hand(&own[0]), "one too many");
        let service = Packets::new(service);
        for _ in 1..PACKETS {
            service.recv().await.unwrap();
            assert_eq!(have_read(&own), [false]);
        }
        service.recv().await.unwrap();
        assert_eq!(have_read(&own), [true]);
    }

    #[tokio::test]
    async fn a_connection_that_was_ended_counts_until_its_packets_are_gone() {
        let (own, service) = service();
        own.limit_unread().unwrap();
        assert!(hand(&own));
        rustix::net::shutdown(&*own, rustix::net::Shutdown::Both).unwrap();
        let second = service.as_fd().try_clone_to_owned().unwrap();
        drop(service);
        let own = [own];
        assert_eq!(have_read(&own), [false]);
        drop(second);
        assert_eq!(have_read(&own), [true]);
    }

    #[tokio::test]
    async fn a_user_whose_services_do_not_read_leaves_room_to_others() {
        let mut unread = Unread::new(256);
        assert_eq!(unread.most, 32);
        let mut kept = Vec::new();
        let mut handed = |unread: &mut Unread, user| {
            let (own, service) = service();
            own.limit_unread().unwrap();
            let has_room = unread.has_room(user, &own);
            if has_room {
                assert!(hand(&own));
                unread.handed(user, &own);
            }
            kept.push(service);
            has_room
        };
        assert_eq!((0..100).filter(|_| handed(&mut unread, 7)).count(), 8);
        assert_eq!((0..100).filter(|_| handed(&mut unread, 8)).count(), 6);
        assert_eq!((0..100).filter(|_| handed(&mut unread, ROOT)).count(), 100);
        assert!(handed(&mut unread, 9));
        assert_eq!(unread.count, 15);
        kept.clear();
        for user in [7, 8, 9] {
            unread.forget_read(user);
        }
        assert_eq!((unread.count, unread.of_users.len()), (0, 0));
    }
}
