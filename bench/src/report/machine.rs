//! The machine and the sources behind a measurement.

use std::process::Command;

/// Returns a line each for processor, kernel, compiler, date and commit.
pub(super) fn describe() -> Vec<String> {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let model = text.lines().find(|line| line.starts_with("model name"))?;
        Some(model.split_once(':')?.1.trim().to_owned())
    });
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let kib: u64 = text.lines().next()?.split_whitespace().nth(1)?.parse().ok()?;
        Some(format!("{} GiB of memory", kib >> 20))
    });
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().next().unwrap_or("unknown");
    let memory = memory.unwrap_or_default();
    vec![
        format!("{} ({cores} cores), {memory}", cpu.unwrap_or_else(|| "unknown processor".into())),
        format!("{}, {}", output("uname", &["-sr"]), output("rustc", &["--version"])),
        format!("{}; load of the machine when the page was written: {load}", output("date", &["-u", "+%F"])),
        format!("commit {}", output("git", &["describe", "--always", "--dirty", "--abbrev=12"])),
    ]
}

/// Returns the first line that a command prints, or that it is unknown.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().map_or_else(|| format!("{program} unknown"), str::to_owned)
}
