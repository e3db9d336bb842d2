//! The cause of each message that a participant of a topic has missed.
//!
//! A message goes from its publisher to a receiver, by way of the sequencer if the group has one; the store
//! records which participants are present. A failure of the publisher, the receiver, the sequencer or the
//! store while the message was sent, or shortly before or after, may have cost the message. A failure of any
//! other participant is no excuse.

use super::publisher::LEASE;
use super::schedule::Failure;
use super::topic::{History, Line, What};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// Time before a failure in which a message may have been sent that the failure cost: the message lies in a
/// socket, or with the sequencer.
const BEFORE: Duration = Duration::from_millis(500);

/// Time after a failure in which a message may have been sent that the failure cost. The store takes a failed
/// participant for gone one lease later; the other participants then wait up to three leases for participants
/// that have yet to stage another stack. Losses were seen for up to 4.7 seconds.
const AFTER: Duration = Duration::from_secs(4 * LEASE);

/// The stack in which one participant orders for all participants.
const SEQUENCED: &str = "SequencerOrdered";

/// A failure that was injected. `from` and `to` are its beginning and end, in nanoseconds of the clock of all
/// hosts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Injected {
    pub(crate) failure: Failure,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// A message that one participant has missed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Missed {
    publisher: u32,
    number: u32,
    receiver: u32,
    /// The participants that may have put the message in order for all participants: they said so, or may
    /// have died before they could.
    sequencers: Vec<u32>,
    /// True if the receiver was in another round than the publisher, since the group had taken the receiver
    /// or the publisher for gone and had yet to let it in again. The time until then has no bound while other
    /// failures last.
    apart: bool,
    /// The time at which the publisher began to send the message; `to` is the time at which the publisher had
    /// sent it.
    from: u64,
    to: u64,
}

/// Finds the failure that accounts for each missed message. Returns the number of missed messages.
///
/// `hits` returns true if a failure concerns a participant.
///
/// # Errors
/// The first missed message that no failure accounts for.
pub(crate) fn tie(
    histories: &[History],
    injected: &[Injected],
    hits: impl Fn(Failure, u32) -> bool,
) -> Result<usize, String> {
    let missed = missed(histories);
    for message in &missed {
        let ends = [message.publisher, message.receiver];
        let on_its_way = || ends.iter().chain(&message.sequencers);
        let is_to_blame = |injected: &&Injected| {
            injected.from.saturating_sub(nanos(BEFORE)) <= message.to
                && (message.apart || message.from <= injected.to.saturating_add(nanos(AFTER)))
                && on_its_way().any(|participant| hits(injected.failure, *participant))
        };
        if injected.iter().find(is_to_blame).is_none() {
            return Err(format!("{message}, and no failure accounts for that"));
        }
    }
    Ok(missed.len())
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { publisher, number, receiver, sequencers, from, to, .. } = self;
        write!(f, "{receiver} did not receive message {number} of {publisher}, sent from {from} to {to} ns")?;
        match sequencers[..] {
            [] => Ok(()),
            _ => write!(f, " by way of one of {sequencers:?}"),
        }
    }
}

/// The stay of a participant.
struct Stay {
    from: u64,
    to: u64,
    /// The times at which the participant changed the round, with the number of the round, and true if a
    /// participant orders for all participants in that round.
    rounds: Vec<(u64, u64, bool)>,
    received: BTreeSet<(u32, u32)>,
    /// The times at which the participant began and ended to send each message. A message whose sending
    /// failed is missed by no participant.
    sent: BTreeMap<u32, (u64, u64)>,
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

fn stays(histories: &[History]) -> BTreeMap<u32, Stay> {
    let mut stays: BTreeMap<u32, Stay> = BTreeMap::new();
    for Line { at, participant, what } in histories.iter().flatten() {
        let stay = stays.entry(*participant).or_insert_with(|| Stay {
            from: *at,
            to: *at,
            rounds: Vec::new(),
            received: BTreeSet::new(),
            sent: BTreeMap::new(),
        });
        stay.to = *at;
        match what {
            What::Joined { round, stack, .. } | What::Changed { round, stack, .. } => {
                stay.rounds.push((*at, *round, stack.contains(SEQUENCED)));
            }
            What::Received { publisher, number } => drop(stay.received.insert((*publisher, *number))),
            What::Sending { number } => drop(stay.sent.insert(*number, (*at, u64::MAX))),
            What::Sent { number, error: None } => {
                stay.sent.entry(*number).and_modify(|(_, to)| *to = *at);
            }
            What::Sent { number, error: Some(_) } => drop(stay.sent.remove(number)),
            _ => {}
        }
    }
    stays
}

/// Returns the leaders of rounds, each with the time from which it leads.
fn leaders(histories: &[History]) -> Vec<(u64, u64, u32)> {
    let leads = |line: &Line| match line.what {
        What::Joined { round, leads: true, .. } | What::Changed { round, leads: true, .. } => {
            Some((line.at, round, line.participant))
        }
        _ => None,
    };
    histories.iter().flatten().filter_map(leads).collect()
}

/// Returns the participants that may have ordered for all in a round to which a participant changed at the
/// time `at`. A participant that proposed a round and died still leads the round until another participant
/// takes over, and its history does not say so.
fn sequencers(stays: &BTreeMap<u32, Stay>, leaders: &[(u64, u64, u32)], at: u64, number: u64) -> Vec<u32> {
    let of_round = leaders.iter().filter(|(_, round, _)| *round == number);
    match of_round.min_by_key(|(since, ..)| since.abs_diff(at)) {
        Some((.., leader)) => vec![*leader],
        None => stays.iter().filter(|(_, stay)| stay.to < at).map(|(id, _)| *id).collect(),
    }
}

/// Returns all messages that a participant has missed: messages between two received messages of a publisher,
/// and messages that were sent while the participant had been there for some time and stayed for some time.
fn missed(histories: &[History]) -> Vec<Missed> {
    let (stays, leaders) = (stays(histories), leaders(histories));
    let mut missed = Vec::new();
    for (receiver, stay) in &stays {
        let settled = stay.from + nanos(AFTER)..=stay.to.saturating_sub(nanos(AFTER));
        for (publisher, other) in stays.iter().filter(|(publisher, _)| *publisher != receiver) {
            let of = |number| (*publisher, number);
            let mut received = stay.received.range(of(0)..=of(u32::MAX)).map(|(_, number)| *number);
            let (first, last) = (received.next(), received.next_back());
            for (number, (from, to)) in &other.sent {
                let is_between = first.is_some_and(|first| first < *number) && last > Some(*number);
                if (is_between || settled.contains(from)) && !stay.received.contains(&of(*number)) {
                    let round = other.rounds.iter().rfind(|(at, ..)| at <= to);
                    let ordered = round.filter(|round| round.2);
                    let sequencers =
                        ordered.map(|(at, number, _)| sequencers(&stays, &leaders, *at, *number));
                    let its_round = stay.rounds.iter().rfind(|(at, ..)| at <= to);
                    let apart = its_round.map(|round| round.1) != round.map(|round| round.1);
                    missed.push(Missed {
                        publisher: *publisher,
                        number: *number,
                        receiver: *receiver,
                        sequencers: sequencers.unwrap_or_default(),
                        apart,
                        from: *from,
                        to: *to,
                    });
                }
            }
        }
    }
    missed
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Makes the histories of two participants that each publish a message a second, and were there from the
    /// beginning. The second participant has missed the messages of the first with these numbers. If `leads`
    /// is true, it orders for both.
    fn histories(missed: &[u32], leads: bool) -> Vec<History> {
        let stack = if leads { "Serialize / SequencerOrdered" } else { "Serialize / ReceiverOrdered" };
        let history = |id: u32| {
            let line = |at, what| Line { at, participant: id, what };
            let mut history =
                vec![line(0, What::Joined { round: 1, stack: stack.into(), leads: leads && id == 2 })];
            for number in 0..60 {
                let (at, publisher) = (u64::from(number) * SECOND, 3 - id);
                history.push(line(at, What::Sending { number }));
                history.push(line(at, What::Sent { number, error: None }));
                if id == 1 || !missed.contains(&number) {
                    history.push(line(at, What::Received { publisher, number }));
                }
            }
            history
        };
        [1, 2].map(history).into()
    }

    /// Makes a failure that hit a participant, from one second to another.
    fn hit(participant: usize, from: u64, to: u64) -> Injected {
        Injected { failure: Failure::Cut(participant), from: from * SECOND, to: to * SECOND }
    }

    fn tied(missed: &[u32], injected: &[Injected]) -> Result<usize, String> {
        tie(&histories(missed, false), injected, |failure, id| failure == Failure::Cut(id as usize))
    }

    #[test]
    fn what_was_missed_is_put_down_to_a_failure_of_its_publisher_or_receiver() {
        assert_eq!(tied(&[], &[]), Ok(0));
        assert_eq!(tied(&[30, 31], &[hit(1, 29, 32)]), Ok(2));
        assert_eq!(tied(&[30, 31], &[hit(2, 29, 32)]), Ok(2));
    }

    #[test]
    fn what_no_failure_accounts_for_is_found() {
        let error = tied(&[30], &[]).unwrap_err();
        assert!(error.starts_with("2 did not receive message 30 of 1, sent from 30000000000"), "{error}");
        tied(&[30], &[hit(3, 29, 32)]).unwrap_err();
        tied(&[30], &[hit(1, 31, 32)]).unwrap_err();
        tied(&[30], &[hit(1, 15, 20)]).unwrap_err();
        tied(&[30, 50], &[hit(1, 29, 32)]).unwrap_err();
        // The messages come after the last message that the receiver got of the publisher, but long before
        // its end.
        tied(&(40..60).collect::<Vec<_>>(), &[hit(1, 58, 59)]).unwrap_err();
    }

    #[test]
    fn shortly_before_and_after_a_failure_is_near_enough() {
        tied(&[30], &[hit(1, 30, 31)]).unwrap();
        tied(&[30], &[hit(1, 20, 25)]).unwrap();
        // The receiver may have left, or only just come.
        tied(&[57, 58, 59], &[]).unwrap();
        tied(&[0, 1, 2], &[]).unwrap();
    }

    #[test]
    fn who_is_in_another_round_has_yet_to_come_back_from_a_failure() {
        let hits = |failure, id| failure == Failure::Cut(id as usize);
        let mut apart = histories(&[40], false);
        let (stack, leads) = ("Serialize / ReceiverOrdered".into(), false);
        let change = Line { at: 21 * SECOND, participant: 1, what: What::Changed { round: 2, stack, leads } };
        apart[0].push(change);
        assert_eq!(tie(&apart, &[hit(2, 10, 20)], hits), Ok(1));
        tie(&apart, &[hit(2, 50, 51)], hits).unwrap_err();
        tie(&histories(&[40], false), &[hit(2, 10, 20)], hits).unwrap_err();
    }

    #[test]
    fn a_message_is_also_put_down_to_the_sequencer_if_there_is_one() {
        let hits = |failure, id| failure == Failure::Cut(id as usize);
        let third = |histories: Vec<History>| {
            let mut histories = histories;
            // A third participant leads, and does nothing else.
            histories[1][0].what =
                What::Joined { round: 1, stack: "Serialize / SequencerOrdered".into(), leads: false };
            let (stack, leads) = ("Serialize / SequencerOrdered".into(), true);
            histories.push(vec![Line {
                at: 0,
                participant: 3,
                what: What::Joined { round: 1, stack, leads },
            }]);
            histories
        };
        assert_eq!(tie(&third(histories(&[30], true)), &[hit(3, 29, 32)], hits), Ok(1));
        tie(&third(histories(&[30], false)), &[hit(3, 29, 32)], hits).unwrap_err();
        // The third participant dies before it knows that it leads.
        let mut unsaid = third(histories(&[30], true));
        let (stack, leads) = ("Serialize / ReceiverOrdered".into(), false);
        unsaid[2][0].what = What::Joined { round: 0, stack, leads };
        for history in &mut unsaid[..2] {
            history[0].at = SECOND;
        }
        assert_eq!(tie(&unsaid, &[hit(3, 29, 32)], hits), Ok(1));
        unsaid[2].push(Line { at: 59 * SECOND, participant: 3, what: What::Participants { count: 3 } });
        tie(&unsaid, &[hit(3, 29, 32)], hits).unwrap_err();
    }
}
