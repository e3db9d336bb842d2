//! The list of the sockets of this machine, for a person who asks.

use crate::identity::Identity;
use bertha_program::Crowd;
use bertha_runtime::tokio::Credentials;
use bertha_sockets_machine::control::Field;
use bertha_sockets_machine::{Direction, Layout, Why};
use rustix::io::{Errno, pread};
use rustix::net::{RecvFlags, recv};
use rustix::process::{Pid, test_kill_process};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Write;
use std::os::fd::OwnedFd;
use std::time::Instant;
use tokio::net::UnixStream;

/// The connections with memory that are remembered at most.
const PAIRS: usize = 4096;

/// The sockets without memory that are remembered at most.
const REFUSALS: usize = 256;

/// The two ends of a connection that share memory.
#[derive(Debug)]
struct Pair {
    since: Instant,
    identity: Identity,
    ends: [Credentials; 2],
    answers: [Answered; 2],
    memory: OwnedFd,
}

/// A visitor that has an answer, until it has taken it.
#[derive(Debug)]
struct Answered(RefCell<Option<UnixStream>>);

impl Answered {
    /// Returns true if the visitor has gone without its answer: a socket that is closed with bytes unread resets its peer. A visitor that has
    /// taken it closes its socket, too, and is asked no more.
    fn is_gone(&self) -> bool {
        let Some(visitor) = self.0.take() else { return false };
        match recv(&visitor, &mut [0], RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN) => {
                self.0.replace(Some(visitor));
                false
            }
            Err(_) => true,
            Ok(_) => false,
        }
    }
}

#[derive(Debug)]
struct Refusal {
    since: Instant,
    identity: Identity,
    owner: Credentials,
    reason: &'static str,
}

/// The list of the sockets of this machine.
#[derive(Debug)]
pub(crate) struct List {
    layout: Layout,
    pairs: Crowd<Pair>,
    refusals: Crowd<Refusal>,
}

impl List {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, pairs: Crowd::new(PAIRS), refusals: Crowd::new(REFUSALS) }
    }

    /// Remembers two ends that share memory, which they have been told. The file takes no more memory than they have mapped.
    pub(crate) fn paired(
        &mut self,
        identity: Identity,
        ends: [Credentials; 2],
        sockets: [UnixStream; 2],
        memory: OwnedFd,
    ) {
        let answers = sockets.map(|socket| Answered(RefCell::new(Some(socket))));
        self.pairs.add(ends[0].user, Pair { since: Instant::now(), identity, ends, answers, memory });
    }

    /// Remembers a socket that stays with the kernel.
    pub(crate) fn refused(&mut self, identity: Identity, owner: Credentials, reason: &'static str) {
        self.refusals.add(owner.user, Refusal { since: Instant::now(), identity, owner, reason });
    }

    /// Forgets connections that are over, so that their memory is free.
    pub(crate) fn sweep(&mut self) {
        let layout = self.layout;
        self.pairs.retain(|pair| {
            let word = |direction, field| word(layout, &pair.memory, direction, field);
            let is_left = [Direction::FromClient, Direction::FromServer]
                .into_iter()
                .any(|direction| word(direction, Field::Ended) != 0 || word(direction, Field::Gone) != 0);
            !is_left && pair.ends.iter().all(is_alive) && !pair.answers.iter().any(Answered::is_gone)
        });
        self.refusals.retain(|refusal| is_alive(&refusal.owner));
    }

    /// Returns a line for each end: its process, its addresses, where what it sends goes, the moves of that, the seconds, and a reason.
    /// A user other than root sees the own sockets alone.
    pub(crate) fn lines(&mut self, asker: u32) -> String {
        self.sweep();
        let mut text = String::new();
        let sees = |owner: &Credentials| asker == 0 || asker == owner.user;
        for pair in self.pairs.iter() {
            let sides =
                [(Direction::FromClient, pair.identity), (Direction::FromServer, pair.identity.other())];
            let whys =
                sides.map(|(direction, _)| Why::of(word(self.layout, &pair.memory, direction, Field::Why)));
            for ((direction, identity), owner) in
                sides.into_iter().zip(&pair.ends).filter(|(_, owner)| sees(owner))
            {
                let word = |field| word(self.layout, &pair.memory, direction, field);
                let moves = word(Field::Moved);
                let usual = match (word(Field::Barred) == 1, word(Field::Attached) == 1) {
                    (true, _) => "it was moved back",
                    (_, false) => "the other end has not begun",
                    _ => "the ring was full, or nothing was sent",
                };
                let (place, reason) = match moves % 2 {
                    1 => ("ring", "-".into()),
                    _ => ("kernel", why(direction, whys).unwrap_or(usual.into())),
                };
                line(&mut text, identity, owner, place, moves, pair.since, &reason);
            }
        }
        for refusal in self.refusals.iter().filter(|refusal| sees(&refusal.owner)) {
            line(&mut text, refusal.identity, &refusal.owner, "kernel", 0, refusal.since, refusal.reason);
        }
        text
    }
}

/// Returns the reason for which the end that sends in this direction went back, or else its other end.
fn why(direction: Direction, [client, server]: [Option<Why>; 2]) -> Option<Cow<'static, str>> {
    let (own, other) = if direction == Direction::FromClient { (client, server) } else { (server, client) };
    let others = || other.map(|why| format!("the other end: {}", why.words()).into());
    own.map(|why| why.words().into()).or_else(others)
}

fn line(
    text: &mut String,
    identity: Identity,
    owner: &Credentials,
    place: &str,
    moves: u64,
    since: Instant,
    reason: &str,
) {
    let process = owner.process.map_or_else(|| "-".into(), |process| process.to_string());
    let Identity { local, peer, .. } = identity;
    let seconds = since.elapsed().as_secs();
    // Writing to a string does not fail.
    let _ = writeln!(text, "{process}\t{local}\t{peer}\t{place}\t{moves}\t{seconds}\t{reason}");
}

/// Reads a word of the memory, which either end may have written.
fn word(layout: Layout, memory: &OwnedFd, direction: Direction, field: Field) -> u64 {
    let mut bytes = [0; 8];
    let at = layout.beside_bytes(direction) + 8 * field as u64;
    match pread(memory, &mut bytes, at) {
        Ok(8) => u64::from_ne_bytes(bytes),
        _ => 0,
    }
}

fn is_alive(owner: &Credentials) -> bool {
    let process = owner.process.and_then(|process| Pid::from_raw(process.cast_signed()));
    // A process of another namespace of processes has no number here, and is taken to live.
    process.is_none_or(|process| test_kill_process(process) != Err(Errno::SRCH))
}
