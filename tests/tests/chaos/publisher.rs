//! The command line of a participant of `apps/pubsub`, and the lines that the test writes to it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it is told to publish. Takes it less than half that time, so that one that hung catches up.
const PACE: Duration = Duration::from_millis(250);
const COMMAND: &[u8] = b"publish 10 10\n";

/// For how long it counts as there after the store has last heard of it, in seconds.
pub(crate) const LEASE: u64 = 2;

/// More than a process is started in one run.
const STARTS: usize = 1000;

/// A participant of a topic, which publishes all the time.
pub(crate) struct Publisher {
    /// Tells it from others of its topic.
    pub(crate) number: usize,
    /// The store's address, the multicast group, and the address of its host.
    pub(crate) store: String,
    pub(crate) group: String,
    pub(crate) interface: String,
    pub(crate) orders: Orders,
}

/// Where its orders come from.
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
    /// The host on which a participant with this id is: what it is [numbered](Self::number) by.
    pub(crate) fn host(id: u32) -> usize {
        id as usize / STARTS
    }

    /// The program, which cargo puts beside this test's own when it builds it.
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
        // An address at which nobody is: it is looked at after the kind of store.
        for store in ["redis://", "etcd://"] {
            let output = Command::new(&program).args(["join", "--id", "0", "--store", store]).output();
            let errors = String::from_utf8(output.map_err(|_| missing())?.stderr).map_err(|_| missing())?;
            if errors.contains("built without") {
                return Err(missing());
            }
        }
        Ok(())
    }

    /// Each start is a participant of its own, whose numbers begin with 0.
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

    /// Has it publish through this standard input of its own.
    pub(crate) fn talk(&mut self, mut input: ChildStdin) {
        let (orders, ordered) = channel();
        let thread = std::thread::spawn(move || {
            while ordered.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout) {
                // It was killed.
                if input.write_all(COMMAND).is_err() {
                    break;
                }
            }
            input
        });
        self.orders = Orders::Thread(orders, thread);
    }

    /// Has it publish nothing more.
    pub(crate) fn hush(&mut self) {
        if let Orders::Thread(orders, thread) = std::mem::take(&mut self.orders) {
            drop(orders);
            self.orders = Orders::Quiet { _input: thread.join().unwrap() };
        }
    }

    /// Has it leave: the end of its input says so.
    pub(crate) fn leave(&mut self) {
        self.hush();
        self.orders = Orders::Nobody;
    }
}
