//! The settings of the runtime: from code, a TOML file or the environment.

use crate::failure::{NAME, failure};
use bertha_core::{Error, ErrorKind};
use bertha_runtime::settings::Variables;
use serde::Deserialize;
use std::fmt::{Display, Write};
use std::net::Ipv4Addr;
use std::path::Path;

/// Prefix of the names of environment variables.
const PREFIX: &str = "BERTHA_CALADAN";

/// Smallest useful number of tasks.
const MIN_TASKS: usize = 16;

/// The importance of a program to Caladan's scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Priority {
    /// The program gets cores as soon as its tasks or packets wait.
    #[default]
    LatencyCritical,
    /// The program gets the cores that other programs leave.
    BestEffort,
}

/// The settings of Caladan's runtime. A process over Caladan has a single IPv4 address, which no other
/// process has.
///
/// In TOML, with every key optional but `address`:
///
/// ```toml
/// address = "10.77.0.2/24"
/// gateway = "10.77.0.1"
/// threads = 2
/// guaranteed = 0
/// spinning = 0
/// priority = "latency-critical"
/// mtu = 1500
/// tasks = 16000
/// log_level = 1
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The address, with the length of its subnet's prefix.
    pub address: String,
    /// The router to other subnets, which are unreachable without it.
    pub gateway: Option<Ipv4Addr>,
    /// Number of kernel threads, and so of the cores that the scheduler grants at most: at least 1, and fewer
    /// than the machine has. Waiting tasks take no core.
    pub threads: u16,
    /// Number of cores that the scheduler reserves for this process.
    pub guaranteed: u16,
    /// Number of threads that spin rather than park when they have nothing to do: the shortest latency, for
    /// as many busy cores.
    pub spinning: u16,
    /// The preference of the scheduler.
    pub priority: Priority,
    /// Size of the largest IP packet in bytes, which the scheduler's port has to carry as well.
    pub mtu: u16,
    /// Largest number of tasks. Each task has a stack of 512 KiB of addresses, of which 8 KiB and the used
    /// part occupy memory, and takes two mappings: the kernel's `vm.max_map_count` has to be more than twice
    /// this number, otherwise Caladan crashes. A new connection is refused, as
    /// [`Exhausted`](ErrorKind::Exhausted), when seven eighths of the tasks exist.
    pub tasks: usize,
    /// Level up to which Caladan writes its own messages to the standard output: 0 (emergencies), 1 (the
    /// default), 2 (errors) to 5 (information).
    pub log_level: u8,
}

bertha_core::setters!(Config {
    address: String,
    gateway: Option<Ipv4Addr>,
    threads: u16,
    guaranteed: u16,
    spinning: u16,
    priority: Priority,
    mtu: u16,
    tasks: usize,
    log_level: u8,
});

impl Default for Config {
    /// Returns settings with two threads that park, without an address.
    fn default() -> Self {
        Self {
            address: String::new(),
            gateway: None,
            threads: 2,
            guaranteed: 0,
            spinning: 0,
            priority: Priority::default(),
            mtu: 1500,
            tasks: 16_000,
            log_level: 1,
        }
    }
}

impl Config {
    /// Creates the default settings with an address: `Config::new("10.77.0.2/24")`.
    pub fn new(address: impl Into<String>) -> Self {
        Self { address: address.into(), ..Self::default() }
    }

    /// Reads the settings in `text`, in TOML.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the text is no TOML, or has unknown keys or values.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        bertha_runtime::settings::from_toml(NAME, text)
    }

    /// Reads the settings in the file at `path`, in TOML.
    ///
    /// # Errors
    /// Errors of [`from_toml`](Self::from_toml), and an error if the file can't be read.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        bertha_runtime::settings::from_file(NAME, path.as_ref())
    }

    /// Reads the settings from the environment: from the file that `BERTHA_CALADAN_CONFIG` names, if it is
    /// set, overridden by the variables `BERTHA_CALADAN_ADDRESS`, `_GATEWAY`, `_THREADS`, `_GUARANTEED`,
    /// `_SPINNING`, `_PRIORITY`, `_MTU`, `_TASKS` and `_LOG_LEVEL`.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if a value makes no sense; the text names the variable.
    pub fn from_env() -> Result<Self, Error> {
        Self::from_variables(&Variables::of_process(NAME, PREFIX))
    }

    fn from_variables(variables: &Variables<impl Fn(&str) -> Option<String>>) -> Result<Self, Error> {
        let mut config: Self = variables.file()?;
        variables.replace(&mut config.address, "ADDRESS")?;
        variables.replace(&mut config.gateway, "GATEWAY")?;
        variables.replace(&mut config.threads, "THREADS")?;
        variables.replace(&mut config.guaranteed, "GUARANTEED")?;
        variables.replace(&mut config.spinning, "SPINNING")?;
        variables.replace(&mut config.priority, "PRIORITY")?;
        variables.replace(&mut config.mtu, "MTU")?;
        variables.replace(&mut config.tasks, "TASKS")?;
        variables.replace(&mut config.log_level, "LOG_LEVEL")?;
        Ok(config)
    }

    /// Returns the settings in the format that Caladan reads.
    pub(crate) fn for_caladan(&self) -> Result<String, Error> {
        let invalid = |what: String| failure(ErrorKind::Invalid, what);
        let Some((address, netmask)) = subnet(&self.address) else {
            return Err(invalid(format!(
                "the address of this process is `{}`: set `address` (BERTHA_CALADAN_ADDRESS), as in 10.77.0.2/24",
                self.address
            )));
        };
        if self.threads == 0 || self.guaranteed > self.threads || self.spinning > self.threads {
            return Err(invalid(format!(
                "`threads` (BERTHA_CALADAN_THREADS) is {}, `guaranteed` {} and `spinning` {}: there is at least one thread, and the others are parts \
                 of them",
                self.threads, self.guaranteed, self.spinning
            )));
        }
        if self.tasks < MIN_TASKS {
            let what =
                format!("`tasks` (BERTHA_CALADAN_TASKS) is {}, and a program needs {MIN_TASKS}", self.tasks);
            return Err(invalid(what));
        }
        let mappings = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok();
        if let Some(mappings) = mappings.and_then(|text| text.trim().parse::<usize>().ok())
            && self.tasks > mappings / 2
        {
            let what = format!(
                "`tasks` (BERTHA_CALADAN_TASKS) is {}, and each takes two of the {mappings} mappings that the kernel allows: raise vm.max_map_count",
                self.tasks
            );
            return Err(invalid(what));
        }
        let priority = match self.priority {
            Priority::LatencyCritical => "lc",
            Priority::BestEffort => "be",
        };
        let gateway = self.gateway.unwrap_or(Ipv4Addr::UNSPECIFIED);
        let mut text = String::new();
        for (key, value) in [
            ("host_addr", &address as &dyn Display),
            ("host_netmask", &netmask),
            ("host_gateway", &gateway),
            ("host_mtu", &self.mtu),
            ("runtime_kthreads", &self.threads),
            ("runtime_guaranteed_kthreads", &self.guaranteed),
            ("runtime_spinning_kthreads", &self.spinning),
            ("runtime_priority", &priority),
            ("log_level", &self.log_level),
        ] {
            // Writing to a string can't fail.
            let _ = writeln!(text, "{key} {value}");
        }
        Ok(text)
    }
}

/// Returns the address and the mask of a text such as `10.77.0.2/24`.
fn subnet(text: &str) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let (address, prefix) = text.split_once('/')?;
    let prefix = prefix.parse::<u32>().ok().filter(|prefix| (1..=31).contains(prefix))?;
    Some((address.parse().ok()?, Ipv4Addr::from_bits(u32::MAX << (32 - prefix))))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic to fail")]

    use super::*;

    #[test]
    fn toml_says_all() {
        let config = Config::from_toml(
            r#"
            address = "10.77.0.2/24"
            gateway = "10.77.0.1"
            threads = 3
            guaranteed = 1
            spinning = 2
            priority = "best-effort"
            mtu = 1400
            tasks = 100
            log_level = 5
            "#,
        );
        let expected = "host_addr 10.77.0.2\nhost_netmask 255.255.255.0\nhost_gateway 10.77.0.1\nhost_mtu 1400\nruntime_kthreads 3\n\
                        runtime_guaranteed_kthreads 1\nruntime_spinning_kthreads 2\nruntime_priority be\nlog_level 5\n";
        let config = config.unwrap();
        assert_eq!((config.for_caladan().unwrap().as_str(), config.tasks), (expected, 100));
        for wrong in ["adress = \"x\"", "threads = -1", "priority = \"no\"", "tasks"] {
            assert_eq!(Config::from_toml(wrong).unwrap_err().kind(), ErrorKind::Invalid, "{wrong}");
        }
    }

    #[test]
    fn variables_come_before_defaults_and_are_named_in_errors() {
        let with = |pairs: &[(&str, &str)]| {
            let find = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, it)| it.to_string());
            Config::from_variables(&Variables::new(NAME, PREFIX, find))
        };
        let config = with(&[
            ("BERTHA_CALADAN_ADDRESS", "10.77.0.2/24"),
            ("BERTHA_CALADAN_GATEWAY", "10.77.0.1"),
            ("BERTHA_CALADAN_THREADS", "3"),
            ("BERTHA_CALADAN_PRIORITY", "best-effort"),
            ("BERTHA_CALADAN_TASKS", "99"),
        ]);
        let config = config.unwrap();
        assert_eq!((config.threads, config.tasks, config.priority), (3, 99, Priority::BestEffort));
        assert_eq!((config.address.as_str(), config.gateway), ("10.77.0.2/24", Some([10, 77, 0, 1].into())));
        for (name, value) in [
            ("BERTHA_CALADAN_MTU", "big"),
            ("BERTHA_CALADAN_GATEWAY", "y"),
            ("BERTHA_CALADAN_PRIORITY", "x"),
            ("BERTHA_CALADAN_TASKS", "-1"),
            ("BERTHA_CALADAN_LOG_LEVEL", "256"),
            ("BERTHA_CALADAN_CONFIG", "/nowhere.toml"),
        ] {
            let error = with(&[(name, value)]).unwrap_err();
            assert!(error.context().contains(value), "{error}");
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused_by_name() {
        let good = Config::new("10.77.0.2/24");
        assert!(good.for_caladan().is_ok());
        for (wrong, name) in [
            (Config::default(), "BERTHA_CALADAN_ADDRESS"),
            (Config::new("10.77.0.2"), "BERTHA_CALADAN_ADDRESS"),
            (Config::new("10.77.0.2/33"), "BERTHA_CALADAN_ADDRESS"),
            (Config::new("fd00::1/64"), "BERTHA_CALADAN_ADDRESS"),
            (Config { threads: 0, ..good.clone() }, "BERTHA_CALADAN_THREADS"),
            (Config { guaranteed: 3, ..good.clone() }, "guaranteed"),
            (Config { tasks: 1, ..good.clone() }, "BERTHA_CALADAN_TASKS"),
            (Config { tasks: usize::MAX, ..good.clone() }, "vm.max_map_count"),
        ] {
            let error = wrong.for_caladan().unwrap_err();
            assert!(error.kind() == ErrorKind::Invalid && error.context().contains(name), "{error}");
        }
    }
}
