//! A task, as its owner sees it.

use super::TaskId;
use super::world::World;
use std::sync::Weak;

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
