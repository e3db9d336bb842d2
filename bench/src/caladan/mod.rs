//! Rows over Caladan, of `datapaths` and `throughput`.
//!
//! A process beside a scheduler makes them, as `scripts/caladan run` starts it, and there a process for each
//! sample, since a runtime lives as long as its process. Both ends of a sample are in a single runtime with a
//! single thread, or with two threads if the ends are on tokio. With a single thread neither the scheduler
//! nor a wire takes part, and the rate is the processor's.

mod echo;
mod settings;

pub(crate) use echo::{Options as EchoOptions, run as echo};
pub(crate) use settings::{ADDRESS, config, failed};

use crate::harness::{Counter, ETHERNET, Effort, alternate};
use crate::report::{Budget, Report, Row};
use crate::{Error, ErrorKind};
use bertha_datapath_caladan::AVAILABLE;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::NamedTempFile;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/caladan");

/// Budget of Bertha against C on Caladan's own functions.
const ECHO: Budget = Budget::AtLeast(0.9);
const INSTRUCTIONS: Budget = Budget::AtMost(1.10);

/// Number of messages between two counts of instructions.
const COUNTED: u64 = 20_000;

/// Number of messages of a sample for each requested message: a tenth of them are for warm-up.
const WITH_WARM_UP: f64 = 1.1;

/// The rows of a program, `datapaths` or `throughput`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Rows {
    Datapaths,
    Throughput,
}

/// Prints the figure of a sample.
#[allow(clippy::print_stdout, reason = "the figure is the program's output")]
pub(crate) fn tell(figure: f64) {
    println!("{figure}");
}

/// Adds rows to a report. Without Caladan, or if it can't be run, the row says so.
///
/// # Errors
/// The errors of finding this program.
pub(crate) fn add(rows: Rows, effort: Effort, report: &mut Report) -> Result<(), Error> {
    if !AVAILABLE {
        report.skip("over Caladan", "built without it; see scripts/caladan install");
        return Ok(());
    }
    match beside(rows, effort) {
        Ok(made) => report.extend(made),
        Err(error) => report.skip("over Caladan", &error.to_string()),
    }
    Ok(())
}

fn beside(rows: Rows, effort: Effort) -> Result<Vec<Row>, Error> {
    let name = if rows == Rows::Datapaths { "datapaths" } else { "throughput" };
    let mut command = Command::new(SCRIPT);
    command.arg("run").arg(this_program()?).args(["caladan-rows", name]);
    command.args(effort.pick(None, Some("--quick")));
    let said = output(&mut command)?;
    serde_json::from_str(&said)
        .map_err(Error::while_doing(ErrorKind::Report, "reading the rows over Caladan"))
}

/// Makes the rows, in a process beside a scheduler, and prints them.
///
/// # Errors
/// Errors of the samples.
#[allow(clippy::print_stdout, reason = "another process reads it")]
pub(crate) fn print(rows: Rows, effort: Effort) -> Result<(), Error> {
    let module = match std::fs::metadata("/dev/ksched") {
        Ok(metadata) if metadata.file_type().is_char_device() => "its kernel module",
        _ => "its kernel module emulated",
    };
    let mut report = Report::new("caladan");
    match rows {
        Rows::Datapaths => echoes(module, effort, &mut report)?,
        Rows::Throughput => {
            let name = |what: &str| format!("1452-byte datagrams, 1 connections: {what} ({module})");
            let samples = (0..effort.pick(7, 3)).map(|_| Ok(file_by_hand()? * ETHERNET as f64 / 1e6));
            let samples = samples.collect::<Result<Vec<f64>, Error>>()?;
            report.median(name("datagrams in C over Caladan, without repair"), &samples, |it| *it, "MB/s");
            for (how, arguments) in [("in place of tokio", &[][..]), ("beside tokio", &["--bridged"])] {
                let samples = (0..effort.pick(7, 3)).map(|_| sample("files", arguments));
                let samples = samples.collect::<Result<Vec<_>, _>>()?;
                let name = name(&format!("Bertha over Caladan, {how}"));
                report.median(name, &samples, |it| *it / 1e6, "MB/s");
            }
        }
    }
    let rows = serde_json::to_string(report.rows());
    println!("{}", rows.map_err(Error::while_doing(ErrorKind::Report, "encoding the rows"))?);
    Ok(())
}

fn echoes(module: &str, effort: Effort, report: &mut Report) -> Result<(), Error> {
    let messages = effort.pick("1000000", "300000");
    for in_flight in ["64", "1"] {
        count(in_flight, module, report)?;
        let load = ["--in-flight", in_flight, "--messages", messages];
        let name = |what: &str| {
            format!("{what}, echo within one runtime of Caladan, {in_flight} in flight ({module})")
        };
        let with = |stack| sample("echo", &[&load[..], &["--stack", stack]].concat());
        let paired = alternate(effort.pairs(), || by_hand(in_flight, messages), || with("negotiated"))?;
        report.median(name("C"), &paired.a(), |it| *it, "messages/s");
        report.median(name("Bertha"), &paired.b(), |it| *it, "messages/s");
        report.compare(&name("Bertha to C"), &paired, |it| *it, Some(ECHO));
        let bare = alternate(effort.pick(11, 3), || by_hand(in_flight, messages), || with("none"))?;
        report.compare(&name("Bertha's datapath alone to C"), &bare, |it| *it, None);
        let few =
            ["--in-flight", in_flight, "--messages", effort.pick("20000", "5000"), "--stack", "bridged"];
        report.figure(name("Bertha beside tokio"), sample("echo", &few)?, "messages/s");
    }
    Ok(())
}

/// Counts the instructions of the two programs. Under valgrind, which runs a single thread at a time and
/// slowly, Caladan's timers find more time elapsed for each message, alike for both.
fn count(in_flight: &str, module: &str, report: &mut Report) -> Result<(), Error> {
    let name = |what: &str| {
        format!(
            "{what}, instructions of an echo within one runtime of Caladan, {in_flight} in flight ({module})"
        )
    };
    let settings = settings_of_c()?;
    let by_hand = Counter::of_program(echo_by_hand()?, arguments_of_c(settings.path(), in_flight));
    let ours = ["caladan-echo", "--in-flight", in_flight, "--stack", "negotiated", "--messages"];
    let ours = Counter::of_program(this_program()?, ours.map(OsString::from));
    let each = |counter: &Counter| counter.instructions(COUNTED).map(|count| count / WITH_WARM_UP);
    let by_hand = report.count(&name("C"), each(&by_hand))?;
    let ours = report.count(&name("Bertha"), each(&ours))?;
    if let (Some(by_hand), Some(ours)) = (by_hand, ours) {
        report.bounded(name("Bertha to C"), ours / by_hand, "x", INSTRUCTIONS);
    }
    Ok(())
}

/// Returns the rate of the program in C, from `scripts/caladan.d/echo.c`.
fn by_hand(in_flight: &str, messages: &str) -> Result<f64, Error> {
    let settings = settings_of_c()?;
    number(Command::new(echo_by_hand()?).args(arguments_of_c(settings.path(), in_flight)).arg(messages))
}

fn arguments_of_c(settings: &Path, in_flight: &str) -> [OsString; 3] {
    [settings.into(), echo::BYTES.to_string().into(), in_flight.into()]
}

/// Returns the rate of datagrams that go one way in the program in C, with few enough on their way that none
/// is lost.
fn file_by_hand() -> Result<f64, Error> {
    let settings = settings_of_c()?;
    let one_way = [&ETHERNET.to_string(), "64", "32", "32000"];
    number(Command::new(echo_by_hand()?).arg(settings.path()).args(one_way))
}

fn echo_by_hand() -> Result<PathBuf, Error> {
    let folder = std::env::var_os("CALADAN_DIR").ok_or_else(|| {
        Error::new(ErrorKind::Core, "CALADAN_DIR is not set; start it by scripts/caladan run")
    })?;
    Ok(Path::new(&folder).join("echo-by-hand"))
}

/// Returns the settings of the program in C, which equal the settings of [`config`].
fn settings_of_c() -> Result<NamedTempFile, Error> {
    let write = || {
        let mut file = NamedTempFile::new()?;
        file.write_all(
            b"host_addr 10.77.0.2\nhost_netmask 255.255.255.0\nhost_gateway 0.0.0.0\nhost_mtu 1500\nruntime_kthreads 1\n\
              runtime_guaranteed_kthreads 0\nruntime_spinning_kthreads 0\nruntime_priority lc\nlog_level 1\n",
        )?;
        Ok(file)
    };
    write().map_err(|error: std::io::Error| {
        Error::while_doing(ErrorKind::Core, "writing the settings of a runtime")(error)
    })
}

fn sample(name: &str, arguments: &[&str]) -> Result<f64, Error> {
    let mut command = Command::new(this_program()?);
    number(command.arg(format!("caladan-{name}")).args(arguments))
}

fn number(command: &mut Command) -> Result<f64, Error> {
    let said = output(command)?;
    said.trim().parse().map_err(Error::while_doing(ErrorKind::Core, format!("reading `{}`", said.trim())))
}

fn output(command: &mut Command) -> Result<String, Error> {
    let doing = |what| format!("{what} {}", command.get_program().display());
    let starting = doing("starting");
    let running = doing("running");
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(Error::while_doing(ErrorKind::Core, starting))?;
    if !output.status.success() {
        return Err(Error::new(ErrorKind::Core, format!("{running} failed; its message is above")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn this_program() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(Error::while_doing(ErrorKind::Core, "finding this program"))
}
