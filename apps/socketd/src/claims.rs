//! Claims of ends of connections, which become pairs.

use crate::identity::Identity;
use crate::list::List;
use crate::message;
use crate::pairing::{End, Waiting};
use bertha_datapath_shm::{Users, sealed_memory};
use bertha_runtime::tokio::Credentials;
use bertha_sockets_machine::Layout;
use bertha_sockets_machine::protocol::Answer;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;
use tokio::net::UnixStream;

/// A visitor that claims an end.
#[derive(Debug)]
pub(crate) struct Visitor {
    pub(crate) socket: UnixStream,
    pub(crate) owner: Credentials,
}

/// The claims of ends of connections.
#[derive(Debug)]
pub(crate) struct Claims {
    layout: Layout,
    waiting: Waiting<Visitor>,
    list: List,
}

impl Claims {
    /// Makes the claims of a daemon, where so many ends wait at most.
    pub(crate) fn new(layout: Layout, places: usize) -> Self {
        Self { layout, waiting: Waiting::new(places), list: List::new(layout) }
    }

    /// Pairs an end with its other end, or lets it wait.
    pub(crate) fn pair(&mut self, identity: Identity, newcomer: Visitor) {
        let Some(End { visitor: other, .. }) = self.waiting.take_other(identity) else {
            return self.wait(identity, newcomer, "the other end has not asked");
        };
        if !Users::Only(vec![other.owner.user]).contain(newcomer.owner.user) {
            let reason = "the other end is of another user";
            self.refuse(End { identity: identity.other(), visitor: other, reason });
            // The stranger may have had this connection's addresses before it, and its own may come.
            return self.wait(identity, newcomer, reason);
        }
        let memory = match sealed_memory(self.layout.memory_bytes()) {
            Ok(memory) => memory,
            Err(error) => {
                tracing::warn!(%error, "there is no memory for a connection");
                for end in [other, newcomer] {
                    tell(&end.socket, Answer::Refused, None);
                }
                return;
            }
        };
        let bytes = self.layout.ring_bytes() as u64;
        let told = [(&other, Answer::Client(bytes)), (&newcomer, Answer::Server(bytes))]
            .map(|(end, answer)| tell(&end.socket, answer, Some(&memory)));
        if told == [true; 2] {
            let (owners, sockets) = ([other.owner, newcomer.owner], [other.socket, newcomer.socket]);
            self.list.paired(identity.other(), owners, sockets, memory);
        }
    }

    fn wait(&mut self, identity: Identity, visitor: Visitor, reason: &'static str) {
        let user = visitor.owner.user;
        for end in self.waiting.add(user, End { identity, visitor, reason }, Instant::now()) {
            self.refuse(End { reason: "too many wait", ..end });
        }
    }

    /// Takes leave of an end that waits.
    pub(crate) fn make_room(&mut self) {
        if let Some(end) = self.waiting.pop() {
            self.refuse(End { reason: "too many wait", ..end });
        }
    }

    /// Takes leave of ends whose time is up, and forgets connections that are over.
    pub(crate) fn sweep(&mut self) {
        while let Some(end) = self.waiting.expired(Instant::now()) {
            self.refuse(end);
        }
        self.list.sweep();
    }

    /// Returns the lines of the list for a user.
    pub(crate) fn lines(&mut self, asker: u32) -> String {
        self.list.lines(asker)
    }

    /// Tells an end, and who asks for the list, that it gets no memory.
    fn refuse(&mut self, end: End<Visitor>) {
        let End { identity, visitor: Visitor { socket, owner }, reason } = end;
        self.list.refused(identity, owner, reason);
        tell(&socket, Answer::Refused, None);
    }
}

/// Answers a visitor. Returns false if it has gone.
pub(crate) fn tell(visitor: &UnixStream, answer: Answer, memory: Option<&OwnedFd>) -> bool {
    let sent = message::send(visitor, &answer.encode(), memory.map(AsFd::as_fd));
    if let Err(error) = &sent {
        tracing::debug!(%error, "a visitor has no answer");
    }
    sent.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    const ROOT: u32 = 0;
    const OTHER: u32 = 65534;

    fn visitor(user: u32) -> (Visitor, UnixStream) {
        let (socket, its) = UnixStream::pair().unwrap();
        (Visitor { socket, owner: Credentials::new(user, user, 0) }, its)
    }

    fn identity(local: u16, peer: u16) -> Identity {
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Identity::new(1, at(local), at(peer))
    }

    /// Returns the code of an answer that is there, or zero.
    fn answer(visitor: &UnixStream) -> u8 {
        let mut bytes = [0; 16];
        rustix::net::recv(visitor, &mut bytes, rustix::net::RecvFlags::DONTWAIT).map_or(0, |_| bytes[0])
    }

    fn claims(places: usize) -> Claims {
        Claims::new(Layout::new(1 << 12).unwrap(), places)
    }

    #[tokio::test]
    async fn an_end_that_goes_for_another_is_listed_with_its_own_addresses() {
        let mut claims = claims(2);
        let its: Vec<_> = [(OTHER, 7000), (OTHER, 7001), (ROOT, 8000)]
            .into_iter()
            .map(|(user, local)| {
                let (visitor, its) = visitor(user);
                claims.pair(identity(local, 9000), visitor);
                its
            })
            .collect();
        assert_eq!(its.iter().map(answer).collect::<Vec<_>>(), [3, 0, 0]);
        assert_eq!(claims.lines(OTHER), "-\t127.0.0.1:7000\t127.0.0.1:9000\tkernel\t0\t0\ttoo many wait\n");
    }

    #[tokio::test]
    async fn a_user_with_many_claims_keeps_no_pair_from_another() {
        let mut claims = claims(64);
        let [(listed, _), (early, its_early), (late, its_late)] = [ROOT; 3].map(visitor);
        claims.list.refused(identity(5, 6), listed.owner, "the other end has not asked");
        claims.pair(identity(1, 2), early);
        let strangers: Vec<_> = (1000..1400)
            .map(|local| {
                let (visitor, its) = visitor(OTHER);
                claims.pair(identity(local, 9000), visitor);
                its
            })
            .collect();
        claims.pair(identity(2, 1), late);
        assert_eq!((answer(&its_early), answer(&its_late)), (1, 2));
        assert_eq!(strangers.iter().filter(|stranger| answer(stranger) == 3).count(), 400 - 63);
        // Nor do the many that were sent away displace the others in the list.
        assert!(claims.lines(ROOT).starts_with("-\t127.0.0.1:1\t127.0.0.1:2\t"));
    }

    #[tokio::test]
    async fn a_pair_with_an_end_that_has_gone_before_its_answer_is_over() {
        for (takes, goes, is_listed) in [(true, true, true), (false, false, true), (false, true, false)] {
            let mut claims = claims(64);
            let [(early, its_early), (late, its_late)] = [ROOT; 2].map(visitor);
            claims.pair(identity(1, 2), early);
            claims.pair(identity(2, 1), late);
            if takes {
                assert_eq!(answer(&its_early), 1);
            }
            if goes {
                drop(its_early);
            }
            assert_eq!(!claims.lines(ROOT).is_empty(), is_listed, "{takes} {goes}");
            drop(its_late);
        }
        let mut claims = claims(64);
        let [(early, its_early), (late, _its_late)] = [ROOT; 2].map(visitor);
        claims.pair(identity(1, 2), early);
        drop(its_early);
        claims.pair(identity(2, 1), late);
        assert_eq!(claims.lines(ROOT), "", "it had gone before");
    }

    #[tokio::test]
    async fn a_stranger_that_had_the_addresses_before_parts_no_pair() {
        let mut claims = claims(64);
        let [(stale, its_stale), (server, its_server), (client, its_client)] =
            [OTHER, ROOT, ROOT].map(visitor);
        claims.pair(identity(1, 2), stale);
        claims.pair(identity(2, 1), server);
        assert_eq!((answer(&its_stale), answer(&its_server)), (3, 0));
        claims.pair(identity(1, 2), client);
        assert_eq!((answer(&its_server), answer(&its_client)), (1, 2));
        assert!(claims.lines(OTHER).ends_with("the other end is of another user\n"));
    }
}
