//! The program as a process of its own, and clients that write bytes.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_kvstore");

/// Time that a client waits for an answer before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, which ends with the test.
pub(crate) struct Program {
    child: Child,
    addr: SocketAddr,
    folder: tempfile::TempDir,
}

/// The program with these options, behind commands of the shell that limit it: `ulimit -n 100;`.
fn command(limits: &str, options: &[&str], log: File) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limits} exec \"$0\" \"$@\""), PROGRAM, "--addr", "127.0.0.1:0"]);
    command.args(options).stdout(Stdio::piped()).stderr(log);
    command
}

/// Returns the end of a program that can't start, and its log.
pub(crate) fn fails(options: &[&str]) -> (ExitStatus, String) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut child = command("", options, File::create(&log).unwrap()).spawn().unwrap();
    // It says where it listens, if it does.
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    if !first.is_empty() {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    assert_eq!(first, "", "it has started");
    (status, std::fs::read_to_string(log).unwrap())
}

impl Program {
    /// Starts it with these limits and options, and waits until it serves RESP.
    pub(crate) fn start(limits: &str, options: &[&str]) -> Self {
        let resp = if options.contains(&"--resp") { &[][..] } else { &["--resp", "127.0.0.1:0"] };
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let mut child = command(limits, &[resp, options].concat(), log).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.find_map(|line| line.unwrap().strip_prefix("kvstore: RESP at ").map(str::to_owned));
        let Some(line) = line else {
            panic!("{}", std::fs::read_to_string(folder.path().join("log")).unwrap())
        };
        let addr = line.parse().unwrap_or(([127, 0, 0, 1], 1).into());
        Self { child, addr, folder }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// All that it has logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.addr)
    }

    /// A field of `INFO`.
    pub(crate) fn info(&self, field: &str) -> u64 {
        let mut client = self.client();
        client.write(b"INFO\r\n");
        let text = String::from_utf8(client.bulk().unwrap()).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no {field} in {text}")).parse().unwrap()
    }

    /// Sends a signal, and waits for the end.
    pub(crate) fn end(&mut self, signal: &str) -> ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        self.child.wait().unwrap()
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that writes bytes and reads lines.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream: BufReader::with_capacity(1 << 16, stream) }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.try_write(bytes).unwrap();
    }

    pub(crate) fn try_write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// The next line, without its end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        assert!(line.ends_with("\r\n"), "the store has ended the connection within {line:?}");
        line.truncate(line.len() - 2);
        line
    }

    /// The next reply, which is a value or none.
    pub(crate) fn bulk(&mut self) -> Option<Vec<u8>> {
        let line = self.line();
        let length = line.strip_prefix('$').unwrap_or_else(|| panic!("{line}"));
        let length = length.parse::<usize>().ok()?;
        let mut value = vec![0; length + 2];
        self.stream.read_exact(&mut value).unwrap();
        assert_eq!(value.split_off(length), b"\r\n");
        Some(value)
    }

    /// The one line that answers a command.
    pub(crate) fn ask(&mut self, command: &[&[u8]]) -> String {
        self.write(&encoded(command));
        self.line()
    }

    /// Returns true if the store ends the connection, and says nothing before.
    pub(crate) fn is_ended(&mut self) -> bool {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(count) => count == 0,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => true,
            Err(error) => panic!("the store does not end the connection: {error}"),
        }
    }
}

/// A command as clients send it.
pub(crate) fn encoded(arguments: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        bytes.extend(format!("${}\r\n", argument.len()).bytes());
        bytes.extend_from_slice(argument);
        bytes.extend(b"\r\n");
    }
    bytes
}
