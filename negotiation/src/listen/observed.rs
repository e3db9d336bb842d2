//! A server among the listeners that a process observes.

use super::server::Server;
use crate::Runs;
use bertha_core::Statistics;
use bertha_core::statistics::Observed;

impl<S, D> Observed for Server<S, D>
where
    S: Send + Sync + 'static,
    D: Runs<S>,
{
    fn observe(&self, into: &mut Statistics) {
        into.add("Incoming", self.statistics());
    }
}
