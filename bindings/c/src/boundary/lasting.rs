//! Work that takes long: draining, closing, and changes of the stack.

use super::guard::guarded;
use crate::connection::Work;
use crate::object::{self, Object};
use crate::wait::Limit;
use bertha::Pick;
use std::ffi::c_int;
use std::time::Duration;

fn last(connection: u64, work: Work, milliseconds: i64) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        object::connection(connection)?.last(work, limit)
    })
}

/// Sends what the stack holds back, and waits until none of it has to be sent again. When the time is up, the work goes on, and a
/// later call waits for the same.
#[unsafe(no_mangle)]
pub extern "C" fn bertha_drain(connection: u64, milliseconds: i64) -> c_int {
    last(connection, Work::Drain, milliseconds)
}

/// Sends what the stack holds back, tells the peer, and closes the connection, whose handle is still to be released. When the time is up,
/// the work goes on, and a later call waits for the same.
///
/// A client closes its connection, and its calls fail. A service takes no further calls; those under way have this time to be
/// answered; the function returns once no callback runs, and is BERTHA_INVALID in a callback of the service.
#[unsafe(no_mangle)]
pub extern "C" fn bertha_close(handle: u64, milliseconds: i64) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        match object::get(handle)? {
            Object::Client(client) => client.wait(limit, async { Ok(client.made().await?.close().await?) }),
            Object::Service(service) => {
                service.close(limit, u64::try_from(milliseconds).ok().map(Duration::from_millis))
            }
            Object::Connection(connection) => connection.last(Work::Close, limit),
            object => Err(object::other(&object, "a connection, a client or a service")),
        }
    })
}

/// Changes the stack to another alternative, counted from 0, of its first choice, while messages flow. Both ends need the option
/// upgradable. When the time is up, the work goes on, and a later call waits for the same.
#[unsafe(no_mangle)]
pub extern "C" fn bertha_upgrade(connection: u64, alternative: u32, milliseconds: i64) -> c_int {
    last(connection, Work::Upgrade(Pick::alternative(alternative as usize)), milliseconds)
}
