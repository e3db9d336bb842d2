//! Where a lane's frames leave.

use crate::Burst;
use crate::port::Transmitter;
use parking_lot::Mutex;
use std::sync::Arc;

/// A queue that frames leave from.
pub(crate) enum Sending {
    /// Of this lane alone.
    Own(Transmitter),
    /// Shared with other lanes, since the port has too few. Nothing else is locked under this lock.
    Shared(Arc<Mutex<Transmitter>>),
    /// The port has none.
    Nowhere,
}

impl Sending {
    /// That of a lane: `own`, if the port has one of its number; else one of the `shared`, to which `own` belongs as well if
    /// the port is `short` of queues.
    pub(crate) fn new(
        lane: usize,
        own: Option<Transmitter>,
        short: bool,
        shared: &mut Vec<Arc<Mutex<Transmitter>>>,
    ) -> Self {
        match own {
            Some(own) if !short => return Self::Own(own),
            Some(own) => shared.push(Arc::new(Mutex::new(own))),
            None => {}
        }
        match shared.len() {
            0 => Self::Nowhere,
            len => Self::Shared(shared[lane % len].clone()),
        }
    }

    /// Sends frames from the front of `burst`, as many as the port takes at the moment, and returns how many those were.
    #[inline]
    pub(crate) fn transmit(&mut self, burst: &mut Burst) -> usize {
        match self {
            Self::Own(transmitter) => transmitter.transmit(burst),
            Self::Shared(transmitter) => transmitter.lock().transmit(burst),
            Self::Nowhere => 0,
        }
    }
}
