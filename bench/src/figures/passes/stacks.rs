//! The measured stacks.

use super::{Case, MergeFollowing, NeverMatches, SkipNothing, Stack};
use crate::harness::runtime;
use crate::overhead::{Following, Memory, Path, Repeat, in_memory, over_negotiated_udp, repeat};
use crate::{Error, ErrorKind};
use bertha_chunnels::Nothing;
use bertha_core::{Buf, Chunnel, Connection, make_stack, optimize};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Negotiate, Runs};

/// A stack of eight layers. `$number` tells stacks apart that share no code in a program of their own.
macro_rules! written {
    ($number:literal) => {
        make_stack!(
            Nothing,
            Following::<$number>,
            Nothing,
            Following::<$number>,
            Nothing,
            Following::<$number>,
            Following::<$number>,
            Nothing
        )
    };
}

macro_rules! optimised {
    () => {
        optimize!(written!(21), SkipNothing, MergeFollowing)
    };
}

macro_rules! by_hand {
    () => {
        make_stack!(Following::<21>)
    };
}

impl Case {
    /// Connects an end with the stack to an end without it, for the call between them.
    ///
    /// # Errors
    /// [`ErrorKind::Socket`] when the ends can't be connected.
    pub(crate) fn open(self) -> Result<Repeat, Error> {
        match self.stack {
            Stack::Written => self.over_its_path(written!(20)),
            Stack::Unmatched => self.over_its_path(optimize!(written!(20), NeverMatches)),
            Stack::Optimised => self.over_its_path(optimised!()),
            Stack::ByHand => self.over_its_path(by_hand!()),
        }
    }

    fn over_its_path<S>(self, stack: S) -> Result<Repeat, Error>
    where
        S: Negotiate + Chunnel<Memory, Connection: Connection<Data = Buf>>,
        Udp: Runs<S, Out: Connection<Data = Buf>>,
    {
        let runtime = runtime()?;
        match self.path {
            Path::Memory => {
                let (end, bare) = runtime.block_on(in_memory(stack))?;
                repeat(runtime, end, bare, self.call)
            }
            Path::NegotiatedUdp => {
                let (end, bare) = runtime.block_on(over_negotiated_udp(stack))?;
                repeat(runtime, end, bare, self.call)
            }
            Path::Udp => Err(Error::new(ErrorKind::Probe, "passes are measured in memory and negotiated")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_core::Describe;
    use std::any::type_name;

    fn connection<S: Chunnel<Memory>>(_: &S) -> &'static str {
        type_name::<S::Connection>()
    }

    #[test]
    fn passes_leave_the_stack_that_one_writes_by_hand() {
        assert_eq!(optimised!().nodes().len(), 1);
        assert_eq!(connection(&optimised!()), connection(&by_hand!()));
        assert_eq!(connection(&optimize!(written!(20), NeverMatches)), connection(&written!(20)));
    }
}
