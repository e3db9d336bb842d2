//! Checks of histories in which each message reaches a single receiver.

use crate::check::{Id, Summary, wrong};
use crate::history::{Line, What};
use bertha_core::Error;
use std::collections::{BTreeMap, BTreeSet};

/// Checks that the receivers together got every message that was sent, no message that was not sent, and,
/// unless they are unordered, the messages of each publisher and group in order.
///
/// A message is recorded before it is acknowledged, and a service that keeps an order delivers the next
/// message of its group after that. So the order holds across receivers as well, by the host's clock.
/// Services deliver some messages more than once; the summary counts repetitions, and the order is that of
/// the first arrivals.
///
/// # Errors
/// Fails if a condition does not hold; the text says which.
pub(crate) fn check(lines: &[Line], is_ordered: bool) -> Result<Summary, Error> {
    let mut summary = Summary::default();
    let mut lines: Vec<&Line> = lines.iter().collect();
    lines.sort_by_key(|line| line.at);
    let mut participants = BTreeSet::new();
    let mut rounds = BTreeMap::new();
    let (mut attempted, mut sent, mut seen): (BTreeSet<Id>, BTreeSet<Id>, BTreeSet<Id>) = Default::default();
    let mut last: BTreeMap<(u32, u8), u32> = BTreeMap::new();
    for line in lines {
        match &line.what {
            What::Joined { round, stack, .. } | What::Changed { round, stack, .. } => {
                participants.insert(line.participant);
                rounds.insert(*round, stack.clone());
            }
            What::Sending { number } => drop(attempted.insert((line.participant, *number))),
            What::Sent { number, error: None } => drop(sent.insert((line.participant, *number))),
            What::Received { publisher, number, group, .. } => {
                let receiver = line.participant;
                let id = (*publisher, *number);
                if !attempted.contains(&id) {
                    return Err(wrong(format!(
                        "{receiver} received {number} of {publisher}, which was not sent"
                    )));
                }
                if !seen.insert(id) {
                    summary.repeated += 1;
                } else if let Some(before) = last.insert((*publisher, *group), *number)
                    && before > *number
                    && is_ordered
                {
                    return Err(wrong(format!(
                        "{receiver} received {number} of {publisher} after {before}, which is later in group {group}"
                    )));
                }
                summary.received += 1;
            }
            _ => {}
        }
    }
    let mut missing = sent.difference(&seen);
    if let Some((publisher, number)) = missing.next() {
        let others = missing.count();
        return Err(wrong(format!("nobody received {number} of {publisher}, and {others} others")));
    }
    (summary.participants, summary.sent) = (participants.len(), sent.len());
    summary.rounds = rounds.into_iter().collect();
    Ok(summary)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    /// Checks a history in which publisher 1 has sent 0 to 3 in two groups.
    fn says(received: &[(u32, u32)], is_ordered: bool) -> String {
        let sent = (0..4).flat_map(|number| {
            [What::Sending { number }, What::Sent { number, error: None }].map(|what| (1, what))
        });
        let received = received.iter().map(|(receiver, number)| {
            let group = (number % 2) as u8;
            (*receiver, What::Received { publisher: 1, number: *number, group, sent: 0 })
        });
        let all = sent.chain(received).enumerate();
        let lines: Vec<Line> =
            all.map(|(at, (participant, what))| Line { at: at as u64, participant, what }).collect();
        match check(&lines, is_ordered) {
            Ok(summary) => format!("{} received, {} repeated", summary.received, summary.repeated),
            Err(error) => error.context().to_owned(),
        }
    }

    #[test]
    fn receivers_are_judged_together() {
        assert_eq!(says(&[(2, 1), (3, 0), (2, 2), (3, 3)], true), "4 received, 0 repeated");
        assert_eq!(says(&[(2, 0), (3, 0), (2, 1), (3, 2), (2, 3)], true), "5 received, 1 repeated");
        assert!(says(&[(2, 0), (2, 1), (3, 3)], true).contains("nobody received 2"));
        assert!(says(&[(2, 0), (2, 7)], true).contains("not sent"));
        let swapped = [(2, 2), (3, 0), (2, 1), (3, 3)];
        assert!(says(&swapped, true).contains("0 of 1 after 2"));
        assert_eq!(says(&swapped, false), "4 received, 0 repeated");
    }
}
