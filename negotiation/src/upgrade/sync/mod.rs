//! The locks and atomics of slots and epochs; tests under loom replace them by loom's.

#[cfg(all(test, loom))]
mod modelled;
#[cfg(not(all(test, loom)))]
mod native;

pub(crate) use crate::link::WakerList;
#[cfg(all(test, loom))]
pub(crate) use modelled::*;
#[cfg(not(all(test, loom)))]
pub(crate) use native::*;
// Tests under loom keep this type: flags tell them if a call uses an epoch that has ended.
pub(crate) use std::sync::Arc;
