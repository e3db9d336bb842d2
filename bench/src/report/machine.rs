//! The machine and the sources behind a measurement.

use crate::{Error, ErrorKind};
use std::process::Command;

/// The highest load of a machine that measures for the page. The load is the average number of runnable threads of the last minute, so a
/// value above this one means that another program computes for most of the time of a processor.
const QUIET: f64 = 0.5;

/// The machine that this program runs on.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    processor: String,
    cores: usize,
    memory: String,
    /// Average number of runnable threads of the last minute.
    load: f64,
}

impl Machine {
    /// Reads processor, memory and load. What the system does not tell is called unknown, and its load is infinite.
    pub(crate) fn here() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let processor = read("/proc/cpuinfo").lines().find_map(|line| {
            let (name, model) = line.split_once(':')?;
            (name.trim() == "model name").then(|| model.trim().to_owned())
        });
        let kib = read("/proc/meminfo").split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
        let load = read("/proc/loadavg").split_whitespace().next().and_then(|load| load.parse().ok());
        Self {
            processor: processor.unwrap_or_else(|| "unknown processor".to_owned()),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory: kib.map_or_else(String::new, |kib| format!(", {} GiB of memory", kib >> 20)),
            load: load.unwrap_or(f64::INFINITY),
        }
    }

    /// Returns this machine if no other program computes on it.
    ///
    /// # Errors
    /// [`ErrorKind::Report`] with processor and load if the load is above 0.5.
    pub(crate) fn quiet(self) -> Result<Self, Error> {
        if self.load <= QUIET {
            return Ok(self);
        }
        let Self { processor, load, .. } = &self;
        Err(Error::new(
            ErrorKind::Report,
            format!(
                "the load of this machine ({processor}) is {load}, and results are written at {QUIET} at most: \
                 wait until its other programs have ended, or measure with --quick, which writes no page"
            ),
        ))
    }

    /// Returns the name of the folder of this kind of processor: letters and digits in lower case, with hyphens between words.
    pub(super) fn folder(&self) -> String {
        let name = self.processor.replace("(R)", " ").replace("(TM)", " ").to_lowercase();
        let words =
            name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("-")
    }

    /// Returns a line each for processor, kernel and compiler, date and load, and commit.
    pub(super) fn describe(&self) -> Vec<String> {
        let Self { processor, cores, memory, load } = self;
        vec![
            format!("{processor} ({cores} cores){memory}"),
            format!("{}, {}", output("uname", &["-sr"]), output("rustc", &["--version"])),
            format!("{}; load of the machine before the run: {load}", date()),
            format!("commit {}", commit()),
        ]
    }
}

/// Returns today's date and the commit of this tree, as each program's rows show them.
pub(super) fn date_and_commit() -> String {
    format!("{}, commit {}", date(), commit())
}

fn date() -> String {
    output("date", &["-u", "+%F"])
}

fn commit() -> String {
    output("git", &["describe", "--always", "--dirty", "--abbrev=12"])
}

/// Returns the first line that a command prints, or that it is unknown.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().map_or_else(|| format!("{program} unknown"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(load: f64) -> Machine {
        Machine { processor: "AMD EPYC(TM) 7B13 (2.4 GHz)".into(), cores: 2, memory: String::new(), load }
    }

    #[test]
    fn a_busy_machine_is_refused_by_name() {
        assert!(machine(0.5).quiet().is_ok());
        let error = machine(0.51).quiet().unwrap_err().to_string();
        assert!(error.contains("EPYC") && error.contains("0.51"), "{error}");
    }

    #[test]
    fn a_kind_of_processor_has_one_folder() {
        assert_eq!(machine(0.0).folder(), "amd-epyc-7b13-2-4-ghz");
    }
}
