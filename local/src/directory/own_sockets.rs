//! The sockets of this process that listen at addresses which it registers.

use super::proof::transport_at;
use bertha_core::Addr;
use rustix::io::Result;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use std::os::fd::OwnedFd;

/// For each address the socket of this process that listens there, if there is one.
///
/// A datapath keeps its socket to itself, so the process asks the kernel for its own descriptors.
pub(super) fn listening_at(addresses: &[Addr]) -> Vec<Option<OwnedFd>> {
    let mut found: Vec<_> = addresses.iter().map(|_| None).collect();
    if !addresses.is_empty()
        && let Err(error) = search(addresses, &mut found)
    {
        tracing::debug!(%error, "the process does not see its own sockets");
    }
    found
}

fn search(addresses: &[Addr], found: &mut [Option<OwnedFd>]) -> Result<()> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    // Without this folder no socket is found, which the directory tells.
    let Ok(descriptors) = std::fs::read_dir("/proc/self/fd") else { return Ok(()) };
    for entry in descriptors.flatten() {
        let is_socket = std::fs::read_link(entry.path())
            .is_ok_and(|target| target.as_os_str().to_string_lossy().starts_with("socket:"));
        let number = entry.file_name().to_str().and_then(|number| number.parse().ok());
        let (true, Some(number)) = (is_socket, number) else { continue };
        let socket = match pidfd_getfd(&own, number, PidfdGetfdFlags::empty()) {
            Ok(socket) => socket,
            // Closed since it was listed.
            Err(rustix::io::Errno::BADF) => continue,
            Err(error) => return Err(error),
        };
        for (address, place) in addresses.iter().zip(found.iter_mut()) {
            if place.is_none() && transport_at(address, &socket).is_some() {
                *place = socket.try_clone().ok();
            }
        }
    }
    Ok(())
}
