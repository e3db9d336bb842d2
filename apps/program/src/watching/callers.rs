//! The connections of those who ask for metrics.

use std::collections::VecDeque;
use std::net::IpAddr;
use tokio::task::AbortHandle;

/// Largest number of connections. A newcomer beyond takes the place of the oldest of the address with most, which has had the most time.
const MOST: usize = 64;

/// The connections that are open, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Callers(VecDeque<(IpAddr, AbortHandle)>);

impl Callers {
    /// Makes room for a connection from an address.
    pub(super) fn make_room(&mut self, newcomer: IpAddr) {
        self.0.retain(|(_, task)| !task.is_finished());
        if self.0.len() >= MOST {
            let has = |ip: IpAddr| {
                self.0.iter().filter(|(other, _)| *other == ip).count() + usize::from(ip == newcomer)
            };
            let most = self.0.iter().map(|(ip, _)| has(*ip)).max();
            let place = self.0.iter().position(|(ip, _)| Some(has(*ip)) == most);
            self.end(place.unwrap_or(0));
        }
    }

    /// Ends the connection that has been there for longest, if there is one.
    pub(super) fn end_oldest(&mut self) {
        self.end(0);
    }

    fn end(&mut self, place: usize) {
        if let Some((_, task)) = self.0.remove(place) {
            task.abort();
        }
    }

    pub(super) fn add(&mut self, ip: IpAddr, task: AbortHandle) {
        self.0.push_back((ip, task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    #[tokio::test]
    async fn an_address_with_many_connections_gives_its_own_to_newcomers() {
        let mut callers = Callers::default();
        let mut come = |last: u8| {
            let ip = IpAddr::from([10, 0, 0, last]);
            callers.make_room(ip);
            let task = tokio::spawn(pending::<()>());
            callers.add(ip, task.abort_handle());
            task
        };
        let scraper = come(1);
        let flood: Vec<_> = (0..500).map(|_| come(2)).collect();
        let other = come(3);
        // The runtime ends some of the tasks in each turn.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(!scraper.is_finished() && !other.is_finished());
        assert_eq!(flood.iter().filter(|task| !task.is_finished()).count(), MOST - 2);
        assert!(!flood[499].is_finished() && flood[0].is_finished(), "the oldest goes");
    }
}
