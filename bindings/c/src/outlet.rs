//! The sending side of a stream of a call.

use crate::failure::Failure;
use crate::readiness::{Bit, Readiness};
use crate::wait::{Limit, spawn, wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::AcqRel, Ordering::Release};
use tokio_util::sync::CancellationToken;

/// Sends the messages of a stream, each once there is room for it.
#[derive(Debug)]
pub(crate) struct Outlet {
    released: CancellationToken,
    readiness: Arc<Readiness>,
    /// True while a task waits for room, to show it in the descriptor.
    is_watched: Arc<AtomicBool>,
}

impl Outlet {
    pub(crate) fn new(released: CancellationToken, readiness: Arc<Readiness>) -> Self {
        Self { released, readiness, is_watched: Arc::default() }
    }

    /// Waits for `sending`, which returns false if nobody wants the message. When the time is up, `room` goes on.
    ///
    /// # Errors
    /// [`Failure::END`]; [`Failure::LATE`]; [`Failure::RELEASED`].
    pub(crate) fn send(
        &self,
        limit: Limit,
        sending: impl Future<Output = bool>,
        room: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), Failure> {
        self.readiness.clear(Bit::Send);
        match wait(limit, &self.released, async { Ok(sending.await) }) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::END),
            Err(late) => {
                if late.is_late() && !self.is_watched.swap(true, AcqRel) {
                    let (is_watched, readiness) = (self.is_watched.clone(), self.readiness.clone());
                    spawn(self.released.clone(), async move {
                        room.await;
                        is_watched.store(false, Release);
                        readiness.set(Bit::Send);
                    })?;
                }
                Err(late)
            }
        }
    }
}
