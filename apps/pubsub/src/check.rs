//! Checks of histories in which each message reaches all participants.

use crate::history::{Line, What};
use bertha_core::{Error, ErrorKind};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Publisher and number of a message.
pub(crate) type Id = (u32, u32);

/// The summary of a history.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    pub(crate) participants: usize,
    pub(crate) sent: usize,
    pub(crate) received: usize,
    /// Active stacks, from the first round to the last.
    pub(crate) rounds: Vec<(u64, String)>,
    /// Number of messages between others that a participant did not receive; 0 unless loss is allowed.
    pub(crate) missing: usize,
    /// Number of messages that arrived again; 0 except over a messaging service.
    pub(crate) repeated: usize,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { participants, sent, received, rounds, missing, repeated } = self;
        writeln!(
            f,
            "{participants} participants; messages: {sent} sent, {received} received, {missing} missing, {repeated} repeated"
        )?;
        let rounds: Vec<String> =
            rounds.iter().map(|(round, stack)| format!("round {round}: {stack}")).collect();
        write!(f, "{}", rounds.join("\n"))
    }
}

/// Checks that no message was received twice, out of its publisher's order or without having been sent, and
/// that no two participants disagree about the order of messages. Unless loss is allowed, also checks that a
/// participant received every message of a publisher from the first that it received on, until either left.
///
/// # Errors
/// Fails if a condition does not hold; the text says which.
pub(crate) fn check(lines: &[Line], is_lossy: bool) -> Result<Summary, Error> {
    let mut summary = Summary::default();
    let mut rounds = BTreeMap::new();
    let (mut sent, mut received): (BTreeSet<Id>, BTreeMap<u32, Vec<Id>>) = Default::default();
    for line in lines {
        match &line.what {
            What::Joined { round, stack, .. } | What::Changed { round, stack, .. } => {
                received.entry(line.participant).or_default();
                rounds.insert(*round, stack.clone());
            }
            What::Sending { number } => drop(sent.insert((line.participant, *number))),
            What::Received { publisher, number, .. } => {
                received.entry(line.participant).or_default().push((*publisher, *number));
            }
            _ => {}
        }
    }
    summary.participants = received.len();
    summary.sent = sent.len();
    summary.received = received.values().map(Vec::len).sum();
    summary.rounds = rounds.into_iter().collect();
    for (receiver, messages) in &received {
        summary.missing += of_one(*receiver, messages, &sent, is_lossy)?;
    }
    of_all(&received)?;
    Ok(summary)
}

pub(crate) fn wrong(what: String) -> Error {
    Error::new(ErrorKind::Malformed, what).at("history")
}

/// Checks the messages of a participant, and returns the number of missing messages between the first and the
/// last of each publisher.
fn of_one(receiver: u32, messages: &[Id], sent: &BTreeSet<Id>, is_lossy: bool) -> Result<usize, Error> {
    let mut last: BTreeMap<u32, u32> = BTreeMap::new();
    let mut missing = 0;
    for id @ (publisher, number) in messages {
        if !sent.contains(id) {
            return Err(wrong(format!("{receiver} received {number} of {publisher}, which was not sent")));
        }
        let gap = match last.insert(*publisher, *number) {
            None => 0,
            Some(before) if before >= *number => {
                return Err(wrong(format!("{receiver} received {number} of {publisher} after {before}")));
            }
            Some(before) => number - before - 1,
        };
        if gap > 0 && !is_lossy {
            return Err(wrong(format!(
                "{receiver} did not receive {gap} messages before {number} of {publisher}"
            )));
        }
        missing += gap as usize;
    }
    Ok(missing)
}

/// Checks that all participants agree on a single order.
fn of_all(received: &BTreeMap<u32, Vec<Id>>) -> Result<(), Error> {
    let places: Vec<(u32, BTreeMap<Id, usize>)> = received
        .iter()
        .map(|(receiver, messages)| {
            (*receiver, messages.iter().enumerate().map(|(at, id)| (*id, at)).collect())
        })
        .collect();
    for (receiver, messages) in received {
        for (other, places) in &places {
            let mut last = 0;
            for id in messages {
                let Some(place) = places.get(id) else { continue };
                if *place < last {
                    return Err(wrong(format!("{receiver} and {other} disagree on when {id:?} came")));
                }
                last = *place;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    fn history(received: &[(u32, &[Id])]) -> Vec<Line> {
        let line = |participant, what| Line { at: 0, participant, what };
        let sent = (0..9).flat_map(|it| [(1, it), (2, it)]);
        let sent = sent.map(|(publisher, number)| line(publisher, What::Sending { number }));
        let got = received.iter().flat_map(|(receiver, ids)| ids.iter().map(|id| (*receiver, *id)));
        let got = got.map(|(receiver, (publisher, number))| {
            line(receiver, What::Received { publisher, number, group: 0, sent: 0 })
        });
        sent.chain(got).collect()
    }

    fn says(received: &[(u32, &[Id])], is_lossy: bool) -> String {
        match check(&history(received), is_lossy) {
            Ok(summary) => format!("{} missing", summary.missing),
            Err(error) => error.context().to_owned(),
        }
    }

    #[test]
    fn what_is_wrong_is_found() {
        assert_eq!(says(&[(3, &[(1, 4), (2, 0), (1, 5)]), (4, &[(2, 0), (1, 5)])], false), "0 missing");
        assert!(says(&[(3, &[(1, 4), (1, 4)])], true).contains("after 4"));
        assert!(says(&[(3, &[(1, 4), (1, 3)])], true).contains("after 4"));
        assert!(says(&[(3, &[(1, 4), (1, 7)])], false).contains("did not receive 2"));
        assert_eq!(says(&[(3, &[(1, 4), (1, 7)])], true), "2 missing");
        assert!(says(&[(3, &[(1, 99)])], true).contains("not sent"));
        assert!(says(&[(3, &[(1, 4), (2, 0)]), (4, &[(2, 0), (1, 4)])], true).contains("disagree"));
    }
}
