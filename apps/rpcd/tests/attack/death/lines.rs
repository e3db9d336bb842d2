//! The lines in which an application tells of its calls.

use super::super::SOON;
use super::ledger::Ledger;
use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// The lines of an application, which a thread reads.
pub(super) struct Lines {
    receiver: Receiver<String>,
    reading: JoinHandle<()>,
}

impl Lines {
    pub(super) fn of(child: &mut Child) -> Self {
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, receiver) = channel();
        let reading = std::thread::spawn(move || {
            output.lines().map(Result::unwrap).for_each(|line| sender.send(line).unwrap());
        });
        Self { receiver, reading }
    }

    /// Notes the lines that have come.
    pub(super) fn note(&self, ledger: &mut Ledger) {
        self.receiver.try_iter().for_each(|line| ledger.note(&line));
    }

    /// Notes lines until one ends with this word.
    pub(super) fn wait_for(&self, word: &str, ledger: &mut Ledger) {
        // An application tells of calls that fail, too, without end.
        let until = Instant::now() + SOON;
        loop {
            let line = self.receiver.recv_timeout(SOON).unwrap();
            ledger.note(&line);
            if line.ends_with(word) {
                return;
            }
            assert!(Instant::now() < until, "no line ends with {word}");
        }
    }

    /// Has the application leave, and notes its last lines.
    pub(super) fn end(self, mut child: Child, ledger: &mut Ledger) {
        drop(child.stdin.take());
        self.wait_for("left", ledger);
        assert!(child.wait().unwrap().success());
        self.reading.join().unwrap();
    }
}
