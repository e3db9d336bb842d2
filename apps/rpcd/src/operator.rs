//! Changes by operators, while calls flow.

use crate::change::Change;
use crate::routes::Routes;
use crate::state::State;
use bertha_managed::{Counted, Unchanged};
use std::sync::Arc;

/// A handle of a daemon by which operators change policies.
#[derive(Debug, Clone)]
pub struct Operator {
    pub(crate) state: Arc<State>,
}

impl Operator {
    /// Returns a line for each service, with tabs: its name, its server or the peers of its route, the number of its callers, and its engines.
    pub fn list(&self) -> String {
        self.state.services.list(self.state.now())
    }

    /// Returns the counts of the calls that have passed an engine [`metrics`](bertha_managed::engines::Metrics).
    pub fn counted(&self) -> Vec<Counted> {
        self.state.services.common().counts().read()
    }

    /// Leads the calls of a service to one of these servers each, unless an application of this machine serves it; or nowhere. Calls under
    /// way stay where they are.
    pub fn lead(&self, service: &str, to: Option<Routes>) {
        self.state.services.lead(service, to);
    }

    /// Changes the engines that the calls of a service pass, for all callers that are attached, and for those that come. Requests that a
    /// removed engine held go on before later ones.
    ///
    /// # Errors
    /// Fails with the reason if a caller's engines refuse the change; an engine that was added is then removed again.
    pub fn change(&self, service: &str, change: &Change) -> Result<(), Unchanged> {
        self.state.services.change(service, change)
    }
}
