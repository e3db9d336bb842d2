//! The flows of all ways to the agent, and their metrics.

use bertha_ccp::{AgentFlows, AgentTotals, FlowStatus};
use bertha_core::Error;
use bertha_program::Watched;

/// The flows of all ways to the agent.
#[derive(Debug, Clone)]
pub(crate) struct Flows(Vec<AgentFlows>);

impl Flows {
    pub(crate) fn new(ways: impl Iterator<Item = AgentFlows>) -> Self {
        Self(ways.collect())
    }

    pub(crate) fn status(&self) -> Vec<FlowStatus> {
        self.0.iter().flat_map(AgentFlows::status).collect()
    }

    pub(crate) fn totals(&self) -> AgentTotals {
        self.0.iter().map(AgentFlows::totals).sum()
    }

    /// Adds the metrics of the flows.
    ///
    /// # Errors
    /// Errors of [`Watched::counter`].
    pub(crate) fn tell(&self, watched: &Watched) -> Result<(), Error> {
        let count = |is_counted: fn(&FlowStatus) -> bool| {
            let flows = self.clone();
            move || flows.status().iter().filter(|flow| is_counted(flow)).count() as u64
        };
        watched.gauge("bertha_agent_flows", "Flows that datapaths have announced.", count(|_| true))?;
        let help = "Flows that run a program of the agent, which has reported.";
        watched.gauge("bertha_agent_flows_controlled", help, count(FlowStatus::is_controlled))?;
        type Read = fn(AgentTotals) -> u64;
        let counters: [(&str, &str, Read); 5] = [
            ("flows_created_total", "Flows that began.", |totals| totals.created),
            ("flows_ended_total", "Flows that ended.", |totals| totals.ended),
            ("datapaths_vanished_total", "Datapaths that did not end their flows.", |totals| totals.vanished),
            ("messages_refused_total", "Messages of datapaths that were dropped.", |totals| totals.refused),
            ("messages_unsent_total", "Messages that a datapath did not take.", |totals| totals.unsent),
        ];
        for (name, help, read) in counters {
            let flows = self.clone();
            watched.counter(&format!("bertha_agent_{name}"), help, move || read(flows.totals()))?;
        }
        Ok(())
    }
}
