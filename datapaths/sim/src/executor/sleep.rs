//! Waiting for virtual time.

use super::timeline::Key;
use super::world::World;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

pub(super) struct Sleep {
    world: Arc<World>,
    deadline: Instant,
    timer: Option<Key>,
}

impl Sleep {
    pub(super) fn new(world: Arc<World>, deadline: Instant) -> Self {
        Self { world, deadline, timer: None }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.timer = self.world.set_timer(self.timer, self.deadline, context.waker());
        if self.timer.is_some() { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            self.world.remove_timer(timer);
        }
    }
}
