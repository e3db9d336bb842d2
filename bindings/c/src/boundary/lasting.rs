//! Work that takes long: draining, closing, and changes of the stack.

use super::guard::guarded;
use crate::connection::Work;
use crate::object;
use crate::wait::Limit;
use bertha::Pick;
use std::ffi::c_int;

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
#[unsafe(no_mangle)]
pub extern "C" fn bertha_close(connection: u64, milliseconds: i64) -> c_int {
    last(connection, Work::Close, milliseconds)
}

/// Changes the stack to another alternative, counted from 0, of its first choice, while messages flow. Both ends need the option
/// upgradable. When the time is up, the work goes on, and a later call waits for the same.
#[unsafe(no_mangle)]
pub extern "C" fn bertha_upgrade(connection: u64, alternative: u32, milliseconds: i64) -> c_int {
    last(connection, Work::Upgrade(Pick::alternative(alternative as usize)), milliseconds)
}
