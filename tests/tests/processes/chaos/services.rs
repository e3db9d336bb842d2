//! A Redis and an etcd that this test may kill.

use super::process::signal;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Service {
    /// A Redis, which comes back empty.
    Redis,
    /// An etcd, which comes back with its data.
    Etcd,
}

impl Service {
    pub(crate) const ALL: [Self; 2] = [Self::Redis, Self::Etcd];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Etcd => "etcd",
        }
    }

    fn port(self) -> u16 {
        match self {
            Self::Redis => 26379,
            Self::Etcd => 22379,
        }
    }
}

/// The servers. Dropping the value stops them.
pub(crate) struct Services {
    addr: String,
    directory: PathBuf,
}

impl Services {
    /// Starts the servers at `addr`, with their data below `directory`.
    ///
    /// # Errors
    /// The missing program or permission.
    pub(crate) fn new(addr: String, directory: PathBuf) -> Result<Self, String> {
        let services = Self { addr, directory };
        Service::ALL.iter().try_for_each(|service| services.start(*service))?;
        Ok(services)
    }

    pub(crate) fn url(&self, service: Service) -> String {
        format!("{}://{}:{}", service.name(), self.addr, service.port())
    }

    pub(crate) fn start(&self, service: Service) -> Result<(), String> {
        self.script("start", service)
    }

    pub(crate) fn pid(&self, service: Service) -> u32 {
        let file = self.directory.join(service.name()).join("pid");
        std::fs::read_to_string(file).unwrap().trim().parse().unwrap()
    }

    /// Kills the server without a chance to write anything.
    pub(crate) fn kill(&self, service: Service) {
        signal(self.pid(service), "KILL");
        // The process is still listed until its parent has taken notice of its end.
        std::fs::remove_file(self.directory.join(service.name()).join("pid")).unwrap();
    }

    fn script(&self, action: &str, service: Service) -> Result<(), String> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/services");
        let mut command = Command::new(script);
        command
            .args([action, service.name()])
            .env("SERVICES_ADDR", &self.addr)
            .env("SERVICES_DIR", &self.directory)
            .env("REDIS_PORT", Service::Redis.port().to_string())
            .env("ETCD_PORT", Service::Etcd.port().to_string())
            .stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("{script}: {error}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        for service in Service::ALL {
            let _ = self.script("stop", service);
        }
    }
}
