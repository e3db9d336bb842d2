//! A daemon, and programs under the library.

use crate::needs::PYTHON;
use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Returns the shared library, which lies beside the tests.
pub(crate) fn library() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("libbertha_sockets.so")
}

/// Compiles a program of C into a folder.
pub(crate) fn compiled(source: &str, definitions: &[String], folder: &Path) -> PathBuf {
    let (source, program) =
        (format!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/neighbours/{}.c"), source), folder.join(source));
    let mut command = Command::new("cc");
    command.args(["-O1", "-w", "-D_GNU_SOURCE"]).args(definitions).arg("-o").arg(&program).arg(source);
    assert!(command.status().expect("cc has to be installed").success());
    program
}

/// Does something as another user.
pub(crate) fn as_user<T: Send>(user: u32, what: impl FnOnce() -> T + Send) -> T {
    let acting = || {
        let user = rustix::process::Uid::from_raw(user);
        // Of this thread alone.
        rustix::thread::set_thread_res_uid(user, user, user).unwrap();
        what()
    };
    std::thread::scope(|scope| scope.spawn(acting).join().unwrap())
}

/// Returns the path of a script of this folder.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/neighbours").join(name)
}

/// Returns the processor time that a process has taken, in ticks of ten milliseconds.
pub(crate) fn ticks(process: u32) -> u64 {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, fields) = line.rsplit_once(')').unwrap();
    fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum()
}

/// A process that ends with the test.
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

pub(crate) struct Machine {
    folder: TempDir,
    daemon: Killed,
}

impl Machine {
    pub(crate) fn start() -> Self {
        Self::start_by(Command::new(env!("CARGO_BIN_EXE_bertha-socketd")))
    }

    /// Starts the daemon by a command, to which its arguments are added.
    pub(crate) fn start_by(mut daemon: Command) -> Self {
        let folder = TempDir::new().unwrap();
        let daemon = daemon.arg("--socket").arg(folder.path().join("sockets.sock")).spawn();
        let machine = Self { daemon: Killed(daemon.unwrap()), folder };
        while UnixStream::connect(machine.socket()).is_err() {
            std::thread::sleep(Duration::from_millis(5));
        }
        machine
    }

    /// Lets other users into the folder of the socket.
    pub(crate) fn open_folder(&self) {
        std::fs::set_permissions(self.folder.path(), Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("sockets.sock")
    }

    /// Returns the number of descriptors that the daemon has.
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.daemon.0.id())).unwrap().count()
    }

    /// Returns the processor time that the daemon has taken, in ticks of ten milliseconds.
    pub(crate) fn time(&self) -> u64 {
        ticks(self.daemon.0.id())
    }

    /// Returns the memory that the daemon has, in KiB.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.daemon.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    pub(crate) fn kill_daemon(&mut self) {
        self.daemon.0.kill().unwrap();
        self.daemon.0.wait().unwrap();
    }

    /// Returns the command of a program under the library.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("LD_PRELOAD", library()).env("BERTHA_SOCKETS", self.socket());
        command
    }

    /// Returns the command of a script of this folder, whose connections pay with their first message.
    pub(crate) fn script(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = self.command(PYTHON);
        command.arg(script(name)).args(arguments).env("BERTHA_SOCKETS_EAGER", "1");
        command
    }

    /// Starts a program of `program.py`, which moves its stream with every third write if `moves`.
    pub(crate) fn python(&self, arguments: &[&str], moves: bool) -> Program {
        let mut command = self.script("program.py", arguments);
        if moves {
            command.env("BERTHA_SOCKETS_MOVES", "3");
        }
        Program::start(command)
    }

    /// Returns the lines of the list, split at tabs.
    pub(crate) fn list(&self) -> Vec<Vec<String>> {
        let mut daemon = UnixStream::connect(self.socket()).unwrap();
        daemon.write_all(b"bersock?").unwrap();
        let mut text = String::new();
        daemon.read_to_string(&mut text).unwrap();
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    /// Returns the ends that have moved, with the number of their moves.
    pub(crate) fn moved(&self) -> Vec<u64> {
        self.list().iter().map(|line| line[4].parse().unwrap()).filter(|moves| *moves > 0).collect()
    }
}

/// A program with lines in and out.
pub(crate) struct Program {
    pub(crate) child: Killed,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child: Killed(child), input, output }
    }

    /// Waits for a line.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    pub(crate) fn expect(&mut self, line: &str) {
        assert_eq!(self.line(), line);
    }

    /// Lets a program go on once the daemon has paired its connections.
    pub(crate) fn begin(&mut self, machine: &Machine, ends: usize) {
        self.expect("begun");
        for _ in 0..1000 {
            if machine.list().len() == ends {
                return self.go_on();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{:?}", machine.list());
    }

    /// Lets a program that waits for a line go on.
    pub(crate) fn go_on(&mut self) {
        self.input.write_all(b"\n").unwrap();
    }
}
