//! The schedule of failures.

use super::dice::Dice;
use super::services::Service;
use std::time::Duration;

/// A part that fails for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Failure {
    /// A process is killed, and started again in the end.
    Killed(usize),
    /// A process hangs.
    Stopped(usize),
    /// A host is cut off from all other hosts.
    Cut(usize),
    /// A host's messages to the stores vanish, and no other messages.
    Blackholed(usize),
    /// A store is killed, and started again in the end.
    StoreKilled(Service),
    /// A store hangs.
    StoreStopped(Service),
}

/// A part that must not fail in two ways at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Process(usize),
    Host(usize),
    Store(Service),
}

impl Failure {
    fn target(self) -> Target {
        match self {
            Self::Killed(process) | Self::Stopped(process) => Target::Process(process),
            Self::Cut(host) | Self::Blackholed(host) => Target::Host(host),
            Self::StoreKilled(store) | Self::StoreStopped(store) => Target::Store(store),
        }
    }
}

/// The beginning or the end of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) at: Duration,
    pub(crate) failure: Failure,
    pub(crate) begins: bool,
}

/// Makes a schedule of failures of this length, for this number of processes and hosts, in the order in which
/// they happen. All failures are over in the end.
pub(crate) fn schedule(seed: u64, lasting: Duration, processes: usize, hosts: usize) -> Vec<Step> {
    let mut dice = Dice::new(seed);
    let millis = |least: u64, span: u64, dice: &mut Dice| Duration::from_millis(least + dice.roll(span));
    let (mut steps, mut busy): (Vec<Step>, Vec<(Target, Duration)>) = (Vec::new(), Vec::new());
    // All processes get to work first.
    let mut now = Duration::from_secs(2);
    loop {
        now += millis(300, 1500, &mut dice);
        let over = now + millis(300, 5000, &mut dice);
        if over > lasting {
            break;
        }
        let (process, host) = (dice.roll(processes as u64) as usize, 1 + dice.roll(hosts as u64) as usize);
        let store = Service::ALL[dice.roll(2) as usize];
        let failure = match dice.roll(10) {
            0..=2 => Failure::Killed(process),
            3..=4 => Failure::Stopped(process),
            5..=6 => Failure::Cut(host),
            7 => Failure::Blackholed(host),
            8 => Failure::StoreKilled(store),
            _ => Failure::StoreStopped(store),
        };
        busy.retain(|(_, until)| *until >= now);
        if busy.iter().all(|(target, _)| *target != failure.target()) {
            busy.push((failure.target(), over));
            steps.push(Step { at: now, failure, begins: true });
            steps.push(Step { at: over, failure, begins: false });
        }
    }
    steps.sort_by_key(|step| step.at);
    steps
}

#[test]
fn failures_end_and_hit_a_target_one_at_a_time() {
    let mut kinds = std::collections::HashSet::new();
    for seed in 0..100 {
        let mut under_way: Vec<Failure> = Vec::new();
        let steps = schedule(seed, Duration::from_secs(60), 10, 4);
        assert!(steps.len() > 30, "{} steps", steps.len());
        for step in steps {
            kinds.insert(std::mem::discriminant(&step.failure));
            assert!(step.at <= Duration::from_secs(60));
            if step.begins {
                assert!(under_way.iter().all(|other| other.target() != step.failure.target()));
                under_way.push(step.failure);
            } else {
                under_way.retain(|other| *other != step.failure);
            }
        }
        assert_eq!(under_way, []);
    }
    assert_eq!(kinds.len(), 6);
}
