//! The table of flows that is printed once a second.

use bertha_ccp::{AgentTotals, FlowStatus};
use bertha_program::escaped;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

/// Maximum number of flows in a table.
const ROWS: usize = 24;

/// The numbers in the table before.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    reports: HashMap<(PathBuf, u32), u64>,
    totals: AgentTotals,
}

impl Shown {
    /// Returns the lines of the next table: nothing while there are no flows and no news.
    pub(crate) fn next(
        &mut self,
        flows: Vec<FlowStatus>,
        totals: AgentTotals,
        interval: Duration,
    ) -> Vec<String> {
        let is_news = totals != self.totals;
        self.totals = totals;
        let before = std::mem::take(&mut self.reports);
        let key = |flow: &FlowStatus| (flow.datapath.clone(), flow.flow);
        self.reports = flows.iter().map(|flow| (key(flow), flow.reports)).collect();
        if flows.is_empty() && !is_news {
            return Vec::new();
        }
        let mut lines = vec![heading(flows.len(), totals)];
        for flow in flows.iter().take(ROWS) {
            let reports = flow.reports.saturating_sub(before.get(&key(flow)).copied().unwrap_or_default());
            lines.push(row(flow, reports as f64 / interval.as_secs_f64()));
        }
        if let Some(more) = flows.len().checked_sub(ROWS).filter(|more| *more > 0) {
            lines.push(format!("  and {more} more"));
        }
        lines
    }
}

fn heading(flows: usize, totals: AgentTotals) -> String {
    let AgentTotals { ended, vanished, refused, unsent, .. } = totals;
    format!(
        "flows: {flows}, ended: {ended}; vanished datapaths: {vanished}; messages refused: {refused}, unsent: {unsent}"
    )
}

fn row(flow: &FlowStatus, reports: f64) -> String {
    let FlowStatus { datapath, flow: number, algorithm, peer, window, rate, .. } = flow;
    let algorithm = if algorithm.is_empty() { "(default)" } else { algorithm };
    let or_none =
        |value: &Option<u64>, unit| value.map_or_else(|| "-".to_owned(), |value| format!("{value} {unit}"));
    let datapath = datapath.file_name().unwrap_or_default().to_string_lossy();
    if !flow.is_controlled() {
        return format!(
            "  {algorithm:<12} {peer:<21} {:<63}  {}:{number}",
            "no report yet: its own control goes on",
            escaped(&datapath)
        );
    }
    format!(
        "  {algorithm:<12} {peer:<21} window {:<14} rate {:<16} {reports:>7.0} reports/s  {}:{number}",
        or_none(window, "B"),
        or_none(rate, "B/s"),
        escaped(&datapath),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(number: u32, reports: u64) -> FlowStatus {
        FlowStatus {
            datapath: "/run/user/1/bertha-ccp-7-0".into(),
            flow: number,
            algorithm: "copa".into(),
            peer: "127.0.0.1:9".parse().unwrap(),
            reports,
            window: Some(12_000),
            rate: None,
        }
    }

    #[test]
    fn a_table_counts_the_reports_since_the_table_before() {
        let mut shown = Shown::default();
        let second = Duration::from_secs(2);
        let totals = AgentTotals::default();
        assert!(shown.next(Vec::new(), totals, second).is_empty());
        shown.next(vec![flow(1, 100)], totals, second);
        let lines = shown.next(vec![flow(1, 150), flow(2, 8)], totals, second);
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("flows: 2, ended: 0"), "{lines:?}");
        assert!(
            lines[1].contains("copa") && lines[1].contains("12000 B ") && lines[1].contains(" 25 reports/s")
        );
        assert!(lines[2].contains(" 4 reports/s") && lines[2].ends_with("bertha-ccp-7-0:2"), "{lines:?}");
    }

    #[test]
    fn a_flow_that_has_not_reported_is_not_controlled() {
        let lines = Shown::default().next(vec![flow(1, 0)], AgentTotals::default(), Duration::from_secs(1));
        assert!(lines[1].contains("no report yet") && !lines[1].contains("12000"), "{lines:?}");
        assert!(lines[1].ends_with("bertha-ccp-7-0:1"), "{lines:?}");
    }

    #[test]
    fn many_flows_make_no_long_table() {
        let flows = (0..100).map(|number| flow(number, 0)).collect();
        let lines = Shown::default().next(flows, AgentTotals::default(), Duration::from_secs(1));
        assert_eq!(lines.len(), 1 + ROWS + 1);
        assert_eq!(lines.last().unwrap(), "  and 76 more");
    }
}
