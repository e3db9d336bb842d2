//! Tickets, by which a server recognises first flights that were made for it a short while ago (RFC 8446
//! section 8.3).

use crate::auth::{MAC, MacKey};
use crate::wire::{PresentedTicket, TICKET};
use std::time::{Duration, Instant};

/// Maximum difference between the times at which a first flight was sent and arrives.
pub(super) const FRESHNESS: Duration = Duration::from_secs(10);

/// A server's tickets: the time of the ticket in four bytes, and a MAC over the time.
///
/// The secret is drawn when the server starts and never leaves the process: a ticket of another server, or of
/// this server before a restart, is not valid, even if the servers share keys. A ticket proves nothing about
/// its holder.
#[derive(Debug)]
pub struct Tickets {
    secret: MacKey,
    start: Instant,
}

impl Tickets {
    /// Makes tickets under a secret of 32 random bytes, for a server that starts at `start`.
    pub fn new(secret: [u8; 32], start: Instant) -> Self {
        Self { secret: MacKey::new(secret), start }
    }

    /// Returns the ticket for an answer that is made now.
    pub fn issue(&self, now: Instant) -> [u8; TICKET] {
        let seconds = now.saturating_duration_since(self.start).as_secs();
        let made = u32::try_from(seconds).unwrap_or(u32::MAX).to_le_bytes();
        let mut ticket = [0; TICKET];
        let (time, mac) = ticket.split_at_mut(TICKET - MAC);
        time.copy_from_slice(&made);
        mac.copy_from_slice(&self.secret.tag(&[&made]));
        ticket
    }

    /// Returns true if this server has issued the ticket, and its holder presents it now.
    pub fn is_fresh(&self, now: Instant, presented: &PresentedTicket) -> bool {
        let Some((made, mac)) = presented.ticket.split_first_chunk::<{ TICKET - MAC }>() else {
            return false;
        };
        let Ok(mac) = mac.try_into() else { return false };
        let issued = Duration::from_secs(u32::from_le_bytes(*made).into());
        let presented = issued + Duration::from_millis(presented.age_ms.into());
        let is_now = now.saturating_duration_since(self.start).abs_diff(presented) <= FRESHNESS;
        is_now && self.secret.is_tag(&[made], mac)
    }
}

/// A ticket at its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldTicket {
    /// The ticket.
    pub ticket: [u8; TICKET],
    /// Time at which the answer with the ticket arrived.
    pub received: Instant,
}

impl HeldTicket {
    /// Returns the ticket for an offer that is sent now. An age beyond 49 days does not fit, and is not fresh
    /// for any server.
    pub fn presented(&self, now: Instant) -> PresentedTicket {
        let age = now.saturating_duration_since(self.received).as_millis();
        PresentedTicket { ticket: self.ticket, age_ms: u32::try_from(age).unwrap_or(u32::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Presented so long after the ticket was issued, with an age that is off by so many seconds.
    fn is_fresh(tickets: &Tickets, held: HeldTicket, after: u64, off: i64) -> bool {
        let now = held.received + Duration::from_secs(after);
        let mut presented = held.presented(now);
        presented.age_ms = presented.age_ms.saturating_add_signed(i32::try_from(off * 1000).unwrap());
        tickets.is_fresh(now, &presented)
    }

    #[test]
    fn a_ticket_is_fresh_as_long_as_clocks_agree() {
        let start = Instant::now();
        let (tickets, received) = (Tickets::new([7; 32], start), start + Duration::from_secs(1000));
        let held = HeldTicket { ticket: tickets.issue(received), received };
        for after in [0, 60, 3600, 7 * 24 * 3600] {
            assert!(is_fresh(&tickets, held, after, 0) && is_fresh(&tickets, held, after, 10));
            assert!(!is_fresh(&tickets, held, after, 11));
            assert!(
                after == 0 || is_fresh(&tickets, held, after, -10) && !is_fresh(&tickets, held, after, -11)
            );
        }
    }

    #[test]
    fn a_flight_that_is_played_back_later_is_stale() {
        let start = Instant::now();
        let tickets = Tickets::new([7; 32], start);
        let held = HeldTicket { ticket: tickets.issue(start), received: start };
        let sent = start + Duration::from_secs(60);
        let presented = held.presented(sent);
        assert!(tickets.is_fresh(sent, &presented) && tickets.is_fresh(sent + FRESHNESS, &presented));
        assert!(!tickets.is_fresh(sent + FRESHNESS + Duration::from_millis(1), &presented));
    }

    #[test]
    fn a_ticket_is_of_one_start_of_one_server() {
        let start = Instant::now();
        let tickets = Tickets::new([7; 32], start);
        let presented = HeldTicket { ticket: tickets.issue(start), received: start }.presented(start);
        assert!(tickets.is_fresh(start, &presented));
        assert!(!Tickets::new([8; 32], start).is_fresh(start, &presented));
        for bit in 0..TICKET * 8 {
            let mut other = presented;
            other.ticket[bit / 8] ^= 1 << (bit % 8);
            assert!(!tickets.is_fresh(start, &other), "bit {bit}");
        }
    }
}
