//! The program in the kernel, and what is exchanged with it.

use crate::decision::Decision;
use crate::flows::MAX_FLOWS;
use crate::measurement::Measurement;
use bertha_ccp::Limits;
use bertha_core::{Error, ErrorKind};
use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, PrintLevel, RingBuffer,
    RingBufferBuilder,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// The program, as the build script has compiled it.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ccp.bpf.o"));

/// The name of the program, with which the names of some of its maps begin.
const OBJECT: &str = "ccp";

/// The kernel's description of its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Length of the name of a congestion control, with a zero at the end.
const NAME: usize = 16;

/// Maximum number of measurements that are taken at a time, so that decisions do not wait for long.
const BATCH: usize = 256;

/// A congestion control that is registered with the kernel until the value is dropped.
pub(crate) struct Registered {
    decisions: MapHandle,
    measurements: MapHandle,
    _link: Link,
    _object: Object,
}

impl Registered {
    /// Registers a congestion control by this name.
    pub(crate) fn new(name: &str, limits: Limits, patience: Duration) -> Result<Self, Error> {
        let name_bytes = terminated(name)?;
        if !Path::new(TYPES).exists() {
            return Err(unavailable(format!("the kernel does not describe its types: there is no {TYPES}")));
        }
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, line| {
            tracing::debug!(line = line.trim_end(), "CCP: from the loader of the kernel's program");
        })));
        let open = ObjectBuilder::default().name(OBJECT).and_then(|builder| builder.open_memory(PROGRAM));
        let mut open = open.map_err(|error| not_loaded(&error))?;
        let patience = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        let limits = [limits.window, limits.rate, patience].map(u64::to_ne_bytes).concat();
        set(&mut open, &format!("{OBJECT}.rodata"), &limits)?;
        set(&mut open, "control", &name_bytes)?;
        let mut object = open.load().map_err(|error| not_loaded(&error))?;
        let link =
            object.maps_mut().find(|map| map.name() == "control").map(|mut map| map.attach_struct_ops());
        let link = link.ok_or_else(lacking)?.map_err(|error| match error.kind() {
            libbpf_rs::ErrorKind::AlreadyExists => {
                let what = format!("the kernel has a congestion control `{name}` already");
                Error::new(ErrorKind::Invalid, what).at("CCP")
            }
            _ => not_loaded(&error),
        })?;
        let map = |name: &str| {
            let map = object.maps().find(|map| map.name() == name).ok_or_else(lacking)?;
            MapHandle::try_from(&map).map_err(|error| not_loaded(&error))
        };
        let (decisions, measurements) = (map("decisions")?, map("measurements")?);
        Ok(Self { decisions, measurements, _link: link, _object: object })
    }

    /// Returns the entry of a flow, unless the flow is over.
    pub(crate) fn entry(&self, flow: u64) -> Option<Decision> {
        let bytes = self.decisions.lookup(&flow.to_ne_bytes(), MapFlags::ANY).ok()??;
        Decision::read(&bytes)
    }

    /// Returns the flows that have entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = u64> {
        // The kernel begins again behind an entry that has gone.
        let keys = self.decisions.keys().take(2 * MAX_FLOWS);
        keys.filter_map(|key| key.try_into().ok().map(u64::from_ne_bytes))
    }

    /// Removes the entry of a flow, if it is there. The kernel makes another one as soon as the flow goes on.
    pub(crate) fn forget(&self, flow: u64) {
        if let Err(error) = self.decisions.delete(&flow.to_ne_bytes()) {
            tracing::debug!(flow, %error, "CCP: an entry had gone already");
        }
    }

    /// Hands a decision to the kernel. Returns false if the flow is over.
    pub(crate) fn write(&self, flow: u64, decision: &Decision) -> bool {
        let written = self.decisions.update(&flow.to_ne_bytes(), decision.bytes(), MapFlags::EXIST);
        match written {
            Ok(()) => true,
            Err(error) if error.kind() == libbpf_rs::ErrorKind::NotFound => false,
            Err(error) => {
                // The kernel keeps to the decision before, and then to Reno.
                tracing::debug!(flow, %error, "CCP: the kernel took no decision");
                true
            }
        }
    }
}

/// The measurements that arrive from the kernel.
pub(crate) struct Arriving {
    ring: RingBuffer<'static>,
    measurements: MapHandle,
    arrived: Rc<RefCell<Vec<Measurement>>>,
}

impl Arriving {
    pub(crate) fn of(registered: &Registered) -> Result<Self, Error> {
        let measurements =
            MapHandle::try_from(&registered.measurements).map_err(|error| not_loaded(&error))?;
        let arrived = Rc::new(RefCell::new(Vec::with_capacity(BATCH)));
        let into = arrived.clone();
        let mut builder = RingBufferBuilder::new();
        let take = move |bytes: &[u8]| {
            into.borrow_mut().extend(Measurement::read(bytes));
            0
        };
        builder.add(&registered.measurements, take).map_err(|error| not_loaded(&error))?;
        let ring = builder.build().map_err(|error| not_loaded(&error))?;
        Ok(Self { ring, measurements, arrived })
    }

    /// Waits for measurements until they arrive, or for this time, and takes a batch of them. `batch` is replaced.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) if the kernel gives none any more.
    pub(crate) fn next(&mut self, patience: Duration, batch: &mut Vec<Measurement>) -> Result<(), Error> {
        batch.clear();
        let patience = Timespec::try_from(patience).ok();
        match poll(&mut [PollFd::new(&self.measurements, PollFlags::IN)], patience.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(broken(error.into())),
        }
        let taken = self.ring.consume_raw_n(BATCH);
        if taken < 0 {
            return Err(broken(std::io::Error::from_raw_os_error(-taken)));
        }
        std::mem::swap(batch, &mut self.arrived.borrow_mut());
        Ok(())
    }
}

/// Writes to the front of the initial value of a map.
fn set(open: &mut OpenObject, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let mut map = open.maps_mut().find(|map| map.name() == name).ok_or_else(lacking)?;
    let value = map.initial_value_mut().and_then(|value| value.get_mut(..bytes.len()));
    value.ok_or_else(lacking)?.copy_from_slice(bytes);
    Ok(())
}

/// Returns the name as the kernel takes it, with a zero at the end.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) if the kernel has no such names.
pub(crate) fn terminated(name: &str) -> Result<[u8; NAME], Error> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let mut bytes = [0; NAME];
    match bytes.get_mut(..name.len()) {
        Some(place) if !name.is_empty() && name.len() < NAME && name.bytes().all(is_plain) => {
            place.copy_from_slice(name.as_bytes());
            Ok(bytes)
        }
        _ => {
            let what = format!(
                "`{}` is no name of a congestion control: it takes 1 to 15 letters, digits, `_` and `-`",
                name.escape_debug()
            );
            Err(Error::new(ErrorKind::Invalid, what).at("CCP"))
        }
    }
}

fn unavailable(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unavailable, what.into()).at("CCP")
}

fn lacking() -> Error {
    unavailable("the kernel's program was compiled without one of its maps")
}

fn not_loaded(error: &libbpf_rs::Error) -> Error {
    unavailable(match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => {
            format!("a congestion control needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: {error}")
        }
        _ => format!(
            "the kernel does not take the congestion control, which needs Linux 6.10 or newer and some 30 file descriptors: {error}"
        ),
    })
}

fn broken(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, "the kernel gives no measurements any more").because(error).at("CCP")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_the_kernel_takes_them() {
        assert_eq!(terminated("bertha_ccp").unwrap()[..11], *b"bertha_ccp\0");
        assert_eq!(terminated("a-23456789012_5").unwrap()[14..], *b"5\0");
        for name in ["", "a b", "copa\n", "a123456789012345", "é"] {
            let error = terminated(name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}
