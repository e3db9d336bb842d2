//! A task, as its owner and its wakers see it.

use super::world::World;
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

/// The number of a task, in the order of spawning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TaskId(pub(super) u64);

/// A running task of the simulator. Dropping it ends the task.
#[derive(Debug)]
#[must_use = "dropping it ends the task"]
pub struct SimTask {
    pub(super) id: TaskId,
    pub(super) world: Weak<World>,
}

impl Drop for SimTask {
    fn drop(&mut self) {
        if let Some(world) = self.world.upgrade() {
            world.end_task(self.id);
        }
    }
}

struct TaskWaker {
    id: TaskId,
    world: Weak<World>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(world) = self.world.upgrade() {
            world.wake(self.id);
        }
    }
}

pub(super) fn waker(id: TaskId, world: &Arc<World>) -> Waker {
    Waker::from(Arc::new(TaskWaker { id, world: world.weak() }))
}
