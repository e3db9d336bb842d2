//! The transport over datagrams: our own, or QUIC.

use bertha::chunnels::Fault;
use bertha::chunnels::Quic;
use bertha::chunnels::quic::Certificates;
use bertha::prelude::*;
use bertha::{BoxedStack, Buf, Datapath};
use bertha_file_transfer::Error;
use bertha_file_transfer::stack::{OverDatagrams, over_datagrams, reliable};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// QUIC or our own, and the settings of QUIC.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The transport (over udp and unix)")]
pub(super) struct Transport {
    /// The protocol that repeats lost packets
    #[arg(long, value_enum, default_value_t)]
    transport: Kind,
    /// The certificate that this end shows over QUIC, in DER; a receiver needs one
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// Its private key, in DER (PKCS #8)
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// A certificate, in DER, that the other end has to show or to have been signed with; a sender needs one
    #[arg(long, value_name = "FILE")]
    trust: Vec<PathBuf>,
    /// The name or IP address for which the receiver's certificate has to be
    #[arg(long, value_name = "NAME", default_value = "file-transfer")]
    name: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Chunnels of our own, which do not encrypt
    #[default]
    Reliable,
    /// QUIC, which encrypts
    Quic,
    /// QUIC if the other end has it as well, else our own. Somebody on the way can make it the latter
    Either,
}

/// Stacks over QUIC.
pub(super) struct ByQuic {
    quic: Quic,
    timeout: Duration,
    is_optional: bool,
}

impl Transport {
    /// QUIC, if it may carry the file, with packets of up to `packet` bytes.
    pub(super) fn quic(&self, packet: u16, timeout: Duration) -> Result<Option<ByQuic>, Error> {
        if self.transport == Kind::Reliable {
            return Ok(None);
        }
        let mut certificates = Certificates::none().expecting(self.name.clone());
        if let (Some(certificate), Some(key)) = (&self.certificate, &self.key) {
            certificates = certificates.showing([read(certificate)?], read(key)?);
        }
        for path in &self.trust {
            certificates = certificates.trusting(read(path)?);
        }
        let quic = Quic::new(certificates).packet(packet).idle_timeout(timeout);
        Ok(Some(ByQuic { quic, timeout, is_optional: self.transport == Kind::Either }))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::File { doing: "reading", path: path.to_owned(), source };
    std::fs::read(path).map_err(failed)
}

impl ByQuic {
    /// A stack by QUIC over this datapath, with packets of up to `packet` bytes from Reliable. The transport's type is forgotten, since
    /// it is chosen here at run time.
    pub(super) fn over<D>(
        self,
        datapath: &D,
        packet: usize,
        faults: Option<Fault>,
    ) -> OverDatagrams<BoxedStack<D, Buf>>
    where
        D: Datapath,
    {
        let Self { quic, timeout, is_optional } = self;
        let either = |quic| select!(quic, reliable(packet, timeout));
        let transport = match (is_optional, faults) {
            (false, None) => make_stack!(quic).boxed(datapath),
            (false, Some(faults)) => make_stack!(quic, faults).boxed(datapath),
            (true, None) => make_stack!(either(quic)).boxed(datapath),
            (true, Some(faults)) => make_stack!(either(quic), faults).boxed(datapath),
        };
        over_datagrams(packet, transport)
    }
}
