//! Stacks of every measured kind and depth.

use super::calls::{Repeat, repeat};
use super::ends::{Memory, in_memory, over_negotiated_udp, over_udp};
use super::{Case, Following, Layer, Path};
use crate::harness::runtime;
use crate::{Error, ErrorKind};
use bertha_chunnels::Nothing;
use bertha_core::{Buf, Chunnel, Connection, make_stack};
use bertha_datapath_kernel::{Udp, UdpConnection};
use bertha_negotiation::{Negotiate, Runs};

macro_rules! four {
    ($layer:expr) => {
        make_stack!($layer, $layer, $layer, $layer)
    };
}

macro_rules! sixteen {
    ($l:expr) => {
        make_stack!($l, $l, $l, $l, $l, $l, $l, $l, $l, $l, $l, $l, $l, $l, $l, $l)
    };
}

impl Case {
    /// Connects an end with the stack to an end without it, for the call between them.
    ///
    /// # Errors
    /// [`ErrorKind::Socket`] when the ends can't be connected.
    pub(crate) fn open(self) -> Result<Repeat, Error> {
        match (self.layer, self.depth) {
            (Layer::Following, _) if self.path != Path::Memory => {
                Err(Error::new(ErrorKind::Probe, "layers that do something are measured in memory alone"))
            }
            (_, 0) => self.over_its_path(make_stack!()),
            (Layer::PassThrough, 1) => self.over_its_path(make_stack!(Nothing)),
            (Layer::PassThrough, 4) => self.over_its_path(four!(Nothing)),
            (Layer::PassThrough, 16) => self.over_its_path(sixteen!(Nothing)),
            (Layer::Following, 1) => self.in_memory(make_stack!(Following::<1>)),
            (Layer::Following, 4) => self.in_memory(four!(Following::<4>)),
            (Layer::Following, 16) => self.in_memory(sixteen!(Following::<16>)),
            (_, depth) => Err(Error::new(ErrorKind::Probe, format!("no stack has {depth} layers here"))),
        }
    }

    fn over_its_path<S>(self, stack: S) -> Result<Repeat, Error>
    where
        S: Negotiate
            + Chunnel<Memory, Connection: Connection<Data = Buf>>
            + Chunnel<UdpConnection, Connection: Connection<Data = Buf>>,
        Udp: Runs<S, Out: Connection<Data = Buf>>,
    {
        match self.path {
            Path::Memory => self.in_memory(stack),
            Path::Udp => {
                let runtime = runtime()?;
                let (end, bare) = runtime.block_on(over_udp(stack))?;
                repeat(runtime, end, bare, self.call)
            }
            Path::NegotiatedUdp => {
                let runtime = runtime()?;
                let (end, bare) = runtime.block_on(over_negotiated_udp(stack))?;
                repeat(runtime, end, bare, self.call)
            }
        }
    }

    fn in_memory<S>(self, stack: S) -> Result<Repeat, Error>
    where
        S: Chunnel<Memory, Connection: Connection<Data = Buf>>,
    {
        let runtime = runtime()?;
        let (end, bare) = runtime.block_on(in_memory(stack))?;
        repeat(runtime, end, bare, self.call)
    }
}
