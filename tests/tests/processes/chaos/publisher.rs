//! The command line of a participant of `apps/pubsub`, and the lines that the test writes to it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval of the commands to publish. A publisher takes less than half of this time for a command, so a
/// publisher that hung catches up.
const PACE: Duration = Duration::from_millis(250);
const COMMAND: &[u8] = b"publish 10 10\n";

/// Time for which a publisher counts as present after the store has last heard of it, in seconds.
pub(crate) const LEASE: u64 = 2;

/// Number that is greater than the number of starts of a process in a run.
const STARTS: usize = 1000;

/// A participant of a topic, which publishes all the time.
pub(crate) struct Publisher {
    /// Number that differs from the numbers of other publishers of the topic.
    pub(crate) number: usize,
    /// The store's address, the multicast group, and the address of its host.
    pub(crate) store: String,
    pub(crate) group: String,
    pub(crate) interface: String,
    pub(crate) orders: Orders,
}

/// The source of the publisher's commands.
#[derive(Default)]
pub(crate) enum Orders {
    #[default]
    Nobody,
    /// A thread that ends when the channel does.
    Thread(Sender<()>, JoinHandle<ChildStdin>),
    Quiet {
        _input: ChildStdin,
    },
}

impl Publisher {
    /// Returns the host of the participant with this id, which is also its [number](Self::number).
    pub(crate) fn host(id: u32) -> usize {
        id as usize / STARTS
    }

    /// Returns the path of the program, which cargo puts beside the program of this test.
    pub(crate) fn program() -> PathBuf {
        Path::new(env!("CARGO_BIN_EXE_endpoint")).with_file_name("pubsub")
    }

    /// Checks that the program exists, and that it can talk to both stores.
    ///
    /// # Errors
    /// The path of the missing program, and how to build it.
    pub(crate) fn check() -> Result<(), String> {
        let program = Self::program();
        let missing =
            || format!("{}: build bertha-pubsub with the features redis and etcd", program.display());
        // The program looks at the kind of store first, so an address without a server is enough.
        for store in ["redis://", "etcd://"] {
            let output = Command::new(&program).args(["join", "--id", "0", "--store", store]).output();
            let errors = String::from_utf8(output.map_err(|_| missing())?.stderr).map_err(|_| missing())?;
            if errors.contains("built without") {
                return Err(missing());
            }
        }
        Ok(())
    }

    /// Adds the arguments of a start. Each start is a participant of its own, whose numbers begin with 0.
    pub(crate) fn arguments<'a>(&self, command: &'a mut Command, start: usize) -> &'a mut Command {
        let id = (self.number * STARTS + start).to_string();
        let lease = (1000 * LEASE).to_string();
        command.args([
            "join",
            "--topic",
            "publishers",
            "--lease",
            &lease,
            "--id",
            &id,
            "--store",
            &self.store,
        ]);
        command.args(["--group", &self.group, "--interface", &self.interface])
    }

    /// Has the publisher publish, by commands to its standard input.
    pub(crate) fn talk(&mut self, mut input: ChildStdin) {
        let (orders, ordered) = channel();
        let thread = std::thread::spawn(move || {
            while ordered.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout) {
                // The publisher was killed.
                if input.write_all(COMMAND).is_err() {
                    break;
                }
            }
            input
        });
        self.orders = Orders::Thread(orders, thread);
    }

    /// Has the publisher publish no more messages.
    pub(crate) fn hush(&mut self) {
        if let Orders::Thread(orders, thread) = std::mem::take(&mut self.orders) {
            drop(orders);
            self.orders = Orders::Quiet { _input: thread.join().unwrap() };
        }
    }

    /// Has the publisher leave, by the end of its input.
    pub(crate) fn leave(&mut self) {
        self.hush();
        self.orders = Orders::Nobody;
    }
}
