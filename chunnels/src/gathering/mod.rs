//! Messages that are gathered, and sent together by a task when they are due.

mod shared;
mod task;

pub(crate) use shared::{Gather, GatheringCounts, GatheringShared};
pub(crate) use task::run;

use crate::task_end::{self, runtime_ended};
use bertha_core::{Base, Connection, Runtime};
use std::sync::Arc;

/// The task of a connection.
pub(crate) type Task<Inner> = <<<Inner as Connection>::Base as Base>::Runtime as Runtime>::Task;

/// Starts the task. If the runtime ends the task, the connection has failed.
pub(crate) fn spawn<Inner, G>(shared: &Arc<GatheringShared<Inner, G>>) -> Task<Inner>
where
    Inner: Connection,
    G: Gather<Item = Inner::Data>,
{
    let ended = shared.clone();
    let runtime = shared.inner.base().runtime();
    task_end::spawn(runtime, run(shared.clone()), move || ended.fail(&runtime_ended()))
}
