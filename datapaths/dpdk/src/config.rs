//! The settings of the datapath: from code, a TOML file or the environment.

use crate::Subnet;
use crate::failure::{NAME, failure};
use crate::slot::{needs_hugepages, slot};
use bertha_core::{Error, ErrorKind};
use bertha_runtime::settings::Variables;
use serde::Deserialize;
use std::net::IpAddr;
use std::path::Path;

/// Prefix of the names of environment variables.
const PREFIX: &str = "BERTHA_DPDK";

/// Largest number of queues: more than the number of processors that a machine is likely to have for a port.
const MAX_QUEUES: u16 = 64;

/// The threads that poll the port for frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Polling {
    /// The waiting futures poll, where they run: the shortest way. Each waiting processor is busy.
    #[default]
    Inline,
    /// A thread for each queue does nothing else, and moves messages to the connections' queues. This mode
    /// suits connections whose tasks run in many threads.
    Thread,
}

/// The policy on checksums of datagrams over IPv4, which cover their contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Checksums {
    /// Each sent datagram has a checksum, and each arriving datagram is verified (RFC 1122, section 4.1.3.4):
    /// by the port as far as it can ([`Config::offload`]), otherwise in software.
    #[default]
    Software,
    /// No sent datagram has a checksum, which RFC 768 allows, and no arriving datagram is verified. This
    /// policy is for ports over memory that processes of a machine share (`net_memif`, `net_vhost`,
    /// `net_virtio_user`, `net_ring`): nothing damages frames there, and the kernel leaves checksums out in
    /// this way over its loopback and virtual interfaces. It is wrong if the peer forwards the frames to a
    /// wire, since from there on only Ethernet's checksum protects them.
    ///
    /// The IPv4 header, TCP, and everything over IPv6 (RFC 8200, section 8.1) have their checksums in any
    /// case.
    None,
}

/// The settings of DPDK, of its port, and of the interface.
///
/// In TOML, with every key optional but `address`:
///
/// ```toml
/// device = "net_memif0,role=client,id=0,socket=/run/app.sock,socket-abstract=no"
/// address = ["10.0.0.1/24", "fd00::1/64"]
/// gateway = ["10.0.0.254"]
/// mtu = 1500
/// vlan = 7
/// polling = "inline"
/// queues = 1
/// offload = true
/// checksums = "software"
/// buffers = 8191
/// descriptors = 1024
/// promiscuous = false
/// eal = ["--no-pci", "--no-huge", "--no-shconf", "-m", "256"]
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The arguments of DPDK's environment, without the program's name. The default works without hugepages
    /// and without privileges, except for a card behind `uio_pci_generic`, which needs both. If a process opens several ports, the first port's arguments count.
    pub eal: Option<Vec<String>>,
    /// The virtual device to add, with its arguments, in DPDK's notation, or the slot of a card, such as
    /// `0000:00:10.0`; `None` if the port exists without it.
    ///
    /// A peer process of `net_virtio_user`, or of `net_memif` with `zero-copy=yes`, maps this process's
    /// buffers: it has to be trusted as a network card is.
    pub device: Option<String>,
    /// Name of the port; by default the device's name, or the first port that DPDK finds.
    pub port: Option<String>,
    /// The interface's addresses with their prefixes, at most eight addresses of each family. A connection begins
    /// at the address that is nearest to its peer; a listener at the unspecified address answers from the
    /// address that was asked.
    pub address: Vec<String>,
    /// The routers to other subnets, at most one router of each family. The address may be link-local.
    pub gateway: Vec<IpAddr>,
    /// Size of the largest IP packet in bytes. The port may allow less; a port without a limit of its own,
    /// such as `net_memif`, carries as much if its peer does. Buffers have this size, so fewer of them fit
    /// into memory.
    pub mtu: u16,
    /// The VLAN whose tag all frames carry.
    pub vlan: Option<u16>,
    /// The threads that poll.
    pub polling: Polling,
    /// Number of queues over which connections are spread, at most 64: each queue has its own lock and a part
    /// of the connections, so that as many threads don't contend. If the port has fewer queues, polling
    /// threads hand foreign frames over. The two ends of a `net_memif` need equal numbers.
    pub queues: u16,
    /// True if the port computes and verifies checksums, as far as it can.
    pub offload: bool,
    /// The policy on checksums of datagrams over IPv4.
    pub checksums: Checksums,
    /// Number of buffers in the pool: for messages on their way, in queues and held by the application. DPDK
    /// uses memory best with a power of two less one.
    pub buffers: u32,
    /// Number of frames that may wait in each of the port's queues: fewer, if the queues together would hold more
    /// than half of the buffers.
    pub descriptors: u16,
    /// True if the port accepts frames for other addresses too, which some virtual ports need.
    pub promiscuous: bool,
}

bertha_core::setters!(Config {
    eal: Option<Vec<String>>,
    device: Option<String>,
    port: Option<String>,
    address: Vec<String>,
    gateway: Vec<IpAddr>,
    mtu: u16,
    vlan: Option<u16>,
    polling: Polling,
    queues: u16,
    offload: bool,
    checksums: Checksums,
    buffers: u32,
    descriptors: u16,
    promiscuous: bool,
});

impl Default for Config {
    /// Returns the settings of the first port of the machine, without an address.
    fn default() -> Self {
        Self {
            eal: None,
            device: None,
            port: None,
            address: Vec::new(),
            gateway: Vec::new(),
            mtu: 1500,
            vlan: None,
            polling: Polling::default(),
            queues: 1,
            offload: true,
            checksums: Checksums::default(),
            buffers: 16_383,
            descriptors: 1024,
            promiscuous: false,
        }
    }
}

impl Config {
    /// Creates the settings of a virtual device with an address:
    /// `Config::new("net_memif0,role=server", "10.0.0.1/24")`.
    pub fn new(device: impl Into<String>, address: impl Into<String>) -> Self {
        Self { device: Some(device.into()), address: vec![address.into()], ..Self::default() }
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

    /// Reads the settings from the environment: from the file that `BERTHA_DPDK_CONFIG` names, if it is set,
    /// overridden by the variables `BERTHA_DPDK_DEVICE`, `_PORT`, `_ADDRESS`, `_GATEWAY`, `_MTU`, `_VLAN`,
    /// `_POLLING`, `_QUEUES`, `_OFFLOAD`, `_CHECKSUMS`, `_BUFFERS`, `_DESCRIPTORS`, `_PROMISCUOUS` and `_EAL`. Commas separate addresses and
    /// gateways, and blanks separate arguments.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if a value makes no sense; the text names the variable.
    pub fn from_env() -> Result<Self, Error> {
        Self::from_variables(&Variables::of_process(NAME, PREFIX))
    }

    fn from_variables(variables: &Variables<impl Fn(&str) -> Option<String>>) -> Result<Self, Error> {
        let mut config: Self = variables.file()?;
        variables.replace(&mut config.device, "DEVICE")?;
        variables.replace(&mut config.port, "PORT")?;
        variables.replace_list(&mut config.address, "ADDRESS", ',')?;
        variables.replace_list(&mut config.gateway, "GATEWAY", ',')?;
        variables.replace(&mut config.mtu, "MTU")?;
        variables.replace(&mut config.vlan, "VLAN")?;
        variables.replace(&mut config.polling, "POLLING")?;
        variables.replace(&mut config.queues, "QUEUES")?;
        variables.replace(&mut config.offload, "OFFLOAD")?;
        variables.replace(&mut config.checksums, "CHECKSUMS")?;
        variables.replace(&mut config.buffers, "BUFFERS")?;
        variables.replace(&mut config.descriptors, "DESCRIPTORS")?;
        variables.replace(&mut config.promiscuous, "PROMISCUOUS")?;
        variables.replace_list(&mut config.eal, "EAL", ' ')?;
        Ok(config)
    }

    /// Parses the addresses.
    pub(crate) fn subnets(&self) -> Result<Vec<Subnet>, Error> {
        if self.address.is_empty() {
            let what = "the interface has no address: set `address` (BERTHA_DPDK_ADDRESS), as in 10.0.0.1/24";
            return Err(failure(ErrorKind::Invalid, what));
        }
        let read = |text: &String| {
            text.parse()
                .map_err(|error| failure(ErrorKind::Invalid, format!("`address`: {error}")).because(error))
        };
        self.address.iter().map(read).collect()
    }

    /// Returns the number of queues, or an error if it is not possible.
    pub(crate) fn checked_queues(&self) -> Result<usize, Error> {
        match self.queues {
            1..=MAX_QUEUES => Ok(self.queues.into()),
            other => {
                let what =
                    format!("`queues` (BERTHA_DPDK_QUEUES) is {other}: at least 1 and at most {MAX_QUEUES}");
                Err(failure(ErrorKind::Invalid, what))
            }
        }
    }

    /// Returns the number of descriptors of each ring. All rings together hold half of the pool at most: a card
    /// keeps a buffer in each descriptor, and the rest is for messages.
    pub(crate) fn affordable_descriptors(&self) -> Result<u16, Error> {
        const LEAST: u32 = 32;
        // Each queue has a ring to receive and a ring to send.
        let rings = u32::from(self.queues.max(1)) * 2;
        let affordable = self.buffers.saturating_add(1) / (2 * rings);
        if affordable < LEAST {
            let what = format!(
                "`buffers` (BERTHA_DPDK_BUFFERS) is {}: at least {} for {} queues",
                self.buffers,
                LEAST * 2 * rings - 1,
                self.queues
            );
            return Err(failure(ErrorKind::Invalid, what));
        }
        let wanted = u32::from(self.descriptors);
        let number = if wanted <= affordable { wanted } else { 1 << affordable.ilog2() };
        Ok(number.min(wanted) as u16)
    }

    /// Returns the port's name, if it is known.
    pub(crate) fn port_name(&self) -> Option<String> {
        let device = self.device.as_deref();
        // The port of a card has the card's slot, with its domain, as its name.
        let of_device = || slot(device?).or_else(|| device?.split(',').next().map(str::to_owned));
        self.port.clone().or_else(of_device)
    }

    /// Returns the size of a buffer in bytes: for the longest frame, and the headroom that drivers leave in
    /// front of a frame.
    pub(crate) fn buffer_capacity(&self) -> u16 {
        const HEADROOM: u16 = 128;
        self.max_frame() + HEADROOM
    }

    /// Returns the length of the longest frame that a buffer holds behind its headroom, in whole cache lines.
    pub(crate) fn max_frame(&self) -> u16 {
        /// Bytes of Ethernet's header with a tag, of the checksum that some ports leave behind a frame, and
        /// of some room for headers.
        const FRAMING: u16 = 14 + 4 + 4 + 64;
        /// Largest length that, with the headroom, fits into 16 bits.
        const MAX: u16 = u16::MAX / 64 * 64 - 128;
        self.mtu.saturating_add(FRAMING).min(MAX).next_multiple_of(64).max(2048)
    }

    /// Returns the arguments of DPDK's environment.
    pub(crate) fn eal_arguments(&self) -> Result<Vec<String>, Error> {
        if let Some(given) = &self.eal {
            return Ok(given.clone());
        }
        let processors = rustix::thread::sched_getaffinity(None).map_err(|error| {
            failure(ErrorKind::Io, format!("asking for the processors to run on: {error}"))
        })?;
        let processors: Vec<_> = (0..rustix::thread::CpuSet::MAX_CPU)
            .filter(|number| processors.is_set(*number))
            .map(|number| number.to_string())
            .collect();
        // DPDK has a single thread, which may run on all processors of this process: otherwise it would take
        // a processor for itself.
        let lcores = format!("--lcores=0@({})", processors.join(","));
        // Pages that are not huge take memory only when they are used, so the limit may exceed the needs of
        // the pool.
        let pool = u64::from(self.buffers) * u64::from(self.buffer_capacity()) * 3 / 2;
        let megabytes = (pool >> 20).max(256).to_string();
        // Without these arguments DPDK would take every card that it finds.
        let slot = self.device.as_deref().and_then(slot);
        // A card without an IOMMU reads and writes by physical addresses, which huge pages alone keep.
        let is_huge = slot.as_deref().is_some_and(needs_hugepages);
        let cards = slot.map_or_else(|| vec!["--no-pci".to_owned()], |slot| vec!["-a".to_owned(), slot]);
        let pages = if is_huge { &["--in-memory"][..] } else { &["--no-huge", "--no-shconf"] };
        let fixed = pages.iter().chain(&["--no-telemetry", "--log-level=warning"]).map(|it| (*it).to_owned());
        Ok(cards.into_iter().chain(fixed).chain(["-m".into(), megabytes, lcores]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_hold_frames_of_any_mtu() {
        for (mtu, frame) in [(1280, 2048), (1500, 2048), (9000, 9088), (u16::MAX, 65_344)] {
            let config = Config { mtu, ..Config::default() };
            assert_eq!((config.max_frame(), config.buffer_capacity()), (frame, frame + 128));
        }
    }

    #[test]
    fn rings_leave_half_of_the_buffers_to_messages() {
        let number = |queues, buffers, descriptors| {
            let config = Config { queues, buffers, descriptors, ..Config::default() };
            config.affordable_descriptors().map_err(|error| error.context().to_owned())
        };
        let Config { buffers, descriptors, .. } = Config::default();
        for (queues, expected) in [(1, 1024), (4, 1024), (5, 512), (8, 512), (64, 64)] {
            assert_eq!(number(queues, buffers, descriptors), Ok(expected), "{queues} queues");
        }
        assert_eq!((number(1, 255, 64), number(1, 255, 1000), number(1, 127, 8)), (Ok(64), Ok(64), Ok(8)));
        assert!(number(2, 254, 64).unwrap_err().contains("is 254: at least 255 for 2 queues"));
    }

    #[test]
    fn toml_says_all() {
        let config = Config::from_toml(
            r#"
            device = "net_memif0,role=client"
            address = ["10.0.0.1/24", "fd00::1/64"]
            gateway = ["10.0.0.254"]
            mtu = 9000
            vlan = 7
            polling = "thread"
            queues = 4
            offload = false
            checksums = "none"
            eal = ["--in-memory"]
            "#,
        );
        let config = config.unwrap();
        assert_eq!((config.mtu, config.vlan, config.polling), (9000, Some(7), Polling::Thread));
        assert_eq!((config.subnets().unwrap().len(), config.port_name()), (2, Some("net_memif0".into())));
        assert_eq!((config.checked_queues().unwrap(), config.offload), (4, false));
        assert_eq!((config.checksums, Config::default().checksums), (Checksums::None, Checksums::Software));
        assert_eq!(config.eal_arguments().unwrap(), ["--in-memory"]);
        let card = Config::new("00:10.0", "10.0.0.1/24").eal_arguments().unwrap();
        assert_eq!(card[..2], ["-a", "0000:00:10.0"]);
        assert_eq!(Config::new("00:10.0", "10.0.0.1/24").port_name().as_deref(), Some("0000:00:10.0"));
        assert_eq!(Config::default().eal_arguments().unwrap()[0], "--no-pci");
        for wrong in ["mtuu = 3", "mtu = \"x\"", "polling = \"no\"", "vlan"] {
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
            ("BERTHA_DPDK_ADDRESS", "10.0.0.1/24, fd00::1/64"),
            ("BERTHA_DPDK_GATEWAY", "10.0.0.2"),
            ("BERTHA_DPDK_EAL", "--no-pci  -m 64"),
            ("BERTHA_DPDK_POLLING", "thread"),
            ("BERTHA_DPDK_QUEUES", "3"),
            ("BERTHA_DPDK_OFFLOAD", "false"),
            ("BERTHA_DPDK_DESCRIPTORS", "256"),
            ("BERTHA_DPDK_PROMISCUOUS", "true"),
            ("BERTHA_DPDK_CHECKSUMS", "none"),
        ]);
        let config = config.unwrap();
        assert_eq!(config.checksums, Checksums::None);
        assert_eq!((config.checked_queues().unwrap(), config.offload), (3, false));
        assert_eq!((config.descriptors, config.promiscuous), (256, true));
        for queues in ["0", "65"] {
            let error = with(&[("BERTHA_DPDK_QUEUES", queues)]).unwrap().checked_queues().unwrap_err();
            assert!(error.context().contains("BERTHA_DPDK_QUEUES"), "{error}");
        }
        assert_eq!((config.address.len(), config.gateway.len(), config.polling), (2, 1, Polling::Thread));
        assert_eq!(config.eal_arguments().unwrap(), ["--no-pci", "-m", "64"]);
        for (name, value) in [
            ("BERTHA_DPDK_MTU", "big"),
            ("BERTHA_DPDK_POLLING", "x"),
            ("BERTHA_DPDK_GATEWAY", "y"),
            ("BERTHA_DPDK_OFFLOAD", "1"),
            ("BERTHA_DPDK_CHECKSUMS", "hardware"),
        ] {
            let error = with(&[(name, value)]).unwrap_err();
            assert!(error.context().contains(name) && error.context().contains(value), "{error}");
        }
        let error = with(&[]).unwrap().subnets().unwrap_err();
        assert!(error.context().contains("BERTHA_DPDK_ADDRESS"), "{error}");
        assert!(
            with(&[("BERTHA_DPDK_CONFIG", "/nowhere.toml")]).unwrap_err().context().contains("/nowhere.toml")
        );
    }

    /// Keys, variables, the setters of `Config` and both tables of the documentation say the same.
    #[test]
    fn each_key_has_a_variable_and_each_variable_a_key() {
        // The parser lists the keys that it knows.
        let refusal = Config::from_toml("no-key = 1").unwrap_err().to_string();
        let (_, listed) = refusal.split_once("expected one of ").unwrap();
        let keys: Vec<_> = listed.split('`').skip(1).step_by(2).collect();
        let Config {
            eal: _,
            device: _,
            port: _,
            address: _,
            gateway: _,
            mtu: _,
            vlan: _,
            polling: _,
            queues: _,
            offload: _,
            checksums: _,
            buffers: _,
            descriptors: _,
            promiscuous: _,
        } = Config::default();
        assert_eq!(keys.len(), 14, "{keys:?}");

        let asked = std::cell::RefCell::new(Vec::new());
        let find = |name: &str| {
            asked.borrow_mut().push(name.to_owned());
            None
        };
        Config::from_variables(&Variables::new(NAME, PREFIX, find)).unwrap();
        let variable = |key: &str| format!("{PREFIX}_{}", key.to_uppercase());
        let mut expected: Vec<_> = keys.iter().map(|key| variable(key)).chain([variable("config")]).collect();
        let mut asked = asked.into_inner();
        expected.sort();
        asked.sort();
        assert_eq!(asked, expected);

        let guide = include_str!("../../../src/guide/dpdk.md");
        let (_, rows) = guide.split_once("| key | default | meaning |").unwrap();
        let rows = rows.lines().skip(2).take_while(|line| line.starts_with('|'));
        let mut told: Vec<_> = rows.filter_map(|row| row.split('`').nth(1)).collect();
        let mut keys = keys;
        told.sort_unstable();
        keys.sort_unstable();
        assert_eq!(told, keys, "the table of the guide `dpdk`");
    }
}
