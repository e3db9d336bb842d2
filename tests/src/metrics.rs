//! The metrics of a program, judged by Prometheus' own tool.

use crate::skip;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A program with `--metrics 127.0.0.1:0`, which is killed with the value.
#[derive(Debug)]
pub struct Metered {
    program: Child,
    address: String,
    lines: BufReader<std::process::ChildStdout>,
}

impl Metered {
    /// Starts the program with this option behind its other ones, and waits until it says where its metrics are.
    pub fn start(command: &mut Command) -> Self {
        command.args(["--metrics", "127.0.0.1:0"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let mut lines = BufReader::new(program.stdout.take().unwrap());
        let line = line(&mut lines);
        let (_, address) =
            line.split_once("metrics at http://").unwrap_or_else(|| panic!("no address in {line}"));
        let address = address.trim().strip_suffix("/metrics").unwrap().to_owned();
        Self { program, address, lines }
    }

    /// Returns the next line of the program's output.
    pub fn line(&mut self) -> String {
        line(&mut self.lines)
    }

    /// Writes a line to the program's input.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.program.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Returns the text that Prometheus would read.
    pub fn scrape(&self) -> String {
        self.try_scrape().unwrap()
    }

    /// Returns the text that Prometheus would read, or the error of a connection that the program closes.
    pub fn try_scrape(&self) -> io::Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", self.address)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, text) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        assert!(
            head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("text/plain; version=0.0.4"),
            "{head}"
        );
        Ok(text.to_owned())
    }

    /// Returns the value of a series, read until it is `wanted` or the program is given up.
    pub fn value_becomes(&self, series: &str, wanted: u64) {
        let mut seen = None;
        for _ in 0..500 {
            seen = value(&self.scrape(), series);
            if seen == Some(wanted as f64) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{series} is {seen:?} and not {wanted} in\n{}", self.scrape());
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        let _ = (self.program.kill(), self.program.wait());
    }
}

fn line(lines: &mut impl BufRead) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    line
}

/// Returns the value of a series with these labels.
pub fn value(text: &str, series: &str) -> Option<f64> {
    let mut values =
        text.lines().filter_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok());
    values.next()
}

/// Checks names, units and form of metrics by `promtool check metrics`, which `scripts/tools promtool` installs.
///
/// # Panics
/// Panics if the tool finds a fault, or is missing where `CI` is `true`.
pub fn judge(text: &str) {
    let judge = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut judge) = judge else {
        return skip("promtool is missing: add \"$(scripts/tools promtool)\" to PATH");
    };
    judge.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let judged = judge.wait_with_output().unwrap();
    assert!(judged.status.success(), "{}\n{text}", String::from_utf8_lossy(&judged.stderr));
}
