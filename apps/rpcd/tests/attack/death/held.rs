//! The descriptors, mappings and memory of a process.

use super::super::SOON;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Number of open descriptors of a process, and of mappings of memory that it shares with others: heaps and queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    files: usize,
    heaps: usize,
}

impl Held {
    /// Counts what a process holds, whose name is a number or `self`.
    pub(super) fn by(process: &str) -> Self {
        let folder = PathBuf::from("/proc").join(process);
        let maps = fs::read_to_string(folder.join("maps")).unwrap();
        let heaps = maps.lines().filter(|line| line.contains("/memfd:")).count();
        Self { files: fs::read_dir(folder.join("fd")).unwrap().count(), heaps }
    }

    /// Waits until a process holds the same for some time.
    pub(super) fn at_rest(process: &str) -> Self {
        let (mut held, mut looks, until) = (Self::by(process), 0, Instant::now() + SOON);
        while looks < 10 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
            let now = Self::by(process);
            looks = if now == held { looks + 1 } else { 0 };
            held = now;
        }
        held
    }

    /// Waits until the process holds this again.
    pub(super) fn comes_again(self, process: &str) {
        self.comes_again_with(0, process);
    }

    /// Waits until the process holds this again, and at most so many connections to other daemons, which stay.
    pub(super) fn comes_again_with(self, connections: usize, process: &str) {
        let until = Instant::now() + SOON;
        loop {
            let now = Self::by(process);
            if now.heaps == self.heaps && (self.files..=self.files + connections).contains(&now.files) {
                return;
            }
            assert!(Instant::now() < until, "{self:?} before, and {now:?} now");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
