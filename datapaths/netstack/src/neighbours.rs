//! Which hardware address a neighbour has: the cache of ARP (RFC 826, RFC 1122 section 2.3.2) and of neighbour discovery
//! (RFC 4861, simplified: an entry is known, stale or being asked for).

use crate::MacAddr;
use ahash::RandomState;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// For how long an address is believed.
const FRESH: Duration = Duration::from_secs(60);

/// How long to wait for an answer until asking again.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often to ask.
const TRIES: u8 = 3;

/// The most entries: strangers in a large subnet are to cost little memory.
const MOST: usize = 1024;

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The address, and until when it is believed without asking again.
    known: Option<(MacAddr, Instant)>,
    /// How often it was asked for since it was last heard, and when last.
    tries: u8,
    asked: Instant,
}

/// What is known about a neighbour, and what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) answer: Answer,
    /// A request is to be sent.
    pub(crate) ask: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This is its address, to be looked up again from then on.
    Known(MacAddr, Instant),
    /// It was asked for.
    Waiting,
    /// It was asked for in vain. The next look-up begins anew.
    Nobody,
}

/// The neighbours' addresses.
#[derive(Debug)]
pub(crate) struct Neighbours {
    table: HashMap<IpAddr, Entry, RandomState>,
    /// Changes whenever an address that was given out is no longer right.
    generation: u32,
}

impl Neighbours {
    pub(crate) fn new() -> Self {
        Self { table: HashMap::with_hasher(RandomState::new()), generation: 0 }
    }

    /// Changes whenever an address that was given out is no longer right.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// The address of `neighbour`, or what is being done to find it.
    pub(crate) fn look_up(&mut self, neighbour: IpAddr, now: Instant) -> Finding {
        let Some(entry) = self.table.get_mut(&neighbour) else {
            self.make_room();
            self.table.insert(neighbour, Entry { known: None, tries: 1, asked: now });
            return Finding { answer: Answer::Waiting, ask: true };
        };
        if let Some((mac, until)) = entry.known
            && now < until
        {
            return Finding { answer: Answer::Known(mac, until), ask: false };
        }
        // Unknown or stale. What is stale is used while it is asked for once more.
        let due = entry.tries == 0 || now.saturating_duration_since(entry.asked) >= PATIENCE;
        if due && entry.tries >= TRIES {
            self.table.remove(&neighbour);
            self.generation = self.generation.wrapping_add(1);
            return Finding { answer: Answer::Nobody, ask: false };
        }
        if due {
            entry.tries += 1;
            entry.asked = now;
        }
        let answer = match entry.known {
            Some((mac, _)) => Answer::Known(mac, entry.asked + PATIENCE),
            None => Answer::Waiting,
        };
        Finding { answer, ask: due }
    }

    /// `neighbour` said that this is its address. Somebody whom nobody asked for is remembered if it `asks_us`, since it is
    /// to get an answer (RFC 826).
    pub(crate) fn hear(&mut self, neighbour: IpAddr, mac: MacAddr, asks_us: bool, now: Instant) {
        let entry = Entry { known: Some((mac, now + FRESH)), tries: 0, asked: now };
        if let Some(old) = self.table.get_mut(&neighbour) {
            if old.known.is_some_and(|(before, _)| before != mac) {
                self.generation = self.generation.wrapping_add(1);
            }
            *old = entry;
        } else if asks_us {
            self.make_room();
            self.table.insert(neighbour, entry);
        }
    }

    /// Forgets whoever was heard of longest ago, if there are too many.
    fn make_room(&mut self) {
        if self.table.len() < MOST {
            return;
        }
        let oldest = self.table.iter().min_by_key(|(_, entry)| entry.asked).map(|(neighbour, _)| *neighbour);
        if let Some(oldest) = oldest {
            self.table.remove(&oldest);
            self.generation = self.generation.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
    const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn an_unknown_neighbour_is_asked_three_times() {
        let (mut neighbours, start) = (Neighbours::new(), Instant::now());
        let mut look_up = |after: f64| neighbours.look_up(IP, start + seconds(after));
        let (asked, waits) =
            (Finding { answer: Answer::Waiting, ask: true }, Finding { answer: Answer::Waiting, ask: false });
        assert_eq!(
            [0.0, 0.0, 0.9, 1.0, 1.1, 2.0].map(&mut look_up),
            [asked, waits, waits, asked, waits, asked]
        );
        assert_eq!(look_up(2.9), waits);
        assert_eq!(look_up(3.0), Finding { answer: Answer::Nobody, ask: false });
        assert_eq!(look_up(3.0), asked);
    }

    #[test]
    fn an_answer_lasts_a_minute_and_is_then_asked_for_while_it_is_used() {
        let (mut neighbours, start) = (Neighbours::new(), Instant::now());
        neighbours.look_up(IP, start);
        neighbours.hear(IP, MAC, false, start);
        let before = neighbours.generation();
        let fresh = neighbours.look_up(IP, start + seconds(59.0));
        assert_eq!(fresh, Finding { answer: Answer::Known(MAC, start + FRESH), ask: false });
        for (after, ask) in [(60.0, true), (60.5, false), (61.0, true), (62.0, true)] {
            let finding = neighbours.look_up(IP, start + seconds(after));
            assert!(matches!(finding.answer, Answer::Known(MAC, _)) && finding.ask == ask, "{after}");
        }
        assert_eq!(neighbours.generation(), before);
        assert_eq!(neighbours.look_up(IP, start + seconds(63.0)).answer, Answer::Nobody);
        assert_ne!(neighbours.generation(), before);
    }

    #[test]
    fn a_new_address_ends_what_was_given_out() {
        let (mut neighbours, start) = (Neighbours::new(), Instant::now());
        neighbours.hear(IP, MAC, true, start);
        let before = neighbours.generation();
        neighbours.hear(IP, MAC, false, start);
        assert_eq!(neighbours.generation(), before);
        neighbours.hear(IP, OTHER, false, start);
        assert_ne!(neighbours.generation(), before);
        assert!(matches!(neighbours.look_up(IP, start).answer, Answer::Known(OTHER, _)));
    }

    #[test]
    fn strangers_are_not_remembered_beyond_measure() {
        let (mut neighbours, start) = (Neighbours::new(), Instant::now());
        neighbours.hear(IP, MAC, false, start);
        assert_eq!(neighbours.look_up(IP, start).answer, Answer::Waiting);
        for number in 0..5000_u32 {
            let stranger = IpAddr::from((0x0a01_0000 + number).to_be_bytes());
            neighbours.hear(stranger, OTHER, true, start + Duration::from_millis(number.into()));
            assert!(neighbours.table.len() <= MOST);
        }
    }
}
