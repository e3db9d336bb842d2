//! The engine that carries the connections of programs by stacks of Bertha, which `bertha run --stack` names, or by a device,
//! which `--device` names, and which carries their datagrams, too.
//!
//! It serves the user of the daemon alone: it reads the files of keys that a program names, and its addresses are those of the daemon's
//! namespace.

mod carrier;
mod connecting;
mod datagrams;
mod leaving;
mod listening;
mod plan;
mod pump;
mod request;
mod roll;
mod route;

use crate::hello::Wish;
use crate::identity::namespace;
use crate::message;
use bertha_core::{Error, ErrorKind};
use bertha_runtime::tokio::Credentials;
use bertha_runtime::tokio::descriptors::{close_aside, soft_limit};
use bertha_sockets_machine::device::Reply;
use nix::libc;
use roll::{Entry, Roll};
use rustix::net::{AddressFamily, SocketType, socket};
use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use tokio::net::UnixStream;

/// The sockets that are carried at once, at most.
const SOCKETS: usize = 8192;

/// The descriptors of a carried socket, with one to spare: those of its connection, and of both ends of its carrier while it waits for its
/// program.
const DESCRIPTORS: usize = 4;

/// The engine.
#[derive(Debug)]
pub(crate) struct Engine {
    user: u32,
    namespace: u64,
    roll: RefCell<Roll>,
    next: Cell<u64>,
    /// Makes numbers that strangers can't guess.
    random: RandomState,
    /// Room for a message of a program, whose socket is one of datagrams.
    room: datagrams::Room,
    addresses: datagrams::Addresses,
}

impl Engine {
    pub(crate) fn new() -> io::Result<Rc<Self>> {
        let own = socket(AddressFamily::INET, SocketType::STREAM, None)
            .or_else(|_| socket(AddressFamily::INET6, SocketType::STREAM, None))?;
        let engine = Self {
            user: rustix::process::geteuid().as_raw(),
            namespace: namespace(&own)?,
            roll: RefCell::new(Roll::new(soft_limit().map_or(SOCKETS, |all| SOCKETS.min(all / DESCRIPTORS)))),
            next: Cell::default(),
            random: RandomState::new(),
            room: datagrams::Room::new(),
            addresses: datagrams::Addresses::default(),
        };
        Ok(Rc::new(engine))
    }

    /// Serves a visitor that has said what it wants.
    pub(crate) async fn serve(self: &Rc<Self>, visitor: &UnixStream, wish: Wish, socket: OwnedFd) {
        let (Ok(request), Ok(owner)) = (request::read(visitor).await, Credentials::of_peer(visitor)) else {
            close_aside(socket);
            return reply(visitor, Err(libc::EPROTO));
        };
        if let Err(reason) = self.admit(&owner, &socket) {
            self.roll.borrow_mut().refuse(owner, request.addresses(wish), reason);
            close_aside(socket);
            return reply(visitor, Err(libc::ECONNREFUSED));
        }
        match wish {
            Wish::Connect => connecting::connect(self, visitor, owner, request),
            Wish::Listen => listening::listen(self, visitor, owner, request, &socket).await,
            Wish::Datagrams => datagrams::open(self, visitor, owner, request, &socket).await,
        }
        // It is the visitor's socket, whose last close may wait.
        close_aside(socket);
    }

    fn admit(&self, owner: &Credentials, socket: &OwnedFd) -> Result<(), &'static str> {
        if owner.user != self.user {
            return Err("the daemon carries the sockets of its own user alone");
        }
        if !namespace(socket).is_ok_and(|namespace| namespace == self.namespace) {
            return Err("the daemon is in another network namespace");
        }
        Ok(())
    }

    /// Returns a line for each socket that a user may see.
    pub(crate) fn lines(&self, asker: u32) -> String {
        self.roll.borrow_mut().lines(asker)
    }

    /// Returns a number that was not returned before.
    fn number(&self) -> u64 {
        self.next.replace(self.next.get() + 1)
    }

    /// Returns a number for the name of a socket, which nobody can have taken before.
    fn unique(&self) -> u64 {
        self.random.hash_one(self.number())
    }

    /// Enters a socket into the roll, which it leaves with the returned value. Returns `None` if the program has its part of the sockets
    /// that are carried.
    fn enter(
        self: &Rc<Self>,
        owner: Credentials,
        addresses: [Option<SocketAddr>; 2],
        what: String,
    ) -> Option<Entry> {
        let number = self.number();
        let mut roll = self.roll.borrow_mut();
        roll.enter(number, owner, addresses, what).then(|| Entry::new(self.clone(), number))
    }
}

/// Replies to a visitor, which has gone if it can't take the reply.
fn reply(visitor: &UnixStream, result: Result<BorrowedFd<'_>, i32>) {
    let (reply, file) = match result {
        Ok(file) => (Reply::Taken, Some(file)),
        Err(error) => (Reply::Failed(error), None),
    };
    if let Err(error) = message::send(visitor.as_fd(), &reply.encode(), file) {
        tracing::debug!(%error, "a visitor has no reply");
    }
}

/// Returns the number of the error that a call of a program gets, if the error has one: that of the system, or of its kind.
fn number_of(error: &Error) -> Option<i32> {
    error.os_error().or(match error.kind() {
        ErrorKind::TimedOut => Some(libc::ETIMEDOUT),
        ErrorKind::NotSent => Some(libc::EHOSTUNREACH),
        ErrorKind::AddrInUse => Some(libc::EADDRINUSE),
        _ => None,
    })
}
