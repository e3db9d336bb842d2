//! Rows over Caladan, of `datapaths` and `throughput`.
//!
//! A process beside a scheduler makes them, as `scripts/caladan run` starts it, and there a process for each
//! sample, since a runtime lives as long as its process. Both ends of a sample are in a single runtime with a
//! single thread, or with two threads if the ends are on tokio. With a single thread neither the scheduler
//! nor a wire takes part, and the rate is the processor's.

mod echo;
mod settings;
mod store;

pub(crate) use echo::{Options as EchoOptions, run as echo};
pub(crate) use settings::{ADDRESS, config, failed};
pub(crate) use store::{Options as StoreOptions, run as store};

use crate::goodput::{Runs, Transfer, over};
use crate::harness::{Counter, ETHERNET, Effort, alternate};
use crate::kv::{Curve, Sample, Setup};
use crate::report::{Budget, Report, Row};
use crate::{Error, ErrorKind};
use bertha_datapath_caladan::AVAILABLE;
use serde::{Deserialize, Serialize};
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

/// Budget of the store with Chunnels and negotiation against the store without them.
const CHUNNELS: Budget = Budget::Between(0.6, 1.1);

/// Numbers of requests in flight at each point of a curve: a socket has a queue of 512 messages.
const IN_FLIGHT: [usize; 5] = [1, 4, 16, 64, 256];

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

/// The rows of a program, and what its figure draws.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Made {
    rows: Vec<Row>,
    /// The latencies of stores by load.
    pub(crate) curves: Vec<Curve>,
    /// The runs of transfers.
    pub(crate) runs: Vec<Runs>,
}

/// Adds rows to a report, and returns what the program's figure draws. Without Caladan, or if it can't be run, the row says so.
///
/// # Errors
/// The errors of finding this program.
pub(crate) fn add(rows: Rows, effort: Effort, report: &mut Report) -> Result<Made, Error> {
    if !AVAILABLE {
        report.skip("over Caladan", "built without it; see scripts/caladan install");
        return Ok(Made::default());
    }
    let mut made = beside(rows, effort).unwrap_or_else(|error| {
        report.skip("over Caladan", &error.to_string());
        Made::default()
    });
    report.extend(std::mem::take(&mut made.rows));
    Ok(made)
}

fn beside(rows: Rows, effort: Effort) -> Result<Made, Error> {
    let name = if rows == Rows::Datapaths { "datapaths" } else { "throughput" };
    let mut command = Command::new(SCRIPT);
    command.arg("run").arg(this_program()?).args(["caladan-rows", name]);
    command.args(effort.pick(None, Some("--quick")));
    read(&output(&mut command)?, "the rows over Caladan")
}

/// Makes the rows, in a process beside a scheduler, and prints them.
///
/// # Errors
/// Errors of the samples.
pub(crate) fn print(rows: Rows, effort: Effort) -> Result<(), Error> {
    let module = match std::fs::metadata("/dev/ksched") {
        Ok(metadata) if metadata.file_type().is_char_device() => "its kernel module",
        _ => "its kernel module emulated",
    };
    let mut report = Report::new("caladan");
    let mut made = Made::default();
    match rows {
        Rows::Datapaths => {
            made.curves = stores(effort, &mut report)?;
            echoes(module, effort, &mut report)?;
        }
        Rows::Throughput => made.runs = files(effort, &mut report)?,
    }
    tell(&Made { rows: report.rows().to_vec(), ..made })
}

/// Prints a sample, or all of them, for the process that asked.
///
/// # Errors
/// [`ErrorKind::Report`] if it has no form in JSON.
#[allow(clippy::print_stdout, reason = "another process reads it")]
pub(crate) fn tell(made: &impl Serialize) -> Result<(), Error> {
    println!("{}", serde_json::to_string(made).map_err(Error::while_doing(ErrorKind::Report, "encoding"))?);
    Ok(())
}

/// Runs the transfers of Figure 3.3, and that of the whole transport beside tokio.
fn files(effort: Effort, report: &mut Report) -> Result<Vec<Runs>, Error> {
    let by = |how| sample("files", &["--how", how]);
    let mut raw = || Ok(file_by_hand()? * ETHERNET as f64);
    let transfers: [Transfer<'_>; 3] = [&mut raw, &mut || by("nothing"), &mut || by("whole")];
    let mut runs = over("Caladan, one core", transfers, effort, report)?;
    let bridged = (0..effort.pick(7, 3)).map(|_| by("bridged")).collect::<Result<Vec<_>, _>>()?;
    runs.push(Runs::new("Caladan beside tokio, whole transport", bridged));
    Ok(runs)
}

/// Compares the store with Chunnels to the store without them, and returns the latencies by load of both, and of the store beside
/// tokio.
fn stores(effort: Effort, report: &mut Report) -> Result<Vec<Curve>, Error> {
    let (with, without, beside) = (
        |it: &Setup| store_by("negotiated", it),
        |it: &Setup| store_by("none", it),
        |it: &Setup| store_by("bridged", it),
    );
    for in_flight in [64, 1] {
        let setup = Setup { in_flight, requests: effort.pick(400_000, 50_000), ..Setup::default() };
        let paired = alternate(effort.pick(11, 3), || without(&setup), || with(&setup))?;
        let name =
            format!("{in_flight} in flight over Caladan, throughput, with Chunnels to without Chunnels");
        report.compare(&name, &paired, |it| it.requests_per_second, Some(CHUNNELS));
    }
    let loads = |most: u64| {
        IN_FLIGHT.map(|in_flight| Setup {
            in_flight,
            requests: most / 16 * in_flight.min(16) as u64,
            ..Setup::default()
        })
    };
    let most = effort.pick(400_000, 50_000);
    Ok(vec![
        Curve::of("Caladan, one core", loads(most), effort, with)?,
        Curve::of("Caladan, without Chunnels", loads(most), effort, without)?,
        Curve::of("Caladan beside tokio", loads(effort.pick(16_000, 1_600)), effort, beside)?,
    ])
}

fn store_by(stack: &str, setup: &Setup) -> Result<Sample, Error> {
    let mut command = Command::new(this_program()?);
    command.args(["caladan-store", "--stack", stack, "--in-flight", &setup.in_flight.to_string()]);
    read(&output(command.args(["--requests", &setup.requests.to_string()]))?, "a sample of a store")
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
    read(&output(command)?, "a figure")
}

/// Reads what another process has [told](tell).
fn read<T: serde::de::DeserializeOwned>(said: &str, what: &str) -> Result<T, Error> {
    let failed = || format!("reading {what} in `{}`", said.trim());
    serde_json::from_str(said.trim()).map_err(|error| Error::new(ErrorKind::Report, failed()).because(error))
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
