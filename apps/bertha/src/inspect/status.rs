//! The status of a connection.

use bertha_negotiation::rendezvous::member::{Recorded, View};
use bertha_negotiation::rendezvous::{Name, Snapshot};
use bertha_program::escaped;
use serde::Serialize;

/// The problem of a connection that has no entries any more.
const GONE: &str = "gone";

/// The state of a connection in its printed form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Status {
    pub(crate) name: String,
    /// Life of the record: it changes when the store loses its data.
    pub(crate) life: Option<String>,
    pub(crate) round: Option<u64>,
    /// The active stack, top first.
    pub(crate) stack: Option<String>,
    pub(crate) participants: Vec<Participant>,
    pub(crate) upgrade: Option<Upgrade>,
    /// The reason why the latest upgrade failed.
    pub(crate) refused: Option<String>,
    /// The problem of the connection.
    pub(crate) problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Participant {
    pub(crate) id: String,
    /// The round that was active when the participant last wrote.
    pub(crate) active: u64,
    /// The latest round that the participant staged.
    pub(crate) staged: u64,
}

/// The upgrade under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Upgrade {
    pub(crate) round: u64,
    pub(crate) stack: String,
    /// The participants that have not staged the upgrade.
    pub(crate) waits_for: Vec<String>,
}

impl Status {
    /// Returns the status of a connection about which nothing is known.
    pub(crate) fn unknown(name: &Name) -> Self {
        Self {
            name: name.to_string(),
            life: None,
            round: None,
            stack: None,
            participants: Vec::new(),
            upgrade: None,
            refused: None,
            problem: None,
        }
    }

    /// Returns true if the connection has neither participants nor entries.
    pub(crate) fn is_gone(&self) -> bool {
        self.problem.as_deref() == Some(GONE)
    }

    pub(crate) fn of(name: &Name, snapshot: &Snapshot) -> Self {
        let view = View::of(snapshot);
        let participants = view.participants.iter().map(|(id, (_, presence))| Participant {
            id: format!("{id:016x}"),
            active: presence.active,
            staged: presence.accepted,
        });
        let mut status = Self { participants: participants.collect(), ..Self::unknown(name) };
        match &view.record {
            Recorded::Record(record) => {
                let missing =
                    |round, stack| view.missing(round, stack).map(|id| format!("{id:016x}")).collect();
                status.life = Some(format!("{:016x}", record.life));
                status.round = Some(record.round);
                status.stack = Some(escaped(&record.stack.to_string()));
                status.upgrade = record.proposal.as_ref().map(|proposal| Upgrade {
                    round: proposal.round,
                    stack: escaped(&proposal.stack.to_string()),
                    waits_for: missing(proposal.round, &proposal.stack),
                });
                status.refused = record
                    .refusal
                    .as_ref()
                    .map(|refusal| format!("round {}: {}", refusal.round, escaped(&refusal.reason)));
                let disputed: Vec<String> = missing(record.round, &record.stack);
                status.problem = if view.participants.is_empty() {
                    Some("abandoned".into())
                } else if disputed.is_empty() {
                    None
                } else {
                    Some(format!("not agreed to by {}", disputed.join(", ")))
                };
            }
            Recorded::Malformed(reason) => {
                status.problem = Some(format!("malformed record: {}", escaped(reason)))
            }
            Recorded::Absent if view.participants.is_empty() => status.problem = Some(GONE.into()),
            Recorded::Absent => status.problem = Some("no record".into()),
        }
        status
    }

    /// Returns remarks for human readers, besides the active stack.
    pub(crate) fn remark(&self) -> String {
        let upgrade = self.upgrade.as_ref().map(|upgrade| {
            let Upgrade { round, stack, waits_for } = upgrade;
            format!("round {round}: {stack}, waits for {}", waits_for.len())
        });
        let remarks: Vec<String> = upgrade.into_iter().chain(self.problem.clone()).collect();
        remarks.join("; ")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use bertha::core::{LayerInfo, Node};
    use bertha_negotiation::rendezvous::member::Description;
    use bertha_negotiation::rendezvous::member::record::{Proposal, RECORD, Record, Refusal, VERSION};
    use bertha_negotiation::rendezvous::{Entry, Revision};

    #[test]
    fn text_of_the_store_reaches_no_terminal_as_it_is() {
        let layers = vec![Node::Layer(LayerInfo::plain("evil::\u{1b}[2J", 1))];
        let stack = Description::of(&layers, &[]).unwrap();
        let record = Record {
            life: 1,
            round: 1,
            stack: stack.clone(),
            leader: 1,
            last: 2,
            proposal: Some(Proposal { round: 2, proposer: 1, stack }),
            refusal: Some(Refusal { round: 2, by: None, reason: "\u{1b}]0;title\u{7}".into() }),
        };
        let value = postcard::to_extend(&record, vec![VERSION]).unwrap();
        let mut snapshot = Snapshot::default();
        snapshot.entries.insert(RECORD.into(), Entry { version: Revision(1), value });
        let status = Status::of(&Name::new("topic").unwrap(), &snapshot);
        assert_eq!(status.stack.as_deref(), Some(r"\u{1b}[2J"));
        let shown = format!("{}{}", serde_json::to_string(&status).unwrap(), status.remark());
        assert!(!shown.contains(char::is_control) && status.refused.is_some(), "{shown:?}");
    }
}
