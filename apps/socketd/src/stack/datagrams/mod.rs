//! Sockets of datagrams of programs, which a device carries.

mod address;
mod peer;
mod program;
mod serving;
mod socket;

use super::leaving::once_free;
use super::plan::{Plan, told};
use super::request::Request;
use super::{Engine, number_of, reply, route};
use address::Address;
pub(super) use address::Addresses;
use bertha_core::Error;
use bertha_runtime::tokio::Credentials;
use nix::libc;
use program::Program;
pub(super) use program::Room;
use rustix::net::sockopt::{socket_reuseaddr, socket_reuseport};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;
use tokio::net::UnixStream;

/// The time that the earlier owner of an address has to leave it.
const LEAVING: Duration = Duration::from_millis(200);

/// The strangers that come, or the messages of a program, before others have a turn.
const TURNS: u64 = 32;

/// Opens a socket for a program, and gives it the carrier.
pub(super) async fn open(
    engine: &Rc<Engine>,
    visitor: &UnixStream,
    owner: Credentials,
    request: Request,
    socket: &OwnedFd,
) {
    let (place, what) = (request.place, format!("{}, datagrams", told(&request)));
    let refuse = |error: &Error, number: i32| {
        engine.roll.borrow_mut().refuse(owner, [Some(place), None], &error.to_string());
        reply(visitor, Err(number));
    };
    // As the kernel has it: sockets share an address if each of them says so.
    let shares = socket_reuseaddr(socket).unwrap_or(false) || socket_reuseport(socket).unwrap_or(false);
    let suits = |address: &Rc<Address>| shares && address.is_shared && address.device == what;
    let address = match engine.addresses.find(place).filter(suits) {
        Some(address) => address,
        None => match once_free(LEAVING, async || Plan::of(&request)?.datagrams(place).await).await {
            Ok(datagrams) => {
                let local = route::local(&datagrams.local_address(), place);
                let ip = if place.ip().is_unspecified() { place.ip() } else { local.ip() };
                let at = SocketAddr::new(ip, local.port());
                Address::open(engine, datagrams, (at, what.clone(), shares))
            }
            Err(error) => return refuse(&error, number_of(&error).unwrap_or(libc::EADDRNOTAVAIL)),
        },
    };
    let made = Program::pair().and_then(|(own, program)| {
        own.name(address.at, engine.unique())?;
        Ok((own, program))
    });
    let (own, program) = match made {
        Ok(pair) => pair,
        Err(error) => {
            address.end_unless_used();
            return refuse(&error.into(), libc::ENOBUFS);
        }
    };
    let Some(entry) = engine.enter(owner, [Some(address.at), None], what) else {
        address.end_unless_used();
        return reply(visitor, Err(libc::ENOBUFS));
    };
    reply(visitor, Ok(program.as_fd()));
    serving::begin(engine, address, own, entry);
}
